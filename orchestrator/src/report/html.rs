//! The report as one HTML file with its style sheet and without a script.

use super::course::charts;
use super::{EtaError, MigrationEvidence, ObjectEvidence, ObjectOutcome, OperationReport};
use crate::chart::Chart;
use crate::store::AuditRecord;
use crate::view::StepView;
use crate::view::figures::{count, seconds};
use crate::view::sentence::migration_sentence;
use askama::Template;
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use plans::render::{bytes, plan_text};
use plans::step::StepKind;
use plans::step::build_indexes::IndexesBuilt;
use plans::step::copy::Copied;
use plans::step::cutover::CutoverResult;
use plans::step::drop_old::Dropped;
use plans::step::drop_surplus::SurplusDropped;
use plans::step::promote::Promoted;
use plans::step::verify::{TableVerified, Verified};
use serde_json::Value;

/// The content of the report. The HTML page and the Markdown text are both made from it.
pub(super) struct ReportDocument<'a> {
    pub(super) report: &'a OperationReport,
    pub(super) moves: Vec<MoveReport<'a>>,
    pub(super) plan: String,
}

#[derive(Template)]
#[template(path = "report/page.html")]
struct HtmlReportPage<'a> {
    document: ReportDocument<'a>,
}

/// One move in the report.
pub(super) struct MoveReport<'a> {
    pub(super) evidence: &'a MigrationEvidence,
    pub(super) sentence: String,
    pub(super) copied: Option<Copied>,
    pub(super) verified: Option<Verified>,
    pub(super) built: Option<IndexesBuilt>,
    pub(super) dropped: Option<Dropped>,
    pub(super) promoted: Option<Promoted>,
    pub(super) surplus: Option<SurplusDropped>,
    pub(super) windows: Vec<WindowReport>,
    pub(super) charts: Vec<Chart>,
}

/// A write-blocked window in the report.
pub(super) struct WindowReport {
    pub(super) name: &'static str,
    pub(super) result: CutoverResult,
}

/// Returns the report as HTML.
pub(super) fn write(report: &OperationReport) -> Result<String, askama::Error> {
    let document = ReportDocument::of(report);
    HtmlReportPage { document }.render()
}

impl<'a> ReportDocument<'a> {
    pub(super) fn of(report: &'a OperationReport) -> Self {
        Self {
            report,
            moves: report.moves.iter().map(MoveReport::of).collect(),
            plan: plan_text(&report.plan),
        }
    }

    /// Returns a sentence about the comparisons: whether every moved row was compared and equal.
    pub(super) fn comparison_sentence(&self) -> String {
        let verified = self.moves.iter().filter_map(|m| m.verified.as_ref());
        let equal = verified.filter(|verified| verified.different == 0).count();
        let moves = self.moves.len();
        match equal == moves {
            true => "Every moved row was compared on both shards, and no row differs.".to_owned(),
            false => format!("{equal} of {moves} move(s) were compared, and no row differed."),
        }
    }
}

impl<'a> MoveReport<'a> {
    fn of(evidence: &'a MigrationEvidence) -> Self {
        let window = |(kind, name)| {
            let result = evidence.output::<CutoverResult>(kind)?;
            Some(WindowReport { name, result })
        };
        let kinds = [
            (StepKind::Cutover, "Cutover"),
            (StepKind::Rollback, "Rollback"),
        ];
        Self {
            evidence,
            sentence: migration_sentence(&evidence.migration),
            copied: evidence.output(StepKind::Copy),
            verified: evidence.output(StepKind::Verify),
            built: evidence.output(StepKind::BuildIndexes),
            dropped: evidence.output(StepKind::DropOld),
            promoted: evidence.output(StepKind::Promote),
            surplus: evidence.output(StepKind::DropSurplus),
            windows: kinds.into_iter().filter_map(window).collect(),
            charts: charts(&evidence.course, &evidence.migration.steps),
        }
    }

    pub(super) fn tables(&self) -> &[TableVerified] {
        self.verified.as_ref().map_or(&[], |found| &found.tables)
    }

    pub(super) fn steps(&self) -> &[StepView] {
        &self.evidence.migration.steps
    }
}

impl WindowReport {
    pub(super) fn parts(&self) -> [(&'static str, f64); 7] {
        self.result.write_block.parts()
    }

    pub(super) fn total(&self) -> String {
        ms(&self.result.write_block.total)
    }

    pub(super) fn refused(&self) -> String {
        self.result.refused.map_or_else(|| "-".to_owned(), count)
    }
}

/// Formats milliseconds with one decimal digit.
pub(super) fn ms(value: &f64) -> String {
    format!("{value:.1}")
}

/// Formats a time with milliseconds.
pub(super) fn when(at: &DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Returns how long agents worked on a step, and how long none did.
pub(super) fn work_and_idle_time(step: &StepView) -> String {
    let span = |span: TimeDelta| seconds(span.num_milliseconds() as f64 / 1e3);
    let work = step.work_time().map(span);
    let idle = step
        .idle_time()
        .map(|idle| format!(", idle for {}", span(idle)));
    work.unwrap_or_else(|| "-".to_owned()) + &idle.unwrap_or_default()
}

/// Returns the text for the outcome of an object.
pub(super) fn outcome(object: &ObjectEvidence) -> String {
    let shard = &object.record.shard;
    match object.outcome {
        ObjectOutcome::Left => "still exists".to_owned(),
        ObjectOutcome::Removed => object.record.done_at.as_ref().map_or_else(
            || "removed".to_owned(),
            |at| format!("removed {}", when(at)),
        ),
        ObjectOutcome::HandedOver => format!("kept: {shard} owns the keys"),
        ObjectOutcome::Existing => format!("kept: {shard} had it before"),
    }
}

/// Formats an ETA error in percent of the step's duration.
pub(super) fn eta_error(fraction: &f64) -> String {
    format!("{:+.0} %", fraction * 100.0)
}

/// Returns whether the worst prediction differs from the actual end by at most 15 % of the duration.
pub(super) fn is_accurate(eta: &EtaError) -> bool {
    eta.worst.abs() <= 0.15
}

/// Formats the fields of an audit record as `name: value`.
pub(super) fn record_fields(record: &AuditRecord) -> String {
    let Value::Object(fields) = &record.data else {
        return String::new();
    };
    let parts = fields.iter().filter(|(_, value)| !value.is_null());
    let parts = parts.map(|(name, value)| match value {
        Value::String(text) => format!("{name}: {text}"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            format!("{name}: {value}")
        }
    });
    parts.collect::<Vec<_>>().join(", ")
}

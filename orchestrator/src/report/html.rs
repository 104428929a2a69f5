//! The report as one HTML file: its style is inside, and it has no script.

use super::course::charts;
use super::{EtaError, MigrationEvidence, ObjectEvidence, ObjectOutcome, OperationReport};
use crate::chart::Chart;
use crate::store::AuditRecord;
use crate::view::StepView;
use crate::view::figures::{count, seconds};
use crate::view::sentence::of_view;
use askama::Template;
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use plans::render::{bytes, plan_text};
use plans::step::StepKind;
use plans::step::build_indexes::IndexesBuilt;
use plans::step::copy::Copied;
use plans::step::cutover::CutoverResult;
use plans::step::drop_old::Dropped;
use plans::step::verify::{TableVerified, Verified};
use serde_json::Value;

/// The whole page, and with other punctuation the Markdown of it.
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
    pub(super) windows: Vec<WindowReport>,
    pub(super) charts: Vec<Chart>,
}

/// A write-blocked window.
pub(super) struct WindowReport {
    pub(super) name: &'static str,
    pub(super) cut: CutoverResult,
}

/// The report for a browser.
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

    /// Every acknowledged write is accounted for in each move that came to its end, as far as comparisons tell.
    pub(super) fn verdict(&self) -> String {
        let of = |test: fn(&Verified) -> bool| {
            let found = self.moves.iter().filter_map(|m| m.verified.as_ref());
            found.filter(|verified| test(verified)).count()
        };
        let (all, equal) = (self.moves.len(), of(|verified| verified.different == 0));
        match equal == all {
            true => "Every row that moved was compared on both sides, and none differs.".to_owned(),
            false => format!("Of {all} move(s) {equal} were compared without a difference."),
        }
    }
}

impl<'a> MoveReport<'a> {
    fn of(evidence: &'a MigrationEvidence) -> Self {
        let window = |(kind, name)| {
            let cut = evidence.output::<CutoverResult>(kind)?;
            Some(WindowReport { name, cut })
        };
        let kinds = [
            (StepKind::Cutover, "Cutover"),
            (StepKind::Rollback, "Roll back"),
        ];
        Self {
            evidence,
            sentence: of_view(&evidence.migration),
            copied: evidence.output(StepKind::Copy),
            verified: evidence.output(StepKind::Verify),
            built: evidence.output(StepKind::BuildIndexes),
            dropped: evidence.output(StepKind::DropOld),
            windows: kinds.into_iter().filter_map(window).collect(),
            charts: charts(&evidence.course),
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
        self.cut.write_block.parts()
    }

    pub(super) fn total(&self) -> String {
        ms(&self.cut.write_block.total)
    }

    pub(super) fn refused(&self) -> String {
        self.cut.refused.map_or_else(|| "-".to_owned(), count)
    }
}

/// Milliseconds with one digit behind the point.
pub(super) fn ms(value: &f64) -> String {
    format!("{value:.1}")
}

pub(super) fn when(at: &DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// How long agents worked on a step, and how long no agent did.
pub(super) fn took(step: &StepView) -> String {
    let span = |span: TimeDelta| seconds(span.num_milliseconds() as f64 / 1e3);
    let worked = step.worked().map(span);
    let idle = step.idle().map(|idle| format!(", idle for {}", span(idle)));
    worked.unwrap_or_else(|| "-".to_owned()) + &idle.unwrap_or_default()
}

/// What became of an object on a shard.
pub(super) fn outcome(object: &ObjectEvidence) -> String {
    let shard = &object.record.shard;
    match object.outcome {
        ObjectOutcome::Left => "still there".to_owned(),
        ObjectOutcome::Removed => object.record.done_at.as_ref().map_or_else(
            || "removed".to_owned(),
            |at| format!("removed {}", when(at)),
        ),
        ObjectOutcome::HandedOver => format!("kept: {shard} owns the keys"),
        ObjectOutcome::Existing => format!("kept: {shard} had it before"),
    }
}

/// An ETA error, in per cent of the step's time.
pub(super) fn error(part: &f64) -> String {
    format!("{:+.0} %", part * 100.0)
}

/// Whether the expected end was off by 15 per cent at most.
pub(super) fn is_near(eta: &EtaError) -> bool {
    eta.worst.abs() <= 0.15
}

/// Fields of a command as `name value`.
pub(super) fn fields(record: &AuditRecord) -> String {
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

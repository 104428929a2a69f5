//! `shardwright verify`: compares both copies again, and can repair rows that differ.
//!
//! The report of a comparison contains primary keys of rows that differ. They are values of rows, so only `--report`
//! prints them.

use super::client::Client;
use super::consent::Consent;
use super::error::{CliError, DEFECTS, MIGRATION_FAILED};
use super::migration::show_text;
use super::operation;
use super::output::{Output, or_dash, table};
use crate::api::ScheduledComparison;
use crate::view::MigrationView;
use clap::Args;
use plans::names::Direction;
use plans::state::migration::MigrationState;
use plans::step::verify::{DifferenceKind, DifferenceReport, RowDifference, TableDifferences};
use serde_json::json;
use std::time::Duration;
use tokio::time::Instant;

const REPAIR_EFFECT: &str =
    "Rows of the copy that differ are deleted, and written again from the shard that owns them.";
/// The pause between two queries for the result.
const PAUSE: Duration = Duration::from_millis(500);

/// Compare every row of both copies of a migration, as of one exact point, while writes continue.
///
/// This is possible while the migration waits for its approval, after it failed before the flip, and during the hold.
/// The exit code is 9 if rows differ.
#[derive(Debug, Args)]
pub(super) struct Verify {
    /// The migration.
    id: String,
    /// Print the results of the last comparisons, and compare nothing. Rows are named by their primary keys, which are
    /// values of your data.
    #[arg(long)]
    report: bool,
    /// Repair the copy: write rows that differ again from the shard that owns them. Before the flip the copy is on the
    /// target, during the hold on the source. The rows of the owner stay unchanged.
    #[arg(long, conflicts_with = "report")]
    repair: bool,
    /// How long to wait for the result, for example 30s or 5m.
    #[arg(long, default_value = "1h", value_parser = humantime::parse_duration)]
    timeout: Duration,
    /// The reason, for the journal.
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    output: Output,
}

impl Verify {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        if let Some(operation) = operation::with_moves(client, &self.id).await? {
            let moves: Vec<String> = operation
                .moves
                .iter()
                .map(|m| m.migration.id.to_string())
                .collect();
            return Err(CliError::Usage(format!(
                "operation {} has several moves: name one of them: {}",
                self.id,
                moves.join(", ")
            )));
        }
        if self.report {
            return self.print_report(client).await;
        }
        let consented = match self.repair {
            true => self.consent.is_confirmed(REPAIR_EFFECT, &self.id)?,
            false => self.consent.dry().proceed_or_print("Compares both copies."),
        };
        if !consented {
            return Ok(0);
        }
        let body = json!({ "repair": self.repair, "reason": self.reason }).to_string();
        let scheduled: ScheduledComparison = client.post(&self.path(), body).await?;
        let report = self.wait(client, scheduled.run.number).await?;
        self.output.print(&report, summary)?;
        Ok(if report.different() == 0 { 0 } else { DEFECTS })
    }

    fn path(&self) -> String {
        format!("/api/v1/migrations/{}/verify", self.id)
    }

    async fn print_report(&self, client: &Client) -> Result<u8, CliError> {
        let reports: Vec<DifferenceReport> = client.get(&self.path()).await?;
        let different = reports.last().is_some_and(|last| last.different() > 0);
        self.output.print(&reports, |reports| {
            let texts: Vec<String> = reports.iter().map(details).collect();
            match texts.is_empty() {
                true => "there are no results of comparisons\n".to_owned(),
                false => texts.join("\n"),
            }
        })?;
        Ok(if different { DEFECTS } else { 0 })
    }

    /// Queries the controller until the comparison has ended.
    async fn wait(&self, client: &Client, run: i64) -> Result<DifferenceReport, CliError> {
        let deadline = Instant::now() + self.timeout;
        loop {
            let view: MigrationView = client
                .get(&format!("/api/v1/migrations/{}", self.id))
                .await?;
            let reports: Vec<DifferenceReport> = client.get(&self.path()).await?;
            let found = reports
                .into_iter()
                .find(|report| report.run == run && report.finished_at.is_some());
            if let Some(report) = found {
                return Ok(report);
            }
            let state = view.summary.state;
            if state == MigrationState::Failed || view.summary.finished_at.is_some() {
                super::out::write_styled_message(show_text(&view).as_str());
                return Err(CliError::Ended {
                    id: self.id.clone(),
                    state: state.to_string(),
                    code: MIGRATION_FAILED,
                });
            }
            if Instant::now() >= deadline {
                return Err(CliError::Timeout {
                    id: self.id.clone(),
                    state: state.to_string(),
                    waited: humantime::format_duration(self.timeout).to_string(),
                    wanted: "compared".to_owned(),
                });
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Returns which copy is compared with which.
fn compared_copies(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "the target with the source",
        Direction::Reverse => "the old copy with the target",
    }
}

/// Returns the result without keys.
fn summary(report: &DifferenceReport) -> String {
    let mut text = format!(
        "compared {}: {} rows in {} chunks at {}, {} different",
        compared_copies(report.direction),
        report.rows(),
        report.chunks,
        or_dash(report.at.as_ref()),
        report.different(),
    );
    if report.repaired > 0 {
        text += &format!(", {} written again", report.repaired);
    }
    text.push('\n');
    let rows: Vec<_> = report.tables.iter().map(table_row).collect();
    text += &table(&["TABLE", "ROWS", "MISSING", "EXTRA", "CHANGED"], &rows);
    if report.different() > 0 {
        text += "`verify ID --report` lists the rows; `verify ID --repair` repairs them\n";
    }
    text
}

fn table_row(table: &TableDifferences) -> Vec<String> {
    vec![
        table.table.clone(),
        table.rows.to_string(),
        table.missing.to_string(),
        table.extra.to_string(),
        table.changed.to_string(),
    ]
}

/// Returns the result with the keys of rows that differ.
fn details(report: &DifferenceReport) -> String {
    let ended = match &report.finished_at {
        Some(at) => format!("ended {at}"),
        None => format!(
            "has not ended: {} of {} chunks",
            report.chunks, report.chunks_total
        ),
    };
    let mut text = format!(
        "comparison {} of {}, begun {}, {ended}\n",
        report.run,
        compared_copies(report.direction),
        report.started_at
    );
    text += &summary(report);
    for table in report.tables.iter().filter(|t| t.different() > 0) {
        text += &format!("\n{}\n", table.table);
        for row in &table.named {
            text += &format!("  {}\n", row_text(row));
        }
        let named = i64::try_from(table.named.len()).unwrap_or(i64::MAX);
        let unnamed = table.different() - named;
        if unnamed > 0 {
            text += &format!("  and {unnamed} more\n");
        }
    }
    text
}

fn row_text(row: &RowDifference) -> String {
    let key = row.key.join(", ");
    match &row.kind {
        DifferenceKind::Missing => format!("({key}) is missing in the copy"),
        DifferenceKind::Extra => format!("({key}) is in the copy only"),
        DifferenceKind::Changed { columns } => {
            format!("({key}) differs in {}", columns.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> DifferenceReport {
        let named = |key: &str, kind| RowDifference {
            key: vec!["100".to_owned(), key.to_owned()],
            kind,
        };
        let changed = DifferenceKind::Changed {
            columns: vec!["price".to_owned(), "note".to_owned()],
        };
        DifferenceReport {
            direction: Direction::Forward,
            run: 7,
            started_at: "2026-01-01T00:00:00Z".to_owned(),
            finished_at: Some("2026-01-01T00:00:05Z".to_owned()),
            at: Some("0/16B3748".to_owned()),
            repaired: 0,
            chunks: 2,
            chunks_total: 2,
            tables: vec![TableDifferences {
                table: "public.item".to_owned(),
                rows: 900,
                missing: 1,
                extra: 1,
                changed: 1200,
                named: vec![
                    named("7", changed),
                    named("8", DifferenceKind::Missing),
                    named("9", DifferenceKind::Extra),
                ],
            }],
        }
    }

    #[test]
    fn the_report_lists_rows_and_counts_the_others() {
        let text = details(&report());
        for line in [
            "compared the target with the source: 900 rows in 2 chunks at 0/16B3748, 1202 different",
            "(100, 7) differs in price, note",
            "(100, 8) is missing in the copy",
            "(100, 9) is in the copy only",
            "and 1199 more",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }

    #[test]
    fn the_summary_contains_no_key() {
        assert!(!summary(&report()).contains("(100"));
    }
}

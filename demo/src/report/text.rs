//! The report as text.

use super::{LoadBalance, MovedKeys, RunOutcome, RunReport};
use crate::forecast::StepForecast;
use plans::request::{Mode, Seed};

impl RunReport {
    /// Returns the report as text for a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let mut lines = vec![self.headline()];
        self.incidents(&mut lines);
        lines.extend(self.moves.iter().map(MovedKeys::text));
        self.copied_and_compared(&mut lines);
        lines.extend(self.balance.as_ref().map(LoadBalance::text));
        self.ledger_and_clients(&mut lines);
        lines.push(format!(
            "Shard map    version {} -> {}.",
            self.map_version.before, self.map_version.after
        ));
        lines.push(format!("Leftovers    {}", self.leftovers));
        lines.extend(StepForecast::text(&self.forecasts));
        lines.push(format!("Evidence     {}", self.evidence));
        let problems = self.problems();
        if !problems.is_empty() {
            lines.push(format!("PROBLEMS: {}.", problems.join("; ")));
        }
        lines.join("\n")
    }

    fn headline(&self) -> String {
        let meanwhile = match self.mode {
            Mode::Online => "while the application kept writing",
            Mode::Offline => "while the application kept reading",
        };
        let headline = match self.result {
            RunOutcome::Completed => format!("{} {meanwhile}.", self.operation.result_text()),
            RunOutcome::Unwound => {
                "The migration was aborted before the flip; the source was never changed."
                    .to_owned()
            }
            RunOutcome::RolledBack => {
                "The shard was split, then the keys were returned to the source.".to_owned()
            }
            RunOutcome::Failed => "The migration failed.".to_owned(),
        };
        match self.submitted_migrations {
            0 | 1 => headline,
            submitted => format!("{headline} {submitted} migrations were submitted."),
        }
    }

    fn incidents(&self, lines: &mut Vec<String>) {
        if let Some(kill) = self.kill.as_ref().filter(|kill| kill.fired) {
            let row = kill.first_row_after_ms;
            let row = row.map(|after| format!("; the copy wrote its next row after {after} ms"));
            lines.push(format!(
                "Killed       {} with SIGKILL in step {} (at {}), started again after {} ms{}.",
                kill.process,
                kill.step,
                kill.fail_point,
                kill.restarted_after_ms,
                row.unwrap_or_default()
            ));
        }
        lines.extend(self.troubles.iter().map(super::TroubleReport::text));
        lines.extend(self.orphan.iter().map(super::OrphanedCutover::text));
        lines.extend(self.stall.iter().map(super::StalledCutover::text));
    }

    fn copied_and_compared(&self, lines: &mut Vec<String>) {
        let w = &self.window_ms;
        lines.push(match self.seeding {
            Seed::Copy => self.copied(),
            Seed::Standby => self.seeded(),
        });
        lines.push(format!(
            "Compared     {} rows in the step verify; {} differ.",
            self.verify.rows_compared, self.verify.different
        ));
        let label = match self.mode {
            Mode::Online => "Write block ",
            Mode::Offline => "Cutover     ",
        };
        lines.push(format!(
            "{label} {:.0} ms for the moving keys, none for the others: fence {:.0}, wait-out {:.0}, drain {:.0}, check {:.0}, seal {:.0}, flip {:.0}, open {:.0}.",
            w.total, w.fence, w.wait_out, w.drain, w.check, w.seal, w.flip, w.open
        ));
        if let Some(refused) = self.writes_refused {
            lines.push(format!(
                "Refused      {refused} writes of the application; the clients repeated them."
            ));
        }
        if let Some(back) = &self.rollback_window_ms {
            lines.push(format!(
                "Rollback     writes were blocked for {:.0} ms.",
                back.total
            ));
        }
        if let (Some(ms), Some(reads)) = (self.read_only_ms, self.reads_while_read_only) {
            lines.push(format!(
                "Read only    the moving keys for {ms} ms, in which {reads} reads of them succeeded."
            ));
        }
    }

    fn copied(&self) -> String {
        let meanwhile = match self.mode {
            Mode::Online => "writing",
            Mode::Offline => "reading",
        };
        format!(
            "Copied       {} rows, {:.1} MiB in {:.1} s while the application was {meanwhile}; {:.1} MiB twice.",
            self.rows_moved,
            mebibytes(self.bytes_copied),
            self.copy_seconds,
            mebibytes(self.bytes_copied_twice)
        )
    }

    fn seeded(&self) -> String {
        let removed = self.surplus_rows.map_or_else(String::new, |rows| {
            format!("; afterwards {rows} rows of other keys were removed from it")
        });
        format!("Seeded       the target was a standby of the source, and was promoted{removed}.")
    }

    fn ledger_and_clients(&self, lines: &mut Vec<String>) {
        let ledger = &self.ledger;
        let phases = &ledger.by_phase;
        lines.push(format!(
            "Ledger       {} transactions acknowledged, {} of them on moving keys (before {}, copy {}, catch up {}, cutover {}, after {}).",
            ledger.acknowledged, ledger.acknowledged_on_moving_keys,
            phases.before, phases.copy, phases.catch_up, phases.cutover, phases.after
        ));
        lines.push(format!(
            "             lost {}, duplicated {}, phantom {}, misplaced {}, wrong values {}, failed {}; in doubt after a crash {}.",
            ledger.lost, ledger.duplicated, ledger.phantom, ledger.misplaced, ledger.wrong, ledger.failed, ledger.in_doubt
        ));
        lines.push(ledger.histories.text());
        lines.push(ledger.bank.text());
        lines.extend(ledger.standby.text());
        lines.push(format!(
            "Clients      {} retries, {} writes refused by a guard, {} newer maps received, {} commits with an unknown outcome.",
            self.clients.retries,
            self.clients.not_owner + self.clients.not_open,
            self.clients.refreshes,
            self.clients.commits_unknown
        ));
    }
}

fn mebibytes(bytes: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
    let bytes = bytes as f64;
    bytes / 1_048_576.0
}

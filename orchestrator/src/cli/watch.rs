//! `shardwright watch`: bars on a terminal, a line per change elsewhere.

use super::client::Client;
use super::error::{CliError, MIGRATION_FAILED};
use super::follow::{detachable, follow, of_migration, of_operation};
use super::migration::state;
use super::operation;
use super::output::Output;
use crate::cli::out::{harmless, report};
use crate::controller::operations::OperationState;
use crate::dual_write;
use crate::view::{MigrationView, OperationView, StepView};
use clap::Args;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use plans::id::MigrationId;
use plans::render::bytes;
use plans::request::{Hold, Mode};
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::StepKind;
use plans::wire::TableProgress;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Duration;
use tokio::sync::watch;

/// Between two queries of moves that report nothing by themselves.
const QUERY_AGAIN: Duration = Duration::from_secs(1);

/// Follow an operation or a migration.
#[derive(Debug, Args)]
pub(super) struct Watch {
    /// The operation or migration.
    id: String,
    /// End in one of these states only (and when it ends or fails).
    #[arg(long, num_args = 1.., value_parser = state)]
    until: Vec<OperationState>,
    #[command(flatten)]
    output: Output,
}

impl Watch {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let id = self.id.clone();
        detachable(&id, self.follow(client)).await
    }

    async fn follow(self, client: &Client) -> Result<u8, CliError> {
        if operation::with_moves(client, &self.id).await?.is_some() {
            return self.run_moves(client).await;
        }
        let mut screen = screen(self.output, self.draws(), &MultiProgress::new());
        let path = of_migration(&self.id);
        let code = follow(client, &path, |view: &MigrationView| {
            screen.show(view);
            let code = end(view, &self.until)?;
            screen.close();
            report_end(view);
            Some(code)
        });
        code.await
    }

    /// Whether bars are drawn.
    fn draws(&self) -> bool {
        !self.output.is_for_programs() && std::io::stderr().is_terminal()
    }

    /// The operation, and for people each of its moves as if it were followed alone.
    async fn run_moves(self, client: &Client) -> Result<u8, CliError> {
        let draws = self.draws();
        let mut lines = Lines::new(self.output);
        let mut moves = MoveScreens::new(self.output, draws);
        let (sender, mut views) = watch::channel(None);
        let path = of_operation(&self.id);
        let following = follow(client, &path, |view: &OperationView| {
            if !draws {
                lines.show(view, operation::headline);
            }
            sender.send_replace(Some(view.clone()));
            operation::end(view, &self.until)
        });
        let shown = async {
            loop {
                let view = views.borrow_and_update().clone();
                if let Some(view) = view {
                    moves.show(client, &view).await;
                }
                // A step reports its progress without an event of the operation.
                let _ = tokio::time::timeout(QUERY_AGAIN, views.changed()).await;
            }
        };
        let code = tokio::select! {
            code = following => code?,
            () = shown => return Ok(0),
        };
        let last = sender.borrow().clone();
        if let Some(view) = last {
            moves.show(client, &view).await;
            moves.close();
            operation::report_end(&view);
        }
        Ok(code)
    }
}

/// The moves of an operation for people, each on a screen of its own from its beginning to its end.
struct MoveScreens {
    output: Output,
    draws: bool,
    all: MultiProgress,
    head: Option<ProgressBar>,
    /// Of those that ended nothing is shown any more.
    screens: BTreeMap<MigrationId, Option<Box<dyn MigrationScreen>>>,
}

impl MoveScreens {
    fn new(output: Output, draws: bool) -> Self {
        Self {
            output,
            draws,
            all: MultiProgress::new(),
            head: None,
            screens: BTreeMap::new(),
        }
    }

    /// Asks for those that go on; one that cannot be had is shown the next time.
    async fn show(&mut self, client: &Client, view: &OperationView) {
        if self.output.is_for_programs() {
            return;
        }
        if self.draws {
            let all = &self.all;
            let head = self.head.get_or_insert_with(|| spinner(all));
            head.set_message(one_line(&operation::headline(view)));
        }
        for moved in &view.moves {
            let m = &moved.migration;
            if m.state == MigrationState::Planned || matches!(self.screens.get(&m.id), Some(None)) {
                continue;
            }
            let path = format!("/api/v1/migrations/{}", m.id);
            let Ok(view) = client.get::<MigrationView>(&path).await else {
                continue;
            };
            let (output, draws, all) = (self.output, self.draws, &self.all);
            let place = self.screens.entry(m.id.clone());
            let place = place.or_insert_with(|| Some(screen(output, draws, all)));
            let Some(shown) = place else { continue };
            shown.show(&view);
            if view.summary.finished_at.is_some() {
                shown.close();
                *place = None;
            }
        }
    }

    fn close(&mut self) {
        self.screens
            .values_mut()
            .flatten()
            .for_each(|screen| screen.close());
        if let Some(head) = &self.head {
            head.abandon();
        }
    }
}

fn screen(output: Output, draws: bool, all: &MultiProgress) -> Box<dyn MigrationScreen> {
    match draws {
        true => Box::new(Bars {
            all: all.clone(),
            head: None,
            tables: BTreeMap::new(),
        }),
        false => Box::new(Lines::new(output)),
    }
}

/// The exit code, if there is nothing to wait for.
fn end(view: &MigrationView, until: &[OperationState]) -> Option<u8> {
    let m = &view.summary;
    if until.contains(&m.state.into()) {
        return Some(0);
    }
    if m.state == MigrationState::Failed || m.state == MigrationState::Unwound {
        return Some(MIGRATION_FAILED);
    }
    if m.finished_at.is_some() {
        let reached = until.is_empty() && m.state == MigrationState::Completed;
        return Some(if reached { 0 } else { MIGRATION_FAILED });
    }
    let waits = matches!(m.state, MigrationState::Waiting | MigrationState::Paused);
    (until.is_empty() && (waits || holds(view))).then_some(0)
}

/// True while only the operator can end the hold.
fn holds(view: &MigrationView) -> bool {
    let mut steps = view.steps.iter();
    let holds = |kind| matches!(kind, StepKind::Hold | StepKind::HoldBack);
    let running = steps.any(|s| holds(s.kind) && s.state == StepState::Running);
    running && view.hold_end.is_none() && view.plan.options.hold == Hold::UntilFinish
}

fn report_end(view: &MigrationView) {
    let m = &view.summary;
    let approval = m
        .waiting_for
        .as_ref()
        .filter(|_| m.state == MigrationState::Waiting);
    match approval {
        Some(what) if view.cancel.is_some() => {
            report!("waiting for {what}: shardwright approve-cancel {}", m.id);
        }
        Some(what) => report!("waiting for {what}: shardwright approve {}", m.id),
        None if holds(view) && m.state == MigrationState::RolledBack => report!(
            "the map names {} again; drop the copy: shardwright finish {} (or approve, for another cutover)",
            m.source,
            m.id
        ),
        None if holds(view) => {
            // What was moved offline keeps no stream back.
            let or = if m.mode == Mode::Offline {
                ""
            } else {
                " (or rollback)"
            };
            report!(
                "the map names {}; end the hold: shardwright finish {}{or}",
                m.target,
                m.id
            );
        }
        None => report_failure(view),
    }
}

/// Says why a migration failed, and what to do.
pub(super) fn report_failure(view: &MigrationView) {
    let m = &view.summary;
    let Some(failure) = &m.failure else { return };
    report!("failed: {} ({})", failure.message, failure.code);
    if let Some(hint) = &failure.hint {
        report!("hint: {hint}");
    }
    report!("then: shardwright resume {}", m.id);
}

/// Where views are shown.
trait MigrationScreen {
    fn show(&mut self, view: &MigrationView);
    fn close(&mut self) {}
}

/// A line per change.
struct Lines {
    output: Output,
    last: String,
}

impl Lines {
    fn new(output: Output) -> Self {
        let last = String::new();
        Self { output, last }
    }

    fn show<V: Serialize>(&mut self, view: &V, headline: impl FnOnce(&V) -> String) {
        let change = self.output.change(view, |view| headline(view) + "\n");
        // A view that came as JSON can be written as such.
        let Ok(line) = change else { return };
        if line != self.last {
            super::out::print(&line);
            self.last = line;
        }
    }
}

impl MigrationScreen for Lines {
    fn show(&mut self, view: &MigrationView) {
        Lines::show(self, view, headline);
    }
}

/// A headline and a bar per table.
struct Bars {
    all: MultiProgress,
    head: Option<ProgressBar>,
    tables: BTreeMap<String, ProgressBar>,
}

impl MigrationScreen for Bars {
    fn show(&mut self, view: &MigrationView) {
        let all = &self.all;
        let head = self.head.get_or_insert_with(|| spinner(all));
        head.set_message(one_line(&headline(view)));
        let progress = current(view).and_then(|step| step.progress.as_ref());
        let shown = progress.map_or(&[][..], |progress| progress.tables.as_slice());
        self.tables.retain(|name, bar| {
            let stays = shown.iter().any(|table| &table.table == name);
            if !stays {
                bar.finish_and_clear();
                all.remove(bar);
            }
            stays
        });
        for table in shown {
            let bar = self.tables.entry(table.table.clone()).or_insert_with(|| {
                let bar = all.add(ProgressBar::new(0));
                bar.set_prefix(one_line(&table.table));
                bar
            });
            draw(bar, table);
        }
    }

    fn close(&mut self) {
        for bar in self.tables.values().chain(&self.head) {
            bar.abandon();
        }
    }
}

fn spinner(all: &MultiProgress) -> ProgressBar {
    let bar = all.add(ProgressBar::new_spinner());
    bar.set_style(style("{spinner} {msg}"));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn draw(bar: &ProgressBar, table: &TableProgress) {
    let number = |rows: i64| u64::try_from(rows).unwrap_or_default();
    let template = match has_total(table) {
        true => "  {prefix:30} {bar:30} {percent:>3} % {msg}",
        false => "  {prefix:30} {msg}",
    };
    bar.set_style(style(template));
    bar.set_length(number(table.rows_total.max(table.rows_done)));
    bar.set_position(number(table.rows_done));
    bar.set_message(table_message(table));
}

/// Whether a share can be told: an index or a foreign key has no rows to count.
fn has_total(table: &TableProgress) -> bool {
    table.rows_total > 0 || table.rows_done > 0
}

/// How far a table is, beside its bar.
fn table_message(table: &TableProgress) -> String {
    if !has_total(table) {
        return table.phase.clone();
    }
    format!(
        "{} of {} rows, {}, {}",
        table.rows_done,
        table.rows_total,
        bytes(table.bytes_done),
        table.phase
    )
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// As a bar may show it.
fn one_line(text: &str) -> String {
    harmless(text).replace(['\n', '\t'], " ")
}

/// The step that runs, or the next one.
fn current(view: &MigrationView) -> Option<&StepView> {
    let over = |step: &&StepView| matches!(step.state, StepState::Done | StepState::Skipped);
    view.steps.iter().find(|step| !over(step))
}

/// State, step, rate, rest, lag and everything that it waits for on one line.
fn headline(view: &MigrationView) -> String {
    let mut parts = vec![format!("{} {}", view.summary.id, view.summary.state)];
    if let Some(step) = current(view) {
        parts.push(format!("{} {}", step.id, step.state));
        if let Some(failure) = &step.failure {
            parts.push(failure.message.clone());
        }
        if let Some(progress) = &step.progress {
            parts.push(progress.message.clone());
            if progress.rows_per_second > 0.0 {
                parts.push(format!("{:.0} rows/s", progress.rows_per_second));
            }
            if let Some(eta) = progress.eta_seconds {
                parts.push(format!("{eta:.0} s left"));
            }
        }
    }
    parts.extend(view.waits.iter().map(ToString::to_string));
    if let Some(stream) = &view.stream {
        let lag = bytes(stream.lag_bytes);
        parts.push(format!(
            "{} {} lag {lag}, {} ms",
            stream.direction,
            dual_write::phase(stream),
            stream.lag_ms
        ));
    }
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_rows_to_count_has_no_bar() {
        let mut table = TableProgress {
            table: "FK VALIDATION item_order_fkey".to_owned(),
            phase: "building".to_owned(),
            ..TableProgress::default()
        };
        assert!(!has_total(&table));
        assert_eq!(table_message(&table), "building");
        (table.rows_done, table.rows_total) = (5, 10);
        assert!(has_total(&table));
        assert_eq!(table_message(&table), "5 of 10 rows, 0 B, building");
    }
}

//! `shardwright watch`: shows progress bars on a terminal; otherwise prints a line for each change.

use super::client::Client;
use super::error::{CliError, MIGRATION_FAILED};
use super::follow::{follow, migration_stream, operation_stream, until_interrupted};
use super::migration::state;
use super::operation;
use super::output::{Output, StyledText};
use crate::cli::out::{escape_control, for_stderr, report};
use crate::controller::operations::OperationState;
use crate::dual_write;
use crate::view::{MigrationView, OperationView, StepView, Tone};
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

/// The longest time between two queries of the moves of an operation. The progress of a step is not an event of the
/// operation.
const QUERY_INTERVAL: Duration = Duration::from_secs(1);

/// Follow an operation or a migration.
#[derive(Debug, Args)]
pub(super) struct Watch {
    /// The operation or migration.
    id: String,
    /// Stop only in one of these states, or if the migration ends or fails.
    #[arg(long, num_args = 1.., value_parser = state)]
    until: Vec<OperationState>,
    #[command(flatten)]
    output: Output,
}

impl Watch {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let id = self.id.clone();
        until_interrupted(&id, self.follow(client)).await
    }

    async fn follow(self, client: &Client) -> Result<u8, CliError> {
        if operation::with_moves(client, &self.id).await?.is_some() {
            return self.follow_moves(client).await;
        }
        let mut screen = new_screen(self.output, self.draws_bars(), &MultiProgress::new());
        let path = migration_stream(&self.id);
        let code = follow(client, &path, |view: &MigrationView| {
            screen.show(view);
            let code = watch_exit_code(view, &self.until)?;
            screen.close();
            report_next_command(view);
            Some(code)
        });
        code.await
    }

    /// Returns whether progress bars are drawn.
    fn draws_bars(&self) -> bool {
        !self.output.is_for_programs() && std::io::stderr().is_terminal()
    }

    /// Follows an operation, and for users also each of its moves.
    async fn follow_moves(self, client: &Client) -> Result<u8, CliError> {
        let draws = self.draws_bars();
        let mut lines = Lines::new(self.output);
        let mut moves = MoveScreens::new(self.output, draws);
        let (sender, mut views) = watch::channel(None);
        let path = operation_stream(&self.id);
        let following = follow(client, &path, |view: &OperationView| {
            if !draws {
                lines.show(view, operation::headline);
            }
            sender.send_replace(Some(view.clone()));
            operation::watch_exit_code(view, &self.until)
        });
        let refresh = async {
            loop {
                let view = views.borrow_and_update().clone();
                if let Some(view) = view {
                    moves.show(client, &view).await;
                }
                // A step reports its progress without an event of the operation.
                let _ = tokio::time::timeout(QUERY_INTERVAL, views.changed()).await;
            }
        };
        let code = tokio::select! {
            code = following => code?,
            () = refresh => return Ok(0),
        };
        let last = sender.borrow().clone();
        if let Some(view) = last {
            moves.show(client, &view).await;
            moves.close();
            operation::report_next_command(&view);
        }
        Ok(code)
    }
}

/// The screens of an operation's moves. A move has a screen from its start to its end.
struct MoveScreens {
    output: Output,
    draws: bool,
    all: MultiProgress,
    head: Option<ProgressBar>,
    /// By migration; `None` after the migration has ended.
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

    /// Reads the moves that have started and not ended, and shows them. A move that cannot be read is shown the next
    /// time.
    async fn show(&mut self, client: &Client, view: &OperationView) {
        if self.output.is_for_programs() {
            return;
        }
        if self.draws {
            let all = &self.all;
            let head = self.head.get_or_insert_with(|| spinner(all));
            head.set_message(bar_text(&operation::headline(view)));
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
            let entry = self.screens.entry(m.id.clone());
            let screen = entry.or_insert_with(|| Some(new_screen(output, draws, all)));
            let Some(shown) = screen else { continue };
            shown.show(&view);
            if view.summary.finished_at.is_some() {
                shown.close();
                *screen = None;
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

fn new_screen(output: Output, draws: bool, all: &MultiProgress) -> Box<dyn MigrationScreen> {
    match draws {
        true => Box::new(Bars {
            all: all.clone(),
            head: None,
            tables: BTreeMap::new(),
        }),
        false => Box::new(Lines::new(output)),
    }
}

/// Returns the exit code, if there is nothing more to wait for.
fn watch_exit_code(view: &MigrationView, until: &[OperationState]) -> Option<u8> {
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
    (until.is_empty() && (waits || is_open_ended_hold(view))).then_some(0)
}

/// Returns whether only an operator can end the running hold.
fn is_open_ended_hold(view: &MigrationView) -> bool {
    let mut steps = view.steps.iter();
    let is_hold = |kind| matches!(kind, StepKind::Hold | StepKind::HoldBack);
    let running = steps.any(|s| is_hold(s.kind) && s.state == StepState::Running);
    running && view.hold_end.is_none() && view.plan.options.hold == Hold::UntilFinish
}

/// If the migration waits for the operator or has failed, prints what the operator has to do.
fn report_next_command(view: &MigrationView) {
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
        None if is_open_ended_hold(view) && m.state == MigrationState::RolledBack => report!(
            "the map names {} again; drop the copy: shardwright finish {} (or approve, for another cutover)",
            m.source,
            m.id
        ),
        None if is_open_ended_hold(view) => {
            // An offline move has no reverse stream, so a rollback is impossible.
            let alternative = if m.mode == Mode::Offline {
                ""
            } else {
                " (or rollback)"
            };
            report!(
                "the map names {}; end the hold: shardwright finish {}{alternative}",
                m.target,
                m.id
            );
        }
        None => report_failure(view),
    }
}

/// If the migration has failed, prints why, and what to do.
pub(super) fn report_failure(view: &MigrationView) {
    let m = &view.summary;
    let Some(failure) = &m.failure else { return };
    report!("failed: {} ({})", failure.message, failure.code);
    if let Some(hint) = &failure.hint {
        report!("hint: {hint}");
    }
    report!("then: shardwright resume {}", m.id);
}

/// Shows the views of one migration.
trait MigrationScreen {
    fn show(&mut self, view: &MigrationView);
    fn close(&mut self) {}
}

/// Prints a line for each change.
struct Lines {
    output: Output,
    last: String,
}

impl Lines {
    fn new(output: Output) -> Self {
        let last = String::new();
        Self { output, last }
    }

    fn show<V: Serialize>(&mut self, view: &V, headline: impl FnOnce(&V) -> StyledText) {
        let change = self.output.render_change(view, |view| {
            let mut line = headline(view);
            line += "\n";
            line
        });
        // This cannot fail: the view was read from JSON.
        let Ok(line) = change else { return };
        if line != self.last {
            self.output.write(&line);
            self.last = line;
        }
    }
}

impl MigrationScreen for Lines {
    fn show(&mut self, view: &MigrationView) {
        Lines::show(self, view, headline);
    }
}

/// Shows a headline, and a bar for each table.
struct Bars {
    all: MultiProgress,
    head: Option<ProgressBar>,
    tables: BTreeMap<String, ProgressBar>,
}

impl MigrationScreen for Bars {
    fn show(&mut self, view: &MigrationView) {
        let all = &self.all;
        let head = self.head.get_or_insert_with(|| spinner(all));
        head.set_message(bar_text(&headline(view)));
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

/// Returns whether a percentage can be shown. Indexes and foreign keys have no rows to count.
fn has_total(table: &TableProgress) -> bool {
    table.rows_total > 0 || table.rows_done > 0
}

/// Returns the text beside the bar of a table.
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

/// Returns the text on one line and without control characters, so that it does not disturb the bars.
fn one_line(text: &str) -> String {
    escape_control(text).replace(['\n', '\t'], " ")
}

/// Returns the text of a bar: on one line, with its colours if stderr shows them.
fn bar_text(text: &StyledText) -> String {
    for_stderr(text.as_str()).replace(['\n', '\t'], " ")
}

/// Returns the running step, or else the next one.
fn current(view: &MigrationView) -> Option<&StepView> {
    let has_ended = |step: &&StepView| matches!(step.state, StepState::Done | StepState::Skipped);
    view.steps.iter().find(|step| !has_ended(step))
}

/// Returns on one line: the state, the step with rate and remaining time, the reasons to wait, and the lag.
fn headline(view: &MigrationView) -> StyledText {
    let state = view.summary.state;
    let mut line = StyledText::from(format!("{} ", view.summary.id));
    line.push_toned(state.name(), Tone::of_operation(state.into()));
    for part in headline_parts(view) {
        line += &format!(" · {part}");
    }
    line
}

/// Returns what follows the state in the headline.
fn headline_parts(view: &MigrationView) -> Vec<String> {
    let mut parts = Vec::new();
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
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_without_rows_to_count_has_no_bar() {
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

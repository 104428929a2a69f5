//! `shardwright migration COMMAND ID`, and the same commands without `migration`.

use super::client::Client;
use super::command::{CommandArgs, ConfirmedCommandArgs};
use super::error::CliError;
use super::output::{Output, StyledText, TextTable, or_dash};
use super::{operation, report, set, verify, wait, watch};
use crate::cli::out::report;
use crate::controller::Command;
use crate::controller::operations::OperationState;
use crate::dual_write;
use crate::view::{MigrationView, OperationView, StepView, Tone};
use chrono::TimeDelta;
use clap::Subcommand;
use plans::render::bytes;
use plans::state::step::StepState;
use plans::wire::StreamStatus;

/// What can be done with an operation or a migration.
#[derive(Debug, Subcommand)]
pub(super) enum MigrationCommand {
    /// List the operations with their moves, newest first.
    List {
        /// The number of operations, at most 10000.
        #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
        #[command(flatten)]
        output: Output,
    },
    /// Show an operation and its moves, or a migration and its steps.
    Show {
        /// The operation or migration.
        id: String,
        #[command(flatten)]
        output: Output,
    },
    /// Follow an operation or a migration until it ends, fails or waits for you.
    Watch(watch::Watch),
    /// Wait until an operation or a migration is in a state.
    Wait(wait::WaitArgs),
    /// Approve the cutover; after a rollback, another cutover.
    Approve(ConfirmedCommandArgs),
    /// Permit the agent to end the listed transactions, which prevent the cutover.
    ApproveCancel(ConfirmedCommandArgs),
    /// Continue without the hooks that hold the migration; --reason is required, and recorded.
    Overrule(ConfirmedCommandArgs),
    /// Stop at the next safe point.
    Pause(CommandArgs),
    /// Continue after a pause or a failure.
    Resume(CommandArgs),
    /// Retry a step at once.
    Retry(CommandArgs),
    /// Remove everything that the migration created; possible until the flip.
    Abort(ConfirmedCommandArgs),
    /// Return the keys to the source; possible from the flip to `finish`.
    Rollback(ConfirmedCommandArgs),
    /// End the hold, and delete the old rows; after a rollback, delete the copy.
    Finish(ConfirmedCommandArgs),
    /// Change a limit of the load that a migration causes, while it runs: rate, streams, latency, hours and others.
    Set(set::SetArgs),
    /// Compare both copies again now, print the results of the last comparisons, or repair the copy.
    Verify(verify::Verify),
    /// Print the report of an operation or a migration, or write it to a file.
    Report(report::ReportArgs),
}

impl MigrationCommand {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        match self {
            Self::List { limit, output } => {
                let newest = client.newest::<OperationView>("/api/v1/operations", limit);
                let (all, more) = newest.await?;
                if more {
                    report!("there are older operations: --limit shows more");
                }
                output.print(&all, |all| operation::list_text(all))
            }
            Self::Show { id, output } => {
                if let Some(view) = operation::with_moves(client, &id).await? {
                    return output.print(&view, operation::show_text);
                }
                let view: MigrationView = client.get(&format!("/api/v1/migrations/{id}")).await?;
                output.print(&view, show_text)
            }
            Self::Watch(watch) => watch.run(client).await,
            Self::Wait(wait) => wait.run(client).await,
            Self::Approve(args) => args.send(client, Command::Approve).await,
            Self::ApproveCancel(args) => args.send(client, Command::ApproveCancel).await,
            Self::Overrule(args) => args.send(client, Command::Overrule).await,
            Self::Pause(args) => args.send(client, Command::Pause).await,
            Self::Resume(args) => args.send(client, Command::Resume).await,
            Self::Retry(args) => args.send(client, Command::Retry).await,
            Self::Abort(args) => args.send(client, Command::Abort).await,
            Self::Rollback(args) => args.send(client, Command::Rollback).await,
            Self::Finish(args) => args.send(client, Command::Finish).await,
            Self::Set(set) => set.run(client).await,
            Self::Verify(verify) => verify.run(client).await,
            Self::Report(report) => report.run(client).await,
        }
    }
}

/// Parses the name of a state.
pub(super) fn state(name: &str) -> Result<OperationState, String> {
    OperationState::parse(name).ok_or_else(|| format!("{name:?} is not a state of a migration"))
}

/// Returns the migration with its steps as text.
pub(super) fn show_text(view: &MigrationView) -> StyledText {
    let m = &view.summary;
    let mut text = StyledText::from(format!(
        "migration {}: {} of map {}, {} from {} to {}\nstate ",
        m.id, m.operation, m.map, m.keys, m.source, m.target,
    ));
    let tone = Tone::of_operation(m.state.into());
    text.push_toned(m.state.name(), tone);
    text += &format!(
        ", keys {}, map version {} -> {}\n",
        m.ownership,
        m.map_version.before,
        or_dash(m.map_version.back.or(m.map_version.after).as_ref()),
    );
    for wait in &view.waits {
        text += &format!("{wait}\n");
    }
    text += &set::limits_line(view);
    if let Some(failure) = &m.failure {
        text += &format!("failed: {} ({})\n", failure.message, failure.code);
    }
    if let Some(hint) = m.failure.as_ref().and_then(|failure| failure.hint.as_ref()) {
        text += &format!("hint: {hint}\n");
    }
    if let Some(stream) = &view.stream {
        text += &stream_line(stream);
    }
    if let Some(at) = view.hold_ends_at {
        text += &format!("hold ends at {}\n", at.format("%Y-%m-%d %H:%M:%S UTC"));
    }
    for left in &view.leftovers {
        text += &format!(
            "left over: shard {}: {}: {}\n",
            left.shard, left.object, left.why
        );
    }
    if !view.leftovers.is_empty() {
        text += "hint: `shardwright cleanup` lists these objects, and removes them with --apply\n";
    }
    for note in &view.notes {
        text += &format!("note: {note}\n");
    }
    let rows: Vec<_> = view.steps.iter().map(step_row).collect();
    let steps = TextTable::new(&["STEP", "STATE", "ATTEMPT", "TOOK", ""], rows);
    text += "\n";
    text.push_table(&steps.toned("STATE", step_tone));
    text
}

/// Returns the tone of a step, from the name of its state.
fn step_tone(state: &str) -> Option<Tone> {
    StepState::parse(state).map(Tone::of_step)
}

/// Returns the tone of an operation or a migration, from the name of its state.
pub(super) fn state_tone(state: &str) -> Option<Tone> {
    OperationState::parse(state).map(Tone::of_operation)
}

/// Returns the lag of a stream, and how much log the upstream shard retains for it.
fn stream_line(stream: &StreamStatus) -> String {
    let mut line = format!(
        "{} {}: {} ms and {} behind; {}",
        stream.direction,
        dual_write::phase(stream),
        stream.lag_ms,
        bytes(stream.lag_bytes),
        dual_write::state(stream)
    );
    let log = &stream.retained;
    if !log.wal_status.is_empty() {
        let (now, peak) = (bytes(log.bytes), bytes(log.peak_bytes));
        line += &format!("; log retained {now}, at most {peak} ({})", log.wal_status);
    }
    line + "\n"
}

fn step_row(step: &StepView) -> Vec<String> {
    let seconds = |span: TimeDelta| format!("{:.1} s", span.num_milliseconds() as f64 / 1e3);
    let idle = step.idle_time().map(seconds);
    let idle = idle.map_or_else(String::new, |idle| format!(", idle {idle}"));
    let time = step.work_time().map(|worked| seconds(worked) + &idle);
    let remark = match (&step.failure, &step.progress) {
        (Some(failure), _) => failure.message.clone(),
        (None, Some(progress)) => progress.message.clone(),
        (None, None) => String::new(),
    };
    vec![
        step.id.to_string(),
        step.state.to_string(),
        step.attempt.to_string(),
        or_dash(time.as_ref()),
        remark,
    ]
}

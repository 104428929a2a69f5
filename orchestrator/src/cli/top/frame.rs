//! One screen of `shardwright top`: the leading controller, the migrations that wait for an operator, the running ones,
//! and the agents, in the columns and rows of the terminal.

use crate::api::LeadershipHealth;
use crate::cli::out::escape_control;
use crate::cli::output::TextTable;
use crate::dashboard::agents::is_connected;
use crate::store::AgentRecord;
use crate::view::figures::{count, seconds};
use crate::view::{MigrationView, StepView, WaitKind, WaitReason};
use chrono::{DateTime, Utc};
use clap::ValueEnum;
use plans::render::bytes;
use plans::state::step::StepState;
use std::cmp::Reverse;

/// The state of the fleet at one time.
#[derive(Debug)]
pub(super) struct FleetStatus {
    pub(super) health: LeadershipHealth,
    pub(super) at: DateTime<Utc>,
    /// The migrations that have not ended, newest first.
    pub(super) migrations: Vec<MigrationView>,
    /// The number of older unfinished migrations that were not requested from the controller.
    pub(super) hidden: usize,
    /// The number of migrations that have ended.
    pub(super) ended: usize,
    pub(super) agents: Vec<AgentRecord>,
    /// Why the last request for a newer state failed; `None` if it did not.
    pub(super) stale: Option<String>,
}

/// Which migrations come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum MigrationSort {
    /// The newest migrations.
    #[default]
    Newest,
    /// Those whose step has the longest remaining time.
    Left,
    /// Those whose stream has the largest lag.
    Lag,
}

impl MigrationSort {
    pub(super) fn next(self) -> Self {
        match self {
            Self::Newest => Self::Left,
            Self::Left => Self::Lag,
            Self::Lag => Self::Newest,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Newest => "newest first",
            Self::Left => "longest remaining time first",
            Self::Lag => "largest lag first",
        }
    }
}

/// Returns the lines of the screen: at most `rows` lines of at most `columns` characters.
pub(super) fn frame(
    status: &FleetStatus,
    sort: MigrationSort,
    (columns, rows): (usize, usize),
) -> Vec<String> {
    let mut lines = vec![headline(status, sort)];
    lines.extend(
        status
            .stale
            .as_ref()
            .map(|why| format!("! not updated since: {why}")),
    );
    let (waiting, others): (Vec<_>, Vec<_>) = status
        .migrations
        .iter()
        .partition(|m| operator_wait(m).is_some());
    if !waiting.is_empty() {
        lines.push(String::new());
        lines.push("WAITS FOR AN OPERATOR".to_owned());
        lines.extend(waiting.iter().map(|m| waiting_line(m)));
    }
    lines.push(String::new());
    if status.migrations.is_empty() {
        lines.push(format!(
            "no migration is running; {} have ended",
            status.ended
        ));
    } else {
        let mut listed: Vec<&MigrationView> = waiting.into_iter().chain(others).collect();
        sort_migrations(&mut listed, sort);
        lines.extend(table(&listed));
    }
    if status.hidden > 0 {
        lines.push(format!(
            "and {} older migrations: shardwright list",
            status.hidden
        ));
    }
    lines.push(String::new());
    lines.push(agents_line(status));
    lines.truncate(rows);
    lines.iter().map(|line| cut(line, columns)).collect()
}

fn headline(status: &FleetStatus, sort: MigrationSort) -> String {
    let health = &status.health;
    let leader = match &health.leader {
        Some(leader) => format!("{leader} leads"),
        None => "no controller leads".to_owned(),
    };
    let at = status.at.format("%H:%M:%S");
    let unfinished = status.migrations.len() + status.hidden;
    format!(
        "shardwright {} · {at} UTC · {leader} · {unfinished} not ended · {} · q: quit, s: sort",
        health.version,
        sort.name()
    )
}

/// Returns the reason for which the migration waits, if only an operator can end the wait.
fn operator_wait(view: &MigrationView) -> Option<&WaitReason> {
    view.waits.iter().find(|wait| {
        matches!(
            wait.kind,
            WaitKind::Approval
                | WaitKind::Cancel
                | WaitKind::Paused
                | WaitKind::Failed
                | WaitKind::Finish
        )
    })
}

fn waiting_line(view: &MigrationView) -> String {
    let m = &view.summary;
    let wait = operator_wait(view)
        .map(ToString::to_string)
        .unwrap_or_default();
    format!("! {} {} → {} {}: {wait}", m.id, m.source, m.target, m.state)
}

/// Returns the running step, or else the next one.
fn current_step(view: &MigrationView) -> Option<&StepView> {
    let has_ended = |state| matches!(state, StepState::Done | StepState::Skipped);
    view.steps.iter().find(|step| !has_ended(step.state))
}

/// Returns the estimated remaining time of the step, in seconds.
fn remaining_seconds(view: &MigrationView) -> Option<f64> {
    current_step(view)?.progress.as_ref()?.eta_seconds
}

fn sort_migrations(listed: &mut [&MigrationView], sort: MigrationSort) {
    match sort {
        MigrationSort::Newest => listed.sort_by_key(|m| Reverse(m.summary.created_at)),
        MigrationSort::Left => listed.sort_by(|a, b| {
            remaining_seconds(b)
                .unwrap_or(-1.0)
                .total_cmp(&remaining_seconds(a).unwrap_or(-1.0))
        }),
        MigrationSort::Lag => {
            listed.sort_by_key(|m| Reverse(m.stream.as_ref().map_or(-1, |stream| stream.lag_ms)));
        }
    }
}

fn table(listed: &[&MigrationView]) -> Vec<String> {
    let head = [
        "ID",
        "FROM → TO",
        "STATE",
        "STEP",
        "DONE",
        "RATE",
        "LEFT",
        "LAG",
        "WAITS FOR",
    ];
    let rows = listed.iter().map(|view| row(view)).collect();
    let text = TextTable::new(&head, rows).text(true, true);
    text.as_str().lines().map(str::to_owned).collect()
}

fn row(view: &MigrationView) -> Vec<String> {
    let m = &view.summary;
    let step = current_step(view);
    let progress = step.and_then(|step| step.progress.as_ref());
    let tables = progress.map_or(&[][..], |p| p.tables.as_slice());
    let (done, total) = tables.iter().fold((0, 0), |(done, total), table| {
        (done + table.rows_done, total + table.rows_total)
    });
    let percent = (total > 0).then(|| format!("{} %", done.clamp(0, total) * 100 / total));
    let rate = progress.filter(|p| p.rows_per_second > 0.0);
    let rate = rate.map(|p| format!("{} rows/s", count(p.rows_per_second as i64)));
    let lag = view.stream.as_ref();
    let lag = lag.map(|stream| format!("{} ms, {}", stream.lag_ms, bytes(stream.lag_bytes)));
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    vec![
        m.id.to_string(),
        format!("{} → {}", m.source, m.target),
        m.state.to_string(),
        or_dash(step.map(|step| step.id.to_string())),
        or_dash(percent),
        or_dash(rate),
        or_dash(remaining_seconds(view).map(seconds)),
        or_dash(lag),
        or_dash(view.waits.first().map(|wait| wait.what.clone())),
    ]
}

fn agents_line(status: &FleetStatus) -> String {
    let (connected, silent): (Vec<&AgentRecord>, Vec<&AgentRecord>) = status
        .agents
        .iter()
        .partition(|agent| is_connected(agent, status.at));
    let names = |agents: &[&AgentRecord]| {
        let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
        names.join(", ")
    };
    match (connected.is_empty(), silent.is_empty()) {
        (true, true) => "no agent has ever connected: shardwright-agent --name NAME".to_owned(),
        (false, true) => format!("agents: {}", names(&connected)),
        (true, false) => format!("! no agent is connected; silent: {}", names(&silent)),
        (false, false) => format!("agents: {}; silent: {}", names(&connected), names(&silent)),
    }
}

/// Returns the line without control characters of terminals, cut to the width of the screen.
fn cut(line: &str, columns: usize) -> String {
    let line = escape_control(line).replace(['\n', '\t'], " ");
    if console::measure_text_width(&line) <= columns {
        return line;
    }
    console::truncate_str(&line, columns, "…").into_owned()
}

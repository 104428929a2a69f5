//! An operation with one or more moves, from the plan to the end of its last move.
//!
//! It plans, submits and polls all moves. A move at the gate is approved once enough transactions of its phase were
//! written. When all moves have flipped, the rows of both shards are compared and the operation is finished. If a move
//! waits until another one is finished, the operation is finished earlier.

use super::progress::print_line;
use super::{DemoRun, check, follow};
use crate::api::MigrationStatus;
use crate::error::DemoError;
use crate::ledger::LedgerPhase;
use crate::report::{MovedKeys, RunOutcome, RunReport};
use crate::workload::{KeyReaders, Workload};
use plans::plan::Plan;
use plans::request::Mode;
use plans::state::migration::MigrationState as State;
use plans::state::step::StepState;
use plans::step::StepKind;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The time limit without any change of any move.
const LIMIT: Duration = Duration::from_secs(90);

/// Prints the plan.
pub(super) fn print_plan(plan: &Plan) {
    for planned in &plan.moves {
        let moving = &planned.moving;
        print_line(&format!(
            "planned: {} of shard {} to shard {}, about {} rows, {} tables ({})",
            moving.keys,
            moving.source,
            moving.target,
            planned.estimate.rows,
            moving.tables.len(),
            planned.why
        ));
    }
    plan.notes.iter().for_each(|note| print_line(note));
}

/// The moves of an operation that runs.
#[derive(Debug)]
struct OperationMoves {
    operation: String,
    ids: Vec<String>,
    /// The last printed line of each move.
    printed: BTreeMap<String, String>,
    /// When a line was last printed.
    changed: Instant,
    approved: BTreeSet<String>,
    finished: BTreeSet<String>,
    /// True if the rows of both shards were compared, or are being compared.
    compared: bool,
    /// When keys were first and last observed to be read-only, and the number of successful reads at these times.
    read_only: Option<[(Instant, u64); 2]>,
}

impl DemoRun<'_> {
    /// Plans, submits and follows the operation to its end, and adds the figures to the report.
    pub(super) async fn operation(
        &self,
        workload: &Workload,
        report: &mut RunReport,
    ) -> Result<(), DemoError> {
        report.submitted_migrations = 1;
        report.balance = self.balance_before().await?;
        let plan = self.api.plan(&self.scenario.request).await?;
        print_plan(&plan);
        let empty_key_set = self.scenario.map.empty_key_set();
        let all = plan.moves.iter();
        let keys = all.fold(empty_key_set, |all, planned| {
            all.union(&planned.moving.keys)
        });
        self.ledger
            .set_moving_keys(&keys)
            .map_err(DemoError::io("write the ledger"))?;
        let readers = self.readers();
        self.ledger.set_phase(LedgerPhase::Copy);
        let id = self.api.submit(&plan).await?;
        let mut moves = OperationMoves::new(id, plan.moves.len());
        let named = moves.ids.iter().zip(&plan.moves);
        report.moves = named
            .map(|(id, planned)| MovedKeys::new(id, planned))
            .collect();
        report.result = match self.follow(&mut moves, &readers, workload, report).await {
            Err(stopped @ DemoError::Stopped { .. }) => {
                print_line(&stopped.to_string());
                RunOutcome::Failed
            }
            ended => ended.map(|()| RunOutcome::Completed)?,
        };
        if self.scenario.task.mode == Mode::Offline {
            let read_only = moves
                .read_only
                .map(|[from, to]| (to.0 - from.0, to.1 - from.1));
            let (time, reads) = read_only.unwrap_or_default();
            report.read_only_ms = u64::try_from(time.as_millis()).ok();
            report.reads_while_read_only = Some(reads);
        }
        Ok(())
    }

    fn readers(&self) -> KeyReaders {
        let mix = Arc::clone(&self.mix);
        let shop = self.scenario.shop;
        KeyReaders::start(self.options.seed, mix, shop, self.map.clone())
    }

    /// Polls all moves until each one is completed.
    async fn follow(
        &self,
        moves: &mut OperationMoves,
        readers: &KeyReaders,
        workload: &Workload,
        report: &mut RunReport,
    ) -> Result<(), DemoError> {
        loop {
            let all = self.read_moves(moves).await?;
            moves.print_changes(&all);
            report.set_figures(&all);
            moves.count_reads(&all, readers);
            if let Some(stopped) = all.iter().find(|m| is_stopped(m)) {
                return Err(DemoError::Stopped {
                    id: stopped.id.clone(),
                    state: stopped.state,
                    reason: stopped.reason(),
                });
            }
            self.update_phase(&all);
            if all.iter().all(|m| m.state == State::Completed) {
                return self.wait_for_enough(LedgerPhase::After).await;
            }
            self.send_commands(moves, &all, workload).await?;
            moves.check_limit()?;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Returns the current state of the moves. The controller may be unreachable for a while.
    async fn read_moves(&self, moves: &OperationMoves) -> Result<Vec<MigrationStatus>, DemoError> {
        loop {
            let calls = moves.ids.iter().map(|id| self.api.migration(id));
            match futures::future::try_join_all(calls).await {
                Err(crate::api::ApiError::Unreachable { .. }) => moves.check_limit()?,
                all => return Ok(all?),
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    fn update_phase(&self, all: &[MigrationStatus]) {
        if all.iter().all(is_flipped) {
            self.ledger.set_phase(LedgerPhase::After);
        } else if self.ledger.phase() == LedgerPhase::Copy
            && all.iter().all(|m| m.is_done(StepKind::Copy))
        {
            self.ledger.set_phase(LedgerPhase::CatchUp);
        }
    }

    /// Sends the commands that an operator would send now.
    async fn send_commands(
        &self,
        moves: &mut OperationMoves,
        all: &[MigrationStatus],
        workload: &Workload,
    ) -> Result<(), DemoError> {
        for migration in all.iter().filter(|m| m.state == State::Waiting) {
            if moves.approved.insert(migration.id.clone()) {
                self.ledger.set_phase(LedgerPhase::CatchUp);
                self.wait_for_moving(LedgerPhase::CatchUp, self.goal(2))
                    .await?;
                self.ledger.set_phase(LedgerPhase::Cutover);
                self.command(&migration.id, "approve").await?;
            }
        }
        let online = self.scenario.task.mode == Mode::Online;
        let flipped = all.iter().all(is_flipped);
        if online && flipped && !moves.compared {
            moves.compared = true;
            self.wait_for_enough(LedgerPhase::After).await?;
            check::compare_during_hold(self, workload).await?;
        }
        // If every move has flipped or waits to start, a move may wait until another one is finished.
        let none_runs = all
            .iter()
            .all(|m| m.state == State::Planned || is_flipped(m));
        if online && (flipped || none_runs) {
            for migration in all.iter().filter(|m| m.state == State::Flipped) {
                if moves.finished.insert(migration.id.clone()) {
                    self.command(&migration.id, "finish").await?;
                }
            }
        }
        Ok(())
    }

    /// Waits until enough transactions with moving keys were written, some of them in this phase.
    pub(super) async fn wait_for_enough(&self, phase: LedgerPhase) -> Result<(), DemoError> {
        self.wait_for_moving(phase, self.goal(2)).await?;
        let goal = self.options.goal_on_moving_keys();
        let what = format!("{goal} transactions on moving keys");
        follow::until(&what, || self.ledger.tally().moving >= goal).await
    }

    async fn command(&self, id: &str, verb: &str) -> Result<(), DemoError> {
        print_line(&format!("{verb} {id}"));
        let begun = Instant::now();
        loop {
            match self.api.command(id, verb).await {
                Err(crate::api::ApiError::Unreachable { .. }) if begun.elapsed() < LIMIT => {}
                done => return Ok(done?),
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

impl OperationMoves {
    fn new(operation: String, count: usize) -> Self {
        let ids = match count {
            1 => vec![operation.clone()],
            _ => (1..=count)
                .map(|number| format!("{operation}x{number}"))
                .collect(),
        };
        Self {
            operation,
            ids,
            printed: BTreeMap::new(),
            changed: Instant::now(),
            approved: BTreeSet::new(),
            finished: BTreeSet::new(),
            compared: false,
            read_only: None,
        }
    }

    fn check_limit(&self) -> Result<(), DemoError> {
        if self.changed.elapsed() < LIMIT {
            return Ok(());
        }
        let lines: Vec<&str> = self.printed.values().map(String::as_str).collect();
        Err(DemoError::Stalled {
            what: format!("operation {} ({})", self.operation, lines.join("; ")),
            seconds: LIMIT.as_secs(),
        })
    }

    /// Prints what has changed.
    fn print_changes(&mut self, all: &[MigrationStatus]) {
        for migration in all {
            let line = status_line(migration);
            if self.printed.get(&migration.id) != Some(&line) {
                print_line(&line);
                self.printed.insert(migration.id.clone(), line);
                self.changed = Instant::now();
            }
        }
    }

    fn count_reads(&mut self, all: &[MigrationStatus], readers: &KeyReaders) {
        let read_only = |m: &MigrationStatus| m.is_done(StepKind::SetReadOnly) && !is_flipped(m);
        if all.iter().any(read_only) {
            let now = (Instant::now(), readers.succeeded());
            self.read_only.get_or_insert([now, now])[1] = now;
        }
    }
}

fn is_flipped(migration: &MigrationStatus) -> bool {
    matches!(migration.state, State::Flipped | State::Completed)
}

fn is_stopped(migration: &MigrationStatus) -> bool {
    matches!(
        migration.state,
        State::Failed | State::Unwound | State::RolledBack
    )
}

/// Describes a move in one line.
fn status_line(migration: &MigrationStatus) -> String {
    let mut line = format!("{} {}", migration.id, migration.state);
    for step in &migration.steps {
        let is_active = matches!(
            step.state,
            StepState::Running | StepState::Backoff | StepState::Failed
        );
        if is_active {
            line.push_str(&format!(", {} {}", step.kind, step.state));
        }
        if is_active
            && step.state != StepState::Running
            && let Some(failure) = &step.failure
        {
            line.push_str(&format!(": {}", failure.message));
        }
    }
    if let Some(reason) = &migration.waiting_for {
        line.push_str(&format!(" (waits: {reason})"));
    }
    line
}

//! Repeats the cutover of one migration while the application writes, and measures each write-blocked window.
//!
//! It alternates cutover and rollback, each complete. The agent reports the times.

use super::follow::Follower;
use super::{DemoRun, load, migrate, progress, ready, register};
use crate::api::MigrationStatus;
use crate::error::DemoError;
use crate::fleet::Fleet;
use crate::ledger::LedgerPhase;
use crate::options::Options;
use crate::scenario::Scenario;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::StepKind;
use plans::step::cutover::{CutoverResult, WriteBlockTimes};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::Mutex;

/// How long the application writes undisturbed between two cutovers.
const PAUSE_BETWEEN_CUTOVERS: Duration = Duration::from_millis(500);

/// The measurements.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WriteBlocks {
    /// One entry for each cutover in order: cutover, rollback, cutover.
    pub windows: Vec<WriteBlockTimes>,
    /// The number of attempts that were given up and repeated.
    pub given_up: i64,
    /// The number of acknowledged transactions.
    pub acknowledged: u64,
    /// When the first cutover was requested and when the last one ended, in microseconds since 1970.
    pub between: (u128, u128),
}

/// The distribution of a time in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TimeSpread {
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The maximum.
    pub max: f64,
}

type CutoverPart = fn(&WriteBlockTimes) -> f64;

impl WriteBlocks {
    /// Returns the distribution of the write-blocked window and of each of its parts, by name.
    #[must_use]
    pub fn spreads(&self) -> Vec<(&'static str, TimeSpread)> {
        let parts: [(&'static str, CutoverPart); 8] = [
            ("total", |w| w.total),
            ("fence", |w| w.fence),
            ("wait_out", |w| w.wait_out),
            ("drain", |w| w.drain),
            ("check", |w| w.check),
            ("seal", |w| w.seal),
            ("flip", |w| w.flip),
            ("open", |w| w.open),
        ];
        let spread = |(name, part): (_, CutoverPart)| {
            let mut values: Vec<f64> = self.windows.iter().map(part).collect();
            values.sort_by(f64::total_cmp);
            (name, spread(&values))
        };
        parts.into_iter().map(spread).collect()
    }
}

/// Returns the distribution of sorted values, by nearest rank.
fn spread(sorted: &[f64]) -> TimeSpread {
    let at = |percent: usize| {
        let rank = (sorted.len() * percent).div_ceil(100);
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
    };
    TimeSpread {
        p50: at(50),
        p99: at(99),
        max: at(100),
    }
}

/// Executes the given number of cutovers of one plain split on a private fleet, with the data and the load of the
/// options.
///
/// # Errors
/// [`DemoError`] if a cutover does not complete.
pub async fn write_stops(options: &Options, cutovers: u32) -> Result<WriteBlocks, DemoError> {
    options.check()?;
    cluster::sweep(&cluster::temporary_base())?;
    let scenario = Scenario::new(options, migrate::request_options(options));
    let fleet = Arc::new(Fleet::start(options, &scenario.shards).await?);
    let measured = with_fleet(options, scenario, Arc::clone(&fleet), cutovers).await;
    if measured.is_err() {
        eprint!("{}", fleet.logs());
    }
    let stopped = fleet.stop_programs().await;
    let measured = measured?;
    stopped?;
    Ok(measured)
}

async fn with_fleet(
    options: &Options,
    scenario: Scenario,
    fleet: Arc<Fleet>,
    cutovers: u32,
) -> Result<WriteBlocks, DemoError> {
    fleet.start_programs(&[]).await?;
    let ledger = Arc::new(load(&scenario, &fleet).await?);
    let api = crate::api::Api::new(fleet.urls(), &fleet.identity())?;
    ready(&api).await?;
    let map = register(&api, &scenario, &fleet).await?;
    let run = DemoRun {
        options,
        mix: Arc::new(scenario.mix()),
        scenario,
        fleet,
        api,
        map,
        ledger,
        standby_writer: Mutex::default(),
    };
    let workload = run.start_workload();
    let _ticker = progress::ticker(Arc::clone(&run.ledger));
    run.wait_for_moving(LedgerPhase::Before, 20).await?;
    let measured = run.repeat_cutovers(cutovers).await?;
    workload
        .stop()
        .await
        .map_err(DemoError::io("write the ledger"))?;
    Ok(measured)
}

impl DemoRun<'_> {
    /// Submits a migration, and alternates cutovers and rollbacks. It leaves the migration in its last hold.
    async fn repeat_cutovers(&self, cutovers: u32) -> Result<WriteBlocks, DemoError> {
        let plan = self.api.plan(&self.scenario.request).await?;
        self.ledger.set_phase(LedgerPhase::Copy);
        let id = self.api.submit(&plan).await?;
        let mut follower = Follower::new(&self.api, &self.ledger, id);
        let gate = |m: &MigrationStatus| m.state == MigrationState::Waiting;
        follower.until("the gate", gate).await?;
        let mut measured = WriteBlocks::default();
        let begun = now_micros();
        for number in 0..cutovers {
            tokio::time::sleep(PAUSE_BETWEEN_CUTOVERS).await;
            let (verb, cutover_step, hold_step) = match number % 2 {
                0 => ("approve", StepKind::Cutover, StepKind::Hold),
                _ => ("rollback", StepKind::Rollback, StepKind::HoldBack),
            };
            follower.command(verb).await?;
            let in_hold = |m: &MigrationStatus| {
                m.step(hold_step)
                    .is_some_and(|step| step.state == StepState::Running)
            };
            let migration = follower.until("the end of the cutover", in_hold).await?;
            let cut: CutoverResult =
                migration
                    .output(cutover_step)
                    .ok_or_else(|| DemoError::Stopped {
                        id: migration.id.clone(),
                        state: migration.state,
                        reason: migration.reason(),
                    })?;
            measured.given_up = cut.attempt.0 - i64::from(number) - 1;
            measured.windows.push(cut.write_block);
        }
        measured.between = (begun, now_micros());
        measured.acknowledged = self.ledger.tally().acknowledged;
        Ok(measured)
    }
}

fn now_micros() -> u128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_micros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let windows = (1..=200).map(|total| WriteBlockTimes {
            total: f64::from(total),
            ..WriteBlockTimes::default()
        });
        let stops = WriteBlocks {
            windows: windows.rev().collect(),
            ..WriteBlocks::default()
        };
        let (name, total) = stops.spreads()[0];
        let expected = TimeSpread {
            p50: 100.0,
            p99: 198.0,
            max: 200.0,
        };
        assert_eq!((name, total), ("total", expected));
    }
}

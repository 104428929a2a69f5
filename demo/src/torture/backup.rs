//! The fault of a control store that is older than the fleet: it is saved during the run, and later restored.
//!
//! The controller waits at the moment of the copy until the copy is made. Later, at the place of the fault, the
//! controllers are killed and the copy is restored, while the agents continue. Then the controllers start again, and
//! the operator adds the lost flips from the shards to the store. No copy is made before the target's tables exist: a
//! migration that has flipped since the copy could not continue. The store would get only the owner of the keys, and an
//! operator would have to remove the objects of the migration with `cleanup`.

use super::case::FaultCase;
use super::fault::Fault;
use super::place::PathLeg;
use super::run_log::RunLog;
use crate::api::{Api, FleetReport};
use crate::error::DemoError;
use crate::fleet::Fleet;
use crate::options::Process;
use crate::points::{PassedBy, PassedPoint};
use fail_point::{Arrival, Rendezvous};
use plans::inspection::reconcile::ContradictionKind;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The time in which controllers start, one of them leads after the old leader's term has ended, and every shard is
/// probed.
const REPAIR_LIMIT: Duration = Duration::from_secs(90);
const CALL_LIMIT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(200);
const SHARDS: usize = 2;

/// A copy that will be made.
#[derive(Debug)]
pub(super) struct PlannedBackup {
    moment: PassedPoint,
    meeting: Rendezvous,
}

impl PlannedBackup {
    /// Creates the socket, if the fault needs a copy of the control store.
    pub(super) fn prepare(
        case: &FaultCase,
        seed: u64,
        fleet: &Fleet,
    ) -> Result<Option<Self>, DemoError> {
        if (case.fault, case.component) != (Fault::Restored, Process::Store) {
            return Ok(None);
        }
        let meeting = Rendezvous::bind(fleet.dir().join("save"));
        Ok(Some(Self {
            moment: PassedPoint {
                name: moment(case.place.leg, seed).to_owned(),
                passed_by: PassedBy::Controller,
            },
            meeting: meeting.map_err(DemoError::io("make a socket"))?,
        }))
    }

    /// Returns the moment, and the text that arms its fail point.
    pub(super) fn armed(&self) -> (PassedPoint, String) {
        (self.moment.clone(), self.meeting.arms(&self.moment.name))
    }

    /// Waits for the moment, and makes the copy.
    pub(super) async fn make(self, fleet: &Fleet, run_log: &RunLog) -> Result<(), DemoError> {
        let arrival = self.meeting.arrived().await;
        let arrival = arrival.map_err(DemoError::io("meet a process"))?;
        fleet.dump_store(&copy_file(fleet)).await?;
        run_log.write(&format!("the control store is saved at {}", arrival.name));
        Ok(())
    }
}

/// Returns the moment of the copy. The operator's path and timing depend on other bits of the seed.
fn moment(leg: PathLeg, seed: u64) -> &'static str {
    let is_late_copy = (seed / 12).is_multiple_of(2);
    match leg {
        // A copy of this moment lacks the flip and everything before it.
        PathLeg::Flipped | PathLeg::Finish if is_late_copy => "controller.cutover.claimed",
        // A copy of this moment has the flip, and lacks only the rollback.
        PathLeg::Back | PathLeg::BackFinish if is_late_copy => "controller.hold.claimed",
        PathLeg::Before
        | PathLeg::Flipped
        | PathLeg::Finish
        | PathLeg::Back
        | PathLeg::BackFinish
        | PathLeg::Unwind => "controller.copy.claimed",
    }
}

fn copy_file(fleet: &Fleet) -> PathBuf {
    fleet.dir().join("store.dump")
}

/// Restores the copy while no controller runs, and adds the lost flips to the store.
pub(super) async fn restore(
    leg: PathLeg,
    arrival: Arrival,
    (fleet, api, run_log): (&Fleet, &Api, &RunLog),
) -> Result<(), DemoError> {
    fleet.kill_controllers().await?;
    // From now on the agent cannot report its results. It reports them to the restored store.
    drop(arrival);
    fleet.restore_store(&copy_file(fleet)).await?;
    run_log.write("the control store is as it was when it was saved");
    fleet.restart_programs().await?;
    let done = repair_store(api, run_log).await?;
    if done == 0 && leg != PathLeg::Before {
        let problem = "the control store had lost a flip, but `reconcile --apply` repaired nothing";
        return Err(DemoError::Unclean {
            problems: vec![problem.to_owned()],
        });
    }
    Ok(())
}

/// Runs `shardwright reconcile --apply` until no finding states that the store is older than the fleet. Returns the
/// number of repairs.
async fn repair_store(api: &Api, run_log: &RunLog) -> Result<usize, DemoError> {
    let begun = Instant::now();
    let mut done = 0;
    while begun.elapsed() < REPAIR_LIMIT {
        match tokio::time::timeout(CALL_LIMIT, api.reconcile(true, &[])).await {
            Ok(Ok(report)) => {
                report.done.iter().for_each(|line| run_log.write(line));
                done += report.done.len();
                if is_repaired(&report) {
                    return Ok(done);
                }
            }
            Ok(Err(error)) => run_log.write(&format!("reconcile: {error}")),
            Err(_) => run_log.write("reconcile: no answer"),
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Err(DemoError::Stalled {
        what: "the repair of the control store by `reconcile --apply`".to_owned(),
        seconds: REPAIR_LIMIT.as_secs(),
    })
}

fn is_repaired(report: &FleetReport) -> bool {
    let probed = report.shards.iter().filter(|probe| probe.failure.is_none());
    let means_older_store = |kind: ContradictionKind| kind == ContradictionKind::StoreOlder;
    probed.count() == SHARDS
        && !report
            .findings
            .iter()
            .any(|finding| means_older_store(finding.kind))
}

#[cfg(test)]
mod tests {
    use super::super::case::shuffled;
    use super::super::place;
    use super::*;

    #[test]
    fn a_copy_is_made_before_the_place_is_passed() {
        let places = place::all();
        let step = |name: &str| places.iter().find(|place| place.name == name).unwrap().step;
        let cases = shuffled(1, plans::request::Seed::Copy).into_iter();
        let mut moments = std::collections::BTreeSet::new();
        for case in cases.filter(|case| case.fault == Fault::Restored) {
            for seed in [0, 12] {
                let moment = moment(case.place.leg, seed);
                // The fail point of the claim is the first one in each step.
                assert!(moment.ends_with(".claimed"), "{moment}");
                assert!(step(moment) <= case.place.step, "{case}: {moment}");
                moments.insert(moment);
            }
        }
        assert_eq!(moments.len(), 3);
    }
}

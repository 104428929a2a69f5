//! A control store that is older than the fleet: saved at an earlier moment of the run, and put back by the fault.
//!
//! Order: the controller waits at the moment until the copy is made; later, at the fault's place, the controllers are
//! killed and the copy is put back while the agents go on; then the controllers start again, and the operator has the
//! store moved forward to what the shards prove.
//! Absent: a copy from before the target's tables were made. A migration that has flipped since cannot go on from it;
//! the store learns who owns its keys, and the rest is removed by hand, with `cleanup`.

use super::case::FaultCase;
use super::fault::Fault;
use super::place::PathLeg;
use super::story::StoryFile;
use crate::api::{Api, FleetReport};
use crate::error::DemoError;
use crate::fleet::Fleet;
use crate::options::Process;
use crate::points::{PassedBy, PassedPoint};
use fail_point::{Arrival, Rendezvous};
use plans::inspection::reconcile::ContradictionKind;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Controllers start, one of them leads once the old leader's term is over, and every shard is looked at.
const REPAIR_LIMIT: Duration = Duration::from_secs(90);
const CALL_LIMIT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(200);
const SHARDS: usize = 2;

/// A copy that is going to be made.
#[derive(Debug)]
pub(super) struct PlannedBackup {
    moment: PassedPoint,
    meeting: Rendezvous,
}

impl PlannedBackup {
    /// Makes the socket, if the fault is for the control store's copy.
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

    /// The moment, and the text that arms it.
    pub(super) fn armed(&self) -> (PassedPoint, String) {
        (self.moment.clone(), self.meeting.arms(&self.moment.name))
    }

    /// Waits for the moment and makes the copy.
    pub(super) async fn take(self, fleet: &Fleet, story: &StoryFile) -> Result<(), DemoError> {
        let arrival = self.meeting.arrived().await;
        let arrival = arrival.map_err(DemoError::io("meet a process"))?;
        fleet.dump_store(&file(fleet)).await?;
        story.write(&format!("the control store is saved at {}", arrival.name));
        Ok(())
    }
}

/// When the copy is made. Neither the operator's way nor his haste follows from these bits of the seed.
fn moment(leg: PathLeg, seed: u64) -> &'static str {
    let later = (seed / 12).is_multiple_of(2);
    match leg {
        // It has lost the flip, and everything that came before it.
        PathLeg::Flipped | PathLeg::Finish if later => "controller.cutover.claimed",
        // It knows the flip, and has lost the way back only.
        PathLeg::Back | PathLeg::BackFinish if later => "controller.hold.claimed",
        PathLeg::Before
        | PathLeg::Flipped
        | PathLeg::Finish
        | PathLeg::Back
        | PathLeg::BackFinish
        | PathLeg::Unwind => "controller.copy.claimed",
    }
}

fn file(fleet: &Fleet) -> PathBuf {
    fleet.dir().join("store.dump")
}

/// Puts the copy back while no controller runs, and has the store moved forward.
pub(super) async fn restore(
    leg: PathLeg,
    arrival: Arrival,
    (fleet, api, story): (&Fleet, &Api, &StoryFile),
) -> Result<(), DemoError> {
    fleet.kill_controllers().await?;
    // What an agent does now it can tell nobody; it tells the restored store.
    drop(arrival);
    fleet.restore_store(&file(fleet)).await?;
    story.write("the control store is as it was when it was saved");
    fleet.restart_programs().await?;
    let done = repair_store(api, story).await?;
    if done == 0 && leg != PathLeg::Before {
        let problem = "a control store that had lost a flip had nothing to mend";
        return Err(DemoError::Unclean {
            problems: vec![problem.to_owned()],
        });
    }
    Ok(())
}

/// `shardwright reconcile --apply`, until nothing says that the store is older than the fleet; how much was done.
async fn repair_store(api: &Api, story: &StoryFile) -> Result<usize, DemoError> {
    let begun = Instant::now();
    let mut done = 0;
    while begun.elapsed() < REPAIR_LIMIT {
        match tokio::time::timeout(CALL_LIMIT, api.reconcile(true, &[])).await {
            Ok(Ok(report)) => {
                report.done.iter().for_each(|line| story.write(line));
                done += report.done.len();
                if is_repaired(&report) {
                    return Ok(done);
                }
            }
            Ok(Err(error)) => story.write(&format!("reconcile: {error}")),
            Err(_) => story.write("reconcile: no answer"),
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Err(DemoError::Stalled {
        what: "a control store that is as new as the fleet".to_owned(),
        seconds: REPAIR_LIMIT.as_secs(),
    })
}

fn is_repaired(report: &FleetReport) -> bool {
    let probed = report.shards.iter().filter(|probe| probe.failure.is_none());
    let older = |kind: ContradictionKind| kind == ContradictionKind::StoreOlder;
    probed.count() == SHARDS && !report.findings.iter().any(|finding| older(finding.kind))
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
        let cases = shuffled(1).into_iter();
        let mut moments = std::collections::BTreeSet::new();
        for case in cases.filter(|case| case.fault == Fault::Restored) {
            for seed in [0, 12] {
                let moment = moment(case.place.leg, seed);
                // What is claimed is the first that is passed in a step.
                assert!(moment.ends_with(".claimed"), "{moment}");
                assert!(step(moment) <= case.place.step, "{case}: {moment}");
                moments.insert(moment);
            }
        }
        assert_eq!(moments.len(), 3);
    }
}

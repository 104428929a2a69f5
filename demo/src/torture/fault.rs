//! What can be done to a component, where, and what must come of it.

use super::place::FaultPlace;
use crate::options::Process;
use std::fmt;

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Fault {
    /// SIGKILL, and a new start a moment later.
    Kill,
    /// SIGSTOP for longer than the lease, then SIGCONT: a zombie that comes back after its successor took over.
    Stop,
    /// Its connections to our other programs end.
    Cut,
    /// Its connections deliver nothing for some time, then everything that was held back.
    Hole,
    /// The next reply on each of its connections is lost, and with it the connection.
    Reply,
    /// An operator ends all sessions of ours on the server.
    Terminate,
    /// An operator drops the slots of ours on the server.
    SlotDropped,
    /// The server gives up the log that the slots of ours need, because they lag.
    SlotLost,
    /// A row with a moving key is written on the target by somebody who passes the guards.
    ForeignWrite,
    /// A transaction with a write to a moving key stays open for some time.
    LongWriter,
    /// SIGKILL to the server; its synchronous standby is promoted and gets its address.
    Failover,
    /// The control store is put back to an earlier moment, and moved forward to what the shards prove; or the source to
    /// before the flip, where it must be closed again.
    Restored,
    /// A prepared transaction with a write to a moving key stays for some time.
    Prepared,
    /// The disk is full for some time: the one with the target's rows, or the one with the agents' spools.
    DiskFull,
    /// A second agent is started under the name of one that runs: it must be refused.
    DuplicateAgentName,
    /// The server's clock jumps one hour ahead.
    ClockForward,
    /// The server's clock jumps one hour back.
    ClockBack,
    /// The connection strings of both shards lead to each other's database for some time; an operator who exchanges
    /// them by `shard set` is refused.
    SwappedDsn,
}

/// What must come of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpectedOutcome {
    /// The migration ends as it was asked to.
    Ends,
    /// As before, or it fails, says why, and can be taken back without a trace.
    EndsOrAborted,
    /// It fails and can be taken back without a trace: it must not reach the flip.
    Aborted,
}

/// A line of the table of faults.
struct FaultRow {
    fault: Fault,
    name: &'static str,
    on: &'static [Process],
    /// Where; none means everywhere.
    places: &'static [&'static str],
    expected: ExpectedOutcome,
}

const ANY: &[Process] = &[
    Process::Agent,
    Process::Controller,
    Process::Source,
    Process::Target,
    Process::Store,
];
const SHARDS: &[Process] = &[Process::Source, Process::Target];
/// Between the creation of the slot and the fence.
const CAPTURED: &[&str] = &[
    "copy.half",
    "catch_up.batch_applied",
    "build_indexes.built_one",
    "verify.compared",
    "open_reverse.slot_created",
];
/// After the target has rows, before they are compared.
const COPIED: &[&str] = &["controller.copy.settled", "build_indexes.built_one"];
/// While the slots, and what was applied, are on a server that is gone.
const FAILED_OVER: &[&str] = &[
    "copy.half",
    "controller.copy.settled",
    "catch_up.batch_applied",
    "verify.compared",
    "hold.started",
];
/// Where the next thing to come is a comparison, an approval or a fence.
const BEFORE_FENCE: &[&str] = &[
    "verify.compared",
    "open_reverse.slot_created",
    "controller.open_reverse.settled",
    "controller.cutover.claimed",
];

/// Where rows or spools are written.
const WRITING: &[&str] = &[
    "copy.chunk_copied",
    "copy.half",
    "capture.spooled",
    "catch_up.batch_applied",
    "build_indexes.built_one",
    "verify.compared",
    "hold.started",
];
const SERVERS: &[Process] = &[Process::Source, Process::Target, Process::Store];
/// Where leases, fences or limits run.
const TIMED: &[&str] = &[
    "copy.half",
    "catch_up.batch_applied",
    "controller.cutover.claimed",
    "cutover.fenced",
    "cutover.before_check",
    "cutover.before_seal",
    "cutover.sealed",
    "cutover.flipped",
    "hold.started",
    "rollback.fenced",
];

/// Where the next session writes, judges, opens or deletes.
const SWAPPED: &[&str] = &[
    "create_target.restored",
    "copy.half",
    "catch_up.batch_applied",
    "verify.compared",
    "controller.cutover.claimed",
    "cutover.sealed",
    "cutover.flipped",
    "hold.started",
    "controller.drop_old.claimed",
    "rollback.fenced",
    "unwind.started",
];

/// Once the copy that a control store is restored from is made: what it has lost is a copy, a comparison, a flip, and
/// a way back.
const RESTORED: &[&str] = &[
    "controller.copy.settled",
    "verify.compared",
    "cutover.opened",
    "hold.started",
    "hold_back.started",
];

/// Where a second owner would do the most damage: in each kind of step, and inside the write-blocked window.
const OWNED_PLACES: &[&str] = &[
    "copy.half",
    "catch_up.batch_applied",
    "verify.compared",
    "cutover.fenced",
    "cutover.sealed",
    "hold.started",
    "rollback.fenced",
];

const TABLE: [FaultRow; 19] = [
    row(Fault::Kill, "kill", ANY, &[], ExpectedOutcome::Ends),
    row(Fault::Stop, "stop", ANY, &[], ExpectedOutcome::Ends),
    row(Fault::Cut, "cut", ANY, &[], ExpectedOutcome::Ends),
    row(Fault::Hole, "hole", ANY, &[], ExpectedOutcome::Ends),
    row(Fault::Reply, "reply", ANY, &[], ExpectedOutcome::Ends),
    row(
        Fault::Terminate,
        "terminate",
        SHARDS,
        &[],
        ExpectedOutcome::Ends,
    ),
    row(
        Fault::SlotDropped,
        "slot-dropped",
        &[Process::Source],
        CAPTURED,
        ExpectedOutcome::EndsOrAborted,
    ),
    row(
        Fault::SlotLost,
        "slot-lost",
        &[Process::Source],
        CAPTURED,
        ExpectedOutcome::EndsOrAborted,
    ),
    row(
        Fault::ForeignWrite,
        "foreign-write",
        &[Process::Target],
        COPIED,
        ExpectedOutcome::Aborted,
    ),
    row(
        Fault::LongWriter,
        "long-writer",
        &[Process::Source],
        BEFORE_FENCE,
        ExpectedOutcome::Ends,
    ),
    row(
        Fault::Failover,
        "failover",
        SHARDS,
        FAILED_OVER,
        ExpectedOutcome::EndsOrAborted,
    ),
    row(
        Fault::Restored,
        "restored",
        &[Process::Store],
        RESTORED,
        ExpectedOutcome::Ends,
    ),
    row(
        Fault::Restored,
        "restored",
        &[Process::Source],
        &["hold.started"],
        ExpectedOutcome::Ends,
    ),
    row(
        Fault::Prepared,
        "prepared",
        &[Process::Source],
        BEFORE_FENCE,
        ExpectedOutcome::Ends,
    ),
    row(
        Fault::DiskFull,
        "disk-full",
        &[Process::Agent, Process::Target],
        WRITING,
        ExpectedOutcome::Ends,
    ),
    row(
        Fault::DuplicateAgentName,
        "duplicate-agent-name",
        &[Process::Agent],
        OWNED_PLACES,
        ExpectedOutcome::Ends,
    ),
    row(
        Fault::ClockForward,
        "clock-forward",
        SERVERS,
        TIMED,
        ExpectedOutcome::Ends,
    ),
    row(
        Fault::ClockBack,
        "clock-back",
        SERVERS,
        TIMED,
        ExpectedOutcome::Ends,
    ),
    row(
        Fault::SwappedDsn,
        "swapped-dsn",
        &[Process::Source],
        SWAPPED,
        ExpectedOutcome::Ends,
    ),
];

const fn row(
    fault: Fault,
    name: &'static str,
    on: &'static [Process],
    places: &'static [&'static str],
    expected: ExpectedOutcome,
) -> FaultRow {
    FaultRow {
        fault,
        name,
        on,
        places,
        expected,
    }
}

impl Fault {
    /// All faults that a component can suffer at a place.
    pub(super) fn at(component: Process, place: &FaultPlace) -> Vec<Self> {
        let strikes = |row: &&FaultRow| {
            let applies = row.places.is_empty() || row.places.contains(&place.name.as_str());
            row.on.contains(&component) && applies
        };
        TABLE.iter().filter(strikes).map(|row| row.fault).collect()
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let row = TABLE.iter().find(|row| row.name == text)?;
        Some(row.fault)
    }

    pub(super) fn names() -> String {
        let mut names = TABLE.map(|row| row.name).to_vec();
        names.dedup();
        names.join(", ")
    }

    pub(super) fn name(self) -> &'static str {
        self.row().map_or("", |row| row.name)
    }

    pub(super) fn expected(self) -> ExpectedOutcome {
        self.row().map_or(ExpectedOutcome::Ends, |row| row.expected)
    }

    /// Whether an offline migration can suffer it: it has no slots, and nobody can write to its keys.
    pub(super) fn strikes_offline(self) -> bool {
        !matches!(
            self,
            Self::SlotDropped | Self::SlotLost | Self::LongWriter | Self::Prepared | Self::Failover
        )
    }

    /// Whether the operator may give a command before the fault is over: what he tells a control store that is then
    /// restored from a copy is forgotten.
    pub(super) fn lets_hurry(self) -> bool {
        self != Self::Restored
    }

    fn row(self) -> Option<&'static FaultRow> {
        TABLE.iter().find(|row| row.fault == self)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

//! The faults: the component and the place of each, and its permitted outcomes.

use super::place::FaultPlace;
use crate::options::Process;
use std::fmt;

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Fault {
    /// The process is killed with SIGKILL, and started again 200 ms later.
    Kill,
    /// The process is stopped (SIGSTOP) for longer than a lease, then continued (SIGCONT). An agent or a controller
    /// continues after another one has taken over.
    Stop,
    /// The component's connections end.
    Cut,
    /// The component's connections deliver nothing for some time, then all data that was held.
    Hole,
    /// On each of the component's connections, the next reply is lost, and the connection ends.
    Reply,
    /// An operator ends all sessions of Shardwright on the server.
    Terminate,
    /// An operator drops the slots of Shardwright on the server.
    SlotDropped,
    /// The server removes log that the slots of Shardwright need, because they lag.
    SlotLost,
    /// Another user writes a row with a moving key on the target, and bypasses the guards.
    ForeignWrite,
    /// A transaction with a write to a moving key stays open for some time.
    LongWriter,
    /// SIGKILL to the server. Its synchronous standby is promoted and gets its address.
    Failover,
    /// The same with an asynchronous standby, which lacks the changes of the last seconds. On a source, these are rows
    /// with moving keys that were acknowledged: PostgreSQL loses them, so the target must not have them.
    LaggingFailover,
    /// The control store is restored to an earlier state, and the lost flips are added from the shards; or the source
    /// is restored to a state before the flip, and must be closed again.
    Restored,
    /// A prepared transaction with a write to a moving key exists for some time.
    Prepared,
    /// A disk is full for some time: the one with the target's rows, or the one with the agents' spools.
    DiskFull,
    /// A second agent with the name of a running one is started. It must be refused.
    DuplicateAgentName,
    /// The server's clock jumps one hour ahead.
    ClockForward,
    /// The server's clock jumps one hour back.
    ClockBack,
    /// The connection strings of both shards lead to each other's database for some time. An operator who exchanges
    /// them with `shard set` is refused.
    SwappedDsn,
}

/// The permitted outcome of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpectedOutcome {
    /// The migration ends as requested.
    Ends,
    /// The migration fails and can be aborted completely. It must not flip.
    Aborted,
}

/// A row of the table of faults.
struct FaultRow {
    fault: Fault,
    name: &'static str,
    components: &'static [Process],
    /// The places; empty: all.
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
/// The places at which the forward stream runs.
const CAPTURE_PLACES: &[&str] = &[
    "copy.half",
    "catch_up.batch_applied",
    "build_indexes.built_one",
    "verify.compared",
    "open_reverse.slot_created",
    "hold_back.started",
];
/// The places after rows were copied and before they are compared.
const COPIED_PLACES: &[&str] = &["controller.copy.settled", "build_indexes.built_one"];
/// The places of a failover: at least one in each step.
const FAILOVER_PLACES: &[&str] = &[
    "preflight.checked",
    "create_target.restored",
    "set_read_only.closed",
    "open_capture.slot_created",
    "capture.spooled",
    "copy.chunk_copied",
    "copy.half",
    "copy.built_key",
    "controller.copy.settled",
    "catch_up.batch_applied",
    "build_indexes.built_one",
    "verify.compared",
    "open_reverse.slot_created",
    "controller.open_reverse.settled",
    "controller.cutover.claimed",
    "cutover.fenced",
    "cutover.before_check",
    "cutover.before_seal",
    "cutover.sealed",
    "cutover.flipped",
    "cutover.opened",
    "hold.started",
    "drop_old.batch_deleted",
    "drop_old.handed_over",
    "unwind.started",
    "rollback.fenced",
    "rollback.before_check",
    "rollback.before_seal",
    "rollback.sealed",
    "rollback.flipped",
    "rollback.opened",
    "hold_back.started",
    "drop_new.started",
];
/// The places of [`FAILOVER_PLACES`] at which no write is refused, and at which the agent waits, so that no flip can come
/// while the standby lags. If a controller waits, another one leads.
const LAGGING_PLACES: &[&str] = &[
    "copy.chunk_copied",
    "copy.half",
    "copy.built_key",
    "catch_up.batch_applied",
    "build_indexes.built_one",
    "verify.compared",
    "open_reverse.slot_created",
];
/// The places followed by a comparison, an approval or a fence.
const BEFORE_FENCE_PLACES: &[&str] = &[
    "verify.compared",
    "open_reverse.slot_created",
    "controller.open_reverse.settled",
    "controller.cutover.claimed",
];

/// The places at which rows or spools are written.
const WRITING_PLACES: &[&str] = &[
    "copy.chunk_copied",
    "copy.half",
    "capture.spooled",
    "catch_up.batch_applied",
    "build_indexes.built_one",
    "verify.compared",
    "hold.started",
];
const SERVERS: &[Process] = &[Process::Source, Process::Target, Process::Store];
/// The places at which leases, fences or time limits run.
const TIMED_PLACES: &[&str] = &[
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

/// The places at which the next session writes, checks, opens or deletes.
const SWAPPED_PLACES: &[&str] = &[
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

/// The places after the copy of the control store is made. The copy lacks a copy step, a comparison, a flip or a
/// rollback.
const RESTORED_PLACES: &[&str] = &[
    "controller.copy.settled",
    "verify.compared",
    "cutover.opened",
    "hold.started",
    "hold_back.started",
];

/// The places at which a second agent that executes steps would do most damage: in each kind of step, and in the
/// write-blocked window.
const OWNED_PLACES: &[&str] = &[
    "copy.half",
    "catch_up.batch_applied",
    "verify.compared",
    "cutover.fenced",
    "cutover.sealed",
    "hold.started",
    "rollback.fenced",
];

const TABLE: [FaultRow; 22] = [
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
        CAPTURE_PLACES,
        ExpectedOutcome::Ends,
    ),
    row(
        Fault::SlotDropped,
        "slot-dropped",
        &[Process::Target],
        &["hold.started"],
        ExpectedOutcome::Ends,
    ),
    row(
        Fault::SlotLost,
        "slot-lost",
        &[Process::Source],
        CAPTURE_PLACES,
        ExpectedOutcome::Ends,
    ),
    row(
        Fault::SlotLost,
        "slot-lost",
        &[Process::Target],
        &["hold.started"],
        ExpectedOutcome::Ends,
    ),
    row(
        Fault::ForeignWrite,
        "foreign-write",
        &[Process::Target],
        COPIED_PLACES,
        ExpectedOutcome::Aborted,
    ),
    row(
        Fault::LongWriter,
        "long-writer",
        &[Process::Source],
        BEFORE_FENCE_PLACES,
        ExpectedOutcome::Ends,
    ),
    row(
        Fault::Failover,
        "failover",
        SHARDS,
        FAILOVER_PLACES,
        ExpectedOutcome::Ends,
    ),
    row(
        Fault::LaggingFailover,
        "lagging-failover",
        SHARDS,
        LAGGING_PLACES,
        ExpectedOutcome::Ends,
    ),
    row(
        Fault::Restored,
        "restored",
        &[Process::Store],
        RESTORED_PLACES,
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
        BEFORE_FENCE_PLACES,
        ExpectedOutcome::Ends,
    ),
    row(
        Fault::DiskFull,
        "disk-full",
        &[Process::Agent, Process::Target],
        WRITING_PLACES,
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
        TIMED_PLACES,
        ExpectedOutcome::Ends,
    ),
    row(
        Fault::ClockBack,
        "clock-back",
        SERVERS,
        TIMED_PLACES,
        ExpectedOutcome::Ends,
    ),
    row(
        Fault::SwappedDsn,
        "swapped-dsn",
        &[Process::Source],
        SWAPPED_PLACES,
        ExpectedOutcome::Ends,
    ),
];

const fn row(
    fault: Fault,
    name: &'static str,
    components: &'static [Process],
    places: &'static [&'static str],
    expected: ExpectedOutcome,
) -> FaultRow {
    FaultRow {
        fault,
        name,
        components,
        places,
        expected,
    }
}

impl Fault {
    /// Returns all faults that a component can have at a place.
    pub(super) fn possible_at(component: Process, place: &FaultPlace) -> Vec<Self> {
        let applies = |row: &&FaultRow| {
            let at_place = row.places.is_empty() || row.places.contains(&place.name.as_str());
            row.components.contains(&component) && at_place
        };
        TABLE.iter().filter(applies).map(|row| row.fault).collect()
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

    /// Returns the permitted outcome of the fault.
    pub(super) fn expected(self) -> ExpectedOutcome {
        self.row().map_or(ExpectedOutcome::Ends, |row| row.expected)
    }

    /// Returns whether a standby of the affected server is promoted in its place.
    pub(super) fn promotes_standby(self) -> bool {
        matches!(self, Self::Failover | Self::LaggingFailover)
    }

    /// Returns whether the server loses the slots of Shardwright.
    pub(super) fn loses_slots(self) -> bool {
        matches!(self, Self::SlotDropped | Self::SlotLost)
    }

    /// Returns whether an offline migration can have the fault: it has no slots, its keys are read-only, and an operator
    /// cannot write rows that a lagging standby lacks.
    pub(super) fn is_possible_offline(self) -> bool {
        !matches!(
            self,
            Self::SlotDropped
                | Self::SlotLost
                | Self::LongWriter
                | Self::Prepared
                | Self::LaggingFailover
        )
    }

    /// Returns whether the fault writes rows itself, to tables with a key column.
    pub(super) fn writes_rows(self) -> bool {
        matches!(
            self,
            Self::ForeignWrite | Self::LongWriter | Self::Prepared | Self::LaggingFailover
        )
    }

    /// Returns whether the fault is possible at every place.
    pub(super) fn is_possible_everywhere(self) -> bool {
        TABLE
            .iter()
            .any(|row| row.fault == self && row.places.is_empty())
    }

    /// Returns whether the operator may send a command before the fault has ended. A control store that is then
    /// restored from a copy would forget the command, and a standby that lags would have the objects again that an abort
    /// has removed.
    pub(super) fn permits_hasty_operator(self) -> bool {
        !matches!(self, Self::Restored | Self::LaggingFailover)
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

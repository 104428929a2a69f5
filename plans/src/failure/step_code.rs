//! The registry of the codes with which steps and inspections fail.
//!
//! Each code has one row: its name, when the controller tries again, what it means, and its hint if every failure with
//! this code has the same one. A name is stored and sent, so it never changes. docs/failure-codes.md is generated from
//! the table. An error of PostgreSQL has the code `sql.` and the SQLSTATE instead ([`SQL_CODE_PREFIX`]).

use super::RetryClass;

/// The beginning of the code of an error of PostgreSQL. The SQLSTATE follows.
pub const SQL_CODE_PREFIX: &str = "sql.";

const NEVER: Option<RetryClass> = Some(RetryClass::None);
const FIXED: Option<RetryClass> = Some(RetryClass::Fixed);
const GROWING: Option<RetryClass> = Some(RetryClass::Exponential);
/// The cause decides whether the controller tries again.
const BY_CAUSE: Option<RetryClass> = None;

/// The row of one code.
struct StepCodeRow {
    name: &'static str,
    retry: Option<RetryClass>,
    meaning: &'static str,
    hint: Option<&'static str>,
}

/// Returns the hint of a row, which has at most one.
const fn only(hints: &'static [&'static str]) -> Option<&'static str> {
    match hints {
        [] => None,
        [hint, ..] => Some(hint),
    }
}

macro_rules! step_codes {
    ($($variant:ident = $name:literal, $retry:ident, $meaning:literal $(, hint: $hint:literal)?;)+) => {
        /// The code with which a step or an inspection fails.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum StepCode {
            $(#[doc = $meaning] $variant,)+
        }

        impl StepCode {
            /// All codes, ordered by name.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            const fn row(self) -> StepCodeRow {
                match self {
                    $(Self::$variant => StepCodeRow {
                        name: $name,
                        retry: $retry,
                        meaning: $meaning,
                        hint: only(&[$($hint)?]),
                    },)+
                }
            }
        }
    };
}

step_codes! {
    AgentVersion = "agent.version", NEVER,
        "The agent does not understand the work that a controller of another version gave to it.";
    ApplyCount = "apply.count", NEVER,
        "A statement of the change stream affected another number of rows than expected: the rows of both shards differ.";
    ApplyLost = "apply.lost", GROWING,
        "The session that applies changes has ended.";
    ApplyConflict = "apply.order", GROWING,
        "Changes violated a constraint when they were applied as sets. The stream reads them again and applies them in their order.";
    ApplyParent = "apply.parent", NEVER,
        "The agent cannot assign rows of a table without the shard key to keys, because it cannot look up their parent rows.";
    AwayUnreadable = "away.unreadable", NEVER,
        "The keys in a table of schema `shardwright` cannot be parsed.",
        hint: "a table of schema shardwright was changed; restore it";
    CaptureIncompleteRow = "capture.incomplete_row", NEVER,
        "A captured change lacks values that identify its row or that it writes.";
    CaptureRelation = "capture.relation", GROWING,
        "The stream sent a change before the description of its table.";
    CaptureSnapshot = "capture.snapshot", NEVER,
        "The agent cannot parse the snapshot with which it reads a row again.";
    CaptureTable = "capture.table", NEVER,
        "The stream carries a table that is not part of the plan.";
    CaptureTruncate = "capture.truncate", NEVER,
        "A moving table was truncated, although its guard refuses TRUNCATE.";
    CaptureUnit = "capture.unit", NEVER,
        "A change arrived for a row that no unit of the copy contains.";
    CaptureUnread = "capture.unread", GROWING,
        "The agent could not read a row again whose captured change lacks values.";
    CaptureUnseen = "capture.unseen", GROWING,
        "A captured commit is not visible on its shard yet, because it waits for a synchronous standby.";
    CheckUntied = "check.untied", NEVER,
        "A table that the check of a map reads has no usable shard key.";
    CloseNewer = "close.newer", NEVER,
        "The shard has recorded a flip to a newer map version than the one for which its keys were to be closed. Nothing was closed.";
    CodeServer = "code.server", GROWING,
        "The session that checks the code of the tables is on another server than the session that locks the tables.";
    CodeUnreadable = "code.unreadable", NEVER,
        "The agent cannot parse the list of the code that belongs to the tables.",
        hint: "report this";
    CodeUntrusted = "code.untrusted", NEVER,
        "A table has code of another role, which would run with the agent's privileges.";
    Connect = "connect", BY_CAUSE,
        "The agent could not open a session.";
    Connection = "connection", BY_CAUSE,
        "A session was lost while the agent used it.";
    Controller = "controller", GROWING,
        "The controller did not answer a request of the agent, or refused it.";
    ConvertBypassed = "convert.bypassed", NEVER,
        "Keys of other shards appeared during a conversion, although a guard refuses them.",
        hint: "a session bypasses the guards: end it, and run the conversion again";
    ConvertEnded = "convert.ended", NEVER,
        "The conversion of a map has ended on this shard, or another process has taken it over.";
    ConvertKeyless = "convert.keyless", NEVER,
        "A table has rows whose new key columns are NULL. Such rows have no key.",
        hint: "give each row a value in the new key columns, and declare them NOT NULL";
    ConvertStray = "convert.stray", NEVER,
        "A table has rows whose keys the shard does not own. A conversion would give the keys to the shard.",
        hint: "find and delete the rows with `shardwright map check`";
    ConvertTooMany = "convert.too_many", NEVER,
        "The rows of a shard have more keys than a map can have mappings.",
        hint: "choose key columns with fewer values, or move keys before the conversion so that fewer keep their shard";
    CopyChunk = "copy.chunk", GROWING,
        "The chunk to be copied is already done.";
    CopyGate = "copy.gate", FIXED,
        "A transaction that the slot counts as committed is not visible to a later snapshot of the copy yet.";
    CopyRewritten = "copy.rewritten", GROWING,
        "A table was rewritten during the copy. The copy begins again.";
    CopySnapshot = "copy.snapshot", BY_CAUSE,
        "The recorded snapshot of the copy is missing, cannot be parsed, or is another one than the agent holds.";
    CopyStandby = "copy.standby", NEVER,
        "The source is a standby, so a snapshot does not show which transactions are in progress.";
    CutoverBudget = "cutover.budget", FIXED,
        "The budget of the write-blocked window was nearly used up. The agent gave up the attempt.";
    CutoverCascade = "cutover.cascade", FIXED,
        "Cascades have skipped rows on the new owner, and the stream has not carried the changes of their owner yet.";
    CutoverChangedKeys = "cutover.changed_keys", FIXED,
        "Too many moving keys change between two comparisons to compare them within the budget of the write-blocked window.";
    CutoverEvidence = "cutover.evidence", NEVER,
        "The target does not have the records of the comparison or the markers that a cutover requires.",
        hint: "check whether the target's connection string leads to the database that was compared; then `verify` again";
    CutoverRefused = "cutover.refused", FIXED,
        "The control store did not allow the attempt to begin, to seal, to flip, or to be given up.";
    DirectoryKind = "directory.kind", NEVER,
        "The directory to be read is not a table.";
    DirectoryMissing = "directory.missing", NEVER,
        "The directory to be read does not exist.";
    DirectoryRows = "directory.rows", NEVER,
        "The directory has too many rows or bytes.";
    DirectoryValue = "directory.value", NEVER,
        "The directory has a value that is too long.";
    DrainBudget = "drain.budget", FIXED,
        "A marker was not applied within the budget of the write-blocked window. The agent gave up the attempt.";
    DropOpen = "drop.open", NEVER,
        "The shard is not closed for the keys whose rows are to be deleted, or its record of the flip is not the expected one. Nothing was deleted.";
    DropOthers = "drop.others", NEVER,
        "Another migration moves some of the keys whose rows are to be deleted. Nothing was deleted.";
    DropRole = "drop.role", NEVER,
        "The database is the source of the migration and not its target, or the reverse. Nothing was deleted.";
    DualWriteNames = "dual_write.names", NEVER,
        "The agent cannot parse `synchronous_standby_names`.",
        hint: "write it as FIRST n (names)";
    DualWriteReload = "dual_write.reload", GROWING,
        "The server has not loaded the new value of `synchronous_standby_names` in time.";
    DualWriteSession = "dual_write.session", GROWING,
        "The agent has no session with which it keeps dual-write synchronous.";
    DualWriteWatchdog = "dual_write.watchdog", GROWING,
        "The watchdog, the process that ends synchronous dual-write if the agent dies, did not start.";
    EpochContended = "epoch.contended", GROWING,
        "Sessions of older owners still hold the lock of the migration.";
    EpochCount = "epoch.count", GROWING,
        "The server did not return the value of the attempt counter.";
    EpochStale = "epoch.stale", NEVER,
        "Another agent has taken the migration over.",
        hint: "nothing to do: the newer owner continues the migration";
    FailPoint = "fail_point", GROWING,
        "A test made the agent fail at a fail point.";
    FenceExpired = "fence.expired", FIXED,
        "Moving rows changed between fence and seal, because the fence had expired. The agent gave up the attempt.";
    FlipLost = "flip.lost", NEVER,
        "The shard is the witness of a flip that the control store does not know. The source stays closed.",
        hint: "the control store was restored from an older state; restore it forward, never reopen the source";
    FollowOwner = "follow.owner", NEVER,
        "The shard on which the agent is to make a change of a definition is not closed for the moving keys, or is the wrong one of the two. Nothing was changed.",
        hint: "find out which session changed the register, and whether the connection strings of the two shards are right; then `resume`";
    GuardChanged = "guard.changed", NEVER,
        "Triggers of the guard were dropped or disabled.",
        hint: "find the cause, then `resume`: before the flip the agent creates the guards again and compares every row again";
    InspectionInterrupted = "inspection.interrupted", GROWING,
        "The inspection ended without a result.";
    Io = "io", GROWING,
        "An operation on the agent's files failed.";
    LoadDecode = "load.decode", GROWING,
        "The agent could not decode a change while it measured the load.";
    LoadKey = "load.key", NEVER,
        "A table has another number of key columns than the map.";
    LoadTable = "load.table", NEVER,
        "A table whose load is to be measured does not exist.";
    LogLimit = "log.limit", NEVER,
        "The stream lagged, and its slot retained more WAL than `wal_cap_mb` allows. The agent dropped the slot.";
    MapChanged = "map.changed", NEVER,
        "The owner of the moving keys changed before the migration started. Nothing was created.",
        hint: "`abort` it and plan it again; nothing was created";
    RepairChanged = "mend.changed", NEVER,
        "The object to be repaired has changed since the check. Nothing was changed.",
        hint: "check the map again";
    RepairFailed = "mend.failed", NEVER,
        "The controller could not carry out a repair.";
    RepairKind = "mend.kind", NEVER,
        "The defect is not one that an agent repairs on a shard.";
    RepairPrimaryKey = "mend.primary_key", NEVER,
        "A reference table to be repaired has no primary key.";
    RepairReference = "mend.reference", NEVER,
        "The rows of a reference table still differ after the repair. Nothing was changed.";
    RepairReferred = "mend.referred", NEVER,
        "Rows refer to rows of a reference table that the repair would delete.";
    RepairSequence = "mend.sequence", NEVER,
        "A sequence has no value left that belongs to the shard.";
    RepairShards = "mend.shards", NEVER,
        "The task of the repair names another number of shards than it needs.";
    RepairUntied = "mend.untied", NEVER,
        "A table to be repaired has no usable shard key.";
    Preflight = "preflight", NEVER,
        "The check of both shards found something that prevents the move. The message lists everything that it found.";
    PreflightDdl = "preflight.ddl", NEVER,
        "`ddl: refuse` needs event triggers, and the agent's role may not create them.";
    PreflightDualWrite = "preflight.dual_write", NEVER,
        "`dual_write: synchronous` is not possible on these shards.";
    PublicationChanged = "publication.changed", NEVER,
        "The publication was dropped or altered, so changes may be missing on the other shard.";
    RegisterClosed = "register.closed", GROWING,
        "The register of the source still refuses writes after the abort has opened it.";
    RegisterOutdated = "register.outdated", NEVER,
        "The map says that the shard owns the moving keys, but its state is from before it became the owner: it was restored, or a standby was promoted that lagged. Rows are missing there. It stays closed, and the agent removes no row on the other shard.",
        hint: "restore the newest state of the shard, or promote a standby that has it; then `resume`";
    Replication = "replication", BY_CAUSE,
        "A replication session failed.";
    RollbackImpossible = "rollback.impossible", NEVER,
        "A rollback is impossible. The message has the reason.";
    SchemaApart = "schema.apart", NEVER,
        "A moving table needs an object that does not move with it.";
    SchemaArchive = "schema.archive", NEVER,
        "The agent cannot parse the schema that pg_dump wrote.",
        hint: "install pg_dump of the major version of the server (15 to 18); or create the schema on the target and plan with `schema: existing`";
    SchemaChanged = "schema.changed", FIXED,
        "Guards or tables changed during a cutover. The agent gave up the attempt.";
    SchemaCycle = "schema.cycle", NEVER,
        "The objects of the schema depend on each other, so that there is no order in which they can be created.";
    SchemaDifferent = "schema.different", NEVER,
        "Objects of the schema differ between source and target.";
    SchemaDrift = "schema.drift", NEVER,
        "The moving tables have other definitions than in the plan, or differ between both shards.";
    SchemaDump = "schema.dump", BY_CAUSE,
        "pg_dump failed.";
    SchemaUncarried = "schema.uncarried", NEVER,
        "Without pg_dump the agent cannot copy some objects of the schema.";
    SeedBehind = "seed.behind", GROWING,
        "The standby did not replay in time what the migration created on the source.";
    SeedPaused = "seed.paused", NEVER,
        "The replay of the standby is paused or delayed.",
        hint: "on the standby, `select pg_wal_replay_resume()`, and set recovery_min_apply_delay to 0; then `resume`";
    SeedPrepared = "seed.prepared", NEVER,
        "Prepared transactions on the promoted server are copies of the source's, and could not be rolled back there.";
    SeedPrivilege = "seed.privilege", NEVER,
        "The role of the agents may not promote the standby.";
    SeedPromoted = "seed.promoted", NEVER,
        "The target was promoted before the migration had closed it, so clients may have written there.",
        hint: "`abort` the migration, create the standby again with pg_rewind or pg_basebackup, and plan it again";
    SeedSlow = "seed.slow", GROWING,
        "The standby has not ended its promotion yet. The agent observes it again.";
    SeedStandby = "seed.standby", NEVER,
        "The target is not a standby of the source.";
    SeedTaken = "seed.taken", NEVER,
        "Another migration uses the standby.";
    ServerChanged = "server.changed", NEVER,
        "The shard is another server than at the beginning of the migration, or was promoted to another timeline.";
    ServerPromoted = "server.promoted", BY_CAUSE,
        "A standby of the shard was promoted in place of its primary, or the shard was restored. Before the flip the migration continues by itself, unless it is seeded.";
    ShardDsn = "shard.dsn", NEVER,
        "The connection string of a shard cannot be used.";
    ShardOtherDatabase = "shard.other_database", GROWING,
        "The connection string of a shard leads to another database than the registered one.";
    SlotBusy = "slot.busy", GROWING,
        "Another session still uses the replication slot.";
    SlotGap = "slot.gap", BY_CAUSE,
        "Changes are missing between the progress of the stream and what the slot or the spool still has.";
    SlotLost = "slot.lost", NEVER,
        "The server has invalidated the replication slot, so changes are lost.";
    SlotMissing = "slot.missing", NEVER,
        "The replication slot does not exist, so changes are lost.";
    SlotWaits = "slot.waits", GROWING,
        "The creation of the slot waits for a transaction that was open before it.";
    SpoolMessage = "spool.message", NEVER,
        "The agent cannot decode a message in its spool.";
    StandbyBehind = "standby.behind", FIXED,
        "A standby lacks the seal or moved rows at the end of the budget of the write-blocked window. The agent gave up the attempt.";
    StepInput = "step.input", NEVER,
        "The recorded output of an earlier step is missing or cannot be parsed.";
    StepOutput = "step.output", GROWING,
        "The agent could not serialize the output of a step.";
    StreamDivision = "stream.division", NEVER,
        "Agents of different versions divide the rows of a stream between its sessions in different ways.";
    StreamEnded = "stream.ended", GROWING,
        "The change stream has ended, or none runs.";
    StreamPassed = "stream.passed", GROWING,
        "The change stream is already past the position at which it was to stop.";
    StreamProgress = "stream.progress", NEVER,
        "The downstream shard has no record of the progress of the stream.";
    StreamRestarted = "stream.restarted", GROWING,
        "The change stream restarted before it reached the position at which it was to stop.";
    SweepForeign = "sweep.foreign", NEVER,
        "The database has a schema `shardwright` that Shardwright did not create.";
    TargetAbsent = "target.absent", NEVER,
        "The target has none of the moving tables, and `schema: existing` creates none.";
    TargetLeftover = "target.leftover", NEVER,
        "An ended migration has left guards or rows for some of the moving keys on the target.";
    TargetPartly = "target.partly", NEVER,
        "The target has only some of the moving tables.";
    TargetStray = "target.stray", NEVER,
        "The target already has rows of the moving keys.";
    Trial = "trial", GROWING,
        "The trial of a plan could not be completed.";
    UnwindSealed = "unwind.sealed", GROWING,
        "A cutover has sealed the source, and the target cannot confirm that the map has not flipped. The abort waits.";
    VerifyBeyondRepair = "verify.beyond_repair", NEVER,
        "More rows differ than a repair writes.";
    VerifyDifferent = "verify.different", NEVER,
        "Rows of the moving keys differ between both shards.";
    VerifyRecords = "verify.records", NEVER,
        "The record of a chunk of the comparison cannot be parsed.";
    VerifyRewritten = "verify.rewritten", GROWING,
        "A table was rewritten since its rows were compared. The comparison begins again.";
    VerifyUnnamed = "verify.unnamed", NEVER,
        "The digests of a table differ, but no single row does.";
    VerifyWaits = "verify.waits", FIXED,
        "The snapshot of the comparison waits for a transaction that was open before it.";
    WaitOutBudget = "wait_out.budget", FIXED,
        "Transactions that wrote to moving tables did not end within the budget of the write-blocked window.";
}

impl StepCode {
    /// Returns the name, as it is stored and sent.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns how the controller tries again; `None` if that depends on the cause.
    #[must_use]
    pub const fn retry(self) -> Option<RetryClass> {
        self.row().retry
    }

    /// Returns what the code means, as a sentence.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        self.row().meaning
    }

    /// Returns the hint if it is the same for every failure with this code.
    #[must_use]
    pub const fn hint(self) -> Option<&'static str> {
        self.row().hint
    }
}

impl From<StepCode> for String {
    fn from(code: StepCode) -> Self {
        code.name().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::StepCode;

    #[test]
    fn names_are_unique_and_in_order() {
        let names: Vec<&str> = StepCode::ALL.iter().map(|code| code.name()).collect();
        assert!(names.is_sorted_by(|one, next| one < next), "{names:?}");
    }

    #[test]
    fn a_code_with_a_hint_has_one_retry_class() {
        for code in StepCode::ALL {
            assert!(code.hint().is_none() || code.retry().is_some(), "{code:?}");
        }
    }
}

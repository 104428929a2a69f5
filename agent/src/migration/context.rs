//! The context of a running step: its dispatch (the controller's assignment of the step), the session of its migration,
//! and the two shards.

mod tables;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use connect::Connected;
use plans::failure::StepCode;
use plans::fleet::ShardRef;
use plans::id::{Epoch, MapVersion, StepId};
use plans::identity::DatabaseIdentity;
use plans::inspection::inventory::About;
use plans::names::Direction;
use plans::request::{Ddl, Mode, Seed};
use plans::sql::quote_literal;
use plans::step::StepKind;
use plans::step::copy::Copied;
use plans::step::create_target::TargetCreated;
use plans::step::open_capture::CaptureOpened;
use plans::step::promote::Promoted;
use plans::step::set_read_only::ReadOnly;
use plans::table::{MovingTable, TableKey};
use plans::throttle::Hours;
use plans::wire::Dispatch;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::session::MigrationSession;
use crate::controller::Controller;
use crate::error::{StepError, WithIntent};
use crate::postgres::replication::SystemIdentity;
use crate::schema::scope::SchemaScope;
use crate::shard::database::Shard;
use crate::shard::epoch::{self, EpochToken};
use crate::shard::sidecar_schema;
use crate::spool::SpoolLocation;
use crate::stream::apply::dependents::EnteringRows;
use crate::stream::dual_write::{DualWrite, WatchdogProgram};
use crate::stream::{ApplyStream, StreamSpec};

/// A running step.
#[derive(Debug, Clone)]
pub(crate) struct StepContext {
    /// The assignment. Its tables lack retired partitions.
    pub(crate) dispatch: Arc<Dispatch>,
    /// All tables of the plan, also the retired partitions. Names of guards contain a table's place in this list.
    pub(crate) planned_tables: Arc<Vec<MovingTable>>,
    pub(crate) session: Arc<MigrationSession>,
    pub(crate) controller: Controller,
    /// Cancelled if the controller requests that the step stops at its next safe point.
    pub(crate) cancel: CancellationToken,
}

impl StepContext {
    /// Returns the context of the step that `dispatch` assigns.
    ///
    /// If the target is live, it already has the reference tables, and the move does not copy them.
    pub(crate) fn new(
        mut dispatch: Dispatch,
        session: Arc<MigrationSession>,
        controller: Controller,
        cancel: CancellationToken,
    ) -> Self {
        let target: Result<TargetCreated, StepError> =
            output(&dispatch.outputs, StepKind::CreateTarget);
        if let Ok(target) = target {
            let is_copied = |table: &MovingTable| {
                target.created && !target.existing_references.contains(table.top())
            };
            dispatch
                .tables
                .retain(|table| !table.is_reference() || is_copied(table));
        }
        let planned_tables = Arc::new(dispatch.tables.clone());
        dispatch.tables.retain(|table| !table.retired);
        Self {
            dispatch: Arc::new(dispatch),
            planned_tables,
            session,
            controller,
            cancel,
        }
    }

    /// Returns the source of the move. If a standby was promoted in its place since the shard was registered, sessions
    /// must be on the promoted server, and not on the one before it.
    pub(crate) fn source(&self) -> Result<Shard, StepError> {
        let opened = self.output::<CaptureOpened>(StepKind::OpenCapture);
        let recorded = opened.ok().and_then(|opened| opened.source);
        let read_only = self.output::<ReadOnly>(StepKind::SetReadOnly);
        let recorded = recorded.or_else(|| read_only.ok()?.source);
        let known = later(self.dispatch.source.identity.clone(), recorded);
        self.source_as(later(known, self.session.promoted_servers().source))
    }

    /// Returns the source as it is registered. A deletion of its rows proves this identity: on a promoted standby it
    /// waits until an operator accepts the server (ADR 54).
    pub(crate) fn registered_source(&self) -> Result<Shard, StepError> {
        self.source_as(self.dispatch.source.identity.clone())
    }

    /// Returns the source, whose sessions must be in the database `identity`; `None`: in any database.
    pub(crate) fn source_as(&self, identity: Option<DatabaseIdentity>) -> Result<Shard, StepError> {
        let reference = ShardRef {
            identity,
            ..self.dispatch.source.clone()
        };
        Shard::new(&reference, &self.dispatch.migration, self.dispatch.epoch)
    }

    /// Returns the target of the move.
    pub(crate) fn target(&self) -> Result<Shard, StepError> {
        let known = match self.output::<Promoted>(StepKind::Promote) {
            Ok(promoted) => Some(promoted.target),
            Err(_) => {
                let copied = self.output::<Copied>(StepKind::Copy);
                let created = self.output::<TargetCreated>(StepKind::CreateTarget);
                let recorded = copied.ok().and_then(|copied| copied.target);
                let recorded = recorded.or_else(|| created.ok()?.target);
                later(self.dispatch.target.identity.clone(), recorded)
            }
        };
        self.target_as(later(known, self.session.promoted_servers().target))
    }

    /// Returns the target, whose sessions must be in the database `identity`; `None`: in any database.
    pub(crate) fn target_as(&self, identity: Option<DatabaseIdentity>) -> Result<Shard, StepError> {
        let reference = ShardRef {
            identity,
            ..self.dispatch.target.clone()
        };
        Shard::new(&reference, &self.dispatch.migration, self.dispatch.epoch)
    }

    /// Returns whether the target is a standby of the source, which the migration promotes.
    pub(crate) fn is_seeded(&self) -> bool {
        self.dispatch.options.seed == Seed::Standby
    }

    /// Returns whether the target is a standby of the source that the migration has not promoted and closed yet.
    pub(crate) fn awaits_promotion(&self) -> bool {
        self.is_seeded() && !self.is_done(StepKind::Promote)
    }

    /// Returns the proof of epoch (I7) for writes before the flip.
    pub(crate) fn token(&self) -> EpochToken {
        self.token_up_to(self.dispatch.map_version)
    }

    /// Returns the proof of epoch for writes between the flip and a rollback.
    pub(crate) fn token_after_flip(&self) -> EpochToken {
        self.token_up_to(self.dispatch.map_version.next())
    }

    /// Returns the proof of epoch for cleanup and for guards, which is allowed after any flip.
    pub(crate) fn token_for_cleanup(&self) -> EpochToken {
        self.token_up_to(MapVersion(i64::MAX))
    }

    /// Returns the proof of epoch for writes as long as the map version is at most `until`.
    fn token_up_to(&self, until: MapVersion) -> EpochToken {
        EpochToken {
            migration: self.dispatch.migration.clone(),
            epoch: self.dispatch.epoch,
            until,
        }
    }

    /// Returns the shard that owns the keys while changes go in this direction, and the one to which they go.
    pub(crate) fn owner_and_other(
        &self,
        direction: Direction,
    ) -> Result<(Shard, Shard), StepError> {
        let (source, target) = (self.source()?, self.target()?);
        Ok(match direction {
            Direction::Forward => (source, target),
            Direction::Reverse => (target, source),
        })
    }

    /// Returns whether cascades may skip moving rows on a shard that does not own them, as `create_target` decided, or
    /// `open_capture` for a seeded target.
    pub(crate) fn may_skip_cascades(&self) -> bool {
        if self.is_seeded() {
            let opened = self.output::<CaptureOpened>(StepKind::OpenCapture);
            return opened.is_ok_and(|opened| opened.cascades);
        }
        let created = self.output::<TargetCreated>(StepKind::CreateTarget);
        created.is_ok_and(|created| created.cascades)
    }

    /// Returns whether the agent makes changes of definitions on the other shard too.
    pub(crate) fn follows_definitions(&self) -> bool {
        self.dispatch.options.ddl == Ddl::Follow
    }

    /// Returns whether the map has flipped to the target, also if a rollback has followed.
    pub(crate) fn has_flipped(&self) -> bool {
        self.is_done(StepKind::Cutover) || self.is_done(StepKind::Rollback)
    }

    /// Returns true if the application writes to the moving keys during the move.
    pub(crate) fn is_online(&self) -> bool {
        self.dispatch.mode == Mode::Online
    }

    /// Returns the predicate of a table's moving rows over a row named `row`, as
    /// [`plans::table::MovingTable::predicate`].
    pub(crate) fn predicate(&self, table: &plans::table::MovingTable, row: &str) -> String {
        table.predicate(&self.dispatch.keys, row)
    }

    /// Logs `message` and reports it to the operator: it states what the step does or waits for.
    pub(crate) fn report_message(&self, message: impl Into<String>) {
        let message = message.into();
        tracing::info!(migration = %self.dispatch.migration, "{message}");
        self.session.update(|progress| {
            progress.message = message;
            progress.waiting_for = None;
        });
    }

    /// Reports as [`StepContext::report_message`] does. Also reports `reason`, for which the step waits.
    pub(crate) fn report_waiting(&self, message: String, reason: &str) {
        self.report_message(message);
        self.session
            .update(|progress| progress.waiting_for = Some(reason.to_owned()));
    }

    /// Waits until the permitted hours of the migration include the current time, and reports the wait.
    pub(crate) async fn wait_for_permitted_hours(&self) {
        if let Some(hours) = self.session.throttle.hours_to_wait_for() {
            self.wait_for_hours(hours).await;
        }
    }

    /// Waits until the given hours begin, or until the operator removes them. Afterwards reports the previous message
    /// again.
    pub(crate) async fn wait_for_hours(&self, hours: Hours) {
        let previous_message = self.session.progress().message;
        let reason = format!("the hours {hours}");
        self.report_waiting(format!("waiting for {reason}"), &reason);
        self.session.throttle.wait_for_permitted_hours().await;
        self.report_message(previous_message);
    }

    /// Creates the migration's row on a shard, or takes it over. The row records the move: source, target, keys and
    /// tables.
    pub(crate) async fn enrol(&self, session: &Connected, role: &str) -> Result<(), StepError> {
        let shard = session.name();
        let (dispatch, token) = (&self.dispatch, self.token());
        sidecar_schema::enrol(session, &token, role, dispatch.map.as_str()).await?;
        let sql = self.record_tables_sql(&self.planned_tables);
        epoch::execute(session, &token, &sql)
            .await
            .at(format_args!("shard {shard}: recording the move"))
    }

    /// Records that the move has these tables, in the session's transaction.
    pub(crate) async fn record_tables(
        &self,
        session: &Connected,
        tables: &[MovingTable],
    ) -> Result<(), StepError> {
        let shard = session.name();
        session
            .batch_execute(&self.record_tables_sql(tables))
            .await
            .at(format_args!("shard {shard}: recording the move"))
    }

    fn record_tables_sql(&self, tables: &[MovingTable]) -> String {
        let dispatch = &self.dispatch;
        let about = About {
            incarnation: dispatch.incarnation.clone(),
            source: dispatch.source.name.clone(),
            target: dispatch.target.name.clone(),
            keys: dispatch.keys.clone(),
            tables: tables.to_vec(),
        };
        format!(
            "update shardwright.move set about = {} where migration = {}",
            quote_literal(&serde_json::json!(about).to_string()),
            quote_literal(dispatch.migration.as_str())
        )
    }

    /// Returns whether schemas move with all of their tables.
    pub(crate) fn moves_schemas(&self) -> bool {
        let mut planned = self.planned_tables.iter();
        planned.any(|table| matches!(table.key, TableKey::Schema(_)))
    }

    /// Returns which part of the schema belongs to the move of whole tables; `None` for other moves.
    pub(crate) fn schema_scope(&self) -> Option<SchemaScope> {
        let dispatch = &self.dispatch;
        SchemaScope::of(
            &self.planned_tables,
            &dispatch.reference_tables,
            &dispatch.ignored_tables,
        )
    }

    /// Returns the table with its row filter, as a publication of the moving keys lists it.
    pub(crate) fn published(&self, table: &MovingTable) -> String {
        let name = table.table.sql();
        match table.has_key() {
            true => format!("only {name} where {}", self.predicate(table, "")),
            false => format!("only {name}"),
        }
    }

    /// Returns whether a step has completed.
    pub(crate) fn is_done(&self, kind: StepKind) -> bool {
        let id = StepId::from(kind.name());
        self.dispatch.outputs.contains_key(&id)
    }

    /// Returns the output of a completed step.
    ///
    /// # Errors
    /// Returns `step.input` if the controller did not send the output, or if this version cannot decode it.
    pub(crate) fn output<T: DeserializeOwned>(&self, kind: StepKind) -> Result<T, StepError> {
        output(&self.dispatch.outputs, kind)
    }

    /// Starts a stream that captures the changes of the moving keys and does not apply them yet.
    pub(crate) async fn ensure_capture(&self) -> Result<(), StepError> {
        self.ensure_stream_mode(Direction::Forward, self.token(), false)
            .await
    }

    /// Starts the change stream in `direction`, unless it runs already. The stream captures and applies changes.
    pub(crate) async fn ensure_stream(&self, direction: Direction) -> Result<(), StepError> {
        let token = match direction {
            Direction::Forward => self.token(),
            Direction::Reverse => self.token_after_flip(),
        };
        self.ensure_stream_with_token(direction, token).await
    }

    /// Starts the stream as [`StepContext::ensure_stream`] does, with a proof that includes a flip after the dispatch.
    pub(crate) async fn ensure_stream_with_token(
        &self,
        direction: Direction,
        token: EpochToken,
    ) -> Result<(), StepError> {
        self.ensure_stream_mode(direction, token, true).await
    }

    /// Starts the change stream unless it runs already, and sets whether it applies changes.
    async fn ensure_stream_mode(
        &self,
        direction: Direction,
        token: EpochToken,
        apply: bool,
    ) -> Result<(), StepError> {
        let mut current = self.session.stream.lock().await;
        if let Some(stream) = current
            .as_ref()
            .filter(|s| s.direction == direction && s.is_running())
        {
            stream.set_apply(apply);
            return Ok(());
        }
        if let Some(previous) = current.take() {
            previous.stop().await;
        }
        let spec = self.stream_spec(direction, token)?;
        *current = Some(ApplyStream::start(spec, self.records_dirty_keys(), apply));
        Ok(())
    }

    /// Returns the folder for captured changes that cannot be applied yet. Only the forward stream has one. After the
    /// flip, the WAL of the target retains the changes, because a rollback must not depend on the disk of one agent.
    pub(crate) fn spool(&self) -> SpoolLocation {
        let opened = self.output::<CaptureOpened>(StepKind::OpenCapture);
        SpoolLocation::new(
            &self.session.spools,
            &self.dispatch.migration,
            Direction::Forward,
            self.dispatch.epoch,
        )
        .of_slot_since(opened.map_or(Epoch(0), |opened| opened.epoch))
    }

    /// Returns whether the stream must record the key of each change as dirty, for the comparison in the cutover. It
    /// must from the end of `build_indexes` or `promote` on, because the comparison follows, and also between two tries of `verify`,
    /// because the chunks that an earlier try has compared remain valid.
    fn records_dirty_keys(&self) -> bool {
        self.is_done(StepKind::BuildIndexes) || self.is_done(StepKind::Promote)
    }

    /// Returns the parameters of the stream in `direction`.
    fn stream_spec(
        &self,
        direction: Direction,
        token: EpochToken,
    ) -> Result<StreamSpec, StepError> {
        let (source, target) = self.known_servers()?;
        let (upstream, downstream) = self.owner_and_other(direction)?;
        let identity = match direction {
            Direction::Forward => source,
            Direction::Reverse => target,
        };
        let max_retained_bytes = u64::from(self.dispatch.options.wal_cap_mb) * (1 << 20);
        Ok(StreamSpec {
            direction,
            upstream,
            downstream,
            system: parse_system_identity(&identity)?,
            token,
            tables: Arc::new(self.dispatch.tables.clone()),
            keys: self.dispatch.keys.clone(),
            entering: EnteringRows::default(),
            retired: self.retired_names(),
            follows_ddl: self.follows_definitions(),
            sessions: self.dispatch.options.apply_sessions,
            spool: (direction == Direction::Forward).then(|| self.spool()),
            dual_write: self.dual_write(),
            ignored_standbys: self.dispatch.options.ignore_standbys.clone(),
            spool_threshold_bytes: max_retained_bytes / 4,
            unconfirmed_spool_bytes: max_retained_bytes / 4,
            max_retained_bytes,
            max_attempts: self.dispatch.options.max_attempts,
        })
    }

    /// Returns the settings of synchronous dual-write, if the request demands it.
    fn dual_write(&self) -> Option<DualWrite> {
        let options = &self.dispatch.options;
        (options.dual_write == plans::request::DualWrite::Synchronous).then(|| DualWrite {
            limit: Duration::from_millis(u64::from(options.dual_write_limit_ms)),
            watchdog: WatchdogProgram::agent(),
        })
    }

    /// Waits until the stream fails, and returns the failure. Never returns if no stream runs or if the stream does not
    /// fail.
    pub(crate) async fn wait_for_stream_failure(&self) -> StepError {
        let watch = {
            let stream = self.session.stream.lock().await;
            stream.as_ref().map(ApplyStream::subscribe)
        };
        match watch {
            Some(watch) => crate::stream::wait_for_failure(watch).await,
            None => std::future::pending().await,
        }
    }
}

/// Returns the identity that the sessions of a shard check: that of its registration, or the one that a step has
/// recorded, if a standby was promoted in between. A shard without a registered identity stays without one.
fn later(
    registered: Option<DatabaseIdentity>,
    recorded: Option<DatabaseIdentity>,
) -> Option<DatabaseIdentity> {
    let registered = registered?;
    let promoted = recorded.filter(|recorded| recorded.timeline > registered.timeline);
    Some(promoted.unwrap_or(registered))
}

/// Returns the output of a completed step, as [`StepContext::output`] does.
fn output<T: DeserializeOwned>(
    outputs: &BTreeMap<StepId, serde_json::Value>,
    kind: StepKind,
) -> Result<T, StepError> {
    outputs
        .get(&StepId::from(kind.name()))
        .and_then(|value| serde_json::from_value(value.clone()).ok())
        .ok_or_else(|| {
            StepError::refused(
                StepCode::StepInput,
                format!("the output of step {kind} is missing or of another version"),
                "`resume`; if the failure recurs, `abort` the migration and plan it again",
            )
        })
}

/// Parses the server's identity that the preflight recorded, into the type of the replication protocol.
pub(crate) fn parse_system_identity(
    identity: &DatabaseIdentity,
) -> Result<SystemIdentity, StepError> {
    let parsed = identity
        .system
        .parse()
        .ok()
        .zip(u32::try_from(identity.timeline).ok());
    let (system_id, timeline) = parsed.ok_or_else(|| {
        StepError::refused(
            StepCode::StepInput,
            "the recorded identity of the server is unreadable",
            "`abort` the migration and plan it again",
        )
    })?;
    Ok(SystemIdentity {
        system_id,
        timeline,
    })
}

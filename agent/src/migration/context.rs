//! The context of a running step: its dispatch (the controller's assignment of the step), the session of its migration,
//! and the two shards.

mod shards;
mod streams;
mod tables;

use std::collections::BTreeMap;
use std::sync::Arc;

use connect::Connected;
use plans::failure::StepCode;
use plans::id::{MapVersion, StepId};
use plans::identity::DatabaseIdentity;
use plans::inspection::inventory::About;
use plans::request::{Ddl, Mode, Seed};
use plans::sql::quote_literal;
use plans::step::StepKind;
use plans::step::create_target::TargetCreated;
use plans::step::open_capture::CaptureOpened;
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
use crate::shard::epoch::{self, EpochToken};
use crate::shard::sidecar_schema;

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

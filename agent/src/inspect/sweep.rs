//! Removes objects on a shard that belong to no unfinished migration, at the request of an operator.
//!
//! The agent takes the abandoned migration over on the shard, as another agent would (I7): it increases the epoch, ends
//! the sessions of older epochs, and proves the new epoch in every write. It then drops the slots and publications. If
//! the owner of the keys is known, the agent next adds the keys whose writes must remain refused to the guard of
//! released keys, and only then removes the migration's guards and register.

use std::time::Duration;

use connect::Connected;
use plans::failure::StepCode;
use plans::fleet::ShardRef;
use plans::id::{Epoch, MapName, MapVersion, MigrationId};
use plans::inspection::inventory::{Inventory, InventoryTask, ObjectKind, ObjectOwner};
use plans::inspection::sweep::{Guards, Sweep, SweepTask, Swept};
use plans::key_set::KeySet;
use plans::names::{SCHEMA, released_keys_function, released_keys_trigger};
use plans::request::Options;
use plans::sql::quote_literal;
use plans::table::MovingTable;

use super::{inventory, load};
use crate::cleanup::copied_rows::CopiedRows;
use crate::cleanup::delete_rows::{ClosedProof, RowDeletion};
use crate::error::{StepError, WithIntent};
use crate::postgres::catalog;
use crate::shard::database::Shard;
use crate::shard::dual_write::OwnershipProof;
use crate::shard::epoch::{self, EpochToken};
use crate::shard::identity::{self, TimelineRule};
use crate::shard::released_keys::{self, ReleasedKeys};
use crate::shard::standby_slot::{self, SlotState};
use crate::shard::{guard, publication, sidecar_schema, snapshot};
use crate::stream::dual_write;
use crate::throttle::MigrationThrottle;

/// The number of attempts to end the session that reads from a slot.
const SLOT_TRIES: u32 = 50;

pub(super) async fn run(task: &SweepTask) -> Result<Swept, StepError> {
    let mut swept = Swept::default();
    for sweep in &task.sweeps {
        // The agent lists the objects again, so that it removes only those that belong to Shardwright by name and form.
        let inventory = inventory::run(&InventoryTask {
            shard: task.shard.clone(),
        })
        .await?;
        match sweep {
            Sweep::Migration { migration, guards } => {
                let abandoned =
                    AbandonedMigration::take_over(&task.shard, migration, &inventory).await?;
                abandoned.end_streams(&inventory, &mut swept).await?;
                if let Some(guards) = guards {
                    abandoned.remove_guards(guards, &mut swept).await?;
                } else {
                    abandoned.remove_temporary_row(&inventory).await?;
                }
            }
            Sweep::ReleasedKeys { map } => {
                drop_released_keys_guard(&task.shard, map, &mut swept).await?;
            }
            Sweep::Probes => load::drop_abandoned_publications(&task.shard, &mut swept).await?,
            Sweep::StandbySlots { slots } => {
                drop_standby_slots(&task.shard, slots, &inventory, &mut swept).await?;
            }
        }
    }
    Ok(swept)
}

/// Drops those of the slots that still have the form of a standby's slot, and from which nothing streams.
async fn drop_standby_slots(
    reference: &ShardRef,
    slots: &[String],
    inventory: &Inventory,
    swept: &mut Swept,
) -> Result<(), StepError> {
    let session = super::session_to_change(reference, "sweep").await?;
    let unused = ObjectOwner::Standby { in_use: false };
    let objects = inventory.objects.iter();
    for object in objects.filter(|object| object.whose == unused && slots.contains(&object.name)) {
        let action = format!(
            "shard {}: dropping replication slot {}",
            reference.name, object.name
        );
        match standby_slot::drop_unused(&session, &object.name)
            .await
            .at(&action)?
        {
            SlotState::Dropped => swept.done.push(action),
            SlotState::InUse => {
                let why = format!("{action}: a server streams from it again");
                return Err(StepError::passing(StepCode::SlotBusy, why));
            }
        }
    }
    Ok(())
}

/// An abandoned migration that this agent has taken over on one shard.
struct AbandonedMigration {
    shard: Shard,
    session: connect::Connected,
    token: EpochToken,
    /// The limits that the migration had are unknown, so this throttle has none.
    throttle: MigrationThrottle,
}

impl AbandonedMigration {
    async fn take_over(
        reference: &ShardRef,
        migration: &MigrationId,
        inventory: &Inventory,
    ) -> Result<Self, StepError> {
        let row = inventory
            .moves
            .iter()
            .find(|row| &row.migration == migration);
        let token = EpochToken {
            migration: migration.clone(),
            epoch: Epoch(row.map_or(1, |row| row.epoch + 1)),
            until: MapVersion(i64::MAX),
        };
        let is_schema = |object: &&str| object.starts_with("schema ");
        if let Some(schema) = inventory
            .similar
            .iter()
            .map(|s| s.object.as_str())
            .find(is_schema)
        {
            return Err(StepError::refused(
                StepCode::SweepForeign,
                format!(
                    "shard {}: Shardwright did not create {schema}",
                    reference.name
                ),
                "rename that schema, then run `shardwright cleanup` again",
            ));
        }
        let shard = Shard::new(reference, migration, token.epoch)?;
        let session = shard.session("sweep").await?;
        // Otherwise a commit could wait for the walsender of an agent that no longer exists (synchronous dual-write).
        session
            .batch_execute("set synchronous_commit = local")
            .await
            .at(format_args!("shard {}: preparing a session", shard.name))?;
        let result = session
            .batch_execute(&identity::proof_sql(TimelineRule::Same))
            .await;
        result.at(format_args!(
            "shard {}: proving which database it is",
            shard.name
        ))?;
        sidecar_schema::create(&session).await?;
        if row.is_none() {
            // The epoch can only be proved if the migration has a row. The agent creates one and removes it at the end.
            sidecar_schema::enrol(&session, &token, "source", "").await?;
        }
        dual_write::connect_and_remove_names(&shard, &token, OwnershipProof::TakeOver).await?;
        epoch::take_over(&session, &token).await?;
        dual_write::connect_and_remove_names(&shard, &token, OwnershipProof::Owner).await?;
        session
            .batch_execute("set synchronous_commit = on")
            .await
            .at(format_args!("shard {}: preparing a session", shard.name))?;
        snapshot::end_holders(&session, migration.as_str()).await?;
        Ok(Self {
            shard,
            session,
            token,
            throttle: MigrationThrottle::default(),
        })
    }

    /// Drops the slots and publications of the migration. They refuse no write.
    async fn end_streams(&self, inventory: &Inventory, swept: &mut Swept) -> Result<(), StepError> {
        let whose = ObjectOwner::Migration(self.token.migration.clone());
        for object in inventory
            .objects
            .iter()
            .filter(|object| object.whose == whose)
        {
            let (shard, name) = (self.shard.name.as_str(), object.name.as_str());
            let action = format!("shard {shard}: dropping {} {name}", object.kind);
            match object.kind {
                ObjectKind::Slot => {
                    self.end_slot_reader(name).await?;
                    let sql = format!(
                        "select pg_catalog.pg_drop_replication_slot(slot_name) from pg_catalog.pg_replication_slots where slot_name = {}",
                        quote_literal(name)
                    );
                    let dropped = epoch::execute(&self.session, &self.token, &sql);
                    dropped.await.at(&action)?;
                }
                ObjectKind::Publication => {
                    publication::drop(&self.session, Some(&self.token), name).await?;
                }
                ObjectKind::Trigger
                | ObjectKind::EventTrigger
                | ObjectKind::Function
                | ObjectKind::Register
                | ObjectKind::Refusals
                | ObjectKind::Rows
                | ObjectKind::StandbyName
                | ObjectKind::Session
                | ObjectKind::Schema => continue,
            }
            swept.done.push(action);
        }
        Ok(())
    }

    /// Ends the session that reads from a slot.
    async fn end_slot_reader(&self, slot: &str) -> Result<(), StepError> {
        let action = format!("shard {}: freeing replication slot {slot}", self.shard.name);
        for _ in 0..SLOT_TRIES {
            let row = self
                .session
                .query_opt(
                    "select pg_catalog.pg_terminate_backend(active_pid, 1000)
                     from pg_catalog.pg_replication_slots where slot_name = $1 and active_pid is not null",
                    &[&slot],
                )
                .await
                .at(&action)?;
            if row.is_none() {
                return Ok(());
            }
        }
        Err(StepError::passing(
            StepCode::SlotBusy,
            format!("{action}: a session still reads from the slot"),
        ))
    }

    /// Removes guards, register and rows of the migration. Before that, the agent adds the keys whose writes must
    /// remain refused to the guard of released keys.
    async fn remove_guards(&self, guards: &Guards, swept: &mut Swept) -> Result<(), StepError> {
        let (session, token, shard) = (&self.session, &self.token, self.shard.name.as_str());
        let names = guards.tables.iter().map(|table| &table.table);
        let existing_tables = catalog::existing(session, names).await?;
        let tables = guards.tables.iter();
        let tables: Vec<MovingTable> = tables
            .filter(|table| !table.is_reference() && existing_tables.contains(&table.table))
            .cloned()
            .collect();
        if let Some(keys) = guards.keys.as_ref().filter(|_| guards.copied) {
            self.copied_rows(guards, keys).remove().await?;
            swept.done.push(format!(
                "shard {shard}: removed the rows and tables that migration {} copied",
                token.migration
            ));
        }
        if let Some(refuse) = guards.refuse.as_ref().filter(|keys| !keys.is_empty()) {
            let released = ReleasedKeys {
                token,
                map: &guards.map,
                keys: refuse,
                tables: &tables,
                shard,
            };
            released
                .release(session, MapVersion(guards.version))
                .await?;
            swept.done.push(format!(
                "shard {shard}: writes to {refuse} of map {} are refused without a time limit",
                guards.map
            ));
        }
        guard::drop_all(session, token).await?;
        sidecar_schema::remove_migration(session, token).await?;
        swept.done.push(format!(
            "shard {shard}: removed register, guards and rows of migration {}",
            token.migration
        ));
        Ok(())
    }

    /// Returns the removal of the rows that the migration copied to this shard. The removal is allowed only on a shard
    /// that never owned the keys and has recorded no flip.
    fn copied_rows<'a>(&'a self, guards: &'a Guards, keys: &'a KeySet) -> CopiedRows<'a> {
        CopiedRows {
            session: &self.session,
            deletion: RowDeletion {
                shard: &self.shard,
                token: self.token.clone(),
                map: &guards.map,
                keys,
                closed: ClosedProof::Abandoned(&guards.left_too),
                pause: Duration::from_millis(Options::default().drop_pause_ms.into()),
                throttle: &self.throttle,
                on_batch: Box::new(|table, deleted| {
                    tracing::debug!(table = %table.table, deleted, "deleting rows that were left");
                }),
            },
            tables: &guards.tables,
        }
    }

    /// Removes the migration's row if only this sweep created it.
    async fn remove_temporary_row(&self, inventory: &Inventory) -> Result<(), StepError> {
        if inventory
            .moves
            .iter()
            .any(|row| row.migration == self.token.migration)
        {
            return Ok(());
        }
        sidecar_schema::remove_migration(&self.session, &self.token).await
    }
}

/// Drops the guard of the released keys of a map, under the lock that every change of this guard takes.
async fn drop_released_keys_guard(
    reference: &ShardRef,
    map: &MapName,
    swept: &mut Swept,
) -> Result<(), StepError> {
    let session = super::session_to_change(reference, "sweep").await?;
    let action = format!(
        "shard {}: dropping the guard of the released keys of map {map}",
        reference.name
    );
    let drops = session
        .query(
            "select pg_catalog.format('drop trigger if exists %I on %I.%I', t.tgname, n.nspname, c.relname)
             from pg_catalog.pg_trigger t join pg_catalog.pg_class c on c.oid = t.tgrelid
             join pg_catalog.pg_namespace n on n.oid = c.relnamespace
             join pg_catalog.pg_proc f on f.oid = t.tgfoid
             where not t.tgisinternal and t.tgparentid = 0 and pg_catalog.starts_with(t.tgname::text, $1)
               and f.pronamespace = pg_catalog.to_regnamespace($2)",
            &[&released_keys_trigger(map, ""), &SCHEMA],
        )
        .await
        .at(&action)?;
    let drops: Vec<String> = drops.iter().map(|row| row.get(0)).collect();
    let name = quote_literal(map.as_str());
    let sql = format!(
        "begin; set local lock_timeout = '2s';
         select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended({lock}, 0));
         {drops};
         delete from {SCHEMA}.away where map = {name}; delete from {SCHEMA}.given where map = {name};
         drop function if exists {SCHEMA}.{function}(); commit",
        lock = quote_literal(&released_keys::lock_name(map)),
        drops = drops.join("; "),
        function = released_keys_function(map),
    );
    let result = session.batch_execute(&sql).await;
    roll_back_on_error(&session, &result).await;
    result.at(&action)?;
    sidecar_schema::drop_if_unused(&session).await?;
    swept.done.push(action);
    Ok(())
}

async fn roll_back_on_error(session: &Connected, result: &Result<(), tokio_postgres::Error>) {
    if result.is_err() {
        epoch::rollback(session).await;
    }
}

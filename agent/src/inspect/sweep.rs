//! Removes what no live migration explains, because an operator asked for it.
//!
//! The sweep takes a left migration over on the shard as a new owner would (I7): its epoch is raised, older
//! sessions are ended, and every write proves that epoch. Order: sessions, slots, publications; then, if it is known
//! who owns the keys, what must stay refused becomes permanent, and only then guards and register go.

use std::time::Duration;

use connect::Connected;
use plans::fleet::ShardRef;
use plans::id::{Epoch, MapName, MapVersion, MigrationId};
use plans::inspection::inventory::{Inventory, InventoryTask, ObjectKind, Whose};
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
use crate::shard::{guard, publication, sidecar_schema, snapshot};
use crate::stream::dual_write;
use crate::throttle::MigrationThrottle;

/// How often a slot is tried that somebody reads from.
const SLOT_TRIES: u32 = 50;

pub(super) async fn run(task: &SweepTask) -> Result<Swept, StepError> {
    let mut swept = Swept::default();
    for sweep in &task.sweeps {
        // What is removed is looked up anew: only what is ours by name and form.
        let seen = inventory::run(&InventoryTask {
            shard: task.shard.clone(),
        })
        .await?;
        match sweep {
            Sweep::Migration { migration, guards } => {
                let left = AbandonedMigration::take(&task.shard, migration, &seen).await?;
                left.end_streams(&seen, &mut swept).await?;
                if let Some(guards) = guards {
                    left.remove(guards, &mut swept).await?;
                } else {
                    left.leave(&seen).await?;
                }
            }
            Sweep::ReleasedKeys { map } => {
                give_back(&task.shard, map, &mut swept).await?;
            }
            Sweep::Probes => load::sweep(&task.shard, &mut swept).await?,
        }
    }
    Ok(swept)
}

/// A migration that was left, taken over on one shard.
struct AbandonedMigration {
    shard: Shard,
    session: connect::Connected,
    token: EpochToken,
    /// Nothing is known of limits that its migration had.
    throttle: MigrationThrottle,
}

impl AbandonedMigration {
    async fn take(
        reference: &ShardRef,
        migration: &MigrationId,
        seen: &Inventory,
    ) -> Result<Self, StepError> {
        let row = seen.moves.iter().find(|row| &row.migration == migration);
        let token = EpochToken {
            migration: migration.clone(),
            epoch: Epoch(row.map_or(1, |row| row.epoch + 1)),
            until: MapVersion(i64::MAX),
        };
        let foreign = |object: &&str| object.starts_with("schema ");
        if let Some(schema) = seen.similar.iter().map(|s| s.object.as_str()).find(foreign) {
            return Err(StepError::refused(
                "sweep.foreign",
                format!("shard {}: {schema} is not Shardwright's", reference.name),
                "rename that schema, then sweep again",
            ));
        }
        let shard = Shard::new(reference, migration, token.epoch)?;
        let session = shard.session("sweep").await?;
        // A commit would wait for the walsender of an owner that is gone.
        session
            .batch_execute("set synchronous_commit = local")
            .await
            .at(format_args!("shard {}: preparing a session", shard.name))?;
        let proven = session
            .batch_execute(&identity::proof_sql(TimelineRule::Same))
            .await;
        proven.at(format_args!(
            "shard {}: proving which database it is",
            shard.name
        ))?;
        sidecar_schema::create(&session).await?;
        if row.is_none() {
            // Without a row of its own nothing can be proved: it gets one for as long as this takes.
            sidecar_schema::enrol(&session, &token, "source", "").await?;
        }
        dual_write::repair(&shard, &token, OwnershipProof::TakeOver).await?;
        epoch::take_over(&session, &token).await?;
        dual_write::repair(&shard, &token, OwnershipProof::Owner).await?;
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

    /// Slots and publications of the migration, which refuse no write.
    async fn end_streams(&self, seen: &Inventory, swept: &mut Swept) -> Result<(), StepError> {
        let whose = Whose::Migration(self.token.migration.clone());
        for object in seen.objects.iter().filter(|object| object.whose == whose) {
            let (shard, name) = (self.shard.name.as_str(), object.name.as_str());
            let what = format!("shard {shard}: dropping {} {name}", object.kind);
            match object.kind {
                ObjectKind::Slot => {
                    self.free(name).await?;
                    let sql = format!(
                        "select pg_catalog.pg_drop_replication_slot(slot_name) from pg_catalog.pg_replication_slots where slot_name = {}",
                        quote_literal(name)
                    );
                    let dropped = epoch::execute(&self.session, &self.token, &sql);
                    dropped.await.at(&what)?;
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
            swept.done.push(what);
        }
        Ok(())
    }

    /// Ends whoever still reads from a slot.
    async fn free(&self, slot: &str) -> Result<(), StepError> {
        let what = format!("shard {}: freeing replication slot {slot}", self.shard.name);
        for _ in 0..SLOT_TRIES {
            let row = self
                .session
                .query_opt(
                    "select pg_catalog.pg_terminate_backend(active_pid, 1000)
                     from pg_catalog.pg_replication_slots where slot_name = $1 and active_pid is not null",
                    &[&slot],
                )
                .await
                .at(&what)?;
            if row.is_none() {
                return Ok(());
            }
        }
        Err(StepError::passing(
            "slot.busy",
            format!("{what}: it stays in use"),
        ))
    }

    /// Guards, register and rows; what must stay refused is refused for good first.
    async fn remove(&self, guards: &Guards, swept: &mut Swept) -> Result<(), StepError> {
        let (session, token, shard) = (&self.session, &self.token, self.shard.name.as_str());
        let there = catalog::tables(session).await?;
        let tables = guards.tables.iter();
        let tables: Vec<MovingTable> = tables
            .filter(|table| !table.is_reference() && there.contains_key(&table.table))
            .cloned()
            .collect();
        if let Some(keys) = guards.keys.as_ref().filter(|_| guards.copied) {
            self.brought(guards, keys).remove().await?;
            swept.done.push(format!(
                "shard {shard}: removed what migration {} brought",
                token.migration
            ));
        }
        if let Some(refuse) = guards.refuse.as_ref().filter(|keys| !keys.is_empty()) {
            let away = ReleasedKeys {
                token,
                map: &guards.map,
                keys: refuse,
                tables: &tables,
                shard,
            };
            away.release(session, guards.version).await?;
            swept.done.push(format!(
                "shard {shard}: {refuse} of map {} are refused for good",
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

    /// What was brought to a shard that never owned the keys, and that no flip was told of.
    fn brought<'a>(&'a self, guards: &'a Guards, keys: &'a KeySet) -> CopiedRows<'a> {
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

    /// A row that was made for the sweep alone goes again.
    async fn leave(&self, seen: &Inventory) -> Result<(), StepError> {
        if seen
            .moves
            .iter()
            .any(|row| row.migration == self.token.migration)
        {
            return Ok(());
        }
        sidecar_schema::remove_migration(&self.session, &self.token).await
    }
}

/// Takes down the guard of keys that were given away, under the lock that every change of it takes.
async fn give_back(
    reference: &ShardRef,
    map: &MapName,
    swept: &mut Swept,
) -> Result<(), StepError> {
    let session = super::session_to_change(reference, "sweep").await?;
    let what = format!("shard {}: opening keys of map {map} again", reference.name);
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
        .at(&what)?;
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
    let done = session.batch_execute(&sql).await;
    rollback_after(&session, &done).await;
    done.at(&what)?;
    sidecar_schema::drop_if_unused(&session).await?;
    swept.done.push(what);
    Ok(())
}

async fn rollback_after(session: &Connected, done: &Result<(), tokio_postgres::Error>) {
    if done.is_err() {
        epoch::rollback(session).await;
    }
}

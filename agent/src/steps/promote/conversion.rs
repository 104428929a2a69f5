//! Makes the promoted server the target: closes it, removes what only the source may have, and records where its copy of
//! the source ends.
//!
//! Each part is idempotent, and the agent repeats all of them after an interruption.

use connect::Connected;
use plans::failure::StepCode;
use plans::id::{AttemptNo, Epoch, MapVersion, MigrationId};
use plans::names::Direction;
use plans::sql::quote_literal;
use plans::step::promote::Promoted;

use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::lsn::Lsn;
use crate::postgres::replication::ReplicationSession;
use crate::shard::database::Shard;
use crate::shard::epoch::{self, EpochProof, EpochToken};
use crate::shard::guard::{self, cascade};
use crate::shard::register::{self, RegisterSetting};
use crate::shard::released_keys::ReleasedKeys;
use crate::shard::seed::{self, SeedRecord};
use crate::shard::{identity, publication, sidecar_schema};

/// The attempt of the registers' changes before the first cutover.
const BEFORE_CUTOVERS: AttemptNo = AttemptNo(0);

/// Checks that the server was promoted after it had the record of the seeding, and returns its switch point.
///
/// # Errors
/// `seed.promoted` if the server was promoted before it had the record.
pub(super) async fn check_promoted(
    context: &StepContext,
    target: &Shard,
    record: &SeedRecord,
) -> Result<Lsn, StepError> {
    let session = target.session("promote").await?;
    let switch_point = read_switch_point(target, &session, record).await?;
    let copied = seed::read(&session, &context.token()).await?;
    if copied.is_none_or(|copied| copied.id != record.id) {
        return Err(StepError::listed(
            StepCode::SeedPromoted,
            format!(
                "shard {}: it was promoted at {switch_point}, before it had replayed the guards of the source",
                target.name
            ),
        ));
    }
    Ok(switch_point)
}

/// Converts the promoted server. `record` is the record of the seeding on the source.
pub(super) async fn run(
    context: &StepContext,
    target: &Shard,
    record: &SeedRecord,
    switch_point: Lsn,
) -> Result<Promoted, StepError> {
    let token = context.token();
    let session = target.session("promote").await?;
    // From here on, an agent with an older epoch can write nothing there.
    epoch::take_over(&session, &token).await?;
    // A prepared transaction would keep its locks, and its rows arrive with the stream when the source commits it.
    let rolled_back = roll_back_prepared(&session).await?;
    register::begin_and_set(&session, &token, BEFORE_CUTOVERS, RegisterSetting::Closed).await?;
    remove_other_migrations(&session, &token).await?;
    drop_stream_objects(&session, &token).await?;
    become_target(&session, &token, record, switch_point).await?;
    refuse_surplus_keys(context, &session, &token).await?;
    cascade::allow_skips(&session, &token, EpochProof::Next(BEFORE_CUTOVERS)).await?;
    Ok(Promoted {
        target: identity::read_named(&session).await?,
        switch_point: switch_point.to_string(),
        unused_slot: record.slot.clone(),
        rolled_back,
    })
}

/// Returns the position in the source's log where the log of the promoted server branches off. The history of the
/// timeline has it also after a restart.
async fn read_switch_point(
    target: &Shard,
    session: &Connected,
    record: &SeedRecord,
) -> Result<Lsn, StepError> {
    let what = format!("shard {}: reading the history of its timeline", target.name);
    let timeline = identity::read(session).await.at(&what)?.timeline;
    let name = target.application_name("history");
    let mut replication = ReplicationSession::open(&target.dsn, &name)
        .await
        .at(&what)?;
    let timeline = u32::try_from(timeline).unwrap_or(0);
    let parent = replication.timeline_parent(timeline).await.at(&what)?;
    match parent {
        Some((parent, switch_point)) if i64::from(parent) == i64::from(record.timeline) => {
            Ok(switch_point)
        }
        _ => Err(StepError::listed(
            StepCode::SeedPromoted,
            format!(
                "shard {}: its timeline {timeline} did not branch off from timeline {} of the source",
                target.name, record.timeline
            ),
        )),
    }
}

/// Rolls back the prepared transactions of the database, which are copies of the source's. Returns their number.
///
/// The guards refuse all writes to the tables of the move, so no client has prepared one here that concerns them.
async fn roll_back_prepared(session: &Connected) -> Result<u64, StepError> {
    let shard = session.name();
    let what = format!("shard {shard}: rolling back prepared transactions of the source");
    let rows = session
        .query(
            "select gid from pg_catalog.pg_prepared_xacts where database = pg_catalog.current_database()",
            &[],
        )
        .await
        .at(&what)?;
    for row in &rows {
        let rollback = format!("rollback prepared {}", quote_literal(row.get(0)));
        if let Err(error) = session.batch_execute(&rollback).await {
            return Err(StepError::refused(
                StepCode::SeedPrepared,
                format!("{what}: {}", crate::error::describe(&error)),
                format!(
                    "as their owner or a superuser, on shard {shard}: `{rollback}`; then `resume`"
                ),
            ));
        }
    }
    Ok(u64::try_from(rows.len()).unwrap_or(u64::MAX))
}

/// Removes the copies of all objects of other migrations. Their shards are the source and others, not this server.
pub(in crate::steps) async fn remove_other_migrations(
    session: &Connected,
    token: &EpochToken,
) -> Result<(), StepError> {
    let what = format!(
        "shard {}: reading copies of other migrations",
        session.name()
    );
    let rows = session
        .query(
            "select migration, epoch from shardwright.move where migration <> $1",
            &[&token.migration.0],
        )
        .await
        .at(what)?;
    for row in rows {
        let other = EpochToken {
            migration: MigrationId(row.get(0)),
            epoch: Epoch(row.get(1)),
            until: MapVersion(i64::MAX),
        };
        guard::drop_all(session, &other).await?;
        drop_stream_objects(session, &other).await?;
        sidecar_schema::remove_migration(session, &other).await?;
    }
    Ok(())
}

/// Drops the copies of a migration's publications, and its slots if they were synchronized to the standby.
async fn drop_stream_objects(session: &Connected, token: &EpochToken) -> Result<(), StepError> {
    let shard = session.name();
    for direction in [Direction::Forward, Direction::Reverse] {
        let slot = quote_literal(&token.migration.slot(direction));
        let sql = format!(
            "select pg_catalog.pg_drop_replication_slot(slot_name) from pg_catalog.pg_replication_slots where slot_name = {slot}"
        );
        let dropped = epoch::execute(session, token, &sql).await;
        dropped.at(format_args!(
            "shard {shard}: dropping replication slot {slot}"
        ))?;
        publication::drop(
            session,
            Some(token),
            &token.migration.publication(direction),
        )
        .await?;
    }
    Ok(())
}

/// Makes the copy of the source's row the row of a target, and gives the database its own id.
async fn become_target(
    session: &Connected,
    token: &EpochToken,
    record: &SeedRecord,
    switch_point: Lsn,
) -> Result<(), StepError> {
    let what = format!("shard {}: recording that it is the target", session.name());
    let set_id = match identity::is_registered(session).await.at(&what)? {
        true => format!(
            "update shardwright.{} set id = '{}'",
            identity::TABLE,
            record.id
        ),
        false => String::new(),
    };
    let sql = format!(
        "update shardwright.move set role = 'target', owns = null, flipped = null, published = null, away = null
         where migration = {migration} and role = 'source';
         delete from shardwright.given;
         insert into shardwright.progress (migration, direction, lsn, opened)
         values ({migration}, '{forward}', '{switch_point}', true) on conflict do nothing;
         {set_id}",
        migration = quote_literal(token.migration.as_str()),
        forward = Direction::Forward,
    );
    epoch::execute(session, token, &sql).await.at(what)
}

/// Makes the guard of released keys refuse all keys of the map that the target will not own.
async fn refuse_surplus_keys(
    context: &StepContext,
    session: &Connected,
    token: &EpochToken,
) -> Result<(), StepError> {
    let dispatch = &context.dispatch;
    let surplus = dispatch.surplus_keys.as_ref().ok_or_else(|| {
        StepError::refused(
            StepCode::StepInput,
            "the controller did not send the keys that the target must refuse",
            "upgrade the controller, then `resume`",
        )
    })?;
    let tables = context.keyed_tables();
    let surplus = ReleasedKeys {
        token,
        map: &dispatch.map,
        keys: surplus,
        tables: &tables,
        shard: session.name(),
    };
    surplus.refuse(session).await
}

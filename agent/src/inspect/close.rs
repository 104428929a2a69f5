//! Closes keys on a shard that is older than the map, under the epoch of the migration that took them (I7).
//!
//! The register first, since that is quick; then, where the owner is open, the version that took the keys, which
//! refusals name and the end of the move asks for; then, where the migration has ended, or where its guards are
//! not there, the guard of keys that were given away. Closing only ever refuses: whoever comes late with it
//! finds a shard that was told of a newer version, or closes what the next look reports.

use connect::Connected;
use plans::id::{Epoch, MapVersion};
use plans::inspection::reconcile::{CloseTask, Closing};
use plans::inspection::sweep::Swept;

use crate::error::{StepError, WithIntent};
use crate::postgres::catalog;
use crate::shard::database::Shard;
use crate::shard::epoch::{self, EpochToken};
use crate::shard::identity::{self, TimelineRule};
use crate::shard::register::{self, RegisterSetting};
use crate::shard::released_keys::ReleasedKeys;
use crate::shard::{guard, sidecar_schema};

pub(super) async fn run(task: &CloseTask) -> Result<Swept, StepError> {
    let closing = &task.closing;
    let token = EpochToken {
        migration: closing.migration.clone(),
        epoch: Epoch(closing.epoch),
        until: MapVersion(i64::MAX),
    };
    let shard = Shard::new(&task.shard, &token.migration, token.epoch)?;
    let session = shard.session("close").await?;
    let name = shard.name.as_str();
    sidecar_schema::create(&session).await?;
    let enrolled = epoch::is_enrolled(&session, &token).await?;
    if enrolled {
        epoch::take_over(&session, &token).await?;
        still_older(&session, &token, closing).await?;
    } else {
        let known = EpochToken {
            until: MapVersion(closing.version),
            ..token.clone()
        };
        sidecar_schema::enrol(&session, &known, &closing.role, closing.map.as_str()).await?;
    }
    let mut swept = Swept::default();
    let registered = register::exists(&session, &token.migration).await?;
    if registered {
        // A standby that was promoted in the shard's place is the very one that must be closed.
        let proof = identity::proof_sql(TimelineRule::NotEarlier);
        let proven = session.batch_execute(&proof).await;
        proven.at(format_args!("shard {name}: proving which database it is"))?;
        let attempt = epoch::newest_attempt(&session, &token).await?;
        register::begin_and_set(&session, &token, attempt, RegisterSetting::Closed).await?;
        swept.done.push(format!(
            "shard {name}: closed the register of migration {}",
            token.migration
        ));
        if closing.notify {
            register::notify_of_flip(&session, &token, attempt, closing.version).await?;
        }
    }
    let guarded = registered && guards_stand(&session, &token, closing).await?;
    if closing.for_good || !guarded {
        refuse(&session, &token, closing).await?;
        swept.done.push(format!(
            "shard {name}: {} of map {} are refused for good",
            closing.keys, closing.map
        ));
    }
    if closing.for_good && !enrolled {
        sidecar_schema::remove_migration(&session, &token).await?;
    }
    Ok(swept)
}

/// Refuses when the shard was told of a newer version than the one that took the keys.
async fn still_older(
    session: &Connected,
    token: &EpochToken,
    closing: &Closing,
) -> Result<(), StepError> {
    let shard = session.name();
    let row = session
        .query_opt(
            "select coalesce(flipped, 0) <= $2 from shardwright.move where migration = $1",
            &[&token.migration.0, &closing.version],
        )
        .await
        .at(format_args!("shard {shard}: reading what it was told"))?;
    if row.is_some_and(|row| row.get(0)) {
        return Ok(());
    }
    Err(StepError::refused(
        "close.newer",
        format!(
            "shard {shard} was told of a version after {}; nothing was closed",
            closing.version
        ),
        "look again",
    ))
}

async fn guards_stand(
    session: &Connected,
    token: &EpochToken,
    closing: &Closing,
) -> Result<bool, StepError> {
    match guard::check(session, &token.migration, &closing.tables).await {
        Ok(_) => Ok(true),
        Err(error) if error.failure().is_some_and(|f| f.code == "guard.changed") => Ok(false),
        Err(error) => Err(error),
    }
}

/// The keys are refused as given away.
async fn refuse(
    session: &Connected,
    token: &EpochToken,
    closing: &Closing,
) -> Result<(), StepError> {
    let shard = session.name();
    let there = catalog::tables(session).await?;
    let tables = closing.tables.iter();
    let tables: Vec<_> = tables
        .filter(|table| !table.is_reference() && there.contains_key(&table.table))
        .cloned()
        .collect();
    let away = ReleasedKeys {
        token,
        map: &closing.map,
        keys: &closing.keys,
        tables: &tables,
        shard,
    };
    away.release(session, closing.version).await
}

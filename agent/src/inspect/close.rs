//! Closes keys on a shard whose state is older than the map, under the epoch of the migration that moved the keys from
//! this shard to another (I7).
//!
//! The agent first closes the register, because that is fast. If the new owner is open, the agent then records the map
//! version of the flip on the shard: refusals name this version, and the end of the move requires it. If the migration
//! has ended, or its guards are missing, the agent also creates the permanent guard of the released keys. Closing only
//! adds refusals of writes. If a closing runs late, it either finds that the shard knows a newer flip and fails, or it
//! closes keys that the next inventory reports.

use connect::Connected;
use plans::failure::StepCode;
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
    let is_enrolled = epoch::is_enrolled(&session, &token).await?;
    if is_enrolled {
        epoch::take_over(&session, &token).await?;
        refuse_if_newer(&session, &token, closing).await?;
    } else {
        let enrolled_token = EpochToken {
            until: MapVersion(closing.version),
            ..token.clone()
        };
        sidecar_schema::enrol(
            &session,
            &enrolled_token,
            &closing.role,
            closing.map.as_str(),
        )
        .await?;
    }
    let mut swept = Swept::default();
    let has_register = register::exists(&session, &token.migration).await?;
    if has_register {
        // `NotEarlier`: if a standby was promoted in the place of the shard, this standby must be closed.
        let proof = identity::proof_sql(TimelineRule::NotEarlier);
        let result = session.batch_execute(&proof).await;
        result.at(format_args!("shard {name}: proving which database it is"))?;
        let attempt = epoch::newest_attempt(&session, &token).await?;
        register::begin_and_set(&session, &token, attempt, RegisterSetting::Closed).await?;
        swept.done.push(format!(
            "shard {name}: closed the register of migration {}",
            token.migration
        ));
        if closing.notify {
            register::notify_of_flip(&session, &token, attempt, MapVersion(closing.version))
                .await?;
        }
    }
    let has_guards = has_register && guards_exist(&session, &token, closing).await?;
    if closing.for_good || !has_guards {
        refuse_released_keys(&session, &token, closing).await?;
        swept.done.push(format!(
            "shard {name}: writes to {} of map {} are refused without a time limit",
            closing.keys, closing.map
        ));
    }
    if closing.for_good && !is_enrolled {
        sidecar_schema::remove_migration(&session, &token).await?;
    }
    Ok(swept)
}

/// Fails if the shard was notified of a flip to a newer map version than the one that moved the keys away.
async fn refuse_if_newer(
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
        .at(format_args!("shard {shard}: reading the recorded flip"))?;
    if row.is_some_and(|row| row.get(0)) {
        return Ok(());
    }
    Err(StepError::refused(
        StepCode::CloseNewer,
        format!(
            "shard {shard} has recorded a flip to a map version after {}; nothing was closed",
            closing.version
        ),
        "run `shardwright reconcile` again",
    ))
}

async fn guards_exist(
    session: &Connected,
    token: &EpochToken,
    closing: &Closing,
) -> Result<bool, StepError> {
    match guard::check(session, &token.migration, &closing.tables).await {
        Ok(_) => Ok(true),
        Err(error) if error.has_code(StepCode::GuardChanged) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Creates the permanent guard, which refuses the keys as released keys.
async fn refuse_released_keys(
    session: &Connected,
    token: &EpochToken,
    closing: &Closing,
) -> Result<(), StepError> {
    let shard = session.name();
    let names = closing.tables.iter().map(|table| &table.table);
    let existing_tables = catalog::existing(session, names).await?;
    let tables = closing.tables.iter();
    let tables: Vec<_> = tables
        .filter(|table| !table.is_reference() && existing_tables.contains(&table.table))
        .cloned()
        .collect();
    let released = ReleasedKeys {
        token,
        map: &closing.map,
        keys: &closing.keys,
        tables: &tables,
        shard,
    };
    released.release(session, MapVersion(closing.version)).await
}

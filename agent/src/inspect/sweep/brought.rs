//! Takes back what a migration brought to a shard that never owned the keys, and that no flip was told of.

use plans::id::MapName;
use plans::inspection::sweep::Guards;
use plans::key_set::KeySet;
use plans::table::MovingTable;
use tokio_postgres::Client;

use super::{At, Away, Left, StepError, epoch, register};

/// Rows of the keys, or the tables if the migration made them and nothing else is in them; keys that
/// were given away before are refused again.
pub(super) async fn remove(
    left: &Left,
    guards: &Guards,
    keys: &KeySet,
    tables: &[MovingTable],
) -> Result<(), StepError> {
    let (token, shard) = (&left.token, left.shard.name.as_str());
    let what = format!(
        "shard {shard}: removing what migration {} brought",
        token.migration
    );
    let session = left.shard.replica_session("sweep").await?;
    let row = session
        .query_opt(
            "select drop_script, (select count(*) from shardwright.move) = 1
             from shardwright.move where migration = $1",
            &[&token.migration.0],
        )
        .await
        .at(&what)?;
    let script: Option<String> =
        row.and_then(|row| row.get::<_, Option<String>>(0).filter(|_| row.get(1)));
    let alone = script.is_some() && !holds_others(&session, keys, tables).await.at(&what)?;
    begin_closed(&session, left).await?;
    if let Some(script) = script.filter(|_| alone) {
        session.batch_execute(&script).await.at(&what)?;
    } else {
        for table in tables.iter().rev() {
            let rows = table.predicate(keys, "");
            let sql = format!("delete from only {} where {rows}", table.table.sql());
            session.execute(&sql, &[]).await.at(&what)?;
        }
    }
    session
        .execute(
            "update shardwright.move set drop_script = null, loaded = false where migration = $1",
            &[&token.migration.0],
        )
        .await
        .at(&what)?;
    epoch::commit(&session, &what).await?;
    let map: &MapName = &guards.map;
    let left_tables: &[MovingTable] = if alone { &[] } else { tables };
    let away = Away {
        token,
        map,
        keys,
        tables: left_tables,
        shard,
    };
    away.restore(&left.session).await
}

/// Whether a table holds rows of other keys.
async fn holds_others(
    session: &Client,
    keys: &KeySet,
    tables: &[MovingTable],
) -> Result<bool, tokio_postgres::Error> {
    for table in tables {
        let sql = format!(
            "select exists (select from only {} where not {})",
            table.table.sql(),
            table.predicate(keys, "")
        );
        if session.query_one(&sql, &[]).await?.get(0) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A transaction that has proved its epoch, and has seen that the shard is closed and was told of no flip.
async fn begin_closed(session: &Client, left: &Left) -> Result<(), StepError> {
    let shard = left.shard.name.as_str();
    epoch::begin(session, &left.token, shard).await?;
    let what = format!("shard {shard}: reading the register");
    let seen = register::read(session, &left.token, &what).await?;
    if seen.register == i64::MAX && seen.flipped.is_none() {
        return Ok(());
    }
    epoch::rollback(session).await;
    Err(StepError::refused(
        "sweep.open",
        format!(
            "shard {shard}: its register is not closed, or it was told of a flip; nothing is deleted"
        ),
        "look again with `shardwright cleanup`",
    ))
}

//! The records of a resynchronization on the target, with which another process can continue it.
//!
//! A chunk that is done and has no snapshot was copied with an earlier slot: `open_capture` removes the snapshot from
//! its record. Its table has to be resynchronized. The chunks of an offline move have no snapshots; those that were
//! copied from an earlier server of the source have the number [`EARLIER_SERVER`] instead.

use connect::Connected;
use plans::failure::StepCode;
use plans::step::copy::Resynced;
use plans::table::MovingTable;
use tokio_postgres::types::ToSql;

use crate::compare::ChunkScope;
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::shard::epoch;
use crate::steps::copy::unfinished;

/// The number of a snapshot that marks the chunks of an offline move that were copied from an earlier server.
const EARLIER_SERVER: i32 = -1;

/// Returns the condition for chunks whose tables have to be resynchronized.
fn outdated(context: &StepContext) -> String {
    if context.is_online() {
        "done and snapshot is null".to_owned()
    } else {
        format!("done and snapshot = {EARLIER_SERVER}")
    }
}

/// Before an offline move copies from a promoted server of the source: units that are partly copied begin again, and the
/// others are compared with the source.
pub(in crate::steps) async fn compare_copied_rows_again(
    context: &StepContext,
) -> Result<(), StepError> {
    unfinished::empty_partly_copied_units(context).await?;
    let session = context.target()?.session("copy").await?;
    let id = plans::sql::quote_literal(context.dispatch.migration.as_str());
    let sql = format!(
        "update shardwright.chunk set snapshot = {EARLIER_SERVER} where migration = {id} and done;
         delete from shardwright.resync where migration = {id} and not done;
         delete from shardwright.resync_keys where migration = {id}"
    );
    epoch::execute(&session, &context.token(), &sql)
        .await
        .at(intent(&session))
}

/// A part of a table.
#[derive(Debug, Clone)]
pub(super) struct Part {
    relation: String,
    ordinal: i32,
    pub(super) scope: ChunkScope,
    pub(super) compared: bool,
    /// The rows that were compared.
    pub(super) rows: i64,
    /// Whether a row of the part differed.
    pub(super) differs: bool,
}

impl Part {
    /// Records in memory that the part is compared.
    pub(super) fn finish(&mut self, result: PartResult) {
        self.compared = true;
        self.rows = result.rows;
        self.differs = result.deleted + result.missing > 0;
    }
}

/// The result of the comparison of a part, in rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartResult {
    /// The rows of the source.
    pub(super) rows: i64,
    pub(super) deleted: i64,
    pub(super) missing: i64,
}

/// Keys of rows that are missing on the target.
#[derive(Debug)]
pub(super) struct MissingKeys {
    relation: String,
    ordinal: i32,
    id: i64,
    pub(super) keys: Vec<String>,
}

fn intent(session: &Connected) -> String {
    format!("shard {}: recording a resynchronization", session.name())
}

/// Returns the indexes of the tables that have to be resynchronized.
pub(in crate::steps::copy) async fn tables_left(
    context: &StepContext,
    session: &Connected,
) -> Result<Vec<usize>, StepError> {
    let rows = session
        .query(
            &format!(
                "select distinct relation from shardwright.chunk where migration = $1 and {}",
                outdated(context)
            ),
            &[&context.dispatch.migration.0],
        )
        .await
        .at(intent(session))?;
    let names: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    let tables = context.dispatch.tables.iter().enumerate();
    Ok(tables
        .filter(|(_, table)| names.contains(&table.table.to_string()))
        .map(|(index, _)| index)
        .collect())
}

/// Returns whether a table is partly resynchronized with the newest snapshot.
pub(in crate::steps::copy) async fn has_begun(
    context: &StepContext,
    session: &Connected,
) -> Result<bool, StepError> {
    let row = session
        .query_one(
            "select exists (select from shardwright.resync where migration = $1 and compared and not done)",
            &[&context.dispatch.migration.0],
        )
        .await
        .at(intent(session))?;
    Ok(row.get(0))
}

/// Deletes the records of tables that are not completely resynchronized: they begin again with another snapshot. The
/// rows that were deleted on the target are found as missing then.
pub(in crate::steps::copy) async fn restart(
    context: &StepContext,
    session: &Connected,
) -> Result<(), StepError> {
    let id = plans::sql::quote_literal(context.dispatch.migration.as_str());
    let sql = format!(
        "delete from shardwright.resync where migration = {id} and not done;
         delete from shardwright.resync_keys where migration = {id}"
    );
    epoch::execute(session, &context.token(), &sql)
        .await
        .at(intent(session))
}

/// Returns the parts of a table that is not completely resynchronized; none if it was not divided yet.
pub(super) async fn parts(
    context: &StepContext,
    session: &Connected,
    table: &MovingTable,
) -> Result<Vec<Part>, StepError> {
    let relation = table.table.to_string();
    let rows = session
        .query(
            "select ordinal, part, compared, rows, deleted > 0 or exists (
                 select from shardwright.resync_keys k
                 where k.migration = r.migration and k.relation = r.relation and k.ordinal = r.ordinal)
             from shardwright.resync r where migration = $1 and relation = $2 and not done order by ordinal",
            &[&context.dispatch.migration.0, &relation],
        )
        .await
        .at(intent(session))?;
    let part = |row: &tokio_postgres::Row| {
        let text: String = row.get(1);
        let scope = serde_json::from_str(&text).map_err(|_| unreadable_part(session, &relation))?;
        Ok(Part {
            relation: relation.clone(),
            ordinal: row.get(0),
            scope,
            compared: row.get(2),
            rows: row.get(3),
            differs: row.get(4),
        })
    };
    rows.iter().map(part).collect()
}

fn unreadable_part(session: &Connected, relation: &str) -> StepError {
    StepError::refused(
        StepCode::VerifyRecords,
        format!(
            "shard {}: table shardwright.resync has an unreadable part of {relation}",
            session.name()
        ),
        "delete the rows of this migration from the table, then `resume`",
    )
}

/// Records the parts into which a table is divided, and returns them.
pub(super) async fn record_parts(
    context: &StepContext,
    session: &Connected,
    table: &MovingTable,
    scopes: Vec<ChunkScope>,
) -> Result<Vec<Part>, StepError> {
    let relation = table.table.to_string();
    let texts: Vec<String> = scopes
        .iter()
        .map(|scope| serde_json::json!(scope).to_string())
        .collect();
    epoch::begin(session, &context.token()).await?;
    session
        .execute(
            "insert into shardwright.resync (migration, run, relation, ordinal, part)
             select $1, (select coalesce(pg_catalog.max(run), 0) + 1 from shardwright.resync
                         where migration = $1 and relation = $2), $2, ordinal::int4, part
             from pg_catalog.unnest($3::text[]) with ordinality as divided (part, ordinal)",
            &[&context.dispatch.migration.0, &relation, &texts],
        )
        .await
        .at(intent(session))?;
    epoch::commit(session, &intent(session)).await?;
    parts(context, session, table).await
}

/// Returns the ranges of the table's copied units, if only some units of the table are copied. `None`: the whole table
/// is copied.
pub(super) async fn copied_key_ranges(
    context: &StepContext,
    session: &Connected,
    table: &MovingTable,
) -> Result<Option<Vec<ChunkScope>>, StepError> {
    let rows = session
        .query(
            &format!(
                "select low, high, {} from shardwright.chunk
                 where migration = $1 and relation = $2 order by ordinal",
                outdated(context)
            ),
            &[&context.dispatch.migration.0, &table.table.to_string()],
        )
        .await
        .at(intent(session))?;
    if rows.iter().all(|row| row.get(2)) {
        return Ok(None);
    }
    let copied = rows.iter().filter(|row| row.get(2));
    let bound = |value: Option<String>| value.map(|value| vec![value]);
    Ok(Some(
        copied
            .map(|row| ChunkScope::Range {
                from: bound(row.get(0)),
                to: bound(row.get(1)),
            })
            .collect(),
    ))
}

/// Records keys of missing rows, in the transaction that compares the part.
pub(super) async fn record_keys(
    context: &StepContext,
    session: &Connected,
    part: &Part,
    keys: &[String],
) -> Result<(), StepError> {
    session
        .execute(
            "insert into shardwright.resync_keys (migration, relation, ordinal, keys) values ($1, $2, $3, $4)",
            &[
                &context.dispatch.migration.0,
                &part.relation,
                &part.ordinal,
                &keys,
            ],
        )
        .await
        .at(intent(session))
        .map(drop)
}

/// Records that the part is compared, and commits.
pub(super) async fn finish_part(
    context: &StepContext,
    session: &Connected,
    part: &Part,
    result: &PartResult,
) -> Result<(), StepError> {
    session
        .execute(
            "update shardwright.resync set compared = true, rows = $4, deleted = $5
             where migration = $1 and relation = $2 and ordinal = $3 and not done",
            &[
                &context.dispatch.migration.0,
                &part.relation,
                &part.ordinal,
                &result.rows,
                &result.deleted,
            ],
        )
        .await
        .at(intent(session))?;
    epoch::commit(session, &intent(session)).await
}

/// Returns keys of missing rows of the table that are still to be copied.
pub(super) async fn next_keys(
    context: &StepContext,
    session: &Connected,
    table: &MovingTable,
) -> Result<Option<MissingKeys>, StepError> {
    let relation = table.table.to_string();
    let row = session
        .query_opt(
            "select ordinal, id, keys from shardwright.resync_keys
             where migration = $1 and relation = $2 order by id limit 1",
            &[&context.dispatch.migration.0, &relation],
        )
        .await
        .at(intent(session))?;
    Ok(row.map(|row| MissingKeys {
        relation,
        ordinal: row.get(0),
        id: row.get(1),
        keys: row.get(2),
    }))
}

/// Deletes the keys whose rows are copied, adds the numbers of rows and bytes, and commits.
pub(super) async fn finish_keys(
    context: &StepContext,
    session: &Connected,
    entry: &MissingKeys,
    (rows, bytes): (u64, u64),
) -> Result<(), StepError> {
    let to_i64 = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let migration = &context.dispatch.migration.0;
    let place: [&(dyn ToSql + Sync); 3] = [migration, &entry.relation, &entry.id];
    session
        .execute(
            "delete from shardwright.resync_keys where migration = $1 and relation = $2 and id = $3",
            &place,
        )
        .await
        .at(intent(session))?;
    session
        .execute(
            "update shardwright.resync set copied = copied + $4, bytes = bytes + $5
             where migration = $1 and relation = $2 and ordinal = $3 and not done",
            &[
                migration,
                &entry.relation,
                &entry.ordinal,
                &to_i64(rows),
                &to_i64(bytes),
            ],
        )
        .await
        .at(intent(session))?;
    epoch::commit(session, &intent(session)).await
}

/// Records that the table's units have the rows that snapshot `number` sees; without a number, the rows of the present
/// source.
pub(super) async fn finish_table(
    context: &StepContext,
    session: &Connected,
    table: &MovingTable,
    number: Option<i32>,
) -> Result<(), StepError> {
    let migration = &context.dispatch.migration.0;
    let relation = table.table.to_string();
    epoch::begin(session, &context.token()).await?;
    session
        .execute(
            &format!(
                "update shardwright.chunk set snapshot = $3 where migration = $1 and relation = $2 and {}",
                outdated(context)
            ),
            &[migration, &relation, &number],
        )
        .await
        .at(intent(session))?;
    session
        .execute(
            "update shardwright.resync set done = true where migration = $1 and relation = $2",
            &[migration, &relation],
        )
        .await
        .at(intent(session))?;
    epoch::commit(session, &intent(session)).await
}

/// Returns the sums over all tables that were resynchronized; `None` if no table was.
pub(in crate::steps::copy) async fn totals(
    context: &StepContext,
    session: &Connected,
) -> Result<Option<Resynced>, StepError> {
    let row = session
        .query_one(
            "select count(distinct (run, relation)), coalesce(sum(rows), 0)::bigint, coalesce(sum(deleted), 0)::bigint,
                    coalesce(sum(copied), 0)::bigint, coalesce(sum(bytes), 0)::bigint
             from shardwright.resync where migration = $1 and done",
            &[&context.dispatch.migration.0],
        )
        .await
        .at(intent(session))?;
    let resynced = Resynced {
        tables: row.get(0),
        rows: row.get(1),
        deleted: row.get(2),
        copied: row.get(3),
        bytes: row.get(4),
    };
    Ok((resynced.tables > 0).then_some(resynced))
}

//! The tables that a publication had when the agent changed it last, by OID.
//!
//! PostgreSQL removes a table from its publications when the table is dropped. This record distinguishes that from a
//! table that a session has removed from the publication: only the former loses no changes, because its rows are gone.

use connect::Connected;
use plans::id::MigrationId;
use plans::names::Direction;
use plans::sql::quote_literal;
use plans::table::{MovingTable, TableName};

use crate::error::{StepError, WithIntent};

/// A published table that has left its topmost table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Departure {
    /// Its place in the given list.
    pub(crate) place: usize,
    /// Its present name in SQL; `None` if it was dropped.
    pub(crate) detached: Option<String>,
    /// The publication still has it.
    pub(crate) is_listed: bool,
    /// The agent has recorded it as retired.
    pub(crate) is_retired: bool,
}

/// Of the tables in `$3` (schemas), `$4` (names) and `$5` (topmost tables), those that were published and have departed
/// since: the columns of [`Departure`]. A table that was dropped and created again is not among them, nor one that another session
/// has removed from the publication.
const DEPARTURES: &str = "
    select given.place, case when c.oid is not null then pg_catalog.format('%I.%I', n.nspname, c.relname) end,
           r.oid is not null, t.retired
    from rows from (pg_catalog.unnest($3::text[]), pg_catalog.unnest($4::text[]), pg_catalog.unnest($5::text[]))
      with ordinality given (schema_name, name, top, place)
    join shardwright.published_table t on t.migration = $1 and t.direction = $2
      and t.schema_name = given.schema_name and t.name = given.name
    left join pg_catalog.pg_class c on c.oid = t.relation
    left join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    left join pg_catalog.pg_publication_rel r on r.oid = t.entry and r.prrelid = t.relation
    where (t.retired or (c.oid is null) = (r.oid is null))
      and pg_catalog.pg_partition_root(c.oid) is distinct from pg_catalog.to_regclass(given.top)
      and coalesce(pg_catalog.to_regclass(
            pg_catalog.format('%I.%I', given.schema_name, given.name))::oid, t.relation) = t.relation
    order by given.place";

/// Returns the statements that record the present tables of the publication of one direction. Retired ones stay recorded.
pub(crate) fn record_sql(migration: &MigrationId, direction: Direction) -> String {
    let id = quote_literal(&migration.0);
    let publication = quote_literal(&migration.publication(direction));
    let direction = quote_literal(&direction.to_string());
    format!(
        "delete from shardwright.published_table where migration = {id} and direction = {direction} and not retired; \
         insert into shardwright.published_table (migration, direction, entry, relation, schema_name, name) \
         select {id}, {direction}, r.oid, c.oid, n.nspname, c.relname \
         from pg_catalog.pg_publication p \
         join pg_catalog.pg_publication_rel r on r.prpubid = p.oid \
         join pg_catalog.pg_class c on c.oid = r.prrelid \
         join pg_catalog.pg_namespace n on n.oid = c.relnamespace \
         where p.pubname::text = {publication}"
    )
}

/// Returns the statement that records as retired the tables that were published under these names.
pub(crate) fn retire_sql(
    migration: &MigrationId,
    direction: Direction,
    tables: &[&TableName],
) -> String {
    let names = tables.iter().map(|table| {
        format!(
            "({}, {})",
            quote_literal(&table.schema),
            quote_literal(&table.name)
        )
    });
    let names: Vec<String> = names.collect();
    format!(
        "update shardwright.published_table set retired = true \
         where migration = {} and direction = {} and (schema_name, name) in ({}); ",
        quote_literal(&migration.0),
        quote_literal(&direction.to_string()),
        names.join(", "),
    )
}

/// Returns the OIDs of the retired tables, whose changes the stream of this direction discards.
pub(crate) async fn retired(
    client: &Connected,
    migration: &MigrationId,
    direction: Direction,
) -> Result<Vec<u32>, StepError> {
    let shard = client.name();
    let rows = client
        .query(
            "select relation from shardwright.published_table where migration = $1 and direction = $2 and retired",
            &[&migration.0, &direction.to_string()],
        )
        .await
        .at(format_args!("shard {shard}: reading retired tables"))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Returns the statements that delete a shard's records about the rows of a table, which does not move any more. A complete
/// comparison stays, because the control store has its digest.
pub(crate) fn forget_sql(migration: &MigrationId, table: &TableName) -> String {
    let id = quote_literal(&migration.0);
    let relation = quote_literal(&table.to_string());
    let rows = format!("where migration = {id} and relation = {relation}");
    let records = [
        "chunk",
        "resync",
        "resync_keys",
        "adopted",
        "dirty",
        "difference",
    ];
    let deletes = records.map(|record| format!("delete from shardwright.{record} {rows}; "));
    format!(
        "{}delete from shardwright.verified {rows} and (compared_at is null or missing + extra + changed > 0)",
        deletes.concat()
    )
}

/// Returns which of the tables have departed from their topmost tables since they were published.
pub(crate) async fn departures(
    client: &Connected,
    migration: &MigrationId,
    direction: Direction,
    tables: &[&MovingTable],
) -> Result<Vec<Departure>, StepError> {
    let shard = client.name();
    let names = || tables.iter().map(|table| &table.table);
    let schemas: Vec<&str> = names().map(|name| name.schema.as_str()).collect();
    let leaves: Vec<&str> = names().map(|name| name.name.as_str()).collect();
    let tops: Vec<String> = tables.iter().map(|table| table.top().sql()).collect();
    let rows = client
        .query(
            DEPARTURES,
            &[
                &migration.0,
                &direction.to_string(),
                &schemas,
                &leaves,
                &tops,
            ],
        )
        .await
        .at(format_args!("shard {shard}: reading published tables"))?;
    let departure = |row: &tokio_postgres::Row| {
        Some(Departure {
            place: usize::try_from(row.get::<_, i64>(0)).ok()?.checked_sub(1)?,
            detached: row.get(1),
            is_listed: row.get(2),
            is_retired: row.get(3),
        })
    };
    Ok(rows.iter().filter_map(departure).collect())
}

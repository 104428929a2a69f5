//! Reads which partitions the partitioned tables of a move have on a shard.

use connect::Connected;
use plans::sql::quote_literal;
use plans::table::{MovingTable, TableName};

use crate::error::{StepError, WithIntent};

/// A partition of a partitioned table of the move. It can itself be partitioned.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TablePartition {
    pub(crate) table: TableName,
    /// The table to which it is attached.
    pub(crate) parent: TableName,
    /// The topmost table.
    pub(crate) top: TableName,
    pub(crate) is_leaf: bool,
}

/// Returns the topmost tables of the partitions in `tables`, each once.
pub(crate) fn topmost_tables<'a>(
    tables: impl Iterator<Item = &'a MovingTable>,
) -> Vec<&'a TableName> {
    let mut tops: Vec<&TableName> = tables
        .filter_map(|table| table.partition_of.as_ref())
        .collect();
    tops.sort();
    tops.dedup();
    tops
}

/// The partitions of the tables in `$1`. Unlike `pg_partition_tree` it locks no table: a session that holds such a lock
/// and waits for another one could form a deadlock with a statement of the application.
const PARTITIONS: &str = "
    with recursive tree (place, level, oid, parent) as (
        select given.place, 0, pg_catalog.to_regclass(given.name)::oid, null::oid
        from pg_catalog.unnest($1::text[]) with ordinality given (name, place)
        union all
        select tree.place, tree.level + 1, i.inhrelid, i.inhparent
        from tree join pg_catalog.pg_inherits i on i.inhparent = tree.oid and not i.inhdetachpending
        join pg_catalog.pg_class c on c.oid = tree.oid and c.relkind = 'p')
    select tree.place, n.nspname::text, c.relname::text, pn.nspname::text, pc.relname::text, c.relkind <> 'p'
    from tree
    join pg_catalog.pg_class c on c.oid = tree.oid
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join pg_catalog.pg_class pc on pc.oid = tree.parent
    join pg_catalog.pg_namespace pn on pn.oid = pc.relnamespace
    order by tree.place, tree.level, 2, 3";

/// Reads all partitions of these topmost tables, each after the table to which it is attached.
pub(crate) async fn read(
    client: &Connected,
    tops: &[&TableName],
) -> Result<Vec<TablePartition>, StepError> {
    let shard = client.name();
    let names: Vec<String> = tops.iter().map(|top| top.sql()).collect();
    let rows = client
        .query(PARTITIONS, &[&names])
        .await
        .at(format_args!("shard {shard}: reading partitions"))?;
    let partition = |row: &tokio_postgres::Row| {
        let place = usize::try_from(row.get::<_, i64>(0)).ok()?;
        let name = |schema, name| TableName {
            schema: row.get(schema),
            name: row.get(name),
        };
        Some(TablePartition {
            table: name(1, 2),
            parent: name(3, 4),
            top: (*tops.get(place.checked_sub(1)?)?).clone(),
            is_leaf: row.get(5),
        })
    };
    Ok(rows.iter().filter_map(partition).collect())
}

/// Returns the leaf partitions on this shard that `tables` lacks although it has another leaf of the same topmost
/// table. Rows in them are neither copied nor captured.
pub(crate) async fn unknown_leaves(
    client: &Connected,
    tables: &[MovingTable],
) -> Result<Vec<TablePartition>, StepError> {
    let tops = topmost_tables(tables.iter());
    if tops.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = read(client, &tops).await?;
    found.retain(|partition| {
        partition.is_leaf && tables.iter().all(|known| known.table != partition.table)
    });
    Ok(found)
}

/// The locks that ATTACH PARTITION takes on tables that exist, in its order, for parents in `$1`; and those that a
/// trigger takes on the tables in `$2`. LOCK TABLE needs a privilege for which ATTACH PARTITION does not ask.
const LOCKS: &str = "
    with recursive
    parent as (
        select pg_catalog.to_regclass(name)::oid as oid from pg_catalog.unnest($1::text[]) name),
    default_partition (oid) as (
        select p.partdefid from pg_catalog.pg_partitioned_table p join parent on parent.oid = p.partrelid
        union select i.inhrelid from pg_catalog.pg_inherits i join default_partition d on d.oid = i.inhparent),
    referenced (oid) as (
        select k.confrelid from pg_catalog.pg_constraint k join parent on parent.oid = k.conrelid where k.contype = 'f'
        union select i.inhrelid from pg_catalog.pg_inherits i join referenced r on r.oid = i.inhparent),
    referencing (oid) as (
        select k.conrelid from pg_catalog.pg_constraint k join parent on parent.oid = k.confrelid where k.contype = 'f'),
    locks (place, oid, mode) as (
        select 1, oid, 'share update exclusive' from parent
        union all select 2, oid, 'access exclusive' from default_partition
        union all select 3, oid, 'share row exclusive' from referenced
        union all select 4, oid, 'share row exclusive' from referencing
        union all select 5, pg_catalog.to_regclass(name)::oid, 'share row exclusive' from pg_catalog.unnest($2::text[]) name)
    select pg_catalog.string_agg(
        pg_catalog.format('lock table only %I.%I in %s mode;', n.nspname, c.relname, locks.mode), ' '
        order by locks.place, c.oid)
    from locks join pg_catalog.pg_class c on c.oid = locks.oid
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where pg_catalog.has_table_privilege(c.oid, 'update, delete, truncate')";

/// Returns one statement that takes the locks which the attachment of partitions to `parents`, and a trigger on each of
/// `leaves`, needs on tables that exist. Empty if it needs none.
///
/// # Errors
/// An error of the server.
pub(crate) async fn lock_sql(
    client: &Connected,
    parents: &[&TableName],
    leaves: &[&TableName],
) -> Result<String, StepError> {
    let shard = client.name();
    let names = |tables: &[&TableName]| tables.iter().map(|table| table.sql()).collect();
    let (parents, leaves): (Vec<String>, Vec<String>) = (names(parents), names(leaves));
    let row = client
        .query_one(LOCKS, &[&parents, &leaves])
        .await
        .at(format_args!("shard {shard}: reading which tables to lock"))?;
    let locks: Option<String> = row.get(0);
    // One statement, so that one limit applies to all waits together.
    Ok(locks.map_or_else(String::new, |locks| {
        format!("do {}", quote_literal(&format!("begin {locks} end")))
    }))
}

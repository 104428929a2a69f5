//! Reads from a shard's catalog what a move needs to know about its tables.

mod facts;

use std::collections::{BTreeMap, BTreeSet};

use connect::Connected;
use plans::key::KeyType;
use plans::sql::quote_literal;
use plans::table::{MovingTable, PLAIN_FOREIGN_KEY, RowOrder, TableKey, TableName};
use tokio_postgres::Row;

use super::definitions::{self, FoundColumn};
use crate::error::{StepError, WithIntent};
pub(crate) use facts::{RetiredPartitions, facts, fingerprint, fingerprint_of_follower};

/// A user table, with the facts that decide whether it can move.
#[derive(Debug, Clone)]
pub(crate) struct TableFacts {
    pub(crate) table: TableName,
    pub(crate) kind: char,
    pub(crate) unlogged: bool,
    /// True if the table inherits or is inherited from, other than by partitioning.
    pub(crate) inherits: bool,
    /// For a partition: the root of its partition tree.
    pub(crate) partition_of: Option<TableName>,
    pub(crate) replica_identity: char,
    pub(crate) primary_key: Vec<String>,
    pub(crate) deferrable_key: bool,
    /// Columns of the index that identifies a row: the replica identity index, otherwise the primary key if it is not
    /// deferrable. Empty if the table has no such index.
    pub(crate) unique_by: Vec<String>,
    /// True if that index sorts its columns in one direction, by the default operator class of their types and their
    /// own collation.
    pub(crate) in_order: bool,
    pub(crate) rows: i64,
    pub(crate) bytes: i64,
    pub(crate) order: Option<RowOrder>,
}

/// Returns an SQL condition that is true for a row `t` that is in none of these tables. Such a row is in a partition
/// that was created later.
pub(crate) fn in_none(tables: &[MovingTable]) -> String {
    let names: Vec<String> = tables
        .iter()
        .map(|table| {
            let name = quote_literal(&table.table.sql());
            format!("pg_catalog.to_regclass({name})")
        })
        .collect();
    format!(
        "coalesce(t.tableoid = any (array[{}]::pg_catalog.oid[]), false) is false",
        names.join(", ")
    )
}

/// Returns those of the tables that exist.
pub(crate) async fn existing<'a>(
    client: &Connected,
    tables: impl IntoIterator<Item = &'a TableName>,
) -> Result<BTreeSet<TableName>, StepError> {
    let tables: Vec<&TableName> = tables.into_iter().collect();
    let names: Vec<String> = tables.iter().map(|table| table.sql()).collect();
    let rows = client
        .query(
            "select given.place from pg_catalog.unnest($1::text[]) with ordinality given (name, place)
             join pg_catalog.pg_class c on c.oid = pg_catalog.to_regclass(given.name) and c.relkind in ('r', 'p', 'f')",
            &[&names],
        )
        .await
        .at(format_args!(
            "shard {}: reading which tables exist",
            client.name()
        ))?;
    let places = rows
        .iter()
        .map(|row| usize::try_from(row.get::<_, i64>(0) - 1));
    let found = places.filter_map(|place| tables.get(place.ok()?).copied());
    Ok(found.cloned().collect())
}

/// Reads all tables outside the system schemas and the sidecar schema `shardwright`, by name.
pub(crate) async fn tables(
    client: &Connected,
) -> Result<BTreeMap<TableName, TableFacts>, StepError> {
    tables_without(client, &[], TableSizes::Measured).await
}

/// Where the sizes of tables come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableSizes {
    /// From the files. The server opens each table.
    Measured,
    /// From the catalog, as of the last VACUUM or ANALYZE, without TOAST.
    Estimated,
}

/// As [`tables`], without those of the schemas `left`.
pub(crate) async fn tables_without(
    client: &Connected,
    left: &[String],
    sizes: TableSizes,
) -> Result<BTreeMap<TableName, TableFacts>, StepError> {
    let shard = client.name();
    let rows = client
        .query(
            "select n.nspname::text, c.relname::text, c.relkind::text, c.relpersistence = 'u',
                    c.relkind <> 'p' and not c.relispartition
                      and exists (select from pg_catalog.pg_inherits i where c.oid in (i.inhrelid, i.inhparent)),
                    c.relreplident::text,
                    -- In most cases the index that identifies the rows is the primary key.
                    case when own.indisprimary then own_columns.names
                         else coalesce((select pg_catalog.array_agg(a.attname::text order by k.place)
                              from pg_catalog.pg_index x
                              cross join lateral pg_catalog.unnest(x.indkey::int2[]) with ordinality k (attnum, place)
                              join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
                              where x.indrelid = c.oid and x.indisprimary and k.place <= x.indnkeyatts), '{}') end,
                    case when own.indisprimary then not own.indimmediate
                         else coalesce((select not x.indimmediate from pg_catalog.pg_index x
                              where x.indrelid = c.oid and x.indisprimary), false) end,
                    greatest(c.reltuples, 0)::bigint,
                    -- NULL if the table was dropped meanwhile
                    coalesce(case when c.relkind = 'r' and $2 then pg_catalog.pg_table_size(c.oid)
                                  when c.relkind = 'r' then c.relpages * pg_catalog.current_setting('block_size')::bigint end, 0),
                    first.attname::text,
                    -- A table without pages has no statistics.
                    case when c.relpages > 0 and first.attname is not null
                         then coalesce((select (s.correlation * 100)::bigint from pg_catalog.pg_stats s
                              where s.schemaname = n.nspname and s.tablename = c.relname
                                and s.attname = first.attname and not s.inherited), 0) else 0 end,
                    topn.nspname::text, top.relname::text,
                    coalesce(own_columns.names, '{}'),
                    coalesce((select pg_catalog.bool_and(o.opcdefault and o.opcnamespace = 'pg_catalog'::regnamespace
                                       and k.by = a.attcollation and k.direction in (0, 3))
                                     and pg_catalog.count(distinct k.direction) = 1
                              from rows from (pg_catalog.unnest(own.indkey::int2[]), pg_catalog.unnest(own.indclass::oid[]),
                                     pg_catalog.unnest(own.indcollation::oid[]), pg_catalog.unnest(own.indoption::int2[]))
                                   with ordinality k (attnum, class, by, direction, place)
                              join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
                              join pg_catalog.pg_opclass o on o.oid = k.class
                              where k.place <= own.indnkeyatts), false)
             from pg_catalog.pg_class c
             join pg_catalog.pg_namespace n on n.oid = c.relnamespace
             left join pg_catalog.pg_index own on own.indrelid = c.oid and own.indisvalid
                  and case c.relreplident when 'i' then own.indisreplident else own.indisprimary and own.indimmediate end
             cross join lateral (
               select array(select a.attname::text from pg_catalog.unnest(own.indkey::int2[]) with ordinality k (attnum, place)
                            join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
                            where k.place <= own.indnkeyatts order by k.place) as names offset 0) own_columns
             left join pg_catalog.pg_class top on c.relispartition and top.oid = pg_catalog.pg_partition_root(c.oid)
             left join pg_catalog.pg_namespace topn on topn.oid = top.relnamespace
             left join pg_catalog.pg_attribute first on first.attrelid = c.oid and first.attnum = own.indkey[0]
                  and first.atttypid = any ('{int2,int4,int8,uuid}'::regtype[])
             where c.relkind in ('r', 'p', 'f')
               and n.nspname not in ('pg_catalog', 'information_schema', 'shardwright')
               and n.nspname !~ '^pg_(toast|temp)'
               and n.nspname::text <> all ($1::text[])",
            &[&left, &(sizes == TableSizes::Measured)],
        )
        .await
        .at(format_args!("shard {shard}: listing tables"))?;
    Ok(rows
        .iter()
        .map(table_facts)
        .map(|facts| (facts.table.clone(), facts))
        .collect())
}

/// Returns the tables that store the rows of `table`: its leaf partitions if it is partitioned, otherwise the table
/// itself.
pub(crate) fn leaves<'a>(
    found: &'a BTreeMap<TableName, TableFacts>,
    table: &'a TableFacts,
) -> Vec<&'a TableFacts> {
    if table.kind != 'p' {
        return vec![table];
    }
    let leaf = |other: &&TableFacts| {
        other.kind != 'p' && other.partition_of.as_ref() == Some(&table.table)
    };
    found.values().filter(leaf).collect()
}

fn table_facts(row: &Row) -> TableFacts {
    let letter = |column: usize| row.get::<_, String>(column).chars().next().unwrap_or(' ');
    TableFacts {
        table: TableName {
            schema: row.get(0),
            name: row.get(1),
        },
        kind: letter(2),
        unlogged: row.get(3),
        inherits: row.get(4),
        replica_identity: letter(5),
        primary_key: row.get(6),
        deferrable_key: row.get(7),
        unique_by: row.get(14),
        in_order: row.get(15),
        rows: row.get(8),
        bytes: row.get(9),
        partition_of: row.get::<_, Option<String>>(12).map(|schema| TableName {
            schema,
            name: row.get(13),
        }),
        order: row.get::<_, Option<String>>(10).map(|column| RowOrder {
            column,
            correlation_percent: row.get(11),
        }),
    }
}

impl TableFacts {
    /// Returns the columns that identify a row of this table. If the result is empty, only all columns together do.
    /// `key` defines how the table is tied to the shard key.
    ///
    /// Under REPLICA IDENTITY FULL the identifying index may lack columns of the shard key; the function adds them.
    pub(crate) fn identity(&self, key: &TableKey) -> Vec<String> {
        let mut identity = self.unique_by.clone();
        if let ('f', false, TableKey::Columns(columns)) =
            (self.replica_identity, identity.is_empty(), key)
        {
            let names = columns.iter().map(|column| &column.name);
            let missing: Vec<String> = names.filter(|n| !identity.contains(n)).cloned().collect();
            identity.extend(missing);
        }
        identity
    }

    /// Returns the number of identity columns that an index scan returns in sort order. None if these are all of them.
    pub(crate) fn lookup_columns(&self, key: &TableKey) -> Option<usize> {
        let in_order = if self.in_order {
            self.unique_by.len()
        } else {
            0
        };
        (in_order < self.identity(key).len()).then_some(in_order)
    }
}

/// Reads the columns of one table, in table order.
pub(crate) async fn columns(
    client: &Connected,
    table: &TableName,
) -> Result<Vec<FoundColumn>, StepError> {
    let mut found = definitions::columns(client, &[table]).await?;
    Ok(found.remove(table).unwrap_or_default())
}

/// Returns whether the column has the type that the shard map requires for its key.
pub(crate) fn fits(key: KeyType, column: &FoundColumn) -> bool {
    column.type_name == key.catalog_name()
        || (key == KeyType::Text && column.type_name == "varchar")
}

/// A foreign key from one table to another.
#[derive(Debug, Clone)]
pub(crate) struct ForeignKey {
    pub(crate) name: String,
    pub(crate) from: TableName,
    pub(crate) to: TableName,
    /// Pairs of a referencing column and the referenced column.
    pub(crate) columns: Vec<(String, String)>,
    /// True if the constraint is validated (`convalidated`).
    pub(crate) validated: bool,
    /// True if the referencing table is a partition.
    pub(crate) of_partition: bool,
    /// True if a change of the referenced row changes or deletes the referencing rows.
    pub(crate) cascades: bool,
    /// True if `=` compares the columns as the foreign key does, and equal values have one text: its operators are those of
    /// pg_catalog for the types of the columns, and it has no period.
    pub(crate) is_plain: bool,
}

/// Returns the query for the foreign keys that no partition inherits.
fn foreign_keys_sql() -> String {
    format!(
        "
    select k.conname::text, fn.nspname::text, f.relname::text, tn.nspname::text, t.relname::text,
           array(select a.attname::text from pg_catalog.unnest(k.conkey) with ordinality p (attnum, place)
                 join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = p.attnum order by p.place),
           array(select a.attname::text from pg_catalog.unnest(k.confkey) with ordinality p (attnum, place)
                 join pg_catalog.pg_attribute a on a.attrelid = k.confrelid and a.attnum = p.attnum order by p.place),
           k.convalidated, f.relispartition,
           k.confupdtype in ('c', 'n', 'd') or k.confdeltype in ('c', 'n', 'd'),
           {PLAIN_FOREIGN_KEY}
    from pg_catalog.pg_constraint k
    join pg_catalog.pg_class f on f.oid = k.conrelid
    join pg_catalog.pg_namespace fn on fn.oid = f.relnamespace
    join pg_catalog.pg_class t on t.oid = k.confrelid
    join pg_catalog.pg_namespace tn on tn.oid = t.relnamespace
    where k.contype = 'f' and k.conparentid = 0"
    )
}

/// Reads all foreign keys. The foreign keys that partitions inherit are not included.
pub(crate) async fn foreign_keys(client: &Connected) -> Result<Vec<ForeignKey>, StepError> {
    read_foreign_keys(client, "", &[]).await
}

/// As [`foreign_keys`], only those from or to `tables`.
pub(crate) async fn foreign_keys_of(
    client: &Connected,
    tables: &[&TableName],
) -> Result<Vec<ForeignKey>, StepError> {
    let names: Vec<String> = tables.iter().map(|table| table.sql()).collect();
    // The server hashes a subselect, and compares an array element by element.
    let restriction = "
        and (k.conrelid in (select pg_catalog.to_regclass(name)::oid from pg_catalog.unnest($1::text[]) name)
             or k.confrelid in (select pg_catalog.to_regclass(name)::oid from pg_catalog.unnest($1::text[]) name))";
    read_foreign_keys(client, restriction, &[&names]).await
}

async fn read_foreign_keys(
    client: &Connected,
    restriction: &str,
    parameters: &[&(dyn tokio_postgres::types::ToSql + Sync)],
) -> Result<Vec<ForeignKey>, StepError> {
    let shard = client.name();
    let sql = format!("{}{restriction} order by 1, 2, 3", foreign_keys_sql());
    let rows = client
        .query(&sql, parameters)
        .await
        .at(format_args!("shard {shard}: reading foreign keys"))?;
    let name = |row: &Row, at: usize| TableName {
        schema: row.get(at),
        name: row.get(at + 1),
    };
    Ok(rows
        .iter()
        .map(|row| {
            let (referencing, referenced): (Vec<String>, Vec<String>) = (row.get(5), row.get(6));
            ForeignKey {
                name: row.get(0),
                from: name(row, 1),
                to: name(row, 3),
                columns: referencing.into_iter().zip(referenced).collect(),
                validated: row.get(7),
                of_partition: row.get(8),
                cascades: row.get(9),
                is_plain: row.get(10),
            }
        })
        .collect())
}

/// Sorts tables so that a referenced table comes before the tables that reference it. Tables in a cycle keep their
/// order.
pub(crate) fn parents_first(tables: &mut Vec<MovingTable>, keys: &[ForeignKey]) {
    let mut ordered: Vec<MovingTable> = Vec::with_capacity(tables.len());
    while !tables.is_empty() {
        let waits = |table: &MovingTable| {
            keys.iter().any(|key| {
                let own = |name: &TableName| name == &table.table || name == table.top();
                own(&key.from)
                    && !own(&key.to)
                    && tables
                        .iter()
                        .any(|other| other.table == key.to || other.top() == &key.to)
            })
        };
        let next = tables.iter().position(|table| !waits(table)).unwrap_or(0);
        ordered.push(tables.remove(next));
    }
    *tables = ordered;
}

fn quoted<'a>(tables: impl IntoIterator<Item = &'a TableName>) -> Vec<String> {
    tables.into_iter().map(TableName::sql).collect()
}

/// Reads the file node and the column numbers of each table.
///
/// Both change if an ALTER TABLE rewrites values. Logical decoding does not report such a rewrite, and the definition
/// can be the same afterwards: `ALTER COLUMN .. TYPE .. USING`, or a column that is dropped and added again.
pub(crate) async fn storage(
    client: &Connected,
    tables: impl Iterator<Item = &MovingTable>,
) -> Result<BTreeMap<String, String>, StepError> {
    let shard = client.name();
    let names = quoted(tables.map(|table| &table.table));
    let rows = client
        .query_prepared(
            "select given.name, pg_catalog.concat_ws(' ', c.relfilenode,
                      (select pg_catalog.string_agg(a.attnum::text || ' ' || a.attname::text, ',' order by a.attnum)
                       from pg_catalog.pg_attribute a
                       where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped))
             from pg_catalog.unnest($1::text[]) given (name)
             join pg_catalog.pg_class c on c.oid = pg_catalog.to_regclass(given.name)",
            &[&names],
        )
        .await
        .at(format_args!("shard {shard}: reading the tables' file nodes"))?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Returns the fraction of a table's rows that a predicate selects, in parts per million, as the planner estimates it.
pub(crate) async fn selectivity_ppm(
    client: &Connected,
    table: &MovingTable,
    predicate: &str,
) -> Result<i64, StepError> {
    let shard = client.name();
    let sql = table.table.sql();
    let (all, selected) = (
        format!("select from {sql}"),
        format!("select from {sql} where {predicate}"),
    );
    let estimates = tokio::try_join!(
        estimated_rows(client, &all),
        estimated_rows(client, &selected)
    );
    let (all, selected) = estimates.at(format_args!(
        "shard {shard}: estimating the moving rows of {}",
        table.table
    ))?;
    let fraction = if all > 0.0 {
        (selected / all).clamp(0.0, 1.0)
    } else {
        0.0
    };
    Ok((fraction * 1_000_000.0) as i64)
}

/// The number of pages of a sample, as of ANALYZE for a table of this size.
const SAMPLE_PAGES: f64 = 300.0;

/// Returns the fraction of a table's rows that a predicate selects, in parts per million, in a sample of its pages. The
/// sample is the same each time. The planner cannot estimate predicates on hashes of keys.
pub(crate) async fn sampled_ppm(
    client: &Connected,
    table: &MovingTable,
    predicate: &str,
) -> Result<i64, StepError> {
    let what = format!(
        "shard {}: counting moving rows in a sample of {}",
        client.name(),
        table.table
    );
    let name = table.table.sql();
    let pages = "select pg_catalog.pg_relation_size(pg_catalog.to_regclass($1)) / pg_catalog.current_setting('block_size')::int8";
    let row = client.query_one(pages, &[&name]).await.at(&what)?;
    let pages = row.get::<_, Option<i64>>(0).unwrap_or_default() as f64;
    let percent = (100.0 * SAMPLE_PAGES / pages.max(1.0)).min(100.0);
    let sample = format!(
        "select coalesce(1000000 * pg_catalog.count(*) filter (where {predicate}) / nullif(pg_catalog.count(*), 0), 0)
         from only {name} tablesample system ({percent}) repeatable (1)"
    );
    Ok(client.query_one(&sample, &[]).await.at(&what)?.get(0))
}

/// Returns the number of rows that the planner estimates for a query.
async fn estimated_rows(client: &Connected, query: &str) -> Result<f64, tokio_postgres::Error> {
    let explain = format!("explain (format json) {query}");
    let plan: serde_json::Value = client.query_one(&explain, &[]).await?.get(0);
    Ok(plan[0]["Plan"]["Plan Rows"].as_f64().unwrap_or(0.0))
}

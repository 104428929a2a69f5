//! Reads columns and unique indexes of many tables; the number of queries does not depend on the number of tables.

use std::collections::BTreeMap;

use connect::Connected;
use plans::table::{Column, TableName};
use tokio_postgres::Row;

use super::types::{self, TypePart};
use crate::error::{StepError, WithIntent};

/// A column, with the properties that a shard key column must have.
#[derive(Debug, Clone)]
pub(crate) struct FoundColumn {
    pub(crate) column: Column,
    pub(crate) not_null: bool,
    pub(crate) type_name: String,
    /// The types that the column's type is composed of.
    pub(crate) parts: Vec<TypePart>,
}

/// A unique index that is, or could become, the replica identity of its table.
#[derive(Debug, Clone)]
pub(crate) struct UniqueIndex {
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
    /// The columns that are nullable. They must be NOT NULL before the index can be the replica identity.
    pub(crate) nullable: Vec<String>,
}

/// Reads the columns of tables, in table order. The result has no entry for a missing table.
pub(crate) async fn columns(
    client: &Connected,
    tables: &[&TableName],
) -> Result<BTreeMap<TableName, Vec<FoundColumn>>, StepError> {
    let shard = client.name();
    let names: Vec<String> = tables.iter().map(|table| table.sql()).collect();
    let rows = client
        .query(
            "select given.place, a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attgenerated <> '',
                    t.oid < 16384 and t.typtype = 'b' and (t.typelem = 0 or t.typlen <> -1),
                    a.attnotnull, t.typname::text
             from pg_catalog.unnest($1::text[]) with ordinality given (name, place)
             join pg_catalog.pg_attribute a on a.attrelid = pg_catalog.to_regclass(given.name)
             join pg_catalog.pg_type t on t.oid = a.atttypid
             where a.attnum > 0 and not a.attisdropped
             order by given.place, a.attnum",
            &[&names],
        )
        .await
        .at(format_args!("shard {shard}: reading columns"))?;
    let composed = rows.iter().filter(|row| !row.get::<_, bool>(4));
    let mut composed: Vec<&TableName> = composed.filter_map(|row| at(tables, row)).collect();
    composed.dedup();
    let mut made_of = if composed.is_empty() {
        BTreeMap::new()
    } else {
        types::parts(client, &composed).await?
    };
    let mut found: BTreeMap<TableName, Vec<FoundColumn>> = BTreeMap::new();
    for row in &rows {
        let Some(table) = at(tables, row) else {
            continue;
        };
        let (name, type_name): (String, String) = (row.get(1), row.get(6));
        let parts = made_of.get_mut(table).and_then(|parts| parts.remove(&name));
        let parts = parts.unwrap_or_else(|| vec![TypePart::simple(&type_name)]);
        found.entry(table.clone()).or_default().push(FoundColumn {
            column: Column {
                name,
                data_type: row.get(2),
                generated: row.get(3),
                binary: types::binary_form(&parts),
            },
            not_null: row.get(5),
            type_name,
            parts,
        });
    }
    Ok(found)
}

/// Reads the unique indexes that could identify rows: first those with the fewest nullable columns, then those with the
/// fewest columns.
pub(crate) async fn unique_indexes(
    client: &Connected,
    tables: &[&TableName],
) -> Result<BTreeMap<TableName, Vec<UniqueIndex>>, StepError> {
    let shard = client.name();
    let names: Vec<String> = tables.iter().map(|table| table.sql()).collect();
    let rows = client
        .query(
            "select given.place, i.relname::text, pg_catalog.array_agg(a.attname::text order by k.place),
                    coalesce(pg_catalog.array_agg(a.attname::text order by k.place) filter (where not a.attnotnull), '{}')
             from pg_catalog.unnest($1::text[]) with ordinality given (name, place)
             join pg_catalog.pg_index x on x.indrelid = pg_catalog.to_regclass(given.name)
             join pg_catalog.pg_class i on i.oid = x.indexrelid
             cross join lateral pg_catalog.unnest(x.indkey::int2[]) with ordinality k (attnum, place)
             join pg_catalog.pg_attribute a on a.attrelid = x.indrelid and a.attnum = k.attnum
             where x.indisunique and x.indimmediate and x.indisvalid
               and x.indpred is null and x.indexprs is null and k.place <= x.indnkeyatts
             group by given.place, i.relname, x.indnkeyatts
             order by 1, pg_catalog.count(*) filter (where not a.attnotnull), x.indnkeyatts, 2",
            &[&names],
        )
        .await
        .at(format_args!("shard {shard}: reading unique indexes"))?;
    let mut found: BTreeMap<TableName, Vec<UniqueIndex>> = BTreeMap::new();
    for row in &rows {
        if let Some(table) = at(tables, row) {
            found.entry(table.clone()).or_default().push(UniqueIndex {
                name: row.get(1),
                columns: row.get(2),
                nullable: row.get(3),
            });
        }
    }
    Ok(found)
}

/// Returns the table whose position, counted from 1, is in the row's first column.
pub(crate) fn at<'a>(tables: &[&'a TableName], row: &Row) -> Option<&'a TableName> {
    let place = usize::try_from(row.get::<_, i64>(0)).ok()?;
    tables.get(place.checked_sub(1)?).copied()
}

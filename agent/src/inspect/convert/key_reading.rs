//! Reads the keys of a shard's rows for a conversion.

use std::collections::BTreeSet;

use connect::Connected;
use plans::failure::StepCode;
use plans::inspection::convert::MAX_CONVERTED_KEYS;
use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use plans::sql::quote_ident;
use plans::table::{KeyColumn, MovingTable, TableKey};

use super::super::check::parse_key;
use crate::error::{StepError, WithIntent};

/// Returns the key columns of a table that has them. Rows of dependent tables have the keys of their parents.
fn key_columns(table: &MovingTable) -> Option<&[KeyColumn]> {
    match &table.key {
        TableKey::Columns(columns) => Some(columns),
        TableKey::Through(_) | TableKey::Schema(_) | TableKey::Group(_) | TableKey::Reference => {
            None
        }
    }
}

/// Fails if a table has rows whose keys are not in `owned`: the conversion would give these keys to the shard.
pub(super) async fn refuse_stray_rows(
    session: &Connected,
    tables: &[MovingTable],
    owned: &KeySet,
) -> Result<(), StepError> {
    let shard = session.name();
    for table in tables {
        let Some(columns) = key_columns(table) else {
            continue;
        };
        let what = format!("shard {shard}: looking for stray rows of {}", table.table);
        let has_key: Vec<String> = columns
            .iter()
            .map(|column| format!("t.{} is not null", quote_ident(&column.name)))
            .collect();
        let sql = format!(
            "select exists (select from {} t where ({}) is not true and {})",
            table.table.sql(),
            table.predicate(owned, "t"),
            has_key.join(" and ")
        );
        if session.query_one(&sql, &[]).await.at(&what)?.get(0) {
            return Err(StepError::listed(
                StepCode::ConvertStray,
                format!(
                    "shard {shard}: table {} has rows whose keys the shard does not own",
                    table.table
                ),
            ));
        }
    }
    Ok(())
}

/// Returns the keys of all rows of the tables.
pub(super) async fn keys_of(
    session: &Connected,
    tables: &[MovingTable],
    types: &[KeyType],
) -> Result<BTreeSet<Key>, StepError> {
    let shard = session.name();
    let mut keys = BTreeSet::new();
    for table in tables {
        let Some(columns) = key_columns(table) else {
            continue;
        };
        let what = format!("shard {shard}: reading the keys of {}", table.table);
        refuse_keyless_rows(session, table, columns).await?;
        let sql = if has_index(session, table, columns).await.at(&what)? {
            keys_by_index_sql(table, columns)
        } else {
            keys_sql(table, columns)
        };
        let rows = session.query(&sql, &[]).await.at(&what)?;
        for row in &rows {
            let key = parse_key(row, types).ok_or_else(|| {
                StepError::listed(
                    StepCode::ConvertKeyless,
                    format!("{what}: a value is no key of the map's key types"),
                )
            })?;
            keys.insert(key);
        }
        if keys.len() > MAX_CONVERTED_KEYS {
            return Err(StepError::listed(
                StepCode::ConvertTooMany,
                format!(
                    "shard {shard}: the rows have more than {MAX_CONVERTED_KEYS} keys, counted up to table {}",
                    table.table
                ),
            ));
        }
    }
    Ok(keys)
}

/// Fails if a key column of a row is NULL.
async fn refuse_keyless_rows(
    session: &Connected,
    table: &MovingTable,
    columns: &[KeyColumn],
) -> Result<(), StepError> {
    let shard = session.name();
    let what = format!(
        "shard {shard}: looking for rows of {} without a key",
        table.table
    );
    let missing: Vec<String> = columns
        .iter()
        .map(|column| {
            format!(
                "exists (select from {} t where t.{} is null)",
                table.table.sql(),
                quote_ident(&column.name)
            )
        })
        .collect();
    let sql = format!("select {}", missing.join(" or "));
    if session.query_one(&sql, &[]).await.at(&what)?.get(0) {
        return Err(StepError::listed(
            StepCode::ConvertKeyless,
            format!(
                "shard {shard}: table {} has rows whose key columns are NULL",
                table.table
            ),
        ));
    }
    Ok(())
}

/// Returns whether an index on all rows begins with the key columns, in ascending order, by the default operators of
/// their types and their own collations.
async fn has_index(
    session: &Connected,
    table: &MovingTable,
    columns: &[KeyColumn],
) -> Result<bool, tokio_postgres::Error> {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let row = session
        .query_one(
            "select exists (
               select from pg_catalog.pg_index i
               join pg_catalog.pg_class c on c.oid = i.indexrelid
               join pg_catalog.pg_am m on m.oid = c.relam
               where i.indrelid = pg_catalog.to_regclass($1) and m.amname = 'btree'
                 and i.indisvalid and i.indpred is null
                 and $2::pg_catalog.text[] = array(
                   select a.attname::pg_catalog.text
                   from pg_catalog.generate_series(0, pg_catalog.cardinality($2::pg_catalog.text[]) - 1) at
                   join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[at]
                   join pg_catalog.pg_opclass o on o.oid = i.indclass[at]
                   where i.indoption[at] = 0 and i.indcollation[at] = a.attcollation and o.opcdefault
                   order by at))",
            &[&table.table.sql(), &names],
        )
        .await?;
    Ok(row.get(0))
}

/// Returns the query for the keys that reads all rows.
fn keys_sql(table: &MovingTable, columns: &[KeyColumn]) -> String {
    let names: Vec<String> = columns.iter().map(|c| quote_ident(&c.name)).collect();
    let texts: Vec<String> = names
        .iter()
        .map(|name| format!("d.{name}::pg_catalog.text"))
        .collect();
    format!(
        "select {} from (select distinct {} from {} limit {}) d",
        texts.join(", "),
        names.join(", "),
        table.table.sql(),
        MAX_CONVERTED_KEYS + 1
    )
}

/// Returns the query for the keys that looks up each key after the one before in an index.
fn keys_by_index_sql(table: &MovingTable, columns: &[KeyColumn]) -> String {
    let list = |row: &str| {
        let names = columns
            .iter()
            .map(|c| format!("{row}.{}", quote_ident(&c.name)));
        names.collect::<Vec<String>>().join(", ")
    };
    let texts: Vec<String> = columns
        .iter()
        .map(|c| format!("k.{}::pg_catalog.text", quote_ident(&c.name)))
        .collect();
    let from = table.table.sql();
    let (t, k) = (list("t"), list("k"));
    format!(
        "with recursive k as (
           (select {t} from {from} t order by {t} limit 1)
           union all
           select n.* from k cross join lateral (
             select {t} from {from} t where row({t}) > row({k}) order by {t} limit 1) n)
         select {} from k limit {}",
        texts.join(", "),
        MAX_CONVERTED_KEYS + 1
    )
}

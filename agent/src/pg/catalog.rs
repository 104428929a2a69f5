//! What a shard's catalog says about the tables of a move.

use std::collections::BTreeMap;

use plans::inspection::check::Fact;
use plans::key::KeyType;
use plans::table::{Column, MovingTable, RowOrder, TableKey, TableName};
use tokio_postgres::{Client, Row};

use crate::error::{At, StepError};

/// A user table with everything that decides whether it can move.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) table: TableName,
    pub(crate) kind: char,
    pub(crate) unlogged: bool,
    pub(crate) inherits: bool,
    pub(crate) replica_identity: char,
    pub(crate) primary_key: Vec<String>,
    pub(crate) deferrable_key: bool,
    pub(crate) rows: i64,
    pub(crate) bytes: i64,
    pub(crate) order: Option<RowOrder>,
}

/// Every table of the user's schemas, by name.
pub(crate) async fn tables(
    client: &Client,
    shard: &str,
) -> Result<BTreeMap<TableName, Found>, StepError> {
    let rows = client
        .query(
            "select n.nspname::text, c.relname::text, c.relkind::text, c.relpersistence = 'u',
                    exists (select from pg_catalog.pg_inherits i where c.oid in (i.inhrelid, i.inhparent)),
                    c.relreplident::text,
                    coalesce((select pg_catalog.array_agg(a.attname::text order by k.place)
                              from pg_catalog.pg_index x
                              cross join lateral pg_catalog.unnest(x.indkey::int2[]) with ordinality k (attnum, place)
                              join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
                              where x.indrelid = c.oid and x.indisprimary), '{}'),
                    coalesce((select not x.indimmediate from pg_catalog.pg_index x
                              where x.indrelid = c.oid and x.indisprimary), false),
                    greatest(c.reltuples, 0)::bigint,
                    case when c.relkind = 'r' then pg_catalog.pg_table_size(c.oid) else 0 end,
                    first.attname::text,
                    coalesce((select (s.correlation * 100)::bigint from pg_catalog.pg_stats s
                              where s.schemaname = n.nspname and s.tablename = c.relname
                                and s.attname = first.attname and not s.inherited), 0)
             from pg_catalog.pg_class c
             join pg_catalog.pg_namespace n on n.oid = c.relnamespace
             left join lateral (select a.attname from pg_catalog.pg_index x
                                join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = x.indkey[0]
                                where x.indrelid = c.oid and x.indisprimary
                                  and a.atttypid = any ('{int2,int4,int8,uuid}'::regtype[])) first on true
             where c.relkind in ('r', 'p', 'f')
               and n.nspname not in ('pg_catalog', 'information_schema', 'shardwright')
               and n.nspname !~ '^pg_(toast|temp)'",
            &[],
        )
        .await
        .at(format_args!("shard {shard}: listing tables"))?;
    Ok(rows
        .iter()
        .map(found)
        .map(|found| (found.table.clone(), found))
        .collect())
}

fn found(row: &Row) -> Found {
    let letter = |column: usize| row.get::<_, String>(column).chars().next().unwrap_or(' ');
    Found {
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
        rows: row.get(8),
        bytes: row.get(9),
        order: row.get::<_, Option<String>>(10).map(|column| RowOrder {
            column,
            correlation_percent: row.get(11),
        }),
    }
}

/// A column with what the key column must fulfil.
#[derive(Debug, Clone)]
pub(crate) struct FoundColumn {
    pub(crate) column: Column,
    pub(crate) not_null: bool,
    pub(crate) type_name: String,
}

/// The columns of one table, in table order.
pub(crate) async fn columns(
    client: &Client,
    table: &TableName,
    shard: &str,
) -> Result<Vec<FoundColumn>, StepError> {
    let rows = client
        .query(
            "select a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attgenerated <> '',
                    t.oid < 16384 and t.typtype = 'b' and t.typname !~ '^reg'
                      and t.typname not in ('xid', 'cid', 'tid', 'aclitem', 'refcursor'),
                    a.attnotnull, t.typname::text
             from pg_catalog.pg_attribute a
             join pg_catalog.pg_type t on t.oid = a.atttypid
             where a.attrelid = pg_catalog.to_regclass($1) and a.attnum > 0 and not a.attisdropped
             order by a.attnum",
            &[&table.sql()],
        )
        .await
        .at(format_args!("shard {shard}: reading columns of {table}"))?;
    Ok(rows
        .iter()
        .map(|row| FoundColumn {
            column: Column {
                name: row.get(0),
                data_type: row.get(1),
                generated: row.get(2),
                binary_safe: row.get(3),
            },
            not_null: row.get(4),
            type_name: row.get(5),
        })
        .collect())
}

/// Whether the column's type is the one that the map's key needs.
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
    /// Own column and the other table's, pair by pair.
    pub(crate) columns: Vec<(String, String)>,
    /// Every row has been checked against it.
    pub(crate) validated: bool,
}

/// All foreign keys of the user's tables.
pub(crate) async fn foreign_keys(
    client: &Client,
    shard: &str,
) -> Result<Vec<ForeignKey>, StepError> {
    let rows = client
        .query(
            "select k.conname::text, fn.nspname::text, f.relname::text, tn.nspname::text, t.relname::text,
                    array(select a.attname::text from pg_catalog.unnest(k.conkey) with ordinality p (attnum, place)
                          join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = p.attnum order by p.place),
                    array(select a.attname::text from pg_catalog.unnest(k.confkey) with ordinality p (attnum, place)
                          join pg_catalog.pg_attribute a on a.attrelid = k.confrelid and a.attnum = p.attnum order by p.place),
                    k.convalidated
             from pg_catalog.pg_constraint k
             join pg_catalog.pg_class f on f.oid = k.conrelid
             join pg_catalog.pg_namespace fn on fn.oid = f.relnamespace
             join pg_catalog.pg_class t on t.oid = k.confrelid
             join pg_catalog.pg_namespace tn on tn.oid = t.relnamespace
             where k.contype = 'f' and k.conparentid = 0
             order by 1, 2, 3",
            &[],
        )
        .await
        .at(format_args!("shard {shard}: reading foreign keys"))?;
    let name = |row: &Row, at: usize| TableName {
        schema: row.get(at),
        name: row.get(at + 1),
    };
    Ok(rows
        .iter()
        .map(|row| {
            let (own, theirs): (Vec<String>, Vec<String>) = (row.get(5), row.get(6));
            ForeignKey {
                name: row.get(0),
                from: name(row, 1),
                to: name(row, 3),
                columns: own.into_iter().zip(theirs).collect(),
                validated: row.get(7),
            }
        })
        .collect())
}

/// Tables with those that others refer to first; cycles keep their given order.
pub(crate) fn parents_first(tables: &mut Vec<MovingTable>, keys: &[ForeignKey]) {
    let mut ordered: Vec<MovingTable> = Vec::with_capacity(tables.len());
    while !tables.is_empty() {
        let waits = |table: &MovingTable| {
            keys.iter().any(|key| {
                key.from == table.table
                    && key.to != table.table
                    && tables.iter().any(|other| other.table == key.to)
            })
        };
        let next = tables.iter().position(|table| !waits(table)).unwrap_or(0);
        ordered.push(tables.remove(next));
    }
    *tables = ordered;
}

/// Every fact of the definitions of `$1` (quoted names) that a move relies on: table, what, definition.
const FACTS: &str = "
    with t as (select pg_catalog.to_regclass(name)::oid as oid, name from pg_catalog.unnest($1::text[]) name)
    select name, 'table' as what,
           coalesce(pg_catalog.format('kind %s, persistence %s, replica identity %s', c.relkind, c.relpersistence, c.relreplident), 'missing') as definition
    from t left join pg_catalog.pg_class c on c.oid = t.oid
    union all
    select name, 'column ' || a.attname, pg_catalog.concat_ws(' ',
             'place ' || pg_catalog.row_number() over (partition by a.attrelid order by a.attnum),
             pg_catalog.format_type(a.atttypid, a.atttypmod), case when a.attnotnull then 'not null' end,
             'identity ' || nullif(a.attidentity::text, ''), 'generated ' || nullif(a.attgenerated::text, ''),
             'default ' || pg_catalog.pg_get_expr(d.adbin, d.adrelid), 'collate ' || co.collname)
    from t join pg_catalog.pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
    left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    left join pg_catalog.pg_collation co on co.oid = a.attcollation
    union all
    select name, 'index ' || c.relname, pg_catalog.pg_get_indexdef(x.indexrelid) || case when x.indisvalid then '' else ' invalid' end
    from t join pg_catalog.pg_index x on x.indrelid = t.oid join pg_catalog.pg_class c on c.oid = x.indexrelid
    union all
    select name, 'constraint ' || k.conname, pg_catalog.pg_get_constraintdef(k.oid)
    from t join pg_catalog.pg_constraint k on k.conrelid = t.oid
    union all
    select name, 'trigger ' || g.tgname, pg_catalog.pg_get_triggerdef(g.oid) || ' enabled ' || g.tgenabled::text
    from t join pg_catalog.pg_trigger g on g.tgrelid = t.oid
    where not g.tgisinternal and g.tgname !~ '^shardwright_guard_'";

fn quoted<'a>(tables: impl IntoIterator<Item = &'a TableName>) -> Vec<String> {
    tables.into_iter().map(TableName::sql).collect()
}

/// A hash over everything about the moving tables that a move relies on; not over reference tables, which
/// only some moves carry.
pub(crate) async fn fingerprint(
    client: &Client,
    tables: &[MovingTable],
    shard: &str,
) -> Result<String, StepError> {
    let sharded = tables
        .iter()
        .filter(|table| table.key != TableKey::Reference);
    let names = quoted(sharded.map(|table| &table.table));
    let row = client
        .query_one(
            &format!(
                "select pg_catalog.md5(coalesce(pg_catalog.string_agg(fact, E'\\n' order by fact collate \"C\"), ''))
                 from (select pg_catalog.concat_ws('|', name, what, definition) as fact from ({FACTS}) facts) lines"
            ),
            &[&names],
        )
        .await
        .at(format_args!("shard {shard}: reading the schema's fingerprint"))?;
    Ok(row.get(0))
}

/// The definitions of tables, fact by fact; a table that is missing has none.
pub(crate) async fn facts(
    client: &Client,
    tables: &[TableName],
    shard: &str,
) -> Result<BTreeMap<TableName, Vec<Fact>>, StepError> {
    let rows = client
        .query(
            &format!("select name, what, definition from ({FACTS}) facts order by 1, 2, 3"),
            &[&quoted(tables)],
        )
        .await
        .at(format_args!(
            "shard {shard}: reading the tables' definitions"
        ))?;
    let mut facts: BTreeMap<TableName, Vec<Fact>> = BTreeMap::new();
    for table in tables {
        let name = table.sql();
        let own = rows.iter().filter(|row| row.get::<_, &str>(0) == name);
        let own: Vec<Fact> = own
            .map(|row| Fact {
                what: row.get(1),
                definition: row.get(2),
            })
            .collect();
        let missing = own.iter().any(|fact| fact.definition == "missing");
        facts.insert(table.clone(), if missing { Vec::new() } else { own });
    }
    Ok(facts)
}

/// Estimated share of a table's rows that a predicate selects, per million, from the planner's statistics.
pub(crate) async fn selectivity_ppm(
    client: &Client,
    table: &MovingTable,
    predicate: &str,
    shard: &str,
) -> Result<i64, StepError> {
    let sql = table.table.sql();
    let what = format!(
        "shard {shard}: estimating the moving rows of {}",
        table.table
    );
    let estimate = async |text: String| -> Result<f64, StepError> {
        let row = client.query_one(&text, &[]).await.at(&what)?;
        let plan: serde_json::Value = row.get(0);
        Ok(plan[0]["Plan"]["Plan Rows"].as_f64().unwrap_or(0.0))
    };
    let all = estimate(format!("explain (format json) select from {sql}")).await?;
    let some = estimate(format!(
        "explain (format json) select from {sql} where {predicate}"
    ))
    .await?;
    let share = if all > 0.0 {
        (some / all).clamp(0.0, 1.0)
    } else {
        0.0
    };
    Ok((share * 1_000_000.0) as i64)
}

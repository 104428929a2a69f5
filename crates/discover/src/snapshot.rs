//! A read-only transaction on a shard, and its catalog.

use crate::error::DiscoverError;
use crate::facts::{Column, Facts, Index, Reference, Table};
use connect::{Connected, Dsn, Session, connect};
use plans::id::ShardName;
use plans::key::KeyType;
use plans::table::TableName;
use tokio_postgres::Row;

/// The server cancels statements that take longer than 60 s, so that the reads do not load a shard that is in use.
const BEGIN: &str = "begin isolation level repeatable read read only;
    set local statement_timeout = '60s'; set local lock_timeout = '5s'";

/// A session on a shard with an open read-only transaction, so that all reads use one snapshot.
#[derive(Debug)]
pub(crate) struct ShardSnapshot {
    pub(crate) shard: ShardName,
    client: Connected,
}

impl ShardSnapshot {
    /// Connects to the shard and begins the transaction. It ends when the value is dropped.
    pub(crate) async fn open(shard: &ShardName, dsn: &Dsn) -> Result<Self, DiscoverError> {
        let client = connect(dsn, &Session::named("shardwright init")).await;
        let client = client.map_err(|source| DiscoverError::Connect {
            shard: shard.clone(),
            source,
        })?;
        let begun = client.batch_execute(BEGIN).await;
        let snapshot = Self {
            shard: shard.clone(),
            client,
        };
        begun.map_err(|source| snapshot.query_error("begin to read", source))?;
        Ok(snapshot)
    }

    /// Runs `sql`. `action` completes the error message "could not ...".
    pub(crate) async fn query(&self, sql: &str, action: &str) -> Result<Vec<Row>, DiscoverError> {
        let rows = self.client.query(sql, &[]).await;
        rows.map_err(|source| self.query_error(action, source))
    }

    fn query_error(&self, action: &str, source: tokio_postgres::Error) -> DiscoverError {
        DiscoverError::Query {
            shard: self.shard.clone(),
            action: action.to_owned(),
            source,
        }
    }

    /// Reads tables, columns, indexes and foreign keys.
    pub(crate) async fn facts(&self) -> Result<Facts, DiscoverError> {
        let mut facts = Facts::default();
        for row in self.query(TABLES, "list the tables").await? {
            let table = Table {
                is_foreign: row.get(2),
                is_extension: row.get(3),
                bytes: row.get(4),
                rows: row.get(5),
                ..Table::default()
            };
            facts.tables.insert(name(&row, 0), table);
        }
        for row in self.query(COLUMNS, "list the columns").await? {
            if let Some(table) = facts.tables.get_mut(&name(&row, 0)) {
                table.columns.push(Column {
                    name: row.get(2),
                    kind: key_type(row.get(3)),
                    not_null: row.get(4),
                });
            }
        }
        for row in self.query(INDEXES, "list the indexes").await? {
            if let Some(table) = facts.tables.get_mut(&name(&row, 0)) {
                table.indexes.push(Index {
                    columns: row.get(2),
                    is_primary: row.get(3),
                    is_unique: row.get(4),
                });
            }
        }
        for row in self.query(REFERENCES, "list the foreign keys").await? {
            let (own, theirs): (Vec<String>, Vec<String>) = (row.get(4), row.get(5));
            facts.references.push(Reference {
                from: name(&row, 0),
                to: name(&row, 2),
                columns: own.into_iter().zip(theirs).collect(),
            });
        }
        Ok(facts)
    }
}

fn name(row: &Row, at: usize) -> TableName {
    TableName {
        schema: row.get(at),
        name: row.get(at + 1),
    }
}

/// Returns the key type of columns with the type `name` of `pg_type`.
fn key_type(name: &str) -> Option<KeyType> {
    let name = if name == "varchar" { "text" } else { name };
    KeyType::ALL
        .into_iter()
        .find(|kind| kind.catalog_name() == name)
}

/// Selects the tables of the user's schemas, without partitions.
const TABLES: &str = "
    select n.nspname::text, c.relname::text, c.relkind = 'f',
           exists (select from pg_catalog.pg_depend d
                   where d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid and d.deptype = 'e'),
           case c.relkind
             when 'p' then coalesce((select sum(pg_catalog.pg_table_size(t.relid))
                                     from pg_catalog.pg_partition_tree(c.oid) t where t.isleaf), 0)::bigint
             when 'f' then 0
             else pg_catalog.pg_table_size(c.oid) end,
           coalesce((select sum(greatest(l.reltuples, 0)) from pg_catalog.pg_class l
                     where l.oid = c.oid or c.relkind = 'p' and l.relkind = 'r'
                       and l.oid in (select t.relid from pg_catalog.pg_partition_tree(c.oid) t where t.isleaf)), 0)::bigint
    from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'f') and not c.relispartition
      and n.nspname not in ('pg_catalog', 'information_schema', 'shardwright') and n.nspname !~ '^pg_(toast|temp)'";

/// The query for the columns of the application's tables.
const COLUMNS: &str = "
    select n.nspname::text, c.relname::text, a.attname::text, t.typname::text, a.attnotnull
    from pg_catalog.pg_attribute a
    join pg_catalog.pg_class c on c.oid = a.attrelid
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join pg_catalog.pg_type t on t.oid = a.atttypid
    where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p', 'f') and not c.relispartition
    order by a.attrelid, a.attnum";

/// Selects valid indexes without predicate and expressions, the primary key first.
const INDEXES: &str = "
    select n.nspname::text, c.relname::text,
           array(select a.attname::text from pg_catalog.unnest(x.indkey::int2[]) with ordinality k (attnum, place)
                 join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
                 where k.place <= x.indnkeyatts order by k.place),
           x.indisprimary, x.indisunique
    from pg_catalog.pg_index x
    join pg_catalog.pg_class c on c.oid = x.indrelid
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where x.indisvalid and x.indpred is null and x.indexprs is null and not c.relispartition
    order by x.indrelid, x.indisprimary desc, x.indexrelid";

/// The query for the foreign keys of the application's tables.
const REFERENCES: &str = "
    select fn.nspname::text, f.relname::text, tn.nspname::text, t.relname::text,
           array(select a.attname::text from pg_catalog.unnest(k.conkey) with ordinality p (attnum, place)
                 join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = p.attnum order by p.place),
           array(select a.attname::text from pg_catalog.unnest(k.confkey) with ordinality p (attnum, place)
                 join pg_catalog.pg_attribute a on a.attrelid = k.confrelid and a.attnum = p.attnum order by p.place)
    from pg_catalog.pg_constraint k
    join pg_catalog.pg_class f on f.oid = coalesce(pg_catalog.pg_partition_root(k.conrelid), k.conrelid)
    join pg_catalog.pg_namespace fn on fn.oid = f.relnamespace
    join pg_catalog.pg_class t on t.oid = coalesce(pg_catalog.pg_partition_root(k.confrelid), k.confrelid)
    join pg_catalog.pg_namespace tn on tn.oid = t.relnamespace
    where k.contype = 'f' and k.conparentid = 0
    order by 1, 2, k.conname";

//! Finds the foreign keys by which a cascade can write moving rows: from a table that does not move, such as a
//! reference table, or from a moving table if the foreign key does not contain the shard key.

use connect::Connected;
use plans::table::{MovingTable, TableName, ThroughTable};

use crate::error::{StepError, WithIntent};

/// The query. For a foreign key to a partitioned table the server keeps an additional constraint for each partition.
/// The query leaves these constraints out, because the referenced row may be in any partition. A foreign key that
/// compares with operators outside of pg_catalog is marked as not queryable, so that the agent's role calls no foreign
/// function.
const FIND: &str = "\
    select t.place, k.conname::text, n.nspname::text, p.relname::text, pg_catalog.array_agg(f.attname::text),
           k.convalidated and pg_catalog.bool_and(o.oprnamespace = 'pg_catalog'::pg_catalog.regnamespace)
             and pg_catalog.has_table_privilege(p.oid, 'select')
             and pg_catalog.has_table_privilege(p.oid, 'update, delete, truncate')
             and not pg_catalog.row_security_active(p.oid),
           pg_catalog.format('%s and not exists (select from %I.%I p where %s)',
             pg_catalog.string_agg(pg_catalog.format('t.%I is not null', f.attname), ' and '), n.nspname, p.relname,
             pg_catalog.string_agg(pg_catalog.format('p.%I operator(pg_catalog.%s) t.%I', r.attname, o.oprname, f.attname), ' and '))
    from pg_catalog.unnest($1::text[]) with ordinality t (name, place)
    join pg_catalog.pg_constraint k on k.conrelid = pg_catalog.to_regclass(t.name)
    join pg_catalog.pg_class p on p.oid = k.confrelid
    join pg_catalog.pg_namespace n on n.oid = p.relnamespace
    cross join lateral rows from (pg_catalog.unnest(k.conkey), pg_catalog.unnest(k.confkey),
                                  pg_catalog.unnest(k.conpfeqop)) c (referring, referred, equals)
    join pg_catalog.pg_attribute f on f.attrelid = k.conrelid and f.attnum = c.referring
    join pg_catalog.pg_attribute r on r.attrelid = k.confrelid and r.attnum = c.referred
    join pg_catalog.pg_operator o on o.oid = c.equals
    where k.contype = 'f' and (k.confdeltype in ('c', 'n') or k.confupdtype in ('c', 'n'))
      and not exists (
        select from pg_catalog.pg_constraint whole
        join pg_catalog.pg_partition_ancestors(k.confrelid) a on a.relid = whole.confrelid
        where whole.conrelid = k.conrelid and whole.contype = 'f' and whole.conkey = k.conkey and a.relid <> k.confrelid)
    group by t.place, k.oid, k.conname, k.convalidated, n.nspname, p.oid, p.relname
    order by 1, 2";

/// A foreign key whose cascade writes moving rows when a row of its parent table is deleted or changed. The parent
/// table does not move, or it moves and the foreign key does not contain the shard key.
#[derive(Debug)]
pub(super) struct CascadingKey {
    /// The index of the table with the moving rows.
    pub(super) table: usize,
    pub(super) name: String,
    pub(super) parent: TableName,
    /// True if the agent can search for dangling rows, and only skipped cascades can leave them: the parent table does
    /// not move, the constraint is validated, its operators are those of pg_catalog, and the agent's role has SELECT
    /// and a write privilege on the parent table, without row security.
    pub(super) can_be_queried: bool,
    /// The SQL condition that the row `t` is dangling: it refers to a row that does not exist.
    pub(super) dangling_sql: String,
}

/// Returns the cascading foreign keys of all moving tables, except those by which a row moves together with its parent
/// row.
pub(super) async fn find(
    client: &Connected,
    tables: &[MovingTable],
    what: &str,
) -> Result<Vec<CascadingKey>, StepError> {
    let name = |table: &MovingTable| (!table.is_reference()).then(|| table.table.sql());
    let names: Vec<Option<String>> = tables.iter().map(name).collect();
    let rows = client.query(FIND, &[&names]).await.at(what)?;
    let mut found = Vec::new();
    for row in rows {
        let table = usize::try_from(row.get::<_, i64>(0) - 1).unwrap_or(usize::MAX);
        let parent = TableName {
            schema: row.get(2),
            name: row.get(3),
        };
        let moves = |other: &MovingTable| {
            !other.is_reference() && (other.table == parent || *other.top() == parent)
        };
        let parent_moves = tables.iter().any(moves);
        let columns: Vec<&str> = row.get(4);
        let is_key = |through: &ThroughTable| {
            let mut own = through.columns.iter().map(|(own, _)| own.as_str());
            through.parent == parent && own.all(|column| columns.contains(&column))
        };
        let moves_together = match tables[table].through() {
            Some(through) => is_key(through),
            // The columns of the shard key.
            None => {
                let mut key = tables[table].key_names().into_iter();
                key.all(|column| columns.contains(&column))
            }
        };
        // If the foreign key contains the shard key, a row moves together with its parent row. The guard then refuses
        // the cascade on the shard that does not own the keys, and no row needs to be skipped.
        if parent_moves && moves_together {
            continue;
        }
        found.push(CascadingKey {
            table,
            name: row.get(1),
            parent,
            can_be_queried: !parent_moves && row.get(5),
            dangling_sql: row.get(6),
        });
    }
    Ok(found)
}

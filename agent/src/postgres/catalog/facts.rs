//! The facts in the definitions of the moving tables, which are compared on both shards, and their fingerprint.

use std::collections::{BTreeMap, BTreeSet};

use connect::Connected;
use plans::inspection::check::SchemaFact;
use plans::table::{MovingTable, TableKey, TableName};

use super::quoted;
use crate::error::{StepError, WithIntent};

/// Query for the facts in the definitions of the tables `$1` (quoted names) that a move relies on. It returns the
/// table, the kind and name of the fact, and its definition. The facts omit the retired partitions `$2`, and if `$3`,
/// partitioned tables without any other leaf ([`RetiredPartitions`]).
///
/// For leaf partitions, it also returns the facts of all partitioned tables in the same partition trees. These facts
/// list all partitions, so a new partition is a difference. Four kinds of facts need an exception, because they can
/// differ between equal tables:
/// - A foreign key counts once. Its copies on partitions have names that depend on the order in which the partitions
///   were created.
/// - An index that CREATE INDEX CONCURRENTLY builds counts only once it is valid.
/// - NOT NULL is a fact of the column, because only PostgreSQL 18 has a named constraint for it.
/// - An identity is a fact of the root table, because partitions have it only since PostgreSQL 17.
///
/// The query does not use `pg_partition_tree`, which locks all partitions: it would then wait for the lock on their
/// parent that CREATE TABLE .. PARTITION OF has, while this statement waits for one of the partitions.
const FACTS: &str = r#"
    with recursive given as (select pg_catalog.to_regclass(name)::oid as oid, name from pg_catalog.unnest($1::text[]) name),
    part (oid, is_leaf) as (
      select pg_catalog.pg_partition_root(oid)::oid, false from given where oid is not null
      union
      select i.inhrelid, c.relkind <> 'p' from part
      join pg_catalog.pg_inherits i on i.inhparent = part.oid and not i.inhdetachpending
      join pg_catalog.pg_class c on c.oid = i.inhrelid
      where not part.is_leaf),
    retired (oid) as (select pg_catalog.to_regclass(name)::oid from pg_catalog.unnest($2::text[]) name),
    kept (oid) as (
      select a.relid::oid from part, pg_catalog.pg_partition_ancestors(part.oid) a (relid)
      where $3 and part.is_leaf and not exists (select from retired where retired.oid = part.oid)),
    omitted (oid) as (
      select oid from retired
      union all
      select oid from part where $3 and not is_leaf and not exists (select from kept where kept.oid = part.oid)),
    tree (oid) as (
      select oid from part where not is_leaf and not exists (select from omitted where omitted.oid = part.oid)),
    t as (
      select oid, name from given
      union
      select c.oid, pg_catalog.concat('"', pg_catalog.replace(n.nspname::text, '"', '""'), '"."',
                                             pg_catalog.replace(c.relname::text, '"', '""'), '"')
      from tree join pg_catalog.pg_class c on c.oid = tree.oid
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace)
    select name, 'table' as what,
           case when c.oid is null then 'missing' else pg_catalog.format('kind %s, persistence %s, replica identity %s', c.relkind, c.relpersistence, c.relreplident) end as definition
    from t left join pg_catalog.pg_class c on c.oid = t.oid
    union all
    select name, 'column ' || a.attname, pg_catalog.concat_ws(' ',
             'place ' || (pg_catalog.row_number() over (partition by a.attrelid order by a.attnum))::text,
             pg_catalog.format_type(a.atttypid, a.atttypmod), case when a.attnotnull then 'not null' end,
             'identity ' || case when not tc.relispartition then nullif(a.attidentity::text, '') end, 'generated ' || nullif(a.attgenerated::text, ''),
             'default ' || pg_catalog.pg_get_expr(d.adbin, d.adrelid), 'collate ' || co.collname)
    from t join pg_catalog.pg_class tc on tc.oid = t.oid
    join pg_catalog.pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
    left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    left join pg_catalog.pg_collation co on co.oid = a.attcollation
    union all
    select name, 'index ' || c.relname, pg_catalog.pg_get_indexdef(x.indexrelid) || case when x.indisvalid then '' else ' invalid' end
             || case when x.indisreplident then ' replica identity' else '' end
    from t join pg_catalog.pg_index x on x.indrelid = t.oid join pg_catalog.pg_class c on c.oid = x.indexrelid
    where x.indisvalid or c.relkind = 'I'
    union all
    select name, 'constraint ' || k.conname, pg_catalog.pg_get_constraintdef(k.oid)
    from t join pg_catalog.pg_constraint k on k.conrelid = t.oid
    where k.contype <> 'n' and (k.contype <> 'f' or k.conparentid = 0)
    union all
    select name, 'partition key', pg_catalog.pg_get_partkeydef(c.oid)
    from t join pg_catalog.pg_class c on c.oid = t.oid and c.relkind = 'p'
    union all
    select name, 'partition of', pg_catalog.concat_ws(' ', i.inhparent::pg_catalog.regclass, pg_catalog.pg_get_expr(c.relpartbound, c.oid))
    from t join pg_catalog.pg_class c on c.oid = t.oid and c.relispartition
    join pg_catalog.pg_inherits i on i.inhrelid = t.oid
    union all
    select name, 'partition ' || c.relname, coalesce(pg_catalog.pg_get_expr(c.relpartbound, c.oid), 'being detached')
    from t join pg_catalog.pg_inherits i on i.inhparent = t.oid
    join pg_catalog.pg_class c on c.oid = i.inhrelid and c.relispartition
    where not exists (select from omitted where omitted.oid = c.oid)
    union all
    select name, 'trigger ' || g.tgname, pg_catalog.pg_get_triggerdef(g.oid) || ' enabled ' || g.tgenabled::text
    from t join pg_catalog.pg_trigger g on g.tgrelid = t.oid
    where not g.tgisinternal and g.tgname !~ '^shardwright_guard_'
    union all
    select name, 'row security', case when c.relforcerowsecurity then 'forced' else 'enabled' end
    from t join pg_catalog.pg_class c on c.oid = t.oid and (c.relrowsecurity or c.relforcerowsecurity)
    union all
    select name, 'policy ' || p.polname, pg_catalog.concat_ws(' ', case when p.polpermissive then 'permissive' else 'restrictive' end,
             'for ' || p.polcmd::text,
             'to ' || (select pg_catalog.string_agg(case role when 0 then 'public' else pg_catalog.pg_get_userbyid(role)::text end, ', ' order by pg_catalog.pg_get_userbyid(role))
                       from pg_catalog.unnest(p.polroles) role),
             'using ' || pg_catalog.pg_get_expr(p.polqual, p.polrelid), 'with check ' || pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid))
    from t join pg_catalog.pg_policy p on p.polrelid = t.oid
    union all
    select name, 'rule ' || r.rulename, pg_catalog.pg_get_ruledef(r.oid) || ' enabled ' || r.ev_enabled::text
    from t join pg_catalog.pg_rewrite r on r.ev_class = t.oid"#;

/// The retired partitions of the move, for the facts of one shard.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RetiredPartitions<'a> {
    /// The owner of the keys has none of them. One that it has again is a fact, because its rows are not captured.
    OfOwner(&'a [TableName]),
    /// The other shard may still have them, so its facts omit them.
    OfFollower(&'a [TableName]),
}

impl RetiredPartitions<'_> {
    /// Returns the names that the facts omit, and whether they omit partitioned tables without a leaf: their leaves may
    /// all be retired.
    fn omitted(self) -> (Vec<String>, bool) {
        match self {
            Self::OfOwner(retired) => (Vec::new(), !retired.is_empty()),
            Self::OfFollower(retired) => (quoted(retired), !retired.is_empty()),
        }
    }
}

/// Returns a hash of all facts about the moving tables that a move relies on, on the owner of the keys. It excludes
/// reference tables, which only some moves copy. `tables` may contain retired partitions.
pub(crate) async fn fingerprint(
    client: &Connected,
    tables: &[MovingTable],
) -> Result<String, StepError> {
    hash_of_facts(client, tables, |retired| {
        RetiredPartitions::OfOwner(retired)
    })
    .await
}

/// Returns the hash of [`fingerprint`] on the other shard, which may still have retired partitions.
pub(crate) async fn fingerprint_of_follower(
    client: &Connected,
    tables: &[MovingTable],
) -> Result<String, StepError> {
    hash_of_facts(client, tables, |retired| {
        RetiredPartitions::OfFollower(retired)
    })
    .await
}

async fn hash_of_facts(
    client: &Connected,
    tables: &[MovingTable],
    side: impl Fn(&[TableName]) -> RetiredPartitions<'_>,
) -> Result<String, StepError> {
    let shard = client.name();
    let sharded = tables
        .iter()
        .filter(|table| table.key != TableKey::Reference && !table.retired);
    let names = quoted(sharded.map(|table| &table.table));
    let retired = tables.iter().filter(|table| table.retired);
    let retired: Vec<TableName> = retired.map(|table| table.table.clone()).collect();
    let (omitted, omits_empty) = side(&retired).omitted();
    let rows = client
        .query_prepared(
            &format!(
                "select pg_catalog.md5(coalesce(pg_catalog.string_agg(fact, E'\\n' order by fact collate \"C\"), ''))
                 from (select pg_catalog.concat_ws('|', name, what, definition) as fact from ({FACTS}) facts) lines"
            ),
            &[&names, &omitted, &omits_empty],
        )
        .await
        .at(format_args!("shard {shard}: reading the schema's fingerprint"))?;
    Ok(rows[0].get(0))
}

/// Reads the facts of the tables' definitions. A missing table has no facts. For leaf partitions the result also
/// contains the partitioned tables that they belong to.
pub(crate) async fn facts(
    client: &Connected,
    tables: &[TableName],
    retired: RetiredPartitions<'_>,
) -> Result<BTreeMap<TableName, Vec<SchemaFact>>, StepError> {
    let shard = client.name();
    let (omitted, omits_empty) = retired.omitted();
    let rows = client
        .query(
            &format!(
                "select f.name, f.what, f.definition, n.nspname::text, c.relname::text
                 from ({FACTS}) f
                 left join pg_catalog.pg_class c on c.oid = pg_catalog.to_regclass(f.name)
                 left join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                 order by 1, 2, 3"
            ),
            &[&quoted(tables), &omitted, &omits_empty],
        )
        .await
        .at(format_args!(
            "shard {shard}: reading the tables' definitions"
        ))?;
    let mut facts: BTreeMap<TableName, Vec<SchemaFact>> = BTreeMap::new();
    let partitioned = rows.iter().filter_map(|row| {
        Some(TableName {
            schema: row.get::<_, Option<String>>(3)?,
            name: row.get(4),
        })
    });
    let all: BTreeSet<TableName> = tables.iter().cloned().chain(partitioned).collect();
    for table in all {
        let name = table.sql();
        let rows_of_table = rows.iter().filter(|row| row.get::<_, &str>(0) == name);
        let table_facts: Vec<SchemaFact> = rows_of_table
            .map(|row| SchemaFact {
                what: row.get(1),
                definition: row.get(2),
            })
            .collect();
        let is_missing = table_facts.iter().any(|fact| fact.definition == "missing");
        facts.insert(table, if is_missing { Vec::new() } else { table_facts });
    }
    Ok(facts)
}

//! Reads the versions (`xmin`) of the catalog rows that define the moving tables. This takes a tenth of the time of
//! reading the definitions.

use connect::Connected;
use plans::table::MovingTable;

use crate::error::{StepError, WithIntent};

/// Query for a hash of the `xmin` of all catalog rows of the tables `$1` and of the partitioned tables above them.
///
/// It uses a scalar subquery for each catalog, so that every plan finds the rows by an index. It does not use
/// `pg_partition_tree`, which locks all partitions.
const VERSIONS: &str = "
    with recursive given (oid, name) as (
      select pg_catalog.to_regclass(name)::oid, name from pg_catalog.unnest($1::text[]) name),
    tree (oid) as (
      select pg_catalog.pg_partition_root(oid)::oid from given where oid is not null
      union
      select i.inhrelid from tree join pg_catalog.pg_inherits i on i.inhparent = tree.oid and not i.inhdetachpending
      join pg_catalog.pg_class c on c.oid = i.inhrelid and c.relkind = 'p'),
    t (oid, name) as (
      select oid, name from given
      union
      select oid, '' from tree where oid is not null)
    select coalesce(pg_catalog.md5(pg_catalog.string_agg(pg_catalog.concat_ws('|', t.name, t.oid,
      (select c.xmin from pg_catalog.pg_class c where c.oid = t.oid),
      (select pg_catalog.string_agg(r.xmin || ' ' || y.xmin, ',' order by r.attnum)
       from pg_catalog.pg_attribute r
       join lateral (select y.xmin from pg_catalog.pg_type y where y.oid = r.atttypid limit 1) y on true
       where r.attrelid = t.oid and r.attnum > 0),
      (select pg_catalog.string_agg(r.xmin::text, ',' order by r.oid) from pg_catalog.pg_attrdef r where r.adrelid = t.oid),
      (select pg_catalog.string_agg(r.xmin || ' ' || c.xmin, ',' order by r.indexrelid)
       from pg_catalog.pg_index r join pg_catalog.pg_class c on c.oid = r.indexrelid where r.indrelid = t.oid),
      (select pg_catalog.string_agg(r.xmin::text, ',' order by r.oid) from pg_catalog.pg_constraint r where r.conrelid = t.oid),
      (select pg_catalog.string_agg(r.xmin::text, ',' order by r.inhrelid) from pg_catalog.pg_inherits r where r.inhparent = t.oid),
      (select pg_catalog.string_agg(r.xmin::text, ',' order by r.oid) from pg_catalog.pg_trigger r where r.tgrelid = t.oid),
      (select pg_catalog.string_agg(r.xmin::text, ',' order by r.oid) from pg_catalog.pg_policy r where r.polrelid = t.oid),
      (select pg_catalog.string_agg(r.xmin::text, ',' order by r.oid) from pg_catalog.pg_rewrite r where r.ev_class = t.oid)
    ), ';' order by t.oid, t.name)), '')
    from t";

/// Returns a text that changes if the definitions of tables, their triggers or their file nodes may have changed. Two
/// equal texts mean that no catalog row of the tables was written between the two calls.
///
/// The text includes the row of each column's type, so it changes if a type is renamed. It does not include functions
/// and roles: if these are renamed, the text of a definition changes, but no catalog row of the table.
pub(crate) async fn versions(
    client: &Connected,
    tables: &[MovingTable],
) -> Result<String, StepError> {
    let shard = client.name();
    let names: Vec<String> = tables.iter().map(|table| table.table.sql()).collect();
    let rows = client
        .query_prepared(VERSIONS, &[&names])
        .await
        .at(format_args!(
            "shard {shard}: reading versions of definitions"
        ))?;
    Ok(rows[0].get(0))
}

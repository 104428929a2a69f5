//! New tables in moving schemas.

use std::collections::BTreeSet;

use connect::Connected;
use plans::key::Key;
use plans::key_set::KeySet;
use plans::table::{TableKey, TableName};

use super::{NewTable, own_foreign_keys, with_parts};
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::catalog::{self, ForeignKey};
use crate::shard::partitions;

/// The tables of schemas that are not partitions, without partitioned tables that can have no rows. The dependencies have an index by schema, and the tables have none.
const TABLES: &str = "
    select n.nspname::text, c.relname::text
    from pg_catalog.pg_namespace n
    join pg_catalog.pg_depend d on d.refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass and d.refobjid = n.oid
      and d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass
    join pg_catalog.pg_class c on c.oid = d.objid
    where c.relkind in ('r', 'p', 'f') and not c.relispartition and c.relpersistence <> 't'
      and (c.relkind <> 'p' or exists (select from pg_catalog.pg_inherits i where i.inhparent = c.oid))
      and n.nspname = any ($1::pg_catalog.text[])
    order by 1, 2";

/// Returns the tables of moving schemas that a migration can adopt: their foreign keys stay in the move, or refer to a
/// reference table without a cascade.
pub(super) async fn find(
    context: &StepContext,
    owner: &Connected,
) -> Result<Vec<NewTable>, StepError> {
    let mut new: BTreeSet<TableName> = unplanned_tables(context, owner)
        .await?
        .into_iter()
        .collect();
    // The plan keeps the name of a retired partition, so a detached one cannot be adopted.
    let planned_tables = context.planned_tables.iter();
    for retired in planned_tables.filter(|table| table.retired) {
        new.remove(&retired.table);
    }
    if new.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&TableName> = new.iter().collect();
    let parts = partitions::read(owner, &names).await?;
    let mut foreign_keys = catalog::foreign_keys_of(owner, &names).await?;
    foreign_keys.extend(own_foreign_keys(owner, &parts).await?);
    let planned = planned_names(context);
    let reference = &context.dispatch.reference_tables;
    let is_broken = |new: &BTreeSet<TableName>, key: &ForeignKey| {
        let to = &key.to;
        let leaves = !new.contains(to) && !planned.contains(to);
        new.contains(&key.from) && leaves && (key.cascades || !reference.contains(to))
    };
    while let Some(broken) = foreign_keys.iter().find(|key| is_broken(&new, key)) {
        new.remove(&broken.from);
    }
    let keyed = new.into_iter().map(|table| {
        let key = TableKey::Schema(table.schema.clone());
        (table, key)
    });
    with_parts(owner, keyed.collect(), parts).await
}

/// Returns the tables of moving schemas that the plan lacks.
pub(crate) async fn unplanned_tables(
    context: &StepContext,
    owner: &Connected,
) -> Result<Vec<TableName>, StepError> {
    if !context.moves_schemas() {
        return Ok(Vec::new());
    }
    let what = format!(
        "shard {}: reading the tables of moving schemas",
        owner.name()
    );
    let moving = moving_schemas(context, owner).await.at(&what)?;
    let rows = owner.query_prepared(TABLES, &[&moving]).await.at(&what)?;
    let name = |row: &tokio_postgres::Row| TableName {
        schema: row.get(0),
        name: row.get(1),
    };
    let dispatch = &context.dispatch;
    let planned = planned_names(context);
    let is_known = |table: &TableName| {
        planned.contains(table)
            || dispatch.reference_tables.contains(table)
            || dispatch.ignored_tables.contains(table)
    };
    let mut found: Vec<TableName> = rows.iter().map(name).collect();
    found.retain(|table| !is_known(table));
    Ok(found)
}

/// Returns the names of the moving schemas.
async fn moving_schemas(
    context: &StepContext,
    owner: &Connected,
) -> Result<Vec<String>, tokio_postgres::Error> {
    let text = |key: &Key| match key {
        Key::Text(name) => Some(name.clone()),
        Key::Int(_)
        | Key::Uuid(_)
        | Key::Bytes(_)
        | Key::Date(_)
        | Key::Timestamp(_)
        | Key::Row(_) => None,
    };
    if let KeySet::List(keys) = &context.dispatch.keys {
        return Ok(keys.iter().filter_map(text).collect());
    }
    let read = "select nspname::text from pg_catalog.pg_namespace";
    let rows = owner.query(read, &[]).await?;
    let mut schemas: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    schemas.retain(|name| context.dispatch.keys.contains(&Key::Text(name.clone())));
    Ok(schemas)
}

/// Returns the names of the tables of the plan, and of their topmost tables.
fn planned_names(context: &StepContext) -> BTreeSet<&TableName> {
    // A retired partition does not move any more. If it was detached, it is a new table of the schema.
    let planned = context.dispatch.tables.iter();
    planned
        .flat_map(|table| [&table.table, table.top()])
        .collect()
}

//! Selects from the schema of a database what creates certain partitions and tables of it on another shard.
//!
//! Order: create the partitions with their indexes and constraints while they are separate and empty, then attach them.
//! So ATTACH PARTITION adopts indexes and constraints with the names that they have on the other shard; it would give
//! others to those that it creates itself.

use std::collections::{BTreeSet, HashSet};

use connect::Connected;
use plans::table::TableName;

use crate::error::{StepError, WithIntent};
use crate::postgres::archive::ObjectId;
use crate::postgres::pg_dump::{DumpedSchema, RestoreSection, SchemaEntry};
use crate::schema::foreign_keys::{KEY_LABEL, VALIDATION_LABEL};
use crate::schema::kind::SchemaObjectKind;

/// The objects of tables, as the catalog identifies them: the tables, and their parts that have entries of their own.
const OBJECTS: &str = "
    with t as (select pg_catalog.to_regclass(name)::oid as oid from pg_catalog.unnest($1::text[]) name)
    select c.tableoid, c.oid from pg_catalog.pg_class c join t using (oid)
    union all select x.tableoid, x.oid from pg_catalog.pg_class x
      join pg_catalog.pg_index i on i.indexrelid = x.oid join t on t.oid = i.indrelid
    union all select k.tableoid, k.oid from pg_catalog.pg_constraint k join t on t.oid = k.conrelid
    union all select d.tableoid, d.oid from pg_catalog.pg_attrdef d join t on t.oid = d.adrelid
    union all select g.tableoid, g.oid from pg_catalog.pg_trigger g join t on t.oid = g.tgrelid
    union all select p.tableoid, p.oid from pg_catalog.pg_policy p join t on t.oid = p.polrelid
    union all select r.tableoid, r.oid from pg_catalog.pg_rewrite r join t on t.oid = r.ev_class
    union all select e.tableoid, e.oid from pg_catalog.pg_statistic_ext e join t on t.oid = e.stxrelid
    union all select s.tableoid, s.oid from pg_catalog.pg_class s
      join pg_catalog.pg_depend d on d.classid = s.tableoid and d.objid = s.oid and d.deptype in ('a', 'i')
      join t on t.oid = d.refobjid where s.relkind = 'S'";

/// The indexes of tables, and whether each is part of an index of another table in the list.
const INDEXES: &str = "
    with t as (select pg_catalog.to_regclass(name)::oid as oid from pg_catalog.unnest($1::text[]) name)
    select n.nspname::text, c.relname::text, exists (
             select from pg_catalog.pg_inherits h join pg_catalog.pg_index p on p.indexrelid = h.inhparent
             join t above on above.oid = p.indrelid where h.inhrelid = c.oid)
    from t join pg_catalog.pg_index i on i.indrelid = t.oid
    join pg_catalog.pg_class c on c.oid = i.indexrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace";

/// The entries that create partitions.
#[derive(Debug, Default)]
pub(crate) struct PartitionEntries {
    /// The entries to execute now, in this order.
    pub(crate) now: Vec<SchemaEntry>,
    /// The entries that make indexes of the partitions parts of those of existing tables. ATTACH PARTITION has their
    /// effect if these tables have their indexes already.
    pub(crate) later: Vec<SchemaEntry>,
}

impl PartitionEntries {
    /// Executes foreign keys later. The tables to which they refer have no indexes yet.
    pub(crate) fn put_off_foreign_keys(&mut self) {
        let is_foreign_key = |entry: &mut SchemaEntry| {
            entry.label.starts_with(KEY_LABEL) || entry.label.starts_with(VALIDATION_LABEL)
        };
        self.later.extend(self.now.extract_if(.., is_foreign_key));
    }
}

/// Selects the entries of `partitions`. `roots` are those of them that are attached to a table which exists already.
///
/// # Errors
/// Fails if the catalog of `client`, from which the schema is, cannot be read.
pub(crate) async fn select(
    client: &Connected,
    schema: DumpedSchema,
    partitions: &[&TableName],
    roots: &[&TableName],
) -> Result<PartitionEntries, StepError> {
    let what = format!("shard {}: reading new partitions", client.name());
    let names: Vec<String> = partitions.iter().map(|table| table.sql()).collect();
    let rows = client.query(OBJECTS, &[&names]).await.at(&what)?;
    let id = |row: &tokio_postgres::Row| ObjectId {
        class: row.get(0),
        oid: row.get(1),
    };
    let objects: BTreeSet<ObjectId> = rows.iter().map(id).collect();
    let attached = labels(SchemaObjectKind::Partition, partitions);
    let attached_last = labels(SchemaObjectKind::Partition, roots);
    // It has no row of its own in a catalog.
    let row_security = labels(SchemaObjectKind::RowSecurity, partitions);
    let rows = client.query(INDEXES, &[&names]).await.at(&what)?;
    let (mut inner_indexes, mut outer_indexes) = (HashSet::new(), HashSet::new());
    for row in &rows {
        let (schema, index): (String, String) = (row.get(0), row.get(1));
        let label = format!(
            "{} {schema} {index}",
            SchemaObjectKind::IndexPartition.label()
        );
        match row.get(2) {
            true => inner_indexes.insert(label),
            false => outer_indexes.insert(label),
        };
    }
    let (mut first, mut built, mut joined, mut last, mut later) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for entry in schema.entries {
        let label = &entry.label;
        if attached_last.contains(label) {
            last.push(entry);
        } else if outer_indexes.contains(label) {
            later.push(entry);
        } else if inner_indexes.contains(label) {
            joined.push(entry);
        } else if attached.contains(label)
            || row_security.contains(label)
            || (entry.object.or(entry.part_of)).is_some_and(|object| objects.contains(&object))
        {
            match entry.section {
                RestoreSection::Pre => first.push(entry),
                RestoreSection::Key | RestoreSection::Post => built.push(entry),
            }
        }
    }
    let now = [first, built, joined, last].into_iter().flatten().collect();
    Ok(PartitionEntries { now, later })
}

fn labels(kind: SchemaObjectKind, tables: &[&TableName]) -> HashSet<String> {
    let label = |table: &&TableName| format!("{} {} {}", kind.label(), table.schema, table.name);
    tables.iter().map(label).collect()
}

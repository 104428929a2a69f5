//! The objects that a migration created on the target, identified by their OIDs in the target's catalog. The
//! transactions that create them record them; the agent drops them by the catalog.
//!
//! This module parses no statement and no name. The server writes every name (`pg_identify_object`, `format`). An
//! object that another session has dropped, renamed or created again is no longer an object of this migration.
//!
//! The agent never drops an object with `CASCADE`. If other objects depend on an object, its drop fails.

use std::collections::{BTreeMap, BTreeSet};

use connect::Connected;
use plans::id::MigrationId;
use plans::sql::quote_literal;
use tokio_postgres::Row;

use crate::postgres::archive::ObjectId;

const RECORD: &str = include_str!("created/record.sql");
const EXISTING: &str = include_str!("created/existing.sql");
const UNSHARED: &str = include_str!("created/unshared.sql");
const TABLES: &str = include_str!("created/tables.sql");
const DROPS: &str = include_str!("created/drops.sql");
const SHARE: &str = include_str!("created/share.sql");

/// A table that the migration created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CreatedTable {
    /// The name in SQL.
    pub(crate) name: String,
    /// The index, in the list of names, of the table's name, or of a leaf below this partitioned table.
    pub(crate) name_index: Option<usize>,
}

/// Records the objects that the session's transaction has created so far.
pub(crate) async fn record(
    client: &Connected,
    migration: &MigrationId,
) -> Result<(), tokio_postgres::Error> {
    client.execute(RECORD, &[&migration.0]).await.map(|_| ())
}

/// Returns whether an object is recorded that is not shared. If an older version prepared the migration, it recorded a script instead,
/// which this version does not run.
pub(crate) async fn is_recorded(
    client: &Connected,
    migration: &MigrationId,
) -> Result<bool, tokio_postgres::Error> {
    let table_exists = "select pg_catalog.to_regclass('shardwright.created') is not null";
    if !client.query_one(table_exists, &[]).await?.get::<_, bool>(0) {
        return Ok(false);
    }
    let recorded = "select exists (
      select from shardwright.created c where c.migration = $1 and not exists (
        select from shardwright.shared_object s where s.migration = $1 and s.class = c.class and s.oid = c.oid))";
    let row = client.query_one(recorded, &[&migration.0]).await?;
    Ok(row.get(0))
}

/// The objects of another migration that no other migration can use.
pub(crate) struct UnsharedObjects<'a> {
    pub(crate) migration: &'a str,
    /// Tables, in SQL.
    pub(crate) tables: Vec<String>,
    /// Schemas with everything in them.
    pub(crate) schemas: Vec<&'a str>,
}

/// Returns the statement that records the objects of another migration as shared. From then on no function here returns
/// them except [`names`]: the objects remain when that migration is aborted.
pub(crate) fn share_sql(unshared: &UnsharedObjects<'_>) -> String {
    let list = |names: &mut dyn Iterator<Item = &str>| {
        let names: Vec<String> = names.map(quote_literal).collect();
        format!("array[{}]::pg_catalog.text[]", names.join(", "))
    };
    SHARE
        .replace("{migration}", &quote_literal(unshared.migration))
        .replace(
            "{tables}",
            &list(&mut unshared.tables.iter().map(String::as_str)),
        )
        .replace("{schemas}", &list(&mut unshared.schemas.iter().copied()))
}

fn unshared() -> String {
    UNSHARED.replace("{existing}", EXISTING)
}

/// Returns the existing tables that the migration created, each with its index in `names`.
pub(crate) async fn tables(
    client: &Connected,
    migration: &MigrationId,
    names: &[String],
) -> Result<Vec<CreatedTable>, tokio_postgres::Error> {
    let sql = TABLES.replace("{unshared}", &unshared());
    let rows = client.query(&sql, &[&migration.0, &names]).await?;
    let index = |row: &Row| usize::try_from(row.get::<_, Option<i64>>(1)?).ok();
    let table = |row: &Row| CreatedTable {
        name: row.get(0),
        name_index: index(row),
    };
    Ok(rows.iter().map(table).collect())
}

/// Returns the names of the existing objects that the migration created, including those that other migrations use, as
/// the server identifies them.
pub(crate) async fn names(
    client: &Connected,
    migration: &MigrationId,
) -> Result<BTreeSet<String>, tokio_postgres::Error> {
    let sql = format!("select e.identity from ({EXISTING}) e");
    let rows = client.query(&sql, &[&migration.0]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Returns whether the migration created the existing table with this name in SQL.
pub(crate) async fn has_created(
    client: &Connected,
    migration: &MigrationId,
    table: &str,
) -> Result<bool, tokio_postgres::Error> {
    let sql = format!(
        "select exists (select from ({}) s where s.type = 'table' and s.oid = pg_catalog.to_regclass($2))",
        unshared()
    );
    let row = client.query_one(&sql, &[&migration.0, &table]).await?;
    Ok(row.get(0))
}

/// Returns the statements that drop the existing objects of the migration, dependents first; `None` if objects depend
/// on each other in a cycle that cannot be resolved.
pub(crate) async fn drop_statements(
    client: &Connected,
    migration: &MigrationId,
) -> Result<Option<Vec<String>>, tokio_postgres::Error> {
    let sql = DROPS.replace("{unshared}", &unshared());
    let rows = client.query(&sql, &[&migration.0]).await?;
    let mut found = ObjectsToDrop::default();
    for row in &rows {
        let (object, needed) = (object_id(row, 1), object_id(row, 3));
        match row.get(0) {
            "part" => found.parts.push(row.get(5)),
            "object" => drop(found.objects.insert(object, row.get(5))),
            _ => found.edges.push((object, needed)),
        }
    }
    Ok(found.in_drop_order())
}

fn object_id(row: &Row, at: usize) -> ObjectId {
    ObjectId {
        class: row.get(at),
        oid: row.get(at + 1),
    }
}

/// The objects to drop, each with the statement that drops it.
#[derive(Debug, Default)]
struct ObjectsToDrop {
    /// Statements that drop parts of objects, such as constraints. They come first.
    parts: Vec<String>,
    objects: BTreeMap<ObjectId, String>,
    /// An object, and another one that it needs.
    edges: Vec<(ObjectId, ObjectId)>,
}

impl ObjectsToDrop {
    /// Returns the statements in order: each object before those that it needs.
    fn in_drop_order(self) -> Option<Vec<String>> {
        let mut dependents: BTreeMap<ObjectId, usize> = BTreeMap::new();
        let mut needs: BTreeMap<ObjectId, Vec<ObjectId>> = BTreeMap::new();
        let are_dropped = |(object, needed): &(ObjectId, ObjectId)| {
            self.objects.contains_key(object) && self.objects.contains_key(needed)
        };
        for (object, needed) in self.edges.iter().copied().filter(are_dropped) {
            *dependents.entry(needed).or_default() += 1;
            needs.entry(object).or_default().push(needed);
        }
        let has_no_dependent = |object: &&ObjectId| !dependents.contains_key(*object);
        let mut ready: BTreeSet<ObjectId> = self
            .objects
            .keys()
            .filter(has_no_dependent)
            .copied()
            .collect();
        let mut statements = self.parts;
        let mut ordered = 0;
        while let Some(object) = ready.pop_last() {
            statements.extend(self.objects.get(&object).cloned());
            ordered += 1;
            for needed in needs.get(&object).into_iter().flatten() {
                if let Some(count) = dependents.get_mut(needed) {
                    *count -= 1;
                    if *count == 0 {
                        ready.insert(*needed);
                    }
                }
            }
        }
        (ordered == self.objects.len()).then_some(statements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(edges: &[(u32, u32)]) -> ObjectsToDrop {
        let object = |oid| ObjectId { class: 1, oid };
        let named = (1..=3).map(|oid| (object(oid), format!("drop {oid}")));
        ObjectsToDrop {
            parts: vec!["drop part".to_owned()],
            objects: named.collect(),
            edges: edges
                .iter()
                .map(|(a, b)| (object(*a), object(*b)))
                .collect(),
        }
    }

    #[test]
    fn parts_come_first_and_each_object_comes_before_those_that_it_needs() {
        let in_drop_order = found(&[(1, 2), (3, 1), (1, 9)])
            .in_drop_order()
            .expect("an order");
        assert_eq!(in_drop_order, ["drop part", "drop 3", "drop 1", "drop 2"]);
    }

    #[test]
    fn objects_that_need_each_other_have_no_order() {
        assert_eq!(found(&[(1, 2), (2, 1)]).in_drop_order(), None);
    }
}

//! The part of a schema that a move of whole tables creates on its target: the moving tables with everything that belongs
//! to them, and shared objects that the target lacks, such as types, functions and reference tables.
//!
//! What is left out: the other tables, schemas that have only such tables, and views, functions and sequences that need
//! one of them. A part of a moving table that needs something left out makes the move impossible.
//! The catalog of the source decides this, never the text of a statement.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use connect::Connected;
use plans::failure::StepCode;
use plans::id::MigrationId;
use plans::table::{MovingTable, TableName};
use tokio_postgres::Row;

use crate::error::{StepError, WithIntent};
use crate::postgres::archive::ObjectId;
use crate::postgres::pg_dump::{DumpedSchema, SchemaEntry};
use crate::shard::created;

const OBJECTS: &str = include_str!("scope/objects.sql");
const LEFT_SCHEMAS: &str = include_str!("scope/left_schemas.sql");
const EXISTING: &str = include_str!("scope/existing.sql");

/// The type and the name of objects, as the server identifies them.
const IDENTITIES: &str = "
    select o.type, o.identity
    from rows from (pg_catalog.unnest($1::oid[]), pg_catalog.unnest($2::oid[])) with ordinality given (class, oid, place)
    cross join lateral pg_catalog.pg_identify_object(given.class, given.oid, 0) o
    order by given.place";

/// The catalogs whose objects belong to a schema, or to an object that does.
const SCOPED_CATALOGS: &str = "
    select c.oid from pg_catalog.pg_class c
    where c.oid = any ('{pg_class,pg_type,pg_proc,pg_constraint,pg_attrdef,pg_trigger,pg_policy,pg_rewrite,pg_statistic_ext,
                         pg_collation,pg_conversion,pg_operator,pg_opfamily,pg_opclass,pg_ts_parser,pg_ts_template,pg_ts_dict,
                         pg_ts_config,pg_namespace}'::pg_catalog.regclass[])";

/// Maximum number of objects in one failure message.
const MAX_NAMED: usize = 20;

/// The names of the objects that a move creates, as the server identifies them.
pub(crate) type CreatedNames = BTreeSet<String>;

/// The tables of a move of whole tables, which determine its part of the schema.
#[derive(Debug, Clone)]
pub(crate) struct SchemaScope {
    /// The moving tables and the reference tables, in SQL.
    kept: Vec<String>,
    /// The tables that the map ignores, in SQL.
    ignored: Vec<String>,
}

impl SchemaScope {
    /// Returns the scope of a move; `None` if the tables have a key column: then the target gets the whole schema.
    pub(crate) fn of(
        tables: &[MovingTable],
        reference: &BTreeSet<TableName>,
        ignored: &BTreeSet<TableName>,
    ) -> Option<Self> {
        let has_whole = tables.iter().any(|table| table.whole_key().is_some());
        let tops: BTreeSet<&TableName> = tables
            .iter()
            .map(MovingTable::top)
            .chain(reference)
            .collect();
        has_whole.then(|| Self {
            kept: tops.into_iter().map(TableName::sql).collect(),
            ignored: ignored.iter().map(TableName::sql).collect(),
        })
    }

    /// Checks that the moving tables need nothing that is left out.
    ///
    /// # Errors
    /// `schema.apart` with the parts of tables that do.
    pub(crate) async fn check(&self, source: &Connected) -> Result<(), StepError> {
        ScopedObjects::read(source, self).await.map(drop)
    }

    /// Returns the schemas of the source that are left out.
    pub(crate) async fn left_schemas(&self, source: &Connected) -> Result<Vec<String>, StepError> {
        let rows = source
            .query(LEFT_SCHEMAS, &[&self.kept, &self.ignored])
            .await;
        let rows = rows.at(what(source))?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Removes the entries that the move does not create: those that are left out, and those whose object the target has
    /// already, unless `migration` has created it. Returns the names of the objects that remain.
    ///
    /// # Errors
    /// `schema.apart` if a part of a moving table needs an object that is left out.
    pub(crate) async fn restrict(
        &self,
        schema: &mut DumpedSchema,
        source: &Connected,
        target: &Connected,
        migration: Option<&MigrationId>,
    ) -> Result<CreatedNames, StepError> {
        let objects = ScopedObjects::read(source, self).await?;
        let wholes: Vec<Option<ObjectId>> = schema
            .entries
            .iter()
            .map(|entry| objects.whole_of(entry))
            .collect();
        let ids: BTreeSet<ObjectId> = wholes.iter().flatten().copied().collect();
        let names = identities(source, ids).await?;
        let existing = existing(target, &names, migration).await?;
        let mut wholes = wholes.into_iter();
        let mut created = BTreeSet::new();
        schema.entries.retain(|_| {
            let Some(whole) = wholes.next().flatten() else {
                return false;
            };
            let is_new = !existing.contains(&whole);
            if is_new {
                created.extend(names.get(&whole).map(|(_, identity)| identity.clone()));
            }
            is_new
        });
        Ok(created)
    }
}

fn what(client: &Connected) -> String {
    format!(
        "shard {}: reading what belongs to the moving tables",
        client.name()
    )
}

fn object_id(row: &Row, column: usize) -> ObjectId {
    ObjectId {
        class: row.get(column),
        oid: row.get(column + 1),
    }
}

/// The objects that belong to a move, and the whole object that each is a part of.
struct ScopedObjects {
    wholes: HashMap<ObjectId, ObjectId>,
    /// Those that need something which is left out.
    left: HashSet<ObjectId>,
    /// The relations, by schema and name as in the labels of entries.
    relations: HashMap<String, ObjectId>,
    scoped_catalogs: HashSet<u32>,
    relation_class: u32,
}

impl ScopedObjects {
    async fn read(source: &Connected, scope: &SchemaScope) -> Result<Self, StepError> {
        let what = what(source);
        let rows = source.query(OBJECTS, &[&scope.kept, &scope.ignored]).await;
        let rows = rows.at(&what)?;
        let catalogs = source.query(SCOPED_CATALOGS, &[]).await.at(&what)?;
        let class = source
            .query_one("select 'pg_catalog.pg_class'::regclass::oid", &[])
            .await;
        let kept = kept_relations(source, scope).await?;
        let (mut wholes, mut relations) = (HashMap::new(), HashMap::new());
        let (mut left, mut apart) = (HashSet::new(), Vec::new());
        for row in &rows {
            let (object, whole) = (object_id(row, 0), object_id(row, 2));
            let (needs_left_out, is_foreign_key): (bool, bool) = (row.get(6), row.get(7));
            if needs_left_out {
                left.insert(object);
                if kept.contains(&whole.oid) && !is_foreign_key {
                    apart.push(object);
                }
                continue;
            }
            wholes.insert(object, whole);
            if object == whole {
                let (schema, name): (String, String) = (row.get(4), row.get(5));
                relations.insert(format!("{schema} {name}"), whole);
            }
        }
        if !apart.is_empty() {
            return Err(apart_error(source, apart.into_iter().collect()).await?);
        }
        Ok(Self {
            wholes,
            left,
            relations,
            scoped_catalogs: catalogs.iter().map(|row| row.get(0)).collect(),
            relation_class: class.at(&what)?.get(0),
        })
    }

    /// Returns the object that an entry creates, completes or describes; `None` if it is left out.
    fn whole_of(&self, entry: &SchemaEntry) -> Option<ObjectId> {
        if let Some(id) = entry.object.or(entry.part_of) {
            if let Some(whole) = self.wholes.get(&id) {
                return Some(*whole);
            }
            if self.left.contains(&id) || self.scoped_catalogs.contains(&id.class) {
                return None;
            }
            if !is_part_without_catalog(entry) {
                return Some(id);
            }
            // Row security, and the attachment of a partition, have the number of their table.
            let relation = ObjectId {
                class: self.relation_class,
                oid: id.oid,
            };
            return self.wholes.get(&relation).copied();
        }
        // The refresh of a materialized view: kind, schema and name.
        let words: Vec<&str> = entry.label.split(' ').collect();
        let names = (1..words.len()).map(|index| words[index..].join(" "));
        names
            .into_iter()
            .find_map(|name| self.relations.get(&name).copied())
    }
}

/// Returns whether the entry belongs to a table although its id is in no catalog that belongs to a schema.
fn is_part_without_catalog(entry: &SchemaEntry) -> bool {
    ["ROW SECURITY ", "TABLE ATTACH ", "INDEX ATTACH "]
        .iter()
        .any(|kind| entry.label.starts_with(kind))
}

/// Returns the moving tables and reference tables with their partitions, as numbers in the catalog.
async fn kept_relations(
    source: &Connected,
    scope: &SchemaScope,
) -> Result<HashSet<u32>, StepError> {
    let sql = "
        select c.oid from pg_catalog.pg_class c
        where coalesce(pg_catalog.pg_partition_root(c.oid)::oid, c.oid) in (
          select pg_catalog.to_regclass(name)::oid from pg_catalog.unnest($1::pg_catalog.text[]) name)";
    let rows = source.query(sql, &[&scope.kept]).await.at(what(source))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

async fn apart_error(
    source: &Connected,
    objects: BTreeSet<ObjectId>,
) -> Result<StepError, StepError> {
    let names = identities(source, objects).await?;
    let mut names: Vec<String> = names
        .into_values()
        .map(|(kind, name)| format!("{kind} {name}"))
        .collect();
    names.sort();
    let more = names.len().saturating_sub(MAX_NAMED);
    names.truncate(MAX_NAMED);
    let rest = match more {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Ok(StepError::refused(
        StepCode::SchemaApart,
        format!(
            "shard {}: the moving tables need objects that do not move: {}{rest}",
            source.name(),
            names.join(", ")
        ),
        "change each of them so that it needs only moving tables, reference tables, and types and functions of a shared schema",
    ))
}

/// Returns type and identity of objects.
async fn identities(
    client: &Connected,
    ids: BTreeSet<ObjectId>,
) -> Result<BTreeMap<ObjectId, (String, String)>, StepError> {
    let (classes, oids): (Vec<u32>, Vec<u32>) = ids.iter().map(|id| (id.class, id.oid)).unzip();
    let rows = client
        .query(IDENTITIES, &[&classes, &oids])
        .await
        .at(what(client))?;
    let text = |row: &Row, column| row.get::<_, Option<String>>(column).unwrap_or_default();
    let names = rows.iter().map(|row| (text(row, 0), text(row, 1)));
    Ok(ids.into_iter().zip(names).collect())
}

/// Returns those of the objects that the target has, without those that `migration` has created.
async fn existing(
    target: &Connected,
    names: &BTreeMap<ObjectId, (String, String)>,
    migration: Option<&MigrationId>,
) -> Result<BTreeSet<ObjectId>, StepError> {
    let what = format!("shard {}: reading which objects exist", target.name());
    let created = match migration {
        Some(migration) => created::names(target, migration).await.at(&what)?,
        None => BTreeSet::new(),
    };
    let (kinds, identities): (Vec<&str>, Vec<&str>) = names
        .values()
        .map(|(kind, name)| (kind.as_str(), name.as_str()))
        .unzip();
    let rows = target
        .query(EXISTING, &[&kinds, &identities])
        .await
        .at(&what)?;
    let ids: Vec<(&ObjectId, &(String, String))> = names.iter().collect();
    let found = rows.iter().filter_map(|row| {
        let place = usize::try_from(row.get::<_, i64>(0)).ok()?;
        let (id, (_, identity)) = ids.get(place.checked_sub(1)?)?;
        (!created.contains(identity)).then_some(**id)
    });
    Ok(found.collect())
}

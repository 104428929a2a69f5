//! Reads the schema of a shard as SQL statements: by the pg_dump of its server's version if that is installed,
//! otherwise by a writer that reads the catalog. Both return entries in three sections.
//!
//! The writer reads the catalog in one snapshot, sorts the objects by dependency, and assigns each to a section. If the
//! writer does not support an object, it fails with the name of the object, and never omits it silently. The schema
//! `shardwright`, guards, the agent's event triggers, publications and subscriptions are never copied.

pub(crate) mod compare;
pub(crate) mod existing_parts;
pub(crate) mod follow;
pub(crate) mod foreign_keys;
mod kind;
mod order;
pub(crate) mod partition_entries;
mod reader;
pub(crate) mod scope;

use cluster::Binaries;
use connect::Connected;
use plans::failure::StepCode;
use plans::id::MigrationId;

use crate::error::{StepError, WithIntent};
use crate::postgres::pg_dump::{self, DumpSource, DumpedSchema, RestoreSection, SchemaEntry};
use crate::shard::database::Shard;
use kind::SchemaObjectKind;
use reader::{SchemaGraph, SchemaObject, SchemaPrivileges};
use scope::{CreatedNames, SchemaScope};

/// Reads the schema of a shard for a target of major version `target`, with the statements that refresh its
/// materialized views.
///
/// # Errors
/// Returns the errors of [`dump()`] or of [`write()`].
pub(crate) async fn read(shard: &Shard, target: u32) -> Result<DumpedSchema, StepError> {
    let session = shard.session("schema").await?;
    read_without(shard, &session, target, &[]).await
}

/// The schema that a move creates on a target.
pub(crate) struct MovedSchema {
    pub(crate) schema: DumpedSchema,
    /// The names of the objects that it creates; `None` if it is the whole schema of the source.
    pub(crate) created: Option<CreatedNames>,
}

/// Reads what a move creates on `target`: the schema of the source, or the part of it that belongs to whole tables
/// (`scope`). Objects that `migration` has created there already are included.
///
/// # Errors
/// As [`read`]; `schema.apart` if a moving table needs an object that does not move.
pub(crate) async fn read_for_move(
    source: &Shard,
    target: &Connected,
    scope: Option<&SchemaScope>,
    migration: Option<&MigrationId>,
) -> Result<MovedSchema, StepError> {
    let version = read_major_version(target).await?;
    let Some(scope) = scope else {
        let schema = read(source, version).await?;
        return Ok(MovedSchema {
            schema,
            created: None,
        });
    };
    let session = source.session("schema").await?;
    let left = scope.left_schemas(&session).await?;
    let mut schema = read_without(source, &session, version, &left).await?;
    let created = scope
        .restrict(&mut schema, &session, target, migration)
        .await?;
    Ok(MovedSchema {
        schema,
        created: Some(created),
    })
}

/// Reads the schema, in which the objects of the schemas `left` may be missing.
async fn read_without(
    shard: &Shard,
    session: &Connected,
    target: u32,
    left: &[String],
) -> Result<DumpedSchema, StepError> {
    let name = &shard.name;
    let tools = Binaries::for_dump(read_major_version(session).await?);
    let schema = async {
        match tools {
            Ok(tools) => {
                let dumped = DumpSource {
                    dsn: &shard.dsn,
                    client: session,
                    shard: name,
                    left_schemas: left,
                };
                dump(dumped, &tools, target).await
            }
            Err(_) => write(session, target).await,
        }
    };
    // The session is idle while pg_dump runs, so it can run the other two queries.
    let (mut schema, keys, refreshes) = tokio::try_join!(
        schema,
        foreign_keys::read_validated(session),
        refreshes(session)
    )?;
    foreign_keys::validate_later(&mut schema.entries, keys);
    schema.entries.extend(refreshes);
    Ok(schema)
}

/// Reads the schema by pg_dump, for a target of major version `target`. The privileges come from the catalog.
///
/// # Errors
/// Fails if pg_dump fails, or if the catalog cannot be read.
pub(crate) async fn dump(
    dumped: DumpSource<'_>,
    tools: &Binaries,
    target: u32,
) -> Result<DumpedSchema, StepError> {
    let client = dumped.client;
    reader::open(client, target).await?;
    let read = async { tokio::try_join!(pg_dump::dump(dumped, tools), reader::privileges(client)) };
    let read: Result<_, StepError> = read.await;
    let closed = reader::close(client).await;
    let (mut schema, privileges) = read?;
    closed?;
    add_privileges(&mut schema, privileges);
    Ok(schema)
}

/// Adds privileges to the entry of their object. Privileges on an object that has no entry become entries of their own.
fn add_privileges(schema: &mut DumpedSchema, privileges: SchemaPrivileges) {
    let mut own_entries = Vec::new();
    for (id, name, statements) in privileges.granted {
        let mut entries = schema.entries.iter_mut();
        let statement = format!("{statements};");
        match entries.find(|entry| entry.object == Some(id)) {
            Some(entry) => entry.statements.push(statement),
            None => own_entries.push(SchemaEntry {
                section: RestoreSection::Pre,
                parallel: false,
                label: format!("{} - {name}", SchemaObjectKind::GrantOnOtherObject.label()),
                object: Some(id),
                part_of: None,
                statements: vec![statement],
            }),
        }
    }
    let entries = schema.entries.iter();
    let pre = entries.take_while(|entry| entry.section == RestoreSection::Pre);
    let index = pre.count();
    schema.entries.splice(index..index, own_entries);
    let defaults = privileges.default_privileges.iter();
    let defaults = defaults.filter_map(|object| entry(object, RestoreSection::Post, false));
    schema.entries.extend(defaults);
}

/// Checks that the schema can be read as SQL statements.
///
/// # Errors
/// If the pg_dump of the server's version is missing, returns the errors of [`write()`].
pub(crate) async fn check(client: &Connected) -> Result<(), StepError> {
    let version = read_major_version(client).await?;
    if Binaries::for_dump(version).is_err() {
        write(client, version).await?;
    }
    Ok(())
}

/// Reads the major version of the server.
///
/// # Errors
/// Fails if the query fails.
pub(crate) async fn read_major_version(client: &Connected) -> Result<u32, StepError> {
    let shard = client.name();
    let row = client
        .query_one(
            "select pg_catalog.current_setting('server_version_num')::integer / 10000",
            &[],
        )
        .await
        .at(format_args!("shard {shard}: reading the server's version"))?;
    Ok(u32::try_from(row.get::<_, i32>(0)).unwrap_or_default())
}

/// Writes the schema of the database from its catalog, for a target of major version `target`.
///
/// # Errors
/// `schema.uncarried` with the names of unsupported objects; `schema.cycle` with objects that depend on each other, or
/// with a table that depends on an object that is created after the copy.
pub(crate) async fn write(client: &Connected, target: u32) -> Result<DumpedSchema, StepError> {
    let shard = client.name();
    reader::open(client, target).await?;
    let graph = reader::read(client).await;
    let closed = reader::close(client).await;
    let graph = graph?;
    closed?;
    let order = order::sort_for_creation(&graph).map_err(|unordered| {
        let names = unordered.iter().map(|index| label(&graph.objects[*index]));
        let names: Vec<String> = names.collect();
        cycle_error(
            shard,
            &format!("these objects need each other: {}", names.join(", ")),
        )
    })?;
    let sections = assign_sections(&graph, &order, shard)?;
    let entries = order.iter().filter_map(|index| {
        let object = &graph.objects[*index];
        let section = sections[*index];
        let parallel = object.kind.is_index()
            && graph.needs[*index].iter().all(|needed| {
                sections[*needed] < section || graph.objects[*needed].kind.is_index()
            });
        entry(object, section, parallel)
    });
    Ok(DumpedSchema {
        entries: entries.collect(),
    })
}

/// Returns the statements that refresh materialized views. A view that reads another one comes after it. They run last.
///
/// # Errors
/// Fails if the catalog cannot be read.
pub(crate) async fn refreshes(client: &Connected) -> Result<Vec<SchemaEntry>, StepError> {
    let shard = client.name();
    let rows = client
        .query(include_str!("sql/refreshes.sql"), &[])
        .await
        .at(format_args!("shard {shard}: reading materialized views"))?;
    let entry = |(schema, name, statement): (String, String, String)| SchemaEntry {
        section: RestoreSection::Post,
        parallel: false,
        label: format!("MATERIALIZED VIEW DATA {schema} {name}"),
        object: None,
        part_of: None,
        statements: vec![format!("{statement};")],
    };
    let parts = rows.iter().map(|row| (row.get(0), row.get(1), row.get(2)));
    Ok(parts.map(entry).collect())
}

fn label(object: &SchemaObject) -> String {
    let schema = match object.schema.as_str() {
        "" => "-",
        schema => schema,
    };
    format!("{} {schema} {}", object.kind.label(), object.name)
}

fn cycle_error(shard: &str, problem: &str) -> StepError {
    StepError::refused(
        StepCode::SchemaCycle,
        format!(
            "shard {shard}: the objects of the schema cannot be created in any order: {problem}"
        ),
        "install pg_dump of the source's major version on the agent's host; or create the schema on the target and set `schema: existing` in the request",
    )
}

/// Returns the section of each object. No section is earlier than those of the object's dependencies.
fn assign_sections(
    graph: &SchemaGraph,
    order: &[usize],
    shard: &str,
) -> Result<Vec<RestoreSection>, StepError> {
    let mut sections = vec![RestoreSection::Pre; graph.objects.len()];
    for index in order {
        let object = &graph.objects[*index];
        let own = object.kind.section(object.identifies_rows);
        let needs = graph.needs[*index].iter();
        let latest = needs.max_by_key(|needed| sections[**needed]);
        let section = latest.map_or(own, |needed| own.max(sections[*needed]));
        if let Some(needed) = latest
            && object.kind.receives_rows()
            && section != RestoreSection::Pre
        {
            let (object, needed) = (label(object), label(&graph.objects[*needed]));
            return Err(cycle_error(
                shard,
                &format!("{object} needs {needed}, which is built after the copy"),
            ));
        }
        // An object that only depends on a key is not needed right after the copy.
        let is_needed_later = section == RestoreSection::Key && !object.kind.is_index();
        sections[*index] = if is_needed_later {
            RestoreSection::Post
        } else {
            section
        };
    }
    Ok(sections)
}

/// Returns the entry of an object; `None` if the object has no statements.
fn entry(object: &SchemaObject, section: RestoreSection, parallel: bool) -> Option<SchemaEntry> {
    let first = Some(&object.create).filter(|create| !create.is_empty());
    let statements = first.into_iter().chain(&object.further);
    let statements: Vec<String> = statements.map(|text| format!("{text};")).collect();
    (!statements.is_empty()).then(|| SchemaEntry {
        section,
        parallel,
        label: label(object),
        object: Some(object.id),
        part_of: None,
        statements,
    })
}

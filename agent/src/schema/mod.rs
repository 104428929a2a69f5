//! The schema of a shard as statements: by pg_dump of its version where that is installed (`pg::schema`), else
//! written here from the catalog. Both give the same: entries in three sections, and a script that drops them.
//!
//! Order of the writer: the catalog is read in one snapshot, objects are put in the order of creation, each is given its section.
//! What has no words here is refused by name; nothing is left out in silence.
//! Our own schema, guards and event triggers, publications and subscriptions are never carried over.

pub(crate) mod foreign_keys;
mod kind;
mod order;
mod reader;

use cluster::Binaries;
use tokio_postgres::Client;

use crate::error::{At, StepError};
use crate::pg::schema::{self, Entry, Schema, Section};
use crate::pg::shard::Shard;
use reader::{Found, Object};

/// The first major version that knows the privilege MAINTAIN.
const MAINTAINS: u32 = 17;

/// The schema of a shard for a target of major version `target`, and what fills its materialized views.
///
/// # Errors
/// Those of pg_dump, or of [`write()`].
pub(crate) async fn read(shard: &Shard, target: u32) -> Result<Schema, StepError> {
    let (session, name) = (shard.session("schema").await?, &shard.name);
    let mut schema = match Binaries::for_dump(major(&session, name).await?) {
        Ok(tools) => {
            let mut dumped = schema::dump(&shard.dsn, &tools, name).await?;
            dumped.put_largest_first(&session, name).await?;
            dumped
        }
        Err(_) => write(&session, target, name).await?,
    };
    if target < MAINTAINS {
        schema.forget_maintain();
    }
    foreign_keys::validate_later(&mut schema.entries, &session, name).await?;
    schema.entries.extend(refreshes(&session, name).await?);
    Ok(schema)
}

/// Proves that the schema behind `client` can be created elsewhere, as far as the catalog tells.
///
/// # Errors
/// Those of [`write()`], where pg_dump of the server's version is missing.
pub(crate) async fn check(client: &Client, shard: &str) -> Result<(), StepError> {
    let version = major(client, shard).await?;
    if Binaries::for_dump(version).is_err() {
        write(client, version, shard).await?;
    }
    Ok(())
}

/// The major version of the server behind `client`.
///
/// # Errors
/// When it cannot be asked.
pub(crate) async fn major(client: &Client, shard: &str) -> Result<u32, StepError> {
    let row = client
        .query_one(
            "select pg_catalog.current_setting('server_version_num')::integer / 10000",
            &[],
        )
        .await
        .at(format_args!("shard {shard}: reading the server's version"))?;
    Ok(u32::try_from(row.get::<_, i32>(0)).unwrap_or_default())
}

/// Writes the schema of the database behind `client`, for a target of major version `target`.
///
/// # Errors
/// `schema.uncarried` with the names of what the writer has no words for; `schema.cycle` with objects that need
/// each other, or a table that needs what is built after the copy.
pub(crate) async fn write(client: &Client, target: u32, shard: &str) -> Result<Schema, StepError> {
    let found = reader::read(client, target, shard).await?;
    let order = order::creation(&found).map_err(|stuck| {
        let names: Vec<String> = stuck.iter().map(|at| label(&found.objects[*at])).collect();
        cycle(
            shard,
            &format!("these objects need each other: {}", names.join(", ")),
        )
    })?;
    let sections = sections(&found, &order, shard)?;
    let entries = order.iter().filter_map(|at| {
        let object = &found.objects[*at];
        let section = sections[*at];
        let parallel = object.kind.is_index()
            && found.needs[*at].iter().all(|needed| {
                sections[*needed] < section || found.objects[*needed].kind.is_index()
            });
        entry(object, section, parallel)
    });
    let drops = order.iter().rev();
    let drops: Vec<String> = drops
        .filter_map(|at| found.objects[*at].drop.as_ref())
        .map(|drop| format!("{drop};"))
        .collect();
    Ok(Schema {
        entries: entries.collect(),
        drop_script: drops.join("\n"),
    })
}

/// What fills materialized views again, those that others read first; they come last.
///
/// # Errors
/// When the catalog cannot be read.
pub(crate) async fn refreshes(client: &Client, shard: &str) -> Result<Vec<Entry>, StepError> {
    let rows = client
        .query(include_str!("sql/refreshes.sql"), &[])
        .await
        .at(format_args!("shard {shard}: reading materialized views"))?;
    let entry = |(schema, name, statement): (String, String, String)| Entry {
        section: Section::Post,
        parallel: false,
        label: format!("MATERIALIZED VIEW DATA {schema} {name}"),
        statement,
    };
    let parts = rows.iter().map(|row| (row.get(0), row.get(1), row.get(2)));
    Ok(parts.map(entry).collect())
}

fn label(object: &Object) -> String {
    let schema = match object.schema.as_str() {
        "" => "-",
        schema => schema,
    };
    format!("{} {schema} {}", object.kind.label(), object.name)
}

fn cycle(shard: &str, problem: &str) -> StepError {
    StepError::refused(
        "schema.cycle",
        format!("shard {shard}: the schema cannot be written in an order that works: {problem}"),
        "install pg_dump and pg_restore of the source's major version beside the agent; or create the schema on the target and say `schema: existing`",
    )
}

/// An object is created no earlier than what it needs.
fn sections(found: &Found, order: &[usize], shard: &str) -> Result<Vec<Section>, StepError> {
    let mut sections = vec![Section::Pre; found.objects.len()];
    for at in order {
        let object = &found.objects[*at];
        let own = object.kind.section(object.finds_rows);
        let latest = found.needs[*at].iter().max_by_key(|at| sections[**at]);
        let section = latest.map_or(own, |needed| own.max(sections[*needed]));
        if let Some(needed) = latest
            && object.kind.takes_rows()
            && section != Section::Pre
        {
            let (object, needed) = (label(object), label(&found.objects[*needed]));
            return Err(cycle(
                shard,
                &format!("{object} needs {needed}, which is built after the copy"),
            ));
        }
        // Of what waits for a key the rest of the keys need nothing.
        let waits_for_key = section == Section::Key && !object.kind.is_index();
        sections[*at] = if waits_for_key {
            Section::Post
        } else {
            section
        };
    }
    Ok(sections)
}

fn entry(object: &Object, section: Section, parallel: bool) -> Option<Entry> {
    let first = Some(&object.create).filter(|create| !create.is_empty());
    let statements: Vec<&str> = first
        .into_iter()
        .chain(&object.then)
        .map(String::as_str)
        .collect();
    (!statements.is_empty()).then(|| Entry {
        section,
        parallel,
        label: label(object),
        statement: format!("{};", statements.join(";\n")),
    })
}

//! Reads the source's schema with pg_dump, as entries that the agent restores on the target.
//!
//! The entries are restored in this order: first all of the pre-data section; after the copy, the primary keys; then
//! the rest of the post-data section (indexes, constraints, foreign keys, triggers). The target stores the statements,
//! so that a restart continues with the first entry that is missing. The agent's own schema `shardwright`, guards,
//! publications and subscriptions are never restored.
//!
//! This module never parses a statement. It learns from the fields of the archive to which object an entry belongs, and
//! reads more about the object from the catalog, in the snapshot that pg_dump uses.

mod process;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use cluster::Binaries;
use connect::{Connected, Dsn};
use futures::{StreamExt, pin_mut};
use plans::failure::StepCode;
use plans::names::SCHEMA;
use plans::sql::quote_ident;
use tokio::process::Command;
use tokio_postgres::SimpleQueryMessage;

use super::archive::{self, ArchiveEntry, ArchiveSection, ObjectId};
use crate::error::{StepError, WithIntent};

/// The query for [`EntryFacts`].
const FACTS: &str = include_str!("pg_dump/facts.sql");

/// Kinds of entries that belong to the database and not to its schema, as pg_dump names them.
const DATABASE_KINDS: [&str; 5] = [
    "ENCODING",
    "STDSTRINGS",
    "SEARCHPATH",
    "DATABASE",
    "DATABASE PROPERTIES",
];

/// The OID of the schema `public`, which every database has.
const PUBLIC: u32 = 2200;

/// The owner of schema `public` in a new database.
const PUBLIC_OWNER: &str = "pg_database_owner";

/// The table access method that every session of the agent sets as the default.
const HEAP: &str = "heap";

/// The relkind of a partitioned table, which can have an access method although it has no storage.
const PARTITIONED: char = 'p';

/// The time at which an entry is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RestoreSection {
    /// Before the copy of the rows.
    Pre,
    /// Right after the copy: primary keys or other indexes that identify rows. The apply stream needs them.
    Key,
    /// After the copy, while the stream applies changes.
    Post,
}

impl RestoreSection {
    /// Returns the value of the column `section` of `shardwright.schema_entry`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pre => "pre",
            Self::Key => "key",
            Self::Post => "post",
        }
    }
}

/// One object of the schema.
#[derive(Debug, Clone)]
pub(crate) struct SchemaEntry {
    pub(crate) section: RestoreSection,
    /// True for indexes and constraints with an index. They can be built concurrently.
    pub(crate) parallel: bool,
    /// Kind, schema and name, for messages.
    pub(crate) label: String,
    /// The object on the source; None for comments.
    pub(crate) object: Option<ObjectId>,
    /// The object that an entry without an object describes or completes, if it is known.
    pub(crate) part_of: Option<ObjectId>,
    /// The statement that creates the object, then those that change it. Each ends with a semicolon.
    pub(crate) statements: Vec<String>,
}

impl SchemaEntry {
    /// Returns all statements as one batch.
    pub(crate) fn sql(&self) -> String {
        self.statements.join("\n")
    }
}

/// Number of entries that are sent in one round trip.
const ENTRIES_AT_ONCE: usize = 50;

/// Restores entries: executes their statements in the session's transaction, [`ENTRIES_AT_ONCE`] entries per round trip.
///
/// # Errors
/// The first entry that fails, with the server's error. The transaction is then aborted.
///
/// The function uses no savepoints: [`created::record`](crate::shard::created::record) finds the created objects by the
/// transaction id, and an object that a subtransaction creates has another one.
pub(crate) async fn restore_all<'a>(
    client: &Connected,
    entries: &[&'a SchemaEntry],
) -> Result<(), (&'a SchemaEntry, tokio_postgres::Error)> {
    for chunk in entries.chunks(ENTRIES_AT_ONCE) {
        let mut sql = String::new();
        for (index, entry) in chunk.iter().enumerate() {
            sql.push_str(&format!(
                "select {index} as {ENTRY_COLUMN};\n{}\n",
                entry.sql()
            ));
        }
        let mut last_begun = 0;
        let run = run_with_progress(client, &sql, &mut last_begun).await;
        run.map_err(|error| (chunk[last_begun.min(chunk.len() - 1)], error))?;
    }
    Ok(())
}

/// The column whose value is the index of the entry that the server is processing.
const ENTRY_COLUMN: &str = "shardwright_entry";

/// Runs statements, and stores the last value of [`ENTRY_COLUMN`] in `last_begun`, also if a statement fails.
async fn run_with_progress(
    client: &Connected,
    sql: &str,
    last_begun: &mut usize,
) -> Result<(), tokio_postgres::Error> {
    let messages = client.simple_query_raw(sql).await?;
    pin_mut!(messages);
    while let Some(message) = messages.next().await {
        if let SimpleQueryMessage::Row(row) = message?
            && row
                .columns()
                .first()
                .is_some_and(|column| column.name() == ENTRY_COLUMN)
            && let Some(index) = row.get(0).and_then(|index| index.parse().ok())
        {
            *last_begun = index;
        }
    }
    Ok(())
}

/// Restores entries as [`restore_all`] does, but uses savepoints and continues after an entry fails. Returns each entry that
/// failed, with the server's error.
///
/// # Errors
/// Returns an error if the session cannot continue.
pub(crate) async fn restore_possible<'a>(
    client: &Connected,
    entries: &[&'a SchemaEntry],
) -> Result<Vec<(&'a SchemaEntry, tokio_postgres::Error)>, tokio_postgres::Error> {
    let mut failed = Vec::new();
    for chunk in entries.chunks(ENTRIES_AT_ONCE) {
        if run_in_savepoint(client, &batch(chunk)).await.is_ok() {
            continue;
        }
        for entry in chunk {
            match run_in_savepoint(client, &entry.sql()).await {
                Err(error) if error.as_db_error().is_some() => failed.push((*entry, error)),
                done => done?,
            }
        }
    }
    Ok(failed)
}

/// Returns the statements of all entries as one text.
fn batch(entries: &[&SchemaEntry]) -> String {
    let all: Vec<String> = entries.iter().map(|entry| entry.sql()).collect();
    all.join("\n")
}

/// Executes statements in a savepoint of the session's transaction. If one fails, all of them are rolled back.
async fn run_in_savepoint(client: &Connected, sql: &str) -> Result<(), tokio_postgres::Error> {
    let run = format!("savepoint entries; {sql}\nrelease savepoint entries");
    let done = client.batch_execute(&run).await;
    if done.is_err() {
        let back = "rollback to savepoint entries; release savepoint entries";
        client.batch_execute(back).await?;
    }
    done
}

/// The schema of one database, as pg_dump describes it.
#[derive(Debug, Clone)]
pub(crate) struct DumpedSchema {
    pub(crate) entries: Vec<SchemaEntry>,
}

/// The database that pg_dump reads.
#[derive(Clone, Copy)]
pub(crate) struct DumpSource<'a> {
    pub(crate) dsn: &'a Dsn,
    /// A session of that database, in a transaction with its own snapshot and an empty search path.
    pub(crate) client: &'a Connected,
    pub(crate) shard: &'a str,
    /// Schemas that are left out.
    pub(crate) left_schemas: &'a [String],
}

/// The number of schemas in one pattern of pg_dump, which executes a query for each pattern.
const SCHEMAS_IN_PATTERN: usize = 500;

/// Returns the pattern of pg_dump that only these schemas match.
fn schema_pattern(schemas: &[String]) -> String {
    let quoted = schemas
        .iter()
        .map(|name| format!("\"{}\"", name.replace('"', "\"\"")));
    quoted.collect::<Vec<_>>().join("|")
}

/// Reads the schema of a database, without the GRANTs, by the pg_dump in `tools`.
///
/// # Errors
/// Fails with `schema.dump` if pg_dump fails, and with `schema.archive` if its archive cannot be read.
pub(crate) async fn dump(
    dumped: DumpSource<'_>,
    tools: &Binaries,
) -> Result<DumpedSchema, StepError> {
    let listed = read_archive(dumped, tools).await?;
    let facts = read_facts(dumped, &listed).await?;
    let mut omitted = BTreeSet::new();
    let (mut pre, mut concurrent, mut post) = (Vec::new(), Vec::new(), Vec::new());
    let mut sections = BTreeMap::new();
    let with_object = listed
        .iter()
        .filter_map(|entry| Some((entry.dump_id, entry.object?)));
    let objects: BTreeMap<i32, ObjectId> = with_object.collect();
    for (listed, facts) in listed.iter().zip(facts) {
        // Comments and similar entries are omitted together with the object that they depend on.
        let describes_omitted =
            listed.object.is_none() && listed.depends_on.iter().any(|id| omitted.contains(id));
        if facts.is_ours || describes_omitted || DATABASE_KINDS.contains(&listed.kind.as_str()) {
            omitted.insert(listed.dump_id);
            continue;
        }
        let section = match listed.section {
            ArchiveSection::PreData => RestoreSection::Pre,
            ArchiveSection::PostData if facts.identifies_rows => RestoreSection::Key,
            ArchiveSection::PostData => RestoreSection::Post,
            // The data of materialized views: separate statements refresh them.
            ArchiveSection::Data => continue,
            ArchiveSection::None => {
                let needed = listed.depends_on.iter();
                let last_needed = needed.filter_map(|id| sections.get(id)).max().copied();
                // This entry is restored with the entries that it depends on. If they are in section `Key`, the entry
                // can wait until `Post`: no entry of section `Key` depends on it.
                match last_needed.unwrap_or(RestoreSection::Pre) {
                    RestoreSection::Key => RestoreSection::Post,
                    section @ (RestoreSection::Pre | RestoreSection::Post) => section,
                }
            }
        };
        sections.insert(listed.dump_id, section);
        let statements = statements(listed, &facts);
        if statements.is_empty() {
            continue;
        }
        let index_bytes = facts.index_bytes.filter(|_| section != RestoreSection::Pre);
        let entry = SchemaEntry {
            section,
            parallel: index_bytes.is_some(),
            label: label(listed),
            object: listed.object,
            part_of: described_object(listed, &objects),
            statements,
        };
        match (section, index_bytes) {
            (RestoreSection::Pre, _) => pre.push(entry),
            (_, Some(size)) => concurrent.push((size, entry)),
            (_, None) => post.push(entry),
        }
    }
    // The largest index comes first, so that all concurrent builds end at about the same time.
    concurrent.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
    let concurrent = concurrent.into_iter().map(|(_, entry)| entry);
    let entries = pre.into_iter().chain(concurrent).chain(post).collect();
    Ok(DumpedSchema { entries })
}

/// Returns the object on which an entry without an object depends.
fn described_object(listed: &ArchiveEntry, objects: &BTreeMap<i32, ObjectId>) -> Option<ObjectId> {
    let mut needed = listed.depends_on.iter();
    match listed.object {
        Some(_) => None,
        None => needed.find_map(|id| objects.get(id).copied()),
    }
}

/// Returns a label such as `CONSTRAINT public accounts accounts_pkey`.
fn label(listed: &ArchiveEntry) -> String {
    let schema = match listed.schema.as_str() {
        "" => "-",
        schema => schema,
    };
    format!("{} {schema} {}", listed.kind, listed.tag)
}

/// Returns the statements that create an entry's object in its tablespace, with its access method and owner.
fn statements(listed: &ArchiveEntry, facts: &EntryFacts) -> Vec<String> {
    let is_public = facts.qualified_name.is_some()
        && listed.kind == "SCHEMA"
        && listed.object.is_some_and(|object| object.oid == PUBLIC);
    let mut statements = Vec::new();
    let definition = listed.definition.trim();
    if !definition.is_empty() && !is_public {
        let (mut before, mut after) = (String::new(), String::new());
        let method = listed.access_method.as_deref();
        let method = method.filter(|name| *name != HEAP);
        let has_storage = listed.relkind != Some(PARTITIONED);
        let settings = [
            (
                "default_tablespace",
                Some(listed.tablespace.as_str()).filter(|name| !name.is_empty()),
            ),
            (
                "default_table_access_method",
                method.filter(|_| has_storage),
            ),
        ];
        for (setting, value) in settings {
            if let Some(value) = value {
                before.push_str(&format!("set local {setting} = {};\n", quote_ident(value)));
                after.push_str(&format!("\nreset {setting};"));
            }
        }
        statements.push(format!("{before}{definition}{after}"));
        if let (Some(method), Some(name), false) = (method, &facts.qualified_name, has_storage) {
            statements.push(format!(
                "alter table {name} set access method {};",
                quote_ident(method)
            ));
        }
    }
    let owner = Some(listed.owner.as_str());
    let owner = owner.filter(|owner| !(owner.is_empty() || is_public && *owner == PUBLIC_OWNER));
    if let (Some(owner), Some(alter_owner)) = (owner, &facts.alter_owner)
        && KINDS_WITH_OWNER.contains(&listed.kind.as_str())
    {
        statements.push(format!("{alter_owner}{};", quote_ident(owner)));
    }
    statements
}

/// Kinds of objects, as pg_dump names them, that have an owner of their own. Other objects have the owner of their
/// table.
const KINDS_WITH_OWNER: [&str; 23] = [
    "AGGREGATE",
    "COLLATION",
    "CONVERSION",
    "DOMAIN",
    "EVENT TRIGGER",
    "FOREIGN DATA WRAPPER",
    "FOREIGN TABLE",
    "FUNCTION",
    "MATERIALIZED VIEW",
    "OPERATOR",
    "OPERATOR CLASS",
    "OPERATOR FAMILY",
    "PROCEDURAL LANGUAGE",
    "PROCEDURE",
    "SCHEMA",
    "SEQUENCE",
    "SERVER",
    "STATISTICS",
    "TABLE",
    "TEXT SEARCH CONFIGURATION",
    "TEXT SEARCH DICTIONARY",
    "TYPE",
    "VIEW",
];

/// Facts from the catalog about an entry's object.
#[derive(Debug, Default)]
struct EntryFacts {
    /// An ALTER .. OWNER TO statement without the name of the owner.
    alter_owner: Option<String>,
    /// The qualified and quoted name of the object.
    qualified_name: Option<String>,
    /// True if the object is the replica identity of a table: its primary key, or the index that identifies its rows.
    identifies_rows: bool,
    /// The size in bytes of the object's index, if the object is or has an index.
    index_bytes: Option<i64>,
    /// True for a guard and for an event trigger of Shardwright, which are not restored.
    is_ours: bool,
}

/// Reads the facts about each entry's object from the catalog, in the order of `listed`.
async fn read_facts(
    dumped: DumpSource<'_>,
    listed: &[ArchiveEntry],
) -> Result<Vec<EntryFacts>, StepError> {
    let objects = listed.iter().map(|entry| entry.object);
    let (classes, oids): (Vec<u32>, Vec<u32>) = objects
        .map(|object| object.map_or((0, 0), |object| (object.class, object.oid)))
        .unzip();
    let rows = dumped
        .client
        .query(FACTS, &[&classes, &oids])
        .await
        .at(format_args!(
            "shard {}: reading what pg_dump has listed",
            dumped.shard
        ))?;
    Ok(rows
        .iter()
        .map(|row| EntryFacts {
            alter_owner: row.get(0),
            qualified_name: row.get(1),
            identifies_rows: row.get(2),
            index_bytes: row.get(3),
            is_ours: row.get(4),
        })
        .collect())
}

/// Runs pg_dump in the snapshot of the client's transaction, and reads its archive.
async fn read_archive(
    dumped: DumpSource<'_>,
    tools: &Binaries,
) -> Result<Vec<ArchiveEntry>, StepError> {
    let shard = dumped.shard;
    let resolved = dumped.dsn.resolve().at(format_args!("shard {shard}"))?;
    let what = format!("shard {shard}: exporting a snapshot");
    let snapshot = dumped
        .client
        .query_one("select pg_catalog.pg_export_snapshot()", &[])
        .await;
    let snapshot: String = snapshot.at(what)?.get(0);
    let file = TemporaryFile(
        std::env::temp_dir().join(format!("shardwright-{}.dump", uuid::Uuid::new_v4())),
    );
    let left_schemas = dumped
        .left_schemas
        .chunks(SCHEMAS_IN_PATTERN)
        .map(schema_pattern);
    let mut command = Command::new(tools.path("pg_dump"));
    command
        .args([
            "--format=custom",
            "--schema-only",
            "--no-privileges",
            "--no-publications",
            "--no-subscriptions",
        ])
        .arg(format!("--exclude-schema={SCHEMA}"))
        .args(left_schemas.map(|pattern| format!("--exclude-schema={pattern}")))
        .arg(format!("--snapshot={snapshot}"))
        .arg("--file")
        .arg(&file.0)
        .env("PGAPPNAME", "shardwright/schema");
    process::run(&mut command, &resolved, &format!("shard {shard}: pg_dump")).await?;
    let bytes = tokio::fs::read(&file.0).await;
    let bytes = bytes.at(format_args!("reading {}", file.0.display()))?;
    archive::read(&bytes).map_err(|error| {
        StepError::listed(
            StepCode::SchemaArchive,
            format!("shard {shard}: the schema that pg_dump wrote cannot be read: {error}"),
        )
    })
}

/// A file that is deleted when this value is dropped.
struct TemporaryFile(PathBuf);

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

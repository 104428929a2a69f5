//! The source's schema, taken with pg_dump and restored entry by entry.
//!
//! Order: everything of the pre-data section at once; primary keys after the copy; the rest of the
//! post-data section (indexes, constraints, foreign keys, triggers) after that.
//! The statements are kept on the target, so that a restart goes on where it stopped.
//! Our own schema, guards, publications and subscriptions are never carried over.
//! Absent: any look into a statement. What an entry is about is read from the archive's fields and from the catalog,
//! in the snapshot that pg_dump reads.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Stdio;

use cluster::Binaries;
use connect::{Connected, Dsn, Resolved};
use futures::{StreamExt, pin_mut};
use plans::names::SCHEMA;
use plans::sql::quote_ident;
use tokio::process::Command;
use tokio_postgres::SimpleQueryMessage;

use super::archive::{self, ArchiveEntry, ArchiveSection, ObjectId};
use crate::error::{StepError, WithIntent};

/// What pg_dump's session has beside the settings of ours, behind those of the connection string.
const DUMP_OPTIONS: &str = "-c lock_timeout=10s";

const FACTS: &str = include_str!("pg_dump/facts.sql");

/// Entries that belong to the database rather than to its schema, in pg_dump's words.
const OF_THE_DATABASE: [&str; 5] = [
    "ENCODING",
    "STDSTRINGS",
    "SEARCHPATH",
    "DATABASE",
    "DATABASE PROPERTIES",
];

/// The number of schema `public`, which every database has.
const PUBLIC: u32 = 2200;

/// The owner of schema `public` in a new database.
const PUBLIC_OWNER: &str = "pg_database_owner";

/// The access method of tables that name none, as every session of ours has it.
const HEAP: &str = "heap";

/// The letter of a partitioned table, which has an access method and no storage.
const PARTITIONED: char = 'p';

/// When an entry is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RestoreSection {
    /// Before the copy.
    Pre,
    /// Right after the copy: the primary keys, or what else identifies rows, which apply needs.
    Key,
    /// After the copy and beside apply.
    Post,
}

impl RestoreSection {
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
    /// Indexes and unique constraints can be built side by side.
    pub(crate) parallel: bool,
    /// Kind and name, for people.
    pub(crate) label: String,
    /// On the source; none for comments.
    pub(crate) object: Option<ObjectId>,
    /// What makes the object, then what is set on it; each with its semicolon.
    pub(crate) statements: Vec<String>,
}

impl SchemaEntry {
    /// All statements as one batch.
    pub(crate) fn sql(&self) -> String {
        self.statements.join("\n")
    }
}

/// Entries that are sent at once.
const AT_ONCE: usize = 50;

/// Makes entries in the session's transaction, many in one round trip. The first one that fails, with what the server
/// said; the transaction has failed then.
///
/// Without savepoints: what is made in a subtransaction is not found by the transaction's number
/// ([`created::record`](crate::shard::created::record)).
pub(crate) async fn make<'a>(
    client: &Connected,
    entries: &[&'a SchemaEntry],
) -> Result<(), (&'a SchemaEntry, tokio_postgres::Error)> {
    for some in entries.chunks(AT_ONCE) {
        let mut sql = String::new();
        for (at, entry) in some.iter().enumerate() {
            sql.push_str(&format!("select {at} as {BEGUN};\n{}\n", entry.sql()));
        }
        let mut begun = 0;
        let made = run_told(client, &sql, &mut begun).await;
        made.map_err(|error| (some[begun.min(some.len() - 1)], error))?;
    }
    Ok(())
}

/// The column that says which entry is begun.
const BEGUN: &str = "shardwright_entry";

/// Runs statements, and keeps the last value of [`BEGUN`].
async fn run_told(
    client: &Connected,
    sql: &str,
    begun: &mut usize,
) -> Result<(), tokio_postgres::Error> {
    let messages = client.simple_query_raw(sql).await?;
    pin_mut!(messages);
    while let Some(message) = messages.next().await {
        if let SimpleQueryMessage::Row(row) = message?
            && row
                .columns()
                .first()
                .is_some_and(|column| column.name() == BEGUN)
            && let Some(at) = row.get(0).and_then(|at| at.parse().ok())
        {
            *begun = at;
        }
    }
    Ok(())
}

/// As [`make`], but for those that fail: each that does, with what the server said.
///
/// # Errors
/// When the session can do nothing more.
pub(crate) async fn make_most<'a>(
    client: &Connected,
    entries: &[&'a SchemaEntry],
) -> Result<Vec<(&'a SchemaEntry, tokio_postgres::Error)>, tokio_postgres::Error> {
    let mut failed = Vec::new();
    for some in entries.chunks(AT_ONCE) {
        if made(client, &batch(some)).await.is_ok() {
            continue;
        }
        for entry in some {
            match made(client, &entry.sql()).await {
                Err(error) if error.as_db_error().is_some() => failed.push((*entry, error)),
                done => done?,
            }
        }
    }
    Ok(failed)
}

fn batch(entries: &[&SchemaEntry]) -> String {
    let all: Vec<String> = entries.iter().map(|entry| entry.sql()).collect();
    all.join("\n")
}

/// Runs statements in the session's transaction, or none of them.
async fn made(client: &Connected, sql: &str) -> Result<(), tokio_postgres::Error> {
    let run = format!("savepoint entries; {sql}\nrelease savepoint entries");
    let made = client.batch_execute(&run).await;
    if made.is_err() {
        let back = "rollback to savepoint entries; release savepoint entries";
        client.batch_execute(back).await?;
    }
    made
}

/// The schema of one database.
#[derive(Debug, Clone)]
pub(crate) struct DumpedSchema {
    pub(crate) entries: Vec<SchemaEntry>,
}

/// The database that is dumped.
#[derive(Clone, Copy)]
pub(crate) struct DumpSource<'a> {
    pub(crate) dsn: &'a Dsn,
    /// A session there, in a transaction with a snapshot of its own and an empty search path.
    pub(crate) client: &'a Connected,
    pub(crate) shard: &'a str,
}

/// Reads the schema of a database with the pg_dump of its server's version: all but privileges.
///
/// # Errors
/// `schema.dump` with what it said; `schema.archive` when its archive cannot be read.
pub(crate) async fn dump(
    dumped: DumpSource<'_>,
    tools: &Binaries,
) -> Result<DumpedSchema, StepError> {
    let listed = archive(dumped, tools).await?;
    let facts = facts(dumped, &listed).await?;
    let mut left = BTreeSet::new();
    let (mut pre, mut side_by_side, mut post) = (Vec::new(), Vec::new(), Vec::new());
    let mut sections = std::collections::BTreeMap::new();
    for (listed, facts) in listed.iter().zip(facts) {
        // Comments and the like stay behind with what they are about.
        let about_left =
            listed.object.is_none() && listed.depends_on.iter().any(|id| left.contains(id));
        if facts.is_ours || about_left || OF_THE_DATABASE.contains(&listed.kind.as_str()) {
            left.insert(listed.dump_id);
            continue;
        }
        let own = match listed.section {
            ArchiveSection::PreData => RestoreSection::Pre,
            ArchiveSection::PostData if facts.finds_rows => RestoreSection::Key,
            ArchiveSection::PostData => RestoreSection::Post,
            // Data of materialized views, which is refreshed.
            ArchiveSection::Data => continue,
            ArchiveSection::None => {
                let needed = listed.depends_on.iter();
                let needed = needed.filter_map(|id| sections.get(id)).max().copied();
                // Of what waits for a key the rest of the keys need nothing.
                match needed.unwrap_or(RestoreSection::Pre) {
                    RestoreSection::Key => RestoreSection::Post,
                    section @ (RestoreSection::Pre | RestoreSection::Post) => section,
                }
            }
        };
        sections.insert(listed.dump_id, own);
        let statements = statements(listed, &facts);
        if statements.is_empty() {
            continue;
        }
        let size = facts.index_bytes.filter(|_| own != RestoreSection::Pre);
        let entry = SchemaEntry {
            section: own,
            parallel: size.is_some(),
            label: label(listed),
            object: listed.object,
            statements,
        };
        match (own, size) {
            (RestoreSection::Pre, _) => pre.push(entry),
            (_, Some(size)) => side_by_side.push((size, entry)),
            (_, None) => post.push(entry),
        }
    }
    // The largest comes first, so that all streams end at about the same time.
    side_by_side.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
    let side_by_side = side_by_side.into_iter().map(|(_, entry)| entry);
    let entries = pre.into_iter().chain(side_by_side).chain(post).collect();
    Ok(DumpedSchema { entries })
}

/// `CONSTRAINT public accounts accounts_pkey`.
fn label(listed: &ArchiveEntry) -> String {
    let schema = match listed.schema.as_str() {
        "" => "-",
        schema => schema,
    };
    format!("{} {schema} {}", listed.kind, listed.tag)
}

/// The statements of an entry with the place where its object goes, and its owner.
fn statements(listed: &ArchiveEntry, facts: &EntryFacts) -> Vec<String> {
    let is_public = facts.identity.is_some()
        && listed.kind == "SCHEMA"
        && listed.object.is_some_and(|object| object.oid == PUBLIC);
    let mut statements = Vec::new();
    let definition = listed.definition.trim();
    if !definition.is_empty() && !is_public {
        let (mut before, mut after) = (String::new(), String::new());
        let method = listed.access_method.as_deref();
        let method = method.filter(|name| *name != HEAP);
        let stored = listed.relkind != Some(PARTITIONED);
        let places = [
            (
                "default_tablespace",
                Some(listed.tablespace.as_str()).filter(|name| !name.is_empty()),
            ),
            ("default_table_access_method", method.filter(|_| stored)),
        ];
        for (setting, value) in places {
            if let Some(value) = value {
                before.push_str(&format!("set local {setting} = {};\n", quote_ident(value)));
                after.push_str(&format!("\nreset {setting};"));
            }
        }
        statements.push(format!("{before}{definition}{after}"));
        if let (Some(method), Some(identity), false) = (method, &facts.identity, stored) {
            statements.push(format!(
                "alter table {identity} set access method {};",
                quote_ident(method)
            ));
        }
    }
    let owner = Some(listed.owner.as_str());
    let owner = owner.filter(|owner| !(owner.is_empty() || is_public && *owner == PUBLIC_OWNER));
    if let (Some(owner), Some(give)) = (owner, &facts.give)
        && OWNED.contains(&listed.kind.as_str())
    {
        statements.push(format!("{give}{};", quote_ident(owner)));
    }
    statements
}

/// Kinds of objects whose owner can be said, in pg_dump's words. Others have that of what they lie on.
const OWNED: [&str; 23] = [
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

/// What the catalog says of an entry's object.
#[derive(Debug, Default)]
struct EntryFacts {
    /// A statement that lacks the owner's name.
    give: Option<String>,
    identity: Option<String>,
    finds_rows: bool,
    /// Where the object is an index, or has one.
    index_bytes: Option<i64>,
    is_ours: bool,
}

async fn facts(
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
            give: row.get(0),
            identity: row.get(1),
            finds_rows: row.get(2),
            index_bytes: row.get(3),
            is_ours: row.get(4),
        })
        .collect())
}

/// Runs pg_dump in the snapshot of the client's transaction and reads its archive.
async fn archive(dumped: DumpSource<'_>, tools: &Binaries) -> Result<Vec<ArchiveEntry>, StepError> {
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
        .arg(format!("--snapshot={snapshot}"))
        .arg("--file")
        .arg(&file.0)
        .env("PGAPPNAME", "shardwright/schema");
    connect_by(&mut command, &resolved);
    run(&mut command, &format!("shard {shard}: pg_dump")).await?;
    let bytes = tokio::fs::read(&file.0).await;
    let bytes = bytes.at(format_args!("reading {}", file.0.display()))?;
    archive::read(&bytes).map_err(|error| {
        StepError::refused(
            "schema.archive",
            format!("shard {shard}: the schema that pg_dump wrote cannot be read: {error}"),
            "install a version of pg_dump from 15 to 18 that is the server's; or create the schema on the target and say `schema: existing`",
        )
    })
}

/// A file that is removed with it.
struct TemporaryFile(PathBuf);

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Tells libpq by variables where to connect: a command line can be read by every user.
fn connect_by(command: &mut Command, resolved: &Resolved) {
    for (name, value) in resolved.variables() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let own = resolved.options.as_deref().unwrap_or_default();
    let pinned = connect::pinned_options();
    command.env("PGOPTIONS", format!("{own} {pinned} {DUMP_OPTIONS}"));
}

async fn run(command: &mut Command, what: &str) -> Result<(), StepError> {
    let output = command
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .at(what)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().next().unwrap_or("no message");
    // A connection that broke is worth another try; everything else needs somebody.
    if said.contains("could not connect") || said.contains("connection to server") {
        return Err(StepError::passing(
            "schema.dump",
            format!("{what} failed: {first}"),
        ));
    }
    Err(StepError::refused(
        "schema.dump",
        format!("{what} failed: {first}"),
        "mend what it says, then `resume`",
    ))
}

//! The source's schema, taken with pg_dump and restored entry by entry.
//!
//! Order: everything of the pre-data section at once; primary keys after the copy; the rest of the
//! post-data section (indexes, constraints, foreign keys, triggers) after that.
//! The statements are kept on the target, so that a restart goes on where it stopped.
//! Our own schema, guards, publications and subscriptions are never carried over.

mod text;

use std::path::{Path, PathBuf};
use std::process::Stdio;

use cluster::Binaries;
use connect::{Dsn, Resolved};
use plans::names::SCHEMA;
use tokio::process::Command;
use tokio_postgres::Client;

use crate::error::{At, StepError};
use text::{is_ours, label_of, statement_of, stays_behind, without_maintain};

/// How many pg_restore run side by side, one for each entry.
const RESTORES: usize = 4;

/// What pg_dump's session has beside the settings of ours, behind those of the connection string.
const DUMP_OPTIONS: &str = "-c lock_timeout=10s";

/// The size of each index (`$1`: labels), 0 for one whose label does not name it.
const SIZES: &str = "select coalesce(pg_catalog.pg_relation_size(pg_catalog.to_regclass(pg_catalog.format('%I.%I',
                            pg_catalog.split_part(label, ' ', 2), pg_catalog.regexp_replace(label, '^.* ', '')))), 0)
                     from pg_catalog.unnest($1::text[]) with ordinality u (label, place) order by place";

/// When an entry is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Section {
    /// Before the copy.
    Pre,
    /// Right after the copy: the primary keys, or what else identifies rows, which apply needs.
    Key,
    /// After the copy and beside apply.
    Post,
}

impl Section {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pre => "pre",
            Self::Key => "key",
            Self::Post => "post",
        }
    }
}

/// One object of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) section: Section,
    /// Indexes and unique constraints can be built side by side.
    pub(crate) parallel: bool,
    /// Kind and name, for people.
    pub(crate) label: String,
    pub(crate) statement: String,
}

/// The schema of one database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Schema {
    pub(crate) entries: Vec<Entry>,
    /// Drops everything again, dependents first.
    pub(crate) drop_script: String,
}

impl Schema {
    /// Of what is built side by side the largest comes first, so that all streams end at about the same time; `client`
    /// is on the database that the schema is of.
    pub(crate) async fn put_largest_first(
        &mut self,
        client: &Client,
        shard: &str,
    ) -> Result<(), StepError> {
        let beside = |entry: &&mut Entry| entry.parallel;
        let mut slots: Vec<&mut Entry> = self.entries.iter_mut().filter(beside).collect();
        let labels: Vec<&str> = slots.iter().map(|entry| entry.label.as_str()).collect();
        let rows = client
            .query(SIZES, &[&labels])
            .await
            .at(format_args!("shard {shard}: reading the sizes of indexes"))?;
        let sizes = rows.iter().map(|row| row.get::<_, i64>(0));
        let mut sized: Vec<(i64, Entry)> = sizes.zip(slots.iter().map(|e| (**e).clone())).collect();
        sized.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
        for (slot, (_, entry)) in slots.iter_mut().zip(sized) {
            **slot = entry;
        }
        Ok(())
    }

    /// Leaves the privilege MAINTAIN out of the grants that pg_dump gives, for a target that does not know it.
    pub(crate) fn forget_maintain(&mut self) {
        let grants = |entry: &&mut Entry| {
            entry.label.starts_with("ACL ") || entry.label.starts_with("DEFAULT ACL ")
        };
        for entry in self.entries.iter_mut().filter(grants) {
            entry.statement = without_maintain(&entry.statement);
        }
        self.entries.retain(|entry| !entry.statement.is_empty());
    }
}

/// Reads the schema of the database behind `dsn` with pg_dump and pg_restore of its server's version.
///
/// # Errors
/// `schema.dump` with what they said.
pub(crate) async fn dump(dsn: &Dsn, tools: &Binaries, shard: &str) -> Result<Schema, StepError> {
    let archive = Archive::create(dsn, tools, shard).await?;
    let mut entries = Vec::new();
    for (section, option) in [(Section::Pre, "pre-data"), (Section::Post, "post-data")] {
        let lines = archive.list(option).await?;
        for some in lines.chunks(RESTORES) {
            let read: Vec<_> = some
                .iter()
                .map(|line| archive.entry(section, line))
                .collect();
            let read = futures::future::try_join_all(read).await?;
            entries.extend(read.into_iter().flatten());
        }
    }
    build_later(&mut entries);
    let drop_script = archive.drop_script().await?;
    Ok(Schema {
        entries,
        drop_script,
    })
}

/// The table whose replica identity becomes the index that the statement builds.
fn identity_of(statement: &str) -> Option<&str> {
    let mut lines = statement.lines();
    lines.find_map(|line| {
        let (table, _) = line.split_once(" REPLICA IDENTITY USING INDEX ")?;
        table.strip_prefix("ALTER TABLE ONLY ")
    })
}

/// A primary key that is not what finds rows is one unique index among others: rows of units that were copied at
/// different times can meet in it.
fn build_later(entries: &mut [Entry]) {
    let found: Vec<String> = entries
        .iter()
        .filter_map(|entry| identity_of(&entry.statement))
        .map(|table| format!("ALTER TABLE ONLY {table}"))
        .collect();
    for entry in entries.iter_mut() {
        let other = identity_of(&entry.statement).is_none()
            && entry
                .statement
                .lines()
                .any(|line| found.iter().any(|table| line == table));
        if entry.section == Section::Key && other {
            entry.section = Section::Post;
        }
    }
}

/// The tables that a drop script drops, as SQL names them.
pub(crate) fn dropped_tables(script: &str) -> Vec<&str> {
    let lines = script.lines();
    let names = lines.filter_map(|line| line.strip_prefix("DROP TABLE IF EXISTS "));
    names.filter_map(|name| name.strip_suffix(';')).collect()
}

/// A dump in a temporary file that is removed with it.
struct Archive {
    file: PathBuf,
    restore: PathBuf,
}

impl Drop for Archive {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

impl Archive {
    async fn create(dsn: &Dsn, tools: &Binaries, shard: &str) -> Result<Self, StepError> {
        let resolved = dsn.resolve().at(format_args!("shard {shard}"))?;
        let archive = Self {
            file: std::env::temp_dir().join(format!("shardwright-{}.dump", uuid::Uuid::new_v4())),
            restore: tools.path("pg_restore"),
        };
        let mut command = Command::new(tools.path("pg_dump"));
        command
            .args([
                "--format=custom",
                "--schema-only",
                "--no-publications",
                "--no-subscriptions",
            ])
            .arg(format!("--exclude-schema={SCHEMA}"))
            .arg("--file")
            .arg(&archive.file)
            .env("PGAPPNAME", "shardwright/schema");
        connect_by(&mut command, &resolved);
        run(&mut command, &format!("shard {shard}: pg_dump")).await?;
        Ok(archive)
    }

    /// The lines of the table of contents for one section.
    async fn list(&self, section: &str) -> Result<Vec<String>, StepError> {
        let mut command = Command::new(&self.restore);
        command
            .arg("--list")
            .arg(format!("--section={section}"))
            .arg(&self.file);
        let text = run(&mut command, "pg_restore --list").await?;
        Ok(text
            .lines()
            .filter(|line| !line.starts_with(';') && !line.trim().is_empty())
            .map(str::to_owned)
            .collect())
    }

    /// The statement behind one line; `None` for what is ours or stands in every database.
    async fn entry(&self, section: Section, line: &str) -> Result<Option<Entry>, StepError> {
        let label = label_of(line);
        if stays_behind(&label) {
            return Ok(None);
        }
        let statement = self.statement(line).await?;
        if statement.is_empty() {
            return Ok(None);
        }
        let primary = section == Section::Post
            && (label.starts_with("CONSTRAINT ") && statement.contains(" PRIMARY KEY ")
                || identity_of(&statement).is_some());
        // An index is attached to that of the table above once both are there.
        let parallel = section == Section::Post
            && ["INDEX ", "CONSTRAINT "]
                .iter()
                .any(|kind| label.starts_with(kind))
            && !label.starts_with("INDEX ATTACH ");
        Ok(Some(Entry {
            section: if primary { Section::Key } else { section },
            parallel,
            label,
            statement,
        }))
    }

    async fn statement(&self, line: &str) -> Result<String, StepError> {
        let list = ListFile::write(line)?;
        let mut command = Command::new(&self.restore);
        command
            .arg("--use-list")
            .arg(&list.0)
            .args(["--file", "-"])
            .arg(&self.file);
        let text = run(&mut command, "pg_restore").await?;
        Ok(statement_of(&text))
    }

    /// Indexes and the constraints of one table go with their table: those of a partition cannot go by themselves.
    async fn drop_script(&self) -> Result<String, StepError> {
        let mut lines = Vec::new();
        for section in ["pre-data", "post-data"] {
            lines.extend(self.list(section).await?);
        }
        let kinds = ["INDEX ", "CONSTRAINT ", "CHECK CONSTRAINT "];
        lines.retain(|line| !kinds.iter().any(|kind| label_of(line).starts_with(kind)));
        let list = ListFile::write(&lines.join("\n"))?;
        let mut command = Command::new(&self.restore);
        command
            .arg("--use-list")
            .arg(&list.0)
            .args(["--clean", "--if-exists", "--file", "-"])
            .arg(&self.file);
        let text = run(&mut command, "pg_restore --clean").await?;
        let drops: Vec<&str> = text
            .lines()
            .take_while(|line| !line.starts_with("-- Name: "))
            .filter(|line| line.starts_with("DROP ") || line.starts_with("ALTER "))
            .filter(|line| !is_ours(line) && !line.contains("SCHEMA IF EXISTS public"))
            .collect();
        Ok(drops.join("\n"))
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

/// Lines of a table of contents as a file, for `--use-list`.
struct ListFile(PathBuf);

impl ListFile {
    fn write(lines: &str) -> Result<Self, StepError> {
        let path = std::env::temp_dir().join(format!("shardwright-{}.list", uuid::Uuid::new_v4()));
        write_file(&path, lines)?;
        Ok(Self(path))
    }
}

impl Drop for ListFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn write_file(path: &Path, lines: &str) -> Result<(), StepError> {
    std::fs::write(path, format!("{lines}\n")).at(format_args!("writing {}", path.display()))
}

async fn run(command: &mut Command, what: &str) -> Result<String, StepError> {
    let output = command
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .at(what)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_primary_key_waits_where_another_index_finds_rows() {
        let entry = |statement: &str| Entry {
            section: Section::Key,
            parallel: true,
            label: "CONSTRAINT".to_owned(),
            statement: statement.to_owned(),
        };
        let mut entries = [
            entry("ALTER TABLE ONLY public.a\n    ADD CONSTRAINT a_pkey PRIMARY KEY (id);"),
            entry("ALTER TABLE ONLY public.b\n    ADD CONSTRAINT b_pkey PRIMARY KEY (id);"),
            entry(
                "CREATE UNIQUE INDEX i ON public.a USING btree (x);\n\nALTER TABLE ONLY public.a REPLICA IDENTITY USING INDEX i;",
            ),
        ];
        build_later(&mut entries);
        let sections = entries.map(|entry| entry.section);
        assert_eq!(sections, [Section::Post, Section::Key, Section::Key]);
    }

    #[test]
    fn a_script_says_which_tables_it_drops() {
        let script = "ALTER TABLE IF EXISTS ONLY public.a DROP CONSTRAINT IF EXISTS a_pkey;\nDROP INDEX IF EXISTS public.i;\nDROP TABLE IF EXISTS public.\"A; b\";\nDROP TABLE IF EXISTS public.a;\nDROP SCHEMA IF EXISTS shop;";
        assert_eq!(dropped_tables(script), ["public.\"A; b\"", "public.a"]);
    }
}

//! The source's schema, taken with pg_dump and restored entry by entry.
//!
//! Order: everything of the pre-data section at once; primary keys after the copy; the rest of the
//! post-data section (indexes, constraints, foreign keys, triggers) after that.
//! The statements are kept on the target, so that a restart goes on where it stopped.
//! Our own schema, guards, publications and subscriptions are never carried over.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use cluster::Binaries;
use connect::Dsn;
use plans::names::{SCHEMA, TRIGGER_PREFIX};
use tokio::process::Command;

use crate::error::{At, StepError};

/// When an entry is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    /// Before the copy.
    Pre,
    /// Right after the copy: the primary keys, which apply needs.
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

/// Reads the schema of the database behind `dsn`.
///
/// # Errors
/// `schema.dump` with what pg_dump said; `schema.tools` when it is not installed.
pub(crate) async fn dump(dsn: &Dsn, shard: &str) -> Result<Schema, StepError> {
    let tools = Binaries::find(None).map_err(|error| {
        StepError::refused(
            "schema.tools",
            format!("pg_dump was not found: {error}"),
            error
                .hint()
                .unwrap_or("install the PostgreSQL client programs"),
        )
    })?;
    let archive = Archive::create(dsn, &tools, shard).await?;
    let mut entries = Vec::new();
    for (section, option) in [(Section::Pre, "pre-data"), (Section::Post, "post-data")] {
        for line in archive.list(option).await? {
            if let Some(entry) = archive.entry(section, &line).await? {
                entries.push(entry);
            }
        }
    }
    let drop_script = archive.drop_script().await?;
    Ok(Schema {
        entries,
        drop_script,
    })
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
            .env("PGHOST", &resolved.host)
            .env("PGPORT", resolved.port.to_string())
            .env("PGUSER", &resolved.user)
            .env("PGDATABASE", &resolved.dbname)
            .env("PGAPPNAME", "shardwright/schema")
            .env("PGOPTIONS", "-c statement_timeout=0 -c lock_timeout=10s");
        if let Some(password) = &resolved.password {
            command.env("PGPASSWORD", password);
        }
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
        if label.contains(TRIGGER_PREFIX) || label == "SCHEMA - public" {
            return Ok(None);
        }
        let statement = self.statement(line).await?;
        if statement.is_empty() {
            return Ok(None);
        }
        let primary = section == Section::Post
            && label.starts_with("CONSTRAINT ")
            && statement.contains(" PRIMARY KEY ");
        let parallel = section == Section::Post
            && ["INDEX ", "CONSTRAINT "]
                .iter()
                .any(|kind| label.starts_with(kind));
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
        Ok(without_preamble(&text))
    }

    async fn drop_script(&self) -> Result<String, StepError> {
        let mut command = Command::new(&self.restore);
        command
            .args(["--clean", "--if-exists", "--file", "-"])
            .arg(&self.file);
        let text = run(&mut command, "pg_restore --clean").await?;
        let drops: Vec<&str> = text
            .lines()
            .take_while(|line| !line.starts_with("-- Name: "))
            .filter(|line| line.starts_with("DROP ") || line.starts_with("ALTER "))
            .filter(|line| {
                !line.contains(TRIGGER_PREFIX) && !line.contains("SCHEMA IF EXISTS public")
            })
            .collect();
        Ok(drops.join("\n"))
    }
}

/// One line of a table of contents as a file, for `--use-list`.
struct ListFile(PathBuf);

impl ListFile {
    fn write(line: &str) -> Result<Self, StepError> {
        let path = std::env::temp_dir().join(format!("shardwright-{}.list", uuid::Uuid::new_v4()));
        write_file(&path, line)?;
        Ok(Self(path))
    }
}

impl Drop for ListFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn write_file(path: &Path, line: &str) -> Result<(), StepError> {
    std::fs::write(path, format!("{line}\n")).at(format_args!("writing {}", path.display()))
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

/// `2871; 2606 16391 CONSTRAINT public accounts accounts_pkey postgres` -> from the kind on, without owner.
fn label_of(line: &str) -> String {
    let mut words = line.split(' ').skip(3).collect::<Vec<_>>();
    words.pop();
    words.join(" ")
}

/// The statements without comments on top and without the settings that pg_restore puts first.
fn without_preamble(text: &str) -> String {
    let body: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("-- Name: "))
        .skip(1)
        .take_while(|line| *line != "-- PostgreSQL database dump complete")
        .collect();
    let body = body.join("\n");
    body.trim()
        .trim_start_matches("--")
        .trim_end_matches("--")
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_kind_and_name() {
        let line = "2871; 2606 16391 CONSTRAINT public accounts accounts_pkey postgres";
        assert_eq!(label_of(line), "CONSTRAINT public accounts accounts_pkey");
    }

    #[test]
    fn a_script_says_which_tables_it_drops() {
        let script = "ALTER TABLE IF EXISTS ONLY public.a DROP CONSTRAINT IF EXISTS a_pkey;\nDROP INDEX IF EXISTS public.i;\nDROP TABLE IF EXISTS public.\"A; b\";\nDROP TABLE IF EXISTS public.a;\nDROP SCHEMA IF EXISTS shop;";
        assert_eq!(dropped_tables(script), ["public.\"A; b\"", "public.a"]);
    }

    #[test]
    fn the_statement_is_what_stands_between_the_comments() {
        let text = "--\n-- PostgreSQL database dump\n--\nSET x = 1;\n--\n-- Name: t; Type: TABLE; Schema: public; Owner: -\n--\n\nCREATE TABLE public.t (\n    a bigint\n);\n\n\n--\n-- PostgreSQL database dump complete\n--\n\n";
        assert_eq!(
            without_preamble(text),
            "CREATE TABLE public.t (\n    a bigint\n);"
        );
    }
}

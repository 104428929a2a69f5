//! Copies a whole database with its indexes and foreign keys with pgcopydb, if it is installed.

use super::database::Database;
use anyhow::bail;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns whether pgcopydb is installed.
pub(crate) fn is_installed() -> bool {
    let version = Command::new("pgcopydb")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    version.is_ok_and(|status| status.success())
}

/// Clones the database with four jobs for tables and two for indexes. `folder` is for the files of pgcopydb.
pub(crate) fn clone(source: &Database, target: &Database, folder: &Path) -> anyhow::Result<()> {
    let output = Command::new("pgcopydb")
        .args(["clone", "--table-jobs", "4", "--index-jobs", "2"])
        .args([
            "--no-owner",
            "--no-acl",
            "--restart",
            "--source",
            &source.uri(),
        ])
        .args(["--target", &target.uri()])
        .arg("--dir")
        .arg(folder.join("pgcopydb"))
        .env("PATH", with_programs_of(source))
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        bail!("pgcopydb: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

/// Returns a `PATH` that begins with the server's programs, because pgcopydb searches pg_dump in `PATH`.
fn with_programs_of(database: &Database) -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{}:{path}", database.server.binaries().dir().display())
}

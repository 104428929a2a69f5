//! pgcopydb, where it is installed: a whole database with its indexes and foreign keys.

use super::place::Place;
use anyhow::bail;
use std::path::Path;
use std::process::{Command, Stdio};

/// Whether it can be run here.
pub(crate) fn is_installed() -> bool {
    let version = Command::new("pgcopydb")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    version.is_ok_and(|status| status.success())
}

/// Clones everything with four jobs for tables and two for indexes.
pub(crate) fn clone(source: &Place, target: &Place, folder: &Path) -> anyhow::Result<()> {
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

/// It looks for pg_dump where commands are looked for.
fn with_programs_of(place: &Place) -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{}:{path}", place.server.binaries().dir().display())
}

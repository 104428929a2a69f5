//! `shardwright doctor`: reports what prevents a move, and how to fix it. Changes nothing.

mod text;

use super::client::Client;
use super::document::DocumentKind;
use super::error::{CliError, DEFECTS, REFUSED};
use super::files::write_or_print;
use super::output::{Output, json};
use crate::cli::out::report;
use crate::controller::{Diagnosis, DoctorRequest};
use clap::Args;
use plans::doctor::{ShardDatabase, find, script};
use plans::id::{MapName, ShardName};
use std::path::{Path, PathBuf};

/// What to examine: by default every shard.
#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// A request, as for `plan`: examine its shards and each of its moves; `-` is stdin.
    #[arg(conflicts_with_all = ["shard", "map"])]
    request: Option<PathBuf>,
    /// Examine only this shard.
    #[arg(long)]
    shard: Option<String>,
    /// Examine only the shards and tables of this map.
    #[arg(long)]
    map: Option<String>,
    /// Explain a code, for example SW0411, and examine nothing.
    #[arg(long, value_name = "CODE", conflicts_with_all = ["request", "shard", "map"])]
    explain: Option<String>,
    /// Write a script for psql with the statements that fix the findings; `-` is stdout, and nothing else is printed.
    #[arg(long, value_name = "FILE", conflicts_with = "explain")]
    script: Option<PathBuf>,
    /// Let the script also delete rows: those whose foreign key refers to no row.
    #[arg(long, requires = "script")]
    deletes: bool,
    #[command(flatten)]
    output: Output,
}

impl Doctor {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        if let Some(code) = &self.explain {
            let row =
                find(code).ok_or_else(|| CliError::Usage(format!("there is no code {code}")))?;
            super::out::print(row.chapter());
            return Ok(0);
        }
        let request = DoctorRequest {
            shard: self.shard.map(ShardName),
            map: self.map.map(MapName),
            request: self
                .request
                .as_deref()
                .map(|path| DocumentKind::Request.read(path))
                .transpose()?,
        };
        let diagnosis: Diagnosis = client.post("/api/v1/doctor", json(&request)?).await?;
        match self.script.as_deref() {
            Some(file) => {
                if file != Path::new("-") {
                    self.output.print(&diagnosis, text::of)?;
                }
                write_script(&diagnosis, self.deletes, file)?;
            }
            None => {
                self.output.print(&diagnosis, text::of)?;
                offer_script(&diagnosis);
            }
        }
        for shard in &diagnosis.standbys {
            report!("not examined: shard {shard} is a standby and owns no keys");
        }
        for failed in &diagnosis.failed {
            let names: Vec<_> = failed.shards.iter().map(ToString::to_string).collect();
            report!(
                "not examined: shard {}: {}",
                names.join(" and "),
                failed.message
            );
            if let Some(hint) = &failed.hint {
                report!("    {hint}");
            }
        }
        Ok(match (diagnosis.refused, diagnosis.failed.is_empty()) {
            (0, true) => 0,
            (0, false) => DEFECTS,
            (_, _) => REFUSED,
        })
    }
}

/// Writes the script that fixes the findings.
fn write_script(diagnosis: &Diagnosis, deletes: bool, file: &Path) -> Result<(), CliError> {
    let databases: Vec<ShardDatabase<'_>> = diagnosis
        .shards
        .iter()
        .map(|examined| ShardDatabase {
            shard: &examined.shard,
            identity: examined.identity.as_ref(),
        })
        .collect();
    let findings: Vec<_> = diagnosis.findings().collect();
    let script = script(&databases, &findings, deletes);
    let path = Some(file).filter(|file| *file != Path::new("-"));
    write_or_print(path, &script.text)?;
    report!(
        "the script fixes {} findings; its end lists {} more, which you have to fix",
        script.covered,
        script.left + script.withheld
    );
    if script.withheld > 0 {
        report!(
            "the fixes for {} of these delete rows: --deletes adds them to the script",
            script.withheld
        );
    }
    Ok(())
}

/// Prints how to get the statements, if there are any.
fn offer_script(diagnosis: &Diagnosis) {
    let with_fix = diagnosis.findings().filter(|finding| finding.fix.is_some());
    let number = with_fix.count();
    if number > 0 {
        report!("SQL fixes {number} of the findings: --script FILE writes it");
    }
}

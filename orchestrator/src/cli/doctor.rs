//! `shardwright doctor`: what stands in the way of a move, with what mends it; nothing is changed.

use super::client::Client;
use super::error::{CliError, DEFECTS, REFUSED};
use super::files::read;
use super::output::{Output, json};
use crate::cli::out::say;
use crate::controller::{Diagnosis, DoctorAsk};
use clap::Args;
use plans::doctor::{count, find};
use plans::failure::{Finding, Severity};
use plans::id::{MapName, ShardName};
use std::fmt::Write;
use std::path::PathBuf;

/// What to examine; without anything every shard.
#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// A request as `plan` takes it: its shards, and each of its moves; `-` is stdin.
    #[arg(conflicts_with_all = ["shard", "map"])]
    request: Option<PathBuf>,
    /// This shard only.
    #[arg(long)]
    shard: Option<String>,
    /// The shards and the tables of this map only.
    #[arg(long)]
    map: Option<String>,
    /// Say what a code means, for example SW0411; nothing is examined.
    #[arg(long, value_name = "CODE", conflicts_with_all = ["request", "shard", "map"])]
    explain: Option<String>,
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
        let ask = DoctorAsk {
            shard: self.shard.map(ShardName),
            map: self.map.map(MapName),
            request: self.request.as_deref().map(read).transpose()?,
        };
        let found: Diagnosis = client.post("/api/v1/doctor", json(&ask)?).await?;
        self.output.print(&found, text)?;
        for failed in &found.failed {
            let names: Vec<_> = failed.shards.iter().map(ToString::to_string).collect();
            say!(
                "not examined: shard {}: {}",
                names.join(" and "),
                failed.message
            );
            if let Some(hint) = &failed.hint {
                say!("    {hint}");
            }
        }
        Ok(match (found.refused, found.failed.is_empty()) {
            (0, true) => 0,
            (0, false) => DEFECTS,
            (_, _) => REFUSED,
        })
    }
}

fn text(found: &Diagnosis) -> String {
    let mut text = String::new();
    for shard in &found.shards {
        let head = format!("shard {}, {} tables", shard.shard, shard.tables);
        section(
            &mut text,
            &head,
            &shard.findings,
            &format!("shard {}, ", shard.shard),
        );
    }
    for m in &found.moves {
        let head = format!("from {} to {}", m.source, m.target);
        section(&mut text, &head, &m.findings, "");
    }
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{} refused, {} warnings, {} notes",
        found.refused, found.warnings, found.notes
    );
    if found.refused + found.warnings + found.notes > 0 {
        text += "shardwright doctor --explain CODE tells more of each\n";
    }
    text
}

/// What was found of one shard or move; `object` is left out of each object's name.
fn section(text: &mut String, head: &str, findings: &[Finding], object: &str) {
    let counted = [
        (Severity::Refused, "refused"),
        (Severity::Warning, "warnings"),
        (Severity::Note, "notes"),
    ]
    .map(|(severity, word)| (count(findings, severity), word));
    let counted = counted.iter().filter(|(number, _)| *number > 0);
    let counted: Vec<String> = counted
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    let sum = if counted.is_empty() {
        "nothing found".to_owned()
    } else {
        counted.join(", ")
    };
    let _ = writeln!(text, "{head}: {sum}");
    for finding in findings {
        let severity = match finding.severity {
            Severity::Refused => "refused",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let named = finding
            .object
            .strip_prefix(object)
            .unwrap_or(&finding.object);
        let _ = writeln!(text, "  {severity:<7}  {}  {named}", finding.sw);
        let _ = writeln!(text, "           {}", finding.problem);
        let _ = writeln!(text, "           mend: {}", finding.remedy);
    }
    text.push('\n');
}

//! `shardwright plan` and `shardwright apply`.

use super::client::Client;
use super::error::CliError;
use super::output::{Format, Output, json};
use crate::view::MigrationView;
use clap::Args;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Make a plan.
#[derive(Debug, Args)]
pub(super) struct Plan {
    /// The request, YAML or JSON; `-` is stdin.
    request: PathBuf,
    /// Write the plan to this file; `shardwright apply` takes it.
    #[arg(short = 'o', long = "out", value_name = "PLAN")]
    out: Option<PathBuf>,
    /// Form of what is printed.
    #[arg(long = "output", value_enum, default_value_t)]
    output: Format,
}

/// Submit a plan.
#[derive(Debug, Args)]
pub(super) struct Apply {
    /// The plan's file; `-` is stdin.
    plan: PathBuf,
    #[command(flatten)]
    output: Output,
}

impl Plan {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let text = read(&self.request)?;
        let planned = client.post("/api/v1/plans", text).await;
        let plan: plans::plan::Plan = planned.inspect_err(tell_findings)?;
        let document = json(&plan)?;
        if let Some(path) = &self.out {
            std::fs::write(path, format!("{document}\n")).map_err(|source| CliError::File {
                action: "write",
                path: path.clone(),
                source,
            })?;
        }
        match self.output {
            Format::Json => println!("{document}"),
            Format::Table => print!("{}", plans::render::plan_text(&plan)),
        }
        if let Some(path) = &self.out {
            eprintln!("submit it with: shardwright apply {}", path.display());
        }
        Ok(0)
    }
}

impl Apply {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let text = read(&self.plan)?;
        let view: MigrationView = client.post("/api/v1/migrations", text).await?;
        eprintln!("follow it with: shardwright watch {}", view.summary.id);
        self.output
            .print(&view, |view| format!("{}\n", view.summary.id))
    }
}

/// What must be mended, one after the other.
fn tell_findings(error: &CliError) {
    let CliError::Problem(problem) = error else {
        return;
    };
    for finding in &problem.findings {
        eprintln!("refused: {}: {}", finding.object, finding.problem);
        eprintln!("    {}", finding.remedy);
    }
}

fn read(path: &Path) -> Result<String, CliError> {
    let text = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    text.map_err(|source| CliError::File {
        action: "read",
        path: path.to_owned(),
        source,
    })
}

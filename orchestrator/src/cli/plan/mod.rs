//! `shardwright plan` and `shardwright apply`.

mod build;
mod flags;

use super::client::Client;
use super::consent::DryRun;
use super::error::CliError;
use super::files::{read, write, write_or_print, yaml};
use super::output::{LongOutput, Output, json};
use crate::cli::out::say;
use crate::view::OperationView;
use clap::Args;
use flags::{Flags, Operation};
use std::path::PathBuf;

/// Make a plan of a request, or of flags.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct Plan {
    #[command(subcommand)]
    operation: Option<Operation>,
    /// The request, YAML or JSON; `-` is stdin.
    #[arg(required = true)]
    request: Option<PathBuf>,
    #[command(flatten)]
    print: Print,
}

/// What becomes of a plan.
#[derive(Debug, Args)]
pub(super) struct Print {
    /// Write the plan to this file; `shardwright apply` takes it.
    #[arg(short = 'o', long = "out", value_name = "PLAN")]
    out: Option<PathBuf>,
    #[command(flatten)]
    output: LongOutput,
}

/// Submit a plan.
#[derive(Debug, Args)]
pub(super) struct Apply {
    /// The plan's file; `-` is stdin.
    plan: PathBuf,
    /// Also when other migrations move some of its keys, or have changed the map: it waits for them.
    #[arg(long)]
    queue: bool,
    #[command(flatten)]
    dry: DryRun,
    #[command(flatten)]
    output: Output,
}

impl Plan {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let (text, print) = match self.operation {
            None => (read(&self.request.unwrap_or_default())?, self.print),
            Some(operation) => {
                let Flags { request, print, .. } = operation.flags();
                let only_request = *request;
                let print = Print {
                    out: print.out.clone(),
                    output: print.output,
                };
                let request = operation.build(client).await?;
                if only_request {
                    write_or_print(print.out.as_deref(), &yaml(&request)?)?;
                    return Ok(0);
                }
                (json(&request)?, print)
            }
        };
        print.plan(client, text).await
    }
}

impl Print {
    async fn plan(self, client: &Client, request: String) -> Result<u8, CliError> {
        let planned = client.post("/api/v1/plans", request).await;
        let plan: plans::plan::Plan = planned.inspect_err(report_findings)?;
        let document = json(&plan)?;
        if let Some(path) = &self.out {
            write(path, &format!("{document}\n"))?;
        }
        Output::from(self.output).print(&plan, plans::render::plan_text)?;
        if let Some(path) = &self.out {
            say!("submit it with: shardwright apply {}", path.display());
        }
        Ok(0)
    }
}

impl Apply {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let text = read(&self.plan)?;
        if self.dry.is_dry() {
            let plan: plans::plan::Plan = serde_json::from_str(&text)
                .map_err(|error| CliError::Usage(format!("the plan cannot be read: {error}")))?;
            self.dry.goes_on(&plans::render::plan_text(&plan));
            return Ok(0);
        }
        let path = format!("/api/v1/operations?queue={}", self.queue);
        let view: OperationView = client.post(&path, text).await?;
        say!("follow it with: shardwright watch {}", view.id);
        self.output.print(&view, |view| format!("{}\n", view.id))
    }
}

/// What must be fixed, one after the other, and how to get the statements.
fn report_findings(error: &CliError) {
    let CliError::Problem(problem) = error else {
        return;
    };
    for finding in &problem.findings {
        let code = Some(&finding.sw).filter(|sw| !sw.is_empty());
        let code = code.unwrap_or(&finding.code);
        say!("refused: {code}: {}: {}", finding.object, finding.problem);
        say!("    {}", finding.remedy);
    }
    let with_fix = problem.findings.iter().filter(|f| f.fix.is_some());
    let number = with_fix.count();
    if number > 0 {
        say!("SQL fixes {number} of these: shardwright doctor REQUEST --script FILE writes it");
    }
}

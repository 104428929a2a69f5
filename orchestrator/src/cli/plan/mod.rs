//! `shardwright plan` and `shardwright apply`.

mod build;
mod flags;

use super::client::Client;
use super::consent::DryRun;
use super::document::DocumentKind;
use super::error::CliError;
use super::files::{write, write_or_print, yaml};
use super::output::{LongOutput, Output, StyledText, json};
use super::preview;
use crate::cli::out::report;
use crate::view::{OperationView, Tone};
use clap::Args;
use flags::{Flags, OperationArgs};
use plans::failure::Severity;
use plans::render::{plan_summary, plan_text};
use std::path::PathBuf;

const SEVERITIES: [Severity; 3] = [Severity::Refused, Severity::Warning, Severity::Note];

/// Create a plan from a request, or from flags.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct Plan {
    #[command(subcommand)]
    operation: Option<OperationArgs>,
    /// The request, YAML or JSON; `-` is stdin.
    #[arg(required = true)]
    request: Option<PathBuf>,
    #[command(flatten)]
    print: Print,
}

/// Where the plan is written, and in which format.
#[derive(Debug, Args)]
pub(super) struct Print {
    /// Write the plan to this file, for `shardwright apply`.
    #[arg(short = 'o', long = "out", value_name = "PLAN")]
    out: Option<PathBuf>,
    #[command(flatten)]
    output: LongOutput,
}

/// Submit a plan.
#[derive(Debug, Args)]
pub(super) struct ApplyArgs {
    /// The file with the plan; `-` is stdin.
    plan: PathBuf,
    /// Accept the plan even if other migrations move some of its keys or have changed the map; it waits for them.
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
            None => {
                let path = self.request.unwrap_or_default();
                (DocumentKind::Request.read(&path)?, self.print)
            }
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
    /// Creates the plan, and prints or writes it.
    async fn plan(self, client: &Client, request: String) -> Result<u8, CliError> {
        let plan: plans::plan::Plan = client.post("/api/v1/plans", request).await?;
        let document = json(&plan)?;
        if let Some(path) = &self.out {
            write(path, &format!("{document}\n"))?;
        }
        let output = Output::from(self.output);
        let text = match output.is_wide() {
            true => plan_text,
            false => plan_summary,
        };
        output.print(&plan, |plan| with_tones(&text(plan)))?;
        if !output.is_wide() && !output.is_for_programs() {
            report!("steps, locks and each table: --output wide");
        }
        if let Some(path) = &self.out {
            report!("submit it with: shardwright apply {}", path.display());
        }
        Ok(0)
    }
}

/// Returns the text of a plan with the severity of each finding in its colour.
fn with_tones(text: &str) -> StyledText {
    let mut styled = StyledText::default();
    for line in text.split_inclusive('\n') {
        // A finding is indented by two spaces, and its severity is the first word.
        let finding = line.strip_prefix("  ").and_then(|line| {
            let (word, rest) = line.split_once(": ")?;
            let severity = SEVERITIES.into_iter().find(|s| s.name() == word)?;
            Some((severity, rest))
        });
        match finding {
            Some((severity, rest)) => {
                styled += "  ";
                styled.push_toned(severity.name(), Tone::of_finding(severity));
                styled += ": ";
                styled += rest;
            }
            None => styled += line,
        }
    }
    styled
}

impl ApplyArgs {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let text = DocumentKind::Plan.read(&self.plan)?;
        if self.dry.is_dry() {
            let plan = preview::plan(client, &text, self.queue).await?;
            self.dry.proceed_or_print(&plan_summary(&plan));
            return Ok(0);
        }
        let path = format!("/api/v1/operations?queue={}", self.queue);
        let view: OperationView = client.post(&path, text).await?;
        report!("follow it with: shardwright watch {}", view.id);
        self.output.print(&view, |view| format!("{}\n", view.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_severity_of_a_finding_has_a_colour() {
        let text =
            "Notes\n  note that\nFindings\n  refused: table a: no key\n      warning: later\n";
        let styled = with_tones(text);
        let expected = text.replace("refused", "\x1b[1m\x1b[31mrefused\x1b[0m");
        assert_eq!(styled.as_str(), expected);
    }
}

//! `shardwright report`: prints the report of an operation or a migration.

use super::client::Client;
use super::error::CliError;
use super::files::write_or_print;
use super::out::escape_control;
use super::output::Output;
use crate::report::{OperationReport, ReportFormat};
use clap::Args;
use std::path::PathBuf;

/// Print the report of an operation or a migration.
#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// The operation or migration.
    id: String,
    /// The format: md (Markdown), html (one file) or json. By default md if the report is printed, and html with --to.
    #[arg(long = "format", value_name = "FORMAT", value_parser = form)]
    form: Option<ReportFormat>,
    /// Write the report to this file.
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

fn form(name: &str) -> Result<ReportFormat, String> {
    match name {
        "md" => Ok(ReportFormat::Md),
        "html" => Ok(ReportFormat::Html),
        "json" => Ok(ReportFormat::Json),
        other => Err(format!("{other:?} is not md, html or json")),
    }
}

impl ReportArgs {
    pub(super) async fn run(self, client: &Client) -> Result<u8, CliError> {
        let path = format!("/api/v1/operations/{}/report", self.id);
        let default = match (&self.to, self.output.is_for_programs()) {
            (Some(_), _) => Some(ReportFormat::Html),
            (None, true) => None,
            (None, false) => Some(ReportFormat::Md),
        };
        let Some(format) = self.form.or(default) else {
            let report: OperationReport = client.get(&path).await?;
            return self.output.print(&report, |_| String::new());
        };
        let name = match format {
            ReportFormat::Json => "json",
            ReportFormat::Md => "md",
            ReportFormat::Html => "html",
        };
        let text = client.text(&format!("{path}?format={name}")).await?;
        match (&self.to, format) {
            (None, ReportFormat::Md) => super::out::print(escape_control(&text).as_ref()),
            (to, _) => write_or_print(to.as_deref(), &text)?,
        }
        Ok(0)
    }
}

//! `shardwright report`: the evidence of an operation or a migration.

use super::client::Client;
use super::error::CliError;
use super::files::write_or_print;
use super::out::harmless;
use super::output::Output;
use crate::report::{OperationReport, ReportFormat};
use clap::Args;
use std::path::PathBuf;

/// Print the evidence of an operation or a migration.
#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// The operation or migration.
    id: String,
    /// As Markdown, as one HTML file, or as JSON; without it Markdown is printed, and HTML is written to a file.
    #[arg(long = "format", value_name = "FORMAT", value_parser = form)]
    form: Option<ReportFormat>,
    /// Write it to this file.
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
        let usual = match (&self.to, self.output.is_for_programs()) {
            (Some(_), _) => Some(ReportFormat::Html),
            (None, true) => None,
            (None, false) => Some(ReportFormat::Md),
        };
        let Some(format) = self.form.or(usual) else {
            let report: OperationReport = client.get(&path).await?;
            return self.output.print(&report, |_| String::new());
        };
        let name = match format {
            ReportFormat::Json => "json",
            ReportFormat::Md => "md",
            ReportFormat::Html => "html",
        };
        let page = client.text(&format!("{path}?format={name}")).await?;
        match (&self.to, format) {
            (None, ReportFormat::Md) => super::out::print(harmless(&page).as_ref()),
            (to, _) => write_or_print(to.as_deref(), &page)?,
        }
        Ok(0)
    }
}

//! `shardwright demo`: everything on this machine, end to end, with a report.

use super::error::CliError;
use clap::Args;
use demo::{Kill, Options, parse_step};
use plans::step::StepKind;
use std::path::PathBuf;

/// Split a live shard on this machine: private clusters, a writing application, a ledger, a report.
#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Size of the shop: 1 is about two million rows.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Clients that write side by side.
    #[arg(long, default_value_t = 8)]
    clients: u32,
    /// Transactions per second of all clients together, at most.
    #[arg(long, default_value_t = 800.0)]
    rate: f64,
    /// Acknowledged transactions to reach at least; 20,500 at scale 1.
    #[arg(long)]
    transactions: Option<u64>,
    /// Write the report as JSON to this file.
    #[arg(long)]
    report: Option<PathBuf>,
    /// Kill -9 a process in a step and start it again: agent, controller, source, target or store, for example agent@copy.
    #[arg(long, value_name = "PROCESS@STEP")]
    kill: Option<Kill>,
    /// Give the keys back after the flip.
    #[arg(long, conflicts_with = "abort_at")]
    rollback: bool,
    /// Abort in this step, which comes before the flip.
    #[arg(long, value_name = "STEP", value_parser = parse_step)]
    abort_at: Option<StepKind>,
    /// Pause and resume in this step.
    #[arg(long, value_name = "STEP", value_parser = parse_step)]
    pause_in: Option<StepKind>,
    /// Keep clusters, logs and ledger.
    #[arg(long)]
    keep: bool,
    /// Makes the run repeatable, as far as concurrency allows.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Demo {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let options = Options {
            scale: self.scale,
            clients: self.clients,
            rate: self.rate,
            transactions: self.transactions,
            report: self.report,
            kill: self.kill,
            rollback: self.rollback,
            abort_at: self.abort_at,
            pause_in: self.pause_in,
            keep: self.keep,
            seed: self.seed,
            programs: None,
        };
        demo::run(options).await?;
        Ok(0)
    }
}

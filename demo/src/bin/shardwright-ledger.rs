//! The checker as a program: compares a ledger file with the rows on the shards.
//!
//! It writes the result to stdout as JSON. Exit code 0: everything is correct; 1: something is wrong; 2: there is no
//! result.

use clap::{Args, Parser, Subcommand};
use connect::Dsn;
use controller_client::{ControllerClient, Identity};
use demo::checker::{self, CheckInput};
use plans::shard_map::ShardMap;
use reqwest::Method;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// Compares the ledger of the clients with the rows on the shards.
#[derive(Debug, Parser)]
#[command(name = "shardwright-ledger")]
struct LedgerCli {
    #[command(subcommand)]
    command: LedgerCommand,
}

#[derive(Debug, Subcommand)]
enum LedgerCommand {
    /// Check that the owner of each key has every acknowledged transaction once, and nothing else.
    Check(CheckArgs),
    /// Check a file with histories of append lists, without any shard: JSON lines as `check --history` writes them.
    History {
        /// The file.
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
struct CheckArgs {
    /// Address of the map, for example http://127.0.0.1:8080/api/v1/maps/tenants.
    #[arg(long, value_name = "URL")]
    map_url: String,
    /// The ledger file of the run.
    #[arg(long, value_name = "FILE")]
    ledger: PathBuf,
    /// A shard and its connection string; give every shard.
    #[arg(long = "shard", value_name = "NAME=DSN", required = true)]
    shards: Vec<String>,
    /// A migration is in the hold: an old owner has rows too, which must equal those of the new owner.
    #[arg(long)]
    hold: bool,
    /// Write the histories of lists to this file as JSON lines, in the format of Jepsen and Elle.
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let is_clean = match LedgerCli::parse().command {
        LedgerCommand::Check(check) => check_ledger(check).await,
        LedgerCommand::History { file } => check_history(&file),
    };
    match is_clean {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("shardwright-ledger: {error:#}");
            ExitCode::from(2)
        }
    }
}

async fn check_ledger(check: CheckArgs) -> anyhow::Result<bool> {
    let mut shards = BTreeMap::new();
    for shard in &check.shards {
        let (name, dsn) = shard
            .split_once('=')
            .ok_or_else(|| anyhow::anyhow!("--shard {shard:?} is not NAME=DSN"))?;
        shards.insert(name.into(), Dsn::parse(dsn)?);
    }
    let caller = ControllerClient::new(&Identity::from_environment())?;
    let request = caller.request(Method::GET, &check.map_url);
    let response = caller.send(request).await?.error_for_status()?;
    let map: ShardMap = response.json().await?;
    if let Some(file) = &check.history {
        demo::ledger::export(&check.ledger, file)?;
    }
    let input = CheckInput {
        map,
        shards,
        ledger: check.ledger,
        hold: check.hold,
    };
    let checked = checker::check(&input).await?;
    println!("{}", serde_json::to_string_pretty(&checked)?);
    Ok(checked.is_clean())
}

fn check_history(file: &std::path::Path) -> anyhow::Result<bool> {
    let histories = checker::check_history(file)?;
    println!("{}", serde_json::to_string_pretty(&histories)?);
    Ok(histories.not_linearizable == 0)
}

//! The checker as a program: compares a ledger file with what the shards hold.
//!
//! The verdict goes to stdout as JSON. Exit 0: clean; 1: something is amiss; 2: no verdict.

use clap::{Args, Parser, Subcommand};
use connect::Dsn;
use demo::checker::{self, Input};
use plans::shard_map::ShardMap;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// Compares what clients know with what shards hold.
#[derive(Debug, Parser)]
#[command(name = "shardwright-ledger")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check that every acknowledged transaction is on the owner of its key, once, and nothing else is.
    Check(Check),
}

#[derive(Debug, Args)]
struct Check {
    /// Address of the map, for example http://127.0.0.1:8080/api/v1/maps/tenants.
    #[arg(long, value_name = "URL")]
    map_url: String,
    /// The ledger file of the run.
    #[arg(long, value_name = "FILE")]
    ledger: PathBuf,
    /// A shard and its connection string; give every shard.
    #[arg(long = "shard", value_name = "NAME=DSN", required = true)]
    shards: Vec<String>,
    /// A migration holds: former owners keep rows, which must equal the owner's.
    #[arg(long)]
    hold: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Command::Check(check) = Cli::parse().command;
    match run(check).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("shardwright-ledger: {error:#}");
            ExitCode::from(2)
        }
    }
}

async fn run(check: Check) -> anyhow::Result<bool> {
    let mut shards = BTreeMap::new();
    for shard in &check.shards {
        let (name, dsn) = shard
            .split_once('=')
            .ok_or_else(|| anyhow::anyhow!("--shard {shard:?} is not NAME=DSN"))?;
        shards.insert(name.into(), Dsn::parse(dsn)?);
    }
    let response = reqwest::get(&check.map_url).await?.error_for_status()?;
    let map: ShardMap = response.json().await?;
    let input = Input {
        map,
        shards,
        ledger: check.ledger,
        hold: check.hold,
    };
    let checked = checker::check(&input).await?;
    println!("{}", serde_json::to_string_pretty(&checked)?);
    Ok(checked.is_clean())
}

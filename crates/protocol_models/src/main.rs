//! Explores the models and prints the results. Fails if a property is violated or a mutant is not detected.

use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::Parser;
use protocol_models::ModelSize;

/// Explores the models of the move protocol.
#[derive(Debug, Parser)]
struct Arguments {
    /// Explores with more crashes, attempts and clients: minutes instead of seconds
    #[arg(long)]
    full: bool,
    /// Writes the report, counterexamples included, to this file as well
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// How many threads explore
    #[arg(long, default_value_t = 2, value_name = "N")]
    threads: usize,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let size = if arguments.full {
        ModelSize::Full
    } else {
        ModelSize::Short
    };
    let report = protocol_models::run(size, arguments.threads);
    println!("{report}");
    if let Some(path) = &arguments.json {
        let json = serde_json::to_string_pretty(&report).context("could not write the report")?;
        std::fs::write(path, json + "\n")
            .with_context(|| format!("could not write {}", path.display()))?;
    }
    ensure!(
        report.is_good(),
        "a property is broken or a mutant is alive"
    );
    Ok(())
}

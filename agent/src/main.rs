//! `shardwright-agent`: performs the steps that the controller hands out.

use std::io::IsTerminal;

use agent::worker::Worker;
use clap::Parser;

/// Ends of sessions that we bring about ourselves are told as errors by the libraries; what matters is
/// reported with the step.
const DEFAULT_LOG: &str = "info,pgwire_replication=off,tokio_postgres=warn";

/// Performs the steps of migrations on the shards; the controller decides which.
#[derive(Debug, Parser)]
#[command(name = "shardwright-agent", version)]
struct Arguments {
    /// This agent's name, stable over restarts.
    #[arg(long, env = "SHARDWRIGHT_AGENT_NAME")]
    name: String,
    /// Where the controller listens; of several, named one by one or separated by commas, whichever leads is found.
    #[arg(
        long,
        env = "SHARDWRIGHT_CONTROLLER",
        value_name = "URL",
        value_delimiter = ',',
        default_value = "http://127.0.0.1:7432"
    )]
    controller: Vec<String>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let filter = tracing_subscriber::EnvFilter::try_from_env("SHARDWRIGHT_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(DEFAULT_LOG));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
    fail_point::check()?;
    let controllers = arguments.controller.join(",");
    tracing::info!(agent = %arguments.name, controller = %controllers, "agent started");
    let worker = Worker::new(&arguments.name, &controllers);
    tokio::select! {
        () = worker.run() => {}
        _ = tokio::signal::ctrl_c() => tracing::info!("agent stops; another process may take over"),
    }
    Ok(())
}

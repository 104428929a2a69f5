//! `shardwright-agent`: performs the steps that the controller hands out.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agent::controller::Controller;
use agent::worker::{DeletedRows, Worker};
use clap::{CommandFactory, Parser, Subcommand};
use connect::Secrets;
use controller_client::{ControllerClient, Identity};
use daemon::log::Format;
use daemon::notify::Manager;
use tokio::signal::unix::{SignalKind, signal};

/// Ends of sessions that we bring about ourselves are told as errors by the libraries; what matters is
/// reported with the step.
const DEFAULT_LOG: &str = "info,pgwire_replication=off,tokio_postgres=warn";

/// Performs the steps of migrations on the shards; the controller decides which.
#[derive(Debug, Parser)]
#[command(name = "shardwright-agent", version, subcommand_negates_reqs = true)]
struct Arguments {
    /// This agent's name, stable over restarts.
    #[arg(long, env = "SHARDWRIGHT_AGENT_NAME", required = true)]
    name: Option<String>,
    /// Where the controller listens; of several, named one by one or separated by commas, whichever leads is found.
    #[arg(
        long,
        env = "SHARDWRIGHT_CONTROLLER",
        value_name = "URL",
        value_delimiter = ',',
        default_value = "http://127.0.0.1:7432"
    )]
    controller: Vec<String>,
    /// Folder for captured changes that cannot be applied yet; it holds rows of the moving tables.
    #[arg(long, env = "SHARDWRIGHT_SPOOL_DIR")]
    spool_dir: Option<PathBuf>,
    /// How many days the rows are kept that a repair deletes; they are in files beside the spools.
    #[arg(
        long,
        env = "SHARDWRIGHT_KEEP_DELETED_ROWS",
        value_name = "DAYS",
        default_value_t = 30
    )]
    keep_deleted_rows: u32,
    /// The file of this agent's token, where the controllers ask for one.
    #[arg(long, env = "SHARDWRIGHT_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    /// Directory of the files that a shard's connection string may name as secrets, beside $CREDENTIALS_DIRECTORY; may be
    /// given several times.
    #[arg(
        long,
        env = "SHARDWRIGHT_SECRETS_DIR",
        value_name = "DIR",
        value_delimiter = ':',
        default_value = "/etc/shardwright/agent/shards"
    )]
    secrets_dir: Vec<PathBuf>,
    /// Environment variable that a shard's connection string may name; with * at its end all that begin so. May be given
    /// several times.
    #[arg(
        long,
        env = "SHARDWRIGHT_SECRETS_ENV",
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "SHARD_*"
    )]
    secrets_env: Vec<String>,
    /// PEM file of the authorities that vouch for the controllers; without it those of the system.
    #[arg(long, env = "SHARDWRIGHT_CA_FILE")]
    ca_file: Option<PathBuf>,
    /// Form of the log lines.
    #[arg(
        long,
        value_enum,
        value_name = "FORM",
        env = "SHARDWRIGHT_LOG_FORMAT",
        default_value_t
    )]
    log_format: Format,
    #[command(subcommand)]
    command: Option<Command>,
}

/// What is started by agents and packages, not by people.
#[derive(Debug, Subcommand)]
enum Command {
    /// Lets writes go on when synchronous dual-write hangs; agents start it, with its orders in the environment.
    #[command(hide = true)]
    WatchDualWrite,
    /// Write the man page.
    #[command(hide = true)]
    Man {
        /// The folder for it; it is made where it is missing.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
}

/// The state folder that the service manager gives, or that of the user.
fn spool_dir(agent: &str) -> PathBuf {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let state = variable("STATE_DIRECTORY")
        .or_else(|| variable("XDG_STATE_HOME"))
        .or_else(|| variable("HOME").map(|home| home.join(".local/state")));
    let state = state.unwrap_or_else(|| PathBuf::from("/var/lib"));
    state.join("shardwright/spool").join(agent)
}

/// Tells the service manager how many migrations this agent holds, whenever it is another number.
async fn report_status(manager: &Manager, worker: &Worker) {
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    loop {
        ticks.tick().await;
        let status = match worker.held().await {
            0 => "has no migration".to_owned(),
            1 => "has 1 migration".to_owned(),
            more => format!("has {more} migrations"),
        };
        manager.status(&status);
    }
}

fn write_man(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(Arguments::command(), folder)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let filter = tracing_subscriber::EnvFilter::try_from_env("SHARDWRIGHT_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(DEFAULT_LOG));
    let _log = daemon::log::start("shardwright-agent", filter, arguments.log_format);
    Secrets::within(arguments.secrets_dir, arguments.secrets_env)
        .and_credentials()
        .except(arguments.token_file.clone())
        .restrict_process();
    match arguments.command {
        Some(Command::WatchDualWrite) => return agent::stream::dual_write::watch_for_ever().await,
        Some(Command::Man { out }) => return Ok(write_man(&out)?),
        None => {}
    }
    let name = arguments.name.unwrap_or_default();
    fail_point::check()?;
    let controllers = arguments.controller.join(",");
    tracing::info!(agent = %name, controller = %controllers, "agent started");
    let spools = arguments.spool_dir.unwrap_or_else(|| spool_dir(&name));
    let identity = Identity {
        token_file: arguments.token_file,
        ca_file: arguments.ca_file,
    };
    let controller = Controller::new(&controllers, ControllerClient::new(&identity)?);
    let files = DeletedRows {
        folder: spools.clone(),
        keep: Duration::from_secs(u64::from(arguments.keep_deleted_rows) * 86_400),
    };
    let worker = Worker::new(&name, controller, spools, files);
    let manager = Manager::from_environment();
    let mut terminate = signal(SignalKind::terminate())?;
    manager.ready("has no migration");
    tokio::select! {
        () = worker.clone().run() => {}
        () = report_status(&manager, &worker) => {}
        () = manager.keep_alive() => {}
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    manager.stopping();
    tracing::info!("agent stops; another process may take over");
    Ok(())
}

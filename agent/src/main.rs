//! The program `shardwright-agent`: it performs the steps that the controller assigns.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agent::controller::Controller;
use agent::worker::{DeletedRows, Worker};
use clap::{CommandFactory, Parser, Subcommand};
use connect::Secrets;
use controller_client::{ControllerClient, Identity};
use daemon::log::Format;
use daemon::notify::ServiceManager;
use tokio::signal::unix::{SignalKind, signal};

/// The library logs the end of a session as an error, also if the agent ended it. The report of a step contains the
/// errors that matter.
const DEFAULT_LOG: &str = "info,tokio_postgres=warn";

/// Performs the steps of migrations on the shards; the controller decides which.
#[derive(Debug, Parser)]
#[command(name = "shardwright-agent", version, subcommand_negates_reqs = true)]
struct Arguments {
    /// This agent's name, stable over restarts.
    #[arg(long, env = "SHARDWRIGHT_AGENT_NAME", required = true)]
    name: Option<String>,
    /// URL of the controller. Repeat the option, or separate URLs by commas, if there are several controllers: the
    /// agent finds the one that leads.
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
    /// Days for which the agent keeps the rows that a repair deleted, in files next to the spools.
    #[arg(
        long,
        env = "SHARDWRIGHT_KEEP_DELETED_ROWS",
        value_name = "DAYS",
        default_value_t = 30
    )]
    keep_deleted_rows: u32,
    /// File with this agent's token, if the controllers require one.
    #[arg(long, env = "SHARDWRIGHT_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    /// Directory of files that a connection string of a shard may name as secrets, in addition to
    /// $CREDENTIALS_DIRECTORY; may be given several times.
    #[arg(
        long,
        env = "SHARDWRIGHT_SECRETS_DIR",
        value_name = "DIR",
        value_delimiter = ':',
        default_value = "/etc/shardwright/agent/shards"
    )]
    secrets_dir: Vec<PathBuf>,
    /// Environment variable that a connection string of a shard may name; a trailing * allows all variables with this
    /// prefix. May be given several times.
    #[arg(
        long,
        env = "SHARDWRIGHT_SECRETS_ENV",
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "SHARD_*"
    )]
    secrets_env: Vec<String>,
    /// PEM file of the certificate authorities of the controllers; by default those of the system.
    #[arg(long, env = "SHARDWRIGHT_CA_FILE")]
    ca_file: Option<PathBuf>,
    /// Format of the log lines.
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

/// Subcommands that agents and packages start, not people.
#[derive(Debug, Subcommand)]
enum Command {
    /// Makes writes continue if synchronous dual-write hangs. An agent starts it, with its parameters in the
    /// environment.
    #[command(hide = true)]
    WatchDualWrite,
    /// Write the man page.
    #[command(hide = true)]
    Man {
        /// Folder for the man page; it is created if it does not exist.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
}

/// Returns the default folder of the spools: inside the state folder that the service manager assigned, or else inside
/// the user's.
fn spool_dir(agent: &str) -> PathBuf {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let state_folder = variable("STATE_DIRECTORY")
        .or_else(|| variable("XDG_STATE_HOME"))
        .or_else(|| variable("HOME").map(|home| home.join(".local/state")));
    let state_folder = state_folder.unwrap_or_else(|| PathBuf::from("/var/lib"));
    state_folder.join("shardwright/spool").join(agent)
}

/// Reports to the service manager how many migrations this agent has, whenever the number changes.
async fn report_status(manager: &ServiceManager, worker: &Worker) {
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    loop {
        ticks.tick().await;
        let status = match worker.assignment_count().await {
            0 => "has no migration".to_owned(),
            1 => "has 1 migration".to_owned(),
            count => format!("has {count} migrations"),
        };
        manager.status(&status);
    }
}

/// Writes the man page into `folder`.
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
    // From now on, connection strings of shards can name only these secrets.
    Secrets::within(arguments.secrets_dir, arguments.secrets_env)
        .and_credentials()
        .except(arguments.token_file.clone())
        .restrict_process();
    match arguments.command {
        Some(Command::WatchDualWrite) => return agent::stream::dual_write::run_watchdog().await,
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
    let manager = ServiceManager::from_environment();
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

//! The program `shardwright-agent`: it performs the steps that the controller assigns.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use agent::controller::Controller;
use agent::standby::NewStandbyServer;
use agent::worker::{DeletedRows, Worker};
use clap::{Args, CommandFactory, Parser, Subcommand};
use connect::Secrets;
use controller_client::{ControllerClient, Identity, SetupError};
use daemon::log::Format;
use daemon::notify::ServiceManager;
use plans::id::ShardName;
use tokio::signal::unix::{SignalKind, signal};

/// The library logs the end of a session as an error, also if the agent ended it. The report of a step contains the
/// errors that matter.
const DEFAULT_LOG: &str = "info,tokio_postgres=warn";

/// The stack of a thread. A thread that has no stack left ends the process, also in the write-blocked window. A program
/// that is not optimized needs about 2 MiB, which is the usual size.
const STACK_BYTES: usize = 8 << 20;

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
        global = true,
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
    /// File with this agent's token, if the controllers require one. A subcommand needs that of an administrator.
    #[arg(long, global = true, env = "SHARDWRIGHT_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    /// Directory of files that a connection string of a shard may name as secrets, in addition to
    /// $CREDENTIALS_DIRECTORY; may be given several times.
    #[arg(
        long,
        global = true,
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
        global = true,
        env = "SHARDWRIGHT_SECRETS_ENV",
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "SHARD_*"
    )]
    secrets_env: Vec<String>,
    /// PEM file of the certificate authorities of the controllers; by default those of the system.
    #[arg(long, global = true, env = "SHARDWRIGHT_CA_FILE")]
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

/// What the program does instead of working as an agent.
#[derive(Debug, Subcommand)]
enum Command {
    /// Standbys on this machine, from which a move is seeded.
    #[command(subcommand)]
    Standby(StandbyCommand),
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

/// Commands for standbys.
#[derive(Debug, Subcommand)]
enum StandbyCommand {
    /// Create a standby of a shard on this machine with pg_basebackup, start it, and register it as a shard.
    Create(StandbyArgs),
}

/// Create a standby of a shard on this machine with pg_basebackup, start it, and register it as a shard.
#[derive(Debug, Args)]
struct StandbyArgs {
    /// The name of the new shard.
    name: String,
    /// The shard whose server is copied.
    #[arg(long, value_name = "SHARD")]
    source: String,
    /// The connection string by which agents reach the new server, with the password as ${env:NAME}, ${file:/path} or
    /// ${credential:NAME}. The server gets its port.
    #[arg(long)]
    dsn: String,
    /// The data directory of the new server: an absolute path, empty or not existing yet.
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// A setting of the new server; may be given several times.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    settings: Vec<(String, String)>,
    /// Shell command that starts the new server and waits for it, instead of pg_ctl.
    #[arg(long, value_name = "COMMAND")]
    start_command: Option<String>,
    /// The greatest rate of the copy per second: kilobytes, or with M megabytes, for example 100M.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    max_rate: Option<String>,
}

impl StandbyArgs {
    async fn run(self, controller: &Controller) -> ExitCode {
        let new = NewStandbyServer {
            name: ShardName(self.name),
            source: ShardName(self.source),
            dsn: self.dsn,
            data_dir: self.data_dir,
            settings: self.settings,
            start_command: self.start_command,
            max_rate: self.max_rate,
        };
        let Err(error) = agent::standby::create(&new, controller).await else {
            return ExitCode::SUCCESS;
        };
        eprintln!("error: {error}");
        for hint in error.hints() {
            eprintln!("hint: {hint}");
        }
        ExitCode::FAILURE
    }
}

/// Parses a rate as pg_basebackup does.
fn rate(text: &str) -> Result<String, String> {
    let number = text.trim_end_matches(['k', 'M']);
    let is_rate = text.len() <= number.len() + 1 && number.parse::<f64>().is_ok_and(|n| n > 0.0);
    match is_rate {
        true => Ok(text.to_owned()),
        false => {
            Err("expected a number of kilobytes, or one with k or M, for example 100M".to_owned())
        }
    }
}

/// Parses a setting of a server.
fn setting(text: &str) -> Result<(String, String), String> {
    let is_name = |name: &str| {
        let mut characters = name.chars();
        !name.is_empty() && characters.all(|it| it.is_ascii_alphanumeric() || "_.".contains(it))
    };
    let parts = text.split_once('=').filter(|(name, _)| is_name(name));
    let (name, value) = parts.ok_or("expected NAME=VALUE, for example shared_buffers=4GB")?;
    if value.contains(char::is_control) {
        return Err("the value contains control characters".to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
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

fn main() -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK_BYTES)
        .build()?;
    runtime.block_on(run(Arguments::parse()))
}

async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let filter = tracing_subscriber::EnvFilter::try_from_env("SHARDWRIGHT_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(DEFAULT_LOG));
    let _log = daemon::log::start("shardwright-agent", filter, arguments.log_format);
    // From now on, connection strings of shards can name only these secrets.
    Secrets::within(arguments.secrets_dir, arguments.secrets_env)
        .and_credentials()
        .except(arguments.token_file.clone())
        .restrict_process();
    let controllers = arguments.controller.join(",");
    let identity = Identity {
        token_file: arguments.token_file,
        ca_file: arguments.ca_file,
    };
    let controller = || {
        let client = ControllerClient::new(&identity)?;
        Ok::<_, SetupError>(Controller::new(&controllers, client))
    };
    match arguments.command {
        Some(Command::WatchDualWrite) => {
            agent::stream::dual_write::run_watchdog().await?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(Command::Man { out }) => {
            write_man(&out)?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(Command::Standby(StandbyCommand::Create(create))) => {
            return Ok(create.run(&controller()?).await);
        }
        None => {}
    }
    let name = arguments.name.unwrap_or_default();
    fail_point::check()?;
    tracing::info!(agent = %name, controller = %controllers, "agent started");
    let spools = arguments.spool_dir.unwrap_or_else(|| spool_dir(&name));
    let controller = controller()?;
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
    Ok(ExitCode::SUCCESS)
}

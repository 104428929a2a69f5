//! `shardwright serve`: runs a controller, with a private control store if none is named.
//!
//! Of several controllers with one store, one leads. The others answer requests that only read, and one of them takes
//! over if the leader ends.

mod listener;

use super::error::CliError;
use crate::access::AccessRule;
use crate::api;
use crate::controller::{Controller, ControllerSettings, LeadershipState};
use crate::hooks::Hooks;
use crate::server;
use crate::store::pg::PgStore;
use clap::Args;
use cluster::Cluster;
use daemon::log::Format;
use daemon::notify::ServiceManager;
use listener::ListenerArgs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

/// The name of the private cluster in the data folder.
const PRIVATE_STORE: &str = "store";

/// Run the controller.
#[derive(Debug, Args)]
pub(super) struct Serve {
    /// The address to listen on. Other addresses than loopback require tokens, and TLS or --plain-http.
    #[arg(long, env = "SHARDWRIGHT_LISTEN", default_value = "127.0.0.1:7432")]
    listen: SocketAddr,
    /// The connection string of the control store. By default the controller runs a private PostgreSQL in the data
    /// folder.
    #[arg(long, env = "SHARDWRIGHT_STORE", hide_env_values = true)]
    store: Option<String>,
    /// The URL at which other controllers, agents and users reach this controller. By default the address to listen on.
    #[arg(long, value_name = "URL", env = "SHARDWRIGHT_ADVERTISE")]
    advertise: Option<String>,
    /// Other URLs of this controller, for example that of a load balancer; several are separated by commas.
    #[arg(
        long,
        value_name = "URL",
        env = "SHARDWRIGHT_ALSO_AT",
        value_delimiter = ','
    )]
    also_at: Vec<String>,
    /// The folder of the private store.
    #[arg(long, env = "SHARDWRIGHT_DATA_DIR", default_value_os_t = data_dir())]
    data_dir: PathBuf,
    /// How often the controller lets agents probe every shard and compares it with the map, in seconds; 0: never. For
    /// this time a shard that was restored from a backup can accept writes to keys that it no longer owns.
    #[arg(
        long,
        value_name = "SECONDS",
        env = "SHARDWRIGHT_RECONCILE_EVERY",
        default_value_t = 5
    )]
    reconcile_every: u64,
    /// The least number of people who approve each cutover, 1 to 5. From 2 on the user who submits a plan cannot
    /// approve it, and every client needs a token.
    #[arg(long, value_name = "NUMBER", env = "SHARDWRIGHT_APPROVALS", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=5))]
    approvals: u32,
    /// The file of hooks: programs and URLs that permit phases of migrations, or are notified of them (docs/hooks.md).
    #[arg(long, value_name = "FILE", env = "SHARDWRIGHT_HOOKS")]
    hooks: Option<PathBuf>,
    #[command(flatten)]
    access: ListenerArgs,
    /// The format of log lines.
    #[arg(
        long,
        value_enum,
        value_name = "FORM",
        env = "SHARDWRIGHT_LOG_FORMAT",
        default_value_t
    )]
    log_format: Format,
    /// The same as --log-format json.
    #[arg(long, hide = true)]
    log_json: bool,
}

impl Serve {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let format = if self.log_json {
            Format::Json
        } else {
            self.log_format
        };
        let _log = daemon::log::start("shardwright", filter(), format);
        let manager = ServiceManager::from_environment();
        fail_point::check()?;
        if self.approvals > 1 && self.access.rule() == AccessRule::Open {
            let what =
                "--approvals needs tokens, which identify the people who approve: leave out --open";
            return Err(CliError::Usage(what.to_owned()));
        }
        let tls = self.access.check(self.listen, self.advertise.as_deref())?;
        let hooks = self.hooks.as_deref().map(Hooks::read).transpose()?;
        api::raise_descriptors();
        let listener = api::listen(self.listen, self.access.rule()).await?;
        let (dsn, private) = match self.store {
            Some(dsn) => (dsn, None),
            None => {
                let cluster = private_store(self.data_dir).await?;
                (cluster.dsn("postgres", "postgres"), Some(cluster))
            }
        };
        let store = Arc::new(PgStore::open(&dsn).await?);
        let every = (self.reconcile_every > 0).then(|| Duration::from_secs(self.reconcile_every));
        let settings = ControllerSettings {
            reconcile_every: every,
            rule: self.access.rule(),
            admin: self.access.admin_digest()?,
            read_only: self.access.read_only,
            approvals: self.approvals,
            audit: self.access.audit,
            ..ControllerSettings::default()
        };
        let controller = Controller::new(store, settings);
        controller.hook(hooks.unwrap_or_default());
        controller.also_at(self.also_at);
        if let Some(url) = &self.advertise {
            controller.advertise(url);
        }
        let scheme = if tls.is_some() { "https" } else { "http" };
        report_ready(
            format,
            &format!("{scheme}://{}", listener.local_addr()?),
            self.access.admin_file().as_deref(),
        );
        manager.ready("no role yet: the controller campaigns for the leadership");
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            served = server::serve(listener, controller.clone(), tls) => served?,
            () = notify_manager(&manager, &controller) => {}
            () = manager.keep_alive() => {}
            _ = terminate.recv() => {}
            interrupted = tokio::signal::ctrl_c() => interrupted?,
        }
        manager.stopping();
        controller.resign().await;
        write_line(format, "controller stopped");
        if let Some(cluster) = private {
            // Dropping the cluster stops the server, which blocks.
            let stopped = tokio::task::spawn_blocking(move || drop(cluster)).await;
            stopped.map_err(std::io::Error::other)?;
        }
        Ok(0)
    }
}

/// Prints the URL of the controller, and the file with its admin token.
fn report_ready(format: Format, url: &str, token: Option<&Path>) {
    write_line(format, &format!("controller ready at {url}"));
    if let Some(path) = token {
        let path = path.display();
        write_line(
            format,
            &format!(
                "the admin's token is in {path}; `shardwright dashboard` prints a link that signs a browser in"
            ),
        );
    }
}

/// Starts the private store: one that exists in the folder, whether it runs or not, or a new one.
async fn private_store(dir: PathBuf) -> Result<Cluster, CliError> {
    let start = move || -> Result<Cluster, cluster::ClusterError> {
        let cluster = Cluster::open(cluster::Options::new(dir, PRIVATE_STORE).keep())?;
        cluster.start()?;
        Ok(cluster)
    };
    let started = tokio::task::spawn_blocking(start).await;
    Ok(started.map_err(std::io::Error::other)??)
}

/// Returns the default data folder. For root it is in `/var/lib`, because PostgreSQL runs as another account, which
/// cannot read the home of root.
fn data_dir() -> PathBuf {
    let home = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/share")));
    match home {
        Some(home) if !home.starts_with("/root") => home.join("shardwright"),
        _ => PathBuf::from("/var/lib/shardwright"),
    }
}

/// Returns the filter of log events: that of the environment, or the default.
fn filter() -> EnvFilter {
    let filter = EnvFilter::try_from_default_env();
    filter.unwrap_or_else(|_| EnvFilter::new("info,sqlx=warn"))
}

/// Prints a line for the user. If all lines must be JSON, writes it to the log instead.
fn write_line(format: Format, what: &str) {
    match format {
        Format::Text => eprintln!("{what}"),
        Format::Json => tracing::info!("{what}"),
    }
}

/// Notifies the service manager of the role of this controller, whenever it changes.
async fn notify_manager(manager: &ServiceManager, controller: &Controller) {
    let mut changes = controller.changes();
    loop {
        changes.borrow_and_update();
        let status = match controller.role() {
            LeadershipState::Leads(term) => format!("leads under term {term}"),
            LeadershipState::Follows(Some(leader)) => {
                format!("follows the controller at {}", leader.url)
            }
            LeadershipState::Follows(None) => "no controller leads at the moment".to_owned(),
        };
        manager.status(&status);
        if changes.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

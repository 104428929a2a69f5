//! `shardwright serve`: a controller, with a store of its own when none is named.
//!
//! Of several over one store one leads; the others serve reads and take over when it is gone.

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

/// Name of the private cluster inside the data folder.
const PRIVATE_STORE: &str = "store";

/// Run the controller.
#[derive(Debug, Args)]
pub(super) struct Serve {
    /// Where to listen; beyond loopback only with tokens, and with TLS or --plain-http.
    #[arg(long, env = "SHARDWRIGHT_LISTEN", default_value = "127.0.0.1:7432")]
    listen: SocketAddr,
    /// The control store; without it a private PostgreSQL is kept in the data folder.
    #[arg(long, env = "SHARDWRIGHT_STORE", hide_env_values = true)]
    store: Option<String>,
    /// Where the other controllers, agents and people reach this one; the address that it listens on, unless it is named.
    #[arg(long, value_name = "URL", env = "SHARDWRIGHT_ADVERTISE")]
    advertise: Option<String>,
    /// Other URLs by which it is called, as that of a load balancer; several with commas.
    #[arg(
        long,
        value_name = "URL",
        env = "SHARDWRIGHT_ALSO_AT",
        value_delimiter = ','
    )]
    also_at: Vec<String>,
    /// Folder of the private store.
    #[arg(long, env = "SHARDWRIGHT_DATA_DIR", default_value_os_t = data_dir())]
    data_dir: PathBuf,
    /// How often every shard is probed and compared with the map, in seconds; a shard that was restored from a
    /// copy can take writes that it should not for this long. 0: never.
    #[arg(
        long,
        value_name = "SECONDS",
        env = "SHARDWRIGHT_RECONCILE_EVERY",
        default_value_t = 5
    )]
    reconcile_every: u64,
    /// How many people approve each cutover at least (1 to 5); from 2 on who submits a plan does not approve it.
    /// Requires a token of every client.
    #[arg(long, value_name = "NUMBER", env = "SHARDWRIGHT_APPROVALS", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=5))]
    approvals: u32,
    /// File of hooks: programs and URLs that permit phases of migrations, and are notified of them (docs/hooks.md).
    #[arg(long, value_name = "FILE", env = "SHARDWRIGHT_HOOKS")]
    hooks: Option<PathBuf>,
    #[command(flatten)]
    access: ListenerArgs,
    /// Form of the log lines.
    #[arg(
        long,
        value_enum,
        value_name = "FORM",
        env = "SHARDWRIGHT_LOG_FORMAT",
        default_value_t
    )]
    log_format: Format,
    /// As --log-format json.
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
                "--approvals needs tokens, by which those who approve are known: leave out --open";
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
            admin: self.access.admin()?,
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
        manager.ready("is a candidate for the lead");
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

/// Reports where the controller is, and where the token is that it created.
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

/// Starts the private store that an earlier controller left, running or not, or a new one.
async fn private_store(dir: PathBuf) -> Result<Cluster, CliError> {
    let start = move || -> Result<Cluster, cluster::ClusterError> {
        let cluster = Cluster::open(cluster::Options::new(dir, PRIVATE_STORE).keep())?;
        cluster.start()?;
        Ok(cluster)
    };
    let started = tokio::task::spawn_blocking(start).await;
    Ok(started.map_err(std::io::Error::other)??)
}

/// `/var/lib` for root, because the server's account must reach it.
fn data_dir() -> PathBuf {
    let home = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/share")));
    match home {
        Some(home) if !home.starts_with("/root") => home.join("shardwright"),
        _ => PathBuf::from("/var/lib/shardwright"),
    }
}

fn filter() -> EnvFilter {
    let filter = EnvFilter::try_from_default_env();
    filter.unwrap_or_else(|_| EnvFilter::new("info,sqlx=warn"))
}

/// Where every line is JSON, in the log.
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
            LeadershipState::Follows(None) => "no controller leads for the moment".to_owned(),
        };
        manager.status(&status);
        if changes.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

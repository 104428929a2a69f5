//! Databases on a real server that the tests of this binary share while they run.

use std::future::Future;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use cluster::{Cluster, Options};
use connect::{Connected, Dsn, Session, connect};

/// No event of these tests takes longer.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

static SHARED: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());

/// A database of its own on a server.
#[derive(Clone)]
pub(crate) struct Shard {
    pub(crate) cluster: Arc<Cluster>,
    database: String,
}

impl Shard {
    /// On the shared server, which goes with its last user.
    pub(crate) async fn new(database: &str) -> Self {
        let cluster = tokio::task::spawn_blocking(shared).await.expect("launched");
        Self::on(cluster, database).await
    }

    /// On a server of its own, with these settings.
    pub(crate) async fn with_settings(database: &str, settings: &[(&str, &str)]) -> Self {
        let options = settings
            .iter()
            .fold(quick(database), |options, (name, value)| {
                options.setting(*name, *value)
            });
        let launch = move || Arc::new(Cluster::launch(options).expect("launched"));
        let cluster = tokio::task::spawn_blocking(launch).await.expect("launched");
        Self::on(cluster, database).await
    }

    /// Another database of a server.
    pub(crate) async fn on(cluster: Arc<Cluster>, database: &str) -> Self {
        let postgres = Self {
            cluster: cluster.clone(),
            database: "postgres".to_owned(),
        };
        let session = postgres.session().await;
        session
            .batch_execute(&format!("create database {database}"))
            .await
            .expect("created");
        session.close().await;
        Self {
            cluster,
            database: database.to_owned(),
        }
    }

    /// A running standby of this shard's server, with the same database. It has the shard's settings of [`quick`].
    pub(crate) async fn standby(&self, name: &'static str) -> Self {
        let primary = self.cluster.clone();
        let launch = move || {
            let standby = primary.standby(name, quick(name)).expect("copied");
            standby.start().expect("started");
            Arc::new(standby)
        };
        let cluster = tokio::task::spawn_blocking(launch).await.expect("launched");
        Self {
            cluster,
            database: self.database.clone(),
        }
    }

    /// As the superuser.
    pub(crate) fn dsn(&self) -> Dsn {
        Dsn::parse(&self.dsn_text()).expect("a connection string")
    }

    /// The same as text, with a reference to the password.
    pub(crate) fn dsn_text(&self) -> String {
        self.cluster.dsn(&self.database, "postgres")
    }

    /// As another role, by password.
    pub(crate) fn dsn_as(&self, user: &str, password: &str) -> Dsn {
        let (host, port) = (self.cluster.host(), self.cluster.port());
        let text = format!(
            "postgres://{user}:{password}@{host}:{port}/{}",
            self.database
        );
        Dsn::parse(&text).expect("a connection string")
    }

    pub(crate) async fn session(&self) -> Connected {
        connect(&self.dsn(), &Session::named("test").on("s"))
            .await
            .expect("connected")
    }
}

fn quick(name: &str) -> Options {
    Options::temporary(name)
        .setting("fsync", "off")
        .setting("max_replication_slots", "400")
        .setting("max_wal_senders", "100")
}

fn shared() -> Arc<Cluster> {
    let mut shared = SHARED.lock().expect("no test failed while launching");
    shared.upgrade().unwrap_or_else(|| {
        let cluster = Arc::new(Cluster::launch(quick("agent")).expect("launched"));
        *shared = Arc::downgrade(&cluster);
        cluster
    })
}

/// Waits until `holds` says true, for events that PostgreSQL does not announce.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, holds: impl Fn() -> F) {
    let poll = async {
        let mut pause = tokio::time::interval(Duration::from_millis(10));
        while !holds().await {
            pause.tick().await;
        }
    };
    tokio::time::timeout(LIMIT, poll)
        .await
        .unwrap_or_else(|_| panic!("not in time: {what}"));
}

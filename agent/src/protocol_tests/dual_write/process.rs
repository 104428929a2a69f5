//! Processes of the test binary that run as agent and watchdog, so that tests can stop and kill them.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use connect::Dsn;
use plans::fleet::ShardRef;
use plans::id::{Epoch, MapVersion, MigrationId};
use plans::key_set::KeySet;
use plans::names::Direction;
use serde::{Deserialize, Serialize};

use crate::postgres::replication::ReplicationSession;
use crate::protocol_tests::bench::{Bench, VERSION, tables};
use crate::shard::database::Shard;
use crate::shard::epoch::EpochToken;
use crate::stream::apply::dependents::EnteringRows;
use crate::stream::dual_write::{DualWrite, WatchdogProgram};
use crate::stream::{ApplyStream, StreamSpec};

const ENVIRONMENT: &str = "SHARDWRIGHT_TEST_AGENT";

/// Returns the command line that runs a test of this binary as a program.
pub(super) fn program(test: &str) -> WatchdogProgram {
    let name = format!("protocol_tests::dual_write::{test}");
    WatchdogProgram {
        path: std::env::current_exe().expect("a program"),
        arguments: [&name, "--exact", "--ignored", "--nocapture", "-q"]
            .map(str::to_owned)
            .into(),
    }
}

#[derive(Serialize, Deserialize)]
struct ProcessTask {
    source: String,
    target: String,
    migration: MigrationId,
    limit_ms: u64,
}

/// A process that runs the forward stream. It is killed when this value is dropped.
pub(super) struct AgentProcess(Child);

impl AgentProcess {
    pub(super) fn start(bench: &Bench, limit: Duration) -> Self {
        let orders = ProcessTask {
            source: bench.source.dsn_text(),
            target: bench.target.dsn_text(),
            migration: bench.token.migration.clone(),
            limit_ms: u64::try_from(limit.as_millis()).expect("short"),
        };
        let program = program("process::agent_process");
        let child = Command::new(program.path)
            .args(program.arguments)
            .env(ENVIRONMENT, serde_json::json!(orders).to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("started");
        Self(child)
    }

    pub(super) fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &self.0.id().to_string()])
            .status();
        assert!(sent.expect("sent").success());
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// No test: an agent process with one stream.
#[tokio::test]
#[ignore = "other tests start it"]
async fn agent_process() {
    let Ok(orders) = std::env::var(ENVIRONMENT) else {
        return;
    };
    let orders: ProcessTask = serde_json::from_str(&orders).expect("orders");
    let (epoch, migration) = (Epoch(1), orders.migration);
    let shard = |name: &str, dsn: &str| {
        let reference = ShardRef {
            name: name.into(),
            number: 1,
            dsn: dsn.to_owned(),
            identity: None,
        };
        Shard::new(&reference, &migration, epoch).expect("a shard")
    };
    let origin = shard("s", &orders.source);
    let session = origin.session("test").await.expect("a session");
    let dsn = Dsn::parse(&orders.source).expect("a connection string");
    let mut identify = ReplicationSession::open(&dsn, "test")
        .await
        .expect("opened");
    let stream = ApplyStream::start(
        StreamSpec {
            direction: Direction::Forward,
            downstream: shard("t", &orders.target),
            system: identify.identify_system().await.expect("identified"),
            token: EpochToken {
                migration: migration.clone(),
                epoch,
                until: MapVersion(VERSION),
            },
            tables: Arc::new(tables(&session).await),
            keys: KeySet::range(None, None),
            entering: EnteringRows::default(),
            retired: Vec::new(),
            upstream: origin,
            follows_ddl: false,
            sessions: 2,
            spool: None,
            ignored_standbys: Vec::new(),
            dual_write: Some(DualWrite {
                limit: Duration::from_millis(orders.limit_ms),
                watchdog: program("watchdog_process"),
            }),
            spool_threshold_bytes: u64::MAX,
            unconfirmed_spool_bytes: 0,
            max_retained_bytes: u64::MAX,
            max_attempts: 50,
        },
        false,
        true,
    );
    std::future::pending::<()>().await;
    drop(stream);
}

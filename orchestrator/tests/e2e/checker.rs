//! The ledger checker has teeth: cutovers in the wrong order, made by hand, are reported as lost writes.
//!
//! Source and target are two databases; PostgreSQL's own replication carries the moving rows. Beside each wrong
//! order stands the right one, for which the checker reports nothing.

use cluster::Cluster;
use connect::{Connected, Dsn, Session};
use demo::checker::{self, CheckInput, CheckReport};
use demo::ledger::{Baseline, Ledger, LedgerPhase, TransactionEntry, TransactionOutcome};
use demo::shop::{self, Shop};
use plans::id::MapVersion;
use plans::key::KeyType;
use plans::key_set::KeySet;
use plans::shard_map::{MapSettings, Mapping, MappingState, ShardMap, Strategy};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A source and a target, with a shop on the source.
struct Servers {
    source: Cluster,
    target: Cluster,
    shop: Shop,
}

/// One split by hand.
struct Split<'s> {
    servers: &'s Servers,
    name: &'static str,
    source: Connected,
    target: Connected,
    ledger: Ledger,
    file: PathBuf,
}

impl Servers {
    async fn start() -> Self {
        let launch = |name: &str| {
            let options = cluster::Options::temporary(&format!("teeth-{name}"))
                .setting("wal_retrieve_retry_interval", "100ms")
                .setting("max_sync_workers_per_subscription", "8")
                .setting("max_logical_replication_workers", "12")
                .setting("max_worker_processes", "16")
                .setting("autovacuum", "off");
            tokio::task::spawn_blocking(move || Cluster::launch(options).unwrap())
        };
        let (source, target) = tokio::join!(launch("source"), launch("target"));
        let servers = Self {
            source: source.unwrap(),
            target: target.unwrap(),
            shop: Shop::new(0.0, 1),
        };
        for server in [&servers.source, &servers.target] {
            let dsn = Dsn::parse(&server.dsn("postgres", "postgres")).unwrap();
            shop::prepare(&dsn, "secret", &[shop::DATABASE])
                .await
                .unwrap();
        }
        let whole = dsn(&servers.source, shop::DATABASE);
        let all = KeySet::range(None, None);
        servers.shop.load(&whole, &all, None).await.unwrap();
        let bare = open(&servers.target, shop::DATABASE).await;
        bare.batch_execute("set search_path = public")
            .await
            .unwrap();
        let tables = servers.shop.create_tables_sql();
        bare.batch_execute(&tables).await.unwrap();
        bare.close().await;
        servers
    }

    /// Copies the moving rows and replicates new ones from here on.
    async fn split(&self, name: &'static str) -> Split<'_> {
        for server in [&self.source, &self.target] {
            let session = open(server, "postgres").await;
            let copy = format!("create database {name} template {}", shop::DATABASE);
            session.batch_execute(&copy).await.unwrap();
            session.close().await;
        }
        let source = dsn(&self.source, name);
        let (shape, moving) = (self.shop.shape, self.shop.upper_half());
        let owners = whole().mappings;
        let first = [("a".into(), source)];
        let baseline = Baseline::read(&first, shape, owners, moving);
        let file = format!("shardwright-teeth-{}-{name}", std::process::id());
        let file = std::env::temp_dir().join(file);
        let ledger = Ledger::create(&file, baseline.await.unwrap()).unwrap();
        let split = Split {
            servers: self,
            name,
            source: open(&self.source, name).await,
            target: open(&self.target, name).await,
            ledger,
            file,
        };
        split.replicate().await;
        split
    }
}

impl Split<'_> {
    async fn replicate(&self) {
        let marker = "create table public.marker (id int)";
        self.source.batch_execute(marker).await.unwrap();
        self.target.batch_execute(marker).await.unwrap();
        let at = self.servers.shop.first_upper_tenant();
        let tables = shop::TABLES.map(|table| {
            let key = if table == "tenants" {
                "id"
            } else {
                "tenant_id"
            };
            format!("public.{table} where ({key} >= {at})")
        });
        let publication = format!(
            "create publication moving for table public.marker, {} with (publish = 'insert')",
            tables.join(", ")
        );
        self.source.batch_execute(&publication).await.unwrap();
        let source = &self.servers.source;
        let password = std::fs::read_to_string(source.password_file()).unwrap();
        let subscription = format!(
            "create subscription {0} connection 'host={1} port={2} user=postgres dbname={0} password={3}' publication moving",
            self.name,
            source.host(),
            source.port(),
            password
        );
        self.target.batch_execute(&subscription).await.unwrap();
        let open = "select count(*) from pg_subscription_rel where srsubstate <> 'r'";
        wait(&self.target, open, 0).await;
    }

    fn insert(&self, op: i64) -> String {
        let tenant = self.servers.shop.first_upper_tenant();
        format!(
            "insert into public.ledger (tenant_id, op, client, kind) values ({tenant}, {op}, 1, 'x')"
        )
    }

    fn acknowledged(&self, op: i64, synchronous: bool) {
        let entry = TransactionEntry {
            op,
            key: self
                .servers
                .shop
                .key(self.servers.shop.first_upper_tenant()),
            client: 1,
            phase: LedgerPhase::Cutover,
            outcome: TransactionOutcome::Acknowledged,
            shard: Some("a".into()),
            synchronous,
            since: 0,
            until: 0,
            effects: Vec::new(),
        };
        self.ledger.record(entry).unwrap();
    }

    /// A marker that is committed synchronously, and drained.
    async fn drain_to_marker(&self) {
        let write = "insert into public.marker values (1)";
        self.source.batch_execute(write).await.unwrap();
        wait(&self.target, "select count(*) from public.marker", 1).await;
    }

    /// Ends the replication for good.
    async fn end(&self) {
        let end = format!("drop subscription {}", self.name);
        self.target.batch_execute(&end).await.unwrap();
    }

    /// The verdict once the map names the target.
    async fn judge(self) -> CheckReport {
        self.ledger.flush().unwrap();
        let servers = self.servers;
        let input = CheckInput {
            map: flipped(servers.shop),
            shards: [
                ("a".into(), dsn(&servers.source, self.name)),
                ("b".into(), dsn(&servers.target, self.name)),
            ]
            .into(),
            ledger: self.file.clone(),
            hold: true,
        };
        let checked = checker::check(&input).await.unwrap();
        std::fs::remove_file(&self.file).unwrap();
        checked
    }
}

fn flipped(shop: Shop) -> ShardMap {
    let moved = whole().with_moved(&shop.upper_half(), &"a".into(), &"b".into(), &"m1".into());
    moved.unwrap()
}

fn whole() -> ShardMap {
    ShardMap {
        name: "tenants".into(),
        strategy: Strategy::Range,
        key: vec![KeyType::Bigint],
        buckets: 0,
        version: MapVersion(1),
        incarnation: "test".to_owned(),
        migration: None,
        settings: MapSettings::default(),
        mappings: vec![Mapping {
            keys: KeySet::range(None, None),
            shard: "a".into(),
            state: MappingState::Active,
        }],
    }
}

fn dsn(cluster: &Cluster, database: &str) -> Dsn {
    Dsn::parse(&cluster.dsn(database, "postgres")).unwrap()
}

async fn open(cluster: &Cluster, database: &str) -> Connected {
    let session = Session::named("teeth");
    connect::connect(&dsn(cluster, database), &session)
        .await
        .unwrap()
}

/// Until the query's number is `wanted`.
async fn wait(session: &Connected, query: &str, wanted: i64) {
    let begun = Instant::now();
    loop {
        let row = session.query_one(query, &[]).await.unwrap();
        if row.get::<_, i64>(0) == wanted {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{query}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A process of a server of ours that stands still until this is dropped.
struct Frozen(i32);

impl Frozen {
    async fn log_writer(session: &Connected) -> Self {
        let find = "select pid from pg_stat_activity where backend_type = 'walwriter'";
        let frozen = Self(session.query_one(find, &[]).await.unwrap().get(0));
        frozen.signal("-STOP");
        frozen
    }

    fn signal(&self, signal: &str) {
        let mut kill = std::process::Command::new("kill");
        let status = kill.args([signal, &self.0.to_string()]).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        self.signal("-CONT");
    }
}

/// A writer that was let in before the fence commits late; with the wait-out, the marker waits for it.
async fn late_writer(servers: &Servers, name: &'static str, wait_out: bool) -> CheckReport {
    let split = servers.split(name).await;
    let writer = open(&servers.source, name).await;
    writer.batch_execute("begin").await.unwrap();
    writer.batch_execute(&split.insert(1)).await.unwrap();
    if wait_out {
        writer.batch_execute("commit").await.unwrap();
        let writers = "select count(*) from pg_locks where mode = 'RowExclusiveLock' \
            and relation = 'public.ledger'::regclass";
        wait(&split.source, writers, 0).await;
    }
    split.drain_to_marker().await;
    split.end().await;
    if !wait_out {
        writer.batch_execute("commit").await.unwrap();
    }
    split.acknowledged(1, true);
    split.judge().await
}

/// Acknowledged asynchronous commits are still in the server's memory when the position is read.
async fn asynchronous_writer(servers: &Servers, name: &'static str, marker: bool) -> CheckReport {
    let split = servers.split(name).await;
    let writer = open(&servers.source, name).await;
    let off = "set synchronous_commit = off";
    writer.batch_execute(off).await.unwrap();
    // A log writer that is as slow as can be: the acknowledged commits stay in memory until somebody needs them.
    let frozen = Frozen::log_writer(&split.source).await;
    let mut position = String::new();
    for op in 1.. {
        writer.batch_execute(&split.insert(op)).await.unwrap();
        split.acknowledged(op, false);
        let read =
            "select pg_current_wal_lsn()::text, pg_current_wal_lsn() < pg_current_wal_insert_lsn()";
        let row = writer.query_one(read, &[]).await.unwrap();
        position = row.get(0);
        if row.get(1) {
            break;
        }
    }
    if marker {
        split.drain_to_marker().await;
    } else {
        let behind = format!(
            "select count(*) from pg_replication_slots \
             where slot_name = '{name}' and confirmed_flush_lsn < '{position}'"
        );
        wait(&split.source, &behind, 0).await;
    }
    split.end().await;
    drop(frozen);
    split.judge().await
}

#[tokio::test]
async fn wrong_orders_are_caught_and_right_ones_are_clean() {
    let servers = Servers::start().await;
    let checked = late_writer(&servers, "without_wait_out", false).await;
    assert!(checked.lost > 0 && !checked.is_clean(), "{checked:?}");
    let checked = late_writer(&servers, "with_wait_out", true).await;
    assert!(
        checked.is_clean() && checked.acknowledged == 1,
        "{checked:?}"
    );
    let checked = asynchronous_writer(&servers, "to_a_position", false).await;
    assert!(checked.lost > 0 && !checked.is_clean(), "{checked:?}");
    let checked = asynchronous_writer(&servers, "to_a_marker", true).await;
    assert!(
        checked.is_clean() && checked.acknowledged > 0,
        "{checked:?}"
    );
}

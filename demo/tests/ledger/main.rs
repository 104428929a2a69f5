//! Workload, ledger and checker on real servers, with a flip by hand.

#![allow(clippy::unwrap_used, reason = "a failing helper fails its test")]

#[allow(dead_code, reason = "the library's own tests use more of it")]
#[path = "../../../client/tests/map/map_server.rs"]
mod map_server;

mod damages;
mod standby;

use client::{Map, ShardAccess};
use cluster::Cluster;
use connect::{Dsn, Session};
use demo::checker::{self, CheckInput, CheckReport};
use demo::ledger::{Baseline, Ledger, LedgerPhase};
use demo::shop::{self, Shop};
use demo::workload::{TenantChoice, TenantMix, Workload, WorkloadSettings};
use map_server::{MapServer, map_of_one_shard};
use plans::id::ShardName;
use plans::key_set::KeySet;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

struct Fleet {
    clusters: Vec<Cluster>,
    shop: Shop,
    server: MapServer,
    map: Map,
    ledger: Arc<Ledger>,
    dir: std::path::PathBuf,
}

impl Fleet {
    /// Starts two shards. The first one has all rows.
    async fn start(test: &'static str) -> Self {
        let launch = |number: usize| {
            let options = cluster::Options::temporary(&format!("ledger-{test}-{number}"))
                .setting("fsync", "off");
            tokio::task::spawn_blocking(move || Cluster::launch(options).unwrap())
        };
        let (a, b) = futures::join!(launch(0), launch(1));
        let clusters = vec![a.unwrap(), b.unwrap()];
        let shop = Shop::new(0.01, 7);
        for cluster in &clusters {
            let server = Dsn::parse(&cluster.dsn("postgres", "postgres")).unwrap();
            shop::prepare(&server, "secret", &[shop::DATABASE])
                .await
                .unwrap();
        }
        let admin = dsn(&clusters[0], "postgres");
        let all = KeySet::range(None, None);
        shop.load(&admin, &all, None).await.unwrap();
        let first = [("a".into(), admin)];
        let owners = map_of_one_shard("a").mappings;
        let baseline = Baseline::read(&first, shop.shape, owners, shop.upper_half())
            .await
            .unwrap();
        let name = format!("shardwright-ledger-{test}-{}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        let ledger = Arc::new(Ledger::create(&dir.join("ledger"), baseline).unwrap());
        let server = MapServer::start(map_of_one_shard("a")).await;
        let app: BTreeMap<ShardName, Dsn> = ["a", "b"]
            .into_iter()
            .zip(&clusters)
            .map(|(name, cluster)| (name.into(), dsn(cluster, "app")))
            .collect();
        let access = ShardAccess::new(move |name| app.get(name).cloned());
        let map = Map::connect(&server.url, &"tenants".into(), access)
            .await
            .unwrap();
        Self {
            clusters,
            shop,
            server,
            map,
            ledger,
            dir,
        }
    }

    fn start_workload(&self) -> Workload {
        let settings = WorkloadSettings {
            clients: 6,
            rate: 2_000.0,
            seed: 1,
            mix: Arc::new(TenantMix {
                moving: (self.shop.first_upper_tenant()..=self.shop.tenants).collect(),
                staying: (1..self.shop.first_upper_tenant()).collect(),
                share: 0.5,
                choice: TenantChoice::Skewed,
            }),
        };
        // The log shows why a transaction failed, in the output of a test that fails.
        let _ = tracing_subscriber::fmt().with_test_writer().try_init();
        Workload::start(settings, self.shop, &self.map, &self.ledger)
    }

    async fn wait_for_acknowledged(&self, more: u64) {
        let goal = self.ledger.tally().acknowledged + more;
        let all = async {
            while self.ledger.tally().acknowledged < goal {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), all)
            .await
            .expect("in time");
    }

    async fn check(&self, hold: bool) -> CheckReport {
        self.ledger.flush().unwrap();
        let input = CheckInput {
            map: self.map.current().as_ref().clone(),
            shards: [
                ("a".into(), dsn(&self.clusters[0], "postgres")),
                ("b".into(), dsn(&self.clusters[1], "postgres")),
            ]
            .into(),
            ledger: self.dir.join("ledger"),
            hold,
        };
        checker::check(&input).await.unwrap()
    }

    async fn sql(&self, shard: usize, text: &str) {
        let dsn = dsn(&self.clusters[shard], "postgres");
        let session = connect::connect(&dsn, &Session::named("test"))
            .await
            .unwrap();
        session
            .batch_execute("set search_path = public")
            .await
            .unwrap();
        session.batch_execute(text).await.unwrap();
        session.close().await;
    }

    /// Executes a split without Shardwright: refuses writes to the moving keys on the first shard, copies all rows to
    /// the second shard, removes there the rows that do not move, and publishes the new map.
    async fn split_by_hand(&self) {
        let split = self.shop.first_upper_tenant();
        let function = "create function guard() returns trigger language plpgsql as $$
            begin raise exception 'not here' using errcode = 'SM001'; end $$";
        self.sql(0, function).await;
        for (table, key) in tables() {
            let condition = |row: &str| format!("({row}.{key} >= {split})");
            let (new, old) = (condition("new"), condition("old"));
            let sql = format!(
                "create trigger guard_insert after insert on {table} for each row when {new} execute function guard();
                 create trigger guard_update after update on {table} for each row when ({new} or {old}) execute function guard();
                 create trigger guard_delete after delete on {table} for each row when {old} execute function guard();"
            );
            self.sql(0, &sql).await;
        }
        let copy = tokio::process::Command::new("sh")
            .arg("-c")
            .arg("\"$1\" \"$2\" | \"$3\" -qX -v ON_ERROR_STOP=1 \"$4\" > /dev/null")
            .arg("copy")
            .arg(self.clusters[0].binaries().path("pg_dump"))
            .arg(plain_dsn(&self.clusters[0]))
            .arg(self.clusters[1].binaries().path("psql"))
            .arg(plain_dsn(&self.clusters[1]))
            .env("PGOPTIONS", "-c client_min_messages=error")
            .status()
            .await
            .unwrap();
        assert!(copy.success());
        let drop_guard = "drop function guard() cascade";
        self.sql(1, drop_guard).await;
        let delete_staying = tables()
            .rev()
            .map(|(table, key)| format!("delete from {table} where {key} < {split};"))
            .collect::<String>();
        self.sql(1, &delete_staying).await;
        for (table, column) in [("events", "id"), ("ledger", "entry"), ("orders", "id")] {
            let skip_used_values =
                format!("select setval(pg_get_serial_sequence('{table}', '{column}'), 1000000000)");
            self.sql(1, &skip_used_values).await;
        }
        self.server.split_off("a", split, "b");
    }

    /// Waits until the client has received the map after the flip.
    async fn wait_for_new_map(&self) {
        let received = async {
            while self.map.current().version.0 < 2 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), received)
            .await
            .expect("in time");
    }

    async fn drop_old(&self) {
        let split = self.shop.first_upper_tenant();
        let delete_moved = tables()
            .rev()
            .map(|(table, key)| format!("delete from {table} where {key} >= {split};"))
            .collect::<String>();
        self.sql(0, &format!("drop function guard() cascade; {delete_moved}"))
            .await;
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// The tables and their key columns.
fn tables() -> impl DoubleEndedIterator<Item = (&'static str, &'static str)> {
    let key = |table| match table {
        "tenants" => (table, "id"),
        other => (other, "tenant_id"),
    };
    shop::TABLES.into_iter().map(key)
}

fn dsn(cluster: &Cluster, user: &str) -> Dsn {
    let text = cluster.dsn(shop::DATABASE, user);
    let (address, _) = text.split_once(" password=").unwrap();
    match user {
        "app" => Dsn::parse(&format!("{address} password=secret")).unwrap(),
        _ => Dsn::parse(&text).unwrap(),
    }
}

/// Returns a connection string with the password itself: PostgreSQL's programs cannot resolve a password reference.
fn plain_dsn(cluster: &Cluster) -> String {
    let text = cluster.dsn(shop::DATABASE, "postgres");
    let (address, _) = text.split_once(" password=").unwrap();
    let password = std::fs::read_to_string(cluster.password_file()).unwrap();
    format!("{address} password={password}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_split_under_load_loses_nothing() {
    let fleet = Fleet::start("split").await;
    let work = fleet.start_workload();
    fleet.wait_for_acknowledged(500).await;
    fleet.ledger.set_phase(LedgerPhase::Cutover);
    fleet.split_by_hand().await;
    fleet.ledger.set_phase(LedgerPhase::After);
    fleet.wait_for_acknowledged(1_000).await;
    work.pause().await;
    let tally = fleet.ledger.tally();
    work.resume();
    fleet.wait_for_acknowledged(10).await;
    work.stop().await.unwrap();
    fleet.drop_old().await;

    let checked = fleet.check(false).await;
    assert!(checked.is_clean(), "{checked:?}");
    assert!(checked.acknowledged > tally.acknowledged);
    assert!(
        checked.by_phase.before > 0 && checked.by_phase.after > 0,
        "{checked:?}"
    );
    assert_eq!(checked.in_doubt, 0);
    assert!(fleet.map.stats().not_owner > 0);
    let (histories, bank) = (&checked.histories, &checked.bank);
    assert!(
        histories.keys > 2 && histories.operations > 100,
        "{checked:?}"
    );
    assert!(bank.transfers > 20 && bank.reads > 10, "{checked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_crash_under_load_only_unflushed_commits_are_in_doubt() {
    let fleet = Fleet::start("crash").await;
    let work = fleet.start_workload();
    fleet.wait_for_acknowledged(500).await;
    fleet.ledger.begin_crash(&"a".into()).unwrap();
    tokio::task::block_in_place(|| fleet.clusters[0].kill().unwrap());
    fleet.ledger.end_crash(&"a".into());
    tokio::task::block_in_place(|| fleet.clusters[0].start().unwrap());
    fleet.wait_for_acknowledged(300).await;
    work.stop().await.unwrap();

    let checked = fleet.check(false).await;
    assert!(checked.is_clean(), "{checked:?}");
    assert!(checked.in_doubt < 100, "{checked:?}");
}

/// Counts the tables (lists, transfers) with a session whose commit is on the disk and waits for a standby that does
/// not exist.
const COUNT_WAITING: &str = "select count(distinct l.relation) from pg_catalog.pg_locks l \
    join pg_catalog.pg_stat_activity a using (pid) \
    where a.wait_event = 'SyncRep' and l.mode = 'RowExclusiveLock' \
    and l.relation in ('public.lists'::regclass, 'public.transfers'::regclass)";

#[tokio::test(flavor = "multi_thread")]
async fn commits_that_exist_but_were_not_acknowledged_are_not_violations() {
    let fleet = Fleet::start("unknown").await;
    let work = fleet.start_workload();
    fleet.wait_for_acknowledged(200).await;
    let reload = "select pg_reload_conf()";
    let standby = "alter system set synchronous_standby_names = 'nobody'";
    fleet.sql(0, standby).await;
    fleet.sql(0, reload).await;
    let admin = dsn(&fleet.clusters[0], "postgres");
    let session = connect::connect(&admin, &Session::named("test"))
        .await
        .unwrap();
    let both_wait = async {
        while session
            .query_one(COUNT_WAITING, &[])
            .await
            .unwrap()
            .get::<_, i64>(0)
            < 2
        {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), both_wait)
        .await
        .expect("in time");
    let end = "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'";
    session.batch_execute(end).await.unwrap();
    session.close().await;
    let no_standby = "alter system reset synchronous_standby_names";
    fleet.sql(0, no_standby).await;
    fleet.sql(0, reload).await;
    fleet.wait_for_acknowledged(300).await;
    work.stop().await.unwrap();

    let checked = fleet.check(false).await;
    assert!(checked.is_clean(), "{checked:?}");
    assert!(checked.histories.unknown > 0, "{checked:?}");
    assert!(fleet.map.stats().commits_unknown > 1);
}

//! The doctor (the command that checks databases before a move) finds each planted defect under its own code only, and
//! finds nothing in a good database.
//!
//! The tests use one server, with a database for each defect. They plant server settings one after the other.

mod elsewhere;
mod feigned;
mod pairs;
mod plants;
mod remedies;
mod roles;
mod scripts;
mod settings;
mod standby_targets;

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use cluster::Cluster;
use futures::stream::{self, StreamExt};
use plans::doctor::Finding;
use plans::doctor::{DoctorTask, Examined, MapTables};
use plans::fleet::ShardRef;
use plans::id::{MapName, ShardName};
use plans::inspection::{Inspected, Inspection};
use plans::key::KeyType;
use plans::request::Mode;
use plans::shard_map::MapSettings;
use tokio::sync::Mutex;

use super::shard::Shard as Database;
use super::survey::run as ddl;
use crate::inspect;

/// Number of databases that are created and examined concurrently.
const AT_ONCE: usize = 2;

/// A table that is ready to move. Every database has it.
const GOOD: &str = "create table good (tenant_id bigint, id bigint, primary key (tenant_id, id));";

/// The settings of a map with this table only.
const SETTINGS: &str = r#"{"tables": {"good": "tenant_id"}}"#;

/// A defect that a test plants in a database.
struct Plant {
    code: &'static str,
    /// Statements in addition to those of the good table.
    ddl: &'static str,
    settings: &'static str,
    key: KeyType,
    mode: Mode,
    /// The effect of the remedy.
    remedy: Remedy,
}

/// The action of an operator who follows a remedy.
#[derive(Debug, Clone, Copy)]
enum Remedy {
    /// Runs the script. Afterwards the doctor finds only these codes.
    Script(&'static [&'static str]),
    /// Runs the remedy, with these statements in place of its open parts.
    Statements(&'static str),
    /// Moves the keys offline.
    Offline,
    /// Changes the settings of the map to these.
    Settings(&'static str),
    /// Changes nothing in the database: the state that the finding describes remains, for this reason.
    Stays(&'static str),
}

/// Returns a defect in the good table, or in tables that the settings need not contain.
const fn plant(code: &'static str, ddl: &'static str) -> Plant {
    Plant {
        code,
        ddl,
        settings: SETTINGS,
        key: KeyType::Bigint,
        mode: Mode::Online,
        remedy: Remedy::Script(&[]),
    }
}

impl Plant {
    const fn fixed_by(mut self, statements: &'static str) -> Self {
        self.remedy = Remedy::Statements(statements);
        self
    }

    const fn listed_anew(mut self, settings: &'static str) -> Self {
        self.remedy = Remedy::Settings(settings);
        self
    }

    const fn moves_offline(mut self) -> Self {
        self.remedy = Remedy::Offline;
        self
    }

    const fn stays(mut self, why: &'static str) -> Self {
        self.remedy = Remedy::Stays(why);
        self
    }

    /// Declares that the script leads to a less severe finding.
    const fn leads_to(mut self, codes: &'static [&'static str]) -> Self {
        self.remedy = Remedy::Script(codes);
        self
    }

    const fn settings(mut self, settings: &'static str) -> Self {
        self.settings = settings;
        self
    }

    const fn key(mut self, key: KeyType) -> Self {
        self.key = key;
        self
    }

    const fn offline(mut self) -> Self {
        self.mode = Mode::Offline;
        self
    }

    fn task(&self, dsn: &str) -> DoctorTask {
        DoctorTask {
            shard: reference("a", 1, dsn),
            maps: vec![MapTables {
                mapped: None,
                map: MapName::from("orders"),
                settings: read(self.settings),
                key: vec![self.key],
            }],
            mode: self.mode,
        }
    }
}

fn reference(name: &str, number: i32, dsn: &str) -> ShardRef {
    ShardRef {
        name: ShardName::from(name),
        number,
        dsn: dsn.to_owned(),
        identity: None,
    }
}

fn read(settings: &str) -> MapSettings {
    serde_json::from_str(settings).expect("settings")
}

static SHARED: Mutex<Weak<Cluster>> = Mutex::const_new(Weak::new());

/// Creates a server of its own, with settings that cause no finding.
async fn server_of_its_own(name: &str) -> Arc<Cluster> {
    let settings = [
        ("autovacuum", "off"),
        ("max_replication_slots", "10"),
        ("max_wal_senders", "10"),
    ];
    let made = Database::with_settings(name, &settings).await;
    made.cluster.clone()
}

/// Returns the server that most of these tests share. It stops after its last user.
async fn server() -> Arc<Cluster> {
    let mut shared = SHARED.lock().await;
    if let Some(cluster) = shared.upgrade() {
        return cluster;
    }
    let cluster = server_of_its_own("doctor").await;
    *shared = Arc::downgrade(&cluster);
    cluster
}

/// Returns the findings, except the one about the superuser role of the tests.
async fn examine(task: DoctorTask) -> Examined {
    match inspect::run(&Inspection::Doctor(task), &std::env::temp_dir()).await {
        Ok(Inspected::Doctor(mut examined)) => {
            let of_tests = "role postgres";
            let powers = |f: &Finding| f.code == "role.superuser" && f.object.contains(of_tests);
            examined.findings.retain(|finding| !powers(finding));
            examined
        }
        other => panic!("{other:?}"),
    }
}

/// The finding of every test server: it does not wait for the disk.
const QUICK: &str = "server.fsync";

/// Returns the codes of the findings, and their text for a failure message. Omits [`QUICK`].
fn codes(findings: &[Finding]) -> (BTreeSet<String>, String) {
    let codes = findings.iter().map(|found| found.code.clone());
    let codes = codes.filter(|code| code != QUICK).collect();
    (codes, format!("{findings:#?}"))
}

/// Returns an error message if the findings have other codes than this one, or if a finding's content is wrong.
fn judge(code: &str, findings: &[Finding]) -> Option<String> {
    let (found, text) = codes(findings);
    if found != BTreeSet::from([code.to_owned()]) {
        return Some(format!("{code} was planted, {found:?} was found: {text}"));
    }
    let row = plans::doctor::find(code).expect("a row");
    let told = findings.iter().filter(|f| f.code == code).all(|finding| {
        finding.sw == row.sw
            && finding.severity == row.severity
            && finding.object.contains("shard")
            && !finding.remedy.is_empty()
    });
    (!told).then(|| format!("{code}: {text}"))
}

#[tokio::test]
async fn each_defect_of_a_database_is_found_by_its_code_alone() {
    let cluster = server().await;
    let plants = plants::all();
    let examined = plants.iter().enumerate().map(|(number, plant)| {
        let cluster = cluster.clone();
        async move {
            let database = Database::on(cluster, &format!("planted_{number}")).await;
            ddl(&database, &format!("{GOOD} {}", plant.ddl)).await;
            let found = examine(plant.task(&database.dsn_text())).await;
            judge(plant.code, &found.findings)
        }
    });
    let wrong: Vec<Option<String>> = stream::iter(examined.collect::<Vec<_>>())
        .buffered(AT_ONCE)
        .collect()
        .await;
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[tokio::test]
async fn where_nothing_is_wrong_nothing_is_found() {
    let cluster = server().await;
    let database = Database::on(cluster, "doctor_good").await;
    let fine = "
        create table kind (id bigint primary key, name text);
        create table item (tenant_id bigint, id bigint generated by default as identity, kind bigint references kind,
                           good bigint, amount numeric check (amount >= 0), at timestamptz default now(),
                           twice numeric generated always as (amount * 2) stored,
                           primary key (tenant_id, id), foreign key (tenant_id, good) references good);
        create index on item (tenant_id, at);
        create table scratch (at timestamptz);
        create function touch() returns trigger language plpgsql as 'begin return new; end';
        create trigger touched before update on item for each row execute function touch();
        create rule quiet as on update to good do also select 1;
        create view items as select * from item;
        insert into good values (1, 1); insert into item (tenant_id, good, amount) values (1, 1, 2);";
    ddl(&database, &format!("{GOOD} {fine}")).await;
    let healthy = plant("", "").settings(
        r#"{"tables": {"good": "tenant_id", "item": "tenant_id"}, "reference": ["kind"], "ignore": ["scratch"]}"#,
    );
    let examined = examine(healthy.task(&database.dsn_text())).await;
    assert_eq!(codes(&examined.findings).0, BTreeSet::new());
    assert_eq!(examined.tables, 3);
}

#[tokio::test]
async fn tables_of_another_map_on_the_shard_are_that_maps() {
    let cluster = server().await;
    let database = Database::on(cluster, "two_maps").await;
    ddl(
        &database,
        &format!("{GOOD} create table other (id bigint primary key);"),
    )
    .await;
    let mut task = plant("", "").task(&database.dsn_text());
    let (found, _) = codes(&examine(task.clone()).await.findings);
    assert_eq!(found, BTreeSet::from(["table.unlisted".to_owned()]));
    task.maps.push(MapTables {
        mapped: None,
        map: MapName::from("others"),
        settings: read(r#"{"tables": {"other": "id"}}"#),
        key: vec![KeyType::Bigint],
    });
    let examined = examine(task).await;
    assert_eq!(codes(&examined.findings).0, BTreeSet::new());
    assert_eq!(examined.tables, 2);
}

#[tokio::test]
async fn nothing_is_changed_and_everything_is_told_at_once() {
    let cluster = server_of_its_own("doctor_reads").await;
    let database = Database::on(cluster, "reads").await;
    let ill =
        "create unlogged table fleeting (tenant_id bigint, id bigint, primary key (tenant_id, id));
               create table bare (tenant_id bigint not null); create table other (id int);";
    ddl(&database, &format!("{GOOD} {ill}")).await;
    let session = database.session().await;
    let next = "select pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::text";
    let settings =
        r#"{"tables": {"good": "tenant_id", "fleeting": "tenant_id", "bare": "tenant_id"}}"#;
    let task = plant("", "").settings(settings).task(&database.dsn_text());
    let before: String = session.query_one(next, &[]).await.expect("read").get(0);
    let examined = examine(task).await;
    let after: String = session.query_one(next, &[]).await.expect("read").get(0);
    assert_eq!(before, after, "a transaction wrote");
    let (found, _) = codes(&examined.findings);
    let all = ["table.primary_key", "table.unlisted", "table.unlogged"];
    assert_eq!(found, all.map(str::to_owned).into());
}

//! A hash map becomes a range map under load, and a range map gets another key column: one version, no row moves. New
//! tenants appear all the time. Afterwards the kept tenants move to where the new mappings want them.

use crate::fleet::{Fleet, Part};
use crate::writers::{NotedTable, Rows, Writers, pace};
use plans::key::Key;
use plans::key_set::bucket_of;
use plans::shard_map::{ShardMap, Strategy};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

const SCHEMA: &str = "
    create table public.sale (tenant_id bigint not null, id bigint not null, region text not null default 'north', note text,
        primary key (tenant_id, id));
    create table public.line (tenant_id bigint not null, sale_id bigint not null, n int not null, primary key (tenant_id, sale_id, n),
        foreign key (tenant_id, sale_id) references public.sale on delete cascade);";

/// Tenants 0 to 399 on the shard that owns their virtual shard of 64.
const SEED: &str = "
    insert into public.sale (tenant_id, id, note)
    select t, n, 'seed' from generate_series(0, 399) t, generate_series(1, 20) n where hashint8extended(t, 0) & 63";

/// The moving tenant must have this many acknowledged transactions.
const TRANSACTIONS: u64 = 1000;
const LIMIT: Duration = Duration::from_secs(120);

fn turn(tenant: i64, turn: u64, rows: &mut Rows) -> String {
    let sale = NotedTable {
        table: "public.sale".to_owned(),
        of_tenant: format!("tenant_id = {tenant} and note <> 'seed'"),
        given: ["tenant_id, ".to_owned(), format!("{tenant}, ")],
    };
    sale.turn(turn, rows)
}

/// Reads JSON from the controller until `accept` takes it, also while the controller is being started.
async fn read_until<T>(fleet: &Fleet, route: &str, accept: fn(Value) -> Option<T>) -> T {
    let (mut poll, begun) = (pace(), Instant::now());
    loop {
        poll.tick().await;
        if let Some(found) = accept(fleet.read(route).await) {
            return found;
        }
        assert!(begun.elapsed() < LIMIT, "not in time: {route}");
    }
}

async fn map(fleet: &Fleet) -> ShardMap {
    read_until(fleet, "maps/shop", |map| serde_json::from_value(map).ok()).await
}

/// Two shards with 400 tenants, divided by the hash of the tenant.
async fn hashed(test: &'static str) -> Fleet {
    let fleet = Fleet::start(test, &["a", "b"]).await;
    for (shard, condition) in [("a", "< 32"), ("b", ">= 32")] {
        fleet.sql(shard, SCHEMA).await;
        fleet
            .sql(shard, &format!("{SEED} {condition}; analyze"))
            .await;
    }
    let part =
        |from: u32, to: u32| json!({"hash": {"of": 64, "ranges": [{"from": from, "to": to}]}});
    fleet
        .map(json!({
            "name": "shop", "strategy": "hash", "key": ["bigint"], "buckets": 64,
            "mappings": [{"keys": part(0, 32), "shard": "a"}, {"keys": part(32, 64), "shard": "b"}],
            "settings": {"tables": {"sale": "tenant_id", "line": "tenant_id"}},
        }))
        .await;
    fleet
}

/// Returns the request in a file, whose moves cut over at once and end without a hold.
fn without_hold(file: &str) -> String {
    let written = std::fs::read_to_string(file).unwrap();
    let mut request: Value = serde_saphyr::from_str(&written).unwrap();
    request["options"] = json!({"cutover": "automatic", "hold": {"seconds": 0}});
    request.to_string()
}

/// Returns a tenant of `shard` from 0 to 399 that satisfies `condition`.
async fn tenant_of(fleet: &Fleet, shard: &str, condition: &str) -> i64 {
    let find = format!("select min(tenant_id) from public.sale where {condition}");
    fleet.number(shard, &find).await
}

/// An application that creates one tenant after the other, each with two rows, by the map that it has read last.
struct Newcomers {
    stop: Arc<AtomicBool>,
    task: JoinHandle<Vec<i64>>,
}

impl Newcomers {
    fn start(fleet: &Arc<Fleet>, first: i64) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(create_tenants(Arc::clone(fleet), first, Arc::clone(&stop)));
        Self { stop, task }
    }

    /// Ends; returns the tenants whose creation was acknowledged.
    async fn end(self) -> Vec<i64> {
        self.stop.store(true, Ordering::Relaxed);
        self.task.await.unwrap()
    }
}

async fn create_tenants(fleet: Arc<Fleet>, first: i64, stop: Arc<AtomicBool>) -> Vec<i64> {
    let sessions = BTreeMap::from([
        ("a".to_owned(), fleet.session("a").await),
        ("b".to_owned(), fleet.session("b").await),
    ]);
    let mut known = map(&fleet).await;
    let mut created = Vec::new();
    let mut next = pace();
    for tenant in first.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        next.tick().await;
        // Every other one is among the tenants that the range map gives to shard a.
        let tenant = if tenant % 2 == 0 { tenant } else { -tenant };
        let create = format!(
            "begin; insert into public.sale (tenant_id, id, note) values ({tenant}, 1, 'one'), ({tenant}, 2, 'two'); \
             insert into public.line values ({tenant}, 1, 1); commit"
        );
        loop {
            let owner = known.locate(&Key::Int(tenant)).unwrap().shard.to_string();
            let Err(error) = sessions[&owner].batch_execute(&create).await else {
                created.push(tenant);
                break;
            };
            let state = error.code().map(|code| code.code().to_owned());
            assert_eq!(state.as_deref(), Some("SM001"), "{create}: {error:?}");
            sessions[&owner].batch_execute("rollback").await.unwrap();
            known = map(&fleet).await;
        }
    }
    created
}

/// Asserts that each of the tenants is on its owner, with both rows, and nowhere else.
async fn assert_on_owners(fleet: &Fleet, tenants: &[i64]) {
    let map = map(fleet).await;
    for shard in ["a", "b"] {
        let session = fleet.session(shard).await;
        let read = "select tenant_id from public.sale where tenant_id < 0 or tenant_id > 399 group by 1 having count(*) = 2 order by 1";
        let found = session.query(read, &[]).await.unwrap();
        let found: Vec<i64> = found.iter().map(|row| row.get(0)).collect();
        let owned = tenants.iter().copied();
        let owned = owned.filter(|t| map.locate(&Key::Int(*t)).unwrap().shard.as_str() == shard);
        let mut owned: Vec<i64> = owned.collect();
        owned.sort_unstable();
        assert_eq!(found, owned, "shard {shard}");
    }
}

/// A client with the earlier version writes new tenants where their virtual shard was. Those that the range map gives to
/// another shard are refused.
async fn assert_stale_clients_are_refused(fleet: &Fleet) {
    for (shard, mut tenants) in [("a", 900_000_000..), ("b", -900_000_000..)] {
        let had =
            |tenant: &i64| (8..32).contains(&bucket_of(&Key::Int(*tenant), 64)) == (shard == "a");
        let tenant = tenants.find(had).unwrap();
        let write = format!("insert into public.sale (tenant_id, id) values ({tenant}, 1)");
        let refused = fleet.session(shard).await.batch_execute(&write).await;
        let state = refused.unwrap_err().code().unwrap().code().to_owned();
        assert_eq!(state, "SM001", "shard {shard}");
    }
}

/// The reconciler agrees with the guards, and earlier versions can be read and compared.
async fn assert_no_contradiction(fleet: &Fleet) {
    let report = fleet.ok(&["reconcile", "-o", "json"]).await;
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["findings"], json!([]), "{report}");
    let across = fleet.run(&["map", "diff", "shop", "1"]).await;
    let said = String::from_utf8_lossy(&across.stderr);
    assert!(
        said.contains("version 3 of map shop divides the keys"),
        "{said}"
    );
    for line in [
        "map diff shop 1 2",
        "map history shop",
        "map export shop --version 1 --format sql",
    ] {
        fleet.ok(&line.split(' ').collect::<Vec<_>>()).await;
    }
    let first = fleet
        .ok(&[
            "map",
            "export",
            "shop",
            "--version",
            "1",
            "--format",
            "json",
        ])
        .await;
    assert!(first.contains("bucket"), "{first}");
    let (status, _) = fleet.post("maps/shop/locate", &json!(5)).await;
    assert_eq!(status, 200);
}

async fn found(fleet: &Fleet, shard: &str, tenant: i64) -> Rows {
    let session = fleet.session(shard).await;
    let read = "select id, note from public.sale where tenant_id = $1 and note <> 'seed'";
    let rows = session.query(read, &[&tenant]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

#[tokio::test]
async fn convert_hash_to_range() {
    let fleet = Arc::new(hashed("hash-range").await);
    // So shard a has a guard of released keys, which are virtual shards.
    let earlier = "operation: move\nmap: shop\nmoves: [{source: a, target: b, keys: {buckets: [{from: 0, to: 8}]}}]\n\
        options: {cutover: automatic, hold: {seconds: 0}}\n";
    fleet.complete(earlier).await;
    let moving = tenant_of(&fleet, "a", "tenant_id >= 200").await;
    let staying = tenant_of(&fleet, "b", "tenant_id >= 200").await;
    let on_a = Writers::start(&fleet, ["a", "b"], &[moving], turn).await;
    let on_b = Writers::start(&fleet, ["b", "a"], &[staying], turn).await;
    let newcomers = Newcomers::start(&fleet, 1000);
    on_a.more(20).await;
    let moves = fleet.request("").replace("request.yaml", "moves.yaml");
    let line = format!(
        "map convert shop --strategy range --range ..200=a --range 200..=b --yes --moves {moves}"
    );
    let said = fleet.ok(&line.split(' ').collect::<Vec<_>>()).await;
    assert!(said.contains("stay on shard"), "{said}");
    let converted = map(&fleet).await;
    assert_eq!(
        (converted.version.0, converted.strategy),
        (3, Strategy::Range)
    );
    on_a.more(20).await;
    on_b.more(20).await;
    assert_stale_clients_are_refused(&fleet).await;
    assert_no_contradiction(&fleet).await;
    fleet.complete(&without_hold(&moves)).await;
    on_a.more(TRANSACTIONS).await;
    let created = newcomers.end().await;
    assert!(created.len() > 100, "{} tenants", created.len());
    assert_on_owners(&fleet, &created).await;
    let (of_a, of_b) = (on_a.end().await, on_b.end().await);
    assert_eq!(found(&fleet, "b", moving).await, of_a[&moving]);
    assert_eq!(found(&fleet, "b", staying).await, of_b[&staying]);
    assert!(found(&fleet, "a", moving).await.is_empty());
    let divided = map(&fleet).await.joined();
    assert_eq!(divided.mappings.len(), 2, "{:?}", divided.mappings);
    let seeded = "select count(*) from public.sale where note = 'seed'";
    let rows = fleet.number("a", seeded).await + fleet.number("b", seeded).await;
    assert_eq!(rows, 8000);
    let checked = fleet.ok(&["map", "check", "shop"]).await;
    assert!(checked.contains(" 0 defects"), "{checked}");
}

const TO_RANGE: &str = "--strategy range --range ..200=a --range 200..=b";
const TO_HASH: &str = "--strategy hash --buckets 128 --shards a,b";

/// Converts the map; returns whether the command succeeded.
async fn convert(fleet: &Fleet, to: &str) -> bool {
    let line = format!("map convert shop {to} --yes");
    let ended = fleet.run(&line.split(' ').collect::<Vec<_>>()).await;
    ended.status.success()
}

/// Waits until no conversion is unfinished. Returns how many have created a version.
async fn settled(fleet: &Fleet) -> usize {
    read_until(fleet, "maps/shop/conversions", |all| {
        let all = all.as_array()?;
        let ended = all.iter().all(|one| !one["finished_at"].is_null());
        let written = all.iter().filter(|one| !one["version"].is_null());
        ended.then_some(written.count())
    })
    .await
}

/// Asserts that no object of a conversion is left on the shards.
async fn assert_nothing_left(fleet: &Fleet, point: &str) {
    for shard in ["a", "b"] {
        let triggers = "select count(*) from pg_trigger where tgname like 'shardwright_guard_m%'";
        assert_eq!(fleet.number(shard, triggers).await, 0, "{point}: {shard}");
        let exists = "select count(*) from pg_class where oid = to_regclass('shardwright.move')";
        if fleet.number(shard, exists).await > 0 {
            let rows = "select count(*) from shardwright.move";
            assert_eq!(fleet.number(shard, rows).await, 0, "{point}: {shard}");
        }
    }
}

#[tokio::test]
async fn a_conversion_survives_the_death_of_its_controller_and_its_agent() {
    let fleet = Arc::new(hashed("convert-kill").await);
    let tenant = tenant_of(&fleet, "a", "tenant_id >= 200").await;
    let writers = Writers::start(&fleet, ["a", "b"], &[tenant], turn).await;
    let newcomers = Newcomers::start(&fleet, 1000);
    let mut versions = 0;
    let faults = [
        (Part::Controller, "controller.conversion.begun", false),
        (Part::Controller, "controller.conversion.closed", false),
        (Part::Controller, "controller.conversion.written", true),
        (Part::Controller, "controller.conversion.settled", true),
        (Part::Agent, "convert.enrolled", false),
        (Part::Agent, "convert.guarded", false),
        (Part::Agent, "convert.guarded#2", false),
        (Part::Agent, "convert.replaced", true),
    ];
    let mut to = [TO_RANGE, TO_HASH].into_iter().cycle().peekable();
    for (part, point, is_written) in faults {
        fleet.restart(part, &format!("{point}=abort")).await;
        map(&fleet).await;
        let (converted, ()) = tokio::join!(convert(&fleet, to.peek().unwrap()), async {
            fleet.ended(part).await;
            fleet.restart(part, "").await;
        });
        versions += usize::from(is_written);
        assert_eq!(settled(&fleet).await, versions, "{point}");
        assert_eq!(
            converted,
            is_written && matches!(part, Part::Agent),
            "{point}"
        );
        assert_nothing_left(&fleet, point).await;
        if is_written {
            to.next();
        }
        writers.more(10).await;
        let checked = fleet.ok(&["map", "check", "shop"]).await;
        assert!(checked.contains(" 0 defects"), "{point}: {checked}");
    }
    let created = newcomers.end().await;
    assert_on_owners(&fleet, &created).await;
    let expected = writers.end().await;
    assert_eq!(found(&fleet, "a", tenant).await, expected[&tenant]);
    assert!(found(&fleet, "b", tenant).await.is_empty());
}

/// Sales with a region as the key, and lines that belong to the region of their sale.
const REGIONS: &str = "
    create table public.sale (tenant_id bigint not null, id bigint not null, region text not null, note text,
        primary key (region, tenant_id, id));
    create index on public.sale (tenant_id);
    create table public.line (tenant_id bigint not null, region text not null, sale_id bigint not null, n int not null,
        primary key (region, tenant_id, sale_id, n),
        foreign key (region, tenant_id, sale_id) references public.sale on delete cascade);
    create table public.memo (id bigint primary key, tenant_id bigint not null, region text not null);";

fn region_turn(tenant: i64, turn: u64, rows: &mut Rows) -> String {
    let sale = NotedTable {
        table: "public.sale".to_owned(),
        of_tenant: format!("tenant_id = {tenant} and note <> 'seed'"),
        given: [
            "tenant_id, region, ".to_owned(),
            format!("{tenant}, 'north', "),
        ],
    };
    sale.turn(turn, rows)
}

/// Two shards whose tenants have regions. The north is on both.
async fn by_tenant() -> Fleet {
    let fleet = Fleet::start("region", &["a", "b"]).await;
    for (shard, tenants) in [
        ("a", "(1, 'north'), (2, 'north'), (3, 'west')"),
        ("b", "(101, 'south'), (102, 'south'), (103, 'north')"),
    ] {
        fleet.sql(shard, REGIONS).await;
        let seed = format!(
            "insert into public.sale select t, n, r, 'seed' from (values {tenants}) tenant (t, r), generate_series(1, 10) n;
             insert into public.line select tenant_id, region, id, 1 from public.sale; analyze"
        );
        fleet.sql(shard, &seed).await;
    }
    fleet
        .map(json!({
            "name": "shop", "strategy": "range", "key": ["bigint"],
            "mappings": [{"keys": {"range": [{"to": 100}]}, "shard": "a"}, {"keys": {"range": [{"from": 100}]}, "shard": "b"}],
            "settings": {"tables": {"sale": "tenant_id", "line": "tenant_id"}, "ignore": ["public.memo"]},
        }))
        .await;
    fleet
}

#[tokio::test]
async fn convert_to_another_key_column() {
    let fleet = by_tenant().await;
    let to = "map convert shop --strategy range --key text --range ..p=b --range p..=a --yes";
    let with = |tables: &str| format!("{to} {tables}");
    let refused = async |line: String| {
        let ended = fleet.run(&line.split(' ').collect::<Vec<_>>()).await;
        assert!(!ended.status.success(), "{line}");
        String::from_utf8(ended.stderr).unwrap()
    };
    let tables = "--table sale=region --table line=region";
    // Tenant 103 of the north is on another shard than the rest of the north.
    let said = refused(with(tables)).await;
    assert!(
        said.contains("north") && said.contains("shards a and b"),
        "{said}"
    );
    // The primary key of the memos lacks the region, so no region could move.
    let said = refused(with(&format!("{tables} --table memo=region"))).await;
    assert!(said.contains("public.memo"), "{said}");
    let joined = "operation: move\nmap: shop\nmoves: [{source: b, target: a, keys: {from: 103, to: 104}}]\n\
        options: {cutover: automatic, hold: {seconds: 0}}\n";
    fleet.complete(joined).await;
    let writers = Writers::start(&fleet, ["a", "b"], &[1], region_turn).await;
    writers.more(20).await;
    let moves = fleet.request("").replace("request.yaml", "moves.yaml");
    fleet
        .ok(&format!("{} --moves {moves}", with(tables))
            .split(' ')
            .collect::<Vec<_>>())
        .await;
    let converted = map(&fleet).await;
    let owner = |region: &str| {
        converted
            .locate(&Key::Text(region.to_owned()))
            .unwrap()
            .shard
            .to_string()
    };
    assert_eq!(
        ["north", "west", "south", "east", "zone"].map(owner),
        ["a", "a", "b", "b", "a"]
    );
    writers.more(20).await;
    fleet.complete(&without_hold(&moves)).await;
    writers.more(TRANSACTIONS).await;
    let expected = writers.end().await;
    assert_eq!(found(&fleet, "b", 1).await, expected[&1]);
    let north = "select count(*) from public.line where region = 'north'";
    assert_eq!(
        (
            fleet.number("a", north).await,
            fleet.number("b", north).await
        ),
        (0, 30)
    );
    let checked = fleet.ok(&["map", "check", "shop"]).await;
    assert!(checked.contains(" 0 defects"), "{checked}");
}

/// Returns how many milliseconds 2,000 transactions that each update one row of `tenant` take.
async fn updating(fleet: &Fleet, shard: &str, tenant: i64) -> u128 {
    let session = fleet.session(shard).await;
    let update = format!(
        "do $$ begin for n in 1..2000 loop \
         update public.sale set note = 'again' where tenant_id = {tenant} and id = 1; commit; end loop; end $$"
    );
    let begun = Instant::now();
    session.batch_execute(&update).await.unwrap();
    begun.elapsed().as_millis()
}

#[tokio::test]
#[ignore = "a measurement: run it with --nocapture"]
async fn time_of_a_conversion_of_twenty_thousand_tenants() {
    let fleet = hashed("convert-time").await;
    for (shard, condition) in [("a", "< 32"), ("b", ">= 32")] {
        let more = SEED
            .replace("0, 399", "400, 20000")
            .replace("1, 20)", "1, 50)");
        fleet
            .sql(shard, &format!("{more} {condition}; analyze"))
            .await;
    }
    let kept = tenant_of(&fleet, "a", "tenant_id >= 10000").await;
    let mut times = vec![updating(&fleet, "a", kept).await];
    let line =
        "map convert shop --strategy range --range ..10000=a --range 10000..=b --yes -o json";
    let begun = Instant::now();
    let said = fleet.ok(&line.split(' ').collect::<Vec<_>>()).await;
    let took = begun.elapsed();
    let report: Value = serde_json::from_str(&said).unwrap();
    for _ in 0..3 {
        times.push(updating(&fleet, "a", kept).await);
    }
    println!(
        "{} keys, {} mappings, command {took:?}, new keys refused for {} ms; 2,000 updates before and after: {times:?} ms",
        report["keys"], report["mappings"], report["milliseconds"]
    );
}

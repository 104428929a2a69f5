//! A hash map of 64 virtual shards gets 4096 under load, and a tenant moves alone that had shared its virtual shard with
//! another one. A single key of a virtual shard moves, and returns.

use crate::fleet::Fleet;
use crate::writers::{NotedTable, Rows, Writers};
use plans::key::Key;
use plans::key_set::bucket_of;
use serde_json::{Value, json};

const SCHEMA: &str = "
    create table public.sale (tenant_id bigint not null, id bigint not null, note text, primary key (tenant_id, id));
    insert into public.sale select g % 4000, g, 'seed' from generate_series(1, 40000) g;
    analyze";

/// Two tenants with the same number among 64 virtual shards, and others among 4096.
const NEIGHBOURS: &str = "
    select min(one), min(other) from (
        select one, min(other) as other from generate_series(5000, 6000) one, generate_series(5000, 6000) other
        where one < other
          and hashint8extended(one, 0) & 63 = hashint8extended(other, 0) & 63
          and hashint8extended(one, 0) & 4095 <> hashint8extended(other, 0) & 4095
        group by one order by one limit 1) found";

/// The moving tenant must have this many acknowledged transactions.
const TRANSACTIONS: u64 = 1000;

fn turn(tenant: i64, turn: u64, rows: &mut Rows) -> String {
    let sale = NotedTable {
        table: "public.sale".to_owned(),
        of_tenant: format!("tenant_id = {tenant}"),
        given: ["tenant_id, ".to_owned(), format!("{tenant}, ")],
    };
    sale.turn(turn, rows)
}

async fn found(fleet: &Fleet, shard: &str, tenant: i64) -> Rows {
    let session = fleet.session(shard).await;
    let read = "select id, note from public.sale where tenant_id = $1";
    let rows = session.query(read, &[&tenant]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

async fn map(fleet: &Fleet) -> Value {
    let shown = fleet.ok(&["map", "show", "shop", "-o", "json"]).await;
    serde_json::from_str(&shown).unwrap()
}

const HELD: &str = "options: {hold: until_finish, cutover: approve}\n";

/// Plans and submits a request. Returns the id of its migration.
async fn apply(fleet: &Fleet, request: &str) -> String {
    let planned = fleet.plan(request).await;
    let written = String::from_utf8_lossy(&planned.stderr);
    assert!(planned.status.success(), "{written}");
    let plan = fleet.request("").replace("request.yaml", "plan.json");
    fleet.ok(&["apply", &plan]).await.trim().to_owned()
}

#[tokio::test]
async fn a_tenant_moves_alone_after_a_change_of_the_number_of_virtual_shards() {
    let fleet = Fleet::start("buckets", &["a", "b"]).await;
    fleet.sql("a", SCHEMA).await;
    let row = fleet.session("a").await.query_one(NEIGHBOURS, &[]).await;
    let row = row.unwrap();
    let (moving, staying): (i32, i32) = (row.get(0), row.get(1));
    let (moving, staying) = (i64::from(moving), i64::from(staying));
    let ranges = json!([{ "from": 0, "to": 64 }]);
    fleet
        .map(json!({
            "name": "shop", "strategy": "hash", "key": ["bigint"], "buckets": 64,
            "mappings": [{"keys": {"hash": {"of": 64, "ranges": ranges}}, "shard": "a"}],
            "settings": {"tables": {"sale": "tenant_id"}},
        }))
        .await;
    let writers = Writers::start(&fleet, ["a", "b"], &[staying, moving], turn).await;
    writers.more(20).await;
    fleet.ok(&["map", "buckets", "shop", "4096", "--yes"]).await;
    let changed = map(&fleet).await;
    assert_eq!(
        (&changed["version"], &changed["buckets"]),
        (&json!(2), &json!(4096))
    );
    let bucket = bucket_of(&Key::Int(moving), 4096);
    let request = format!(
        "operation: move\nmap: shop\nmoves:\n- {{source: a, target: b, keys: {{buckets: [{{from: {bucket}, to: {}}}]}}}}\n{HELD}",
        bucket + 1
    );
    let id = apply(&fleet, &request).await;
    fleet.wait(&id, "waiting").await;
    writers.more(20).await;
    fleet.ok(&["approve", &id, "--yes"]).await;
    fleet.wait(&id, "flipped").await;
    writers.more(20).await;
    fleet.ok(&["rollback", &id, "--yes"]).await;
    fleet.wait(&id, "rolled_back").await;
    fleet.ok(&["approve", &id, "--yes"]).await;
    fleet.wait(&id, "flipped").await;
    writers.more(TRANSACTIONS).await;
    fleet.ok(&["finish", &id, "--yes"]).await;
    fleet.wait(&id, "completed").await;
    let expected = writers.end().await;
    for (shard, other, tenant) in [("a", "b", staying), ("b", "a", moving)] {
        assert_eq!(
            found(&fleet, shard, tenant).await,
            expected[&tenant],
            "{tenant}"
        );
        assert!(found(&fleet, other, tenant).await.is_empty(), "{tenant}");
    }
    // Fewer virtual shards again would put the two tenants together.
    let refused = fleet.run(&["map", "buckets", "shop", "64", "--yes"]).await;
    assert!(!refused.status.success());
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(text.contains("of others"), "{text}");
    let checked = fleet.ok(&["map", "check", "shop"]).await;
    assert!(checked.contains(" 0 defects"), "{checked}");
}

/// One virtual shard with 10,001 tenants.
const ONE_VIRTUAL_SHARD: &str = "
    create table public.sale (tenant_id bigint not null, id bigint not null, note text, primary key (tenant_id, id));
    insert into public.sale select g, n, 'seed' from generate_series(1, 10000) g, generate_series(1, 3) n;
    analyze";

async fn row_count(fleet: &Fleet, shard: &str) -> i64 {
    let session = fleet.session(shard).await;
    let read = "select count(*) from public.sale";
    session.query_one(read, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn one_of_ten_thousand_tenants_of_a_virtual_shard_moves_and_returns() {
    let fleet = Fleet::start("exception", &["a", "b", "c"]).await;
    fleet.sql("a", ONE_VIRTUAL_SHARD).await;
    let ranges = json!([{ "from": 0, "to": 1 }]);
    fleet
        .map(json!({
            "name": "shop", "strategy": "hash", "key": ["bigint"], "buckets": 1,
            "mappings": [{"keys": {"hash": {"of": 1, "ranges": &ranges}}, "shard": "a"}],
            "settings": {"tables": {"sale": "tenant_id"}},
        }))
        .await;
    let (moving, staying) = (20_000, 20_001);
    let writers = Writers::start(&fleet, ["a", "b"], &[staying, moving], turn).await;
    writers.more(20).await;
    let request = format!("operation: isolate\nmap: shop\nkey: {moving}\ntarget: b\n{HELD}");
    let id = apply(&fleet, &request).await;
    fleet.wait(&id, "waiting").await;
    writers.cut_over_twice(&fleet, &id, TRANSACTIONS).await;
    let expected = writers.end().await;
    let of_tenant = |tenant: i64| i64::try_from(expected[&tenant].len()).unwrap();
    assert_eq!(row_count(&fleet, "b").await, of_tenant(moving));
    assert_eq!(row_count(&fleet, "a").await, 30_000 + of_tenant(staying));
    assert_eq!(found(&fleet, "b", moving).await, expected[&moving]);
    assert_eq!(found(&fleet, "a", staying).await, expected[&staying]);
    let exception = &map(&fleet).await["mappings"][0];
    let single = json!({"hash": {"of": 1, "ranges": [], "except": [moving]}});
    assert_eq!(
        (&exception["keys"], &exception["shard"]),
        (&single, &json!("b"))
    );
    let checked = fleet.ok(&["map", "check", "shop"]).await;
    assert!(checked.contains(" 0 defects"), "{checked}");

    // The virtual shard moves without its exception, which then returns to it: the map has no exception any more.
    let virtual_shard = "{source: a, target: c, keys: {buckets: [{from: 0, to: 1}]}}".to_owned();
    let single = format!("{{source: b, target: c, keys: {{values: [{moving}]}}}}");
    for (entry, mode) in [(virtual_shard, "online"), (single, "offline")] {
        let request =
            format!("operation: move\nmap: shop\nmoves:\n- {entry}\noptions: {{mode: {mode}}}\n");
        let id = apply(&fleet, &request).await;
        fleet.wait(&id, "waiting").await;
        fleet.ok(&["approve", &id, "--yes"]).await;
        fleet.wait(&id, "flipped").await;
        fleet.ok(&["finish", &id, "--yes"]).await;
        fleet.wait(&id, "completed").await;
        assert_eq!(row_count(&fleet, "a").await, 0);
    }
    assert_eq!(row_count(&fleet, "b").await, 0);
    for tenant in [moving, staying] {
        assert_eq!(found(&fleet, "c", tenant).await, expected[&tenant]);
    }
    let of_tenants = of_tenant(moving) + of_tenant(staying);
    assert_eq!(row_count(&fleet, "c").await, 30_000 + of_tenants);
    let mappings =
        json!([{ "keys": {"hash": {"of": 1, "ranges": ranges}}, "shard": "c", "state": "active" }]);
    assert_eq!(map(&fleet).await["mappings"], mappings);
    let checked = fleet.ok(&["map", "check", "shop"]).await;
    assert!(checked.contains(" 0 defects"), "{checked}");
}

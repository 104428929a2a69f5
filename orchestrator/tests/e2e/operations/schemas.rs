//! A map of schemas: whole schemas move under load, to an empty database, to a shard that has other schemas, and back to a
//! shard that had them before.

use crate::fleet::Fleet;
use crate::writers::{NotedTable, Rows, Writers};
use serde_json::{Value, json};

/// What the schemas of all tenants use.
const SHARED: &str = "
    create schema shared;
    create type shared.mood as enum ('fine', 'bad');
    create table shared.rate (id int primary key);
    insert into shared.rate values (1);
    create table public.country (code text primary key, name text not null);
    insert into public.country values ('ch', 'Switzerland'), ('at', 'Austria');
    create table public.deployment (id int primary key);
    create function public.stamp() returns trigger language plpgsql as $$ begin new.stamped := true; return new; end $$";

/// The name of a schema that must be quoted, with 63 bytes.
const QUOTED: &str = "Tenant \"5\" with a name as long as PostgreSQL allows it, ü 63..";

fn name(tenant: i64) -> String {
    match tenant {
        5 => QUOTED.to_owned(),
        number => format!("tenant_{number}"),
    }
}

fn quoted(tenant: i64) -> String {
    format!("\"{}\"", name(tenant).replace('"', "\"\""))
}

/// The schema of a tenant. Those with an even number have another shape.
fn tenant_schema(tenant: i64) -> String {
    let schema = quoted(tenant);
    let more = match tenant % 2 {
        0 => format!("create table {schema}.extra (id bigserial primary key, sale bigint references {schema}.sale, v numeric);
                      insert into {schema}.extra (sale, v) select id, id from {schema}.sale"),
        _ => format!("create table {schema}.log (at date, id bigint generated always as identity, primary key (at, id)) partition by range (at);
                      create table {schema}.log_old partition of {schema}.log for values from (minvalue) to ('2026-01-01');
                      create table {schema}.log_new partition of {schema}.log default;
                      insert into {schema}.log (at) select date '2025-12-01' + g from generate_series(1, 60) g"),
    };
    format!(
        "create schema {schema};
         create table {schema}.sale (id bigint primary key, note text, how shared.mood default 'fine',
           country text default 'ch' references public.country, stamped boolean);
         create table {schema}.flyway_history (id int);
         create index on {schema}.sale (note);
         create trigger stamp before insert on {schema}.sale for each row execute function public.stamp();
         create function {schema}.count_sales() returns bigint language sql as 'select count(*) from {literal}.sale';
         create view {schema}.bad_sale as select * from {schema}.sale where how = 'bad';
         create materialized view {schema}.by_country as select country, count(*) from {schema}.sale group by 1;
         insert into {schema}.sale (id, note) select g, 'seed' from generate_series(1, 500) g;
         {more}",
        literal = schema.replace('\'', "''"),
    )
}

fn turn(tenant: i64, turn: u64, rows: &mut Rows) -> String {
    let sale = NotedTable {
        table: format!("{}.sale", quoted(tenant)),
        of_tenant: "true".to_owned(),
        given: [String::new(), String::new()],
    };
    sale.turn(turn, rows)
}

async fn found(fleet: &Fleet, shard: &str, tenant: i64) -> Rows {
    let session = fleet.session(shard).await;
    let read = format!(
        "select id, note from {}.sale where id > 1000000",
        quoted(tenant)
    );
    let rows = session.query(&read, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

async fn count(fleet: &Fleet, shard: &str, table: &str) -> i64 {
    fleet
        .number(shard, &format!("select count(*) from {table}"))
        .await
}

/// Starts a fleet whose first shard has the tenants, and creates the map.
async fn start(test: &'static str, shards: &'static [&'static str], tenants: &[i64]) -> Fleet {
    let fleet = Fleet::start(test, shards).await;
    fleet.sql("a", SHARED).await;
    for tenant in tenants {
        fleet.sql("a", &tenant_schema(*tenant)).await;
    }
    fleet.sql("a", "analyze").await;
    let owned: Vec<String> = tenants.iter().map(|tenant| name(*tenant)).collect();
    let own = tenants
        .iter()
        .map(|tenant| format!("{}.flyway_history", quoted(*tenant)));
    let ignored: Vec<String> = own.chain(["deployment".to_owned()]).collect();
    fleet
        .map(json!({
            "name": "shop", "strategy": "list", "key": ["text"],
            "mappings": [{"keys": {"list": owned}, "shard": "a"}],
            "settings": {"keyed_by": "schema", "reference": ["country", "shared.rate"], "ignore": ignored},
        }))
        .await;
    fleet
}

/// Returns a request that moves tenants.
fn moving(source: &str, target: &str, tenants: &[i64], options: &str) -> String {
    let values: Vec<String> = tenants.iter().map(|tenant| name(*tenant)).collect();
    format!(
        "operation: move\nmap: shop\nmoves:\n- {{source: {source}, target: {target}, keys: {{values: {}}}}}\noptions: {{{options}}}\n",
        json!(values)
    )
}

const OFFLINE: &str = "mode: offline, cutover: automatic, hold: {seconds: 0}";
const ONLINE: &str = "cutover: automatic, hold: {seconds: 0}";
const HELD: &str = "hold: until_finish, cutover: approve";

async fn no_defects(fleet: &Fleet) {
    let checked = fleet.run(&["map", "check", "shop"]).await;
    let shown = String::from_utf8_lossy(&checked.stdout);
    assert!(
        checked.status.success() && shown.contains(" 0 defects"),
        "{shown}"
    );
}

async fn owners(fleet: &Fleet) -> Value {
    let shown = fleet.ok(&["map", "show", "shop", "-o", "json"]).await;
    let map: Value = serde_json::from_str(&shown).unwrap();
    let mut owners = json!({});
    for mapping in map["mappings"].as_array().unwrap() {
        for key in mapping["keys"]["list"].as_array().unwrap() {
            owners[key.as_str().unwrap()] = mapping["shard"].clone();
        }
    }
    owners
}

#[tokio::test]
async fn schemas_move_online_to_an_empty_database_and_return() {
    let fleet = start("schemas", &["a", "b"], &[1, 2, 3, 5]).await;
    let writers = Writers::start(&fleet, ["a", "b"], &[1, 2, 3, 5], turn).await;
    writers.more(20).await;
    let id = fleet
        .reach(&moving("a", "b", &[1, 2, 5], HELD), "waiting")
        .await;
    writers.cut_over_twice(&fleet, &id, 1000).await;
    let expected = writers.end().await;
    for tenant in [1, 2, 5] {
        assert_eq!(
            found(&fleet, "b", tenant).await,
            expected[&tenant],
            "{tenant}"
        );
        let sale = format!("{}.sale", quoted(tenant));
        assert_eq!(count(&fleet, "a", &sale).await, 0, "{tenant}");
        let owner = fleet.ok(&["map", "locate", "shop", &name(tenant)]).await;
        assert!(owner.contains('b'), "{owner}");
    }
    assert_eq!(found(&fleet, "a", 3).await, expected[&3]);
    // The other tenant did not come along; the shared objects and the reference table did.
    let schemas = "select count(*) from pg_namespace where nspname = 'tenant_3'";
    assert_eq!(fleet.number("b", schemas).await, 0);
    assert_eq!(count(&fleet, "b", "public.country").await, 2);
    let sales = "select tenant_1.count_sales() - count(*) from tenant_1.sale where stamped";
    assert_eq!(fleet.number("b", sales).await, 0);
    no_defects(&fleet).await;

    // The tables of a tenant that returns are still there, empty and guarded.
    let refused = fleet.session("a").await;
    let write = "insert into tenant_1.sale (id) values (1)";
    let error = refused.batch_execute(write).await.unwrap_err();
    assert_eq!(error.code().map(|code| code.code()), Some("SM001"));
    fleet.complete(&moving("b", "a", &[1], OFFLINE)).await;
    assert_eq!(found(&fleet, "a", 1).await, expected[&1]);
    refused
        .batch_execute("insert into tenant_1.sale (id) values (1000)")
        .await
        .unwrap();
    assert_eq!(owners(&fleet).await["tenant_1"], "a");
    no_defects(&fleet).await;
}

#[tokio::test]
#[ignore = "make operations runs it"]
async fn a_shard_of_schemas_is_rebalanced_and_drained() {
    let fleet = start("drained-schemas", &["a", "b", "c"], &[1, 2, 3, 4, 6]).await;
    let writers = Writers::start(&fleet, ["a", "b"], &[1], turn).await;
    writers.more(20).await;
    let isolate = "operation: isolate\nmap: shop\nkey: tenant_1\ntarget: b\n";
    fleet
        .complete(&format!("{isolate}options: {{{ONLINE}}}\n"))
        .await;
    writers.more(1000).await;
    let expected = writers.end().await;
    assert_eq!(found(&fleet, "b", 1).await, expected[&1]);
    // Shard c is new; shard b has the shared objects, but no table of the schemas that come.
    let rebalance = "operation: rebalance\nmap: shop\nby: bytes\nonto: [c]\n";
    fleet
        .complete(&format!("{rebalance}options: {{{ONLINE}}}\n"))
        .await;
    let balanced = owners(&fleet).await;
    let of = |shard: &str| {
        let all = balanced.as_object().unwrap().values();
        all.filter(|owner| *owner == shard).count()
    };
    assert!(of("a") <= 2 && of("b") >= 1 && of("c") >= 1, "{balanced}");
    no_defects(&fleet).await;
    let drain = "operation: drain\nmap: shop\nsource: a\n";
    fleet
        .complete(&format!("{drain}options: {{{OFFLINE}}}\n"))
        .await;
    let drained = owners(&fleet).await;
    let names = drained.as_object().unwrap();
    assert_eq!(names.len(), 5, "{drained}");
    assert!(names.values().all(|owner| owner != "a"), "{drained}");
    for tenant in [2, 3, 4, 6] {
        let owner = names[&name(tenant)].as_str().unwrap();
        assert_eq!(
            count(&fleet, owner, &format!("{}.sale", quoted(tenant))).await,
            500
        );
        assert_eq!(
            count(&fleet, "a", &format!("{}.sale", quoted(tenant))).await,
            0
        );
    }
    no_defects(&fleet).await;
    let loads = fleet.ok(&["map", "load", "shop"]).await;
    assert!(loads.contains("tenant_1"), "{loads}");
}

/// Plans a request that must be refused. Returns what the command writes.
async fn refused(fleet: &Fleet, request: &str) -> String {
    let planned = fleet.plan(request).await;
    let shown = String::from_utf8_lossy(&planned.stderr).into_owned();
    assert!(!planned.status.success(), "{request}: {shown}");
    let written = [planned.stdout, planned.stderr].concat();
    String::from_utf8(written).unwrap()
}

#[tokio::test]
async fn a_plan_names_what_prevents_the_move_of_a_schema() {
    let fleet = start("refused-schemas", &["a", "b"], &[1, 2]).await;
    let cases = [
        (
            "create schema stray; create table stray.t (id int primary key)",
            "shard a, schema stray",
            "drop schema stray cascade",
        ),
        (
            "create table tenant_2.of_other (id int primary key, sale bigint references tenant_1.sale)",
            "of_other_sale_fkey of tenant_2.of_other",
            "drop table tenant_2.of_other",
        ),
        (
            "create function tenant_2.own() returns trigger language plpgsql as 'begin return new; end';
             create trigger own before insert on tenant_1.sale for each row execute function tenant_2.own()",
            "trigger own on tenant_1.sale",
            "drop trigger own on tenant_1.sale",
        ),
        (
            "create foreign data wrapper nothing; create server nowhere foreign data wrapper nothing;
             create foreign table tenant_1.far (id int) server nowhere",
            "shard a, table tenant_1.far",
            "drop foreign data wrapper nothing cascade",
        ),
    ];
    for (create, expected, drop) in cases {
        fleet.sql("a", create).await;
        let text = refused(&fleet, &moving("a", "b", &[1], ONLINE)).await;
        assert!(text.contains(expected), "{create}: {text}");
        fleet.sql("a", drop).await;
    }
    // The target has a schema of the same name: with other tables, and with other columns.
    fleet
        .sql(
            "b",
            "create schema tenant_1; create table tenant_1.sale (id bigint primary key)",
        )
        .await;
    let text = refused(&fleet, &moving("a", "b", &[1], ONLINE)).await;
    assert!(text.contains("shard b, tables tenant_1.log"), "{text}");
    fleet.sql("b", "drop schema tenant_1 cascade").await;
    let text = refused(&fleet, &moving("a", "b", &[9], ONLINE)).await;
    assert!(text.contains("tenant_9"), "{text}");
    let changed = fleet
        .run(&["map", "set", "shop", "--table", "sale=id"])
        .await;
    let text = String::from_utf8_lossy(&changed.stderr).into_owned();
    assert!(text.contains("keyed_by: schema"), "{text}");
    fleet.complete(&moving("a", "b", &[1], ONLINE)).await;
    no_defects(&fleet).await;
}

#[tokio::test]
async fn a_table_that_is_created_in_a_moving_schema_moves_or_halts_the_migration() {
    let fleet = start("new-in-schemas", &["a", "b"], &[1, 2]).await;
    let new_table = "create table tenant_1.new_one (id bigserial primary key, sale bigint references tenant_1.sale, v text);
                     insert into tenant_1.new_one (sale, v) select id, 'v' from tenant_1.sale";
    let following = fleet
        .reach(
            &moving("a", "b", &[1], &format!("{HELD}, ddl: follow")),
            "waiting",
        )
        .await;
    fleet.sql("a", new_table).await;
    fleet
        .sql("a", "create table tenant_2.not_moving (id int primary key)")
        .await;
    fleet.ok(&["approve", &following, "--yes"]).await;
    fleet.wait(&following, "flipped").await;
    assert_eq!(count(&fleet, "b", "tenant_1.new_one").await, 500);
    fleet.ok(&["finish", &following, "--yes"]).await;
    fleet.wait(&following, "completed").await;
    assert_eq!(count(&fleet, "a", "tenant_1.new_one").await, 0);

    let halting = fleet.reach(&moving("b", "a", &[1], HELD), "waiting").await;
    fleet
        .sql("b", "create table tenant_1.later (id int primary key)")
        .await;
    fleet.ok(&["approve", &halting, "--yes"]).await;
    fleet.wait(&halting, "failed").await;
    let shown = fleet.ok(&["show", &halting]).await;
    assert!(shown.contains("tenant_1.later"), "{shown}");
    fleet.sql("b", "drop table tenant_1.later").await;
    fleet.ok(&["resume", &halting]).await;
    fleet.wait(&halting, "flipped").await;
    fleet.ok(&["finish", &halting, "--yes"]).await;
    fleet.wait(&halting, "completed").await;
    assert_eq!(count(&fleet, "a", "tenant_1.new_one").await, 500);
    no_defects(&fleet).await;
}

#[tokio::test]
async fn an_aborted_move_of_a_schema_leaves_nothing_beside_one_in_its_hold() {
    let fleet = start("aborted-schemas", &["a", "b"], &[1, 2]).await;
    let held = fleet.reach(&moving("a", "b", &[1], HELD), "waiting").await;
    fleet.ok(&["approve", &held, "--yes"]).await;
    fleet.wait(&held, "flipped").await;
    let aborted = fleet.reach(&moving("a", "b", &[2], HELD), "waiting").await;
    fleet.ok(&["abort", &aborted, "--yes"]).await;
    fleet.wait(&aborted, "unwound").await;
    let schemas = "select count(*) from pg_namespace where nspname = 'tenant_2'";
    assert_eq!(fleet.number("b", schemas).await, 0);
    assert_eq!(count(&fleet, "b", "shared.rate").await, 1);
    assert_eq!(count(&fleet, "b", "tenant_1.sale").await, 500);
    fleet.ok(&["rollback", &held, "--yes"]).await;
    fleet.wait(&held, "rolled_back").await;
    assert_eq!(count(&fleet, "a", "tenant_1.sale").await, 500);
    fleet.ok(&["finish", &held, "--yes"]).await;
    fleet.complete(&moving("a", "b", &[2], OFFLINE)).await;
    assert_eq!(count(&fleet, "b", "tenant_2.sale").await, 500);
    no_defects(&fleet).await;
}

/// Creates 5,000 schemas of 20 tables, each in a transaction of its own.
const MANY: &str = "
    create procedure public.create_all(first int, last int) language plpgsql as $$ begin
      for s in first .. last loop
        execute format('create schema tenant_%s', s);
        for t in 1 .. 20 loop
          execute format('create table tenant_%s.t%s (id bigint primary key, v text)', s, t);
        end loop;
        commit;
      end loop;
    end $$";

#[tokio::test]
#[ignore = "it creates 100,000 tables; make operations runs it"]
async fn five_thousand_schemas_are_planned_and_examined() {
    let fleet = Fleet::start("many-schemas", &["a", "b"]).await;
    fleet.sql("a", MANY).await;
    let (first, second) = (fleet.session("a").await, fleet.session("a").await);
    let created = tokio::join!(
        first.batch_execute("call public.create_all(1, 2500)"),
        second.batch_execute("call public.create_all(2501, 5000)")
    );
    created.0.unwrap();
    created.1.unwrap();
    fleet
        .sql(
            "a",
            "insert into tenant_7.t1 select g, 'v' from generate_series(1, 1000) g",
        )
        .await;
    let owned: Vec<String> = (1..=5000)
        .map(|tenant| format!("tenant_{tenant}"))
        .collect();
    fleet
        .map(json!({
            "name": "shop", "strategy": "list", "key": ["text"],
            "mappings": [{"keys": {"list": owned}, "shard": "a"}],
            "settings": {"keyed_by": "schema", "sequences": "keep"},
        }))
        .await;
    let begun = std::time::Instant::now();
    let examined = fleet.run(&["doctor", "--map", "shop"]).await;
    eprintln!("doctor: {:.1} s", begun.elapsed().as_secs_f64());
    let shown = String::from_utf8_lossy(&examined.stdout);
    assert!(shown.contains("100000 table"), "{shown}");
    let begun = std::time::Instant::now();
    let id = fleet.reach(&moving("a", "b", &[7], HELD), "waiting").await;
    eprintln!(
        "plan, and the move up to the cutover: {:.1} s",
        begun.elapsed().as_secs_f64()
    );
    let begun = std::time::Instant::now();
    let planned = fleet.plan(&moving("a", "b", &[8], HELD)).await;
    eprintln!("plan: {:.1} s", begun.elapsed().as_secs_f64());
    assert!(planned.status.success(), "{planned:?}");
    let begun = std::time::Instant::now();
    fleet.ok(&["approve", &id, "--yes"]).await;
    fleet.wait(&id, "flipped").await;
    fleet.ok(&["finish", &id, "--yes"]).await;
    fleet.wait(&id, "completed").await;
    eprintln!(
        "cutover and removal: {:.1} s",
        begun.elapsed().as_secs_f64()
    );
    assert_eq!(count(&fleet, "b", "tenant_7.t1").await, 1000);
}

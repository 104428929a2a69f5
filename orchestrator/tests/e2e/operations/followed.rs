//! `ddl: follow`: the application changes its tables on the owner, under load, while the keys move. The migration needs
//! no operator, both shards have equal definitions, and every acknowledged write is there.

use crate::fleet::Fleet;
use crate::writers::{Rows, Writers, changing};
use connect::Connected;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(90);

/// The number of columns `added_N`. Writers use them.
static COLUMNS: AtomicI64 = AtomicI64::new(0);
/// The newest partition. Writers use it.
static PARTITION: AtomicI64 = AtomicI64::new(0);

const SCHEMA: &str = "
    create type public.mood as enum ('calm', 'wild');
    create table public.sale (
        tenant_id bigint not null, id bigint not null, note text, old text, amount int not null default 7,
        name varchar(20), pieces int default 2, total int generated always as (pieces * 2) stored, mood public.mood default 'calm',
        primary key (tenant_id, id));
    create table public.visit (tenant_id bigint, id int, at timestamptz, primary key (tenant_id, id));
    create table public.event (tenant_id bigint, id int, v text, primary key (tenant_id, id));
    create table public.reading (tenant_id bigint, at int, id bigint, v text default 'read', primary key (tenant_id, at, id))
        partition by range (at);
    create table public.reading_0 partition of public.reading for values from (0) to (1);
    create index reading_v on public.reading (v);
    create index sale_note on public.sale (note);";

const SEED: &str = "
    insert into public.sale (tenant_id, id, note, old, name)
      select 50 + g % 2 * 100, g, repeat('seed ', 30), 'old', 'n' || g from generate_series(1, 20000) g;
    insert into public.visit select 50 + g % 2 * 100, g, now() from generate_series(1, 2000) g;
    insert into public.event select g / 200, g, 'event ' || g from generate_series(1, 20600) g;
    analyze";

const SPLIT: &str = "operation: split\nmap: shop\nsource: a\ninto:\n- {shard: a, keys: {to: 100}}\n- {shard: b, keys: {from: 100}}\n\
    options: {ddl: follow, hold: until_finish, throttle: {rate_bytes_s: 500000}}\n";

/// The changes that come while the rows are copied, in order.
const DURING_COPY: [&str; 17] = [
    "alter table public.reading add column unit text default 'm'",
    // Few of its rows move, so it is copied by ranges of the key, after the larger table.
    "alter table public.event alter column id type bigint",
    "alter table public.sale alter column pieces drop default",
    "alter table public.sale add column added_1 text",
    "alter table public.sale add column added_2 text default 'two'",
    "create index concurrently sale_added on public.sale (added_1)",
    "alter table public.sale add column added_3 text not null default 'three'",
    "alter table public.visit alter column id type bigint",
    "alter table public.sale add column added_4 text default now()::text",
    "alter table public.sale drop column old",
    "alter table public.sale rename column note to remark",
    "alter type public.mood add value 'sad' after 'calm'",
    "alter table public.sale add column added_5 text",
    "create index concurrently sale_mood on public.sale (mood)",
    "alter table public.sale add constraint amount_known check (amount > 0) not valid",
    // PostgreSQL computes these for each row.
    "alter table public.visit add column code uuid not null default gen_random_uuid()",
    "alter table public.reading add column weight float8 default random()",
];

/// The changes that come when the rows are copied.
const AFTER_COPY: [&str; 14] = [
    "alter table public.visit add column agent text",
    "create index concurrently sale_late on public.sale (added_3)",
    "create index concurrently sale_later on public.sale (added_5)",
    "alter table public.sale add column added_6 text",
    "alter table public.sale alter column amount type bigint",
    "create index concurrently visit_at on public.visit (at)",
    "alter table public.sale add column added_7 text default 'seven'",
    "alter table public.sale alter column name type varchar(40), alter column name set default 'unnamed'",
    "alter table public.sale validate constraint amount_known",
    "create unique index concurrently sale_numbers on public.sale (tenant_id, id, amount)",
    "alter table public.sale add column added_8 text",
    "comment on column public.sale.added_8 is 'the eighth'",
    "drop index public.sale_mood",
    "alter table public.event add column number bigint generated always as identity unique",
];

/// The changes that come while the migration waits for the approval.
const WHILE_WAITING: [&str; 2] = [
    "alter type public.mood add value 'glad'",
    "alter table public.sale add column late text",
];

/// The changes that come in the hold, on the new owner.
const IN_HOLD: [&str; 4] = [
    "alter table public.sale add column added_9 text",
    "create index concurrently sale_nine on public.sale (added_9)",
    "alter table public.sale add column added_10 text default 'ten'",
    "alter table public.visit add column page text",
];

/// Sales come, change and are deleted. Each writes the newest columns.
fn turn(tenant: i64, turn: u64, rows: &mut Rows) -> String {
    let next = i64::try_from(turn).unwrap() + 1_000_000;
    let oldest = rows.keys().next().copied();
    let newest = COLUMNS.load(Ordering::SeqCst);
    // The other shard gets the columns of the hold when the agent makes them there.
    let newest = if tenant < 100 { newest.min(8) } else { newest };
    let partition = PARTITION.load(Ordering::SeqCst);
    match (turn % 3, oldest) {
        (1, Some(id)) => {
            rows.insert(id, format!("changed {turn} {newest}"));
            let set = match newest {
                0 => String::new(),
                newest => format!(", added_{newest} = 'changed'"),
            };
            changing(&format!(
                "update public.sale set name = 'changed {turn}', amount = {newest} + 1{set} where tenant_id = {tenant} and id = {id}"
            ))
        }
        (2, Some(id)) if rows.len() > 50 => {
            rows.remove(&id);
            changing(&format!(
                "delete from public.sale where tenant_id = {tenant} and id = {id}"
            ))
        }
        _ => {
            rows.insert(next, format!("new {turn} {newest}"));
            let (column, value) = match newest {
                0 => (String::new(), ""),
                newest => (format!(", added_{newest}"), ", 'new'"),
            };
            format!(
                "insert into public.sale (tenant_id, id, name, amount{column}) values ({tenant}, {next}, 'new {turn}', {newest} + 1{value});
                 insert into public.reading (tenant_id, at, id) values ({tenant}, {partition}, {next})"
            )
        }
    }
}

async fn rows_of(fleet: &Fleet, shard: &str, tenant: i64) -> Rows {
    let session = fleet.session(shard).await;
    let read = "select id, name || ' ' || amount - 1 from public.sale where tenant_id = $1 and id > 1000000";
    let rows = session.query(read, &[&tenant]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// A number that depends on every value of every row of the tenant.
async fn digest(fleet: &Fleet, shard: &str) -> i64 {
    let read = "select coalesce(sum(hashtextextended(pg_catalog.to_jsonb(s)::text, 0) >> 20), 0)::bigint
                     + (select coalesce(sum(hashtextextended(pg_catalog.to_jsonb(v)::text, 0) >> 20), 0)::bigint
                        from public.visit v where v.tenant_id >= 100)
                     + (select coalesce(sum(hashtextextended(pg_catalog.to_jsonb(r)::text, 0) >> 20), 0)::bigint
                        from public.reading r where r.tenant_id >= 100)
                     + (select coalesce(sum(hashtextextended(pg_catalog.to_jsonb(e)::text, 0) >> 20), 0)::bigint
                        from public.event e where e.tenant_id >= 100)
                from public.sale s where s.tenant_id >= 100";
    fleet.number(shard, read).await
}

/// The definitions of the tables, in which both shards must agree.
async fn definitions(fleet: &Fleet, shard: &str) -> Vec<String> {
    let session = fleet.session(shard).await;
    let read = "
        select concat_ws(' ', attrelid::regclass, row_number() over (partition by attrelid order by attnum), attname, format_type(atttypid, atttypmod),
                 attnotnull, attgenerated, pg_get_expr(adbin, adrelid), col_description(attrelid, attnum))
        from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
        where attrelid in ('public.sale'::regclass, 'public.visit'::regclass, 'public.event'::regclass, 'public.reading'::regclass) and attnum > 0 and not attisdropped
        union all
        select pg_get_indexdef(indexrelid) || indisvalid from pg_index
        where indrelid in ('public.sale'::regclass, 'public.visit'::regclass, 'public.event'::regclass, 'public.reading'::regclass)
        union all
        select conname || pg_get_constraintdef(oid) from pg_constraint
        where conrelid in ('public.sale'::regclass, 'public.visit'::regclass, 'public.event'::regclass, 'public.reading'::regclass)
        union all
        select enumlabel || enumsortorder from pg_enum
        order by 1";
    let rows = session.query(read, &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

pub(crate) async fn view(fleet: &Fleet, id: &str) -> Value {
    let shown = fleet.ok(&["show", id, "-o", "json"]).await;
    serde_json::from_str(&shown).unwrap()
}

/// Waits until the step has this state.
pub(crate) async fn until_step(fleet: &Fleet, id: &str, kind: &str, state: &str) {
    let begun = Instant::now();
    loop {
        let view = view(fleet, id).await;
        let mut steps = view["steps"].as_array().unwrap().iter();
        if steps.any(|step| step["kind"] == kind && step["state"] == state) {
            return;
        }
        assert!(begun.elapsed() < LIMIT, "{kind} is not {state}: {view}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Waits until both shards have the same definitions.
async fn until_equal(fleet: &Fleet) {
    let begun = Instant::now();
    loop {
        let (a, b) = (definitions(fleet, "a").await, definitions(fleet, "b").await);
        if a == b {
            return;
        }
        let only = |one: &[String], other: &[String]| {
            let differ = one.iter().filter(|line| !other.contains(line));
            differ.cloned().collect::<Vec<_>>()
        };
        assert!(
            begun.elapsed() < LIMIT,
            "a: {:#?}\nb: {:#?}",
            only(&a, &b),
            only(&b, &a)
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Makes changes on the owner, one after another. Writers use each new column.
async fn change(fleet: &Fleet, shard: &str, changes: &[&str]) {
    for statement in changes {
        let changed = tokio::time::timeout(LIMIT, fleet.sql(shard, statement)).await;
        changed.expect(statement);
        let added = statement.split("added_").nth(1);
        let is_new = statement.contains("add column");
        if let Some(number) = added.filter(|_| is_new) {
            let number = number.split(' ').next().unwrap().parse().unwrap();
            COLUMNS.store(number, Ordering::SeqCst);
        }
    }
}

/// Creates a partition per second, in one statement or by ATTACH PARTITION.
async fn create_partitions(session: Connected, count: i64) {
    let mut pace = tokio::time::interval(Duration::from_secs(1));
    for number in 1..=count {
        pace.tick().await;
        let bounds = format!("for values from ({number}) to ({})", number + 1);
        let name = format!("public.reading_{number}");
        let create = match number % 2 {
            0 => format!("create table {name} partition of public.reading {bounds}"),
            _ => format!(
                "create table {name} (like public.reading including defaults);
                 alter table public.reading attach partition {name} {bounds}"
            ),
        };
        session.batch_execute(&create).await.unwrap();
        PARTITION.store(number, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn changes_of_tables_are_followed_without_an_operator() {
    follow("followed", 12).await;
}

/// One partition per second for a minute.
#[tokio::test]
#[ignore = "make operations"]
async fn changes_of_tables_and_a_minute_of_partitions_are_followed() {
    follow("followedlong", 60).await;
}

async fn follow(name: &'static str, partitions: i64) {
    COLUMNS.store(0, Ordering::SeqCst);
    PARTITION.store(0, Ordering::SeqCst);
    let fleet = Fleet::start(name, &["a", "b"]).await;
    fleet.sql("a", SCHEMA).await;
    fleet.sql("a", SEED).await;
    fleet
        .map(json!({
            "name": "shop", "strategy": "range", "key": ["bigint"],
            "mappings": [{"keys": {"range": [{}]}, "shard": "a"}],
            "settings": {"tables": {"sale": "tenant_id", "visit": "tenant_id", "event": "tenant_id", "reading": "tenant_id"}},
        }))
        .await;
    let writers = Writers::start(&fleet, ["a", "b"], &[10, 160], turn).await;
    writers.more(40).await;
    let planned = fleet.plan(SPLIT).await;
    assert!(
        planned.status.success(),
        "{}",
        String::from_utf8_lossy(&planned.stderr)
    );
    let plan = fleet.request("").replace("request.yaml", "plan.json");
    let id = fleet.ok(&["apply", &plan]).await.trim().to_owned();
    until_step(&fleet, &id, "copy", "running").await;
    let created = create_partitions(fleet.session("a").await, partitions);
    let created = tokio::spawn(created);
    change(&fleet, "a", &DURING_COPY).await;
    until_step(&fleet, &id, "copy", "done").await;
    change(&fleet, "a", &AFTER_COPY).await;
    created.await.unwrap();
    fleet.wait(&id, "waiting").await;
    change(&fleet, "a", &WHILE_WAITING).await;
    writers.more(40).await;
    until_equal(&fleet).await;
    fleet.wait(&id, "waiting").await;
    fleet.ok(&["approve", &id, "--yes"]).await;
    fleet.wait(&id, "flipped").await;
    change(&fleet, "b", &IN_HOLD).await;
    writers.more(40).await;
    until_equal(&fleet).await;
    let expected = writers.end().await;
    for (shard, tenant) in [("a", 10), ("b", 160)] {
        assert_eq!(rows_of(&fleet, shard, tenant).await, expected[&tenant]);
    }
    let begun = Instant::now();
    while digest(&fleet, "a").await != digest(&fleet, "b").await {
        assert!(
            begun.elapsed() < LIMIT,
            "the old side does not get the last changes"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let view = view(&fleet, &id).await;
    for step in view["steps"].as_array().unwrap() {
        assert!(step["failure"].is_null(), "{step}");
    }
    let notes = view["notes"].to_string();
    for part in ["rename column", "added_2", "add value", "drop column"] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    fleet.ok(&["finish", &id, "--yes"]).await;
    fleet.wait(&id, "completed").await;
    assert_eq!(fleet.leftovers(&["a"]).await.total(), 0);
}

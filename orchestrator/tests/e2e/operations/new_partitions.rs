//! Partitions that the application creates on the owner of the keys while an online migration runs, under load: the
//! migration adopts them by itself. Every acknowledged write is compared with the rows that are there.

use crate::fleet::Fleet;
use crate::writers::{Rows, Writers, changing};
use fail_point::Rendezvous;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(40);

/// The number of months that have a partition, for the test to which the last digit of the tenant belongs. Writers use
/// the newest ones.
static MONTHS: [AtomicI64; 3] = [const { AtomicI64::new(1) }; 3];

fn months(tenant: i64) -> &'static AtomicI64 {
    &MONTHS[usize::try_from(tenant % 10).unwrap()]
}

const SCHEMA: &str = "
    create table public.kind (id int primary key, name text) partition by range (id);
    create table public.kind_low partition of public.kind for values from (0) to (10);
    create table public.sale (
        tenant_id bigint not null, at date not null, id bigint not null, kind int not null references public.kind,
        note text, primary key (tenant_id, at, id)) partition by range (at);
    create table public.sale_1 partition of public.sale for values from ('2026-01-01') to ('2026-02-01');
    create index sale_note on public.sale (note);";

const SEED: &str = "
    insert into public.kind select k, 'kind ' || k from generate_series(1, 5) k;
    insert into public.sale select 50 + g % 2 * 100, '2026-01-05', g, 1, repeat('seed ', 20) from generate_series(1, 3000) g;
    analyze";

/// The values of a month's partition, as the statement lists them.
fn bounds(month: i64) -> String {
    format!(
        "for values from ('2026-{month:02}-01') to ('2026-{:02}-01')",
        month + 1
    )
}

/// Creates a partition in one statement.
fn in_one_statement(month: i64) -> String {
    format!(
        "create table public.sale_{month} partition of public.sale {}",
        bounds(month)
    )
}

/// Creates a table that has rows, an index and a primary key, and then attaches it.
fn with_rows(month: i64) -> String {
    with_rows_of(month, &[150, 50])
}

/// As [`with_rows`], on a shard that owns the moving keys alone.
fn with_moving_rows(month: i64) -> String {
    with_rows_of(month, &[150])
}

fn with_rows_of(month: i64, tenants: &[i64]) -> String {
    let insert = |tenant: &i64| {
        format!(
            "insert into public.sale_{month} select {tenant}, '2026-{month:02}-09', g, 1, 'early' from generate_series(1, 40) g;"
        )
    };
    let rows: String = tenants.iter().map(insert).collect();
    format!(
        "create table public.sale_{month} (like public.sale including defaults);
         alter table public.sale_{month} add constraint month_{month} primary key (tenant_id, at, id);
         create index note_{month} on public.sale_{month} (note);
         {rows}
         alter table public.sale attach partition public.sale_{month} {}",
        bounds(month)
    )
}

/// Creates a partition that is partitioned too.
fn divided(month: i64) -> String {
    format!(
        "create table public.sale_{month} partition of public.sale {} partition by hash (tenant_id, id);
         create table public.sale_{month}_0 partition of public.sale_{month} for values with (modulus 2, remainder 0);
         create table public.sale_{month}_1 (note text, kind int not null, id bigint not null, at date not null, tenant_id bigint not null);
         alter table public.sale_{month} attach partition public.sale_{month}_1 for values with (modulus 2, remainder 1)",
        bounds(month)
    )
}

/// Sales come, change, go to another month, and are deleted. A shard that does not own the tenant may still lack the
/// row: a statement that changes no row is therefore repeated on the other shard, as a refused one is. The guard refuses
/// rows, not statements.
fn turn(tenant: i64, turn: u64, rows: &mut Rows) -> String {
    let next = i64::try_from(turn).unwrap();
    let newest = months(tenant).load(Ordering::SeqCst);
    let month = |number: i64| format!("2026-{:02}-10", newest - number % newest.min(3));
    let oldest = rows.keys().next().copied();
    match (turn % 4, oldest) {
        (2, Some(id)) => {
            let at = month(next);
            let row = rows.get_mut(&id).unwrap();
            let note = row.rsplit_once(' ').unwrap().1.to_owned();
            *row = format!("{at} {note}");
            changing(&format!(
                "update public.sale set at = '{at}' where tenant_id = {tenant} and id = {id}"
            ))
        }
        (3, Some(id)) if rows.len() > 60 => {
            rows.remove(&id);
            changing(&format!(
                "delete from public.sale where tenant_id = {tenant} and id = {id}"
            ))
        }
        (3, Some(id)) => {
            rows.get_mut(&id).unwrap().push('u');
            changing(&format!(
                "update public.sale set note = note || 'u' where tenant_id = {tenant} and id = {id}"
            ))
        }
        (_, _) => {
            let at = month(next / 4);
            rows.insert(next, format!("{at} n{next}"));
            format!("insert into public.sale values ({tenant}, '{at}', {next}, 1, 'n{next}')")
        }
    }
}

async fn found(fleet: &Fleet, shard: &str, tenant: i64) -> Rows {
    let session = fleet.session(shard).await;
    let read = "select id, at || ' ' || note from public.sale where tenant_id = $1";
    let rows = session.query(read, &[&tenant]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

async fn digest(fleet: &Fleet, shard: &str, tenant: i64) -> i64 {
    let read = format!(
        "select coalesce(sum(hashtextextended((s.tenant_id, s.at, s.id, s.kind, s.note)::text, 0) >> 20), 0)::bigint
         from public.sale s where tenant_id = {tenant}"
    );
    fleet.number(shard, &read).await
}

async fn register_map(fleet: &Fleet) {
    fleet
        .map(json!({
            "name": "shop", "strategy": "range", "key": ["bigint"],
            "mappings": [{"keys": {"range": [{}]}, "shard": "a"}],
            "settings": {"tables": {"sale": "tenant_id"}, "reference": ["kind"]},
        }))
        .await;
}

/// Creates the next month on the source, lets the writers use it, and waits until the target has it.
async fn create_month(fleet: &Fleet, shards: [&str; 2], create: fn(i64) -> String) {
    let months = months(0);
    let month = months.load(Ordering::SeqCst) + 1;
    fleet.sql(shards[0], &create(month)).await;
    months.store(month, Ordering::SeqCst);
    until_adopted(fleet, shards[1], &format!("sale_{month}")).await;
}

/// After a flip: creates the next month on the owner of the moving keys, and writes to it until the other shard has it.
/// Then lets the writers use it, those of the other shard too.
async fn create_month_after_flip(
    fleet: &Fleet,
    [owner, other]: [&str; 2],
    create: fn(i64) -> String,
    months: &AtomicI64,
) {
    let month = months.load(Ordering::SeqCst) + 1;
    fleet.sql(owner, &create(month)).await;
    let session = fleet.session(owner).await;
    let write = format!(
        "insert into public.sale select 150, '2026-{month:02}-11', coalesce(max(id), 0) + 1, 1, 'at once' from public.sale"
    );
    let writing = async {
        loop {
            session.batch_execute(&write).await.unwrap();
        }
    };
    let table = format!("sale_{month}");
    tokio::select! {
        () = until_adopted(fleet, other, &table) => {}
        () = writing => {}
    }
    months.store(month, Ordering::SeqCst);
}

async fn until_adopted(fleet: &Fleet, shard: &str, table: &str) {
    let read =
        format!("select count(*) from pg_class where relname = '{table}' and relispartition");
    let begun = Instant::now();
    while fleet.number(shard, &read).await == 0 {
        if begun.elapsed() > LIMIT {
            panic!("{table} was not adopted\n{}", fleet.sessions().await);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

const SPLIT: &str = "operation: split\nmap: shop\nsource: a\ninto:\n- {shard: a, keys: {to: 100}}\n- {shard: b, keys: {from: 100}}\n";

/// Begins the split, and returns the migration's id.
pub(crate) async fn apply_split(fleet: &Fleet, options: &str) -> String {
    let planned = fleet
        .plan(&format!("{SPLIT}options: {{{options}}}\n"))
        .await;
    assert!(
        planned.status.success(),
        "{}",
        String::from_utf8_lossy(&planned.stderr)
    );
    let plan = fleet.request("").replace("request.yaml", "plan.json");
    fleet.ok(&["apply", &plan]).await.trim().to_owned()
}

/// Ends the writers, and compares the rows of each tenant on its owner with what the writer knows.
async fn has_all_writes(fleet: &Fleet, writers: Writers, tenants: [i64; 2]) {
    let expected = writers.end().await;
    for (shard, tenant) in ["a", "b"].into_iter().zip(tenants) {
        let expected = BTreeMap::from_iter(expected[&tenant].clone());
        assert_eq!(
            found(fleet, shard, tenant).await,
            expected,
            "tenant {tenant}"
        );
    }
}

#[tokio::test]
async fn partitions_that_come_in_any_phase_are_adopted() {
    let folder = std::env::temp_dir();
    let meet = |point: &str| {
        let path = folder.join(format!("np-{}-{point}", std::process::id()));
        Rendezvous::bind(path).unwrap()
    };
    // The second table of the comparison: while it reads the first, `kind`, no foreign key to it can be created.
    let points = ["copy.half", "catch_up.batch_applied", "verify.compared#2"];
    let meetings = points.map(meet);
    let armed: Vec<String> = meetings
        .iter()
        .zip(points)
        .map(|(meeting, point)| meeting.arms(point))
        .collect();
    let fleet = Fleet::armed("newparts", &["a", "b"], &armed.join(",")).await;
    fleet.sql("a", SCHEMA).await;
    fleet.sql("a", SEED).await;
    register_map(&fleet).await;
    let writers = Writers::start(&fleet, ["a", "b"], &[10, 160], turn).await;
    writers.more(40).await;
    let id = apply_split(&fleet, "hold: {seconds: 0}").await;
    let forms = [in_one_statement, with_rows, divided];
    for (meeting, create) in meetings.iter().zip(forms) {
        let arrived = tokio::time::timeout(LIMIT, meeting.arrived()).await;
        let arrival = arrived.expect("the step runs").unwrap();
        create_month(&fleet, ["a", "b"], create).await;
        let _ = arrival.release().await;
        writers.more(20).await;
    }
    fleet.wait(&id, "waiting").await;
    for create in [in_one_statement, with_rows] {
        let months = months(0);
        let month = months.load(Ordering::SeqCst) + 1;
        fleet.sql("a", &create(month)).await;
        months.store(month, Ordering::SeqCst);
        writers.more(20).await;
    }
    // In the order in which writers lock the two tables; otherwise the statement and a writer would deadlock.
    let kinds =
        "begin; lock table public.sale in share row exclusive mode;
                 create table public.kind_high partition of public.kind for values from (10) to (20);
                 insert into public.kind values (12, 'kind 12'); commit";
    fleet.sql("a", kinds).await;
    let moves = digest(&fleet, "a", 150).await;
    fleet.ok(&["approve", &id, "--yes"]).await;
    fleet.wait(&id, "completed").await;
    writers.more(40).await;
    has_all_writes(&fleet, writers, [10, 160]).await;
    assert_eq!(digest(&fleet, "b", 150).await, moves);
    assert_eq!(
        fleet
            .number("b", "select count(*) from public.kind where id = 12")
            .await,
        1
    );
    let strayed = "select count(*) from public.sale where tenant_id >= 100";
    assert_eq!(fleet.number("a", strayed).await, 0);
    assert_eq!(fleet.leftovers(&["a"]).await.total(), 0);
    let checked = fleet.ok(&["map", "check", "shop"]).await;
    assert!(checked.contains(" 0 defects"), "{checked}");
}

/// In the hold the partitions come on the target, after a rollback on the source again.
async fn adopts_after_flips(test: &'static str, number: i64, options: &str) {
    let (tenants, months) = ([10 + number, 160 + number], months(number));
    let fleet = Fleet::start(test, &["a", "b"]).await;
    fleet.sql("a", SCHEMA).await;
    fleet.sql("a", SEED).await;
    register_map(&fleet).await;
    let writers = Writers::start(&fleet, ["a", "b"], &tenants, turn).await;
    let id = apply_split(&fleet, options).await;
    fleet.wait(&id, "waiting").await;
    fleet.ok(&["approve", &id, "--yes"]).await;
    fleet.wait(&id, "flipped").await;
    for create in [in_one_statement, with_moving_rows, divided] {
        create_month_after_flip(&fleet, ["b", "a"], create, months).await;
        writers.more(20).await;
    }
    let moves = digest(&fleet, "b", 150).await;
    fleet.ok(&["rollback", &id, "--yes"]).await;
    fleet.wait(&id, "rolled_back").await;
    assert_eq!(digest(&fleet, "a", 150).await, moves);
    for create in [with_rows, in_one_statement] {
        create_month_after_flip(&fleet, ["a", "b"], create, months).await;
        writers.more(20).await;
    }
    let moves = digest(&fleet, "a", 150).await;
    fleet.ok(&["approve", &id, "--yes"]).await;
    fleet.wait(&id, "flipped").await;
    writers.more(20).await;
    assert_eq!(digest(&fleet, "b", 150).await, moves);
    fleet.ok(&["finish", &id, "--yes"]).await;
    fleet.wait(&id, "completed").await;
    writers.more(40).await;
    has_all_writes(&fleet, writers, tenants).await;
    let strayed = "select count(*) from public.sale where tenant_id >= 100";
    assert_eq!(fleet.number("a", strayed).await, 0);
    let checked = fleet.run(&["map", "check", "shop"]).await.stdout;
    let checked = String::from_utf8_lossy(&checked);
    assert!(checked.contains(" 0 defects"), "{checked}");
}

#[tokio::test]
#[ignore = "make operations runs it"]
async fn partitions_that_come_in_the_hold_are_adopted() {
    adopts_after_flips("holdparts", 1, "hold: until_finish").await;
}

#[tokio::test]
async fn partitions_that_come_in_the_hold_are_adopted_with_changes_followed() {
    adopts_after_flips("holdfollow", 2, "ddl: follow, hold: until_finish").await;
}

/// Waits until the migration's view has what `is_wanted` looks for, and returns the view.
async fn until_view(fleet: &Fleet, id: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let shown = fleet.ok(&["show", id, "-o", "json"]).await;
        let view: Value = serde_json::from_str(&shown).unwrap();
        if is_wanted(&view) {
            return view;
        }
        assert!(begun.elapsed() < LIMIT, "{view}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The hold creates the partition on the other shard, where a session of the application has a lock on its parent.
#[tokio::test]
async fn a_lock_that_delays_an_adoption_is_shown_and_a_pause_ends_the_wait() {
    let fleet = Fleet::start("heldadoption", &["a", "b"]).await;
    fleet.sql("a", SCHEMA).await;
    fleet.sql("a", SEED).await;
    register_map(&fleet).await;
    let id = apply_split(&fleet, "hold: until_finish").await;
    fleet.wait(&id, "waiting").await;
    fleet.ok(&["approve", &id, "--yes"]).await;
    fleet.wait(&id, "flipped").await;
    let holder = fleet.session("a").await;
    let lock = "begin; lock table public.sale in share row exclusive mode";
    holder.batch_execute(lock).await.unwrap();
    fleet.sql("b", &in_one_statement(2)).await;
    until_view(&fleet, &id, |view| {
        let mut waits = view["waits"].as_array().unwrap().iter();
        waits.any(|wait| wait["kind"] == "lock")
    })
    .await;
    fleet.ok(&["pause", &id]).await;
    let hold = |view: &Value| {
        let mut steps = view["steps"].as_array().unwrap().iter();
        steps.find(|step| step["kind"] == "hold").unwrap().clone()
    };
    let view = until_view(&fleet, &id, |view| hold(view)["state"] != "running").await;
    // A step that had waited for the lock to the end would have failed.
    assert_eq!(hold(&view)["failure"], Value::Null, "{view}");
    assert_eq!(hold(&view)["state"], "pending", "{view}");
    holder.batch_execute("rollback").await.unwrap();
    fleet.ok(&["resume", &id]).await;
    until_adopted(&fleet, "a", "sale_2").await;
    fleet.ok(&["finish", &id, "--yes"]).await;
    fleet.wait(&id, "completed").await;
}

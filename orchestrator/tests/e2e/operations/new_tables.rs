//! `ddl: follow`: the application creates tables that refer to moving ones, under load, while the keys move. Their rows
//! move too, without an operator.

use crate::fleet::Fleet;
use crate::followed::{until_step, view};
use crate::new_partitions::apply_split;
use crate::writers::{Rows, Writers};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);

const SCHEMA: &str = "
    create table public.kind (id int primary key);
    insert into public.kind select generate_series(1, 5);
    create table public.sale (tenant_id bigint not null, id bigint not null, note text, primary key (tenant_id, id));
    insert into public.sale select 50 + g % 2 * 100, g, repeat('seed ', 20) from generate_series(1, 20000) g;
    analyze";

/// The tables in the order in which the application creates them, each with its statements. A table has a row for each
/// sale since it exists.
const TABLES: [(&str, &str); 5] = [
    (
        "note",
        "create table public.note (
             owner bigint, id bigserial, sale bigint, kind int default 1 references public.kind, v text, primary key (owner, id),
             foreign key (owner, sale) references public.sale (tenant_id, id));
         create index note_v on public.note (v);
         insert into public.note (owner, sale) select tenant_id, id from public.sale where id <= 100",
    ),
    (
        "mark",
        "create table public.mark (
             owner bigint, id int generated always as identity, sale bigint, v text, primary key (owner, id),
             foreign key (owner, sale) references public.sale (tenant_id, id)) partition by list (owner);
         create table public.mark_far partition of public.mark for values in (150, 160);
         create table public.mark_near partition of public.mark default",
    ),
    (
        "tag",
        "create table public.tag (
             owner bigint, sale bigint, note bigint, v text, primary key (owner, sale),
             foreign key (owner, sale) references public.sale, foreign key (owner, note) references public.note)",
    ),
    (
        "held",
        "create table public.held (
             owner bigint, sale bigint, v text, primary key (owner, sale), foreign key (owner, sale) references public.sale)",
    ),
    (
        "back",
        "create table public.back (
             owner bigint, sale bigint, v text, primary key (owner, sale), foreign key (owner, sale) references public.sale)",
    ),
];

/// The number of tables that the writers use.
static CREATED: AtomicUsize = AtomicUsize::new(0);

fn turn(tenant: i64, turn: u64, rows: &mut Rows) -> String {
    let id = i64::try_from(turn).unwrap() + 1_000_000;
    let created = CREATED.load(Ordering::SeqCst);
    rows.insert(id, created.to_string());
    let children = TABLES[..created].iter().map(|(table, _)| {
        format!("insert into public.{table} (owner, sale, v) values ({tenant}, {id}, 'v{turn}');")
    });
    let children: String = children.collect();
    format!("insert into public.sale values ({tenant}, {id}, 'new'); {children}")
}

/// Returns the ids of the sales that have a row in the table.
async fn children(fleet: &Fleet, shard: &str, table: &str, tenant: i64) -> Vec<i64> {
    let session = fleet.session(shard).await;
    let read =
        format!("select sale from public.{table} where owner = $1 and sale > 1000000 order by 1");
    let rows = session.query(&read, &[&tenant]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

async fn step(fleet: &Fleet, id: &str, kind: &str) -> Value {
    let view = view(fleet, id).await;
    let mut steps = view["steps"].as_array().unwrap().iter();
    steps.find(|step| step["kind"] == kind).unwrap().clone()
}

/// Creates the next table on the owner of the moving keys. The writers use it at once if they all write there.
async fn create(fleet: &Fleet, [owner, other]: [&str; 2], id: &str, is_shared: bool) {
    let created = CREATED.load(Ordering::SeqCst);
    let (table, statements) = TABLES[created];
    fleet.sql(owner, statements).await;
    if is_shared {
        CREATED.store(created + 1, Ordering::SeqCst);
    }
    let published = format!(
        "select count(*) from pg_publication_rel r join pg_class c on c.oid = r.prrelid where c.relname like '{table}%'"
    );
    let exists = format!("select count(*) from pg_class where relname = '{table}'");
    let begun = Instant::now();
    while fleet.number(owner, &published).await == 0 || fleet.number(other, &exists).await == 0 {
        assert!(
            begun.elapsed() < LIMIT,
            "{table} is not adopted: {}",
            view(fleet, id).await
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    CREATED.store(created + 1, Ordering::SeqCst);
}

#[tokio::test]
async fn tables_that_refer_to_moving_ones_are_adopted_in_any_phase() {
    let fleet = Fleet::start("newtables", &["a", "b"]).await;
    fleet.sql("a", SCHEMA).await;
    fleet
        .map(json!({
            "name": "shop", "strategy": "range", "key": ["bigint"],
            "mappings": [{"keys": {"range": [{}]}, "shard": "a"}],
            "settings": {"tables": {"sale": "tenant_id"}, "reference": ["kind"]},
        }))
        .await;
    let writers = Writers::start(&fleet, ["a", "b"], &[10, 160], turn).await;
    writers.more(40).await;
    let options = "ddl: follow, hold: until_finish, throttle: {rate_bytes_s: 500000}";
    let id = apply_split(&fleet, options).await;
    until_step(&fleet, &id, "copy", "running").await;
    // The target has no indexes yet, so a foreign key to its tables must wait.
    create(&fleet, ["a", "b"], &id, true).await;
    assert_ne!(step(&fleet, &id, "copy").await["state"], "done");
    writers.more(40).await;
    create(&fleet, ["a", "b"], &id, true).await;
    fleet.wait(&id, "waiting").await;
    writers.more(40).await;
    // The migration adopts it after the approval.
    let (_, tag) = TABLES[2];
    fleet.sql("a", tag).await;
    CREATED.store(3, Ordering::SeqCst);
    writers.more(20).await;
    fleet.ok(&["approve", &id, "--yes"]).await;
    fleet.wait(&id, "flipped").await;
    writers.more(20).await;
    create(&fleet, ["b", "a"], &id, false).await;
    writers.more(40).await;
    fleet.ok(&["rollback", &id, "--yes"]).await;
    fleet.wait(&id, "rolled_back").await;
    create(&fleet, ["a", "b"], &id, false).await;
    writers.more(40).await;
    fleet.ok(&["approve", &id, "--yes"]).await;
    fleet.wait(&id, "flipped").await;
    writers.more(40).await;
    let shown = view(&fleet, &id).await;
    for step in shown["steps"].as_array().unwrap() {
        assert!(step["failure"].is_null(), "{step}");
    }
    fleet.ok(&["finish", &id, "--yes"]).await;
    fleet.wait(&id, "completed").await;
    let expected = writers.end().await;
    for (shard, tenant) in [("a", 10), ("b", 160)] {
        for (number, (table, _)) in TABLES.iter().enumerate() {
            let sales = expected[&tenant].iter();
            let with_child =
                sales.filter(|(_, created)| created.parse::<usize>().unwrap() > number);
            let ids: Vec<i64> = with_child.map(|(id, _)| *id).collect();
            assert!(ids.len() > 10, "{table}");
            assert_eq!(
                children(&fleet, shard, table, tenant).await,
                ids,
                "{table} {tenant}"
            );
            let strayed = format!("select count(*) from public.{table} where owner >= 100");
            assert_eq!(fleet.number("a", &strayed).await, 0, "{table}");
        }
    }
    let copied = "select count(*) from public.note where owner = 150";
    assert_eq!(fleet.number("b", copied).await, 50);
    let not_valid = "select count(*) from pg_constraint where not convalidated";
    assert_eq!(fleet.number("b", not_valid).await, 0);
    assert_eq!(fleet.leftovers(&["a"]).await.total(), 0);
}

//! `schema: existing`: the tables on the target are the user's own. What differs is refused by name before anything is
//! touched; tables that are equal are taken as they are, and a split into them completes under writes.

use crate::fleet::Fleet;
use crate::writers::{Rows, Writers};
use serde_json::json;
use std::process::Output;

/// As years of migrations left it; the tool keeps a table of its own.
const SOURCE: &str = "
    create table public.account (tenant_id bigint, old text, id bigint, name text, primary key (tenant_id, id));
    alter table public.account drop column old;
    create index account_name on public.account (name);
    create table public.entry (tenant_id bigint, id bigint, account bigint not null, amount bigint, note text,
        primary key (tenant_id, id), foreign key (tenant_id, account) references public.account);
    alter table public.entry add constraint entry_amount check (amount >= 0);
    create table public.done (step int primary key);
    insert into public.done values (1), (2)";

/// The same in one go, and the tool's table.
const TARGET: &str = "
    create table public.account (tenant_id bigint, id bigint, name text,
        constraint account_pkey primary key (tenant_id, id));
    create index account_name on public.account using btree (name);
    create table public.entry (tenant_id bigint, id bigint, account bigint not null, amount bigint, note text,
        constraint entry_amount check (amount >= 0), primary key (tenant_id, id),
        foreign key (tenant_id, account) references public.account (tenant_id, id));
    create table public.done (step int primary key);
    insert into public.done values (1)";

const SEED: &str = "
    insert into public.account select t, i, 'account ' || i from unnest('{50, 150}'::bigint[]) t, generate_series(1, 20) i;
    insert into public.entry select t, i, 1 + i % 20, i, repeat('seed ', 10)
        from unnest('{50, 150}'::bigint[]) t, generate_series(1, 2000) i;
    analyze";

const SPLIT: &str = "operation: split\nmap: shop\nsource: a\ninto:\n- {shard: a, keys: {to: 100}}\n- {shard: b, keys: {from: 100}}\n\
                     options: {schema: existing, cutover: automatic, hold: {seconds: 0}}\n";

/// What makes the target differ, and the words of the refusal.
const DIFFERENCES: [(&str, &[&str]); 5] = [
    (
        "alter table public.entry drop column note, drop column amount;
         alter table public.entry add note text, add amount bigint, add constraint entry_amount check (amount >= 0)",
        &["SW1002", "table public.entry", "amount", "note"],
    ),
    (
        "drop index public.account_name",
        &["SW1002", "table public.account", "account_name"],
    ),
    (
        "alter table public.entry drop constraint entry_amount",
        &["SW1002", "table public.entry", "entry_amount"],
    ),
    (
        "alter table public.account alter name type varchar(200)",
        &["SW1002", "table public.account", "character varying(200)"],
    ),
    ("drop table public.entry", &["SW1001", "public.entry"]),
];

const DROP: &str = "drop table if exists public.entry, public.account, public.done";

/// An account with its entry, another amount, or its end.
fn turn(tenant: i64, turn: u64, rows: &mut Rows) -> String {
    let next = i64::try_from(turn).unwrap();
    match (turn % 4, rows.keys().next().copied()) {
        (2, Some(id)) => {
            rows.insert(id, format!("{next}"));
            format!(
                "update public.entry set amount = {next} where tenant_id = {tenant} and id = {id}"
            )
        }
        (3, Some(id)) if rows.len() > 20 => {
            rows.remove(&id);
            format!("delete from public.entry where tenant_id = {tenant} and id = {id}")
        }
        (_, _) => {
            rows.insert(next, format!("{next}"));
            format!(
                "insert into public.account values ({tenant}, {next}, 'n{next}'); \
                 insert into public.entry values ({tenant}, {next}, {next}, {next}, 'w')"
            )
        }
    }
}

async fn found(fleet: &Fleet, shard: &str, tenant: i64) -> Rows {
    let session = fleet.session(shard).await;
    let read = "select e.id, e.amount::text from public.entry e
                join public.account a on (a.tenant_id, a.id) = (e.tenant_id, e.account) where e.tenant_id = $1";
    let rows = session.query(read, &[&tenant]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

async fn digest(fleet: &Fleet, shard: &str, tenant: i64) -> i64 {
    let read = format!(
        "select coalesce(sum(hashtextextended(r, 0) >> 20), 0)::bigint from (
             select e::text from public.entry e where tenant_id = {tenant}
             union all select a::text from public.account a where tenant_id = {tenant}) rows (r)"
    );
    fleet.number(shard, &read).await
}

/// The command was refused with these words, about the target.
fn assert_refused(output: &Output, words: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{said}");
    for word in words.iter().chain(&["shard b"]) {
        assert!(said.contains(word), "{word}: {said}");
    }
}

/// Nothing of ours is on the shards.
async fn untouched(fleet: &Fleet) {
    let ours = "select count(*) from pg_catalog.pg_namespace where nspname = 'shardwright' and to_regclass('shardwright.move') is not null";
    for shard in ["a", "b"] {
        assert_eq!(fleet.number(shard, ours).await, 0, "shard {shard}");
    }
}

/// What pg_dump says of the target, without the key that it makes up each time.
async fn schema(fleet: &Fleet) -> Vec<String> {
    let dump = fleet.schema("b").await;
    let lines = dump.lines().filter(|line| !line.starts_with('\\'));
    lines.map(str::to_owned).collect()
}

/// Where the plan of these tests is.
fn plan_file(fleet: &Fleet) -> String {
    let file = fleet.server().dir().join("plan.json");
    file.to_str().unwrap().to_owned()
}

/// Two shards, the tables and rows on the first one.
async fn start() -> Fleet {
    let fleet = Fleet::start("existing", &["a", "b"]).await;
    fleet.sql("a", SOURCE).await;
    fleet.sql("a", SEED).await;
    fleet
        .map(json!({
            "name": "shop", "strategy": "range", "key": ["bigint"],
            "mappings": [{"keys": {"range": [{}]}, "shard": "a"}],
            "settings": {"tables": {"account": "tenant_id", "entry": "tenant_id"}, "ignore": ["done"]},
        }))
        .await;
    fleet
}

/// Applies a plan after whose making the target changed; it halts, is mended, and may go on. Its id.
async fn halted_and_mended(fleet: &Fleet) -> String {
    let (request, plan) = (fleet.request(SPLIT), plan_file(fleet));
    fleet.ok(&["plan", &request, "-o", &plan]).await;
    let (differ, words) = DIFFERENCES[1];
    fleet.sql("b", differ).await;
    let id = fleet.ok(&["apply", &plan]).await.trim().to_owned();
    fleet.wait(&id, "failed").await;
    let shown = fleet.ok(&["show", &id]).await;
    for word in words.iter().filter(|word| !word.starts_with("SW")) {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    untouched(fleet).await;
    fleet.sql("b", &format!("{DROP}; {TARGET}")).await;
    id
}

#[tokio::test]
async fn tables_that_a_user_made_are_compared_and_then_taken_as_they_are() {
    let fleet = start().await;
    assert_refused(&fleet.plan(SPLIT).await, &["SW1007"]);
    for (differ, words) in DIFFERENCES {
        fleet.sql("b", TARGET).await;
        fleet.sql("b", differ).await;
        assert_refused(&fleet.plan(SPLIT).await, words);
        fleet.sql("b", DROP).await;
    }
    untouched(&fleet).await;
    fleet.sql("b", TARGET).await;
    let id = halted_and_mended(&fleet).await;

    let (stays, moves) = (
        digest(&fleet, "a", 50).await,
        digest(&fleet, "a", 150).await,
    );
    let before = schema(&fleet).await;
    let writers = Writers::start(&fleet, ["a", "b"], &[160], turn).await;
    writers.more(50).await;
    fleet.ok(&["resume", &id]).await;
    fleet.wait(&id, "completed").await;
    writers.more(50).await;
    let expected = writers.end().await;
    assert_eq!(digest(&fleet, "a", 50).await, stays);
    assert_eq!(digest(&fleet, "b", 150).await, moves);
    assert_eq!(found(&fleet, "b", 160).await, expected[&160]);
    let left = "select count(*) from public.entry where tenant_id >= 100";
    assert_eq!(fleet.number("a", left).await, 0);
    assert_eq!(
        fleet.number("b", "select count(*) from public.done").await,
        1
    );
    assert_eq!(fleet.leftovers(&["a"]).await.total(), 0);
    assert_eq!(schema(&fleet).await, before);
}

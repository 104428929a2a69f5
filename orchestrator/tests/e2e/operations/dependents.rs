//! Tables without the key move with the rows to which their rows belong, online and offline, between shards that have other
//! rows with the same identities.

use serde_json::json;

use crate::fleet::Fleet;
use crate::writers::{NotedTable, Rows, Writers};

const SCHEMA: &str = "
    create table public.country (code text primary key);
    insert into public.country values ('ch'), ('at'), ('fr');
    create table public.purchase (tenant_id bigint, id bigint unique, note text, primary key (tenant_id, id));
    create table public.line (id bigint primary key, purchase bigint not null references public.purchase (id) on delete cascade,
      note text, country text references public.country on delete cascade);
    create index on public.line (purchase);
    create index on public.line (country);
    create table public.remark (id bigint primary key, line bigint references public.line on delete set null, note text);
    create index on public.remark (line)";

/// Each tenant has a purchase, with the tenant's number, that has a line and a remark of this number.
fn seed(first: i64, last: i64) -> String {
    format!(
        "insert into public.purchase select g, g, 'seed' from generate_series({first}, {last}) g;
         insert into public.line select g, g, 'seed', 'ch' from generate_series({first}, {last}) g;
         insert into public.remark select g, g, 'seed' from generate_series({first}, {last}) g;
         analyze"
    )
}

/// Rows of tenants that do not move, with the same identities on both shards.
const SAME_IDENTITIES: &str = "
    insert into public.purchase select tenant, 500000 + g, 'own' from generate_series(1, 200) g;
    insert into public.line select 500000 + g, 500000 + g, 'own', 'at' from generate_series(1, 200) g;
    insert into public.remark select 500000 + g, 500000 + g, 'own' from generate_series(1, 200) g";

/// The tenants that move, and write: one of them lines, the other remarks.
const LINES: i64 = 110;
const REMARKS: i64 = 120;
/// A tenant that stays on the first shard, and writes lines.
const STAYS: i64 = 10;

fn table(tenant: i64) -> (&'static str, &'static str) {
    if tenant == REMARKS {
        ("public.remark", "line")
    } else {
        ("public.line", "purchase")
    }
}

fn turn(tenant: i64, turn: u64, rows: &mut Rows) -> String {
    let (table, parent) = table(tenant);
    let of_tenant = NotedTable {
        table: table.to_owned(),
        of_tenant: format!("{parent} = {tenant}"),
        given: [format!("{parent}, "), format!("{tenant}, ")],
    };
    // Both tenants use the same numbers, in different tables.
    let offset = if tenant == STAYS { 1_000_000_000 } else { 0 };
    let statement = of_tenant.turn(turn + offset, rows);
    // A line with two remarks that a cascade leaves without a line, and one that it deletes.
    let churn = match (turn % 5, tenant) {
        (0, LINES) => format!(
            "insert into public.purchase values ({tenant}, 700000 + {turn}, 'short');
             insert into public.line values (700000 + {turn}, 700000 + {turn}, 'short');
             insert into public.remark values (700000 + {turn}, 700000 + {turn}, 'short')"
        ),
        (1, LINES) => format!("delete from public.purchase where id = 700000 + {turn} - 1"),
        _ => "select 1".to_owned(),
    };
    format!("{statement}; {churn}")
}

async fn found(fleet: &Fleet, shard: &str, tenant: i64) -> Rows {
    let (table, parent) = table(tenant);
    let session = fleet.session(shard).await;
    let read = format!("select id, note from {table} where {parent} = {tenant} and note <> 'seed'");
    let rows = session.query(&read, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

async fn start(test: &'static str) -> Fleet {
    let fleet = Fleet::start(test, &["a", "b"]).await;
    for (shard, tenants, own) in [("a", (1, 199), 20), ("b", (200, 399), 220)] {
        fleet.sql(shard, SCHEMA).await;
        fleet.sql(shard, &seed(tenants.0, tenants.1)).await;
        fleet
            .sql(shard, &SAME_IDENTITIES.replace("tenant", &own.to_string()))
            .await;
    }
    fleet
        .map(json!({
            "name": "shop", "strategy": "range", "key": ["bigint"],
            "mappings": [
                {"keys": {"range": [{"to": [200]}]}, "shard": "a"},
                {"keys": {"range": [{"from": [200]}]}, "shard": "b"},
            ],
            "settings": {
                "tables": {"purchase": "tenant_id"},
                "through": {"line": {"parent": "purchase"}, "remark": {"parent": "line"}},
                "reference": ["country"],
            },
        }))
        .await;
    fleet
}

fn moving(source: &str, target: &str, options: &str) -> String {
    format!(
        "operation: move\nmap: shop\nmoves:\n- {{source: {source}, target: {target}, keys: {{from: 100, to: 200}}}}\noptions: {{{options}}}\n"
    )
}

/// The rows of other tenants are where they were, and no row lacks its parent.
async fn others_are_untouched(fleet: &Fleet) {
    for (shard, table) in [
        ("a", "line"),
        ("b", "line"),
        ("a", "remark"),
        ("b", "remark"),
    ] {
        let own = format!("select count(*) from public.{table} where note = 'own'");
        assert_eq!(fleet.number(shard, &own).await, 200, "{shard} {table}");
    }
    for shard in ["a", "b"] {
        let orphans = "select count(*) from public.line l
            where not exists (select from public.purchase p where p.id = l.purchase)";
        assert_eq!(fleet.number(shard, orphans).await, 0, "{shard}");
    }
}

async fn no_defects(fleet: &Fleet) {
    let checked = fleet.run(&["map", "check", "shop"]).await;
    let shown = String::from_utf8_lossy(&checked.stdout);
    assert!(
        checked.status.success() && shown.contains(" 0 defects"),
        "{shown}"
    );
}

#[tokio::test]
async fn dependent_rows_move_online_and_return_offline() {
    let fleet = start("dependents").await;
    let writers = Writers::start(&fleet, ["a", "b"], &[LINES, REMARKS, STAYS], turn).await;
    writers.more(20).await;
    let held = "hold: until_finish, cutover: approve";
    let id = fleet.reach(&moving("a", "b", held), "waiting").await;
    // A cascade from a reference table deletes rows of both shards; the application executes it on both.
    fleet
        .sql(
            "a",
            "insert into public.line values (600001, 110, 'fr', 'fr'), (600002, 10, 'fr', 'fr')",
        )
        .await;
    for shard in ["a", "b"] {
        fleet
            .sql(shard, "delete from public.country where code = 'fr'")
            .await;
    }
    writers.cut_over_twice(&fleet, &id, 1000).await;
    let expected = writers.end().await;
    for (shard, tenant) in [("b", LINES), ("b", REMARKS), ("a", STAYS)] {
        assert_eq!(
            found(&fleet, shard, tenant).await,
            expected[&tenant],
            "{tenant}"
        );
    }
    for tenant in [LINES, REMARKS] {
        assert_eq!(found(&fleet, "a", tenant).await, Rows::new(), "{tenant}");
    }
    assert_eq!(
        fleet
            .number("a", "select count(*) from public.line where note = 'seed'")
            .await,
        99
    );
    assert_eq!(
        fleet
            .number("b", "select count(*) from public.line where note = 'seed'")
            .await,
        300
    );
    assert_eq!(
        fleet
            .number("b", "select count(*) from public.line where note = 'fr'")
            .await,
        0
    );
    others_are_untouched(&fleet).await;
    no_defects(&fleet).await;
    let offline = "mode: offline, cutover: automatic, hold: {seconds: 0}";
    fleet.complete(&moving("b", "a", offline)).await;
    assert_eq!(found(&fleet, "a", LINES).await, expected[&LINES]);
    assert_eq!(found(&fleet, "a", REMARKS).await, expected[&REMARKS]);
    others_are_untouched(&fleet).await;
    no_defects(&fleet).await;
}

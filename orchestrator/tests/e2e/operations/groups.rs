//! A map of groups of tables: the tables of one group move to a database of their own under load, and return.

use crate::fleet::Fleet;
use crate::writers::{NotedTable, Rows, Writers};

const SCHEMA: &str = "
    create schema billing;
    create domain billing.amount as numeric check (value >= 0);
    create table public.country (code text primary key);
    insert into public.country values ('ch'), ('at');
    create table public.customer (id bigint primary key, name text, country text references public.country);
    insert into public.customer select g, 'name', 'ch' from generate_series(1, 300) g;
    create table public.purchase (id bigint primary key, customer bigint references public.customer, note text);
    insert into public.purchase select g, 1 + g % 300, 'seed' from generate_series(1, 2000) g;
    create sequence billing.number start 5000;
    create table billing.invoice (id bigint primary key, customer bigint, total billing.amount default 1, note text,
      number bigint not null default nextval('billing.number'), country text references public.country);
    insert into billing.invoice (id, customer, note) select g, 1 + g % 300, 'seed' from generate_series(1, 3000) g;
    create table public.payment (id bigint generated always as identity primary key, invoice bigint references billing.invoice);
    insert into public.payment (invoice) select id from billing.invoice;
    create function billing.open_invoices() returns bigint language sql as 'select count(*) from billing.invoice';
    create view billing.unpaid as select i.* from billing.invoice i left join public.payment p on p.invoice = i.id where p.id is null;
    create view public.customer_invoice as select c.name, i.id from public.customer c join billing.invoice i on i.customer = c.id;
    analyze";

const BILLING: i64 = 1;
const SALES: i64 = 2;

fn table(group: i64) -> &'static str {
    if group == BILLING {
        "billing.invoice"
    } else {
        "public.purchase"
    }
}

fn turn(group: i64, turn: u64, rows: &mut Rows) -> String {
    let of_group = NotedTable {
        table: table(group).to_owned(),
        of_tenant: "true".to_owned(),
        given: ["customer, ".to_owned(), "1, ".to_owned()],
    };
    of_group.turn(turn, rows)
}

async fn found(fleet: &Fleet, shard: &str, group: i64) -> Rows {
    let session = fleet.session(shard).await;
    let read = format!("select id, note from {} where id > 1000000", table(group));
    let rows = session.query(&read, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

async fn count(fleet: &Fleet, shard: &str, table: &str) -> i64 {
    fleet
        .number(shard, &format!("select count(*) from {table}"))
        .await
}

fn moving(source: &str, target: &str, options: &str) -> String {
    format!(
        "operation: move\nmap: parts\nmoves:\n- {{source: {source}, target: {target}, keys: {{values: [billing]}}}}\noptions: {{{options}}}\n"
    )
}

/// The other group, and the view that needs it, stay. The number of a new invoice is one that the source has not given.
async fn only_billing_came(fleet: &Fleet) {
    for left in [
        "public.customer",
        "public.purchase",
        "public.customer_invoice",
    ] {
        let exists = format!("select count(*) where to_regclass('{left}') is not null");
        assert_eq!(fleet.number("b", &exists).await, 0, "{left}");
    }
    fleet
        .sql("b", "insert into billing.invoice (id) values (900000)")
        .await;
    let numbers = "select count(*) - count(distinct number) from billing.invoice";
    assert_eq!(fleet.number("b", numbers).await, 0);
}

/// A plan of a group is refused if the map has given one of its tables to another group since.
async fn refuse_changed_groups(fleet: &Fleet, request: &str) {
    let give = async |group: &str| {
        let group = format!("{group}=payment");
        fleet.ok(&["map", "set", "parts", "--group", &group]).await;
    };
    assert!(fleet.plan(request).await.status.success());
    give("sales").await;
    let applied = fleet.apply().await;
    let refused = String::from_utf8_lossy(&applied.stderr).into_owned();
    assert!(
        !applied.status.success() && refused.contains("group billing has other tables"),
        "{refused}"
    );
    give("billing").await;
}

async fn no_defects(fleet: &Fleet) {
    let checked = fleet.run(&["map", "check", "parts"]).await;
    let shown = String::from_utf8_lossy(&checked.stdout);
    assert!(
        checked.status.success() && shown.contains(" 0 defects"),
        "{shown}"
    );
}

async fn start() -> Fleet {
    let fleet = Fleet::start("groups", &["a", "b"]).await;
    fleet.sql("a", SCHEMA).await;
    let create = [
        "map",
        "create",
        "parts",
        "--strategy",
        "group",
        "--shard-of",
        "billing=a",
        "--shard-of",
        "sales=a",
        "--group",
        "billing=billing.invoice,payment",
        "--group",
        "sales=customer,purchase",
    ];
    fleet.ok(&create).await;
    fleet
        .ok(&["map", "set", "parts", "--reference", "country"])
        .await;
    fleet
}

#[tokio::test]
async fn a_group_of_tables_moves_to_another_database_and_returns() {
    let fleet = start().await;
    let writers = Writers::start(&fleet, ["a", "b"], &[BILLING, SALES], turn).await;
    writers.more(20).await;

    // A foreign key between the groups would be cut.
    let key = "alter table billing.invoice add constraint of_customer foreign key (customer) references public.customer";
    fleet.sql("a", key).await;
    let held = "hold: until_finish, cutover: approve";
    let planned = fleet.plan(&moving("a", "b", held)).await;
    let refused = String::from_utf8_lossy(&planned.stderr).into_owned();
    assert!(
        !planned.status.success() && refused.contains("of_customer"),
        "{refused}"
    );
    fleet
        .sql(
            "a",
            "alter table billing.invoice drop constraint of_customer",
        )
        .await;

    refuse_changed_groups(&fleet, &moving("a", "b", held)).await;
    let id = fleet.reach(&moving("a", "b", held), "waiting").await;
    writers.cut_over_twice(&fleet, &id, 1000).await;
    let expected = writers.end().await;
    assert_eq!(found(&fleet, "b", BILLING).await, expected[&BILLING]);
    assert_eq!(found(&fleet, "a", SALES).await, expected[&SALES]);
    assert_eq!(count(&fleet, "a", "billing.invoice").await, 0);
    assert_eq!(count(&fleet, "b", "public.payment").await, 3000);
    let invoices = count(&fleet, "b", "billing.invoice").await;
    assert_eq!(
        fleet.number("b", "select billing.open_invoices()").await,
        invoices
    );
    assert_eq!(count(&fleet, "b", "billing.unpaid").await, invoices - 3000);
    only_billing_came(&fleet).await;
    no_defects(&fleet).await;

    let back = moving(
        "b",
        "a",
        "mode: offline, cutover: automatic, hold: {seconds: 0}",
    );
    fleet.complete(&back).await;
    assert_eq!(found(&fleet, "a", BILLING).await, expected[&BILLING]);
    assert_eq!(count(&fleet, "a", "public.payment").await, 3000);
    assert_eq!(count(&fleet, "b", "billing.invoice").await, 0);
    let located = fleet.ok(&["map", "locate", "parts", "billing"]).await;
    assert!(located.contains('a'), "{located}");
    no_defects(&fleet).await;
}

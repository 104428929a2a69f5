//! A schema as applications have it is split under load: no acknowledged write is lost, and the catalogs, and
//! pg_dump where both servers have it, show the same schema on both shards but for what docs/schemas.md names.

use crate::fleet::Fleet;
use crate::writers::{Rows, Writers};
use serde_json::json;

/// Everything at once: its objects refer to each other over kinds and over tables.
const SCHEMA: &str = include_str!("real_schema.sql");

/// Owners and readers, which each server has to have.
const ROLES: &str = "do $$ begin
    if not exists (select from pg_catalog.pg_roles where rolname = 'real_schema_owner') then
        create role real_schema_owner;
        create role real_schema_reader;
    end if;
    -- Its functions are beside the tables.
    execute pg_catalog.format('alter role %I set shardwright.trusted_owners = real_schema_owner', session_user);
end $$";

const SEED: &str = "
    insert into shop.country values ('DE', 'Germany'), ('AT', 'Austria');
    insert into shop.customer (tenant_id, name, country, home, tags)
        select 50 + g % 2 * 100, 'customer ' || g, (array['DE', 'AT'])[1 + g % 2], row('street ' || g, 'town')::shop.address,
               array['a', 'b ' || g]
        from generate_series(1, 200) g;
    insert into shop.purchase (tenant_id, placed, customer, state, price, quantity, extra)
        select tenant_id, '2026-01-01'::date + (id % 120)::int, id, 'new', 10 + id % 7, 3, jsonb_build_object('n', id)
        from shop.customer, generate_series(1, 10);
    insert into shop.payment (tenant_id, placed, purchase, amount)
        select tenant_id, placed, id, total from shop.purchase;
    refresh materialized view shop.turnover;
    analyze";

/// A purchase with its payment, its state, another month, or its end.
fn turn(tenant: i64, turn: u64, rows: &mut Rows) -> String {
    let next = i64::try_from(turn).unwrap();
    let own = "from shop.customer c where c.tenant_id";
    match (turn % 5, rows.keys().next().copied()) {
        (3, Some(id)) => {
            let row = rows.get_mut(&id).unwrap();
            *row = format!("paid {}", row.split_once(' ').unwrap().1);
            format!(
                "update shop.purchase set state = 'paid' where tenant_id = {tenant} and extra @> '{{\"n\": {id}}}'"
            )
        }
        (4, Some(id)) if rows.len() > 30 => {
            rows.remove(&id);
            format!(
                "delete from shop.purchase where tenant_id = {tenant} and extra @> '{{\"n\": {id}}}'"
            )
        }
        (4, Some(id)) => format!(
            "update shop.purchase set placed = '2026-0{}-05' where tenant_id = {tenant} and extra @> '{{\"n\": {id}}}'",
            1 + next % 4
        ),
        (_, _) => {
            rows.insert(next, format!("new {}", 2 * (next % 90 + 1)));
            let customer = match turn {
                0 => format!(
                    "insert into shop.customer (tenant_id, name, country) values ({tenant}, 'writer', 'DE'); "
                ),
                _ => String::new(),
            };
            format!(
                "{customer}with bought as (
                   insert into shop.purchase (tenant_id, placed, customer, state, price, quantity, extra)
                   select {tenant}, '2026-0{}-20', min(c.id), 'new', {}, 2, '{{\"n\": {next}}}' {own} = {tenant}
                   returning *)
                 insert into shop.payment (tenant_id, placed, purchase, amount) select tenant_id, placed, id, total from bought",
                1 + next % 4,
                next % 90 + 1
            )
        }
    }
}

async fn found(fleet: &Fleet, shard: &str, tenant: i64) -> Rows {
    let session = fleet.session(shard).await;
    let read = "select (p.extra ->> 'n')::bigint, p.state || ' ' || trim_scale(p.total) from shop.purchase p
                join shop.payment y on (y.tenant_id, y.placed, y.purchase) = (p.tenant_id, p.placed, p.id)
                where p.tenant_id = $1 and y.amount = p.total";
    let rows = session.query(read, &[&tenant]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// The statements of a dump, without what stands on a shard that gave keys away.
fn statements(dump: &str) -> Vec<String> {
    let blocks = dump.split("\n--\n-- Name: ").skip(1);
    let mut all: Vec<String> = blocks
        .filter(|block| !block.contains("shardwright_guard_away"))
        .map(|block| {
            block
                .lines()
                .take_while(|line| *line != "-- PostgreSQL database dump complete")
        })
        .map(|lines| {
            lines
                .filter(|line| !line.trim_matches('-').is_empty())
                .collect::<Vec<_>>()
                .join("\n")
        })
        .collect();
    all.sort();
    all
}

/// Both have the same, and not just a little.
fn assert_same(here: &[String], there: &[String]) {
    assert!(here.len() > 60, "{here:#?}");
    assert_eq!(only_on(here, there), [""; 0], "only on a");
    assert_eq!(only_on(there, here), [""; 0], "only on b");
}

fn only_on<'a>(one: &'a [String], other: &[String]) -> Vec<&'a str> {
    let only = one.iter().filter(|statement| !other.contains(statement));
    only.map(String::as_str).collect()
}

#[tokio::test]
async fn a_real_schema_is_split_under_load_and_is_the_same_on_both_shards() {
    let fleet = Fleet::start("real-schema", &["a", "b"]).await;
    for shard in ["a", "b"] {
        fleet.sql(shard, ROLES).await;
    }
    fleet.sql("a", SCHEMA).await;
    fleet.sql("a", SEED).await;
    let keyed =
        ["shop.customer", "shop.purchase", "shop.payment"].map(|table| (table, "tenant_id"));
    fleet
        .map(json!({
            "name": "shop", "strategy": "range", "key": ["bigint"],
            "mappings": [{"keys": {"range": [{}]}, "shard": "a"}],
            "settings": {
                "tables": std::collections::BTreeMap::from(keyed), "reference": ["shop.country"],
            },
        }))
        .await;
    let writers = Writers::start(&fleet, ["a", "b"], &[10, 160], turn).await;
    writers.more(50).await;
    let split = "operation: split\nmap: shop\nsource: a\ninto:\n- {shard: a, keys: {to: 100}}\n- {shard: b, keys: {from: 100}}\n";
    fleet
        .complete(&format!(
            "{split}options: {{cutover: automatic, hold: {{seconds: 0}}}}\n"
        ))
        .await;
    writers.more(50).await;
    let expected = writers.end().await;
    for (shard, tenant) in [("a", 10), ("b", 160)] {
        assert_eq!(
            found(&fleet, shard, tenant).await,
            expected[&tenant],
            "{shard}"
        );
    }
    if fleet.is_of_one_version() {
        assert_same(&fleet.fingerprint("a").await, &fleet.fingerprint("b").await);
    }
    if fleet.is_of_one_version() && fleet.has_pg_dump() {
        let [here, there] = [fleet.schema("a").await, fleet.schema("b").await];
        assert_same(&statements(&here), &statements(&there));
    }
    assert_eq!(fleet.leftovers(&["a"]).await.total(), 0);
}

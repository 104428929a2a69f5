//! Proposals for real databases.

#![allow(clippy::unwrap_used, reason = "a failing helper fails its test")]

use cluster::{Cluster, Options};
use connect::{Dsn, Session, connect};
use discover::{DiscoverError, Proposal, ProposalRequest, propose};
use plans::id::{MapName, ShardName};
use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use plans::shard_map::{KeyColumns, Strategy};
use std::sync::{Arc, Mutex, Weak};

static SHARED_CLUSTER: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());

/// A shop: tenants with orders and order lines, a table that is sharded through another one, countries, a table of a
/// migration tool, and a large log.
const SHOP: &str = "
    create table public.countries (code text primary key, name text not null);
    insert into public.countries values ('de', 'Germany'), ('fr', 'France');
    create table public.tenants (id bigint primary key, country text not null references public.countries);
    create table public.orders (tenant_id bigint not null references public.tenants, id bigint, note text, primary key (tenant_id, id));
    create table public.lines (tenant_id bigint not null, order_id bigint not null, n int,
        primary key (tenant_id, order_id, n), foreign key (tenant_id, order_id) references public.orders);
    create table public.users (id bigint primary key, tenant_id bigint references public.tenants, mail text);
    create table public.sessions (id bigint primary key, user_id bigint not null references public.users);
    create table public.schema_migrations (version text primary key);
    create table public.settings (name text primary key, value text);
    create schema audit;
    create table audit.log (at timestamptz, what text);
    insert into audit.log select now(), repeat(md5(g::text), 20) from generate_series(1, 15000) g;";

/// Tenants with these ids, each with an order.
fn rows(keys: &str) -> String {
    format!(
        "insert into public.tenants select k, 'de' from ({keys}) s (k);
         insert into public.orders select k, 1, 'x' from ({keys}) s (k);"
    )
}

/// One server for all tests. It is removed with the last one.
fn cluster() -> Arc<Cluster> {
    let mut slot = SHARED_CLUSTER.lock().unwrap();
    slot.upgrade().unwrap_or_else(|| {
        let options = Options::temporary("adopt").setting("fsync", "off");
        let cluster = Arc::new(Cluster::launch(options).unwrap());
        *slot = Arc::downgrade(&cluster);
        cluster
    })
}

/// The databases that are read.
struct Shards {
    named: Vec<(ShardName, Dsn)>,
    _cluster: Arc<Cluster>,
}

/// Creates databases with these contents, as shards `a`, `b` and so on.
async fn shards(test: &str, contents: &[String]) -> Shards {
    let cluster = tokio::task::spawn_blocking(cluster).await.unwrap();
    let mut named = Vec::new();
    for (sql, name) in contents.iter().zip(["a", "b", "c"]) {
        let database = format!("{test}_{name}");
        run(&cluster, "postgres", &format!("create database {database}")).await;
        run(&cluster, &database, sql).await;
        let dsn = Dsn::parse(&cluster.dsn(&database, "postgres")).unwrap();
        named.push((ShardName::from(name), dsn));
    }
    Shards {
        named,
        _cluster: cluster,
    }
}

async fn run(cluster: &Cluster, database: &str, sql: &str) {
    let dsn = Dsn::parse(&cluster.dsn(database, "postgres")).unwrap();
    let session = connect(&dsn, &Session::named("test")).await.unwrap();
    session.batch_execute(sql).await.unwrap();
    session.close().await;
}

fn default_request() -> ProposalRequest {
    ProposalRequest {
        map: MapName::from("tenants"),
        key: None,
        strategy: None,
    }
}

async fn proposed(shards: &Shards) -> Proposal {
    propose(&shards.named, &default_request(), |_| 0)
        .await
        .unwrap()
}

fn range(from: Option<i64>, to: Option<i64>) -> KeySet {
    KeySet::range(from.map(Key::Int), to.map(Key::Int))
}

/// Returns the shards with their key sets.
fn owners(proposal: &Proposal) -> Vec<(&str, KeySet)> {
    let mappings = proposal.map.mappings.iter();
    mappings
        .map(|m| (m.shard.as_str(), m.keys.clone()))
        .collect()
}

#[tokio::test]
async fn one_database_becomes_a_map_of_one_shard() {
    let shop = SHOP.to_owned() + &rows("select generate_series(1, 100)");
    let found = proposed(&shards("one", &[shop]).await).await;
    let reasons = found.reasons.join("\n");
    assert_eq!(found.map.key, [KeyType::Bigint], "{reasons}");
    assert_eq!(found.map.strategy, Strategy::Range);
    assert_eq!(owners(&found), [("a", range(None, None))]);
    let settings = &found.map.settings;
    let by = |column: &str| KeyColumns(vec![column.to_owned()]);
    let expected = [
        ("lines", "tenant_id"),
        ("orders", "tenant_id"),
        ("tenants", "id"),
        ("users", "tenant_id"),
    ];
    let expected = expected.map(|(table, column)| (table.to_owned(), by(column)));
    assert_eq!(
        settings.tables.clone().into_iter().collect::<Vec<_>>(),
        expected
    );
    assert_eq!(settings.through["sessions"].parent, "users");
    assert_eq!(settings.reference, ["countries", "settings"]);
    assert_eq!(settings.ignore, ["audit.log", "schema_migrations"]);
    for part in [
        "key tenant_id (bigint): 4 table(s) have it: lines, orders, tenants by id, users; 1 more belong to these",
        "warning: table users: its tenant_id may be null",
        "warning: table users: its primary key is without tenant_id",
        "warning: table audit.log: ignored: it is large",
        "all keys are on a",
    ] {
        assert!(reasons.contains(part), "{part}:\n{reasons}");
    }
}

/// The key has another name in each table, and one table has no key.
const DEPOTS: &str = "
    create table public.depot (d_id int primary key, d_name text);
    create table public.article (a_id int primary key, a_name text);
    create table public.shelf (s_d_id int references public.depot, s_a_id int references public.article, s_n int, primary key (s_d_id, s_a_id));
    create table public.client (c_d_id int references public.depot, c_id int, primary key (c_d_id, c_id));
    create table public.purchase (o_d_id int, o_id int, o_c_id int, primary key (o_d_id, o_id),
        foreign key (o_d_id, o_c_id) references public.client (c_d_id, c_id));
    create table public.purchase_line (l_d_id int, l_o_id int, l_n int, l_a_id int, primary key (l_d_id, l_o_id, l_n),
        foreign key (l_d_id, l_o_id) references public.purchase (o_d_id, o_id), foreign key (l_d_id, l_a_id) references public.shelf (s_d_id, s_a_id));
    insert into public.depot select g, 'd' from generate_series(1, 20) g;
    insert into public.article select g, 'p' from generate_series(1, 200) g;
    insert into public.shelf select d, p, 1 from generate_series(1, 20) d, generate_series(1, 200) p;
    analyze;";

#[tokio::test]
async fn a_key_with_another_name_in_each_table_is_found() {
    let shards = shards("depots", &[DEPOTS.to_owned()]).await;
    let expected = [
        ("client", "c_d_id"),
        ("depot", "d_id"),
        ("purchase", "o_d_id"),
        ("purchase_line", "l_d_id"),
        ("shelf", "s_d_id"),
    ];
    let expected =
        expected.map(|(table, column)| (table.to_owned(), KeyColumns(vec![column.to_owned()])));
    for key in [None, Some("d_id"), Some("depot.d_id"), Some("o_d_id")] {
        let request = ProposalRequest {
            key: key.map(str::to_owned),
            ..default_request()
        };
        let found = propose(&shards.named, &request, |_| 0).await.unwrap();
        let settings = found.map.settings;
        assert_eq!(
            settings.tables.into_iter().collect::<Vec<_>>(),
            expected,
            "{key:?}"
        );
        assert_eq!(
            (settings.through.len(), settings.reference),
            (0, vec!["article".to_owned()]),
            "{key:?}"
        );
    }
    let found = propose(&shards.named, &default_request(), |best| best.len() - 1)
        .await
        .unwrap();
    assert_ne!(
        found.map.settings.tables.into_iter().collect::<Vec<_>>(),
        expected,
        "another one was chosen"
    );
}

#[tokio::test]
async fn a_small_table_that_is_tied_to_the_key_is_not_a_reference_table() {
    let ddl = "create table public.tenants (id bigint primary key);
        create table public.orders (tenant_id bigint not null references public.tenants, id bigint primary key);
        create table public.order_notes (id bigint primary key, order_id bigint not null, note text);
        create table public.units (id bigint primary key, name text);";
    let found = proposed(&shards("paths", &[ddl.to_owned()]).await).await;
    let settings = found.map.settings;
    let notes = &settings.through["order_notes"];
    assert_eq!(notes.parent, "orders");
    assert_eq!(
        notes.columns["order_id"], "id",
        "the pair of columns is named, because no foreign key has it"
    );
    assert_eq!(settings.reference, ["units"]);
}

#[tokio::test]
async fn two_shards_with_separate_keys_become_ranges() {
    let low = SHOP.to_owned() + &rows("select generate_series(1, 400)");
    let high = SHOP.to_owned()
        + &rows("select generate_series(600, 900)")
        + "insert into public.settings values ('x', 'y');";
    let empty = "select 1".to_owned();
    let found = proposed(&shards("two", &[high, low, empty]).await).await;
    let reasons = found.reasons.join("\n");
    assert_eq!(
        owners(&found),
        [("b", range(None, Some(600))), ("a", range(Some(600), None))],
        "{reasons}"
    );
    assert_eq!(found.map.settings.reference, ["countries"]);
    for part in [
        "b has 1 to 400, a has 600 to 900",
        "warning: table settings: ignored: it has no key, and other rows on each shard",
        "no tables on c",
    ] {
        assert!(reasons.contains(part), "{part}:\n{reasons}");
    }
}

#[tokio::test]
async fn keys_by_hash_become_a_hash_map_and_mixed_keys_a_list_map() {
    let half = |sign: &str| {
        SHOP.to_owned()
            + &rows(&format!(
                "select k from generate_series(1, 1000) k where (hashint8extended(k, 0) & 4095) {sign} 2048"
            ))
    };
    let hashed = proposed(&shards("hashed", &[half("<"), half(">=")]).await).await;
    assert_eq!(hashed.map.strategy, Strategy::Hash);
    let buckets = |from, to| KeySet::buckets(4096, from, to);
    assert_eq!(
        owners(&hashed),
        [("a", buckets(0, 2048)), ("b", buckets(2048, 4096))]
    );

    let odd = |rest: u8| {
        SHOP.to_owned()
            + &rows(&format!(
                "select k from generate_series(1, 40) k where k % 2 = {rest}"
            ))
    };
    let listed = proposed(&shards("listed", &[odd(0), odd(1)]).await).await;
    assert_eq!(listed.map.strategy, Strategy::List);
    assert_eq!(listed.map.locate(&Key::Int(7)).unwrap().shard.as_str(), "b");
    let reasons = listed.reasons.join("\n");
    assert!(reasons.contains("a list map of 40 keys"), "{reasons}");
}

#[tokio::test]
async fn if_no_map_is_possible_the_error_has_every_reason() {
    let some = |keys: &str| SHOP.to_owned() + &rows(keys);
    let shards_of = [
        some("select generate_series(1, 60)"),
        some("select generate_series(50, 90)"),
    ];
    let overlapping = shards("overlap", &shards_of).await;
    let error = propose(&overlapping.named, &default_request(), |_| 0)
        .await
        .unwrap_err()
        .to_string();
    for part in [
        "shard a has keys from 1 to 60, shard b from 50 to 90",
        "hashes: those of shards",
        "key 50 is on shards a and b",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let apart = "create table public.x (id bigint primary key, v text); create table public.y (id bigint primary key, w text)";
    let apart = shards("apart", &[apart.to_owned()]).await;
    assert!(matches!(
        propose(&apart.named, &default_request(), |_| 0).await,
        Err(DiscoverError::NoKey)
    ));
    let nothing = shards("nothing", &["select 1".to_owned()]).await;
    assert!(matches!(
        propose(&nothing.named, &default_request(), |_| 0).await,
        Err(DiscoverError::NoTables)
    ));
    let named = ProposalRequest {
        key: Some("v".to_owned()),
        ..default_request()
    };
    let found = propose(&apart.named, &named, |_| 0).await.unwrap();
    assert_eq!(found.map.key, [KeyType::Text]);
}

#[tokio::test]
async fn a_proposal_needs_no_permission_to_write() {
    let shop = SHOP.to_owned()
        + &rows("select 1")
        + "create role reader login password 'r'; grant usage on schema public, audit to reader;
           grant select on all tables in schema public, audit to reader;";
    let shards = shards("reader", &[shop]).await;
    let place = shards.named[0].1.place().unwrap();
    let text = format!(
        "host={} port={} dbname={} user=reader password=r",
        place.0, place.1, place.2
    );
    let reader = Dsn::parse(&text).unwrap();
    let found = propose(&[(ShardName::from("a"), reader)], &default_request(), |_| 0)
        .await
        .unwrap();
    assert_eq!(owners(&found), [("a", range(None, None))]);
}

//! A role with the documented grants and no others runs a whole split, under load, over verified TLS with its password
//! bound to the connection; no acknowledged write is lost.

use crate::authority::Authority;
use crate::fleet::Fleet;
use crate::run::servers;
use crate::writers::{Rows, Writers};
use cluster::{Binaries, Cluster, Options};
use connect::Dsn;
use serde_json::json;
use std::process::Stdio;
use tokio::process::Command;

/// The only way in for the agents' role.
const HBA: &str = "hostssl all mover 127.0.0.1/32 scram-sha-256";

/// What an application has: a role that owns the database and the tables, and one that uses them.
const ROLES: &str = "create role shop_owner nologin; create role shop_user login";

const SCHEMA: &str = "
    set role shop_owner;
    create schema shop;
    grant usage on schema shop to shop_user;
    create function shop.size_of(words text) returns int immutable language plpgsql as
        'begin return coalesce(pg_catalog.length(words), 0); end';
    create domain shop.words as text check (shop.size_of(value) < 1000);
    create type shop.mood as enum ('low', 'high');
    create table shop.tenant (id bigint primary key, name text not null);
    create table shop.purchase (
        tenant_id bigint not null references shop.tenant (id),
        id bigint generated always as identity,
        number bigint not null,
        note shop.words,
        mood shop.mood not null default 'high',
        size int generated always as (shop.size_of(note)) stored,
        primary key (tenant_id, id),
        check (shop.size_of(note) >= 0)
    );
    create index on shop.purchase (tenant_id, shop.size_of(note)) where shop.size_of(note) > 8;
    create unique index on shop.purchase (tenant_id, number);
    grant select, insert, update, delete on all tables in schema shop to shop_user;
    insert into shop.tenant select g, 'tenant ' || g from generate_series(1, 200) g;
    insert into shop.purchase (tenant_id, number, note)
        select 1 + g % 200, -g, 'old ' || g from generate_series(1, 4000) g;
    reset role;
    analyze";

fn turn(tenant: i64, turn: u64, rows: &mut Rows) -> String {
    let next = i64::try_from(turn).unwrap();
    match (turn % 4, rows.keys().next().copied()) {
        (2, Some(number)) => {
            rows.insert(number, format!("changed {turn}"));
            format!(
                "update shop.purchase set note = 'changed {turn}' where tenant_id = {tenant} and number = {number}"
            )
        }
        (3, Some(number)) if rows.len() > 20 => {
            rows.remove(&number);
            format!("delete from shop.purchase where tenant_id = {tenant} and number = {number}")
        }
        (_, _) => {
            rows.insert(next, format!("new {turn}"));
            format!(
                "insert into shop.purchase (tenant_id, number, note) values ({tenant}, {next}, 'new {turn}')"
            )
        }
    }
}

async fn found(fleet: &Fleet, shard: &str, tenant: i64) -> Rows {
    let session = fleet.session(shard).await;
    let read = "select number, note from shop.purchase where tenant_id = $1 and number >= 0";
    let rows = session.query(read, &[&tenant]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// Runs the documented file, and nothing else. The owner is trusted: his functions are beside the tables.
async fn grant(server: &Cluster, database: &str) {
    // Not every package of servers has it.
    let known = (15..=18).filter_map(|major| Binaries::find(Some(major)).ok());
    let mut psql = known.map(|programs| programs.path("psql"));
    let psql = psql.find(|path| path.is_file()).unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/grants.sql");
    let mut command = Command::new(psql);
    command.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-v", "role=mover"]);
    command.args(["-v", "owner=shop_owner", "-v", "trust=on", "-f", file]);
    let admin = Dsn::parse(&server.dsn(database, "postgres")).unwrap();
    for (name, value) in admin.resolve().unwrap().variables() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.stdin(Stdio::null()).output().await.unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// A server for each version that is asked for.
fn launch(authority: &Authority) -> Vec<Cluster> {
    let versions = servers();
    let mut majors = vec![versions.source, versions.target];
    majors.dedup();
    let launched = majors.into_iter().map(|major| {
        let mut options = Options::temporary("operations-least-privilege");
        options.binaries = major.map(|major| Binaries::find(Some(major)).unwrap());
        authority.server(options, HBA)
    });
    tokio::task::block_in_place(|| launched.collect())
}

/// The agents' role, if it has no rights over others.
const MOVER: &str =
    "select count(*) from pg_catalog.pg_roles r where rolname = 'mover' and not rolsuper
    and not rolcreaterole and not rolcreatedb and not rolbypassrls";
/// Sessions of ours that are of another role, or not protected.
const STRANGERS: &str = "select count(*) from pg_catalog.pg_stat_activity a
    left join pg_catalog.pg_stat_ssl s using (pid)
    where starts_with(application_name, 'shardwright/') and datname = pg_catalog.current_database() and (usename <> 'mover' or not s.ssl)";

/// Owners, grants and the agents' role on both shards.
async fn prepare(fleet: &Fleet) {
    for shard in ["a", "b"] {
        if fleet
            .number(
                shard,
                "select count(*) from pg_catalog.pg_roles where rolname = 'shop_owner'",
            )
            .await
            == 0
        {
            fleet.sql(shard, ROLES).await;
        }
        let owner = format!("alter database {shard} owner to shop_owner");
        fleet.sql(shard, &owner).await;
        grant(fleet.server_of(shard), shard).await;
        fleet.sql(shard, "alter role mover password 'geheim'").await;
        assert_eq!(fleet.number(shard, MOVER).await, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_with_the_documented_grants_runs_a_whole_split() {
    let authority = Authority::new("least-privilege");
    let servers = launch(&authority);
    let secret = authority.write("secret", "geheim", 0o600);
    let root = authority.root();
    let dsn = |server: &Cluster, shard: &str| {
        format!(
            "host=localhost hostaddr=127.0.0.1 port={} user=mover dbname={shard} password=${{file:{}}} \
             sslmode=verify-full sslrootcert={} channel_binding=require",
            server.port(),
            secret.display(),
            root.display()
        )
    };
    let fleet = Fleet::unregistered("least-privilege", &["a", "b"], servers).await;
    prepare(&fleet).await;
    fleet.register(&dsn).await;
    fleet.sql("a", SCHEMA).await;
    let tables = json!({"shop.tenant": "id", "shop.purchase": "tenant_id"});
    fleet
        .map(json!({
            "name": "shop", "strategy": "range", "key": ["bigint"],
            "mappings": [{"keys": {"range": [{}]}, "shard": "a"}],
            "settings": {"tables": tables},
        }))
        .await;

    let writers = Writers::start(&fleet, ["a", "b"], &[10, 160], turn).await;
    writers.more(50).await;
    let split = "operation: split\nmap: shop\nsource: a\ninto:\n- {shard: a, keys: {to: 100}}\n- {shard: b, keys: {from: 100}}\n";
    let flipped = fleet
        .reach(
            &format!("{split}options: {{cutover: automatic, hold: until_finish}}\n"),
            "flipped",
        )
        .await;
    for shard in ["a", "b"] {
        assert_eq!(fleet.number(shard, STRANGERS).await, 0, "{shard}");
    }
    writers.more(50).await;
    fleet.ok(&["finish", &flipped, "--yes"]).await;
    fleet.wait(&flipped, "completed").await;
    let expected = writers.end().await;
    for (shard, tenant) in [("a", 10), ("b", 160)] {
        assert_eq!(
            found(&fleet, shard, tenant).await,
            expected[&tenant],
            "{shard}"
        );
    }
    let old = "select count(*) from shop.purchase where number < 0 and tenant_id ";
    for (shard, own, others) in [("a", "< 100", ">= 100"), ("b", ">= 100", "< 100")] {
        let expected = if shard == "a" { 1980 } else { 2020 };
        assert_eq!(fleet.number(shard, &format!("{old}{own}")).await, expected);
        assert_eq!(fleet.number(shard, &format!("{old}{others}")).await, 0);
    }
    let owned = "select count(*) from pg_catalog.pg_class where relnamespace = 'shop'::regnamespace
        and relowner <> 'shop_owner'::regrole";
    assert_eq!(fleet.number("b", owned).await, 0);
    assert_eq!(fleet.leftovers(&["a"]).await.total(), 0);
}

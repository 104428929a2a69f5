//! An application with an owner of its tables and a user of them, on servers that let the agents in as their role alone.

use super::{Mode, Operation};
use crate::authority::Authority;
use crate::fleet::Fleet;
use crate::run::servers;
use crate::writers::{Rows, Writers};
use cluster::{Binaries, Cluster, Options};
use connect::Dsn;
use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use plans::shard_map::Selection;
use plans::shard_map::Strategy;
use serde_json::{Value, json};
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
    create table shop.tenant (id bigint primary key, name text not null unique);
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

/// Rows without the key, which only an offline migration moves.
const BADGES: &str = "
    set role shop_owner;
    create table shop.badge (name text primary key references shop.tenant (name) on delete cascade, note text);
    insert into shop.badge select name, 'badge of ' || name from shop.tenant;
    reset role;
    analyze";

/// The agents' role, if it has no rights over others.
const MOVER: &str =
    "select count(*) from pg_catalog.pg_roles r where rolname = 'mover' and not rolsuper
    and not rolcreaterole and not rolcreatedb and not rolbypassrls";
/// Sessions of ours that are of another role, or not protected.
const STRANGERS: &str = "select count(*) from pg_catalog.pg_stat_activity a
    left join pg_catalog.pg_stat_ssl s using (pid)
    where starts_with(application_name, 'shardwright/') and datname = pg_catalog.current_database() and (usename <> 'mover' or not s.ssl)";
const FOREIGN: &str = "select count(*) from pg_catalog.pg_class
    where relnamespace = 'shop'::regnamespace and relowner <> 'shop_owner'::regrole";
const IS_THERE: &str =
    "select count(*) from pg_catalog.pg_class where oid = pg_catalog.to_regclass('shop.purchase')";

const TENANTS: std::ops::RangeInclusive<i64> = 1..=200;

/// A running shop, and what it wrote.
pub(super) struct Shop {
    pub(super) fleet: Fleet,
    _authority: Authority,
    operation: Operation,
    mode: Mode,
    halves: [Half; 2],
    writers: Vec<Writers>,
}

/// Half of the keys.
struct Half {
    keys: KeySet,
    /// One whose rows are written.
    tenant: i64,
    before: &'static str,
    after: &'static str,
    digest: i64,
    written: Rows,
}

/// Servers, roles, tables and the map; writers write.
pub(super) async fn shop(name: &'static str, kind: (Operation, Strategy, Mode)) -> Shop {
    let (operation, strategy, mode) = kind;
    let authority = Authority::new(name);
    let halves = halves(operation, strategy, mode);
    let mut shards: Vec<&str> = halves
        .iter()
        .flat_map(|half| [half.before, half.after])
        .collect();
    shards.sort_unstable();
    shards.dedup();
    let fleet = fleet(name, &authority, &shards, mode).await;
    let mut shop = Shop {
        fleet,
        _authority: authority,
        operation,
        mode,
        halves,
        writers: Vec::new(),
    };
    shop.fill().await;
    shop.map(strategy).await;
    for half in &shop.halves {
        let other = shards.iter().find(|shard| **shard != half.before).unwrap();
        let ways = match half.after == half.before {
            true => [half.before, other],
            false => [half.before, half.after],
        };
        let writers = Writers::start(&shop.fleet, ways, &[half.tenant], turn).await;
        writers.more(20).await;
        shop.writers.push(writers);
    }
    shop
}

/// The halves of the keys with their owners.
fn halves(operation: Operation, strategy: Strategy, mode: Mode) -> [Half; 2] {
    let keys = match strategy {
        Strategy::Range => [
            KeySet::range(None, Some(Key::Int(100))),
            KeySet::range(Some(Key::Int(100)), None),
        ],
        Strategy::Hash => [KeySet::buckets(64, 0, 32), KeySet::buckets(64, 32, 64)],
        Strategy::List => [
            KeySet::list((1..100).map(Key::Int)),
            KeySet::list((100..=200).map(Key::Int)),
        ],
    };
    let owners = match (operation, mode) {
        (Operation::Split, _) => [("a", "a"), ("a", "b")],
        (Operation::Move, _) => [("a", "b"), ("a", "b")],
        (Operation::Merge, Mode::Offline) => [("a", "c"), ("b", "c")],
        (Operation::Merge, Mode::Asynchronous | Mode::Synchronous) => [("a", "a"), ("b", "a")],
    };
    let mut halves = keys
        .into_iter()
        .zip(owners)
        .map(|(keys, (before, after))| Half {
            tenant: TENANTS
                .into_iter()
                .find(|id| keys.contains(&Key::Int(*id)))
                .unwrap(),
            keys,
            before,
            after,
            digest: 0,
            written: Rows::new(),
        });
    std::array::from_fn(|_| halves.next().unwrap())
}

async fn fleet(
    name: &'static str,
    authority: &Authority,
    shards: &[&'static str],
    mode: Mode,
) -> Fleet {
    let servers = launch(authority, mode);
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
    let fleet = Fleet::unregistered(name, shards, servers).await;
    for shard in shards {
        let roles = "select count(*) from pg_catalog.pg_roles where rolname = 'shop_owner'";
        if fleet.number(shard, roles).await == 0 {
            fleet.sql(shard, ROLES).await;
        }
        let owner = format!("alter database {shard} owner to shop_owner");
        fleet.sql(shard, &owner).await;
        grant(fleet.server_of(shard), shard, mode).await;
        fleet.sql(shard, "alter role mover password 'geheim'").await;
        assert_eq!(fleet.number(shard, MOVER).await, 1);
    }
    fleet.register(&dsn).await;
    fleet
}

/// A server for each version that is asked for. Commits of a server cannot wait for itself, so then there are two.
fn launch(authority: &Authority, mode: Mode) -> Vec<Cluster> {
    let versions = servers();
    let mut majors = vec![versions.source, versions.target];
    if mode != Mode::Synchronous {
        majors.dedup();
    }
    let launched = majors.into_iter().map(|major| {
        let mut options = Options::temporary("operations-least-privilege");
        options.binaries = major.map(|major| Binaries::find(Some(major)).unwrap());
        authority.server(options, HBA)
    });
    tokio::task::block_in_place(|| launched.collect())
}

/// Runs the documented file, and nothing else. The owner is trusted: his functions are beside the tables.
async fn grant(server: &Cluster, database: &str, mode: Mode) {
    // Not every package of servers has it.
    let known = (15..=18).filter_map(|major| Binaries::find(Some(major)).ok());
    let mut psql = known.map(|programs| programs.path("psql"));
    let psql = psql.find(|path| path.is_file()).unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/grants.sql");
    let mut command = Command::new(psql);
    command.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-v", "role=mover"]);
    command.args(["-v", "owner=shop_owner", "-v", "trust=on"]);
    if mode == Mode::Synchronous {
        command.args(["-v", "dual_write=on"]);
    }
    command.args(["-f", file]);
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

impl Shop {
    /// Tables and rows where they belong.
    async fn fill(&mut self) {
        let mut owners: Vec<&str> = self.halves.iter().map(|half| half.before).collect();
        owners.dedup();
        for shard in owners {
            self.fleet.sql(shard, SCHEMA).await;
            if self.mode == Mode::Offline {
                self.fleet.sql(shard, BADGES).await;
            }
            for half in self.halves.iter().filter(|half| half.before != shard) {
                let (purchases, tenants) = (half.of("tenant_id"), half.of("id"));
                let others = format!(
                    "delete from shop.purchase where {purchases}; delete from shop.tenant where {tenants}"
                );
                self.fleet.sql(shard, &others).await;
            }
        }
        for number in 0..self.halves.len() {
            let half = &self.halves[number];
            let digest = self.digest(half, half.before).await;
            assert_ne!(digest, 0);
            self.halves[number].digest = digest;
        }
    }

    async fn map(&self, strategy: Strategy) {
        let mut settings = json!({"tables": {"shop.tenant": "id", "shop.purchase": "tenant_id"}});
        if self.mode == Mode::Offline {
            let badge = json!({"parent": "shop.tenant", "columns": {"name": "name"}});
            settings["through"] = json!({"shop.badge": badge});
        }
        let mappings = self.halves.iter();
        let mappings: Vec<Value> = mappings
            .map(|half| json!({"keys": half.keys, "shard": half.before}))
            .collect();
        let mut map = json!({
            "name": "shop", "strategy": strategy, "key": ["bigint"], "mappings": mappings, "settings": settings,
        });
        if strategy == Strategy::Hash {
            map["buckets"] = 64.into();
        }
        self.fleet.map(map).await;
    }

    /// The migration behind its flip, with writes on both sides of it. Its id.
    pub(super) async fn flip(&mut self) -> String {
        let id = self.reach("automatic", "flipped").await;
        let moves = self.fleet.planned().moves.len();
        if moves > 1 {
            // The second one begins with the first one's flip.
            for number in 1..=moves {
                self.fleet.wait(&format!("{id}x{number}"), "flipped").await;
            }
        }
        for writers in &self.writers {
            writers.more(20).await;
        }
        id
    }

    /// The migration when its cutover waits for an approval. Its id.
    pub(super) async fn prepare(&mut self) -> String {
        self.reach("approve", "waiting").await
    }

    async fn reach(&mut self, cutover: &str, state: &str) -> String {
        if self.mode == Mode::Offline {
            self.stop().await;
        }
        let mut options = json!({"cutover": cutover, "hold": "until_finish"});
        match self.mode {
            Mode::Asynchronous => {}
            Mode::Synchronous => options["dual_write"] = "synchronous".into(),
            Mode::Offline => options["mode"] = "offline".into(),
        }
        let request = self.request(&options).to_string();
        let id = self.fleet.reach(&request, state).await;
        for half in &self.halves {
            for shard in [half.before, half.after] {
                assert_eq!(self.fleet.number(shard, STRANGERS).await, 0, "{shard}");
            }
        }
        id
    }

    fn request(&self, options: &Value) -> Value {
        let [first, second] = &self.halves;
        let part = |half: &Half| json!({"shard": half.after, "keys": Selection::of(&half.keys)});
        match self.operation {
            Operation::Split => json!({
                "operation": "split", "map": "shop", "source": "a", "into": [part(first), part(second)], "options": options,
            }),
            Operation::Merge => json!({
                "operation": "merge", "map": "shop", "sources": ["a", "b"], "into": first.after, "options": options,
            }),
            Operation::Move => json!({
                "operation": "move", "map": "shop", "moves": [{"source": "a", "target": "b"}], "options": options,
            }),
        }
    }

    async fn stop(&mut self) {
        for (half, writers) in self.halves.iter_mut().zip(self.writers.drain(..)) {
            half.written = writers.end().await.remove(&half.tenant).unwrap();
        }
    }

    /// Every row is on its shard and nowhere else, and nothing of ours is left.
    pub(super) async fn check(&mut self, finished: bool) {
        self.stop().await;
        let mut released = Vec::new();
        for half in &self.halves {
            let (owner, other) = match finished {
                true => (half.after, half.before),
                false => (half.before, half.after),
            };
            assert_eq!(self.digest(half, owner).await, half.digest, "{owner}");
            assert_eq!(self.written(half, owner).await, half.written, "{owner}");
            assert_eq!(self.fleet.number(owner, FOREIGN).await, 0, "{owner}");
            if owner != other && self.fleet.number(other, IS_THERE).await == 1 {
                let left = format!("select count(*) from shop.tenant where {}", half.of("id"));
                assert_eq!(self.fleet.number(other, &left).await, 0, "{other}");
                assert_eq!(self.digest(half, other).await, 0, "{other}");
                assert!(self.written(half, other).await.is_empty(), "{other}");
            }
            if finished && owner != other {
                released.push(half.before);
            }
        }
        let left = self.fleet.leftovers(&released).await;
        assert_eq!(left.total(), 0, "{left}");
        if finished {
            // Two shards of a merge issue the same numbers before it.
            let checked = self.fleet.run(&["map", "check", "shop"]).await;
            assert!(checked.status.success(), "{checked:?}");
        }
    }

    /// Of the rows that nobody writes.
    async fn digest(&self, half: &Half, shard: &str) -> i64 {
        let badges = match self.mode {
            Mode::Offline => format!(
                "union all select b::text from shop.badge b join shop.tenant t using (name) where {}",
                half.of("t.id")
            ),
            Mode::Asynchronous | Mode::Synchronous => String::new(),
        };
        let read = format!(
            "select coalesce(sum(hashtextextended(r, 0) >> 20), 0)::bigint from (
                 select p::text from shop.purchase p where number < 0 and {} {badges}) rows (r)",
            half.of("tenant_id")
        );
        self.fleet.number(shard, &read).await
    }

    async fn written(&self, half: &Half, shard: &str) -> Rows {
        let session = self.fleet.session(shard).await;
        let read = "select number, note from shop.purchase where tenant_id = $1 and number >= 0";
        let rows = session.query(read, &[&half.tenant]).await.unwrap();
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    }
}

impl Half {
    /// Its rows, by the column with the key.
    fn of(&self, column: &str) -> String {
        let column = (column.to_owned(), KeyType::Bigint);
        self.keys.predicate(&[column])
    }
}

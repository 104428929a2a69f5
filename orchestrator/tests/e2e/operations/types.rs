//! Every family of types with its extreme values, moved under load in binary and in text, and compared byte for byte.
//!
//! A file of `types/` makes the tables of a family and fills them with extreme values, as rows of tenant 0. Each
//! moving tenant has the same rows, which nobody changes, and rows with the numbers of [`CHANGING`], to which the
//! writers copy those values: as inserts, as updates of all columns, of one column, and as other rows in their place.
//! Families whose binary form is safe are in a map of their own: their changes arrive in binary, those of the others
//! in text. The last move takes text for what the first one took in binary, and finds its tables on the target, with
//! columns at other places.

use crate::fleet::Fleet;
use crate::run::servers;
use crate::writers::{Rows, Writers};
use connect::Connected;
use futures::TryStreamExt;
use plans::plan::PlannedMove;
use plans::table::{Format, stream_format};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const BINARY: [&str; 12] = [
    include_str!("types/arrays.sql"),
    include_str!("types/bytes.sql"),
    include_str!("types/documents.sql"),
    include_str!("types/domains.sql"),
    include_str!("types/large.sql"),
    include_str!("types/networks.sql"),
    include_str!("types/numbers.sql"),
    include_str!("types/ranges.sql"),
    include_str!("types/shapes.sql"),
    include_str!("types/tables.sql"),
    include_str!("types/texts.sql"),
    include_str!("types/times.sql"),
];
const TEXT: [&str; 5] = [
    include_str!("types/extensions.sql"),
    include_str!("types/made_of_users.sql"),
    include_str!("types/markup.sql"),
    include_str!("types/positions.sql"),
    include_str!("types/queries.sql"),
];
/// In binary between servers of one version, in text otherwise.
const INTERVALS: [&str; 2] = [
    include_str!("types/intervals.sql"),
    "create table types.later (tenant_id bigint, id bigint, i interval, primary key (tenant_id, id));
    -- rows
    insert into types.later values (0, 1, null);
    do $$ begin
        if current_setting('server_version_num')::int >= 170000 and LATER then
            insert into types.later values (0, 2, 'infinity'), (0, 3, '-infinity');
        end if;
    end $$",
];

/// Rows of a tenant that the writers change.
const CHANGING: RangeInclusive<u64> = 1001..=1005;
/// Tenants of the map of binary tables, and of the other one.
const TENANTS: [[i64; 4]; 2] = [[110, 160, 210, 260], [410, 460, 510, 560]];
const LIMIT: Duration = Duration::from_secs(60);

/// A table that moves, in quoted names.
#[derive(Debug)]
struct Table {
    name: String,
    key: [String; 2],
    /// What is written of it, beside the key.
    columns: Vec<String>,
    /// Extreme rows of each tenant, by their numbers.
    extremes: Vec<i64>,
}

/// The tables of both maps.
static TABLES: OnceLock<[Vec<Table>; 2]> = OnceLock::new();

fn tables_of(tenant: i64) -> &'static [Table] {
    let map = TENANTS.iter().position(|tenants| tenants.contains(&tenant));
    &TABLES.get().unwrap()[map.unwrap()]
}

impl Table {
    fn columns(&self) -> String {
        self.columns.join(", ")
    }

    fn row(&self, tenant: i64, id: impl std::fmt::Display) -> String {
        let [own, number] = &self.key;
        format!("{own} = {tenant} and {number} = {id}")
    }

    /// Copies extreme row `extreme` to row `id`, which is not there.
    fn insert(&self, tenant: i64, id: u64, extreme: i64) -> String {
        let (name, [own, number], columns) = (&self.name, &self.key, self.columns());
        format!(
            "insert into {name} ({own}, {number}, {columns}) select {own}, {id}, {columns} from {name}
             where {} on conflict do nothing",
            self.row(tenant, extreme)
        )
    }

    /// Copies these columns of an extreme row to another row.
    fn update(&self, columns: &str, tenant: i64, id: u64, extreme: i64) -> String {
        let name = &self.name;
        format!(
            "update {name} set ({columns}) = (select {columns} from {name} where {}) where {}",
            self.row(tenant, extreme),
            self.row(tenant, id)
        )
    }

    /// Gives a tenant the extreme rows, and those that will change.
    fn filled(&self, tenant: i64) -> String {
        let (name, [own, number], columns) = (&self.name, &self.key, self.columns());
        let extremes = format!(
            "insert into {name} ({own}, {number}, {columns})
             select {tenant}, {number}, {columns} from {name} where {own} = 0"
        );
        let changing = CHANGING.map(|id| self.insert(tenant, id, self.extremes[0]));
        [extremes]
            .into_iter()
            .chain(changing)
            .collect::<Vec<_>>()
            .join("; ")
    }

    fn delete(&self, tenant: i64, id: u64) -> String {
        format!("delete from {} where {}", self.name, self.row(tenant, id))
    }
}

/// One change of one table, at a rate that the slowest machine can follow.
fn turn(tenant: i64, turn: u64, _: &mut Rows) -> String {
    format!("{}; select pg_catalog.pg_sleep(0.02)", change(tenant, turn))
}

/// Values of a megabyte are written more seldom.
fn change(tenant: i64, turn: u64) -> String {
    let tables = tables_of(tenant);
    let count = u64::try_from(tables.len()).unwrap();
    let pick = |among: u64, salt: u64| (turn.wrapping_mul(2_654_435_761) >> salt) % among;
    let place =
        |among: usize, salt| usize::try_from(pick(u64::try_from(among).unwrap(), salt)).unwrap();
    let table = &tables[usize::try_from(turn % count).unwrap()];
    let (extreme, round) = (table.extremes[place(table.extremes.len(), 7)], turn / count);
    let id = CHANGING.start() + pick(5, 13);
    if table.name.contains("large") && round % 4 > 0 {
        return table.update("note", tenant, id, extreme);
    }
    match round % 6 {
        0 => table.insert(tenant, id, extreme),
        1 | 2 => table.update(&table.columns(), tenant, id, extreme),
        3 => table.update(
            &table.columns[place(table.columns.len(), 3)],
            tenant,
            id,
            extreme,
        ),
        4 => format!(
            "{}; {}",
            table.delete(tenant, id),
            table.insert(tenant, id, extreme)
        ),
        _ => table.delete(tenant, id),
    }
}

/// Name, key, other columns that can be written: of each table but those in `$1`.
const FOUND: &str = "
    select name.quoted,
      array(select pg_catalog.quote_ident(a.attname) from pg_catalog.unnest(x.indkey::int2[]) with ordinality k (attnum, place)
            join pg_catalog.pg_attribute a on (a.attrelid, a.attnum) = (c.oid, k.attnum) order by k.place),
      array(select pg_catalog.quote_ident(a.attname) from pg_catalog.pg_attribute a where a.attrelid = c.oid
            and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.attnum <> all (x.indkey) order by a.attnum)
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join pg_catalog.pg_index x on x.indrelid = c.oid and x.indisprimary
    cross join lateral pg_catalog.format('%I.%I', n.nspname, c.relname) name (quoted)
    where n.nspname = 'types' and c.relkind = 'r' and name.quoted <> all ($1) order by 1";

/// Makes the tables of these families, beside those that are `there`, and fills them for each of the tenants.
async fn fill(fleet: &Fleet, families: &[&str], there: &[Table], tenants: [i64; 4]) -> Vec<Table> {
    let later = servers().target.is_none_or(|major| major >= 17);
    for family in families {
        let (tables, rows) = family.split_once("-- rows").unwrap();
        fleet.sql("a", tables).await;
        let rows = rows.replace("LATER", &later.to_string());
        fleet.sql("a", &rows).await;
    }
    let session = fleet.session("a").await;
    let there: Vec<&str> = there.iter().map(|table| table.name.as_str()).collect();
    let mut tables = Vec::new();
    for row in session.query(FOUND, &[&there]).await.unwrap() {
        let key: Vec<String> = row.get(1);
        let mut table = Table {
            name: row.get(0),
            key: key.try_into().unwrap(),
            columns: row.get(2),
            extremes: Vec::new(),
        };
        let (name, [own, number]) = (&table.name, &table.key);
        let numbers = format!("select {number} from {name} where {own} = 0 order by 1");
        let numbers = session.query(&numbers, &[]).await.unwrap();
        table.extremes = numbers.iter().map(|row| row.get(0)).collect();
        for tenant in tenants {
            session.batch_execute(&table.filled(tenant)).await.unwrap();
        }
        tables.push(table);
    }
    tables
}

/// What two shards have of the tenants in `keys`, in the text that the types print and in the bytes that they send.
#[derive(Debug, PartialEq, Eq)]
struct Contents {
    rows: i64,
    text: String,
    binary: Vec<u8>,
}

/// Columns whose binary form has no numbers of types in it, which differ from shard to shard.
const SENT: &str = "
    with recursive own as (
      select a.attname, a.attnum, a.atttypid as type from pg_catalog.pg_attribute a
      where a.attrelid = pg_catalog.to_regclass($1) and a.attnum > 0 and not a.attisdropped
      union all
      select own.attname, own.attnum, t.typbasetype from own join pg_catalog.pg_type t on t.oid = own.type
      where t.typtype = 'd')
    select coalesce(pg_catalog.string_agg(pg_catalog.quote_ident(own.attname), ', ' order by own.attnum), '')
    from own join pg_catalog.pg_type t on t.oid = own.type
    where t.typtype not in ('c', 'd') and t.typsend <> 0
      and not (t.typlen = -1 and t.typelem >= 16384)";

async fn contents(session: &Connected, table: &Table, keys: &str) -> Contents {
    let (name, [own, number]) = (&table.name, &table.key);
    let rows = format!("{name} t where {own} {keys}");
    let read = format!(
        "select count(*), coalesce(pg_catalog.string_agg(pg_catalog.md5(row(t.{own}, t.{number})::text || t::text), '' order by t.{own}, t.{number}), '')
         from {rows}"
    );
    let row = session.query_one(&read, &[]).await.unwrap();
    let sent: String = session.query_one(SENT, &[name]).await.unwrap().get(0);
    let copy = format!(
        "copy (select {sent} from {rows} order by {own}, {number}) to stdout (format binary)"
    );
    let messages: Vec<_> = session
        .copy_out(&copy)
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    Contents {
        rows: row.get(0),
        text: row.get(1),
        binary: messages.concat(),
    }
}

/// The two copies are equal, at once or when the stream that follows has caught up.
async fn equal(fleet: &Fleet, target: &str, tables: &[Table], keys: &str) {
    let (here, there) = (fleet.session("a").await, fleet.session(target).await);
    let begun = Instant::now();
    for table in tables {
        loop {
            let copies = (
                contents(&here, table, keys).await,
                contents(&there, table, keys).await,
            );
            assert!(copies.0.rows > 0, "{}", table.name);
            if copies.0 == copies.1 {
                break;
            }
            let same = (
                copies.0.rows == copies.1.rows,
                copies.0.text == copies.1.text,
            );
            assert!(
                begun.elapsed() < LIMIT,
                "{} {keys}: rows, text {same:?}",
                table.name
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Moves the tenants from `from` on, two of them, from `a` to `target` while writers change them, before the copy and
/// after the flip; the plan's only move.
async fn moved(
    fleet: &Fleet,
    map: &str,
    target: &'static str,
    from: i64,
    more: &str,
) -> PlannedMove {
    let to = from + 100;
    let tenants = TENANTS.into_iter().flatten();
    let tenants: Vec<i64> = tenants
        .filter(|tenant| (from..to).contains(tenant))
        .collect();
    let tables = tables_of(tenants[0]);
    let turns = 2 * u64::try_from(tables.len()).unwrap();
    let writers = Writers::start(fleet, ["a", target], &tenants, turn).await;
    writers.more(turns).await;
    let request = format!(
        "operation: move\nmap: {map}\nmoves:\n- {{source: a, target: {target}, keys: {{from: {from}, to: {to}}}}}\noptions: {{cutover: automatic{more}}}\n"
    );
    let id = fleet.reach(&request, "flipped").await;
    writers.more(turns).await;
    writers.end().await;
    let keys = format!("between {from} and {to}");
    equal(fleet, target, tables, &keys).await;
    fleet.ok(&["finish", &id, "--yes"]).await;
    fleet.wait(&id, "completed").await;
    fleet.planned().moves.remove(0)
}

/// Tables that the plan copies in `format`, with the reasons.
fn copied_in(planned: &PlannedMove, format: Format) -> BTreeMap<&str, &str> {
    let tables = planned.moving.tables.iter();
    let tables = tables.filter(|table| table.format == format);
    tables
        .map(|table| (table.table.name.as_str(), table.format_why.as_str()))
        .collect()
}

fn changes_arrive_in(planned: &PlannedMove) -> Format {
    stream_format(&planned.moving.tables).0
}

/// The reasons for text that a plan must give.
const WHY: [(&str, &str); 5] = [
    ("queries", "column q is tsquery"),
    ("markup", "column x is xml"),
    (
        "extended",
        "column c is public.citext, a type of extension citext",
    ),
    ("made_of_users", "column p is types.pair, a composite type"),
    (
        "spans_of_users",
        "column s is types.span, a user-defined range type",
    ),
];

fn settings(tables: &[Table]) -> Value {
    let bare = |quoted: &str| quoted.trim_matches('"').replace("\"\"", "\"");
    let entry = |table: &Table| {
        let name = bare(table.name.strip_prefix("types.").unwrap());
        (format!("types.{name}"), bare(&table.key[0]))
    };
    let tables: BTreeMap<String, String> = tables.iter().map(entry).collect();
    json!({ "tables": tables, "ignore": ["*"] })
}

/// A map of these tables, all of whose keys are on `a`.
fn map(name: &str, tables: &[Table]) -> Value {
    json!({
        "name": name, "strategy": "range", "key": ["bigint"],
        "mappings": [{"keys": {"range": [{}]}, "shard": "a"}], "settings": settings(tables),
    })
}

/// What a database sets by default for sessions and walsenders, and none of ours may follow.
const HOSTILE: &[&str] = &[
    "\"DateStyle\" = 'SQL, DMY'",
    "\"IntervalStyle\" = 'iso_8601'",
    "\"TimeZone\" = 'Asia/Kolkata'",
    "extra_float_digits = -5",
    "bytea_output = 'escape'",
    "lc_monetary = 'C.UTF-8'",
    "xmloption = 'document'",
    "array_nulls = off",
];

async fn set_hostile(fleet: &Fleet, shards: &[&str]) {
    for shard in shards {
        for setting in HOSTILE {
            fleet
                .sql(shard, &format!("alter database {shard} set {setting}"))
                .await;
        }
    }
}

#[tokio::test]
async fn every_type_is_moved_byte_for_byte_in_binary_and_in_text() {
    let fleet = Fleet::start("types", &["a", "b", "c"]).await;
    let same_version = servers().source == servers().target;
    let (mut binary, mut text) = (BINARY.to_vec(), TEXT.to_vec());
    if same_version { &mut binary } else { &mut text }.extend(INTERVALS);
    set_hostile(&fleet, &["a", "b", "c"]).await;
    fleet.sql("a", "create schema types").await;
    let binary = fill(&fleet, &binary, &[], TENANTS[0]).await;
    let text = fill(&fleet, &text, &binary, TENANTS[1]).await;
    fleet.sql("a", "analyze").await;
    fleet.map(map("binary", &binary)).await;
    fleet.map(map("text", &text)).await;
    TABLES.set([binary, text]).unwrap();

    let first = moved(&fleet, "binary", "b", 100, "").await;
    assert_eq!(copied_in(&first, Format::Text), BTreeMap::new());
    assert_eq!(changes_arrive_in(&first), Format::Binary);

    let second = moved(&fleet, "text", "c", 400, "").await;
    assert_eq!(changes_arrive_in(&second), Format::Text);
    let reasons = copied_in(&second, Format::Text);
    for (table, why) in WHY {
        assert!(reasons[table].starts_with(why), "{table}: {reasons:?}");
    }
    assert!(copied_in(&second, Format::Binary).contains_key("positions"));
    assert_eq!(reasons.contains_key("intervals"), !same_version);

    let third = moved(&fleet, "binary", "b", 200, ", copy_format: text").await;
    assert_eq!(copied_in(&third, Format::Binary), BTreeMap::new());
    assert_eq!(changes_arrive_in(&third), Format::Text);
    assert_eq!(fleet.leftovers(&["a"]).await.total(), 0);
}

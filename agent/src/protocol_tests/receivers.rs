//! Rows that are read once for two targets arrive at the target whose predicate they match, for every type of key.

use std::future::ready;

use connect::Connected;
use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use plans::table::{Format, KeyColumn, MovingTable, TableKey};
use tokio::sync::mpsc;

use super::bench::Bench;
use super::shard::Shard as Database;
use crate::postgres::copy_stream::{
    BlockRange, CopyExtent, CopyReceivers, ReceiveOutcome, read_for_all, write_from_receiver,
};

const ALL: CopyExtent = CopyExtent::Blocks(BlockRange { from: 0, to: None });
const ROWS: i64 = 300;

/// Returns an SQL expression that computes a value of the type for each number `g`.
fn value(kind: KeyType) -> &'static str {
    match kind {
        KeyType::Smallint => "g::int2 - 150",
        KeyType::Integer => "g - 150",
        KeyType::Bigint => "(g - 150) * 10000000000",
        KeyType::Text => "chr(64 + g) || g",
        KeyType::Uuid => "md5(g::text)::uuid",
        KeyType::Bytea => "decode(md5(g::text), 'hex')",
        KeyType::Date => "date '1999-10-01' + g",
        KeyType::Timestamptz => "timestamptz '1999-12-25 00:00Z' + g * interval '1 hour'",
    }
}

/// Returns DDL of a table for each type, and of one whose key has two columns.
fn schema() -> String {
    let tables = KeyType::ALL.map(|kind| {
        format!("create table public.by_{kind} (v text, tenant_id {kind} primary key, n int);")
    });
    tables.concat()
        + "create table public.by_two (tenant_id bigint, part text, v text, primary key (tenant_id, part))"
}

async fn list(session: &Connected, sql: &str) -> Vec<String> {
    let rows = session.query(sql, &[]).await.expect(sql);
    rows.iter().map(|row| row.get(0)).collect()
}

/// Reads a table once for both key sets. Checks that each target has exactly the rows of its predicate.
async fn routed(bench: &Bench, other: &Database, table: &MovingTable, sets: &[KeySet; 2]) {
    let predicates = [&sets[0], &sets[1]].map(|keys| table.predicate(keys, ""));
    let mut source = bench.ours(&bench.source).await;
    let mut targets = Vec::new();
    for database in [&bench.target, other] {
        let session = bench.ours(database).await;
        let empty = format!("begin; truncate {}", table.table.sql());
        session.batch_execute(&empty).await.expect("emptied");
        targets.push(session);
    }
    let (one, two) = (mpsc::channel(1), mpsc::channel(1));
    let mut receivers = CopyReceivers::new([one.0, two.0]);
    let [first, second] = &mut targets[..] else {
        panic!("two targets");
    };
    let reading = async {
        read_for_all(&mut source, table, &ALL, &predicates, &mut receivers)
            .await
            .expect("read");
        receivers.end().await;
    };
    let ((), one, two) = tokio::join!(
        reading,
        write_from_receiver(first, table, one.1, (|| (), |_, _| ready(()))),
        write_from_receiver(second, table, two.1, (|| (), |_, _| ready(()))),
    );
    let name = table.table.sql();
    for ((written, target), predicate) in [one, two].into_iter().zip(&targets).zip(&predicates) {
        let rows = format!("select (t.*)::text from {name} t");
        let order = "order by (t.*)::text collate \"C\"";
        let theirs = list(target, &format!("{rows} {order}")).await;
        let ours = list(&source, &format!("{rows} where {predicate} {order}")).await;
        assert!(!ours.is_empty(), "{predicate} has rows");
        assert_eq!(theirs, ours, "{predicate}");
        let ReceiveOutcome::All(rows, _) = written.expect("written") else {
            panic!("not all of it");
        };
        assert_eq!(rows, ours.len() as u64);
        target.batch_execute("rollback").await.expect("again");
    }
}

#[tokio::test]
async fn rows_are_told_apart_as_the_predicate_tells_them_for_every_type() {
    let bench = Bench::new("receivers", &schema()).await;
    let other = Database::on(bench.source.cluster.clone(), "receivers_o").await;
    let session = other.session().await;
    session.batch_execute(&schema()).await.expect("schema");
    let app = bench.source.session().await;
    for kind in KeyType::ALL {
        let fill = format!(
            "insert into public.by_{kind} select case when g % 3 > 0 then repeat('v', g) end, {}, g
             from generate_series(1, {ROWS}) g",
            value(kind)
        );
        app.batch_execute(&fill).await.expect("filled");
        let key = TableKey::Columns(vec![KeyColumn {
            name: "tenant_id".to_owned(),
            kind,
        }]);
        let name = format!("by_{kind}");
        let table = bench.tables.iter().find(|t| t.table.name == name);
        let mut table = table.expect("the table").clone();
        (table.key, table.format) = (key, Format::Binary);
        let some = format!("select tenant_id::text from public.by_{kind} order by n limit 40");
        let keys = list(&app, &some).await;
        let read = |text: &String| kind.read(text).expect("a key");
        let middle = read(&keys[39]);
        let few = keys.iter().map(read);
        for sets in [
            [
                KeySet::range(None, Some(middle.clone())),
                KeySet::range(Some(middle.clone()), None),
            ],
            [KeySet::buckets(16, 0, 5), KeySet::buckets(16, 5, 12)],
            [
                KeySet::list(few.clone().take(20)),
                KeySet::list(few.clone().skip(20)),
            ],
        ] {
            routed(&bench, &other, &table, &sets).await;
        }
    }
}

#[tokio::test]
async fn rows_are_told_apart_by_a_key_of_two_columns() {
    let bench = Bench::new("receivers_two", &schema()).await;
    let other = Database::on(bench.source.cluster.clone(), "receivers_two_o").await;
    let session = other.session().await;
    session.batch_execute(&schema()).await.expect("schema");
    let app = bench.source.session().await;
    let fill = format!(
        "insert into public.by_two select g % 7, 'p' || g, repeat('v', g) from generate_series(1, {ROWS}) g"
    );
    app.batch_execute(&fill).await.expect("filled");
    let table = bench.tables.iter().find(|t| t.table.name == "by_two");
    let mut table = table.expect("the table").clone();
    let column = |(name, kind): (&str, KeyType)| KeyColumn {
        name: name.to_owned(),
        kind,
    };
    let columns = [("tenant_id", KeyType::Bigint), ("part", KeyType::Text)];
    table.key = TableKey::Columns(columns.map(column).into());
    table.format = Format::Binary;
    let key =
        |tenant, part: &str| Some(Key::Row(vec![Key::Int(tenant), Key::Text(part.to_owned())]));
    let sets = [
        KeySet::range(key(1, "p2"), key(3, "p15")),
        KeySet::range(key(3, "p15"), None),
    ];
    routed(&bench, &other, &table, &sets).await;
}

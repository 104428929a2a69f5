//! The conversion of a map on one shard: what is read, what is refused, and what late work cannot do (ADR 78).

use connect::Connected;
use plans::failure::{Failure, StepCode};
use plans::fleet::ShardRef;
use plans::id::{Epoch, MapName, MapVersion, MigrationId};
use plans::inspection::convert::{
    ConversionPhase, ConvertTask, ConvertedShard, Division, KeyReading,
};
use plans::inspection::{Inspected, Inspection};
use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use plans::shard_map::{KeyColumns, MapSettings};
use plans::table::{KeyColumn, MovingTable, TableKey, TableName};

use super::bench::ITEM;
use super::shard::{Shard as Database, until};
use crate::inspect;
use crate::shard::database::Shard;
use crate::shard::released_keys_check;

/// A conversion of the map `m` from one virtual shard to ranges.
struct Conversion {
    database: Database,
    id: String,
    epoch: i64,
    columns: Vec<String>,
}

impl Conversion {
    async fn new(name: &str, ddl: &str) -> Self {
        let database = Database::new(name).await;
        let session = database.session().await;
        session.batch_execute(ddl).await.expect("schema");
        Self {
            database,
            id: name.replace('_', ""),
            epoch: 1,
            columns: vec!["tenant_id".to_owned()],
        }
    }

    fn division(&self) -> Division {
        let mut settings = MapSettings::default();
        let columns = KeyColumns(self.columns.clone());
        settings.tables.insert("public.item".to_owned(), columns);
        Division {
            key: vec![KeyType::Bigint; self.columns.len()],
            settings,
        }
    }

    async fn perform(&self, phase: ConversionPhase) -> Result<ConvertedShard, Failure> {
        let task = ConvertTask {
            shard: self.reference(),
            conversion: MigrationId::from(self.id.as_str()),
            epoch: self.epoch,
            map: MapName::from("m"),
            before: MapVersion(7),
            division: self.division(),
            phase,
        };
        let task = Inspection::Convert(Box::new(task));
        let answer = inspect::run(&task, &std::env::temp_dir()).await?;
        let Inspected::Converted(converted) = answer else {
            panic!("{answer:?}");
        };
        Ok(converted)
    }

    /// Enrols the conversion and reads all keys.
    async fn read(&self, owned: KeySet) -> Result<ConvertedShard, Failure> {
        let before = Division {
            key: vec![KeyType::Bigint],
            ..Conversion {
                columns: vec!["tenant_id".to_owned()],
                database: self.database.clone(),
                id: String::new(),
                epoch: 0,
            }
            .division()
        };
        self.perform(ConversionPhase::Read(Box::new(KeyReading {
            enrol: true,
            before,
            owned,
            empty: KeySet::Range(Vec::new()),
        })))
        .await
    }

    async fn close(&self, refused: KeySet) -> Result<ConvertedShard, Failure> {
        self.perform(ConversionPhase::Close { refused }).await
    }

    /// Returns the SQLSTATE with which the insertion of a row is refused.
    async fn refused(&self, tenant: i64) -> Option<String> {
        let session = self.database.session().await;
        let insert = format!("insert into public.item values ({tenant}, 77, 'x')");
        let result = session.execute(&insert, &[]).await;
        let refused = result
            .err()
            .and_then(|error| Some(error.code()?.code().to_owned()));
        let delete = format!("delete from public.item where tenant_id = {tenant} and id = 77");
        if refused.is_none() {
            session.execute(&delete, &[]).await.expect("deleted");
        }
        refused
    }

    fn table(&self) -> MovingTable {
        let column = KeyColumn {
            name: "tenant_id".to_owned(),
            kind: KeyType::Bigint,
        };
        MovingTable::bare(
            TableName::parse("public.item"),
            TableKey::Columns(vec![column]),
        )
    }

    /// Opens a session of the agent.
    async fn agent(&self) -> Connected {
        let shard = Shard::new(&self.reference(), &MigrationId::from("check"), Epoch(0));
        shard
            .expect("a shard")
            .session("test")
            .await
            .expect("a session")
    }

    /// Returns what the check of the guard of released keys finds.
    async fn problems(&self, refused: &KeySet) -> Vec<String> {
        let (agent, map, table) = (self.agent().await, MapName::from("m"), self.table());
        let found = released_keys_check::find_problems(&agent, &map, refused, &table);
        found.await.expect("checked")
    }

    fn reference(&self) -> ShardRef {
        ShardRef {
            name: "s".into(),
            number: 1,
            dsn: self.database.dsn_text(),
            identity: None,
        }
    }

    /// Returns how many triggers the conversion, and how many the guard of released keys has.
    async fn triggers(&self) -> (i64, i64) {
        let session = self.database.session().await;
        let of = |pattern: String| {
            format!(
                "(select count(*) from pg_trigger where tgname like 'shardwright_guard_{pattern}')"
            )
        };
        let counts = format!(
            "select {}, {}",
            of(format!("{}\\_%", self.id)),
            of("away\\_%".to_owned())
        );
        let row = session.query_one(&counts, &[]).await.expect("counted");
        (row.get(0), row.get(1))
    }
}

fn all() -> KeySet {
    KeySet::buckets(1, 0, 1)
}

fn from(key: i64) -> KeySet {
    KeySet::range(Some(Key::Int(key)), None)
}

fn single(keys: &[i64]) -> KeySet {
    let keys = keys.iter().map(|key| Key::Int(*key));
    KeySet::Range(Vec::new()).of_keys(keys)
}

const ROWS: &str = "insert into public.item select t, i, 'x' from generate_series(1, 9) t, generate_series(1, 5) i";

#[tokio::test]
async fn the_second_reading_sees_rows_of_a_transaction_that_began_before_the_guard() {
    let conversion = Conversion::new("convert_second", &format!("{ITEM}; {ROWS}")).await;
    let read = conversion.read(all()).await.expect("read");
    assert_eq!(
        (read.count, read.keys),
        (
            9,
            Some(KeySet::range(Some(Key::Int(1)), Some(Key::Int(10))))
        )
    );
    let writer = conversion.database.session().await;
    let early = "begin; insert into public.item values (500, 1, 'x')";
    writer.batch_execute(early).await.expect("written");
    let (closed, ()) = tokio::join!(conversion.close(from(100)), async {
        let observer = conversion.database.session().await;
        let waits = "select count(*) from pg_locks where not granted and relation = 'public.item'::regclass";
        let observer = &observer;
        until("the guard waits for the writer", || async move {
            let row = observer.query_one(waits, &[]).await.expect("read");
            row.get::<_, i64>(0) > 0
        })
        .await;
        writer.batch_execute("commit").await.expect("committed");
    });
    assert_eq!(closed.expect("closed").keys, Some(single(&[500])));
    assert_eq!(conversion.refused(600).await.as_deref(), Some("SM001"));
    assert_eq!(conversion.refused(5).await, None);
    // The controller keeps the key here: it replaces the guard, and finds nothing more.
    let refused = from(100).minus(&single(&[500]));
    let again = conversion.close(refused.clone()).await.expect("closed");
    assert!(again.keys.is_some_and(|keys| keys.is_empty()));
    assert_eq!(conversion.refused(500).await, None);
    let version = MapVersion(8);
    let finish = ConversionPhase::Finish { refused, version };
    conversion.perform(finish).await.expect("finished");
    assert_eq!(conversion.triggers().await, (0, 3));
    assert_eq!(conversion.refused(600).await.as_deref(), Some("SM001"));
    assert_eq!(conversion.refused(500).await, None);
}

#[tokio::test]
async fn late_work_creates_no_guard_after_the_end() {
    let mut conversion = Conversion::new("convert_late", &format!("{ITEM}; {ROWS}")).await;
    conversion.read(all()).await.expect("read");
    conversion.close(from(100)).await.expect("closed");
    conversion.epoch = 2;
    let withdrawn = conversion.perform(ConversionPhase::Withdraw).await;
    withdrawn.expect("withdrawn");
    assert_eq!(conversion.triggers().await, (0, 0));
    conversion.epoch = 1;
    let late = conversion.close(from(100)).await.expect_err("refused");
    assert_eq!(late.code, StepCode::ConvertEnded.name());
    let finish = ConversionPhase::Finish {
        refused: from(100),
        version: MapVersion(8),
    };
    conversion.perform(finish).await.expect("nothing to do");
    assert_eq!(conversion.triggers().await, (0, 0));
    assert_eq!(conversion.refused(600).await, None);
}

#[tokio::test]
async fn an_earlier_owner_cannot_replace_the_guard_of_a_later_one() {
    let mut conversion = Conversion::new("convert_epoch", &format!("{ITEM}; {ROWS}")).await;
    conversion.epoch = 2;
    conversion.read(all()).await.expect("read");
    conversion.close(from(100)).await.expect("closed");
    conversion.epoch = 1;
    let earlier = conversion.close(from(300)).await.expect_err("refused");
    assert_eq!(earlier.code, StepCode::EpochStale.name());
    assert_eq!(conversion.refused(200).await.as_deref(), Some("SM001"));
}

#[tokio::test]
async fn rows_of_other_shards_and_rows_without_a_key_are_refused() {
    let ddl = "create table public.item (tenant_id bigint, id bigint, v text, region bigint)";
    let mut conversion = Conversion::new("convert_stray", &format!("{ddl}; {ROWS}")).await;
    let half = KeySet::buckets(2, 0, 1);
    let stray = conversion.read(half).await.expect_err("refused");
    assert_eq!(stray.code, StepCode::ConvertStray.name());
    conversion.columns = vec!["region".to_owned()];
    let keyless = conversion.read(all()).await.expect_err("refused");
    assert_eq!(keyless.code, StepCode::ConvertKeyless.name());
}

#[tokio::test]
async fn keys_are_the_same_with_and_without_an_index() {
    let ddl = "create table public.item (tenant_id bigint, id bigint, v text, primary key (tenant_id, id))";
    let mut conversion = Conversion::new("convert_index", &format!("{ddl}; {ROWS}")).await;
    conversion.columns = vec!["tenant_id".to_owned(), "id".to_owned()];
    let by_index = conversion.read(all()).await.expect("read");
    let session = conversion.database.session().await;
    let drop = "alter table public.item drop constraint item_pkey";
    session.batch_execute(drop).await.expect("dropped");
    let by_rows = conversion.read(all()).await.expect("read");
    assert_eq!(by_index.count, 45);
    assert_eq!(by_index, by_rows);
}

/// Asserts that the shard refuses the keys of the set and no others.
async fn assert_exactly(conversion: &Conversion, refused: &KeySet, when: &str) {
    for key in [
        -3, 19, 20, 21, 98, 100, 499, 500, 1000, 1001, 1003, 4999, 5001, 5003, 90_000,
    ] {
        let expected = refused.contains(&Key::Int(key));
        assert_eq!(
            conversion.refused(key).await.is_some(),
            expected,
            "{key} {when}"
        );
    }
}

#[tokio::test]
async fn a_large_set_of_keys_is_refused_exactly() {
    let conversion = Conversion::new("convert_large", &format!("{ITEM}; {ROWS}")).await;
    conversion.read(all()).await.expect("read");
    let kept: Vec<i64> = (0..300)
        .map(|n| 1000 + 3 * n)
        .chain([5000, 5001, 5002])
        .collect();
    let alone: Vec<i64> = (0..40).map(|n| 20 + 2 * n).collect();
    let refused = from(500).minus(&single(&kept)).union(&single(&alone));
    let session = conversion.database.session().await;
    let predicate = refused.predicate(&[("k".to_owned(), KeyType::Bigint)]);
    let count = format!(
        "select array_agg(k order by k) from generate_series(-50::bigint, 6000) k where {predicate}"
    );
    let by_sql: Vec<i64> = session.query_one(&count, &[]).await.expect("read").get(0);
    let by_set: Vec<i64> = (-50..=6000)
        .filter(|key| refused.contains(&Key::Int(*key)))
        .collect();
    assert_eq!(by_sql, by_set);
    conversion.close(refused.clone()).await.expect("closed");
    assert_exactly(&conversion, &refused, "while it is converted").await;
    let finish = ConversionPhase::Finish {
        refused: refused.clone(),
        version: MapVersion(8),
    };
    conversion.perform(finish).await.expect("finished");
    assert_exactly(&conversion, &refused, "afterwards").await;
    let table =
        "pg_proc where pronamespace = 'shardwright'::regnamespace and proname like 'guard\\_keys%'";
    let left = format!("select count(*) from {table}");
    assert_eq!(
        session
            .query_one(&left, &[])
            .await
            .expect("read")
            .get::<_, i64>(0),
        0
    );
    assert_eq!(conversion.problems(&refused).await, Vec::<String>::new());
    let alter =
        "create or replace function shardwright.guard_away_6d_keys(key_0 bigint) returns bool
        language plpgsql immutable as 'begin return false; end'";
    let name = "select proname::text from pg_proc where proname like 'guard\\_away\\_%keys'";
    let name: String = session.query_one(name, &[]).await.expect("read").get(0);
    session
        .batch_execute(&alter.replace("guard_away_6d_keys", &name))
        .await
        .expect("altered");
    let found = conversion.problems(&refused).await;
    assert_eq!(found, [format!("function {name} is altered")]);
    let session = conversion.agent().await;
    released_keys_check::recreate_guard(
        &session,
        &MapName::from("m"),
        &refused,
        &conversion.table(),
    )
    .await
    .expect("recreated");
    assert_exactly(&conversion, &refused, "after the repair").await;
    assert_eq!(conversion.problems(&refused).await, Vec::<String>::new());
}

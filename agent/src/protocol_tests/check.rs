//! The check of a map finds each kind of defect on real shards, and a repair fixes those that can be fixed.

use std::collections::BTreeMap;

use connect::Connected;
use plans::fleet::ShardInfo;
use plans::fleet::ShardRef;
use plans::id::{MapName, MapVersion, ShardName};
use plans::inspection::check::{
    CheckTaskResult, Defect, DefectKind, Repair, RepairRequest, SurplusRows, UnfinishedMoves,
    combine, first_tasks, follow_up, surplus_rows,
};
use plans::inspection::{Inspected, Inspection};
use plans::key::{Key, KeyType, accept};
use plans::key_set::KeySet;
use plans::shard_map::{
    KeyColumns, MapSettings, Mapping, MappingState, ShardMap, Strategy, ThroughRef,
};

use super::shard::{Shard as Database, until};
use crate::inspect;

mod drift;

const DDL: &str = "
    create table kind (id bigint primary key, name text);
    create table good (tenant_id bigint not null, id bigserial, kind bigint references kind, primary key (tenant_id, id));
    create table item (id bigint primary key, tenant_id bigint not null, good bigint, foreign key (tenant_id, good) references good);
    insert into kind values (1, 'one'), (2, 'two');
    alter sequence good_id_seq increment 64;";

/// Two shards of one map. Shard a has the keys 0 to 99, shard b the keys 100 to 199.
struct Fleet {
    a: Database,
    b: Database,
    map: ShardMap,
}

impl Fleet {
    async fn new(name: &str) -> Self {
        let a = Database::new(&format!("{name}_a")).await;
        let b = Database::on(a.cluster.clone(), &format!("{name}_b")).await;
        for (database, number) in [(&a, 1), (&b, 2)] {
            let first = 100 * (number - 1);
            let sql = format!(
                "{DDL} select setval('good_id_seq', {number});
                 insert into good values ({first}, 1, 1), ({first} + 1, 1, 2);
                 insert into item values ({number}, {first}, 1)"
            );
            run(database, &sql).await;
        }
        Self { a, b, map: map() }
    }

    fn shards(&self) -> Vec<ShardRef> {
        let shard = |name: &str, number: i32, database: &Database| ShardRef {
            name: ShardName::from(name),
            number,
            dsn: database.dsn_text(),
            identity: None,
        };
        vec![shard("a", 1, &self.a), shard("b", 2, &self.b)]
    }

    async fn defects(&self) -> Vec<Defect> {
        self.defects_of(12).await
    }

    /// Returns the defects. `questions_at_first` is the expected number of inspections in the first round.
    async fn defects_of(&self, questions_at_first: usize) -> Vec<Defect> {
        let (shards, none) = (self.shards(), UnfinishedMoves::none(&self.map));
        let mut parts: Vec<CheckTaskResult> = Vec::new();
        let first = first_tasks(&self.map, &shards, &none);
        assert_eq!(first.len(), questions_at_first);
        for task in first {
            parts.push(checked(Inspection::Check(Box::new(task))).await);
        }
        for task in follow_up(&self.map, &shards, &none, &parts) {
            parts.push(checked(Inspection::Check(Box::new(task))).await);
        }
        combine(&self.map, &fleet(), &parts)
    }

    async fn kinds(&self) -> Vec<DefectKind> {
        self.defects()
            .await
            .into_iter()
            .map(|defect| defect.kind)
            .collect()
    }

    /// Repairs what the check proposes, with the request encoded as in its file. Returns the result of each repair.
    async fn mend(&self, defects: &[Defect]) -> Vec<Result<String, String>> {
        let request = RepairRequest::propose(&self.map, defects);
        let text = serde_json::to_string(&request).expect("written");
        let request = RepairRequest::parse(&text).expect("read");
        let mut done = Vec::new();
        for task in request.tasks(&self.map, &self.shards()).expect("tasks") {
            done.push(
                match inspect::run(&Inspection::Repair(Box::new(task)), &std::env::temp_dir()).await
                {
                    Ok(Inspected::Repair(mended)) => Ok(mended.done),
                    Ok(other) => panic!("{other:?}"),
                    Err(failure) => Err(failure.code),
                },
            );
        }
        done
    }
}

fn fleet() -> Vec<ShardInfo> {
    let shard = |name: &str, number| ShardInfo {
        name: ShardName::from(name),
        number,
        labels: BTreeMap::new(),
        capacity: 100,
        space: None,
    };
    vec![shard("a", 1), shard("b", 2)]
}

fn mapping(shard: &str, from: i64, to: i64) -> Mapping {
    Mapping {
        keys: KeySet::range(Some(Key::Int(from)), Some(Key::Int(to))),
        shard: ShardName::from(shard),
        state: MappingState::Active,
    }
}

fn map() -> ShardMap {
    let columns = || KeyColumns(vec!["tenant_id".to_owned()]);
    ShardMap {
        name: MapName::from("orders"),
        strategy: Strategy::Range,
        key: vec![KeyType::Bigint],
        buckets: 0,
        version: MapVersion(1),
        incarnation: "i".to_owned(),
        migration: None,
        settings: MapSettings {
            tables: BTreeMap::from([
                ("good".to_owned(), columns()),
                ("item".to_owned(), columns()),
            ]),
            reference: vec!["kind".to_owned()],
            ..MapSettings::default()
        },
        mappings: vec![mapping("a", 0, 100), mapping("b", 100, 200)],
    }
}

async fn run(database: &Database, sql: &str) {
    let session = database.session().await;
    let sql = format!("set search_path = public; {sql}");
    session.batch_execute(&sql).await.expect("sql");
}

/// Runs an inspection with request and answer encoded in JSON, as between controller and agent.
async fn checked(inspection: Inspection) -> CheckTaskResult {
    let asked = serde_json::to_string(&inspection).expect("written");
    let answer = inspect::run(
        &serde_json::from_str(&asked).expect("read"),
        &std::env::temp_dir(),
    )
    .await;
    let told = serde_json::to_string(&answer.expect("checked")).expect("written");
    let Inspected::Check(checked) = serde_json::from_str(&told).expect("read") else {
        panic!("{told}")
    };
    checked
}

async fn rows(session: &Connected, sql: &str) -> i64 {
    session.query_one(sql, &[]).await.expect("counted").get(0)
}

#[tokio::test]
async fn a_sound_map_has_no_defects() {
    let fleet = Fleet::new("ck_sound").await;
    assert_eq!(fleet.defects().await, []);
}

#[tokio::test]
async fn gaps_overlaps_and_unknown_shards_are_told_of_the_map_itself() {
    let mut fleet = Fleet::new("ck_map").await;
    fleet.map.mappings = vec![
        mapping("a", 0, 60),
        mapping("a", 40, 90),
        mapping("b", 100, 200),
        mapping("c", 300, 400),
    ];
    let defects = fleet.defects().await;
    let found: Vec<(DefectKind, &str)> = defects
        .iter()
        .map(|d| (d.kind, d.object.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            (DefectKind::Gap, "[90, 100)"),
            (DefectKind::Gap, "[200, 300)"),
            (DefectKind::Overlap, "[40, 60)"),
            (DefectKind::UnknownShard, "shard c"),
        ]
    );
    let keys = KeySet::range(Some(Key::Int(90)), Some(Key::Int(100)));
    let shard = ShardName::from("a");
    assert_eq!(defects[0].repair, Some(Repair::MapKeys { keys, shard }));
}

#[tokio::test]
async fn rows_of_unmapped_keys_say_which_shard_should_own_the_gap() {
    let mut fleet = Fleet::new("ck_unmapped").await;
    fleet.map.mappings = vec![mapping("a", 0, 90), mapping("b", 100, 200)];
    run(
        &fleet.b,
        "insert into good values (95, 1, 1), (95, 2, 1), (999, 1, 1)",
    )
    .await;
    let defects = fleet.defects().await;
    let [gap, unmapped] = defects.as_slice() else {
        panic!("{defects:?}")
    };
    assert_eq!(
        (unmapped.kind, unmapped.count),
        (DefectKind::UnmappedKey, 3)
    );
    assert_eq!(unmapped.sample, [Key::Int(95), Key::Int(999)]);
    let keys = KeySet::range(Some(Key::Int(90)), Some(Key::Int(100)));
    let shard = ShardName::from("b");
    assert_eq!(gap.repair, Some(Repair::MapKeys { keys, shard }));
}

#[tokio::test]
async fn a_stray_row_that_its_owner_lacks_is_for_somebody_to_decide() {
    let fleet = Fleet::new("ck_stray").await;
    run(&fleet.a, "insert into good values (150, 7, 1)").await;
    let defects = fleet.defects().await;
    let [stray] = defects.as_slice() else {
        panic!("{defects:?}")
    };
    assert_eq!((stray.kind, stray.count), (DefectKind::StrayRow, 1));
    assert_eq!(stray.sample, [Key::Int(150)]);
    assert!(matches!(stray.repair, Some(Repair::ByHand { .. })));
    assert_eq!(fleet.mend(&defects).await, []);
}

#[tokio::test]
async fn a_key_on_two_shards_loses_the_copy_only_when_the_owner_has_every_row() {
    let fleet = Fleet::new("ck_twice").await;
    run(
        &fleet.a,
        "insert into good values (100, 1, 1), (100, 9, 1); insert into item values (2, 100, 1)",
    )
    .await;
    let defects = fleet.defects().await;
    let twice: Vec<(DefectKind, &str)> = defects
        .iter()
        .map(|d| (d.kind, d.object.as_str()))
        .collect();
    let kind = DefectKind::KeyOnTwoShards;
    assert_eq!(
        twice,
        [
            (kind, "shard a, table public.good"),
            (kind, "shard a, table public.item")
        ]
    );
    // Row (100, 9) exists only on the wrong shard.
    assert_eq!(fleet.mend(&defects).await, [Err("mend.changed".to_owned())]);
    let session = fleet.a.session().await;
    assert_eq!(rows(&session, "select count(*) from public.good").await, 4);
    run(&fleet.a, "delete from good where id = 9").await;
    let done = fleet.mend(&fleet.defects().await).await;
    assert!(
        matches!(done.as_slice(), [Ok(text)] if text.contains("2 row(s) of 1 key(s)")),
        "{done:?}"
    );
    assert_eq!(fleet.defects().await, []);
    assert_eq!(
        rows(&fleet.b.session().await, "select count(*) from public.good").await,
        2
    );
    let text = done[0].as_ref().expect("mended");
    let (_, folder) = text.rsplit_once(" in ").expect("a folder");
    let read = |name: &str| std::fs::read_to_string(std::path::Path::new(folder).join(name));
    let contents = read("rows.json").expect("its contents");
    let contents: serde_json::Value = serde_json::from_str(&contents).expect("JSON");
    assert_eq!(contents["deleted_from"], "a");
    assert_eq!(contents["owner"], "b");
    let kept: Vec<(String, String)> = contents["tables"]
        .as_array()
        .expect("tables")
        .iter()
        .map(|table| {
            let rows = read(table["file"].as_str().expect("a name")).expect("rows");
            (
                table["restore"].as_str().expect("a statement").to_owned(),
                rows,
            )
        })
        .collect();
    let kept: Vec<(&str, &str)> = kept.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(
        kept,
        [
            (
                "\\copy \"public\".\"item\" (\"id\", \"tenant_id\", \"good\") from '1.copy'",
                "2\t100\t1\n"
            ),
            (
                "\\copy \"public\".\"good\" (\"tenant_id\", \"id\", \"kind\") from '2.copy'",
                "100\t1\t1\n"
            ),
        ]
    );
    std::fs::remove_dir_all(folder).expect("removed");
}

#[tokio::test]
async fn a_row_that_its_owner_is_deleting_is_not_deleted_on_the_other_shard_too() {
    let fleet = Fleet::new("ck_deletes").await;
    run(&fleet.a, "insert into good values (100, 1, 1)").await;
    let defects = fleet.defects().await;
    let (owner, observer) = (fleet.b.session().await, fleet.b.session().await);
    let delete = "begin; delete from public.item where tenant_id = 100; \
        delete from public.good where tenant_id = 100 and id = 1";
    owner.batch_execute(delete).await.expect("deleted");
    let ends = async {
        let waits = "select count(*) from pg_catalog.pg_stat_activity where wait_event_type = 'Lock' \
            and datname = current_database() and application_name like '%/mend/%'";
        until("the repair waits for the owner's transaction", || async {
            rows(&observer, waits).await == 1
        })
        .await;
        owner.batch_execute("commit").await.expect("committed");
    };
    let (done, ()) = tokio::join!(fleet.mend(&defects), ends);
    assert_eq!(done, [Err("mend.changed".to_owned())]);
    let session = fleet.a.session().await;
    let left = "select count(*) from public.good where tenant_id = 100";
    assert_eq!(rows(&session, left).await, 1);
}

#[tokio::test]
async fn a_map_without_tables_is_not_sound() {
    let mut fleet = Fleet::new("ck_none").await;
    (fleet.map.settings.tables, fleet.map.settings.through) = Default::default();
    let defects = combine(&fleet.map, &self::fleet(), &[]);
    let [none] = defects.as_slice() else {
        panic!("{defects:?}")
    };
    assert_eq!(none.kind, DefectKind::NotExamined);
}

#[tokio::test]
async fn rows_without_the_key_are_placed_by_their_parents_and_orphans_are_reported() {
    let mut fleet = Fleet::new("ck_through").await;
    let note = "create table note (id bigint primary key, item bigint)";
    run(&fleet.a, &format!("{note}; insert into item values (8, 150, null); insert into note values (1, 1), (2, 8), (3, 77), (4, null)")).await;
    run(&fleet.b, note).await;
    let columns = BTreeMap::from([("item".to_owned(), "id".to_owned())]);
    let parent = "item".to_owned();
    fleet
        .map
        .settings
        .through
        .insert("note".to_owned(), ThroughRef { parent, columns });
    let (shards, none) = (fleet.shards(), UnfinishedMoves::none(&fleet.map));
    let mut parts = Vec::new();
    for task in first_tasks(&fleet.map, &shards, &none) {
        parts.push(checked(Inspection::Check(Box::new(task))).await);
    }
    let defects = combine(&fleet.map, &self::fleet(), &parts);
    let of_note: Vec<&Defect> = defects
        .iter()
        .filter(|d| d.object.contains("note"))
        .collect();
    let [stray, orphan] = of_note.as_slice() else {
        panic!("{defects:?}")
    };
    assert_eq!(
        (stray.kind, stray.sample.as_slice()),
        (DefectKind::StrayRow, [Key::Int(150)].as_slice())
    );
    assert_eq!((orphan.kind, orphan.count), (DefectKind::UnmappedKey, 1));
    assert!(
        orphan.detail.contains("1 of them without a parent"),
        "{}",
        orphan.detail
    );
}

#[tokio::test]
async fn rows_that_a_seeded_target_still_has_are_to_be_removed_and_not_stray() {
    let fleet = Fleet::new("ck_surplus").await;
    run(
        &fleet.b,
        "insert into item values (8, 50, null), (9, 51, null)",
    )
    .await;
    let mut unfinished = UnfinishedMoves::none(&fleet.map);
    unfinished.seeded_targets.insert("b".into());
    let mut parts = Vec::new();
    for task in first_tasks(&fleet.map, &fleet.shards(), &unfinished) {
        parts.push(checked(Inspection::Check(Box::new(task))).await);
    }
    assert_eq!(
        follow_up(&fleet.map, &fleet.shards(), &unfinished, &parts),
        []
    );
    assert_eq!(combine(&fleet.map, &self::fleet(), &parts), []);
    let expected = SurplusRows {
        shard: "b".into(),
        table: "public.item".to_owned(),
        rows: 2,
    };
    assert_eq!(surplus_rows(&parts), [expected]);
    assert!(fleet.kinds().await.contains(&DefectKind::StrayRow));
}

#[tokio::test]
async fn keys_of_several_columns_are_found_on_the_wrong_shard_too() {
    let fleet = Fleet::new("ck_composite").await;
    let ddl = "create table visit (region text, at timestamptz, id bigint, primary key (region, at, id));";
    let row = "insert into visit values ('eu', '2024-05-01 12:00:00.5+02', 1)";
    run(&fleet.a, &format!("{ddl} {row}")).await;
    run(
        &fleet.b,
        &format!("{ddl} {row}, ('eu', '2024-05-01 12:00:00+02', 1)"),
    )
    .await;
    let mut map = map();
    map.key = vec![KeyType::Text, KeyType::Timestamptz];
    let columns = KeyColumns(vec!["region".to_owned(), "at".to_owned()]);
    map.settings.tables = BTreeMap::from([("visit".to_owned(), columns)]);
    let middle = accept(
        &map.key,
        &Key::Row(vec!["e".into(), "2024-01-01 00:00:00+00".into()]),
    );
    let middle = Some(middle.expect("a key"));
    map.mappings[0].keys = KeySet::range(None, middle.clone());
    map.mappings[1].keys = KeySet::range(middle, None);
    let fleet = Fleet { map, ..fleet };
    let defects = fleet.defects_of(10).await;
    let [twice] = defects.as_slice() else {
        panic!("{defects:?}")
    };
    assert_eq!((twice.kind, twice.count), (DefectKind::KeyOnTwoShards, 1));
    assert_eq!(twice.sample[0].text(), "(\"eu\", 2024-05-01 10:00:00.5+00)");
    assert!(fleet.mend(&defects).await[0].is_ok());
    assert_eq!(fleet.defects_of(10).await, []);
}

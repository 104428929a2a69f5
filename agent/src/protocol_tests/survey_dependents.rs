//! The survey of tables without the key: their rows belong to those of other tables.

use std::collections::BTreeMap;

use plans::failure::Severity;
use plans::request::Mode;
use plans::shard_map::{KeyColumns, ThroughRef};
use plans::survey::{Survey, SurveyTask};
use plans::table::{MovingTable, TableKey, ThroughTable};

use super::shard::Shard as Database;
use super::survey::{refusals, refuses, run, surveyed, task};
use crate::inspect::survey;

const ITEMS: &str = "
    create table good (tenant_id bigint, id bigint, primary key (tenant_id, id), unique (id));
    create table item (id bigint primary key, good_id bigint not null references good (id));
    create table note (id bigint primary key, item_id bigint);";

fn through(task: &mut SurveyTask) {
    let to = |parent: &str, columns: &[(&str, &str)]| ThroughRef {
        parent: parent.to_owned(),
        columns: columns
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
            .collect(),
    };
    task.settings
        .through
        .insert("item".to_owned(), to("good", &[]));
    task.settings
        .through
        .insert("note".to_owned(), to("item", &[("item_id", "id")]));
}

async fn surveyed_through(name: &str, rows: &str, mode: Mode) -> Survey {
    let source = Database::new(&format!("{name}_s")).await;
    let target = Database::on(source.cluster.clone(), &format!("{name}_t")).await;
    run(&source, &format!("{ITEMS} {rows}")).await;
    let mut task = task(
        &source.dsn_text(),
        &target.dsn_text(),
        &[("good", "tenant_id")],
    );
    through(&mut task);
    task.mode = mode;
    survey::run(&task).await.unwrap()
}

#[tokio::test]
async fn tables_that_belong_to_others_move_online_by_their_foreign_keys_and_parents_come_first() {
    let survey = surveyed_through("sv_online", "", Mode::Online).await;
    refuses(
        &survey,
        "through.online",
        "table public.note: its rows belong to rows of public.item, and no validated foreign key",
        "foreign key (\"item_id\") references \"public\".\"item\" (\"id\")",
    );
    assert_eq!(refusals(&survey).len(), 1, "{:?}", refusals(&survey));
    let add = "alter table note add foreign key (item_id) references item not valid;";
    let survey = surveyed_through("sv_not_valid", add, Mode::Online).await;
    refuses(&survey, "through.online", "table public.note", "validate");
    let add =
        "alter table note add foreign key (item_id) references item deferrable initially deferred;";
    let survey = surveyed_through("sv_enforced", add, Mode::Online).await;
    assert_eq!(refusals(&survey), []);
    assert!(
        survey
            .tables
            .iter()
            .filter_map(MovingTable::through)
            .all(ThroughTable::is_enforced)
    );
    let add = "alter table note drop constraint note_pkey, replica identity full,
                   add foreign key (item_id) references item;";
    let survey = surveyed_through("sv_whole_row", add, Mode::Online).await;
    refuses(
        &survey,
        "through.online",
        "only the whole row identifies a row",
        "primary key",
    );
    let survey = surveyed_through("sv_offline", "", Mode::Offline).await;
    assert_eq!(refusals(&survey), []);
    let names: Vec<&str> = survey
        .tables
        .iter()
        .map(|t| t.table.name.as_str())
        .collect();
    assert_eq!(names, ["good", "item", "note"]);
    let TableKey::Through(through) = &survey.tables[2].key else {
        panic!("{:?}", survey.tables[2].key)
    };
    assert_eq!(through.columns, [("item_id".to_owned(), "id".to_owned())]);
    assert!(matches!(&through.key, TableKey::Through(item) if item.columns[0].0 == "good_id"));
}

#[tokio::test]
async fn a_table_that_holds_the_key_under_another_name_is_reported() {
    let ddl = "create table good (id bigint primary key);
        create table edge (source_id bigint not null references good, pos bigint, primary key (source_id, pos))";
    let source = Database::new("sv_held_s").await;
    let target = Database::on(source.cluster.clone(), "sv_held_t").await;
    run(&source, ddl).await;
    let mut task = task(&source.dsn_text(), &target.dsn_text(), &[("good", "id")]);
    let parent = ThroughRef {
        parent: "good".to_owned(),
        columns: BTreeMap::new(),
    };
    task.settings.through.insert("edge".to_owned(), parent);
    let survey = survey::run(&task).await.unwrap();
    refuses(
        &survey,
        "through.online",
        "its own column source_id contains the key",
        "list it under `tables` in the place of `through`: public.edge: source_id",
    );
    let held = KeyColumns(vec!["source_id".to_owned()]);
    task.settings.through.clear();
    task.settings.tables.insert("edge".to_owned(), held);
    assert_eq!(refusals(&survey::run(&task).await.unwrap()), []);
}

/// Returns the survey of a move of the tables `good`, with the key, and `item`, whose rows belong to those of `good`. The
/// server runs as long as the database is kept.
async fn task_of_items(name: &str, ddl: &str) -> (SurveyTask, Database) {
    let source = Database::new(&format!("{name}_s")).await;
    let target = Database::on(source.cluster.clone(), &format!("{name}_t")).await;
    run(&source, ddl).await;
    let mut task = task(
        &source.dsn_text(),
        &target.dsn_text(),
        &[("good", "tenant_id")],
    );
    let parent = ThroughRef {
        parent: "good".to_owned(),
        columns: BTreeMap::new(),
    };
    task.settings.through.insert("item".to_owned(), parent);
    (task, source)
}

#[tokio::test]
async fn a_parent_is_referred_to_by_what_identifies_it() {
    let ddl = "create table good (tenant_id bigint, id bigint, code text unique, primary key (tenant_id, id));
        create table item (id bigint primary key, code text references good (code))";
    let (mut task, _source) = task_of_items("sv_outside", ddl).await;
    refuses(
        &survey::run(&task).await.unwrap(),
        "through.online",
        "refer to public.good by the column code",
        "replica identity",
    );
    task.mode = Mode::Offline;
    assert_eq!(refusals(&survey::run(&task).await.unwrap()), []);
}

/// The agent compares the columns by `=` and by their texts, as not every foreign key does.
#[tokio::test]
async fn a_foreign_key_that_compares_otherwise_proves_no_parent() {
    for (number, types, is_refused) in [
        (1, ["bigint", "integer"], false),
        (2, ["text", "varchar"], false),
        (3, ["numeric(10,2)", "numeric(10,2)"], false),
        (4, ["numeric", "numeric"], true),
        (5, ["varchar", "char(5)"], true),
    ] {
        let ddl = format!(
            "create table good (tenant_id bigint, id {}, primary key (tenant_id, id), unique (id));
             create table item (id bigint primary key, good {} references good (id))",
            types[0], types[1]
        );
        let (task, _source) = task_of_items(&format!("sv_compares_{number}"), &ddl).await;
        let survey = survey::run(&task).await.unwrap();
        let found = refusals(&survey);
        let found = found
            .iter()
            .any(|refusal| format!("{refusal:?}").contains("through.online"));
        assert_eq!(found, is_refused, "{types:?}");
    }
}

#[tokio::test]
async fn rows_without_a_parent_are_counted_and_refused() {
    let rows = "insert into good values (1, 1); insert into item values (1, 1);
                insert into note values (1, 1), (2, 7), (3, null);";
    let survey = surveyed_through("sv_orphan", rows, Mode::Offline).await;
    refuses(
        &survey,
        "through.orphan",
        "table public.note: 1 row(s)",
        "delete from \"public\".\"note\" t where t.\"item_id\" is not null and not exists",
    );
}

#[tokio::test]
async fn rows_that_refer_to_no_parent_are_no_orphans() {
    let rows = "insert into good values (1, 1); insert into item values (1, 1);
                insert into note values (1, 1), (2, null), (3, null);";
    let survey = surveyed_through("sv_unkeyed", rows, Mode::Offline).await;
    assert_eq!(refusals(&survey), []);
    let noted = survey.findings.iter().find(|f| f.code == "through.unkeyed");
    let noted = noted.expect("a warning");
    assert_eq!(noted.severity, Severity::Warning);
    assert!(noted.problem.starts_with("2 row(s)"), "{noted:?}");
}

#[tokio::test]
async fn an_unlisted_child_without_the_key_is_proposed_as_through() {
    let survey = surveyed("sv_propose", ITEMS, &[("good", "tenant_id")])
        .await
        .unwrap();
    refuses(
        &survey,
        "table.unlisted",
        "table public.item",
        "list public.item under `through` with parent public.good",
    );
}

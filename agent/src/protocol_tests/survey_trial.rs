//! The trial of a plan finds errors that a later step would have, and leaves no objects.

mod search_path;

use plans::doctor::Finding;
use plans::failure::Severity;
use plans::key::Key;
use plans::key_set::KeySet;
use plans::plan::TargetState;
use plans::shard_map::KeyColumns;
use plans::sql::quote_ident;
use plans::survey::{Survey, SurveyTask};
use plans::table::TableName;

use super::shard::{Shard as Database, until};
use super::survey::{GOOD, refusals, refuses, run, task};
use crate::inspect::survey;

/// A source and a new target on one server.
struct TrialCase {
    source: Database,
    target: Database,
}

impl TrialCase {
    async fn new(name: &str, ddl: &str) -> Self {
        let source = Database::new(&format!("{name}_s")).await;
        let target = Database::on(source.cluster.clone(), &format!("{name}_t")).await;
        run(&source, ddl).await;
        Self { source, target }
    }

    fn task(&self, tables: &[&str]) -> SurveyTask {
        let tables: Vec<(&str, &str)> = tables.iter().map(|name| (*name, "tenant_id")).collect();
        SurveyTask {
            trial: true,
            ..task(&self.source.dsn_text(), &self.target.dsn_text(), &tables)
        }
    }

    /// Surveys with a trial. Checks that the trial has not changed the target.
    async fn tried(&self, task: &SurveyTask) -> Survey {
        let before = self.left().await;
        let survey = survey::run(task).await.expect("surveyed");
        assert_eq!(self.left().await, before);
        survey
    }

    /// Returns all objects of the target that do not belong to the server.
    async fn left(&self) -> Vec<String> {
        let session = self.target.session().await;
        let rows = session
            .query(
                "select c.oid::regclass::text from pg_class c where c.oid >= 16384
                 union all select n.nspname::text from pg_namespace n where n.oid >= 16384
                 union all select p.oid::regprocedure::text from pg_proc p where p.oid >= 16384
                 union all select t.oid::regtype::text from pg_type t where t.oid >= 16384
                 union all select e.extname::text from pg_extension e where e.oid >= 16384 order by 1",
                &[],
            )
            .await
            .expect("the catalog");
        rows.iter().map(|row| row.get(0)).collect()
    }
}

/// Returns the only refusing finding, which must come from the trial.
fn failed(survey: &Survey) -> &Finding {
    let refused = survey.findings.iter();
    let refused: Vec<&Finding> = refused
        .filter(|finding| finding.severity == Severity::Refused)
        .collect();
    let [finding] = refused.as_slice() else {
        panic!("{refused:?}")
    };
    assert_eq!(finding.code, "trial.failed", "{finding:?}");
    finding
}

const FUNCTION: &str = "create function own() returns int language sql as 'select 1';";
const ROWS: &str = "insert into good select i % 7, i from generate_series(1, 100) i;";

#[tokio::test]
async fn a_move_that_fits_is_tried_with_all_its_objects() {
    let ddl = format!(
        "create type mood as enum ('calm', 'wild'); create extension hstore;
         {GOOD} {ROWS}
         create table country (code text primary key, name text);
         insert into country values ('fr', 'France'), ('it', 'Italy');
         create table item (tenant_id bigint, id bigint, good bigint, country text references country, mood mood default 'calm',
             made bigint generated always as (id * 2) stored, label text check (length(label) < 100), attrs hstore, at timestamptz,
             primary key (tenant_id, id), foreign key (tenant_id, good) references good);
         create index on item (lower(label)); create unique index on item (tenant_id, label);
         insert into item (tenant_id, id, good, country, mood, label, attrs, at)
             select tenant_id, id, id, 'fr', 'wild', 'l' || id, 'a=>1', now() from good;
         create table part (tenant_id bigint, id bigint, primary key (tenant_id, id)) partition by hash (tenant_id);
         create table part_0 partition of part for values with (modulus 2, remainder 0);
         create table part_1 partition of part for values with (modulus 2, remainder 1);
         insert into part select tenant_id, id from good;
         create table loose (tenant_id bigint not null, note text); alter table loose replica identity full;
         insert into loose select 1, null from generate_series(1, 3); insert into loose values (2, 'once');
         create view names as select name from country;
         create materialized view counts as select tenant_id, count(*) from good group by 1;
         create function touch() returns trigger language plpgsql as 'begin new.at := now(); return new; end';"
    );
    let case = TrialCase::new("st_fit", &ddl).await;
    let mut task = case.task(&["good", "item", "part", "loose"]);
    task.settings.reference = vec!["country".to_owned()];
    let survey = case.tried(&task).await;
    assert_eq!(refusals(&survey), []);
    let trial = survey.trial.expect("tried to its end");
    assert_eq!((trial.tables, trial.without_rows), (6, 0), "{trial:?}");
    assert_eq!(trial.rows, 100 + 2 + 100 + 100 + 4, "{trial:?}");
    assert!(trial.objects > 20 && trial.bytes > 0, "{trial:?}");
}

#[tokio::test]
async fn a_sample_without_the_rows_that_it_refers_to_is_none_that_fails() {
    let ddl = format!(
        "{GOOD} insert into good select i % 7, i from generate_series(1, 5000) i;
         create table plain (tenant_id bigint, id bigint, good bigint, primary key (tenant_id, id),
             foreign key (tenant_id, good) references good);
         create table part (tenant_id bigint, id bigint, good bigint, primary key (tenant_id, id),
             foreign key (tenant_id, good) references good) partition by hash (tenant_id);
         create table part_0 partition of part for values with (modulus 2, remainder 0);
         create table part_1 partition of part for values with (modulus 2, remainder 1);
         insert into plain select tenant_id, id, id from good order by id desc;
         insert into part select tenant_id, id, id from good order by id desc;"
    );
    let case = TrialCase::new("st_refers", &ddl).await;
    let survey = case.tried(&case.task(&["good", "plain", "part"])).await;
    assert_eq!(refusals(&survey), []);
    let trial = survey.trial.expect("tried to its end");
    assert!((600..1600).contains(&trial.rows), "{trial:?}");
}

/// Column types, separated by `|`.
const TYPES: &str = "smallint|integer|bigint|numeric|numeric(10,2)|real|double precision|money|date|daterange|\
    datemultirange|timestamp|timestamp(3)|timestamptz|tsrange|time|timetz(2)|interval|interval day|\
    integer[]|numeric(5,1)[]|date[]|int4range|nummultirange|text|varchar(9)|char(3)|bytea|boolean|\
    uuid|json|jsonb|xml|point|box|path|inet|macaddr|bit(3)|varbit|tsvector|tsquery|oid|pg_lsn|name|\
    \"char\"|mood|pair";

#[tokio::test]
async fn a_sample_is_taken_of_columns_of_every_type() {
    let columns: Vec<String> = TYPES
        .split('|')
        .zip(0..)
        .map(|(kind, at)| format!("c{at} {kind}"))
        .collect();
    let ddl = format!(
        "create type mood as enum ('a', 'b'); create type pair as (a int, b text);
         create table good (tenant_id bigint, id bigint, {}, primary key (tenant_id, id));
         insert into good (tenant_id, id) select i % 7, i from generate_series(1, 10) i",
        columns.join(", ")
    );
    let case = TrialCase::new("st_types", &ddl).await;
    let survey = case.tried(&case.task(&["good"])).await;
    assert_eq!(refusals(&survey), []);
    let unfinished = survey
        .findings
        .iter()
        .find(|f| f.code == "trial.unfinished");
    assert_eq!(
        (survey.trial.map(|trial| trial.rows), unfinished),
        (Some(10), None)
    );
}

#[tokio::test]
async fn names_are_never_executed() {
    let names = [
        "a\"; select pwn(); --",
        "{columns}",
        "x{name} t where true limit 1) union all (select pwn()",
        "'; select pwn(); --",
        "$$; select pwn(); $$",
        "t\ny\\",
    ];
    let mut ddl = String::from(
        "create schema evil; create table evil.called (at text);
         create function pwn() returns text language plpgsql as 'begin insert into evil.called values (now()); return 1; end';",
    );
    for name in names {
        let ident = quote_ident(name);
        ddl += &format!(
            "create schema {ident}; create type {ident}.m as enum ('a', 'b');
             create table {ident}.{ident} (tenant_id bigint, {ident} text, mood {ident}.m default 'a', n int, primary key (tenant_id, {ident}));
             insert into {ident}.{ident} (tenant_id, {ident}, n) select i % 7, i, i from generate_series(1, 20) i;"
        );
    }
    let case = TrialCase::new("st_names", &ddl).await;
    let listed: Vec<String> = names
        .iter()
        .map(|name| {
            TableName {
                schema: (*name).to_owned(),
                name: (*name).to_owned(),
            }
            .to_string()
        })
        .collect();
    let listed: Vec<&str> = listed.iter().map(String::as_str).collect();
    let mut task = case.task(&listed);
    task.settings.ignore = vec!["evil.called".to_owned()];
    let survey = case.tried(&task).await;
    assert_eq!(refusals(&survey), []);
    let trial = survey.trial.expect("tried to its end");
    assert_eq!((trial.rows, trial.without_rows), (20 * 6, 0));
    for database in [&case.source, &case.target] {
        let session = database.session().await;
        let called = session.query("select from evil.called", &[]).await;
        assert!(called.map_or(true, |rows| rows.is_empty()));
    }
}

#[tokio::test]
async fn an_object_that_the_target_has_already_is_refused() {
    let case = TrialCase::new("st_taken", &format!("{FUNCTION} {GOOD} {ROWS}")).await;
    run(&case.target, FUNCTION).await;
    let survey = case.tried(&case.task(&["good"])).await;
    refuses(
        &survey,
        "trial.failed",
        "shard b, FUNCTION public own()",
        "drop it on the target",
    );
    run(&case.target, "drop function own()").await;
    assert_eq!(refusals(&case.tried(&case.task(&["good"])).await), []);
}

#[tokio::test]
async fn a_live_target_is_tried_in_tables_like_its_own() {
    let ddl = format!(
        "create extension ltree; {GOOD} create sequence numbers;
         create table item (tenant_id bigint, id bigint default nextval('numbers'), n int check (n > 0), label text,
             made bigint generated always as (id * 2) stored, primary key (tenant_id, id), unique (tenant_id, label));
         create table part (tenant_id bigint, id bigint, primary key (tenant_id, id)) partition by hash (tenant_id);
         create table part_0 partition of part for values with (modulus 1, remainder 0);
         create table path (tenant_id bigint, k ltree, primary key (tenant_id, k));"
    );
    let case = TrialCase::new("st_live", &ddl).await;
    run(
        &case.target,
        &format!("{ddl} insert into good select 9, i from generate_series(1, 20) i"),
    )
    .await;
    let rows = format!(
        "{ROWS} insert into item select tenant_id, id, 1, 'l' || id from good; insert into part select tenant_id, id from good;
         delete from good where tenant_id > 6"
    );
    run(&case.source, &rows).await;
    let mut task = case.task(&["good", "item", "part"]);
    task.settings.ignore = vec!["path".to_owned()];
    task.keys = KeySet::range(None, Some(Key::Int(7)));
    let survey = case.tried(&task).await;
    assert_eq!(
        (refusals(&survey), survey.target),
        (Vec::new(), TargetState::Live)
    );
    let trial = survey.trial.expect("tried to its end");
    assert_eq!((trial.tables, trial.rows, trial.without_rows), (3, 300, 0));
    let kept = case.target.session().await;
    let kept = kept
        .query_one("select count(*) from public.good", &[])
        .await;
    assert_eq!(kept.expect("counted").get::<_, i64>(0), 20);

    run(
        &case.source,
        "insert into path select 1, ('a.b' || i)::ltree from generate_series(1, 20) i",
    )
    .await;
    task.settings.ignore = Vec::new();
    let column = KeyColumns(vec!["tenant_id".to_owned()]);
    task.settings.tables.insert("path".to_owned(), column);
    let survey = case.tried(&task).await;
    let finding = failed(&survey);
    assert_eq!(finding.object, "shard b, table public.path");
    assert!(
        finding.problem.contains("operator does not exist"),
        "{finding:?}"
    );
}

#[tokio::test]
async fn every_failure_behind_the_copy_is_told_at_once() {
    let ddl = format!(
        "create schema ext; create extension hstore schema ext; {GOOD} {ROWS}
         alter table good add attrs ext.hstore, add v int;
         create function bump() returns trigger language plpgsql as 'begin return new; end';
         set search_path = public, ext;
         create trigger one before update on good for each row when (old.attrs is distinct from new.attrs) execute function bump();
         create trigger two before update on good for each row when (old.v is distinct from new.v) execute function bump();
         create trigger three after update on good for each row when (new.attrs is distinct from old.attrs) execute function bump();"
    );
    let case = TrialCase::new("st_all", &ddl).await;
    let survey = case.tried(&case.task(&["good"])).await;
    let mut objects: Vec<&str> = survey
        .findings
        .iter()
        .filter(|f| f.code == "trial.failed")
        .map(|f| f.object.as_str())
        .collect();
    objects.sort_unstable();
    assert_eq!(
        objects,
        [
            "shard b, TRIGGER public good one",
            "shard b, TRIGGER public good three"
        ]
    );
}

#[tokio::test]
async fn a_trial_whose_session_the_server_ends_is_no_verdict() {
    let ddl =
        format!("create type mood as enum ('calm'); {GOOD} {ROWS} alter table good add mood mood");
    let case = TrialCase::new("st_ended", &ddl).await;
    let holder = case.target.session().await;
    let hold = "begin; create type public.mood as enum ('wild')";
    holder.batch_execute(hold).await.expect("held");
    let task = case.task(&["good"]);
    let trial = tokio::spawn(async move { survey::run(&task).await });
    let observer = case.target.session().await;
    until("the trial waits for the name", || async {
        let ended = "select pg_terminate_backend(pid) from pg_stat_activity
            where wait_event_type = 'Lock' and application_name like '%trial%' and datname = current_database()";
        !observer.query(ended, &[]).await.expect("asked").is_empty()
    })
    .await;
    let survey = trial.await.expect("no panic").expect("surveyed");
    let warned = survey
        .findings
        .iter()
        .find(|f| f.code == "trial.unfinished");
    assert!(
        warned.is_some_and(|f| f.severity == Severity::Warning),
        "{:?}",
        survey.findings
    );
    assert_eq!((refusals(&survey), survey.trial), (Vec::new(), None));
}

#[tokio::test]
async fn a_plan_that_skips_the_trial_tries_nothing() {
    let case = TrialCase::new("st_skip", &format!("{FUNCTION} {GOOD} {ROWS}")).await;
    run(&case.target, FUNCTION).await;
    let task = SurveyTask {
        trial: false,
        ..case.task(&["good"])
    };
    let survey = case.tried(&task).await;
    assert_eq!((refusals(&survey), survey.trial), (Vec::new(), None));
}

#[tokio::test]
async fn a_sample_has_the_values_that_are_rare() {
    let ddl = "create type mood as enum ('calm', 'wild', 'odd');
        create table good (tenant_id bigint, id bigint primary key, n int, at date, label text, mood mood default 'calm');
        insert into good select 1, i, 5, '2020-01-01', 'x' from generate_series(1, 1000) i;
        alter table good drop constraint good_pkey, add primary key (tenant_id, id);
        update good set n = -7 where id = 700; update good set n = 99 where id = 701; update good set at = 'infinity' where id = 702;
        update good set label = repeat('w', 500) where id = 703; update good set label = null where id = 704;
        update good set mood = 'odd' where id = 705; update good set mood = 'wild' where id = 706";
    let case = TrialCase::new("st_rare", ddl).await;
    let survey = case.tried(&case.task(&["good"])).await;
    assert_eq!(refusals(&survey), []);
    let client = case.source.session().await;
    let places = survey::sample_row_ids(&client, &survey.tables[0])
        .await
        .expect("a sample");
    let row = client
        .query_one(
            "select array_agg(id order by id) filter (where id between 700 and 706), count(*) from public.good
             where ctid = any ($1::text[]::tid[])",
            &[&places],
        )
        .await
        .expect("the rows");
    let (rare, count): (Vec<i64>, i64) = (row.get(0), row.get(1));
    assert_eq!(rare, [700, 701, 702, 703, 704, 705, 706]);
    assert!((200..230).contains(&count), "{count} rows");
}

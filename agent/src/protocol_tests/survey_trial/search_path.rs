//! The trial refuses code and operators that need a search path.

use super::super::survey::{GOOD, refusals, refuses, run};
use super::{ROWS, TrialCase, failed};

#[tokio::test]
async fn a_trigger_whose_condition_needs_a_search_path_is_refused() {
    let ddl = format!(
        "create schema ext; create extension hstore schema ext; {GOOD} {ROWS}
         alter table good add attrs ext.hstore, add v int;
         create function bump() returns trigger language plpgsql as 'begin new.v := 1; return new; end';
         set search_path = public, ext;
         create trigger bumped before update on good for each row when (old.attrs is distinct from new.attrs) execute function bump('s3cret');"
    );
    let case = TrialCase::new("st_distinct", &ddl).await;
    let survey = case.tried(&case.task(&["good"])).await;
    let finding = failed(&survey);
    assert_eq!(finding.object, "shard b, TRIGGER public good bumped");
    let problem = &finding.problem;
    assert!(
        problem.contains("operator does not exist: ext.hstore = ext.hstore"),
        "{problem}"
    );
    assert!(problem.contains("CREATE TRIGGER bumped"), "{problem}");
    assert!(!problem.contains("s3cret"), "{problem}");
    assert!(finding.remedy.contains("IS DISTINCT FROM"), "{finding:?}");
    run(
        &case.source,
        "drop trigger bumped on good; create trigger bumped before update on good for each row
        when (not (old.attrs operator(ext.=) new.attrs)) execute function bump()",
    )
    .await;
    let survey = case.tried(&case.task(&["good"])).await;
    assert_eq!(refusals(&survey), []);
    assert!(survey.trial.is_some());
}

#[tokio::test]
async fn a_key_whose_operators_need_a_search_path_is_refused() {
    let ddl = "create extension ltree; create table good (tenant_id bigint, k ltree, n int, primary key (tenant_id, k));
        insert into good select i % 7, ('a.b' || i)::ltree, 0 from generate_series(1, 100) i";
    let case = TrialCase::new("st_ltree", ddl).await;
    let survey = case.tried(&case.task(&["good"])).await;
    let finding = failed(&survey);
    assert_eq!(finding.object, "shard b, table public.good");
    assert!(
        finding.problem.contains("operator does not exist"),
        "{finding:?}"
    );
    assert!(
        finding.remedy.contains("replica identity using index"),
        "{finding:?}"
    );
    let fixed = "alter table good add id bigint generated always as identity;
        alter table good add constraint found unique (tenant_id, id);
        alter table good replica identity using index found";
    run(&case.source, fixed).await;
    let survey = case.tried(&case.task(&["good"])).await;
    assert_eq!(refusals(&survey), []);
    assert_eq!(survey.tables[0].identity, ["tenant_id", "id"]);
}

#[tokio::test]
async fn a_view_whose_function_needs_a_search_path_is_refused_with_the_function() {
    let ddl = format!(
        "{GOOD} {ROWS} create table rate (id int primary key); insert into rate values (3);
         create function rates() returns bigint language plpgsql stable as 'begin return (select count(*) from rate); end';
         create materialized view rated as select tenant_id, rates() as n from good;"
    );
    let case = TrialCase::new("st_view", &ddl).await;
    let mut task = case.task(&["good"]);
    task.settings.reference = vec!["rate".to_owned()];
    let survey = case.tried(&task).await;
    let finding = failed(&survey);
    assert_eq!(
        finding.object,
        "shard b, MATERIALIZED VIEW DATA public rated"
    );
    assert!(
        finding.problem.contains("PL/pgSQL function public.rates()"),
        "{finding:?}"
    );
    run(
        &case.source,
        "alter function rates() set search_path = public",
    )
    .await;
    assert_eq!(refusals(&case.tried(&task).await), []);
}

#[tokio::test]
async fn an_index_whose_function_needs_a_search_path_is_refused_and_no_end_of_the_plan() {
    let ddl = format!(
        "create function norm(c text) returns text immutable language sql as $$ select lower(btrim(c)) $$;
         create function ok(c text) returns boolean immutable language sql as $$ select norm(c) <> 'x' $$;
         {GOOD} {ROWS} alter table good add l text; create index on good (ok(l)); analyze good;"
    );
    let case = TrialCase::new("st_index", &ddl).await;
    let survey = case.tried(&case.task(&["good"])).await;
    refuses(
        &survey,
        "table.expression",
        "shard a, table public.good",
        "set search_path",
    );
    let (_, text) = &refusals(&survey)[0];
    assert!(
        text.contains("function norm(text) does not exist"),
        "{text}"
    );
    let fixed = "alter function ok(text) set search_path = public";
    run(&case.source, fixed).await;
    let survey = case.tried(&case.task(&["good"])).await;
    assert_eq!(refusals(&survey), []);
    assert!(survey.trial.is_some());
}

#[tokio::test]
async fn a_check_whose_function_needs_a_search_path_is_refused() {
    for (language, body) in [
        (
            "plpgsql",
            "begin return exists (select from rate where id = n); end",
        ),
        ("sql", "select exists (select from rate where id = n)"),
    ] {
        let ddl = format!(
            "create table rate (id bigint primary key); insert into rate select i from generate_series(0, 200) i;
             create function known(n bigint) returns boolean stable language {language} as $$ {body} $$;
             {GOOD} alter table good add n bigint check (known(n));
             insert into good select i % 7, i, i from generate_series(1, 100) i;"
        );
        let case = TrialCase::new(&format!("st_check_{language}"), &ddl).await;
        let mut task = case.task(&["good"]);
        task.settings.reference = vec!["rate".to_owned()];
        let survey = case.tried(&task).await;
        let finding = failed(&survey);
        assert_eq!(finding.object, "shard b, table public.good");
        let problem = &finding.problem;
        assert!(
            problem.contains("relation \"rate\" does not exist"),
            "{problem}"
        );
        assert!(finding.remedy.contains("set search_path"), "{finding:?}");
        let fixed = "alter function known(bigint) set search_path = public";
        run(&case.source, fixed).await;
        let survey = case.tried(&task).await;
        let finding = failed(&survey);
        assert!(
            finding.problem.contains("violates check constraint"),
            "the other table may be empty still: {finding:?}"
        );
        assert!(finding.remedy.contains("not valid"), "{finding:?}");
        let fixed = "alter table good drop constraint good_n_check, add check (known(n)) not valid";
        run(&case.source, fixed).await;
        assert_eq!(refusals(&case.tried(&task).await), []);
    }
}

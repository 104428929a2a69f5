//! Kinds of foreign keys, and of statements on the tables that they reference.

use super::{DDL, LEFT, ROWS, bench, give, rows};
use crate::protocol_tests::bench::{Bench, state};

async fn triggers(bench: &Bench) -> Vec<String> {
    let session = bench.source.session().await;
    let found = "select t.tgrelid::regclass::text from pg_trigger t
        where t.tgparentid = 0 and t.tgname ~ '_cascade$' order by 1";
    let found = session.query(found, &[]).await.expect("triggers");
    found.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn every_form_of_statement_and_reference_passes() {
    let ddl = "\
        create table public.region (id int primary key);
        create table public.\"Coun\"\"try\" (id int, region int references public.region on delete cascade,
                                         primary key (id)) partition by range (id);
        create table public.low partition of public.\"Coun\"\"try\" for values from (0) to (3);
        create table public.high partition of public.\"Coun\"\"try\" for values from (3) to (9);
        create table public.\"we ird\"\"s\" (tenant_id bigint, id bigint,
            \"c = $1\" int references public.\"Coun\"\"try\" on delete cascade on update cascade deferrable initially deferred,
            primary key (tenant_id, id)) partition by hash (tenant_id);
        create table public.part partition of public.\"we ird\"\"s\" for values with (modulus 1, remainder 0);
        create table public.line (tenant_id bigint, item bigint, id bigint, primary key (tenant_id, id),
            foreign key (tenant_id, item) references public.\"we ird\"\"s\" on delete cascade)";
    let rows_of = "\
        insert into public.region select g from generate_series(0, 5) g;
        insert into public.\"Coun\"\"try\" select g, g from generate_series(0, 5) g;
        insert into public.\"we ird\"\"s\" select t, g, g from (values (1), (150)) t (t), generate_series(0, 5) g;
        insert into public.line select t, g, g from (values (1), (150)) t (t), generate_series(0, 5) g";
    let bench = bench("cascade_forms", ddl, rows_of).await;
    give(&bench).await;
    assert_eq!(triggers(&bench).await, ["public.\"we ird\"\"s\""]);
    let app = bench.source.session().await;
    for write in [
        "delete from public.region where id = 0",
        "merge into public.\"Coun\"\"try\" c using (values (1)) v (id) on c.id = v.id when matched then delete",
        "do $$ begin delete from public.\"Coun\"\"try\" where id = 2; end $$",
        "update public.\"Coun\"\"try\" set id = 7 where id = 3",
        "begin; set constraints all deferred; delete from public.\"Coun\"\"try\" where id = 4; commit",
    ] {
        app.batch_execute(write).await.expect(write);
    }
    let here = ["(1,3,7)", "(1,5,5)"].into_iter().map(str::to_owned);
    let copies = (0..=5).map(|id| format!("(150,{id},{id})"));
    assert_eq!(
        rows(&app, "public.\"we ird\"\"s\"").await,
        here.chain(copies).collect::<Vec<_>>()
    );
    assert_eq!(
        rows(&app, "public.line").await.len(),
        8,
        "by the item's key"
    );
}

#[tokio::test]
async fn a_cascade_that_a_trigger_began_passes() {
    let bench = bench("cascade_begun", DDL, ROWS).await;
    give(&bench).await;
    let app = bench.source.session().await;
    app.batch_execute(
        "create table public.closing (country int);
         create function public.closes() returns trigger language plpgsql as $$
         begin delete from public.country where id = new.country; return null; end $$;
         create trigger closes after insert on public.closing for each row execute function public.closes();
         insert into public.closing values (1)",
    )
    .await
    .expect("about keys that stay");
    assert_eq!(rows(&app, "public.item").await, LEFT);
}

/// If it could not be checked afterwards which rows were skipped, no row is skipped.
#[tokio::test]
async fn a_foreign_key_that_cannot_be_asked_refuses_as_ever() {
    let ddl = "\
        create table public.country (id int primary key);
        create table public.plain (tenant_id bigint, id bigint, country int references public.country, primary key (tenant_id, id));
        create table public.unchecked (tenant_id bigint, id bigint, country int, primary key (tenant_id, id));
        create table public.own (tenant_id bigint, id bigint unique, parent bigint references public.own (id) on delete cascade,
                                 country int references public.country on delete cascade, primary key (tenant_id, id));
        alter table public.unchecked add constraint unchecked foreign key (country) references public.country on delete cascade not valid";
    let rows_of = "insert into public.country values (1), (2), (3);
        insert into public.unchecked values (150, 1, 1); insert into public.own values (150, 1, null, 2)";
    let bench = bench("cascade_unasked", ddl, rows_of).await;
    give(&bench).await;
    assert!(triggers(&bench).await.is_empty());
    let app = bench.source.session().await;
    for write in [
        "delete from public.country where id = 1",
        "delete from public.country where id = 2",
    ] {
        assert_eq!(state(app.batch_execute(write).await), "SM001", "{write}");
    }
}

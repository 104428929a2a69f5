//! The guard refuses every write that is not a cascade from a reference table.

use super::{DDL, DELETE, ROWS, UNTOUCHED, bench, gave, give, rows};
use crate::protocol_tests::bench::state;

#[tokio::test]
async fn writes_to_keys_that_were_given_away_are_refused_however_they_come() {
    let (_bench, app) = gave("cascade_refused").await;
    app.batch_execute(
        "create table public.visit (tenant_id bigint);
         create function public.counts() returns trigger language plpgsql as $$
         begin update public.item set id = id + 100 where tenant_id = 150; return null; end $$;
         create trigger counts after insert on public.visit for each row execute function public.counts();
         create table public.leave (country int);
         create function public.leaves() returns trigger language plpgsql as $$
         begin update only public.\"item\" set \"country\" = null where country = new.country; return null; end $$;
         create trigger leaves after insert on public.leave for each row execute function public.leaves();
         create table public.bye (country int);
         create function public.byes() returns trigger language plpgsql as $$
         begin execute 'DELETE FROM ONLY \"public\".\"item\" WHERE $1 = \"country\"' using new.country; return null; end $$;
         create trigger byes after insert on public.bye for each row execute function public.byes()",
    )
    .await
    .expect("the application's triggers");
    for write in [
        "delete from public.item where country = 1",
        "update public.item set country = 3 where country = 1",
        "delete from public.item where tenant_id = 150",
        "update public.country set id = 9 where id = 2; delete from public.item where country = 2",
        "insert into public.visit values (1)",
        "insert into public.leave values (1)",
        "insert into public.bye values (1)",
        "with gone as (delete from public.country where id = 2) delete from public.item where tenant_id = 150",
    ] {
        assert_eq!(state(app.batch_execute(write).await), "SM001", "{write}");
    }
    assert_eq!(rows(&app, "public.item").await, UNTOUCHED);
}

/// The trigger runs inside the cascade, and before the guard because of its name.
#[tokio::test]
async fn what_a_trigger_writes_inside_a_cascade_is_refused() {
    let bench = bench("cascade_trigger", DDL, ROWS).await;
    let app = bench.source.session().await;
    app.batch_execute(
        "create function public.also() returns trigger language plpgsql as $$
         begin update public.item set country = 3 where tenant_id = 150 and id = 2; return old; end $$;
         create trigger a_also before delete on public.item for each row execute function public.also()",
    )
    .await
    .expect("the application's trigger");
    give(&bench).await;
    assert_eq!(state(app.batch_execute(DELETE).await), "SM001");
    assert_eq!(rows(&app, "public.item").await, UNTOUCHED);
}

/// A trigger that deletes like a cascade: the referenced row still exists at that time.
#[tokio::test]
async fn a_trigger_of_the_reference_table_is_no_foreign_key() {
    let bench = bench("cascade_by_hand", DDL, ROWS).await;
    let app = bench.source.session().await;
    app.batch_execute(
        "create function public.first() returns trigger language plpgsql as $$
         begin delete from public.item where country = old.id; return old; end $$;
         create trigger first before delete on public.country for each row execute function public.first()",
    )
    .await
    .expect("the application's trigger");
    give(&bench).await;
    assert_eq!(state(app.batch_execute(DELETE).await), "SM001");
    assert_eq!(rows(&app, "public.item").await, UNTOUCHED);
}

/// After SET DEFAULT, the server checks whether rows reference the deleted row.
#[tokio::test]
async fn set_default_and_truncate_are_refused() {
    let ddl = format!(
        "{DDL};
         create table public.fallback (tenant_id bigint, id bigint, country int default 0 references public.country on delete set default,
                                       primary key (tenant_id, id))"
    );
    let rows = format!("{ROWS}; insert into public.fallback values (1, 1, 3), (150, 1, 3)");
    let bench = bench("cascade_default", &ddl, &rows).await;
    give(&bench).await;
    let app = bench.source.session().await;
    let write = "delete from public.country where id = 3";
    assert_eq!(state(app.batch_execute(write).await), "SM001");
    let truncate = "truncate public.country cascade";
    assert_eq!(state(app.batch_execute(truncate).await), "SM003");
    app.batch_execute(DELETE).await.expect("by another key");
}

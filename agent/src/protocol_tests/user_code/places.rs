//! Each catalog in which PostgreSQL stores code of a table's owner.

use super::super::bench::Bench;
use super::{OWNED, as_owner};
use crate::shard::user_code;

/// A statement of the owner, and the place that the failure must name.
const PLACES: [(&str, &str); 17] = [
    (
        "alter table item add constraint c check (evil.act()) not valid",
        "check constraint c",
    ),
    (
        "alter table item add constraint c check (id operator(evil.===) 1) not valid",
        "check constraint c",
    ),
    (
        "alter table item add constraint c check (pg_catalog.query_to_xml('select evil.act()', true, true, '') is not null) not valid",
        "check constraint c",
    ),
    (
        "alter table item add constraint c check (pg_catalog.set_config('role', v, false) is not null) not valid",
        "check constraint c",
    ),
    (
        "alter domain evil.mail add check (evil.act()) not valid",
        "domain evil.mail",
    ),
    (
        "alter domain evil.inner add check (evil.act()) not valid",
        "domain evil.\"inner\"",
    ),
    (
        "alter domain evil.inner add check (evil.act()) not valid; alter table item drop pair, \
         add constraint c check (pg_catalog.jsonb_populate_record(null::evil.pair, '{}') is null) not valid",
        "domain evil.\"inner\"",
    ),
    (
        "alter table item add g int generated always as (evil.same(id)) stored",
        "generated column g",
    ),
    (
        "alter table item add g int default evil.same(1)",
        "default of column g",
    ),
    ("create index i on item ((evil.same(id)))", "index i"),
    ("create index i on item (v) where evil.is(id)", "index i"),
    ("create index i on item ((id + evil.same(1)))", "index i"),
    (
        "create statistics s on (evil.same(id)), v from item",
        "statistics s",
    ),
    (
        "create cast (text as evil.mood) with function evil.to_mood(text)",
        "cast from text to evil.mood",
    ),
    (
        "create trigger t before insert on item for each row execute function evil.fired(); alter table item enable always trigger t",
        "trigger t",
    ),
    (
        "create trigger shardwright_guard_mine after update on item for each statement execute function evil.fired(); \
         alter table item enable replica trigger shardwright_guard_mine",
        "trigger shardwright_guard_mine",
    ),
    (
        "create rule r as on insert to item do also select evil.act(); alter table item enable always rule r",
        "rule r",
    ),
];

/// The agent's role: a superuser, and a role that is no superuser.
const ROLES: [&str; 2] = [
    "reset session authorization",
    "set session authorization mover",
];

const MOVER: &str = "
do $$ begin create role mover; exception when duplicate_object or unique_violation then null; end $$;
grant evil to mover;";

#[tokio::test]
async fn code_is_found_in_each_place_where_an_owner_can_put_it() {
    let bench = Bench::new("code_places", &format!("{OWNED} {MOVER}")).await;
    let session = bench.ours(&bench.source).await;
    for role in ROLES {
        for (ddl, place) in PLACES {
            session.batch_execute("begin").await.expect("begun");
            as_owner(&session, &format!("set local search_path = public; {ddl}")).await;
            session
                .batch_execute("set local search_path = ''")
                .await
                .expect("set");
            session.batch_execute(role).await.expect(role);
            let found = user_code::find_untrusted(&session, &bench.tables)
                .await
                .expect("found");
            let places: Vec<&str> = found.iter().map(|code| code.place.as_str()).collect();
            assert_eq!(places, [place], "{role}: {ddl}: {found:?}");
            session
                .batch_execute("rollback")
                .await
                .expect("rolled back");
            session
                .batch_execute("reset session authorization")
                .await
                .expect("reset");
        }
    }
}

/// Functions of the server, and code of superusers and trusted owners, are not reported.
#[tokio::test]
async fn what_is_trusted_is_not_found() {
    let bench = Bench::new("code_trusted", &format!("{OWNED} {MOVER}")).await;
    let session = bench.ours(&bench.source).await;
    session
        .batch_execute("begin; set local search_path = public")
        .await
        .expect("begun");
    let harmless = "
        alter table item add check (v ~ '^a' and pg_catalog.length(v) > 2 and pg_catalog.now() > '2020-01-01'),
            add g text generated always as (pg_catalog.lower(v)) stored, add u uuid default pg_catalog.gen_random_uuid();
        alter domain evil.mail add check (value like '%@%');
        create index on item ((pg_catalog.upper(v))) where id > 3;
        create trigger t before insert on item for each row execute function evil.fired()";
    as_owner(&session, harmless).await;
    session
        .batch_execute("create function own(int) returns int language plpgsql immutable as 'begin return $1; end'; create index on item ((own(id)))")
        .await
        .expect("a superuser's");
    let found = user_code::find_untrusted(&session, &bench.tables).await;
    assert_eq!(found.expect("found"), []);
    as_owner(&session, "create index on item ((evil.same(id)))").await;
    let as_mover = "set session authorization mover";
    let trust = "alter role mover set shardwright.trusted_owners = 'nobody, evil'";
    session
        .batch_execute(&format!("{trust}; {as_mover}"))
        .await
        .expect("trusted");
    let found = user_code::find_untrusted(&session, &bench.tables).await;
    assert_eq!(found.expect("found"), []);
    // The owner of the database can change this setting, and so can the role in its session.
    let elsewhere = "reset session authorization; alter role mover reset shardwright.trusted_owners;
        do $$ begin execute format('alter database %I set shardwright.trusted_owners = evil', current_database()); end $$;
        set shardwright.trusted_owners = 'evil'";
    session
        .batch_execute(&format!("{elsewhere}; {as_mover}"))
        .await
        .expect("set");
    let found = user_code::find_untrusted(&session, &bench.tables).await;
    assert_eq!(found.expect("found").len(), 1);
    session
        .batch_execute("rollback")
        .await
        .expect("rolled back");
}

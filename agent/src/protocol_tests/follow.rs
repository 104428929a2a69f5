//! `ddl: follow`: the agent makes on the other shard what the application did on the owner, and applies captured changes
//! that are older.

use std::collections::BTreeSet;
use std::sync::Arc;

use connect::Connected;
use plans::names::Direction;
use plans::request::Ddl;
use plans::step::StepKind;
use plans::table::Format;

use super::bench::{Bench, ITEM};
use super::ddl::{dispatched, plan, run};
use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::postgres::catalog::{self, RetiredPartitions};
use crate::shard::guard;
use crate::shard::register::Register;
use crate::steps::definitions;
use crate::stream::ApplyStream;

const FORWARD: Direction = Direction::Forward;
const STEP: StepKind = StepKind::CatchUp;

/// A bench whose definitions are recorded, with a step that follows changes.
pub(super) struct Followed {
    bench: Bench,
    context: StepContext,
    pub(super) app: Connected,
    pub(super) other: Connected,
}

impl Followed {
    pub(super) async fn new(name: &str, ddl: &str) -> Self {
        Self::of(Bench::new(name, ddl).await).await
    }

    pub(super) async fn of(mut bench: Bench) -> Self {
        let mut tables = bench.tables.to_vec();
        for table in &mut tables {
            table.format = Format::Text;
        }
        bench.tables = Arc::new(tables);
        bench.capture(FORWARD).await;
        let other = bench.ours(&bench.target).await;
        guard::create_register(&other, &bench.token.migration, Register::Closed)
            .await
            .expect("a register");
        let mut context = dispatched(&bench, STEP).await;
        Arc::make_mut(&mut context.dispatch).options.ddl = Ddl::Follow;
        definitions::check(&context, STEP)
            .await
            .expect("as planned");
        Self {
            app: bench.source.session().await,
            other,
            bench,
            context,
        }
    }

    /// Follows the changes, and gives the plan the definitions that the agent reports. Returns the changes.
    async fn follow(&mut self) -> Vec<String> {
        match definitions::check(&self.context, STEP).await {
            Err(StepError::Reshaped {
                tables,
                fingerprint,
                followed,
                ..
            }) => {
                self.bench.tables = Arc::new(tables.clone());
                plan(&mut self.context, tables, fingerprint);
                followed.into_iter().map(|change| change.change).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    /// Follows the changes and gives the plan the definitions that the agent reports, until it reports none. Then applies
    /// what was captured, and waits until the agent has made every change.
    pub(super) async fn try_follow(&mut self) -> Result<(), StepError> {
        while let Err(error) = definitions::check(&self.context, STEP).await {
            let StepError::Reshaped {
                tables,
                fingerprint,
                ..
            } = error
            else {
                return Err(error);
            };
            self.bench.tables = Arc::new(tables.clone());
            plan(&mut self.context, tables, fingerprint);
        }
        self.apply().await
    }

    /// Applies what was captured, and waits until the agent has made every change.
    async fn apply(&self) -> Result<(), StepError> {
        let mut spec = self.bench.spec(FORWARD).await;
        spec.follows_ddl = true;
        let stream = ApplyStream::start(spec, false, true);
        self.bench.drain(&stream).await?;
        *self.context.session.stream.lock().await = Some(stream);
        let followed = definitions::wait_until_followed(&self.context, STEP).await;
        let stream = self.context.session.stream.lock().await.take();
        stream.expect("it runs").stop().await;
        followed
    }

    /// As [`Followed::follow`], and returns whether the migration must continue from the copy.
    async fn copies_again(&mut self) -> bool {
        let before = self.context.dispatch.clone();
        self.follow().await;
        let reported = definitions::check(&self.context, STEP).await;
        let again = matches!(
            reported,
            Err(StepError::Reshaped {
                copy_again: true,
                ..
            })
        );
        if !again {
            self.context.dispatch = before;
        }
        again
    }

    async fn count(&self, sql: &str) -> i64 {
        let row = self.other.query_one(sql, &[]).await.expect(sql);
        row.get(0)
    }

    /// Gives the rows of the other shard the values of the owner's column, as the copy does.
    async fn copy_values(&self) {
        let values = "select string_agg(format('update public.item set r = %L where id = %s', r::text, id), ';')
            from public.item";
        let row = self.app.query_one(values, &[]).await.expect("read");
        run(&self.other, "set session_replication_role = replica").await;
        run(&self.other, row.get(0)).await;
        run(&self.other, "reset session_replication_role").await;
    }

    /// As [`Followed::apply`]. Both shards have the same definitions then.
    async fn settle(&self) {
        self.apply().await.expect("followed");
        assert_eq!(
            self.definitions(&self.app).await,
            self.definitions(&self.other).await
        );
    }

    async fn definitions(&self, session: &Connected) -> BTreeSet<String> {
        let names: Vec<_> = self.bench.tables.iter().map(|t| t.table.clone()).collect();
        let facts = catalog::facts(session, &names, RetiredPartitions::OfOwner(&[]))
            .await
            .expect("read");
        let lines = facts.into_iter().flat_map(|(table, facts)| {
            let line = move |fact: plans::inspection::check::SchemaFact| {
                format!("{table} {} {}", fact.what, fact.definition)
            };
            facts.into_iter().map(line)
        });
        lines.collect()
    }

    /// Returns the message of the failure with which a check ends.
    async fn refusal(&self) -> String {
        match definitions::check(&self.context, STEP).await {
            Err(StepError::Failed(failure)) => {
                assert_eq!(failure.code, "schema.drift");
                failure.message
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn captured_changes_that_are_older_than_a_change_of_columns_are_applied() {
    let mut f = Followed::new("followcolumns", ITEM).await;
    for sql in [
        "insert into public.item values (100, 1, 'before'), (100, 2, 'before'), (100, 3, 'before')",
        "alter table public.item rename v to w",
        "insert into public.item values (100, 4, 'renamed')",
        "update public.item set w = 'changed' where id = 1",
    ] {
        run(&f.app, sql).await;
    }
    for sql in [
        "alter table public.item add column stamp text not null default now()::text",
        "insert into public.item (tenant_id, id, w) values (100, 5, 'stamped')",
        "update public.item set stamp = 'changed' where id = 2",
        "alter table public.item add column gone int default 7",
        "update public.item set gone = 8 where id = 3",
        "alter table public.item drop column gone",
        "alter table public.item rename w to x",
        "update public.item set x = 'again' where id = 3",
    ] {
        run(&f.app, sql).await;
    }
    let changes = f.follow().await;
    assert!(
        changes
            .iter()
            .any(|change| change.contains("rename column \"v\" to \"x\"")),
        "{changes:?}"
    );
    f.settle().await;
    assert_eq!(f.bench.assert_equal().await, 5);
}

#[tokio::test]
async fn each_kind_of_change_is_followed() {
    let ddl = "create type public.mood as enum ('calm', 'wild');
        create table public.item (tenant_id bigint, id int, v varchar(9), n int not null default 5, mood public.mood,
            twice int generated always as (n * 2) stored, price numeric(8,2),
            constraint known check (n > 0), unique (tenant_id, n), primary key (tenant_id, id));
        create index item_v on public.item (v);
        create index item_n on public.item (n)";
    let mut f = Followed::new("followkinds", ddl).await;
    run(
        &f.app,
        "insert into public.item (tenant_id, id, v) values (100, 1, 'one')",
    )
    .await;
    for sql in [
        "alter table public.item alter column id type bigint, alter column v type varchar(20)",
        "alter table public.item alter column price type numeric(12,2)",
        "alter table public.item alter column n drop not null, alter column n drop default",
        "alter table public.item alter column v set default 'none'",
        "alter table public.item alter column price set not null",
        "alter table public.item drop constraint known",
        "alter table public.item drop constraint item_tenant_id_n_key",
        "alter table public.item add constraint long check (length(v) < 15) not valid",
        "alter table public.item add column extra int generated always as (length(v)) stored",
        "alter table public.item add constraint pair unique (tenant_id, v)",
        "alter type public.mood add value 'sad' before 'calm'",
        "alter type public.mood add value 'glad'",
        "insert into public.item (tenant_id, id, v, price, mood) values (100, 5000000000, 'longer text', 1234567.25, 'sad')",
        "drop index public.item_n",
        "alter index public.item_v rename to item_value",
        "create unique index \"Item's own\" on public.item (tenant_id, id) where v is not null",
        "alter table public.item validate constraint long",
        "alter table public.item rename constraint long to short",
        "comment on table public.item is 'it''s followed'",
        "comment on column public.item.v is 'its value'",
    ] {
        if sql.contains("price set not null") {
            run(&f.app, "update public.item set price = 1").await;
        }
        run(&f.app, sql).await;
    }
    f.follow().await;
    f.settle().await;
    assert_eq!(f.bench.assert_equal().await, 2);
    let comment = "select col_description('public.item'::regclass, 3) || obj_description('public.item'::regclass)
                     || enum_range(null::public.mood)::text";
    let text: String = f.other.query_one(comment, &[]).await.expect("read").get(0);
    assert_eq!(text, "its valueit's followed{sad,calm,wild,glad}");
}

/// A statement that forbids rows would refuse captured rows that are older.
#[tokio::test]
async fn what_forbids_rows_waits_for_the_stream() {
    let mut f = Followed::new("followwaits", ITEM).await;
    for sql in [
        "insert into public.item values (100, 1, null), (100, 2, 'same'), (100, 3, 'same')",
        "update public.item set v = id::text",
        "alter table public.item alter column v set not null",
        "alter table public.item add constraint once unique (tenant_id, v)",
        "create unique index item_once on public.item (v)",
        "alter table public.item add constraint digits check (v ~ '^[0-9]$')",
    ] {
        run(&f.app, sql).await;
    }
    f.follow().await;
    definitions::check(&f.context, STEP)
        .await
        .expect("the step may begin");
    let nullable: bool = f
        .other
        .query_one(
            "select not attnotnull from pg_attribute where attrelid = 'public.item'::regclass and attname = 'v'",
            &[],
        )
        .await
        .expect("read")
        .get(0);
    assert!(nullable, "the stream has not applied the older row");
    f.settle().await;
    assert_eq!(f.bench.assert_equal().await, 3);
}

#[tokio::test]
async fn a_change_that_cannot_be_followed_changes_nothing_on_the_other_shard() {
    for (name, changes, words) in [
        (
            "fkeydrop",
            "alter table public.item drop column id",
            "column id, which identifies rows",
        ),
        (
            "fkeyname",
            "alter table public.item rename id to number",
            "was renamed to number",
        ),
        (
            "fswap",
            "alter table public.item rename v to x; alter table public.item rename n to v",
            "the earlier name of another column",
        ),
        (
            "fagain",
            "alter table public.item drop column n; alter table public.item add column n text",
            "another column had this name before",
        ),
        (
            "fserial",
            "alter table public.item add column r bigserial",
            "with sequence public.item_r_seq",
        ),
        (
            "fnarrow",
            "alter table public.item alter column v type text collate \"C\" using upper(v), alter column n type int using length(n)",
            "which can change its values",
        ),
        (
            "fexpression",
            "alter table public.item alter column twice drop expression",
            "no longer is one",
        ),
        (
            "flabel",
            "alter type public.mood rename value 'calm' to 'mild'",
            "value calm of type public.mood was renamed",
        ),
        (
            "fprimary",
            "alter table public.item drop constraint item_pkey; alter table public.item add primary key (id)",
            "primary key",
        ),
    ] {
        let ddl = "create type public.mood as enum ('calm', 'wild');
            create table public.item (tenant_id bigint, id bigint, v text, n varchar(5), mood public.mood,
                twice bigint generated always as (tenant_id * 2) stored, primary key (tenant_id, id))";
        let f = Followed::new(name, ddl).await;
        run(
            &f.app,
            "insert into public.item values (100, 1, 'one', 'n')",
        )
        .await;
        let before = f.definitions(&f.other).await;
        run(&f.app, changes).await;
        let message = f.refusal().await;
        assert!(message.contains(words), "{changes}: {message}");
        assert_eq!(f.definitions(&f.other).await, before, "{changes}");
    }
}

/// A deployment that reaches the other shard first must not be undone there.
#[tokio::test]
async fn what_only_the_other_shard_has_stays() {
    let mut f = Followed::new("followfirst", ITEM).await;
    for sql in [
        "alter table public.item add column early text default 'early'",
        "create index item_early on public.item (early)",
    ] {
        run(&f.other, sql).await;
    }
    let message = f.refusal().await;
    assert!(
        message.contains("column early: on shard source missing"),
        "{message}"
    );
    run(&f.app, "insert into public.item values (100, 1, 'older')").await;
    run(
        &f.app,
        "alter table public.item add column early text default 'early'",
    )
    .await;
    run(&f.app, "create index item_early on public.item (early)").await;
    let changes = f.follow().await;
    assert!(changes.is_empty(), "{changes:?}");
    f.settle().await;
    assert_eq!(f.bench.assert_equal().await, 1);
}

/// The agent died after it had changed the other shard and before the controller knew.
#[tokio::test]
async fn a_report_that_was_lost_is_made_again_with_the_earlier_names() {
    let mut f = Followed::new("followlost", ITEM).await;
    run(&f.app, "insert into public.item values (100, 1, 'before')").await;
    run(&f.app, "alter table public.item rename v to w").await;
    let lost = definitions::check(&f.context, STEP).await;
    assert!(matches!(lost, Err(StepError::Reshaped { .. })), "{lost:?}");
    run(&f.app, "alter table public.item rename w to x").await;
    f.follow().await;
    let earlier = &f.bench.tables[0].renamed_columns;
    assert_eq!(earlier.get("v").map(String::as_str), Some("x"));
    f.settle().await;
    assert_eq!(f.bench.assert_equal().await, 1);
}

/// A change drops columns and rewrites rows. It must never reach the shard to which the keys belong.
#[tokio::test]
async fn nothing_is_changed_on_a_shard_that_is_open_or_is_the_wrong_one() {
    let change = "alter table public.item drop column v";
    for (name, sql) in [
        ("followopen", "select setval('shardwright.own_REGISTER', 0)"),
        ("followrole", "update shardwright.move set role = 'source'"),
        ("followflip", "update shardwright.move set flipped = 100"),
    ] {
        let f = Followed::new(name, ITEM).await;
        let sql = sql.replace("own_REGISTER", &f.bench.token.migration.register());
        run(&f.other, &sql).await;
        run(&f.app, change).await;
        let before = f.definitions(&f.other).await;
        let refused = definitions::check(&f.context, STEP).await;
        assert!(
            matches!(refused, Err(StepError::Failed(_))),
            "{sql}: {refused:?}"
        );
        assert_eq!(f.definitions(&f.other).await, before, "{sql}");
    }
}

/// The values of rows that exist are not in the stream. The copy compares the rows before the column forbids NULL.
#[tokio::test]
async fn rows_that_lack_computed_values_are_compared_again() {
    for (name, column) in [
        ("fvolatile", "r float8 not null default random()"),
        ("fidentity", "r bigint generated always as identity unique"),
    ] {
        let mut f = Followed::new(name, ITEM).await;
        for sql in [
            "insert into public.item select 100, g, 'v' from generate_series(1, 5) g",
            &format!("alter table public.item add column {column}"),
            "insert into public.item (tenant_id, id) values (100, 6)",
        ] {
            run(&f.app, sql).await;
        }
        let id = f.bench.token.migration.clone();
        let copied = format!(
            "insert into shardwright.chunk (migration, ordinal, unit, relation, filenode, from_block, done, snapshot)
             values ('{id}', 1, 1, 'public.item', 1, 0, true, 0)"
        );
        run(&f.other, &copied).await;
        let first = f.copies_again().await;
        assert!(
            first && f.copies_again().await,
            "{column}: the report can be lost"
        );
        let lacking = "select count(*) from shardwright.chunk where snapshot is null";
        assert_eq!(f.count(lacking).await, 0, "an earlier agent can still copy");
        f.apply().await.expect_err("it waits for the copy");
        definitions::check(&f.context, StepKind::Copy)
            .await
            .expect("the copy begins");
        assert_eq!(f.count(lacking).await, 1, "{column}");
        f.copy_values().await;
        run(&f.other, "update shardwright.chunk set snapshot = 1").await;
        f.settle().await;
        assert_eq!(f.bench.assert_equal().await, 6, "{column}");
        let nullable = "select count(*) from pg_attribute
            where attrelid = 'public.item'::regclass and attname = 'r' and not attnotnull";
        assert_eq!(f.count(nullable).await, 0, "{column}");
    }
}

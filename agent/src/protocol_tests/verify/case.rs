//! A move with equal copies and a running stream. Its rows have values of many types that are difficult to compare.

use std::sync::Arc;

use connect::Connected;
use plans::inspection::{Inspected, Inspection};
use plans::names::Direction;
use plans::step::StepKind;
use plans::step::verify::{DifferenceKind, DifferenceReport, ReportTask, Verified, VerifyRun};
use tokio_util::sync::CancellationToken;

use crate::error::StepError;
use crate::inspect;
use crate::migration::context::StepContext;
use crate::protocol_tests::bench::Bench;
use crate::protocol_tests::interrupted::again;
use crate::steps;

/// A table with columns of all types for which different values can appear to be equal.
pub(crate) const AWKWARD: &str = "
create extension citext with schema public;
create type public.pair as (a int, b text);
create type public.mood as enum ('low', 'high');
create table public.awkward (
    tenant_id bigint, id bigint,
    txt text, raw bytea, js json, jb jsonb, num numeric, f4 real, f8 double precision, ci public.citext,
    pad char(5), ts timestamptz, at timestamp, arr text[], ran int4range, iv interval, mon money,
    comp public.pair, en public.mood, code int unique, big text,
    gen text generated always as (coalesce(txt, '-') || '!') stored,
    primary key (tenant_id, id));
alter table public.awkward alter big set storage external;";

/// Returns a statement that inserts 64 rows in the given order. The rows do not depend on the order.
pub(crate) fn rows(order: &str) -> String {
    format!(
        "insert into public.awkward
         select 100 + g % 3, g,
           case g % 4 when 0 then null when 1 then '' else 'text ' || g end,
           case g % 3 when 0 then '\\x'::bytea else pg_catalog.decode(pg_catalog.md5(g::text), 'hex') end,
           ('{{\"a\":  ' || g || ', \"a\": 1}}')::json, ('{{\"b\": ' || g || '.50}}')::jsonb,
           case g % 5 when 0 then 1.0 when 1 then 1.00 when 2 then 'NaN' when 3 then 1e-20 else 12345678901234567890.5 end,
           case g % 3 when 0 then '-0' when 1 then 'NaN' else 0.1 end::real,
           case g % 4 when 0 then '0' when 1 then '-0' when 2 then '-Infinity' else 0.1 + g end::double precision,
           ('Ci' || g)::public.citext, 'p' || g % 7,
           case g % 4 when 0 then 'infinity' when 1 then '-infinity' else '2026-01-01 00:00:00.000001+02' end::timestamptz,
           '0044-03-15 12:00 BC'::timestamp,
           case g % 4 when 0 then null when 1 then array[]::text[] when 2 then '[0:1]={{a,NULL}}'::text[] else array['NULL', ''] end,
           case g % 3 when 0 then 'empty' when 1 then '(,5)' else '[1,7)' end::int4range,
           '1 mon -1 day +00:00:01'::interval, 12.5::numeric::money,
           case g % 3 when 0 then null when 1 then row(null, null)::public.pair else row(g, 'x, \"y\"')::public.pair end,
           'high', g, pg_catalog.repeat(pg_catalog.md5(g::text), 2000)
         from pg_catalog.generate_series(1, 64) g order by {order}"
    )
}

/// The step `verify` of a bench's move, with its stream.
pub(crate) struct VerifyCase {
    pub(crate) bench: Bench,
    pub(crate) context: StepContext,
    /// A session of the application on the source.
    pub(crate) source: Connected,
    /// A session on the target that bypasses every guard.
    pub(crate) target: Connected,
}

impl VerifyCase {
    /// Creates databases with `ddl`, fills each of them, and starts the stream afterwards.
    pub(crate) async fn new(name: &str, ddl: &str, here: &str, there: &str) -> Self {
        Self::of(Bench::new(name, ddl).await, here, there).await
    }

    /// As [`VerifyCase::new`], on an existing bench.
    pub(crate) async fn of(bench: Bench, here: &str, there: &str) -> Self {
        let (source, target) = (bench.source.session().await, bench.target.session().await);
        source.batch_execute(here).await.expect("filled");
        target.batch_execute(there).await.expect("filled");
        bench.capture(Direction::Forward).await;
        let context = again(&bench, StepKind::Verify);
        let stream = bench.stream(Direction::Forward).await;
        *context.session.stream.lock().await = Some(stream);
        Self {
            bench,
            context,
            source,
            target,
        }
    }

    pub(crate) async fn awkward(name: &str) -> Self {
        Self::new(name, AWKWARD, &rows("g"), &rows("g % 7, g desc")).await
    }

    /// Returns the step as the controller dispatches it for run `number`.
    pub(crate) fn dispatched(&self, number: i64, repair: bool) -> StepContext {
        let mut context = self.context.clone();
        Arc::make_mut(&mut context.dispatch).verify = Some(VerifyRun { number, repair });
        context.cancel = CancellationToken::new();
        context
    }

    pub(crate) async fn verify(&self, number: i64) -> Result<Verified, StepError> {
        self.run(number, false).await
    }

    pub(crate) async fn run(&self, number: i64, repair: bool) -> Result<Verified, StepError> {
        let context = self.dispatched(number, repair);
        let output = steps::run(&context, StepKind::Verify).await?;
        Ok(serde_json::from_value(output).expect("its output"))
    }

    /// Waits until all changes are applied.
    pub(crate) async fn drain(&self) {
        let stream = self.context.session.stream.lock().await;
        let stream = stream.as_ref().expect("a stream");
        self.bench.drain(stream).await.expect("drained");
    }

    /// Returns the report of the last comparison in this direction, as an operator reads it.
    pub(crate) async fn report(&self, direction: Direction) -> DifferenceReport {
        let dispatch = &self.context.dispatch;
        let task = ReportTask {
            migration: dispatch.migration.clone(),
            source: dispatch.source.clone(),
            target: dispatch.target.clone(),
        };
        let asked = Inspection::Differences(Box::new(task));
        let answer = inspect::run(&asked, &std::env::temp_dir())
            .await
            .expect("read");
        // The report is encoded and decoded as between agent and controller.
        let text = serde_json::to_string(&answer).expect("written");
        let Inspected::Differences(found) = serde_json::from_str(&text).expect("read") else {
            panic!("{text}")
        };
        let mut reports = found.reports.into_iter();
        let found = reports.find(|report| report.direction == direction);
        found.expect("a report")
    }

    /// Returns keys and kinds of the rows that the last forward comparison reported.
    pub(crate) async fn named(&self) -> Vec<(Vec<String>, DifferenceKind)> {
        let report = self.report(Direction::Forward).await;
        let tables = report.tables.into_iter();
        tables
            .flat_map(|table| table.named)
            .map(|row| (row.key, row.kind))
            .collect()
    }

    /// Returns the number of dirty keys on the target.
    pub(crate) async fn dirty(&self) -> i64 {
        let read =
            "select count(distinct (relation, key)) from shardwright.dirty, unnest(keys) key";
        let row = self.target.query_one(read, &[]).await.expect("read");
        row.get(0)
    }
}

/// Returns the key of row `id` of the table `awkward`.
pub(crate) fn key(id: i64) -> Vec<String> {
    vec![(100 + id % 3).to_string(), id.to_string()]
}

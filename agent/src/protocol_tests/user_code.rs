//! Code that the owner of a table wrote does not run in a session of the agent (ADR 49), whether it existed at the time
//! of the plan or was added later.
//!
//! The functions of the owner count how often another role has run them. They use a sequence, which a rollback does not
//! reset.

mod followed;
mod paths;
mod places;
mod waiting;

use connect::Connected;

use super::bench::Bench;
use crate::error::StepError;

/// The failure code of the refusal.
const REFUSED: &str = "code.untrusted";

/// A table whose owner is no superuser, with functions of the owner.
const OWNED: &str = "
do $$ begin create role evil; exception when duplicate_object or unique_violation then null; end $$;
create schema evil authorization evil;
grant create on schema public to evil;
set role evil;
create sequence evil.calls;
create function evil.act() returns boolean language plpgsql volatile as $f$
begin
  if pg_catalog.current_setting('evil.himself', true) = 'on' then return true; end if;
  -- What was done with set role, this takes back, but where the server restricts what an owner may do.
  begin
    perform pg_catalog.set_config('role', 'none', false);
  exception when insufficient_privilege then return true;
  end;
  if current_user <> 'evil' then perform pg_catalog.nextval('evil.calls'); end if;
  perform pg_catalog.set_config('role', 'evil', false);
  return true;
end $f$;
create function evil.same(n int) returns int language plpgsql immutable as $f$ begin perform evil.act(); return n; end $f$;
create function evil.is(n int) returns boolean language plpgsql immutable as $f$ begin return evil.act(); end $f$;
create function evil.are(n int, m int) returns boolean language plpgsql immutable as $f$ begin return evil.act(); end $f$;
create function evil.fired() returns trigger language plpgsql as $f$ begin perform evil.act(); return new; end $f$;
create operator evil.=== (leftarg = int, rightarg = int, function = evil.are);
create domain evil.mail as text;
create domain evil.inner as int;
create type evil.pair as (a evil.inner);
create type evil.mood as enum ('low', 'high');
create function evil.to_mood(t text) returns evil.mood language plpgsql immutable as $f$ begin perform evil.act(); return 'low'; end $f$;
create table public.item (tenant_id bigint, id int, v text, mail evil.mail, pair evil.pair, mood evil.mood, primary key (tenant_id, id));
reset role;";

/// Executes statements as the owner.
async fn as_owner(session: &Connected, sql: &str) {
    let sql = format!("set evil.himself = on; set role evil; {sql}; reset role");
    session.batch_execute(&sql).await.expect(&sql);
}

/// Returns how often another role has run the owner's code.
async fn calls(session: &Connected) -> i64 {
    let read = "select case when is_called then last_value else 0 end from evil.calls";
    session.query_one(read, &[]).await.expect("read").get(0)
}

/// Checks that the agent refused with this code, before the owner's code ran on either shard.
async fn assert_refused(bench: &Bench, done: Result<impl std::fmt::Debug, StepError>, what: &str) {
    let error = done.expect_err(what);
    let failure = error.failure().expect("a failure");
    assert_eq!(failure.code, REFUSED, "{what}: {failure:?}");
    assert!(failure.hint.is_some(), "{what}: {failure:?}");
    for shard in [&bench.source, &bench.target] {
        assert_eq!(calls(&shard.session().await).await, 0, "{what}");
    }
}

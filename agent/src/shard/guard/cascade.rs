//! Foreign keys that cascade into rows which are no more, or not yet, this shard's (ADR 55).
//!
//! Who deletes a row of a reference table deletes it on every shard, and each shard's foreign keys cascade into the
//! rows that it owns; the other shard's copy of moving rows follows by the stream. So where the shard does not own the
//! keys a cascade leaves such a copy as it is, instead of refusing the statement, which is about other rows.
//!
//! Whether it may is in a sequence beside the register, `skips`: 1 only while the shard owns none of the keys, and no
//! attempt is under way that could give them to it. What is skipped is counted, and before each fence the shard that
//! gains the keys is asked what became of it: see [`refuse`] and [`settle`].
//!
//! Only where rows move while the application writes: an owner that is read-only could not follow.

mod dangling;
mod keys;

pub(crate) use dangling::{CASCADE_CODE, check_and_reset, find_unfollowed};

use connect::Connected;
use plans::id::MigrationId;
use plans::key_set::KeySet;
use plans::names::SCHEMA;
use plans::sql::{quote_ident, quote_literal};
use plans::table::MovingTable;
use tokio_postgres::error::SqlState;

use super::{
    execute_with_short_locks, foreign_session_sql, is_covered_by_earlier_leaf, session_user,
};
use crate::error::{StepError, WithIntent};
use crate::shard::epoch::{self, EpochProof, EpochToken};
use crate::shard::guard::GuardedRows;

/// How long an attempt waits for transactions that may skip rows.
const WAIT_LIMIT: &str = "1s";

/// The function, and the sequences: whether cascades skip rows, which an earlier run may have set, and how many they skipped.
fn functions_sql(migration: &MigrationId, skips: bool) -> String {
    format!(
        "create sequence if not exists {SCHEMA}.{} as bigint minvalue 0 maxvalue 1 start {}; \
         create sequence if not exists {SCHEMA}.{} as bigint; {}",
        quote_ident(&migration.skips()),
        u8::from(skips),
        quote_ident(&migration.skipped()),
        function(migration)
    )
}

/// The lock comes first and is kept: a transaction that reads 1 behind it is waited for before the keys can come.
///
/// Only a statement of the server's own foreign keys is skipped, by its text, which it has in no other place; a text of
/// a server that writes another one is refused. Not one for SET DEFAULT: the server asks afterwards whether it was done.
fn function(migration: &MigrationId) -> String {
    format!(
        "create or replace function {SCHEMA}.{name}() returns trigger
         language plpgsql security definer set search_path = pg_catalog, pg_temp as $guard$
         declare
           stack text;
         begin
           perform pg_advisory_xact_lock_shared({lock});
           if (select last_value from {SCHEMA}.{register}) = {max}
              and (select last_value from {SCHEMA}.{skips}) = 1 then
             get diagnostics stack = pg_context;
             if exists (
               select from (select tg_relid as relid union select relid from pg_partition_ancestors(tg_relid)) t
               join pg_class c on c.oid = t.relid
               join pg_namespace n on n.oid = c.relnamespace
               cross join lateral (select split_part(stack, E'\\n', 2), format(
                 case when tg_op = 'DELETE' then 'DELETE FROM ' else 'UPDATE ' end
                   || case when c.relkind = 'p' then '' else 'ONLY ' end || '\"%s\".\"%s\" '
                   || case when tg_op = 'DELETE' then 'WHERE $1' else 'SET \"' end,
                 replace(n.nspname, '\"', '\"\"'), replace(c.relname, '\"', '\"\"'))) s (statement, beginning)
               where strpos(s.statement, s.beginning) between 2 and 40
                 and s.statement ~ ' WHERE \\$\\d+(::\\S+)? OPERATOR\\('
                 and s.statement !~ '\" = DEFAULT(, \"| WHERE )') then
               perform nextval('{SCHEMA}.{skipped}');
               return null;
             end if;
           end if;
           if tg_op = 'DELETE' then
             return old;
           end if;
           return new;
         end $guard$; ",
        name = migration.cascade_function(),
        lock = lock_key(migration),
        register = quote_ident(&migration.register()),
        skips = quote_ident(&migration.skips()),
        max = i64::MAX,
        skipped = quote_ident(&migration.skipped()),
    )
}

/// The key of the advisory lock that a transaction holds, shared, from before it skips a row to its end.
fn lock_key(migration: &MigrationId) -> String {
    format!("pg_catalog.hashtextextended('shardwright:{migration}:skipped', 0)")
}

/// Whether a foreign key of a reference table cascades into moving rows.
pub(crate) async fn has_cascading_keys(
    client: &Connected,
    tables: &[MovingTable],
) -> Result<bool, StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: asking for foreign keys that cascade");
    Ok(!keys::find(client, tables, &what).await?.is_empty())
}

/// Puts the trigger on each table into which a foreign key of a reference table cascades, where [`settle`] may ask what
/// was skipped; elsewhere such a cascade is refused. `skips`: the shard is yet to gain the keys.
///
/// To be called when foreign keys are there; a table without them does without the trigger, which costs each of its
/// updates a lock on the row.
pub(crate) async fn create(
    client: &Connected,
    token: &EpochToken,
    guarded: GuardedRows<'_>,
    skips: bool,
) -> Result<(), StepError> {
    let GuardedRows { keys, tables } = guarded;
    let shard = client.name();
    let what = format!("shard {shard}: putting a guard on foreign keys that cascade");
    let found = keys::find(client, tables, &what).await?;
    if found.is_empty() {
        return Ok(());
    }
    let functions = functions_sql(&token.migration, skips);
    let made = epoch::execute(client, token, &functions).await;
    made.at(&what)?;
    let role = session_user(client).await.at(&what)?;
    for (index, table) in tables.iter().enumerate() {
        let into = |key: &&keys::CascadingKey| tables[key.table].top() == table.top();
        let mut into = found.iter().filter(into).peekable();
        if is_covered_by_earlier_leaf(tables, index) || into.peek().is_none() {
            continue;
        }
        if into.all(|key| key.can_be_queried) {
            let sql = trigger_sql(&token.migration, keys, table, &role);
            execute_with_short_locks(client, token, &sql, &what).await?;
        }
    }
    Ok(())
}

/// The trigger of a table, on the one at the top for a leaf; statements of a client do not call it.
fn trigger_sql(
    migration: &MigrationId,
    keys: &KeySet,
    table: &MovingTable,
    our_role: &str,
) -> String {
    format!(
        "create or replace trigger {name} before delete or update on {on} \
         for each row when (pg_catalog.pg_trigger_depth() > 0 and {moving} and {foreign}) \
         execute function {SCHEMA}.{function}()",
        name = quote_ident(&migration.trigger("cascade")),
        on = table.top().sql(),
        moving = table.predicate(keys, "old"),
        foreign = foreign_session_sql(our_role),
        function = migration.cascade_function(),
    )
}

/// Lets cascades skip the rows of a shard that does not own them: told of the flip that took the keys away, or behind
/// an attempt that the store has released.
///
/// Nothing happens where the shard owns them after all, or where the guard of an older agent stands.
pub(crate) async fn allow_skips(
    client: &Connected,
    token: &EpochToken,
    proof: EpochProof,
) -> Result<(), StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: letting cascades skip moving rows");
    if count_skipped(client, &token.migration, &what)
        .await?
        .is_none()
    {
        return Ok(());
    }
    let sql = format!(
        "select pg_catalog.setval('{SCHEMA}.{skips}', 1) from {SCHEMA}.{register} r, {SCHEMA}.move m
         where r.last_value = {max} and m.migration = {id} and not coalesce(m.owns, m.role = 'source')",
        skips = quote_ident(&token.migration.skips()),
        register = quote_ident(&token.migration.register()),
        max = i64::MAX,
        id = quote_literal(token.migration.as_str()),
    );
    epoch::transact(client, token, proof, &sql, &what)
        .await
        .map(|_| ())
}

/// Lets no cascade skip rows any more on the shard that is to gain the keys, within an attempt that has begun there with
/// `count`, and waits for transactions that may have skipped rows. How many rows were, since that was last settled.
///
/// # Errors
/// [`CASCADE_CODE`], to be tried again, when such a transaction does not end.
pub(crate) async fn refuse_skips(
    client: &Connected,
    token: &EpochToken,
    count: i64,
) -> Result<i64, StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: letting no cascade skip moving rows");
    if count_skipped(client, &token.migration, &what)
        .await?
        .is_none()
    {
        return Ok(0);
    }
    let skips = quote_ident(&token.migration.skips());
    let sql = format!("select pg_catalog.setval('{SCHEMA}.{skips}', 0)");
    let proof = EpochProof::Count(count);
    epoch::transact(client, token, proof, &sql, &what).await?;
    let ended = format!(
        "begin; set local lock_timeout = '{WAIT_LIMIT}'; select pg_catalog.pg_advisory_xact_lock({}); commit",
        lock_key(&token.migration)
    );
    let Err(error) = client.batch_execute(&ended).await else {
        let counted = count_skipped(client, &token.migration, &what).await?;
        return Ok(counted.unwrap_or(0));
    };
    epoch::rollback(client).await;
    if error.code() != Some(&SqlState::LOCK_NOT_AVAILABLE) {
        return Err(error).at(&what);
    }
    Err(StepError::not_yet(
        CASCADE_CODE,
        format!("{what}: a transaction that deleted rows which they refer to has not ended"),
    ))
}

/// How many rows cascades have skipped on a shard; none where the guard of an older agent stands, which refuses them.
async fn count_skipped(
    client: &Connected,
    migration: &MigrationId,
    what: &str,
) -> Result<Option<i64>, StepError> {
    let name = format!("{SCHEMA}.{}", quote_ident(&migration.skipped()));
    let there = "select pg_catalog.to_regclass($1) is not null";
    let row = client.query_one(there, &[&name]).await.at(what)?;
    if !row.get::<_, bool>(0) {
        return Ok(None);
    }
    let counted = format!("select case when is_called then last_value else 0 end from {name}");
    let row = client.query_one(&counted, &[]).await.at(what)?;
    Ok(Some(row.get(0)))
}

//! Foreign keys that cascade into rows which the shard no longer owns, or does not own yet (ADR 55).
//!
//! A statement that deletes a row of a reference table is executed on every shard, and the foreign keys of each shard
//! cascade into the rows that it owns. The stream then carries these changes to the copy on the other shard. On a shard
//! that does not own the keys, a cascade therefore skips the rows of the copy. The alternative would be to refuse the
//! statement, which concerns other rows.
//!
//! The sequence `skips`, next to the register, is the *skip switch*: it permits this. It is 1 only while the shard owns none of the keys, and
//! while no attempt is in progress that could make it their owner. The shard counts skipped rows. Before each fence the
//! agent checks on the new owner that the stream has applied the changes of all skipped rows: see [`refuse_skips`] and
//! [`check_and_reset`].
//!
//! This exists only for online moves. In an offline move the owner is read-only, so the same cascade cannot run there.

mod dangling;
mod keys;

pub(crate) use dangling::{check_and_reset, find_unfollowed};

use connect::Connected;
use plans::failure::StepCode;
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
use crate::shard::epoch::{self, AttemptCount, EpochProof, EpochToken};
use crate::shard::guard::GuardedRows;
use crate::shard::register::Register;

/// How long an attempt waits for transactions that may skip rows.
const WAIT_LIMIT: &str = "1s";

/// Returns the statements that create the function and the sequences: `skips`, which keeps its value if it exists
/// already, and the counter of skipped rows.
fn sequences_and_function_sql(migration: &MigrationId, skips: bool) -> String {
    format!(
        "create sequence if not exists {SCHEMA}.{} as bigint minvalue 0 maxvalue 1 start {}; \
         create sequence if not exists {SCHEMA}.{} as bigint; {}",
        quote_ident(&migration.skips()),
        u8::from(skips),
        quote_ident(&migration.skipped()),
        function_sql(migration, &migration.cascade_function(), "true")
    )
}

/// Returns the statement that creates the function.
///
/// The function takes the lock first and keeps it: before the shard can become the owner, the agent waits until every
/// transaction has ended that has the lock and may have read 1.
///
/// The function skips only statements of the server's own foreign keys, which it recognizes by their text. A client's
/// statement does not have this text. If a version of the server uses another text, no row is skipped, and the guard
/// refuses the cascade. It does not skip statements for SET
/// DEFAULT, because the server afterwards checks their effect.
///
/// `moving` is the condition that the row `old` moves, if WHEN cannot contain it.
fn function_sql(migration: &MigrationId, name: &str, moving: &str) -> String {
    format!(
        "create or replace function {SCHEMA}.{name}() returns trigger
         language plpgsql security definer set search_path = pg_catalog, pg_temp as $guard$
         declare
           stack text;
         begin
           if {moving} then
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
           end if;
           if tg_op = 'DELETE' then
             return old;
           end if;
           return new;
         end $guard$; ",
        lock = lock_key(migration),
        register = quote_ident(&migration.register()),
        skips = quote_ident(&migration.skips()),
        max = Register::Closed.value(),
        skipped = quote_ident(&migration.skipped()),
    )
}

/// Returns the key of the advisory lock that a transaction holds, in shared mode, from before it skips a row until it
/// ends.
fn lock_key(migration: &MigrationId) -> String {
    format!("pg_catalog.hashtextextended('shardwright:{migration}:skipped', 0)")
}

/// Returns whether a foreign key to a reference table cascades into moving rows.
pub(crate) async fn has_cascading_keys(
    client: &Connected,
    tables: &[MovingTable],
) -> Result<bool, StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: searching for foreign keys that cascade");
    Ok(!keys::find(client, tables, &what).await?.is_empty())
}

/// Creates the trigger on each table into which a foreign key to a reference table cascades, if [`check_and_reset`] can
/// find the rows that a skip left behind without a parent. The guard refuses other cascades. `skips` is true on a shard that is to become the owner.
///
/// Call this when the foreign keys exist. A table without such keys gets no trigger, because it would cost each update
/// a lock on the row.
pub(crate) async fn create(
    client: &Connected,
    token: &EpochToken,
    guarded: GuardedRows<'_>,
    skips: bool,
) -> Result<(), StepError> {
    let GuardedRows { keys, tables } = guarded;
    let shard = client.name();
    let what = format!("shard {shard}: creating the guard of foreign keys that cascade");
    let found = keys::find(client, tables, &what).await?;
    if found.is_empty() {
        return Ok(());
    }
    let functions = sequences_and_function_sql(&token.migration, skips);
    let created = epoch::execute(client, token, &functions).await;
    created.at(&what)?;
    let role = session_user(client).await.at(&what)?;
    for (index, table) in tables.iter().enumerate() {
        let leads_to_table = |key: &&keys::CascadingKey| tables[key.table].top() == table.top();
        let mut keys_of_table = found.iter().filter(leads_to_table).peekable();
        if is_covered_by_earlier_leaf(tables, index) || keys_of_table.peek().is_none() {
            continue;
        }
        if keys_of_table.all(|key| key.can_be_queried) {
            let sql = table_sql(&token.migration, keys, (index, table), &role);
            execute_with_short_locks(client, token, &sql, &what).await?;
        }
    }
    Ok(())
}

/// Returns the statements that create the trigger of a table, and the function of a dependent table. For a leaf the trigger
/// is on its topmost table. The trigger does not fire for statements of a client, only for those of a foreign key or a
/// trigger.
fn table_sql(
    migration: &MigrationId,
    keys: &KeySet,
    (index, table): (usize, &MovingTable),
    our_role: &str,
) -> String {
    // WHEN cannot query other tables, so the function of a dependent table does.
    let (create_function, function, moving) = if table.through().is_some() {
        let name = migration.dependent_cascade_function(index);
        let sql = function_sql(migration, &name, &table.predicate_or_missing(keys, "old"));
        (sql, name, "true".to_owned())
    } else {
        let name = migration.cascade_function();
        (String::new(), name, table.predicate(keys, "old"))
    };
    format!(
        "{create_function}create or replace trigger {name} before delete or update on {on} \
         for each row when (pg_catalog.pg_trigger_depth() > 0 and {moving} and {foreign}) \
         execute function {SCHEMA}.{function}()",
        name = quote_ident(&migration.trigger("cascade")),
        on = table.top().sql(),
        foreign = foreign_session_sql(our_role),
    )
}

/// Allows cascades to skip moving rows on a shard that does not own them: after the flip that took the keys from it, or
/// after an attempt that was given up.
///
/// It does nothing if the shard does own the keys, or if an older version of the agent created the guard.
pub(crate) async fn allow_skips(
    client: &Connected,
    token: &EpochToken,
    proof: EpochProof,
) -> Result<(), StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: allowing cascades to skip moving rows");
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
        max = Register::Closed.value(),
        id = quote_literal(token.migration.as_str()),
    );
    epoch::transact(client, token, proof, &sql, &what)
        .await
        .map(|_| ())
}

/// Forbids cascades to skip rows on the new owner, in an attempt whose attempt counter there is `count`, and waits for
/// transactions that may have skipped rows. Returns how many rows were skipped since [`check_and_reset`].
///
/// # Errors
/// `cutover.cascade`, to be tried again, if such a transaction does not end.
pub(crate) async fn refuse_skips(
    client: &Connected,
    token: &EpochToken,
    count: AttemptCount,
) -> Result<i64, StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: forbidding cascades to skip moving rows");
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
    let wait_for_skips = format!(
        "begin; set local lock_timeout = '{WAIT_LIMIT}'; select pg_catalog.pg_advisory_xact_lock({}); commit",
        lock_key(&token.migration)
    );
    let Err(error) = client.batch_execute(&wait_for_skips).await else {
        let counted = count_skipped(client, &token.migration, &what).await?;
        return Ok(counted.unwrap_or(0));
    };
    epoch::rollback(client).await;
    if error.code() != Some(&SqlState::LOCK_NOT_AVAILABLE) {
        return Err(error).at(&what);
    }
    Err(StepError::not_yet(
        StepCode::CutoverCascade,
        format!("{what}: a transaction that deleted or changed referenced rows has not ended"),
    ))
}

/// Returns how many rows cascades have skipped on a shard; `None` if an older version of the agent created the guard, which
/// then refuses such cascades.
async fn count_skipped(
    client: &Connected,
    migration: &MigrationId,
    what: &str,
) -> Result<Option<i64>, StepError> {
    let name = format!("{SCHEMA}.{}", quote_ident(&migration.skipped()));
    let exists = "select pg_catalog.to_regclass($1) is not null";
    let row = client.query_one(exists, &[&name]).await.at(what)?;
    if !row.get::<_, bool>(0) {
        return Ok(None);
    }
    let counted = format!("select case when is_called then last_value else 0 end from {name}");
    let row = client.query_one(&counted, &[]).await.at(what)?;
    Ok(Some(row.get(0)))
}

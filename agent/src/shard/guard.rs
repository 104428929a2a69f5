//! The guard: triggers that refuse writes to the moving keys while the register is closed or fenced.
//!
//! - The row triggers are AFTER ROW, so that no BEFORE trigger of the application can change the key after the check
//!   (R5).
//! - They are ENABLE ALWAYS, so that they also fire for sessions with the role `replica`.
//! - WHEN contains the predicate and the bypass of the agents, so that writes to other keys and writes of the agents
//!   queue no event. A function in WHEN decides once for each statement whether the session is the agents' (ADR 34).
//! - The register is a sequence, so its value does not depend on a snapshot.
//!
//! The row triggers of leaves are on the topmost partitioned table: PostgreSQL creates them on each leaf, and on each
//! later partition. The TRUNCATE trigger is a statement trigger, so each leaf has its own.

pub(crate) mod cascade;
pub(crate) mod clone;
pub(crate) mod ddl_guard;
mod functions;
pub(crate) mod large_sets;
pub(crate) mod owner_change;
mod replaced_parent;

pub(crate) use functions::{disable, functions_sql, passed_lock_key, replace_if_outdated};

use std::time::Duration;

use connect::Connected;
use plans::failure::StepCode;
use plans::id::{MapName, MigrationId};
use plans::key_set::KeySet;
use plans::names::{BYPASS_SETTING, GUARD_FUNCTIONS, SCHEMA, TRIGGER_PREFIX};
use plans::sql::{quote_ident, quote_literal};
use plans::table::{MovingTable, TableKey, TableName};
use tokio_postgres::error::SqlState;

use super::epoch::{self, EpochToken};
use super::register::Register;
use crate::error::{StepError, WithIntent};

/// Number of attempts to change a table's triggers while another session holds a conflicting lock.
const LOCK_TRIES: u32 = 150;
/// As [`LOCK_TRIES`], for an abort, after which a sweep can still remove the guard: about six seconds.
const LOCK_TRIES_OF_ABORT: u32 = 15;
/// Pause between two attempts, in which writers that queue after the agent's lock request proceed.
const LOCK_PAUSE: Duration = Duration::from_millis(200);

/// Creates the register with the value of `register`, unless it exists.
pub(crate) async fn create_register(
    client: &Connected,
    migration: &MigrationId,
    register: Register,
) -> Result<(), tokio_postgres::Error> {
    let name = quote_ident(&migration.register());
    client
        .batch_execute(&format!(
            "create sequence if not exists {SCHEMA}.{name} as bigint minvalue 0 maxvalue {max} start {value} cache 1",
            max = Register::Closed.value(),
            value = register.value()
        ))
        .await
}

/// Returns the condition of WHEN that is true for every session except those of Shardwright's agents: it checks the
/// bypass setting and the role (R16).
pub(crate) fn foreign_session_sql(our_role: &str) -> String {
    format!(
        "(pg_catalog.current_setting('{BYPASS_SETTING}', true) is distinct from 'on' or session_user <> {})",
        quote_literal(our_role)
    )
}

/// Returns whether an earlier leaf in `tables` has the same topmost table, and so has created the row triggers there.
pub(crate) fn is_covered_by_earlier_leaf(tables: &[MovingTable], index: usize) -> bool {
    let top = tables[index].top();
    tables[..index].iter().any(|earlier| earlier.top() == top)
}

/// Returns the statements that create a row guard on one table, for a leaf on its topmost table. Three triggers call
/// `function` for rows that `predicate` selects, given `new` or `old`, in statements for which `foreign` is true.
pub(crate) fn row_triggers(
    table: &MovingTable,
    name: impl Fn(&str) -> String,
    function: &str,
    predicate: impl Fn(&str) -> String,
    foreign: &str,
) -> String {
    let on = table.top().sql();
    let (new, old) = (predicate("new"), predicate("old"));
    let row = [
        ("insert", format!("{new} and {foreign}")),
        ("delete", format!("{old} and {foreign}")),
        ("update", format!("({old} or {new}) and {foreign}")),
    ];
    let mut sql = String::new();
    for (event, when) in row {
        let name = quote_ident(&name(event));
        sql.push_str(&format!(
            "create or replace trigger {name} after {event} on {on} \
             for each row when ({when}) execute function {SCHEMA}.{function}(); \
             alter table {on} enable always trigger {name}; "
        ));
    }
    sql
}

/// Returns the statements that create the guard on the table at `index`. A reference table gets no row triggers, and a
/// retired partition no trigger of its own.
pub(crate) fn triggers_sql(
    migration: &MigrationId,
    keys: &KeySet,
    index: usize,
    tables: &[MovingTable],
    our_role: &str,
) -> String {
    let table = &tables[index];
    let name = |event: &str| migration.trigger(event);
    let row_foreign = format!("{SCHEMA}.{}()", migration.foreign_function());
    let mut sql = match &table.key {
        _ if is_covered_by_earlier_leaf(tables, index) => String::new(),
        TableKey::Columns(_) | TableKey::Schema(_) | TableKey::Group(_) => row_triggers(
            table,
            name,
            &migration.guard_function(),
            |row| large_sets::predicate(table, keys, row, &migration.key_set_function()),
            &row_foreign,
        ),
        TableKey::Through(_) => row_triggers(
            table,
            name,
            &migration.through_function(index),
            |_| "true".to_owned(),
            &row_foreign,
        ),
        TableKey::Reference => String::new(),
    };
    if table.retired {
        return sql;
    }
    let (on, name) = (
        table.table.sql(),
        quote_ident(&migration.trigger("truncate")),
    );
    sql.push_str(&format!(
        "create or replace trigger {name} before truncate on {on} \
         for each statement when ({}) execute function {SCHEMA}.{}(); \
         alter table {on} enable always trigger {name};",
        foreign_session_sql(our_role),
        migration.truncate_function()
    ));
    sql
}

/// Returns the events for which a table has guard triggers.
fn events_on(table: &MovingTable) -> &'static [&'static str] {
    match table.key {
        TableKey::Columns(_) | TableKey::Through(_) | TableKey::Schema(_) | TableKey::Group(_) => {
            &["insert", "update", "delete", "truncate"]
        }
        TableKey::Reference => &["truncate"],
    }
}

/// The rows that a guard covers: those with these keys in these tables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GuardedRows<'a> {
    pub(crate) keys: &'a KeySet,
    pub(crate) tables: &'a [MovingTable],
}

/// Creates the functions of the guard, and then its triggers, table by table. Each table is locked only for a moment.
pub(crate) async fn create(
    client: &Connected,
    token: &EpochToken,
    map: &MapName,
    guarded: GuardedRows<'_>,
) -> Result<(), StepError> {
    let GuardedRows { keys, tables } = guarded;
    let shard = client.name();
    functions::create(client, token, map, guarded).await?;
    let role = session_user(client)
        .await
        .at(format_args!("shard {shard}: reading the session's role"))?;
    for (index, table) in tables.iter().enumerate() {
        let sql = triggers_sql(&token.migration, keys, index, tables, &role);
        let what = format!("shard {shard}: creating the guard on {}", table.table);
        execute_with_short_locks(client, token, &sql, &what).await?;
    }
    Ok(())
}

/// Returns the role with which the agent's sessions log in.
pub(crate) async fn session_user(session: &Connected) -> Result<String, tokio_postgres::Error> {
    let row = session.query_one("select session_user::text", &[]).await?;
    Ok(row.get(0))
}

/// Returns the statements that drop a migration's guard on one table; with the first leaf of a topmost table also those
/// on that table.
pub(crate) fn drop_triggers_sql(
    migration: &MigrationId,
    index: usize,
    tables: &[MovingTable],
) -> String {
    let table = &tables[index];
    let drop_trigger = |event: &str, on: &TableName| {
        let trigger = quote_ident(&migration.trigger(event));
        format!("drop trigger if exists {trigger} on {}", on.sql())
    };
    let mut sql = vec![drop_trigger("truncate", &table.table)];
    if !is_covered_by_earlier_leaf(tables, index) {
        sql.extend(
            ["insert", "update", "delete", "cascade"]
                .into_iter()
                .chain(owner_change::trigger_events())
                .map(|event| drop_trigger(event, table.top())),
        );
    }
    sql.join("; ")
}

/// Executes DDL on a live table. Each attempt waits at most 200 ms for a lock. The attempts continue for half a minute.
pub(crate) async fn execute_with_short_locks(
    client: &Connected,
    token: &EpochToken,
    sql: &str,
    what: &str,
) -> Result<(), StepError> {
    execute_with_tries(client, token, sql, LOCK_TRIES, what).await
}

/// As [`execute_with_short_locks`], with `tries` attempts.
async fn execute_with_tries(
    client: &Connected,
    token: &EpochToken,
    sql: &str,
    tries: u32,
    what: &str,
) -> Result<(), StepError> {
    let guarded = format!("set local lock_timeout = '200ms'; {sql}");
    for attempt in 0..tries {
        match epoch::execute(client, token, &guarded).await {
            Ok(()) => return Ok(()),
            Err(error)
                if attempt + 1 < tries && error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) =>
            {
                tokio::time::sleep(LOCK_PAUSE).await;
            }
            Err(error) => return Err(error).at(what),
        }
    }
    Ok(())
}

/// Drops all triggers, functions and sequences of the migration's guard. The migration must be enrolled on this shard.
pub(crate) async fn drop_all(client: &Connected, token: &EpochToken) -> Result<(), StepError> {
    drop_within(client, token, LOCK_TRIES).await
}

/// As [`drop_all`], with fewer attempts, for an abort. If a table stays locked, this fails and its guard remains.
pub(crate) async fn drop_all_quickly(
    client: &Connected,
    token: &EpochToken,
) -> Result<(), StepError> {
    drop_within(client, token, LOCK_TRIES_OF_ABORT).await
}

/// As [`drop_all`], with `tries` attempts for each trigger.
async fn drop_within(client: &Connected, token: &EpochToken, tries: u32) -> Result<(), StepError> {
    let shard = client.name();
    let migration = &token.migration;
    ddl_guard::drop(client, token).await?;
    let what = format!("shard {shard}: dropping guards");
    let rows = client
        .query(
            "select pg_catalog.format('drop trigger if exists %I on %I.%I', t.tgname, n.nspname, c.relname)
             from pg_catalog.pg_trigger t
             join pg_catalog.pg_class c on c.oid = t.tgrelid
             join pg_catalog.pg_namespace n on n.oid = c.relnamespace
             where not t.tgisinternal and t.tgparentid = 0 and t.tgname like $1",
            &[&format!("{TRIGGER_PREFIX}{migration}\\_%")],
        )
        .await
        .at(&what)?;
    for row in rows {
        execute_with_tries(client, token, row.get(0), tries, &what).await?;
    }
    let functions = client
        .query(
            "select pg_catalog.format('drop function %I.%I(%s)', n.nspname, p.proname,
                    pg_catalog.pg_get_function_identity_arguments(p.oid))
             from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
             where n.nspname = $1 and p.proname ~ $2",
            &[
                &SCHEMA,
                &format!("^({}){migration}(_[0-9]+)?$", GUARD_FUNCTIONS.join("|")),
            ],
        )
        .await
        .at(&what)?;
    let mut sql: Vec<String> = functions.iter().map(|row| row.get(0)).collect();
    sql.push(format!(
        "drop sequence if exists {SCHEMA}.{}, {SCHEMA}.{}, {SCHEMA}.{}, {SCHEMA}.{}",
        quote_ident(&migration.register()),
        quote_ident(&migration.refusals()),
        quote_ident(&migration.skips()),
        quote_ident(&migration.skipped())
    ));
    epoch::execute(client, token, &sql.join("; "))
        .await
        .at(&what)
}

/// Returns how many writes the migration's guard has refused on this shard; `None` if the guard is of an older version,
/// which does not count.
pub(crate) async fn count_refused(
    client: &Connected,
    migration: &MigrationId,
) -> Result<Option<i64>, StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: counting refused writes");
    let refusals = format!("{SCHEMA}.{}", quote_ident(&migration.refusals()));
    let exists = client
        .query_one(
            "select pg_catalog.to_regclass($1) is not null",
            &[&refusals],
        )
        .await
        .at(&what)?;
    if !exists.get::<_, bool>(0) {
        return Ok(None);
    }
    let counted = format!("select case when is_called then last_value else 0 end from {refusals}");
    let row = client.query_one(&counted, &[]).await.at(&what)?;
    Ok(Some(row.get(0)))
}

/// Returns table, state and definition of each guard trigger (R10).
pub(crate) async fn read_triggers(
    client: &Connected,
    migration: &MigrationId,
) -> Result<Vec<String>, StepError> {
    let shard = client.name();
    let rows = client
        .query_prepared(
            "select pg_catalog.format('%s %s %s', t.tgrelid::regclass, t.tgenabled, pg_catalog.pg_get_triggerdef(t.oid))
             from pg_catalog.pg_trigger t
             where not t.tgisinternal and t.tgname like $1
             order by 1",
            &[&format!("{TRIGGER_PREFIX}{migration}\\_%")],
        )
        .await
        .at(format_args!("shard {shard}: reading guards"))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Returns the guard triggers that a moving table lacks, or that are not `ENABLE ALWAYS`, as `trigger on table`.
pub(crate) async fn missing_triggers(
    client: &Connected,
    migration: &MigrationId,
    tables: &[MovingTable],
) -> Result<Vec<String>, StepError> {
    let expected = tables.iter().flat_map(|table| {
        let events = events_on(table).iter();
        events.map(|event| (table.table.sql(), migration.trigger(event)))
    });
    missing_triggers_of(client, expected.collect()).await
}

/// Returns those of the triggers, each a table with the name of its trigger, that are missing or not `ENABLE ALWAYS`.
async fn missing_triggers_of(
    client: &Connected,
    expected: Vec<(String, String)>,
) -> Result<Vec<String>, StepError> {
    let shard = client.name();
    let (on, names): (Vec<String>, Vec<String>) = expected.into_iter().unzip();
    let rows = client
        .query(
            "select pg_catalog.format('%s on %s', e.trigger, e.name)
             from rows from (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) e (name, trigger)
             where not exists (
               select from pg_catalog.pg_trigger t
               where t.tgrelid = pg_catalog.to_regclass(e.name) and t.tgname = e.trigger and t.tgenabled = 'A')
             order by 1",
            &[&on, &names],
        )
        .await
        .at(format_args!("shard {shard}: reading guards"))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Returns those of the tables whose moving rows are on the shard. A retired partition has such rows until its own guard
/// trigger is removed; without it, a table of that name is another one.
pub(crate) async fn tables_with_rows(
    client: &Connected,
    migration: &MigrationId,
    tables: Vec<MovingTable>,
) -> Result<Vec<MovingTable>, StepError> {
    let shard = client.name();
    let retired = tables.iter().filter(|table| table.retired);
    let retired: Vec<String> = retired.map(|table| table.table.sql()).collect();
    if retired.is_empty() {
        return Ok(tables);
    }
    let rows = client
        .query(
            "select name from pg_catalog.unnest($1::text[]) name
             where exists (select from pg_catalog.pg_trigger t
                           where t.tgrelid = pg_catalog.to_regclass(name) and t.tgname = $2)",
            &[&retired, &migration.trigger("truncate")],
        )
        .await
        .at(format_args!("shard {shard}: reading guards"))?;
    let guarded: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    let mut found = tables;
    found.retain(|table| !table.retired || guarded.contains(&table.table.sql()));
    Ok(found)
}

/// Fails unless every moving table has all guard triggers, all `ENABLE ALWAYS`. Returns the triggers as
/// [`read_triggers`].
pub(crate) async fn check(
    client: &Connected,
    migration: &MigrationId,
    tables: &[MovingTable],
) -> Result<Vec<String>, StepError> {
    let missing = missing_triggers(client, migration, tables).await?;
    if missing.is_empty() {
        return read_triggers(client, migration).await;
    }
    Err(missing_error(client, &missing))
}

fn missing_error(client: &Connected, missing: &[String]) -> StepError {
    StepError::listed(
        StepCode::GuardChanged,
        format!(
            "shard {}: guard triggers were dropped or disabled: {}",
            client.name(),
            missing.join(", ")
        ),
    )
}

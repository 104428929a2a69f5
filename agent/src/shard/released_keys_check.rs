//! Checks the guard of released keys, and repairs it.
//!
//! To obtain the expected definition, the check creates the triggers on a temporary table, in a transaction that it
//! rolls back. The server then prints both definitions in the same form.

use std::collections::BTreeMap;
use std::time::Duration;

use connect::Connected;
use plans::failure::StepCode;
use plans::id::MapName;
use plans::key_set::KeySet;
use plans::names::{
    SCHEMA, released_keys_function, released_keys_set_function, released_keys_trigger,
};
use plans::sql::quote_literal;
use plans::table::{MovingTable, TableName};
use tokio_postgres::error::SqlState;

use super::guard;
use crate::error::{StepError, WithIntent};
use crate::shard::{epoch, released_keys};

/// The events for which the guard has a trigger.
const EVENTS: [&str; 3] = ["insert", "update", "delete"];
/// The name of the temporary table on which the check creates the expected triggers.
const SAMPLE_TABLE: &str = "shardwright_probe";
/// Number of attempts to create the triggers while another session holds a conflicting lock.
const LOCK_TRIES: u32 = 150;
/// Pause between two attempts. During the pause, the writers that waited for the agent's lock request continue.
const LOCK_PAUSE: Duration = Duration::from_millis(200);

/// Returns the keys of a map that this shard has released, if there are any. The table `shardwright.away` contains
/// them.
pub(crate) async fn read_keys(
    client: &Connected,
    map: &MapName,
) -> Result<Option<KeySet>, StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: reading released keys");
    if !epoch::schema_exists(client).await? {
        return Ok(None);
    }
    let row = client
        .query_opt(
            "select keys from shardwright.away where map = $1",
            &[&map.0],
        )
        .await
        .at(&what)?;
    row.map(|row| released_keys::parse_keys(row.get(0), &what))
        .transpose()
}

/// Returns the problems of the guard on a table: at most one for the function, and one for each trigger. The result is
/// empty if the guard is as expected.
pub(crate) async fn find_problems(
    client: &Connected,
    map: &MapName,
    keys: &KeySet,
    table: &MovingTable,
) -> Result<Vec<String>, StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: reading the guard on {}", table.table);
    client.batch_execute("begin").await.at(&what)?;
    let compared = compare_triggers(client, map, keys, table).await.at(&what);
    let _ = client.batch_execute("rollback").await;
    compared
}

/// As [`find_problems`], in the caller's transaction.
async fn compare_triggers(
    client: &Connected,
    map: &MapName,
    keys: &KeySet,
    table: &MovingTable,
) -> Result<Vec<String>, tokio_postgres::Error> {
    lock_guard(client, map).await?;
    let name = released_keys_function(map);
    let Some(body) = function_body(client, &name).await? else {
        return Ok(vec![format!("function {name} is missing")]);
    };
    let mut problems = Vec::new();
    if !released_keys::function_sql(map).contains(&body) {
        problems.push(format!("function {name} is altered"));
    }
    let (of_sample, role) = (sample_of(table), guard::session_user(client).await?);
    let foreign = guard::foreign_session_sql(&role);
    let triggers = |predicate: &dyn Fn(&str) -> String| {
        guard::row_triggers(
            &of_sample,
            |event| released_keys_trigger(map, event),
            &name,
            predicate,
            &foreign,
        )
    };
    // An earlier version has no function for a large set, and the whole set in each trigger.
    let mut forms = vec![triggers(&|row| of_sample.predicate(keys, row))];
    let key_set = released_keys::key_set_sql(map, keys, std::slice::from_ref(table));
    let key_set_name = released_keys_set_function(map);
    let key_set_body = function_body(client, &key_set_name).await?;
    if let Some(body) = key_set_body.filter(|_| !key_set.is_empty()) {
        if !key_set.contains(&body) {
            problems.push(format!("function {key_set_name} is altered"));
        }
        forms.insert(
            0,
            triggers(&|row| released_keys::set_predicate(map, &of_sample, keys, row)),
        );
    }
    let mut of_forms = Vec::new();
    for form in forms {
        of_forms.push(trigger_problems(client, map, table, &form).await?);
    }
    problems.extend(
        of_forms
            .into_iter()
            .min_by_key(Vec::len)
            .unwrap_or_default(),
    );
    Ok(problems)
}

/// Returns the table on which the check creates the expected triggers.
fn sample_of(table: &MovingTable) -> MovingTable {
    let mut sample = table.clone();
    sample.table = TableName {
        schema: "pg_temp".to_owned(),
        name: SAMPLE_TABLE.to_owned(),
    };
    sample
}

/// Returns the body of a function in the schema `shardwright`.
async fn function_body(
    client: &Connected,
    name: &str,
) -> Result<Option<String>, tokio_postgres::Error> {
    let row = client
        .query_opt(
            "select p.prosrc from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
             where n.nspname = $1 and p.proname = $2",
            &[&SCHEMA, &name],
        )
        .await?;
    Ok(row.map(|row| row.get(0)))
}

/// Returns how the triggers on a table differ from those that `expected` creates on a sample of the table.
async fn trigger_problems(
    client: &Connected,
    map: &MapName,
    table: &MovingTable,
    expected: &str,
) -> Result<Vec<String>, tokio_postgres::Error> {
    let sample = sample_of(table);
    let original = table.table.sql();
    client
        .batch_execute(&format!(
            "create temporary table {SAMPLE_TABLE} (like {original}); {expected}"
        ))
        .await?;
    let expected = read_triggers(client, &sample).await?;
    let drop = format!("drop table pg_temp.{SAMPLE_TABLE}");
    client.batch_execute(&drop).await?;
    let found = read_triggers(client, table).await?;
    let mut problems = Vec::new();
    for event in EVENTS {
        let name = released_keys_trigger(map, event);
        match (found.get(&name), expected.get(&name)) {
            (None, _) => problems.push(format!("trigger {name} is missing")),
            (Some((state, _)), _) if state != "A" => {
                problems.push(format!("trigger {name} is not ENABLE ALWAYS"));
            }
            (Some(found), Some(expected)) if found != expected => {
                problems.push(format!("trigger {name} is altered"));
            }
            (Some(_), _) => {}
        }
    }
    Ok(problems)
}

/// Returns the state and the definition of each trigger, without the name of the table. The expected state is `A`
/// (ENABLE ALWAYS). If the trigger has a different state on a partition than on the table, the function returns the
/// state `D`, which the caller reports as a problem.
async fn read_triggers(
    client: &Connected,
    table: &MovingTable,
) -> Result<BTreeMap<String, (String, String)>, tokio_postgres::Error> {
    let rows = client
        .query(
            "select t.tgname::text,
                    case when exists (select from pg_catalog.pg_trigger p
                                      where p.tgname = t.tgname and p.tgenabled <> t.tgenabled
                                        and p.tgrelid in (
                                          with recursive tree (oid) as (
                                            select t.tgrelid union
                                            select i.inhrelid from tree join pg_catalog.pg_inherits i on i.inhparent = tree.oid)
                                          select oid from tree))
                         then 'D' else t.tgenabled::text end,
                    pg_catalog.pg_get_triggerdef(t.oid)
             from pg_catalog.pg_trigger t where t.tgrelid = pg_catalog.to_regclass($1) and not t.tgisinternal",
            &[&table.table.sql()],
        )
        .await?;
    let without_table = |definition: &str| match (
        definition.split_once(" ON "),
        definition.split_once(" FOR EACH ROW"),
    ) {
        (Some((before, _)), Some((_, after))) => format!("{before}{after}"),
        (_, _) => definition.to_owned(),
    };
    Ok(rows
        .iter()
        .map(|row| (row.get(0), (row.get(1), without_table(row.get(2)))))
        .collect())
}

/// Returns the statements that create the triggers.
fn triggers_sql(map: &MapName, keys: &KeySet, table: &MovingTable, role: &str) -> String {
    guard::row_triggers(
        table,
        |event| released_keys_trigger(map, event),
        &released_keys_function(map),
        |row| released_keys::set_predicate(map, table, keys, row),
        &guard::foreign_session_sql(role),
    )
}

/// Takes the lock of the map's guard, until the transaction ends.
async fn lock_guard(client: &Connected, map: &MapName) -> Result<(), tokio_postgres::Error> {
    let name = quote_literal(&released_keys::lock_name(map));
    let sql =
        format!("select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended({name}, 0))");
    client.batch_execute(&sql).await
}

/// Returns whether exactly `keys` are still the released keys of the map.
async fn are_still_released(
    client: &Connected,
    map: &MapName,
    keys: &KeySet,
) -> Result<bool, tokio_postgres::Error> {
    let row = client
        .query_opt(
            "select keys = $2 from shardwright.away where map = $1",
            &[&map.0, &serde_json::json!(keys)],
        )
        .await?;
    Ok(row.is_some_and(|row| row.get(0)))
}

/// Creates the function and the triggers again, in their expected form.
pub(crate) async fn recreate_guard(
    client: &Connected,
    map: &MapName,
    keys: &KeySet,
    table: &MovingTable,
) -> Result<(), StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: creating the guard on {}", table.table);
    let role = guard::session_user(client).await.at(&what)?;
    let sql = format!(
        "set local lock_timeout = '200ms'; {}; {}",
        released_keys::functions_sql(map, keys, std::slice::from_ref(table)),
        triggers_sql(map, keys, table, &role)
    );
    for attempt in 1.. {
        client.batch_execute("begin").await.at(&what)?;
        let recreated = async {
            lock_guard(client, map).await?;
            // Keys may have returned since they were read. The check is safe only under the lock.
            if !are_still_released(client, map, keys).await? {
                return Ok(false);
            }
            client.batch_execute(&sql).await?;
            client.batch_execute("commit").await?;
            Ok::<_, tokio_postgres::Error>(true)
        };
        let error = match recreated.await {
            Ok(true) => break,
            Ok(false) => {
                let _ = client.batch_execute("rollback").await;
                return Err(StepError::listed(
                    StepCode::RepairChanged,
                    format!("{what}: the released keys changed meanwhile; nothing was done"),
                ));
            }
            Err(error) => error,
        };
        let _ = client.batch_execute("rollback").await;
        if attempt >= LOCK_TRIES || error.code() != Some(&SqlState::LOCK_NOT_AVAILABLE) {
            return Err(error).at(&what);
        }
        tokio::time::sleep(LOCK_PAUSE).await;
    }
    Ok(())
}

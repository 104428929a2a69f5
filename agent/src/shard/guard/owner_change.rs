//! Refuses an UPDATE that would bring a row with dependents into the moving keys.
//!
//! In an online move the change stream assigns the rows of a dependent table to keys by their parent rows. If an UPDATE
//! brings a parent row into the moving keys, its dependents move too, but the log has no change of them, so the stream
//! cannot insert them on the other shard. The trigger refuses such an UPDATE, whatever the value of the register is, as
//! long as the migration has its guard. (If an UPDATE takes a parent row out of the moving keys, the stream removes its
//! dependents. `replaced_parent` refuses what an UPDATE of the key does not show.)

use std::collections::BTreeSet;

use connect::Connected;
use plans::id::MigrationId;
use plans::key_set::KeySet;
use plans::names::{SCHEMA, SQLSTATE_REFUSED};
use plans::sql::{quote_ident, quote_literal};
use plans::table::{MovingTable, TableKey};

use super::{
    GuardedRows, execute_with_short_locks, is_covered_by_earlier_leaf, missing_error,
    missing_triggers_of, replaced_parent,
};
use crate::error::StepError;
use crate::shard::epoch::EpochToken;

/// The events in the names of the triggers: one fires for statements of a client, the other for those of a foreign key or a
/// trigger.
const EVENTS: [&str; 2] = ["update_owner", "cascade_owner"];

/// Returns the events of all triggers of such a table.
pub(super) fn trigger_events() -> impl Iterator<Item = &'static str> {
    EVENTS.into_iter().chain(replaced_parent::EVENTS)
}

/// Returns the indexes of the tables whose rows have dependents; of a partitioned table only that of the first leaf.
fn parents(tables: &[MovingTable]) -> impl Iterator<Item = usize> {
    (0..tables.len()).filter(|index| {
        tables[*index].is_parent_among(tables) && !is_covered_by_earlier_leaf(tables, *index)
    })
}

/// Creates the function and the triggers on each table whose rows have dependents. Each table is locked only for a moment.
pub(crate) async fn create(
    client: &Connected,
    token: &EpochToken,
    guarded: GuardedRows<'_>,
) -> Result<(), StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: creating the guard of rows with dependents");
    for index in parents(guarded.tables) {
        let sql = table_sql(&token.migration, guarded, index)
            + &replaced_parent::table_sql(&token.migration, guarded, index);
        execute_with_short_locks(client, token, &sql, &what).await?;
    }
    Ok(())
}

/// Returns the statements that create the function and the triggers of one table.
fn table_sql(migration: &MigrationId, guarded: GuardedRows<'_>, index: usize) -> String {
    let GuardedRows { keys, tables } = guarded;
    let table = &tables[index];
    let function = migration.owner_function(index);
    let (when, enters) = conditions(table, keys);
    let on = table.top().sql();
    let triggers = EVENTS.iter().zip(["= 0", "> 0"]).map(|(event, depth)| {
        format!(
            "create or replace trigger {name} after update on {on}
             for each row when ({when} and pg_catalog.pg_trigger_depth() {depth} and {SCHEMA}.{foreign}())
             execute function {SCHEMA}.{function}({event});
             alter table {on} enable always trigger {name}; ",
            name = quote_ident(&migration.trigger(event)),
            foreign = migration.foreign_function(),
        )
    });
    format!(
        "create or replace function {SCHEMA}.{function}() returns trigger
         language plpgsql security definer set search_path = pg_catalog, pg_temp as $guard$
         begin
           if not ({enters}) then
             return null;
           end if;
           {return_without_dependents}
           raise exception using
             errcode = '{SQLSTATE_REFUSED}',
             message = format('an UPDATE that gives a row of %I.%I a moving key is refused while migration %s moves rows that belong to it', tg_table_schema, tg_table_name, {id}),
             hint = 'wait for the migration to end, or insert the row and those that belong to it again with the new key';
         end $guard$;
         {triggers}",
        id = quote_literal(migration.as_str()),
        return_without_dependents = return_without_dependents_sql(table, tables),
        triggers = triggers.collect::<String>(),
    )
}

/// Returns the statements that return from the function if no rows of other tables belong to the row `new`.
///
/// The lock excludes writers of new dependents. In another isolation level the snapshot may not show all dependents, and a
/// row without an identity cannot be locked: the function then assumes that it has some.
fn return_without_dependents_sql(table: &MovingTable, tables: &[MovingTable]) -> String {
    if table.identity.is_empty() {
        return String::new();
    }
    let identity = |row: &str| {
        let columns = table.identity.iter();
        let columns = columns.map(|column| format!("{row}{}", quote_ident(column)));
        columns.collect::<Vec<_>>().join(", ")
    };
    format!(
        "if current_setting('transaction_isolation') = 'read committed' then
           perform 1 from {on} shardwright_row where row({own}) = row({new}) for update;
           if not ({has_dependents}) then
             return null;
           end if;
         end if;",
        on = table.top().sql(),
        own = identity("shardwright_row."),
        new = identity("new."),
        has_dependents = has_dependents(table, tables),
    )
}

/// Returns the condition that rows of other tables belong to the row `new`.
fn has_dependents(table: &MovingTable, tables: &[MovingTable]) -> String {
    let of_table = tables.iter().filter_map(|dependent| {
        let through = dependent.through()?;
        (through.parent == *table.top()).then(|| {
            format!(
                "exists (select from {} shardwright_dependent where {})",
                dependent.top().sql(),
                through.joins("new", "shardwright_dependent")
            )
        })
    });
    let exists: BTreeSet<String> = of_table.collect();
    exists.into_iter().collect::<Vec<_>>().join(" or ")
}

/// Returns the condition of WHEN, and that of the function, which can read other tables: the UPDATE brings the row into the
/// moving keys. A parent that the statement does not see may have any key; but if a foreign key cascades a new identity of
/// the parent, the row stays with its parent, and the statement does not see the earlier identity.
fn conditions(table: &MovingTable, keys: &KeySet) -> (String, String) {
    let (old, new) = (
        table.predicate(keys, "old"),
        table.predicate_or_missing(keys, "new"),
    );
    let cascaded = format!(
        "(tg_argv[0] = '{}' and {})",
        EVENTS[1],
        table.predicate_or_missing(keys, "old")
    );
    match &table.key {
        TableKey::Through(through) => {
            let columns = |row: &str| {
                let columns = through.columns.iter();
                let columns = columns.map(|(own, _)| format!("{row}.{}", quote_ident(own)));
                columns.collect::<Vec<_>>().join(", ")
            };
            let differs = format!(
                "row({}) is distinct from row({})",
                columns("old"),
                columns("new")
            );
            (differs, format!("{new} and not ({old} or {cascaded})"))
        }
        TableKey::Columns(_) | TableKey::Schema(_) | TableKey::Group(_) | TableKey::Reference => {
            (format!("({new} and not {old})"), "true".to_owned())
        }
    }
}

/// Fails unless each table whose rows have dependents has the trigger, `ENABLE ALWAYS`.
///
/// # Errors
/// `guard.changed` with the tables.
pub(crate) async fn check(
    client: &Connected,
    migration: &MigrationId,
    tables: &[MovingTable],
) -> Result<(), StepError> {
    let missing = missing(client, migration, tables).await?;
    if missing.is_empty() {
        return Ok(());
    }
    Err(missing_error(client, &missing))
}

/// Returns the triggers that tables lack, as `trigger on table`.
pub(crate) async fn missing(
    client: &Connected,
    migration: &MigrationId,
    tables: &[MovingTable],
) -> Result<Vec<String>, StepError> {
    let expected = parents(tables).flat_map(|index| {
        let on = tables[index].top().sql();
        trigger_events().map(move |event| (on.clone(), migration.trigger(event)))
    });
    missing_triggers_of(client, expected.collect()).await
}

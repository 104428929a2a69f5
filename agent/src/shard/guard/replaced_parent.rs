//! Refuses a row that replaces another one, together with the rows that refer to it, if this would bring those into the
//! moving keys.
//!
//! With a deferred foreign key, or in one statement with several writes, a transaction can delete a row or change its
//! identity, keep the rows that refer to it, and give another row the same identity. If the new row has a moving key, its
//! dependents move too. But the log has no change of them, so the stream cannot insert them on the other shard. The triggers
//! refuse such a transaction as long as the migration has its guard.

use std::collections::BTreeSet;

use plans::id::MigrationId;
use plans::key_set::KeySet;
use plans::names::{SCHEMA, SQLSTATE_REFUSED};
use plans::sql::{quote_ident, quote_literal};
use plans::table::{MovingTable, TableName, ThroughTable};

use super::GuardedRows;

/// The events in the names of the triggers.
pub(super) const EVENTS: [&str; 3] = ["insert_parent", "update_parent", "delete_parent"];

/// The longest list of identities in a setting, in characters. Beyond it every identity counts as one that rows refer to, and
/// none as that of a moving row.
const MAX_LENGTH: usize = 8_000;

/// Returns the statements that create the function and the triggers of the table with this index.
pub(super) fn table_sql(migration: &MigrationId, guarded: GuardedRows<'_>, index: usize) -> String {
    let table = &guarded.tables[index];
    let links = Links::of(table, guarded.tables);
    format!(
        "{}{}",
        function_sql(migration, guarded, index, &links),
        triggers_sql(migration, table, index, &links)
    )
}

/// The dependent tables of a table, with their relations to it.
struct Links<'a>(Vec<(&'a MovingTable, &'a ThroughTable)>);

impl<'a> Links<'a> {
    fn of(table: &MovingTable, tables: &'a [MovingTable]) -> Self {
        let links = tables.iter().filter_map(|dependent| {
            let through = dependent.through()?;
            (through.parent == *table.top()).then_some((dependent, through))
        });
        Self(links.collect())
    }

    /// Returns the condition that an UPDATE changes the columns to which rows refer.
    fn are_changed(&self) -> String {
        let columns = self.0.iter().flat_map(|(_, through)| &through.columns);
        let columns: BTreeSet<&str> = columns.map(|(_, column)| column.as_str()).collect();
        let list = |row: &str| {
            let columns = columns.iter();
            let columns = columns.map(|column| format!("{row}.{}", quote_ident(column)));
            columns.collect::<Vec<_>>().join(", ")
        };
        format!("row({}) is distinct from row({})", list("old"), list("new"))
    }
}

/// Returns the statement that creates the function.
///
/// A row that leaves is examined first: in one statement the row that replaces it is there already. Otherwise a setting of
/// the transaction records the identity that rows still refer to, so that other transactions examine nothing when they
/// insert a row. In another isolation level the snapshot may not show all dependents, so the function assumes that there are
/// some. The key of a dependent row is that of its parent, which the same statement may have replaced: such a row counts as
/// one that does not move.
///
/// A second setting records identities of moving rows that have left. A cascade from such a row brings nothing into the
/// moving keys ([`cascaded`]).
fn function_sql(
    migration: &MigrationId,
    GuardedRows { keys, tables }: GuardedRows<'_>,
    index: usize,
    links: &Links<'_>,
) -> String {
    let table = &tables[index];
    let (kept, left) = (kept_setting(migration), left_setting(migration));
    let old_moves = table.predicate(keys, "old");
    let may_bring = match table.through() {
        Some(_) => "true".to_owned(),
        None => format!("not ({old_moves})"),
    };
    let depart = links.0.iter().map(|(_, through)| {
        let identity = identity(table, through, "old");
        format!(
            "if length(departed) <= {MAX_LENGTH} then departed := departed || {identity}; end if;"
        )
    });
    let arrive = links.0.iter().map(|(dependent, through)| {
        format!(
            "refused := refused or (kept = '*' or strpos(kept, {identity}) > 0) and (not read_committed or {has_dependents});",
            identity = identity(table, through, "new"),
            has_dependents = exists_dependent(dependent, through, "new"),
        )
    });
    format!(
        "create or replace function {SCHEMA}.{function}() returns trigger
         language plpgsql security definer set search_path = pg_catalog, pg_temp as $guard$
         declare
           refused boolean := false;
           read_committed boolean := current_setting('transaction_isolation') = 'read committed';
           kept text := coalesce(current_setting({kept}, true), '');
           departed text := coalesce(current_setting({left}, true), '');
         begin
           if tg_op <> 'INSERT' then
             if {may_bring} then
               {leave}
               perform set_config({kept}, kept, true);
             end if;
             if {old_moves} then
               {depart}
               perform set_config({left}, departed, true);
             end if;
           end if;
           if tg_op <> 'DELETE' and not refused and kept <> '' then
             if {new_moves} then
               {arrive}
             end if;
           end if;
           if refused then
             raise exception using
               errcode = '{SQLSTATE_REFUSED}',
               message = format('a row of %I.%I with a moving key takes the place of another row, and rows refer to it; this is refused while migration %s moves rows that belong to it', tg_table_schema, tg_table_name, {id}),
               hint = 'delete the rows that refer to it and insert them again, or wait for the migration to end';
           end if;
           return null;
         -- The application has renamed or dropped what the function reads: the migration will find the change.
         exception when undefined_column or undefined_table then
           return null;
         end $guard$; ",
        function = migration.replacement_function(index),
        leave = leave_sql(table, keys, links),
        depart = depart.collect::<String>(),
        arrive = arrive.collect::<String>(),
        new_moves = table.predicate(keys, "new"),
        id = quote_literal(migration.as_str()),
    )
}

/// Returns the statements for a row that leaves and may bring its dependents into the moving keys.
fn leave_sql(table: &MovingTable, keys: &KeySet, links: &Links<'_>) -> String {
    let leave = links.0.iter().map(|(dependent, through)| {
        format!(
            "if not read_committed or {has_dependents} then
               refused := refused or {taken};
               kept := case when kept = '*' or length(kept) > {MAX_LENGTH} then '*' else kept || {identity} end;
             end if;",
            has_dependents = exists_dependent(dependent, through, "old"),
            taken = exists_moving(table, through, keys),
            identity = identity(table, through, "old"),
        )
    });
    leave.collect()
}

/// Returns the condition that a row of a dependent table refers to the row `row`.
fn exists_dependent(dependent: &MovingTable, through: &ThroughTable, row: &str) -> String {
    format!(
        "exists (select from {} shardwright_dependent where {})",
        dependent.top().sql(),
        through.joins(row, "shardwright_dependent")
    )
}

/// Returns the condition that a row with a moving key has the identity of the row `old` now.
fn exists_moving(table: &MovingTable, through: &ThroughTable, keys: &KeySet) -> String {
    let columns = through.columns.iter().map(|(_, column)| {
        let column = quote_ident(column);
        format!("shardwright_row.{column} = old.{column}")
    });
    format!(
        "exists (select from {} shardwright_row where {} and {})",
        table.top().sql(),
        columns.collect::<Vec<_>>().join(" and "),
        table.predicate(keys, "shardwright_row")
    )
}

/// Returns the identity of the row `row` in a setting: a hash of the columns to which rows of a dependent table refer.
fn identity(table: &MovingTable, through: &ThroughTable, row: &str) -> String {
    let values = through.columns.iter();
    let values = values.map(|(_, column)| format!("{row}.{}", quote_ident(column)));
    hashed(table.top(), through, values)
}

fn hashed(
    parent: &TableName,
    through: &ThroughTable,
    values: impl Iterator<Item = String>,
) -> String {
    let names = through.columns.iter().map(|(_, column)| column.as_str());
    let label = format!("{parent} {}", names.collect::<Vec<_>>().join(" "));
    let values: Vec<String> = values.map(|value| format!("{value}::text")).collect();
    format!(
        "pg_catalog.left(pg_catalog.md5(pg_catalog.concat_ws('/', {}, {})), 16)",
        quote_literal(&label),
        values.join(", ")
    )
}

/// Returns the condition that the parent of the row `old` of a dependent table had a moving key when it got another
/// identity, in this transaction: the row stays with its parent.
pub(super) fn cascaded(migration: &MigrationId, through: &ThroughTable) -> String {
    let values = through.columns.iter();
    let values = values.map(|(own, _)| format!("old.{}", quote_ident(own)));
    format!(
        "(pg_catalog.strpos(pg_catalog.current_setting({}, true), {}) > 0)",
        left_setting(migration),
        hashed(&through.parent, through, values)
    )
}

fn triggers_sql(
    migration: &MigrationId,
    table: &MovingTable,
    index: usize,
    links: &Links<'_>,
) -> String {
    let on = table.top().sql();
    let is_marked = format!(
        "pg_catalog.current_setting({}, true) <> ''",
        kept_setting(migration)
    );
    let whens = [is_marked, links.are_changed(), "true".to_owned()];
    let triggers = EVENTS.iter().zip(["insert", "update", "delete"]).zip(whens);
    let triggers = triggers.map(|((name, event), when)| {
        format!(
            "create or replace trigger {name} after {event} on {on}
             for each row when ({when} and {SCHEMA}.{foreign}())
             execute function {SCHEMA}.{function}();
             alter table {on} enable always trigger {name}; ",
            name = quote_ident(&migration.trigger(name)),
            foreign = migration.foreign_function(),
            function = migration.replacement_function(index),
        )
    });
    triggers.collect()
}

/// Returns the name of the setting with identities that rows still refer to, as a literal.
fn kept_setting(migration: &MigrationId) -> String {
    quote_literal(&format!("{SCHEMA}.kept_{migration}"))
}

/// Returns the name of the setting with identities of moving rows that have left, as a literal.
fn left_setting(migration: &MigrationId) -> String {
    quote_literal(&format!("{SCHEMA}.left_{migration}"))
}

//! Refuses a row that replaces another one, together with the rows that refer to it, if this would bring those into the
//! moving keys.
//!
//! With a deferred foreign key, or in one statement with several writes, a transaction can delete a row or change its
//! identity, keep the rows that refer to it, and give another row the same identity. If the new row has a moving key, its
//! dependents move too. But the log has no change of them, so the stream cannot insert them on the other shard. The triggers
//! refuse such a transaction as long as the migration has its guard.

use std::collections::BTreeSet;

use plans::id::MigrationId;
use plans::names::{SCHEMA, SQLSTATE_REFUSED};
use plans::sql::{quote_ident, quote_literal};
use plans::table::{MovingTable, ThroughTable};

use super::GuardedRows;

/// The events in the names of the triggers.
pub(super) const EVENTS: [&str; 3] = ["insert_parent", "update_parent", "delete_parent"];

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

    /// Returns the condition that rows refer to the row `row`, and also that another condition on the relation holds.
    fn exist(&self, row: &str, and: impl Fn(&ThroughTable) -> String) -> String {
        let links = self.0.iter().map(|(dependent, through)| {
            format!(
                "(exists (select from {} shardwright_dependent where {}){})",
                dependent.top().sql(),
                through.joins(row, "shardwright_dependent"),
                and(through)
            )
        });
        let links: BTreeSet<String> = links.collect();
        links.into_iter().collect::<Vec<_>>().join(" or ")
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
/// The row that leaves is examined first: in one statement the other row is there already. Otherwise a setting of the
/// transaction records that rows were kept, so that other transactions examine nothing when they insert a row.
fn function_sql(
    migration: &MigrationId,
    GuardedRows { keys, tables }: GuardedRows<'_>,
    index: usize,
    links: &Links<'_>,
) -> String {
    let table = &tables[index];
    let taken = links.exist("old", |through| {
        let columns = through.columns.iter().map(|(_, column)| {
            let column = quote_ident(column);
            format!("shardwright_row.{column} = old.{column}")
        });
        format!(
            " and exists (select from {} shardwright_row where {} and {})",
            table.top().sql(),
            columns.collect::<Vec<_>>().join(" and "),
            table.predicate(keys, "shardwright_row")
        )
    });
    let none = |_: &ThroughTable| String::new();
    format!(
        "create or replace function {SCHEMA}.{function}() returns trigger
         language plpgsql security definer set search_path = pg_catalog, pg_temp as $guard$
         declare
           refused boolean := false;
         begin
           if tg_op <> 'INSERT' then
             if not ({old}) and ({kept}) then
               refused := {taken};
               perform set_config({setting}, 'on', true);
             end if;
           end if;
           if tg_op <> 'DELETE' and not refused and current_setting({setting}, true) = 'on' then
             refused := {new} and ({has_dependents});
           end if;
           if refused then
             raise exception using
               errcode = '{SQLSTATE_REFUSED}',
               message = format('a row of %I.%I with a moving key takes the place of another row, and rows refer to it; this is refused while migration %s moves rows that belong to it', tg_table_schema, tg_table_name, {id}),
               hint = 'delete the rows that refer to it and insert them again, or wait for the migration to end';
           end if;
           return null;
         end $guard$; ",
        function = migration.replacement_function(index),
        setting = setting(migration),
        old = table.predicate(keys, "old"),
        new = table.predicate(keys, "new"),
        kept = links.exist("old", none),
        has_dependents = links.exist("new", none),
        id = quote_literal(migration.as_str()),
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
        "pg_catalog.current_setting({}, true) = 'on'",
        setting(migration)
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

/// Returns the name of the transaction's setting, as a literal.
fn setting(migration: &MigrationId) -> String {
    quote_literal(&format!("{SCHEMA}.kept_{migration}"))
}

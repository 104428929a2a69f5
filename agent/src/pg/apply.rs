//! Applies captured row changes on the other shard, in commit order.
//!
//! Order: a change is turned into a statement and its parameters (as the stream carries them, text or binary),
//! statements of a batch are pipelined, each must touch exactly one row.
//! A change that touches none, or that lacks a value, halts the move: both sides would differ.

mod legible;
mod param;
mod target;

use std::borrow::Cow;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use bytes::Bytes;
use plans::table::{MovingTable, quote_ident};
use tokio_postgres::{Client, Statement};

use super::decode::{Change, Column, OldRow, Relation, Tuple};
use crate::error::{At, StepError};
use param::{Param, sent};
use target::Target;

/// What kind of statement a change becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Verb {
    Insert,
    Update,
    Delete,
}

/// A change, ready to be executed.
#[derive(Debug)]
pub(crate) struct RowChange {
    table: usize,
    sql: String,
    params: Vec<Param>,
    verb: Verb,
    /// The row's key before and after, as JSON arrays of text: what is dirty now.
    pub(crate) keys: Vec<String>,
}

impl RowChange {
    /// Index of the table among the move's tables.
    pub(crate) fn table(&self) -> usize {
        self.table
    }
}

/// A column of the destination.
#[derive(Debug)]
struct Known {
    name: String,
    /// An identity column GENERATED ALWAYS, which no UPDATE may set.
    always: bool,
    type_oid: u32,
    typmod: i32,
}

/// Types from here on are the user's: their numbers differ from server to server.
const FIRST_USER_OID: u32 = 16_384;

/// A statement on its way; its output is the number of rows it touched.
type Execution<'a> = Pin<Box<dyn Future<Output = Result<u64, tokio_postgres::Error>> + Send + 'a>>;

/// Turns decoded changes into statements for one shard.
#[derive(Debug)]
pub(crate) struct Applier {
    shard: String,
    tables: Vec<MovingTable>,
    /// What the destination's columns are.
    columns: Vec<Vec<Known>>,
    targets: HashMap<u32, Target>,
    statements: HashMap<String, Statement>,
}

impl Applier {
    /// Reads what the destination's catalog says about the tables.
    pub(crate) async fn prepare(
        client: &Client,
        tables: &[MovingTable],
        shard: &str,
    ) -> Result<Self, StepError> {
        let mut columns = Vec::with_capacity(tables.len());
        for table in tables {
            let rows = client
                .query(
                    "select attname::text, attidentity = 'a', atttypid, atttypmod from pg_catalog.pg_attribute
                     where attrelid = pg_catalog.to_regclass($1) and attnum > 0 and not attisdropped",
                    &[&table.table.sql()],
                )
                .await
                .at(format_args!("shard {shard}: reading columns of {}", table.table))?;
            let known = rows.iter().map(|row| Known {
                name: row.get(0),
                always: row.get(1),
                type_oid: row.get(2),
                typmod: row.get(3),
            });
            columns.push(known.collect());
        }
        Ok(Self {
            shard: shard.to_owned(),
            tables: tables.to_vec(),
            columns,
            targets: HashMap::new(),
            statements: HashMap::new(),
        })
    }

    /// The table of the plan that a relation's shape is not the one of; `None`: it is as planned.
    ///
    /// # Errors
    /// `capture.table` when the plan does not have the table.
    pub(crate) fn unlike(&self, relation: &Relation) -> Result<Option<usize>, StepError> {
        let table = self.table_of(relation)?;
        let mut planned = self.tables[table].written_columns();
        let known = |name: &str| {
            self.columns[table]
                .iter()
                .find(|column| column.name == name)
        };
        let same = relation.columns.iter().all(|found| {
            let there = known(&found.name);
            planned
                .next()
                .is_some_and(|column| column.name == found.name)
                && there.is_some_and(|there| same_type(there, found))
        });
        Ok((!same || planned.next().is_some()).then_some(table))
    }

    fn table_of(&self, relation: &Relation) -> Result<usize, StepError> {
        let is = |table: &MovingTable| {
            table.table.schema == relation.namespace && table.table.name == relation.name
        };
        self.tables.iter().position(is).ok_or_else(|| {
            StepError::refused(
                "capture.table",
                format!(
                    "the stream carries table {}.{}, which is not part of the plan",
                    relation.namespace, relation.name
                ),
                "abort the migration and plan it again",
            )
        })
    }

    /// Takes a relation's shape. Columns that the plan does not have are left out, those that are not in the
    /// shape yet take their defaults.
    pub(crate) fn relation(&mut self, relation: Relation) -> Result<(), StepError> {
        let table = self.table_of(&relation)?;
        let always = |name: &str| {
            let mut known = self.columns[table].iter();
            known.any(|column| column.always && column.name == name)
        };
        let id = relation.id;
        let target = Target::new((table, &self.tables[table]), relation, always)?;
        self.targets.insert(id, target);
        Ok(())
    }

    /// The change with what its rows are found by as text, whatever form it arrived in.
    pub(crate) fn legible(&self, change: Change) -> Change {
        let relation = match &change {
            Change::Insert { relation, .. }
            | Change::Update { relation, .. }
            | Change::Delete { relation, .. } => relation,
            Change::Begin(_)
            | Change::Commit(_)
            | Change::Origin { .. }
            | Change::Relation(_)
            | Change::Type(_)
            | Change::Truncate { .. }
            | Change::Message(_) => return change,
        };
        match self.targets.get(relation) {
            Some(target) => legible::legible(target, change),
            None => change,
        }
    }

    /// The table of a row, and the text of the first value of its identity.
    pub(crate) fn place(&self, relation: u32, row: &Tuple) -> Result<(usize, String), StepError> {
        let target = self.target(relation)?;
        let first = target.first(row);
        Ok((target.table, first.ok_or_else(|| self.incomplete(target))?))
    }

    /// The table of a row, and what the row is found by.
    pub(crate) fn key(&self, relation: u32, row: &Tuple) -> Result<(usize, String), StepError> {
        let target = self.target(relation)?;
        Ok((target.table, self.key_text(target, row)?))
    }

    /// The new row of an UPDATE with what the old one tells of the values that it left out.
    pub(crate) fn complete<'a>(
        &self,
        relation: u32,
        old: &OldRow,
        new: &'a Tuple,
    ) -> Result<Cow<'a, Tuple>, StepError> {
        Ok(self.target(relation)?.complete(old, new))
    }

    /// Whether an INSERT of the row would write every value.
    ///
    /// A row that an UPDATE moved into the set arrives as INSERT without its unchanged large values.
    pub(crate) fn is_complete(&self, relation: u32, new: &Tuple) -> Result<bool, StepError> {
        Ok(self.target(relation)?.is_complete(new))
    }

    /// The statement for an inserted row.
    pub(crate) fn insert(&self, relation: u32, new: &Tuple) -> Result<RowChange, StepError> {
        let target = self.target(relation)?;
        let mut params = Vec::with_capacity(new.0.len());
        let mut columns = Vec::with_capacity(new.0.len());
        for (index, value) in new.0.iter().enumerate() {
            if !target.carried[index] {
                continue;
            }
            columns.push(target.column(index));
            // Writing NULL for a value that did not come would lose data.
            params.push(sent(value).ok_or_else(|| self.incomplete(target))?);
        }
        let sql = self.insert_sql(target.table, &columns);
        let keys = vec![self.key_text(target, new)?];
        Ok(change(target.table, Verb::Insert, sql, params, keys))
    }

    /// The statement for a row that was read from the origin: the text of each written column.
    pub(crate) fn insert_read(
        &self,
        table: usize,
        key: String,
        values: Vec<Option<String>>,
    ) -> RowChange {
        let columns = self.tables[table].written_columns();
        let columns: Vec<String> = columns.map(|column| quote_ident(&column.name)).collect();
        let sql = self.insert_sql(table, &columns);
        let values = values.into_iter();
        let params = values.map(|value| Param::text(value.map(Bytes::from)));
        change(table, Verb::Insert, sql, params.collect(), vec![key])
    }

    fn insert_sql(&self, table: usize, columns: &[String]) -> String {
        let places: Vec<String> = (1..=columns.len()).map(|n| format!("${n}")).collect();
        format!(
            "insert into {} ({}) overriding system value values ({})",
            self.tables[table].table.sql(),
            columns.join(", "),
            places.join(", ")
        )
    }

    /// The statement for an updated row; values that were not sent stay as they are.
    pub(crate) fn update(
        &self,
        relation: u32,
        old: &OldRow,
        new: &Tuple,
    ) -> Result<RowChange, StepError> {
        let target = self.target(relation)?;
        let before = match old {
            OldRow::Absent => new,
            OldRow::Key(tuple) | OldRow::Full(tuple) => tuple,
        };
        let old_key = self.key_text(target, before)?;
        let new_key = self.key_text(target, &target.complete(old, new))?;
        let moved = old_key != new_key;
        let mut params = Vec::new();
        let mut set = Vec::new();
        for (index, column) in target.relation.columns.iter().enumerate() {
            let fixed = !moved && target.key.contains(&index);
            if let (false, true, Some(value)) = (fixed, target.settable[index], sent(&new.0[index]))
            {
                params.push(value);
                set.push(format!("{} = ${}", quote_ident(&column.name), params.len()));
            }
        }
        let table = self.tables[target.table].table.sql();
        let mut matched = self.condition(target, before, &mut params)?;
        for (index, column) in target.relation.columns.iter().enumerate() {
            // It may have changed by SET .. = DEFAULT, which cannot be repeated: then no row matches.
            let compared = target.carried[index] && !target.settable[index];
            if let (true, Some(value)) = (compared, sent(&new.0[index])) {
                params.push(value);
                let column = quote_ident(&column.name);
                matched.push_str(&format!(" and {column} = ${}", params.len()));
            }
        }
        let sql = if set.is_empty() {
            format!("select 1 from {table} where {matched} for update")
        } else {
            format!("update {table} set {} where {matched}", set.join(", "))
        };
        let keys = if moved {
            vec![old_key, new_key]
        } else {
            vec![new_key]
        };
        Ok(change(target.table, Verb::Update, sql, params, keys))
    }

    /// The statement for a deleted row.
    pub(crate) fn delete(&self, relation: u32, old: &OldRow) -> Result<RowChange, StepError> {
        let target = self.target(relation)?;
        let (OldRow::Key(before) | OldRow::Full(before)) = old else {
            return Err(self.incomplete(target));
        };
        let mut params = Vec::new();
        let matched = self.condition(target, before, &mut params)?;
        let table = self.tables[target.table].table.sql();
        let keys = vec![self.key_text(target, before)?];
        let sql = format!("delete from {table} where {matched}");
        Ok(change(target.table, Verb::Delete, sql, params, keys))
    }

    /// Executes changes in their order, pipelined, inside the caller's transaction.
    ///
    /// # Errors
    /// `apply.count` when a change touches another number of rows than one; what the server says.
    pub(crate) async fn execute(
        &mut self,
        client: &Client,
        changes: &[RowChange],
    ) -> Result<(), StepError> {
        for change in changes {
            if !self.statements.contains_key(&change.sql) {
                let what = format!(
                    "shard {}: preparing a change of {}",
                    self.shard,
                    self.name(change)
                );
                let statement = client.prepare(&change.sql).await.at(what)?;
                self.statements.insert(change.sql.clone(), statement);
            }
        }
        let mut running: Vec<Execution<'_>> = Vec::with_capacity(changes.len());
        for change in changes {
            let statement = &self.statements[&change.sql];
            let mut future: Execution<'_> =
                Box::pin(client.execute_raw(statement, change.params.iter()));
            // The first poll hands the statement to the connection, so the order here is the order there.
            let first = futures::poll!(future.as_mut());
            running.push(match first {
                Poll::Ready(done) => Box::pin(std::future::ready(done)),
                Poll::Pending => future,
            });
        }
        let mut counts = Vec::with_capacity(changes.len());
        for (future, change) in running.into_iter().zip(changes) {
            let what = format!(
                "shard {}: applying a change of {}",
                self.shard,
                self.name(change)
            );
            counts.push(future.await.at(what)?);
        }
        match counts.iter().zip(changes).find(|(count, _)| **count != 1) {
            None => Ok(()),
            Some((count, change)) => Err(self.miscounted(*count, change)),
        }
    }

    fn miscounted(&self, count: u64, change: &RowChange) -> StepError {
        StepError::refused(
            "apply.count",
            format!(
                "shard {}: a replayed {:?} of {} touched {count} rows instead of one: the copies differ",
                self.shard,
                change.verb,
                self.name(change)
            ),
            "something else wrote to the moving rows there; abort the migration and plan it again",
        )
    }

    fn name(&self, change: &RowChange) -> String {
        self.tables[change.table].table.to_string()
    }

    fn target(&self, relation: u32) -> Result<&Target, StepError> {
        self.targets.get(&relation).ok_or_else(|| {
            StepError::passing(
                "capture.relation",
                format!("the stream sent a change of relation {relation} before its shape"),
            )
        })
    }

    fn condition(
        &self,
        target: &Target,
        row: &Tuple,
        params: &mut Vec<Param>,
    ) -> Result<String, StepError> {
        let table = self.tables[target.table].table.sql();
        let condition = target.condition(&table, row, params);
        condition.ok_or_else(|| self.incomplete(target))
    }

    fn key_text(&self, target: &Target, row: &Tuple) -> Result<String, StepError> {
        let key = target.key_text(row);
        key.ok_or_else(|| self.incomplete(target))
    }

    fn incomplete(&self, target: &Target) -> StepError {
        StepError::refused(
            "capture.incomplete_row",
            format!(
                "table {}: a change came without values that identify its row, or that it is made of",
                self.tables[target.table].table
            ),
            "set REPLICA IDENTITY FULL on the table, then abort and plan again",
        )
    }
}

fn change(
    table: usize,
    verb: Verb,
    sql: String,
    params: Vec<Param>,
    keys: Vec<String>,
) -> RowChange {
    RowChange {
        table,
        sql,
        params,
        verb,
        keys,
    }
}

/// Whether values of one type are values of the other; the user's own types are known by their names only.
fn same_type(known: &Known, found: &Column) -> bool {
    let users = known.type_oid >= FIRST_USER_OID && found.type_oid >= FIRST_USER_OID;
    users || (known.type_oid, known.typmod) == (found.type_oid, found.typmod)
}

//! Applies captured row changes on the other shard, in commit order.
//!
//! Order: a change is turned into a statement and its parameters (text as the stream carries them),
//! statements of a batch are pipelined, each must touch exactly one row.
//! A change that touches none, or that lacks a value, halts the move: both sides would differ.

use std::collections::HashMap;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use bytes::{Bytes, BytesMut};
use plans::table::{MovingTable, TableName, quote_ident};
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Statement};

use super::decode::{OldRow, Relation, Tuple, Value};
use crate::error::{At, StepError};

/// A value in its type's text form, for a parameter of any type.
#[derive(Debug, Clone)]
struct TextValue(Option<Bytes>);

impl ToSql for TextValue {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match &self.0 {
            None => Ok(IsNull::Yes),
            Some(text) => {
                out.extend_from_slice(text);
                Ok(IsNull::No)
            }
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

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
    params: Vec<TextValue>,
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

/// How one relation of the stream maps to a table of the move.
#[derive(Debug)]
struct Target {
    table: usize,
    /// Position in the tuple of each primary key column.
    key: Vec<usize>,
    /// Columns of the tuple that an UPDATE may set.
    settable: Vec<bool>,
    relation: Relation,
}

/// A statement on its way; its output is the number of rows it touched.
type Execution<'a> = Pin<Box<dyn Future<Output = Result<u64, tokio_postgres::Error>> + Send + 'a>>;

/// Turns decoded changes into statements for one shard.
#[derive(Debug)]
pub(crate) struct Applier {
    shard: String,
    tables: Vec<MovingTable>,
    /// Identity columns GENERATED ALWAYS, which no UPDATE may set.
    always: Vec<Vec<String>>,
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
        let mut always = Vec::with_capacity(tables.len());
        for table in tables {
            let rows = client
                .query(
                    "select attname::text from pg_catalog.pg_attribute
                     where attrelid = pg_catalog.to_regclass($1) and attidentity = 'a' and not attisdropped",
                    &[&table.table.sql()],
                )
                .await
                .at(format_args!("shard {shard}: reading columns of {}", table.table))?;
            always.push(rows.iter().map(|row| row.get(0)).collect());
        }
        Ok(Self {
            shard: shard.to_owned(),
            tables: tables.to_vec(),
            always,
            targets: HashMap::new(),
            statements: HashMap::new(),
        })
    }

    /// Takes a relation's shape; refuses one whose columns are not those of the plan.
    pub(crate) fn relation(&mut self, relation: Relation) -> Result<(), StepError> {
        let name = TableName {
            schema: relation.namespace.clone(),
            name: relation.name.clone(),
        };
        let Some(table) = self.tables.iter().position(|t| t.table == name) else {
            return Err(StepError::refused(
                "capture.table",
                format!("the stream carries table {name}, which is not part of the plan"),
                "abort the migration and plan it again",
            ));
        };
        let plan = &self.tables[table];
        let expected: Vec<&str> = plan.written_columns().map(|c| c.name.as_str()).collect();
        let found: Vec<&str> = relation.columns.iter().map(|c| c.name.as_str()).collect();
        if expected != found {
            return Err(StepError::refused(
                "schema.drift",
                format!(
                    "table {name} has other columns than the plan: {found:?}, planned {expected:?}"
                ),
                "take the change of the table back, or abort the migration and plan it again",
            ));
        }
        let key = plan
            .primary_key
            .iter()
            .filter_map(|column| found.iter().position(|name| name == column))
            .collect();
        let settable = found
            .iter()
            .map(|name| !self.always[table].iter().any(|column| column == name))
            .collect();
        self.targets.insert(
            relation.id,
            Target {
                table,
                key,
                settable,
                relation,
            },
        );
        Ok(())
    }

    /// The table of a row, and the text of the first value of its primary key.
    pub(crate) fn place(&self, relation: u32, row: &Tuple) -> Result<(usize, String), StepError> {
        let target = self.target(relation)?;
        let first = target.key.first().and_then(|index| row.0.get(*index));
        match first {
            Some(Value::Text(text)) => {
                Ok((target.table, String::from_utf8_lossy(text).into_owned()))
            }
            _ => Err(self.incomplete(target)),
        }
    }

    /// The statement for an inserted row.
    pub(crate) fn insert(&self, relation: u32, new: &Tuple) -> Result<RowChange, StepError> {
        let target = self.target(relation)?;
        let mut params = Vec::with_capacity(new.0.len());
        for value in &new.0 {
            // A row that an UPDATE moved into the set arrives as INSERT without its unchanged
            // out-of-line values: writing NULL for them would lose data.
            params.push(sent(value).ok_or_else(|| self.incomplete(target))?);
        }
        let columns: Vec<String> = target
            .relation
            .columns
            .iter()
            .map(|c| quote_ident(&c.name))
            .collect();
        let places: Vec<String> = (1..=columns.len()).map(|n| format!("${n}")).collect();
        let sql = format!(
            "insert into {} ({}) overriding system value values ({})",
            self.tables[target.table].table.sql(),
            columns.join(", "),
            places.join(", ")
        );
        let keys = vec![self.key_text(target, new)?];
        Ok(self.change(target, Verb::Insert, sql, params, keys))
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
        let new_key = self.key_text(target, new)?;
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
        let mut matched = self.where_key(target, before, &mut params)?;
        for (index, column) in target.relation.columns.iter().enumerate() {
            // It may have changed by SET .. = DEFAULT, which cannot be repeated: then no row matches.
            if let (false, Some(value)) = (target.settable[index], sent(&new.0[index])) {
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
        Ok(self.change(target, Verb::Update, sql, params, keys))
    }

    /// The statement for a deleted row.
    pub(crate) fn delete(&self, relation: u32, old: &OldRow) -> Result<RowChange, StepError> {
        let target = self.target(relation)?;
        let (OldRow::Key(before) | OldRow::Full(before)) = old else {
            return Err(self.incomplete(target));
        };
        let mut params = Vec::new();
        let matched = self.where_key(target, before, &mut params)?;
        let table = self.tables[target.table].table.sql();
        let keys = vec![self.key_text(target, before)?];
        let sql = format!("delete from {table} where {matched}");
        Ok(self.change(target, Verb::Delete, sql, params, keys))
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

    fn change(
        &self,
        target: &Target,
        verb: Verb,
        sql: String,
        params: Vec<TextValue>,
        keys: Vec<String>,
    ) -> RowChange {
        RowChange {
            table: target.table,
            sql,
            params,
            verb,
            keys,
        }
    }

    fn where_key(
        &self,
        target: &Target,
        row: &Tuple,
        params: &mut Vec<TextValue>,
    ) -> Result<String, StepError> {
        let mut terms = Vec::with_capacity(target.key.len());
        for index in &target.key {
            let value = row.0.get(*index).and_then(sent);
            params.push(value.ok_or_else(|| self.incomplete(target))?);
            let column = quote_ident(&target.relation.columns[*index].name);
            terms.push(format!("{column} = ${}", params.len()));
        }
        Ok(terms.join(" and "))
    }

    fn key_text(&self, target: &Target, row: &Tuple) -> Result<String, StepError> {
        let mut key = Vec::with_capacity(target.key.len());
        for index in &target.key {
            match row.0.get(*index) {
                Some(Value::Text(text)) => key.push(String::from_utf8_lossy(text).into_owned()),
                _ => return Err(self.incomplete(target)),
            }
        }
        Ok(serde_json::json!(key).to_string())
    }

    fn incomplete(&self, target: &Target) -> StepError {
        StepError::refused(
            "capture.incomplete_row",
            format!(
                "table {}: an UPDATE moved a row into the moving keys without its unchanged large values",
                self.tables[target.table].table
            ),
            "keep the application from changing the shard key of existing rows during the migration, or set REPLICA IDENTITY FULL on the table; then abort and plan again",
        )
    }
}

/// The value as a parameter; `None` when the stream did not carry it.
fn sent(value: &Value) -> Option<TextValue> {
    match value {
        Value::Null => Some(TextValue(None)),
        Value::Text(text) => Some(TextValue(Some(text.clone()))),
        Value::UnchangedToast | Value::Binary(_) => None,
    }
}

//! Applies captured row changes on the downstream shard.
//!
//! [`Applier`] turns messages of the stream into changes. [`Executor`] executes them in pieces, inside the caller's
//! transaction: if possible by sets, which contain the net change of each row (ADR 23), otherwise one by one in commit
//! order. In both cases each change must affect exactly one row. Changes of dependent tables are first assigned to keys
//! ([`dependents`]). If a change affects no row, or lacks a value, the
//! stream fails, because the two shards would differ.

mod change;
mod compact;
pub(crate) mod dependents;
mod downstream_table;
mod executor;
mod key;
mod key_text;
mod lane;
mod net_changes;
mod param;
mod planned;
mod rows;
mod sets;
mod target;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use connect::Connected;
use plans::failure::StepCode;
use plans::table::{Format, MovingTable, stream_format};

use crate::error::StepError;
use crate::postgres::pgoutput::{Change, OldRow, Relation, RelationColumn, Tuple, TupleValue};
pub(crate) use change::RowChange;
use change::{RowChangeKind, key_differs};
pub(crate) use compact::compact_changes;
use downstream_table::DownstreamTable;
pub(crate) use executor::{Executor, SHARED_BATCH_LOCK_TIMEOUT, is_statement_error};
pub(crate) use lane::{ApplyLane, DIVISION};
pub(crate) use planned::PlannedChanges;
use target::ApplyTarget;

/// Turns messages of the stream into changes of rows on the downstream shard.
#[derive(Debug)]
pub(crate) struct Applier {
    tables: Vec<MovingTable>,
    /// The definition of each table on the downstream shard.
    downstream_tables: Vec<DownstreamTable>,
    /// The targets by the OID that the relation has in the stream.
    targets: HashMap<u32, Arc<ApplyTarget>>,
    /// The targets of rows that the agent itself reads on the upstream shard, by table.
    read_row_targets: HashMap<usize, Arc<ApplyTarget>>,
    /// The format in which the stream carries values.
    format: Format,
}

impl Applier {
    /// Reads the definitions of the tables from the catalog of the downstream shard.
    pub(crate) async fn prepare(
        client: &Connected,
        tables: &[MovingTable],
    ) -> Result<Self, StepError> {
        let mut downstream_tables = Vec::with_capacity(tables.len());
        for table in tables {
            downstream_tables.push(DownstreamTable::read(client, table).await?);
        }
        Ok(Self {
            tables: tables.to_vec(),
            downstream_tables,
            targets: HashMap::new(),
            read_row_targets: HashMap::new(),
            format: stream_format(tables).0,
        })
    }

    /// Reads the unique constraints of the upstream shard as well, because a new target builds its own only after the
    /// copy.
    pub(crate) async fn read_upstream_constraints(
        &mut self,
        upstream: &Connected,
    ) -> Result<(), StepError> {
        for (table, downstream_table) in self.tables.iter().zip(&mut self.downstream_tables) {
            downstream_table.has_other_unique_keys |=
                downstream_table::has_other_unique_keys(upstream, table).await?;
        }
        Ok(())
    }

    /// Returns the index of the relation's table if the columns of the relation differ from those of the plan; `None`
    /// if they are as planned.
    ///
    /// # Errors
    /// `capture.table` if the plan does not have the table.
    pub(crate) fn table_with_changed_columns(
        &self,
        relation: &Relation,
    ) -> Result<Option<usize>, StepError> {
        let table = self.table_of(relation)?;
        let mut planned = self.tables[table].written_columns();
        let downstream = |name: &str| {
            self.downstream_tables[table]
                .columns
                .iter()
                .find(|column| column.name == name)
        };
        let columns_match = relation.columns.iter().all(|found| {
            let downstream_column = downstream(&found.name);
            planned
                .next()
                .is_some_and(|column| column.name == found.name)
                && downstream_column
                    .is_some_and(|downstream_column| downstream_column.is_of_type(found))
        });
        Ok((!columns_match || planned.next().is_some()).then_some(table))
    }

    /// Returns the index of the relation's table among the move's tables.
    fn table_of(&self, relation: &Relation) -> Result<usize, StepError> {
        let is_relation = |table: &MovingTable| {
            table.table.schema == relation.namespace && table.table.name == relation.name
        };
        self.tables.iter().position(is_relation).ok_or_else(|| {
            StepError::refused(
                StepCode::CaptureTable,
                format!(
                    "the stream contains changes of table {}.{}, which is not part of the plan",
                    relation.namespace, relation.name
                ),
                "`abort` the migration and plan it again",
            )
        })
    }

    /// Records the columns of a relation. The stream writes only columns that the plan has. Planned columns that the
    /// relation does not have yet get their defaults.
    pub(crate) fn set_relation(&mut self, relation: Relation) -> Result<(), StepError> {
        // A server sends an unchanged Relation message again when its cache was invalidated, for example after ANALYZE.
        // The target stays the same then, so that changes before and after the message can be in one set.
        let target = self.targets.get(&relation.id);
        if target.is_some_and(|target| target.relation == relation) {
            return Ok(());
        }
        let table = self.table_of(&relation)?;
        let id = relation.id;
        let target = ApplyTarget::new(
            table,
            &self.tables[table],
            relation,
            &self.downstream_tables[table],
            self.format,
        )?;
        self.targets.insert(id, Arc::new(target));
        Ok(())
    }

    /// Returns the change with its key values as text, if they arrived in binary format.
    pub(crate) fn with_key_text(&self, change: Change) -> Change {
        let Some(relation) = change.relation_of_row() else {
            return change;
        };
        match self.targets.get(&relation) {
            Some(target) => key_text::with_key_text(target, change),
            None => change,
        }
    }

    /// Returns the table of a row, and the text of the first value of its identity.
    pub(crate) fn first_key_value(
        &self,
        relation: u32,
        row: &Tuple,
    ) -> Result<(usize, String), StepError> {
        let target = self.target_of(relation)?;
        let first = target.first_key_text(row);
        Ok((
            target.table,
            first.ok_or_else(|| target.incomplete_row_error())?,
        ))
    }

    /// Returns the table of a row, and the key of the row as a JSON array of text.
    pub(crate) fn key_text(
        &self,
        relation: u32,
        row: &Tuple,
    ) -> Result<(usize, String), StepError> {
        let target = self.target_of(relation)?;
        let key = target.key_text(row);
        Ok((
            target.table,
            key.ok_or_else(|| target.incomplete_row_error())?,
        ))
    }

    /// Returns the new row of an UPDATE. Values that the UPDATE did not change, and that the stream did not send, are
    /// taken from the old row if it has them.
    pub(crate) fn complete_row<'a>(
        &self,
        relation: u32,
        old: &OldRow,
        new: &'a Tuple,
    ) -> Result<Cow<'a, Tuple>, StepError> {
        Ok(self.target_of(relation)?.complete_row(old, new))
    }

    /// Returns whether the row has every value that an INSERT writes.
    ///
    /// The row of an UPDATE that moved it into the moving keys arrives as an INSERT, without its unchanged large
    /// values.
    pub(crate) fn is_complete(&self, relation: u32, new: &Tuple) -> Result<bool, StepError> {
        Ok(self.target_of(relation)?.is_complete(new))
    }

    /// Returns the change that inserts a row.
    ///
    /// # Errors
    /// `capture.incomplete_row` if a value is missing: writing NULL instead would lose data.
    pub(crate) fn insert(&self, relation: u32, new: Tuple) -> Result<RowChange, StepError> {
        let target = self.target_of(relation)?.clone();
        if !target.is_complete(&new) || !target.is_identified(&new) {
            return Err(target.incomplete_row_error());
        }
        Ok(RowChange::new(target, RowChangeKind::Insert(new)))
    }

    /// Returns the insertion of a row as it arrived, without some of its values. It cannot be executed.
    pub(crate) fn incomplete_row(&self, relation: u32, new: Tuple) -> Result<RowChange, StepError> {
        let target = self.target_of(relation)?.clone();
        Ok(RowChange::new(target, RowChangeKind::Insert(new)))
    }

    /// Returns the change that inserts a row that was read on the upstream shard; `values` has the text of each
    /// written column.
    pub(crate) fn insert_of_read_row(
        &mut self,
        table: usize,
        values: TextValues,
    ) -> Result<RowChange, StepError> {
        let target = self.target_for_read_rows(table)?;
        let mut change = RowChange::new(target, RowChangeKind::Insert(text_tuple(values)));
        change.is_known_to_move = true;
        Ok(change)
    }

    /// Returns the change that updates a row to the values that were read.
    pub(crate) fn update_to_read_row(
        &mut self,
        table: usize,
        values: TextValues,
    ) -> Result<RowChange, StepError> {
        let target = self.target_for_read_rows(table)?;
        let new = text_tuple(values);
        let old = match target.whole_row_key {
            Some(_) => OldRow::Full(new.clone()),
            None => OldRow::Absent,
        };
        let key_changed = false;
        Ok(RowChange::new(
            target,
            RowChangeKind::Update {
                old,
                new,
                key_changed,
            },
        ))
    }

    /// Returns the change that deletes a row that was read.
    pub(crate) fn delete_of_read_row(
        &mut self,
        table: usize,
        values: TextValues,
    ) -> Result<RowChange, StepError> {
        let target = self.target_for_read_rows(table)?;
        Ok(RowChange::new(
            target,
            RowChangeKind::Delete(text_tuple(values)),
        ))
    }

    /// Returns the target for rows of a table that are read on the upstream shard.
    fn target_for_read_rows(&mut self, table: usize) -> Result<Arc<ApplyTarget>, StepError> {
        if let Some(target) = self.read_row_targets.get(&table) {
            return Ok(target.clone());
        }
        let plan = &self.tables[table];
        let downstream_table = &self.downstream_tables[table];
        let target = ApplyTarget::new(
            table,
            plan,
            relation_of_read_rows(plan),
            downstream_table,
            Format::Text,
        )?;
        let target = Arc::new(target);
        self.read_row_targets.insert(table, target.clone());
        Ok(target)
    }

    /// Returns the change that updates a row; columns whose values did not arrive keep their values.
    pub(crate) fn update(
        &self,
        relation: u32,
        old: OldRow,
        new: Tuple,
    ) -> Result<RowChange, StepError> {
        let target = self.target_of(relation)?.clone();
        let key_changed = {
            let before = match &old {
                OldRow::Absent => &new,
                OldRow::Key(row) | OldRow::Full(row) => row,
            };
            let after = target.complete_row(&old, &new);
            if !target.is_identified(before) || !target.is_identified(&after) {
                return Err(target.incomplete_row_error());
            }
            key_differs(&target, before, &after)
        };
        Ok(RowChange::new(
            target,
            RowChangeKind::Update {
                old,
                new,
                key_changed,
            },
        ))
    }

    /// Returns the change that deletes a row.
    pub(crate) fn delete(&self, relation: u32, old: OldRow) -> Result<RowChange, StepError> {
        let target = self.target_of(relation)?.clone();
        match old {
            OldRow::Key(row) | OldRow::Full(row) if target.is_identified(&row) => {
                Ok(RowChange::new(target, RowChangeKind::Delete(row)))
            }
            OldRow::Absent | OldRow::Key(_) | OldRow::Full(_) => Err(target.incomplete_row_error()),
        }
    }

    fn target_of(&self, relation: u32) -> Result<&Arc<ApplyTarget>, StepError> {
        self.targets.get(&relation).ok_or_else(|| {
            StepError::passing(
                StepCode::CaptureRelation,
                format!(
                    "the server sent a change of relation {relation} before the Relation message that describes it"
                ),
            )
        })
    }
}

/// The text of each written column of a row.
type TextValues = Vec<Option<String>>;

fn text_tuple(values: TextValues) -> Tuple {
    let value =
        |value: Option<String>| value.map_or(TupleValue::Null, |v| TupleValue::Text(v.into()));
    Tuple(values.into_iter().map(value).collect())
}

/// Returns a description of the rows that the agent itself reads on the upstream shard.
fn relation_of_read_rows(table: &MovingTable) -> Relation {
    let column = |name: &str| RelationColumn {
        key: false,
        name: name.to_owned(),
        type_oid: 0,
        typmod: -1,
    };
    Relation {
        id: 0,
        namespace: table.table.schema.clone(),
        name: table.table.name.clone(),
        replica_identity: 'd',
        columns: table.written_columns().map(|c| column(&c.name)).collect(),
    }
}

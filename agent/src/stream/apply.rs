//! Applies captured row changes on the other shard.
//!
//! Order: [`Applier`] turns what the stream carries into changes; an [`Executor`] executes pieces of them inside the
//! caller's transaction: by sets, what the changes of a row come to (ADR 23),
//! and one by one in commit order where sets will not do.
//! Either way each change must touch exactly one row: one that touches none, or that lacks a value, halts the move,
//! because both sides would differ.

mod change;
mod compact;
mod executor;
mod key;
mod known;
mod lane;
mod legible;
mod net;
mod param;
mod planned;
mod rows;
mod sets;
mod target;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use connect::Connected;
use plans::table::{Format, MovingTable, stream_format};

use crate::error::StepError;
use crate::postgres::pgoutput::{Change, OldRow, Relation, RelationColumn, Tuple, TupleValue};
pub(crate) use change::RowChange;
use change::{RowChangeKind, key_differs};
pub(crate) use compact::compact;
pub(crate) use executor::{Executor, IMPATIENT};
use known::KnownTable;
pub(crate) use lane::{ApplyLane, DIVISION};
pub(crate) use planned::PlannedChanges;
use target::ApplyTarget;

/// Turns what the stream carries into changes of one shard's rows.
#[derive(Debug)]
pub(crate) struct Applier {
    tables: Vec<MovingTable>,
    /// What each table is on the destination.
    known: Vec<KnownTable>,
    /// By the number that the stream gives to a relation.
    targets: HashMap<u32, Arc<ApplyTarget>>,
    /// For rows that are read on the origin, by table.
    read: HashMap<usize, Arc<ApplyTarget>>,
    /// In which form the stream carries values.
    format: Format,
}

impl Applier {
    /// Reads what the destination's catalog says about the tables.
    pub(crate) async fn prepare(
        client: &Connected,
        tables: &[MovingTable],
    ) -> Result<Self, StepError> {
        let mut known = Vec::with_capacity(tables.len());
        for table in tables {
            known.push(KnownTable::read(client, table).await?);
        }
        Ok(Self {
            tables: tables.to_vec(),
            known,
            targets: HashMap::new(),
            read: HashMap::new(),
            format: stream_format(tables).0,
        })
    }

    /// Learns what must be unique on the shard where the changes are made: the destination builds its indexes later.
    pub(crate) async fn learn_rivals(&mut self, origin: &Connected) -> Result<(), StepError> {
        for (table, known) in self.tables.iter().zip(&mut self.known) {
            known.rivals |= known::has_rivals(origin, table).await?;
        }
        Ok(())
    }

    /// The table of the plan that a relation's shape is not the one of; `None`: it is as planned.
    ///
    /// # Errors
    /// `capture.table` when the plan does not have the table.
    pub(crate) fn unlike(&self, relation: &Relation) -> Result<Option<usize>, StepError> {
        let table = self.table_of(relation)?;
        let mut planned = self.tables[table].written_columns();
        let known = |name: &str| {
            self.known[table]
                .columns
                .iter()
                .find(|column| column.name == name)
        };
        let same = relation.columns.iter().all(|found| {
            let there = known(&found.name);
            planned
                .next()
                .is_some_and(|column| column.name == found.name)
                && there.is_some_and(|there| there.is_of_type(found))
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
                "`abort` it and plan it again",
            )
        })
    }

    /// Takes a relation's shape. Columns that the plan does not have are left out, those that are not in the
    /// shape yet take their defaults.
    pub(crate) fn relation(&mut self, relation: Relation) -> Result<(), StepError> {
        // A server that has forgotten what it said says it again, as after each ANALYZE: changes before and behind
        // that are of one shape.
        let known = self.targets.get(&relation.id);
        if known.is_some_and(|known| known.relation == relation) {
            return Ok(());
        }
        let table = self.table_of(&relation)?;
        let id = relation.id;
        let target = ApplyTarget::new(
            table,
            &self.tables[table],
            relation,
            &self.known[table],
            self.format,
        )?;
        self.targets.insert(id, Arc::new(target));
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
        Ok((target.table, first.ok_or_else(|| target.incomplete())?))
    }

    /// The table of a row, and what the row is found by.
    pub(crate) fn key(&self, relation: u32, row: &Tuple) -> Result<(usize, String), StepError> {
        let target = self.target(relation)?;
        let key = target.key_text(row);
        Ok((target.table, key.ok_or_else(|| target.incomplete())?))
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

    /// The change that inserts a row.
    ///
    /// # Errors
    /// `capture.incomplete_row`: writing NULL for a value that did not come would lose data.
    pub(crate) fn insert(&self, relation: u32, new: Tuple) -> Result<RowChange, StepError> {
        let target = self.target(relation)?.clone();
        if !target.is_complete(&new) || !target.is_identified(&new) {
            return Err(target.incomplete());
        }
        Ok(RowChange::new(target, RowChangeKind::Insert(new)))
    }

    /// The change that inserts a row which was read on the origin: the text of each written column.
    pub(crate) fn insert_read(
        &mut self,
        table: usize,
        values: TextValues,
    ) -> Result<RowChange, StepError> {
        let target = self.target_read(table)?;
        Ok(RowChange::new(
            target,
            RowChangeKind::Insert(as_tuple(values)),
        ))
    }

    /// The change that writes a row again which was read.
    pub(crate) fn update_read(
        &mut self,
        table: usize,
        values: TextValues,
    ) -> Result<RowChange, StepError> {
        let target = self.target_read(table)?;
        let new = as_tuple(values);
        let old = match target.whole {
            Some(_) => OldRow::Full(new.clone()),
            None => OldRow::Absent,
        };
        let moved = false;
        Ok(RowChange::new(
            target,
            RowChangeKind::Update { old, new, moved },
        ))
    }

    /// The change that deletes a row which was read.
    pub(crate) fn delete_read(
        &mut self,
        table: usize,
        values: TextValues,
    ) -> Result<RowChange, StepError> {
        let target = self.target_read(table)?;
        Ok(RowChange::new(
            target,
            RowChangeKind::Delete(as_tuple(values)),
        ))
    }

    /// For rows that are read.
    fn target_read(&mut self, table: usize) -> Result<Arc<ApplyTarget>, StepError> {
        if let Some(target) = self.read.get(&table) {
            return Ok(target.clone());
        }
        let plan = &self.tables[table];
        let known = &self.known[table];
        let target = ApplyTarget::new(table, plan, as_read(plan), known, Format::Text)?;
        let target = Arc::new(target);
        self.read.insert(table, target.clone());
        Ok(target)
    }

    /// The change of a row that was updated; values that were not sent stay as they are.
    pub(crate) fn update(
        &self,
        relation: u32,
        old: OldRow,
        new: Tuple,
    ) -> Result<RowChange, StepError> {
        let target = self.target(relation)?.clone();
        let moved = {
            let before = match &old {
                OldRow::Absent => &new,
                OldRow::Key(row) | OldRow::Full(row) => row,
            };
            let after = target.complete(&old, &new);
            if !target.is_identified(before) || !target.is_identified(&after) {
                return Err(target.incomplete());
            }
            key_differs(&target, before, &after)
        };
        Ok(RowChange::new(
            target,
            RowChangeKind::Update { old, new, moved },
        ))
    }

    /// The change that deletes a row.
    pub(crate) fn delete(&self, relation: u32, old: OldRow) -> Result<RowChange, StepError> {
        let target = self.target(relation)?.clone();
        match old {
            OldRow::Key(row) | OldRow::Full(row) if target.is_identified(&row) => {
                Ok(RowChange::new(target, RowChangeKind::Delete(row)))
            }
            OldRow::Absent | OldRow::Key(_) | OldRow::Full(_) => Err(target.incomplete()),
        }
    }

    fn target(&self, relation: u32) -> Result<&Arc<ApplyTarget>, StepError> {
        self.targets.get(&relation).ok_or_else(|| {
            StepError::passing(
                "capture.relation",
                format!("the stream sent a change of relation {relation} before its shape"),
            )
        })
    }
}

/// The text of each written column of a row.
type TextValues = Vec<Option<String>>;

fn as_tuple(values: TextValues) -> Tuple {
    let value =
        |value: Option<String>| value.map_or(TupleValue::Null, |v| TupleValue::Text(v.into()));
    Tuple(values.into_iter().map(value).collect())
}

/// The shape of a table's rows as they are read on the origin.
fn as_read(table: &MovingTable) -> Relation {
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

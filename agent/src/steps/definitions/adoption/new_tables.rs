//! New tables that belong to a running move. A migration that follows changes (`ddl: follow`) adopts them.
//!
//! - A new table that refers to a moving one by a foreign key which contains the shard key: its rows belong to rows that
//!   move.
//! - A new table in a moving schema ([`in_schemas`]).

mod in_schemas;

use std::collections::{BTreeMap, BTreeSet};

use connect::Connected;
use plans::table::{KeyColumn, MovingTable, TableKey, TableName};

pub(crate) use in_schemas::unplanned_tables;

use super::AdoptionWay;
use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::catalog::{self, ForeignKey};
use crate::shard::partitions::{self, TablePartition};
use crate::steps::definitions::DefinitionSessions;

/// A table that the application has created on the owner of the keys since the plan.
#[derive(Debug)]
pub(crate) struct NewTable {
    pub(crate) table: TableName,
    /// How its rows have the shard key: by columns that refer to that of a moving table, or by the schema.
    pub(crate) key: TableKey,
    /// The table itself, and its partitions.
    pub(crate) parts: Vec<TablePartition>,
}

impl NewTable {
    /// Returns its leaves, or the table itself if it is not partitioned, as tables of the move without columns. Returns
    /// none for a partitioned table without partitions.
    pub(crate) fn bare_leaves(&self) -> impl Iterator<Item = MovingTable> {
        let leaves = self.parts.iter().filter(|part| part.is_leaf);
        leaves.map(|leaf| MovingTable {
            partition_of: (leaf.table != self.table).then(|| self.table.clone()),
            ..MovingTable::bare(leaf.table.clone(), self.key.clone())
        })
    }

    /// Returns whether it can have rows.
    pub(crate) fn has_leaf(&self) -> bool {
        self.parts.iter().any(|part| part.is_leaf)
    }
}

/// Returns the new tables on the owner of the keys that a migration with these tables can adopt, and partitioned ones
/// that cannot have rows yet. Each foreign key of such a table refers to a moving table, to another new one or to itself by
/// the shard key, or to a reference table without a cascade.
pub(crate) async fn find(
    context: &StepContext,
    owner: &Connected,
) -> Result<Vec<NewTable>, StepError> {
    if context.moves_schemas() {
        return in_schemas::find(context, owner).await;
    }
    let dispatch = &context.dispatch;
    let mut known = Known::of(&context.planned_tables, &dispatch.reference_tables);
    known.others.extend(dispatch.ignored_tables.iter().cloned());
    let mut names: Vec<TableName> = known.keys.keys().cloned().collect();
    let mut foreign_keys: Vec<ForeignKey> = Vec::new();
    while !names.is_empty() {
        let found = catalog::foreign_keys_of(owner, &names.iter().collect::<Vec<_>>()).await?;
        foreign_keys.extend(found.into_iter().filter(|key| !key.of_partition));
        names = known.extend(&foreign_keys);
    }
    known.remove_dependent(&foreign_keys);
    let tables: Vec<TableName> = known.new.iter().cloned().collect();
    if tables.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&TableName> = tables.iter().collect();
    let parts = partitions::read(owner, &names).await?;
    foreign_keys.extend(own_foreign_keys(owner, &parts).await?);
    known.remove_dependent(&foreign_keys);
    let new = known.new.iter();
    let keyed = new.map(|table| (table.clone(), TableKey::Columns(known.keys[table].clone())));
    with_parts(owner, keyed.collect(), parts).await
}

/// Returns the tables with those of `parts` that belong to them.
async fn with_parts(
    owner: &Connected,
    tables: Vec<(TableName, TableKey)>,
    mut parts: Vec<TablePartition>,
) -> Result<Vec<NewTable>, StepError> {
    let names: Vec<&TableName> = tables.iter().map(|(table, _)| table).collect();
    let partitioned = partitioned(owner, &names).await?;
    let new_table = |(table, key): (TableName, TableKey)| {
        let root = TablePartition {
            table: table.clone(),
            parent: table.clone(),
            top: table.clone(),
            is_leaf: !partitioned.contains(&table),
        };
        let below = parts.extract_if(.., |part| part.top == table);
        NewTable {
            key,
            parts: std::iter::once(root).chain(below).collect(),
            table,
        }
    };
    Ok(tables.into_iter().map(new_table).collect())
}

/// Returns the foreign keys that partitions have alone, as those of their topmost tables.
async fn own_foreign_keys(
    owner: &Connected,
    parts: &[TablePartition],
) -> Result<Vec<ForeignKey>, StepError> {
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&TableName> = parts.iter().map(|part| &part.table).collect();
    let found = catalog::foreign_keys_of(owner, &names).await?;
    let of_top = |key: ForeignKey| {
        let part = parts.iter().find(|part| part.table == key.from)?;
        let from = part.top.clone();
        Some(ForeignKey { from, ..key })
    };
    Ok(found.into_iter().filter_map(of_top).collect())
}

/// Returns a line about a new table that the migration can adopt.
pub(crate) async fn first_adoptable(
    context: &StepContext,
    owner: &Connected,
) -> Result<Option<String>, StepError> {
    let mut new = find(context, owner).await?.into_iter();
    let adoptable = new.find(NewTable::has_leaf);
    Ok(adoptable.map(|found| format!("{}: the table is new", found.table)))
}

/// Returns the leaves of the new tables that the other shard has already. Until the migration has adopted them, the agent
/// follows their changes as those of its own tables.
pub(crate) async fn created_leaves(
    context: &StepContext,
    sessions: &DefinitionSessions<'_>,
) -> Result<Vec<MovingTable>, StepError> {
    let Some(way) = AdoptionWay::read(context, sessions.target).await? else {
        return Ok(Vec::new());
    };
    let (owner, other) = way.owner_and_other(sessions);
    let mut created = Vec::new();
    for table in find(context, owner).await? {
        if exists(other, &table.table).await? {
            created.extend(table.bare_leaves());
        }
    }
    Ok(created)
}

/// Returns whether the shard has a table with this name.
pub(crate) async fn exists(shard: &Connected, table: &TableName) -> Result<bool, StepError> {
    let read = "select pg_catalog.to_regclass($1) is not null";
    let row = shard.query_one(read, &[&table.sql()]).await;
    let row = row.at(format_args!(
        "shard {}: searching for table {table}",
        shard.name()
    ))?;
    Ok(row.get(0))
}

/// Returns those of the tables that are partitioned.
async fn partitioned(
    owner: &Connected,
    tables: &[&TableName],
) -> Result<BTreeSet<TableName>, StepError> {
    let names: Vec<String> = tables.iter().map(|table| table.sql()).collect();
    let read = "
        select n.nspname::text, c.relname::text
        from pg_catalog.unnest($1::text[]) name
        join pg_catalog.pg_class c on c.oid = pg_catalog.to_regclass(name) and c.relkind = 'p'
        join pg_catalog.pg_namespace n on n.oid = c.relnamespace";
    let rows = owner.query(read, &[&names]).await;
    let rows = rows.at(format_args!("shard {}: reading new tables", owner.name()))?;
    let name = |row: &tokio_postgres::Row| TableName {
        schema: row.get(0),
        name: row.get(1),
    };
    Ok(rows.iter().map(name).collect())
}

/// The tables whose relation to the shard key is known.
struct Known {
    /// The columns of the shard key, for each table that has moving rows.
    keys: BTreeMap<TableName, Vec<KeyColumn>>,
    /// The tables of which every shard has the same rows.
    reference: BTreeSet<TableName>,
    /// The other tables that are not new.
    others: BTreeSet<TableName>,
    new: BTreeSet<TableName>,
}

impl Known {
    fn of(planned: &[MovingTable], reference: &BTreeSet<TableName>) -> Self {
        let (mut keys, mut reference) = (BTreeMap::new(), reference.clone());
        let mut others = BTreeSet::new();
        for table in planned {
            let names = [table.table.clone(), table.top().clone()];
            match &table.key {
                // The table of a retired partition does not move any more.
                _ if table.retired => others.extend([table.table.clone()]),
                TableKey::Columns(columns) => {
                    keys.extend(names.map(|name| (name, columns.clone())));
                }
                TableKey::Through(_) | TableKey::Schema(_) | TableKey::Group(_) => {
                    others.extend(names);
                }
                TableKey::Reference => reference.extend(names),
            }
        }
        Self {
            keys,
            reference,
            others,
            new: BTreeSet::new(),
        }
    }

    fn is_new(&self, table: &TableName) -> bool {
        !self.keys.contains_key(table)
            && !self.reference.contains(table)
            && !self.others.contains(table)
    }

    /// Adds the tables that refer by their foreign keys to a table with a shard key. Returns their names.
    fn extend(&mut self, foreign_keys: &[ForeignKey]) -> Vec<TableName> {
        let mut added = Vec::new();
        for foreign_key in foreign_keys {
            let from = &foreign_key.from;
            let referenced = self.keys.get(&foreign_key.to);
            let key = referenced.and_then(|key| referring_columns(foreign_key, key));
            if let Some(key) = key.filter(|_| self.is_new(from)) {
                self.keys.insert(from.clone(), key);
                self.new.insert(from.clone());
                added.push(from.clone());
            }
        }
        added
    }

    /// Removes the new tables with a foreign key that the move would break, and those that refer to them.
    fn remove_dependent(&mut self, foreign_keys: &[ForeignKey]) {
        let is_broken = |known: &Self, foreign_key: &&ForeignKey| {
            known.new.contains(&foreign_key.from)
                && match known.keys.get(&foreign_key.to) {
                    Some(key) => {
                        referring_columns(foreign_key, key).as_ref()
                            != known.keys.get(&foreign_key.from)
                    }
                    // A cascade from a reference table would change moving rows on the shard that does not own them.
                    None => foreign_key.cascades || !known.reference.contains(&foreign_key.to),
                }
        };
        while let Some(broken) = foreign_keys.iter().find(|key| is_broken(self, key)) {
            self.new.remove(&broken.from);
            self.keys.remove(&broken.from);
        }
    }
}

/// Returns the columns of a foreign key that refer to the columns `key`; `None` if it lacks one.
fn referring_columns(foreign_key: &ForeignKey, key: &[KeyColumn]) -> Option<Vec<KeyColumn>> {
    let own = |column: &KeyColumn| {
        let mut pairs = foreign_key.columns.iter();
        let (name, _) = pairs.find(|(_, referenced)| referenced == &column.name)?;
        Some(KeyColumn {
            name: name.clone(),
            kind: column.kind,
        })
    };
    key.iter().map(own).collect()
}

#[cfg(test)]
mod tests {
    use plans::key::KeyType;

    use super::*;

    fn moving(name: &str, key: TableKey) -> MovingTable {
        MovingTable::bare(TableName::parse(name), key)
    }

    fn columns(name: &str) -> TableKey {
        TableKey::Columns(vec![KeyColumn {
            name: name.to_owned(),
            kind: KeyType::Bigint,
        }])
    }

    fn foreign_key(from: &str, to: &str, columns: &[(&str, &str)]) -> ForeignKey {
        let pair = |(own, theirs): &(&str, &str)| ((*own).to_owned(), (*theirs).to_owned());
        ForeignKey {
            name: format!("{from}_{to}"),
            from: TableName::parse(from),
            to: TableName::parse(to),
            columns: columns.iter().map(pair).collect(),
            validated: true,
            of_partition: false,
            cascades: false,
            is_plain: true,
        }
    }

    fn new_tables(foreign_keys: &[ForeignKey]) -> Vec<String> {
        let planned = [
            moving("item", columns("tenant")),
            moving("kind", TableKey::Reference),
        ];
        let mut known = Known::of(&planned, &BTreeSet::new());
        while !known.extend(foreign_keys).is_empty() {}
        known.remove_dependent(foreign_keys);
        let line = |table: &TableName| format!("{} by {}", table.name, known.keys[table][0].name);
        known.new.iter().map(line).collect()
    }

    #[test]
    fn a_new_table_has_the_key_that_its_foreign_keys_contain() {
        let line = foreign_key("line", "item", &[("owner", "tenant"), ("item", "id")]);
        let note = foreign_key("note", "line", &[("of", "owner"), ("line", "id")]);
        let kind = foreign_key("note", "kind", &[("kind", "id")]);
        let own = foreign_key("note", "note", &[("of", "of"), ("parent", "id")]);
        let all = [note.clone(), line.clone(), kind, own];
        assert_eq!(new_tables(&all), ["line by owner", "note by of"]);

        let without_key = foreign_key("line", "item", &[("item", "id")]);
        assert!(new_tables(&[without_key.clone(), note.clone()]).is_empty());
        // A foreign key that another part of the key could violate.
        assert!(new_tables(&[line.clone(), without_key]).is_empty());
        let other_key = foreign_key("line", "item", &[("buyer", "tenant"), ("bought", "id")]);
        assert!(new_tables(&[line.clone(), other_key]).is_empty());
        let cascading = ForeignKey {
            cascades: true,
            is_plain: true,
            ..foreign_key("line", "kind", &[("kind", "id")])
        };
        assert!(new_tables(&[line.clone(), cascading]).is_empty());
        // The rows to which it refers stay. The table below it then lacks its parent.
        let outside = foreign_key("line", "log", &[("log", "id")]);
        assert!(new_tables(&[line, note, outside]).is_empty());
    }
}

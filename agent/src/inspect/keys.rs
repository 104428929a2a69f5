//! How the tables of a map are tied to its key, from what the map says and from foreign keys.

use std::collections::BTreeMap;

use plans::key::KeyType;
use plans::shard_map::{MapSettings, ThroughRef};
use plans::sql::quote_ident;
use plans::table::{KeyColumn, TableKey, TableName, ThroughTable};

use crate::postgres::catalog::ForeignKey;

/// A table whose tie to the key is not known.
#[derive(Debug)]
pub(super) struct UntiedTable {
    pub(super) table: TableName,
    pub(super) problem: String,
    pub(super) remedy: String,
}

/// The sharded tables and those that belong to them, parents before children, and what stays unknown.
pub(super) fn resolve(
    settings: &MapSettings,
    types: &[KeyType],
    foreign_keys: &[ForeignKey],
) -> (Vec<(TableName, TableKey)>, Vec<UntiedTable>) {
    let (mut tied, mut untied) = (Vec::new(), Vec::new());
    for (name, columns) in &settings.tables {
        let table = TableName::parse(name);
        if columns.0.len() == types.len() {
            let columns = columns.0.iter().zip(types);
            let columns = columns.map(|(name, kind)| KeyColumn {
                name: name.clone(),
                kind: *kind,
            });
            tied.push((table, TableKey::Columns(columns.collect())));
        } else {
            untied.push(UntiedTable {
                problem: format!(
                    "{} key column(s) are listed, the map's key has {}",
                    columns.0.len(),
                    types.len()
                ),
                remedy: format!("list the key's {} columns under `tables`", types.len()),
                table,
            });
        }
    }
    let mut waiting: BTreeMap<TableName, &ThroughRef> = settings
        .through
        .iter()
        .map(|(name, reference)| (TableName::parse(name), reference))
        .collect();
    while let Some((table, key)) = next_through(&waiting, &tied) {
        if let Some(reference) = waiting.remove(&table) {
            match joined(&table, reference, foreign_keys) {
                Ok(columns) => tied.push((
                    table,
                    TableKey::Through(Box::new(ThroughTable {
                        parent: TableName::parse(&reference.parent),
                        columns,
                        key,
                    })),
                )),
                Err(unknown) => untied.push(unknown),
            }
        }
    }
    untied.extend(waiting.into_iter().map(|(table, reference)| UntiedTable {
        problem: format!(
            "the table {} that it belongs to is not tied to the key",
            reference.parent
        ),
        remedy: format!("mend what is said of {}, or list it", reference.parent),
        table,
    }));
    (tied, untied)
}

/// A table whose parent is tied already, with the parent's key.
fn next_through(
    waiting: &BTreeMap<TableName, &ThroughRef>,
    tied: &[(TableName, TableKey)],
) -> Option<(TableName, TableKey)> {
    waiting.iter().find_map(|(table, reference)| {
        let parent = TableName::parse(&reference.parent);
        let (_, key) = tied.iter().find(|(name, _)| *name == parent)?;
        Some((table.clone(), key.clone()))
    })
}

/// The columns by which a row refers to its parent: as declared, or those of the only foreign key.
fn joined(
    table: &TableName,
    reference: &ThroughRef,
    foreign_keys: &[ForeignKey],
) -> Result<Vec<(String, String)>, UntiedTable> {
    if !reference.columns.is_empty() {
        return Ok(reference.columns.clone().into_iter().collect());
    }
    let parent = TableName::parse(&reference.parent);
    let mut fitting = foreign_keys
        .iter()
        .filter(|key| &key.from == table && key.to == parent);
    let problem = match (fitting.next(), fitting.next()) {
        (Some(only), None) => return Ok(only.columns.clone()),
        (None, _) => format!("no foreign key says how its rows belong to {parent}"),
        (Some(_), Some(_)) => format!("several foreign keys lead to {parent}"),
    };
    Err(UntiedTable {
        table: table.clone(),
        problem,
        remedy: format!("name its columns and those of {parent} under `through`, `columns`"),
    })
}

/// The key's columns of a row called `row` as SQL expressions; those of a parent are looked up.
pub(super) fn expressions(key: &TableKey, row: &str) -> Vec<String> {
    nested(key, row, 0)
}

fn nested(key: &TableKey, row: &str, depth: usize) -> Vec<String> {
    match key {
        TableKey::Columns(columns) => columns
            .iter()
            .map(|column| format!("{row}.{}", quote_ident(&column.name)))
            .collect(),
        TableKey::Reference => Vec::new(),
        TableKey::Through(through) => {
            let parent = format!("shardwright_key_{depth}");
            let inner = nested(&through.key, &parent, depth + 1);
            let wheres = join_condition(through, &parent, row);
            inner
                .iter()
                .map(|column| {
                    format!(
                        "(select {column} from {} {parent} where {wheres} limit 1)",
                        through.parent.sql()
                    )
                })
                .collect()
        }
    }
}

/// That a row called `row`, or one that it belongs to, has NULL where it would refer to its parent: it has no key, and stays
/// where it is.
pub(super) fn refers_to_none(through: &ThroughTable, row: &str) -> String {
    let own = through.columns.iter();
    let mut none: Vec<String> = own
        .map(|(own, _)| format!("{row}.{} is null", quote_ident(own)))
        .collect();
    if let TableKey::Through(above) = &through.key {
        let parent = format!("{row}_parent");
        none.push(format!(
            "exists (select from {} {parent} where {} and ({}))",
            through.parent.sql(),
            join_condition(through, &parent, row),
            refers_to_none(above, &parent),
        ));
    }
    none.join(" or ")
}

/// That a parent's row is the one that a row refers to.
pub(super) fn join_condition(through: &ThroughTable, parent: &str, row: &str) -> String {
    let pairs: Vec<String> = through
        .columns
        .iter()
        .map(|(own, theirs)| {
            format!(
                "{parent}.{} = {row}.{}",
                quote_ident(theirs),
                quote_ident(own)
            )
        })
        .collect();
    pairs.join(" and ")
}

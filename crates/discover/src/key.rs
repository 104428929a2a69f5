//! Determines which columns can be the shard key. No I/O.
//!
//! A candidate is a group of columns that hold the same values ([`domains`]), with one column of each table. Its score
//! is the sum over its tables: how strongly each table is tied to the key, how many rows it has, and how many other
//! tables refer to it.

use crate::domain::{ColumnOfTable, Domain, GENERIC, domains, is_own_key, normalized};
use crate::error::DiscoverError;
use crate::facts::{Facts, Reference, Table, map_name};
use plans::key::KeyType;
use plans::table::TableName;
use std::collections::{BTreeMap, BTreeSet};

/// The number of candidates that are shown.
pub(crate) const MAX_SHOWN: usize = 3;
/// The maximum number of a candidate's tables that are named.
const MAX_NAMED_TABLES: usize = 8;

/// How a table's column is tied to the key, the strongest tie first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum KeyTie {
    /// The column is the first one of a primary or unique key with several columns.
    Leads,
    /// The column is the table's whole primary key.
    Own,
    /// The column is another column of a primary or unique key.
    Part,
    /// The column is NOT NULL and has a foreign key to another table.
    Refers,
    /// The column is NOT NULL and the first column of an index.
    Indexed,
    /// The column may be null, and has a foreign key or is the first column of an index.
    MayRefer,
    /// The column only has the name of the key.
    Named,
}

impl KeyTie {
    /// Returns what a table with this relation to the key adds to the score of the key.
    fn weight(self) -> f64 {
        match self {
            Self::Leads => 2.0,
            Self::Own | Self::Part | Self::Refers => 1.0,
            Self::Indexed => 0.7,
            Self::MayRefer => 0.5,
            Self::Named => 0.4,
        }
    }
}

/// The factor for the weight of a table without the key whose rows belong to rows of a table with the key. Such tables
/// together add at most [`MAX_DEPENDENT_SHARE`] of the score of the tables with the key.
const DEPENDENT_TABLE_WEIGHT: f64 = 0.25;
const MAX_DEPENDENT_SHARE: f64 = 0.5;
/// The factor for a key that is a time: rows with the same time do not belong to one tenant.
const TIME_FACTOR: f64 = 0.1;
/// The factor for a key with fewer than [`FEW`] values in at least [`MANY_ROWS`] rows.
const FEW_VALUES_FACTOR: f64 = 0.3;
const FEW_VALUES: i64 = 4;
const MANY_ROWS: i64 = 1_000;

/// A column group that could be the shard key, with its score.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyCandidate {
    /// The value for the option `--key`: a column, or table and column.
    pub name: String,
    /// The type of most of its columns.
    pub kind: KeyType,
    /// The tables that would be sharded, each with its column.
    pub(crate) columns: BTreeMap<TableName, String>,
    /// The number of tables without the key whose rows belong to rows of these tables.
    pub(crate) dependent_tables: usize,
    /// The score. A larger one is better.
    pub score: f64,
    is_tied: bool,
    indexed: usize,
}

impl KeyCandidate {
    fn of(domain: &Domain, facts: &Facts) -> Option<Self> {
        let mut columns = BTreeMap::new();
        let mut kinds: BTreeMap<KeyType, usize> = BTreeMap::new();
        let (mut score, mut is_tied, mut indexed) = (0.0, false, 0);
        for (name, own) in &domain.columns {
            let table = facts.tables.get(name)?;
            let ties = own
                .iter()
                .map(|column| (tie(facts, (name, table), column), column));
            let (tie, column) = ties.min_by_key(|(tie, _)| *tie)?;
            let kind = table.column(column)?.kind?;
            *kinds.entry(kind).or_default() += 1;
            score += tie.weight() * weight(table);
            is_tied |= match tie {
                KeyTie::Leads | KeyTie::Refers | KeyTie::MayRefer => true,
                KeyTie::Own | KeyTie::Part | KeyTie::Indexed | KeyTie::Named => {
                    refers(facts, name, column)
                }
            };
            indexed += usize::from(leads_index(table, column));
            columns.insert(name.clone(), column.clone());
        }
        let dependent = dependent_tables(facts, &columns);
        let dependent_weight = dependent.iter().filter_map(|name| facts.tables.get(*name));
        let dependent_weight = dependent_weight
            .map(|table| DEPENDENT_TABLE_WEIGHT * weight(table))
            .sum::<f64>();
        score += dependent_weight.min(score * MAX_DEPENDENT_SHARE);
        let (kind, _) = kinds.into_iter().max_by_key(|(_, tables)| *tables)?;
        if matches!(kind, KeyType::Date | KeyType::Timestamptz) {
            score *= TIME_FACTOR;
        }
        let root = domain.root(facts);
        let values = root.as_ref().and_then(|(name, _)| facts.tables.get(name));
        let rows = columns.keys().filter_map(|name| facts.tables.get(name));
        let rows: i64 = rows.map(|table| table.rows).sum();
        if values.is_some_and(|table| (1..FEW_VALUES).contains(&table.rows)) && rows >= MANY_ROWS {
            score *= FEW_VALUES_FACTOR;
        }
        Some(Self {
            name: display_name(&columns, root.as_ref()),
            kind,
            dependent_tables: dependent.len(),
            columns,
            score,
            is_tied,
            indexed,
        })
    }

    /// Returns the tables as text. A column is named if its name differs from the key's name.
    #[must_use]
    pub fn tables(&self) -> String {
        let shown = self
            .columns
            .iter()
            .take(MAX_NAMED_TABLES)
            .map(|(table, column)| match *column == self.name {
                true => map_name(table),
                false => format!("{} by {column}", map_name(table)),
            });
        let shown: Vec<String> = shown.collect();
        let more = self.columns.len().saturating_sub(MAX_NAMED_TABLES);
        match more {
            0 => shown.join(", "),
            more => format!("{} and {more} more", shown.join(", ")),
        }
    }

    /// Returns the reason why it could be the key.
    #[must_use]
    pub fn reason(&self) -> String {
        let dependent = match self.dependent_tables {
            0 => String::new(),
            count => format!("; {count} more belong to these"),
        };
        format!(
            "{} ({}): {} table(s) have it: {}{dependent}",
            self.name,
            self.kind,
            self.columns.len(),
            self.tables()
        )
    }
}

/// Returns all possible keys, the best first.
pub(crate) fn candidates(facts: &Facts) -> Vec<KeyCandidate> {
    let all = domains(facts);
    let all = all
        .iter()
        .filter_map(|domain| KeyCandidate::of(domain, facts));
    let (ties, remaining): (Vec<KeyCandidate>, Vec<KeyCandidate>) =
        all.partition(|candidate| candidate.is_tied);
    let mut ranked = match ties.is_empty() {
        false => ties,
        // If no primary or foreign key contains it, a column is a candidate if several tables have an index on it.
        true => remaining
            .into_iter()
            .filter(|c| c.indexed > 1 && !matches!(c.kind, KeyType::Date | KeyType::Timestamptz))
            .collect(),
    };
    ranked.sort_by(|one, other| {
        let by_score = other.score.total_cmp(&one.score);
        by_score.then_with(|| one.name.cmp(&other.name))
    });
    ranked
}

/// Returns the key that `--key` names: a column, or table and column.
///
/// # Errors
/// [`DiscoverError::UnfitKey`] if no table has the column, or if several tables have a column with this name and these
/// are not the same key.
pub(crate) fn named_key(facts: &Facts, requested: &str) -> Result<KeyCandidate, DiscoverError> {
    let of_table = requested.rsplit_once('.').and_then(|(table, column)| {
        let table = TableName::parse(table);
        facts.tables.get(&table)?.column(column)?;
        Some((table, column))
    });
    let has = |domain: &Domain| match &of_table {
        Some((table, column)) => {
            let own = domain.columns.get(table);
            own.is_some_and(|own| own.iter().any(|own| own == column))
        }
        None => domain
            .columns
            .values()
            .flatten()
            .any(|own| own == requested),
    };
    let found: Vec<Domain> = domains(facts)
        .into_iter()
        .filter(|domain| has(domain))
        .collect();
    let own_keys = found
        .iter()
        .flat_map(|domain| &domain.columns)
        .filter(|(name, own)| {
            let table = facts.tables.get(*name);
            table.is_some_and(|table| {
                own.iter()
                    .any(|own| own == requested && is_own_key(table, own))
            })
        });
    let own_keys: Vec<String> = own_keys
        .map(|(name, _)| format!("{}.{requested}", map_name(name)))
        .collect();
    if own_keys.len() > 1 && GENERIC.contains(&normalized(requested).as_str()) {
        return Err(DiscoverError::UnfitKey {
            column: requested.to_owned(),
            reason: format!(
                "it is the own key of several tables; name one: {}",
                own_keys.join(", ")
            ),
        });
    }
    let mut merged = Domain::default();
    for (name, columns) in found.into_iter().flat_map(|domain| domain.columns) {
        merged.columns.entry(name).or_default().extend(columns);
    }
    let candidate =
        KeyCandidate::of(&merged, facts).ok_or_else(|| unfit_key_error(facts, requested))?;
    let column_with_name = |name: &TableName, column: &str| {
        let has_named_column = merged
            .columns
            .get(name)
            .is_some_and(|own| own.iter().any(|own| own == column));
        has_named_column.then(|| column.to_owned())
    };
    // If a table has several columns with the key's values, the named one is used.
    let columns = candidate.columns.iter().map(|(name, best)| {
        let condition = match &of_table {
            Some((table, column)) => (table == name).then(|| (*column).to_owned()),
            None => column_with_name(name, requested),
        };
        (name.clone(), condition.unwrap_or_else(|| best.clone()))
    });
    let columns = columns.collect();
    Ok(KeyCandidate {
        columns,
        ..candidate
    })
}

/// Returns the relation of a table to the key in its column `column`.
fn tie(facts: &Facts, (name, table): (&TableName, &Table), column: &str) -> KeyTie {
    let mut unique = table.indexes.iter().filter(|index| index.is_unique);
    let not_null = table.column(column).is_some_and(|found| found.not_null);
    if leads_key(table, column) {
        KeyTie::Leads
    } else if is_own_key(table, column) {
        KeyTie::Own
    } else if unique
        .any(|index| index.columns.len() > 1 && index.columns.iter().any(|own| own == column))
    {
        KeyTie::Part
    } else if refers(facts, name, column) && not_null {
        KeyTie::Refers
    } else if leads_index(table, column) && not_null {
        KeyTie::Indexed
    } else if refers(facts, name, column) || leads_index(table, column) {
        KeyTie::MayRefer
    } else {
        KeyTie::Named
    }
}

/// Returns whether a foreign key to another table contains the column.
fn refers(facts: &Facts, name: &TableName, column: &str) -> bool {
    let mut own = facts
        .references
        .iter()
        .filter(|r| &r.from == name && &r.to != name);
    own.any(|reference| reference.columns.iter().any(|(own, _)| own == column))
}

/// Returns the weight of a table. A table with ten thousand rows has twice the weight of an empty one.
fn weight(table: &Table) -> f64 {
    1.0 + (1.0 + table.rows.max(0) as f64).log10() / 4.0
}

/// Returns the tables without the key whose rows all refer to a table with the key, directly or through other tables.
fn dependent_tables<'a>(
    facts: &'a Facts,
    columns: &BTreeMap<TableName, String>,
) -> BTreeSet<&'a TableName> {
    let mut found: BTreeSet<&TableName> = BTreeSet::new();
    loop {
        let next: Vec<&TableName> = facts
            .references
            .iter()
            .filter(|r| columns.contains_key(&r.to) || found.contains(&r.to))
            .filter(|r| is_mandatory(facts, r))
            .map(|r| &r.from)
            .filter(|name| !columns.contains_key(*name) && !found.contains(name))
            .collect();
        if next.is_empty() {
            return found;
        }
        found.extend(next);
    }
}

/// Returns whether every row has a value for the foreign key.
fn is_mandatory(facts: &Facts, reference: &Reference) -> bool {
    let table = facts.tables.get(&reference.from);
    let mut own = reference.columns.iter().map(|(own, _)| own);
    table.is_some_and(|table| own.all(|own| table.column(own).is_some_and(|found| found.not_null)))
}

/// Returns the name of the key in messages: the name of more than half of its columns, or table and column of the
/// primary key.
fn display_name(columns: &BTreeMap<TableName, String>, root: Option<&ColumnOfTable>) -> String {
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    let remaining = columns
        .iter()
        .filter(|(name, _)| root.is_none_or(|(table, _)| table != *name));
    for (_, column) in remaining {
        *names.entry(column).or_default() += 1;
    }
    let most_frequent = names.iter().max_by_key(|(_, count)| **count);
    match (most_frequent, root) {
        (Some((name, count)), _) if *count * 2 > names.values().sum::<usize>() => {
            (*name).to_owned()
        }
        (_, Some((table, column))) => format!("{}.{column}", map_name(table)),
        (Some((name, _)), None) => (*name).to_owned(),
        (None, None) => String::new(),
    }
}

/// Returns whether the column is the first one of a primary or unique key with several columns.
fn leads_key(table: &Table, column: &str) -> bool {
    let mut keys = table.indexes.iter().filter(|index| index.is_unique);
    keys.any(|index| index.columns.len() > 1 && index.columns.first().is_some_and(|c| c == column))
}

/// Returns whether the column is the first one of an index, other than a primary key with this column alone.
fn leads_index(table: &Table, column: &str) -> bool {
    let own_key = |columns: &[String]| columns.len() == 1;
    let mut indexes = table.indexes.iter();
    indexes.any(|index| {
        let leads = index.columns.first().is_some_and(|c| c == column);
        leads && !(index.is_primary && own_key(&index.columns))
    })
}

/// Returns the error for a column that cannot be the shard key.
fn unfit_key_error(facts: &Facts, column: &str) -> DiscoverError {
    let with = facts
        .tables
        .iter()
        .find(|(_, table)| table.is_plain() && table.column(column).is_some());
    let reason = match with {
        Some((table, _)) => {
            let types: Vec<&str> = KeyType::ALL.iter().map(|kind| kind.sql_name()).collect();
            format!(
                "in {} its type is none of {}",
                map_name(table),
                types.join(", ")
            )
        }
        None => match column.rsplit_once('.') {
            Some((table, own)) if facts.tables.contains_key(&TableName::parse(table)) => {
                format!("table {table} has no column {own}")
            }
            _ => "no table has it".to_owned(),
        },
    };
    DiscoverError::UnfitKey {
        column: column.to_owned(),
        reason,
    }
}

#[cfg(test)]
mod tests;

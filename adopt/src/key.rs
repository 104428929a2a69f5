//! Which column is the shard key. Pure.
//!
//! A column ties a table to the key when it leads a primary or unique key of several columns, or refers to another
//! table. A primary key of one column, as every `id` is, ties nothing.

use crate::error::AdoptError;
use crate::facts::{Facts, Table, short};
use plans::key::KeyType;
use plans::table::TableName;
use std::collections::{BTreeMap, BTreeSet};

/// Runners-up that are told.
const TOLD: usize = 3;

/// The key column, and why it is that one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyChoice {
    pub(crate) column: String,
    pub(crate) kind: KeyType,
    pub(crate) reasons: Vec<String>,
}

/// A column name of one or more tables, with what speaks for it.
#[derive(Debug, Default)]
struct Candidate {
    /// Tables with this column, by type.
    has: BTreeMap<KeyType, BTreeSet<TableName>>,
    /// Leads a key of several columns.
    leads: BTreeSet<TableName>,
    /// Refers to another table.
    refers: BTreeSet<TableName>,
    /// Leads an index of any kind but a primary key of its own.
    indexed: BTreeSet<TableName>,
    /// Size of the tables that have it.
    bytes: i64,
}

impl Candidate {
    fn tied(&self) -> usize {
        self.leads.union(&self.refers).count()
    }

    fn tables(&self) -> usize {
        self.has.values().map(BTreeSet::len).sum()
    }

    /// The type that most tables give it.
    fn kind(&self) -> Option<KeyType> {
        let most = self.has.iter().max_by_key(|(_, tables)| tables.len());
        most.map(|(kind, _)| *kind)
    }

    /// Larger is better.
    fn weight(&self) -> (usize, usize, i64) {
        (self.tied(), self.tables(), self.bytes)
    }

    /// Without keys that name it, indexes of several tables speak for a column, unless it is a time.
    fn is_found_by_indexes(&self) -> bool {
        let time = matches!(self.kind(), Some(KeyType::Date | KeyType::Timestamptz));
        self.indexed.len() > 1 && !time
    }
}

impl KeyChoice {
    /// The column `wished`, or the one that ties most tables.
    ///
    /// # Errors
    /// [`AdoptError::UnfitKey`] for a wish that no table can fulfil, [`AdoptError::NoKey`] without any candidate.
    pub(crate) fn make(facts: &Facts, wished: Option<&str>) -> Result<Self, AdoptError> {
        let candidates = candidates(facts);
        if let Some(column) = wished {
            let kind = candidates.get(column).and_then(Candidate::kind);
            let kind = kind.ok_or_else(|| unfit(facts, column))?;
            let told = format!("key {column} ({kind}): as --key says");
            return Ok(Self {
                column: column.to_owned(),
                kind,
                reasons: vec![told],
            });
        }
        let mut ranked: Vec<(&str, &Candidate)> = candidates
            .iter()
            .map(|(column, candidate)| (column.as_str(), candidate))
            .filter(|(_, candidate)| candidate.tied() > 0)
            .collect();
        if ranked.is_empty() {
            let found = candidates.iter().filter(|(_, c)| c.is_found_by_indexes());
            ranked = found.map(|(column, c)| (column.as_str(), c)).collect();
            ranked.sort_by_key(|(_, c)| std::cmp::Reverse((c.indexed.len(), c.tables(), c.bytes)));
        } else {
            ranked.sort_by_key(|(_, candidate)| std::cmp::Reverse(candidate.weight()));
        }
        let Some(((column, best), others)) = ranked.split_first() else {
            return Err(AdoptError::NoKey);
        };
        let kind = best.kind().ok_or(AdoptError::NoKey)?;
        let mut reasons = vec![praise(column, kind, best)];
        if !others.is_empty() {
            reasons.push(runners_up(others));
        }
        Ok(Self {
            column: (*column).to_owned(),
            kind,
            reasons,
        })
    }
}

fn candidates(facts: &Facts) -> BTreeMap<String, Candidate> {
    let mut all: BTreeMap<String, Candidate> = BTreeMap::new();
    for (name, table) in facts.tables.iter().filter(|(_, table)| table.is_plain()) {
        for column in &table.columns {
            let Some(kind) = column.kind else { continue };
            let candidate = all.entry(column.name.clone()).or_default();
            candidate.has.entry(kind).or_default().insert(name.clone());
            candidate.bytes = candidate.bytes.saturating_add(table.bytes);
            if leads_key(table, &column.name) {
                candidate.leads.insert(name.clone());
            }
            if leads_index(table, &column.name) {
                candidate.indexed.insert(name.clone());
            }
            let mut references = facts.references.iter().filter(|r| &r.from == name);
            if references
                .any(|r| r.to != r.from && r.columns.iter().any(|(own, _)| own == &column.name))
            {
                candidate.refers.insert(name.clone());
            }
        }
    }
    all
}

fn leads_key(table: &Table, column: &str) -> bool {
    let mut keys = table.indexes.iter().filter(|index| index.is_unique);
    keys.any(|index| index.columns.len() > 1 && index.columns.first().is_some_and(|c| c == column))
}

fn leads_index(table: &Table, column: &str) -> bool {
    let own_key = |columns: &[String]| columns.len() == 1;
    let mut indexes = table.indexes.iter();
    indexes.any(|index| {
        let leads = index.columns.first().is_some_and(|c| c == column);
        leads && !(index.is_primary && own_key(&index.columns))
    })
}

fn praise(column: &str, kind: KeyType, candidate: &Candidate) -> String {
    format!(
        "key {column} ({kind}): {} table(s) have it; it leads a key of several columns in {}, refers to another table in {}, and leads an index in {}",
        candidate.tables(),
        candidate.leads.len(),
        candidate.refers.len(),
        candidate.indexed.len(),
    )
}

fn runners_up(others: &[(&str, &Candidate)]) -> String {
    let told = others.iter().take(TOLD).map(|(column, candidate)| {
        let tied = candidate.tied().max(candidate.indexed.len());
        format!("{column} ({tied} table(s))")
    });
    let told: Vec<String> = told.collect();
    format!(
        "other columns could be the key: {}; --key COLUMN says so",
        told.join(", ")
    )
}

fn unfit(facts: &Facts, column: &str) -> AdoptError {
    let with = facts
        .tables
        .iter()
        .find(|(_, table)| table.is_plain() && table.column(column).is_some());
    let reason = match with {
        Some((table, _)) => {
            let types: Vec<&str> = KeyType::ALL.iter().map(|kind| kind.sql_name()).collect();
            format!(
                "in {} its type is none of {}",
                short(table),
                types.join(", ")
            )
        }
        None => "no table has it".to_owned(),
    };
    AdoptError::UnfitKey {
        column: column.to_owned(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Column, Index, Reference};

    fn table(columns: &[&str], keys: &[&[&str]]) -> Table {
        let column = |name: &&str| Column {
            name: (*name).to_owned(),
            kind: Some(KeyType::Bigint),
            not_null: true,
        };
        let index = |(place, columns): (usize, &&[&str])| Index {
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            is_primary: place == 0,
            is_unique: place == 0,
        };
        Table {
            columns: columns.iter().map(column).collect(),
            indexes: keys.iter().enumerate().map(index).collect(),
            ..Table::default()
        }
    }

    fn facts(tables: Vec<(&str, Table)>, references: &[(&str, &str, &str)]) -> Facts {
        let reference = |(from, own, to): &(&str, &str, &str)| Reference {
            from: TableName::parse(from),
            to: TableName::parse(to),
            columns: vec![((*own).to_owned(), "id".to_owned())],
        };
        let named = tables.into_iter();
        Facts {
            tables: named
                .map(|(name, table)| (TableName::parse(name), table))
                .collect(),
            references: references.iter().map(reference).collect(),
        }
    }

    #[test]
    fn the_id_of_every_table_is_not_the_key() {
        let shop = facts(
            vec![
                ("tenants", table(&["id"], &[&["id"]])),
                ("orders", table(&["id", "tenant_id"], &[&["id"]])),
                ("lines", table(&["id", "order_id", "tenant_id"], &[&["id"]])),
            ],
            &[
                ("orders", "tenant_id", "tenants"),
                ("lines", "tenant_id", "tenants"),
                ("lines", "order_id", "orders"),
            ],
        );
        let choice = KeyChoice::make(&shop, None).unwrap();
        assert_eq!(
            (choice.column.as_str(), choice.kind),
            ("tenant_id", KeyType::Bigint)
        );
        assert!(
            choice.reasons[1].contains("order_id"),
            "{:?}",
            choice.reasons
        );
        assert_eq!(
            KeyChoice::make(&shop, Some("order_id")).unwrap().column,
            "order_id"
        );
    }

    #[test]
    fn a_schema_without_foreign_keys_is_read_by_its_indexes() {
        let rails = facts(
            vec![
                ("accounts", table(&["id"], &[&["id"]])),
                (
                    "posts",
                    table(&["id", "account_id"], &[&["id"], &["account_id"]]),
                ),
                (
                    "likes",
                    table(&["id", "account_id"], &[&["id"], &["account_id", "id"]]),
                ),
            ],
            &[],
        );
        assert_eq!(KeyChoice::make(&rails, None).unwrap().column, "account_id");
    }

    #[test]
    fn tables_that_nothing_ties_have_no_key() {
        let apart = facts(
            vec![
                ("a", table(&["id", "x"], &[&["id"]])),
                ("b", table(&["id", "y"], &[&["id"], &["y"]])),
            ],
            &[],
        );
        assert!(matches!(
            KeyChoice::make(&apart, None),
            Err(AdoptError::NoKey)
        ));
        let error = KeyChoice::make(&apart, Some("z")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "column z cannot be the key: no table has it"
        );
    }
}

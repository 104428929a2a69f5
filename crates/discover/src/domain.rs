//! Groups columns that contain values of the same key, also if their names differ. The module does no I/O.
//!
//! First it joins columns that foreign keys make equal; then columns with the same name, if at least one of them has no
//! foreign key. Names are compared without case and underscores, and without a prefix that all columns of the table
//! have: `tenantId` equals `tenant_id`, and if all columns of a table begin with `d_`, its `d_w_id` equals `w_id`.

use crate::facts::{Facts, Table};
use plans::key::KeyType;
use plans::table::TableName;
use std::collections::{BTreeMap, BTreeSet};

/// A prefix that all columns of a table have is removed only if it has at most this many characters.
const MAX_PREFIX_LENGTH: usize = 4;

/// Names that are too general to show that two columns hold the same values.
pub(crate) const GENERIC: [&str; 24] = [
    "id", "uuid", "guid", "key", "pk", "name", "code", "no", "number", "type", "kind", "status",
    "state", "value", "version", "slug", "email", "title", "label", "date", "time", "position",
    "hash", "token",
];

/// A column of a table.
pub(crate) type ColumnOfTable = (TableName, String);

/// A group of columns that hold the same values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Domain {
    /// The columns by table. A table can have several.
    pub(crate) columns: BTreeMap<TableName, Vec<String>>,
}

impl Domain {
    /// Returns the primary key column to which the other columns refer. If several tables have such a column, it
    /// returns the one with most foreign keys to it.
    pub(crate) fn root(&self, facts: &Facts) -> Option<ColumnOfTable> {
        let mut keys = self.columns.iter().filter_map(|(name, columns)| {
            let [only] = facts.tables.get(name)?.primary_key()? else {
                return None;
            };
            let referred = facts
                .references
                .iter()
                .filter(|r| &r.to == name && &r.from != name);
            columns
                .contains(only)
                .then(|| (referred.count(), (name.clone(), only.clone())))
        });
        let first = keys.next()?;
        Some(
            keys.fold(
                first,
                |best, next| if next.0 > best.0 { next } else { best },
            )
            .1,
        )
    }
}

/// Returns all groups of columns with the same values.
pub(crate) fn domains(facts: &Facts) -> Vec<Domain> {
    let mut groups = ColumnGroups::of(facts);
    groups.join_references(facts);
    groups.join_names(facts);
    groups.into_domains()
}

/// Columns in groups, which are merged step by step.
struct ColumnGroups<'a> {
    places: Vec<(&'a TableName, &'a str, KeyType)>,
    index: BTreeMap<(&'a TableName, &'a str), usize>,
    /// For each column, the index of the column that represents its group.
    group: Vec<usize>,
}

impl<'a> ColumnGroups<'a> {
    /// Creates one group for each column whose type can be a key.
    fn of(facts: &'a Facts) -> Self {
        let tables = facts.tables.iter().filter(|(_, table)| table.is_plain());
        let columns = tables.flat_map(|(name, table)| {
            let columns = table.columns.iter();
            columns.filter_map(move |column| Some((name, column.name.as_str(), column.kind?)))
        });
        let places: Vec<_> = columns.collect();
        let index = places.iter().enumerate();
        Self {
            index: index
                .map(|(at, (name, column, _))| ((*name, *column), at))
                .collect(),
            group: (0..places.len()).collect(),
            places,
        }
    }

    /// Merges the group of `other` into the group of `one`.
    fn join(&mut self, one: usize, other: usize) {
        let (from, to) = (self.group[other], self.group[one]);
        for group in &mut self.group {
            if *group == from {
                *group = to;
            }
        }
    }

    /// Merges the groups of the two columns of each foreign key.
    fn join_references(&mut self, facts: &'a Facts) {
        for reference in &facts.references {
            for (own, theirs) in &reference.columns {
                let own = self.index.get(&(&reference.from, own.as_str())).copied();
                let theirs = self.index.get(&(&reference.to, theirs.as_str())).copied();
                if let (Some(own), Some(theirs)) = (own, theirs) {
                    self.join(theirs, own);
                }
            }
        }
    }

    /// For each name, merges the groups of columns with this name into the largest one.
    fn join_names(&mut self, facts: &'a Facts) {
        let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
        for group in &self.group {
            *sizes.entry(*group).or_default() += 1;
        }
        let own_key = |at: &usize| {
            let (table, column, _) = self.places[*at];
            let table = facts.tables.get(table);
            table.is_some_and(|table| is_own_key(table, column))
        };
        // Foreign keys already show for each of these groups which primary key it contains, so they are not merged with
        // each other.
        let rooted: BTreeSet<usize> = (0..self.places.len())
            .filter(own_key)
            .map(|at| self.group[at])
            .filter(|group| sizes[group] > 1)
            .collect();
        for mut named in self.columns_by_name(facts).into_values() {
            let first = self.group.clone();
            named.sort_by_key(|at| {
                let group = first[*at];
                std::cmp::Reverse((rooted.contains(&group), sizes[&group]))
            });
            let Some((first, others)) = named.split_first() else {
                continue;
            };
            for other in others {
                let same_type = self.places[*first].2 == self.places[*other].2;
                if same_type && !rooted.contains(&self.group[*other]) {
                    self.join(*first, *other);
                }
            }
        }
    }

    /// Returns the columns by each name under which they are compared, without the names in [`GENERIC`].
    fn columns_by_name(&self, facts: &'a Facts) -> BTreeMap<String, Vec<usize>> {
        let mut named: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, (table, column, _)) in self.places.iter().enumerate() {
            let Some(facts) = facts.tables.get(*table) else {
                continue;
            };
            let own_key = is_own_key(facts, column);
            let mut names = BTreeSet::from([normalized(column)]);
            if own_key {
                names.extend(foreign_names(&table.name, column));
            } else {
                names.extend(without_prefix(facts, column).map(normalized));
            }
            for name in names
                .into_iter()
                .filter(|name| !GENERIC.contains(&name.as_str()))
            {
                named.entry(name).or_default().push(at);
            }
        }
        named.retain(|_, places| places.len() > 1);
        named
    }

    fn into_domains(self) -> Vec<Domain> {
        let mut domains: BTreeMap<usize, Domain> = BTreeMap::new();
        for ((name, column, _), group) in self.places.iter().zip(&self.group) {
            let domain = domains.entry(*group).or_default();
            let columns = domain.columns.entry((*name).clone()).or_default();
            columns.push((*column).to_owned());
        }
        domains.into_values().collect()
    }
}

/// Returns whether the column alone is the table's primary key.
pub(crate) fn is_own_key(table: &Table, column: &str) -> bool {
    table.primary_key().is_some_and(|key| key == [column])
}

/// Returns the name in lower case and without underscores.
pub(crate) fn normalized(name: &str) -> String {
    name.chars()
        .filter(|c| *c != '_')
        .flat_map(char::to_lowercase)
        .collect()
}

/// Returns the names that other tables use for the key of a table, such as `account_id` for `accounts.id`.
fn foreign_names(table: &str, column: &str) -> Vec<String> {
    let (table, column) = (normalized(table), normalized(column));
    let stems = [
        Some(table.as_str()),
        table.strip_suffix('s'),
        table.strip_suffix("es"),
    ];
    let mut names: Vec<String> = stems
        .into_iter()
        .flatten()
        .map(|stem| format!("{stem}{column}"))
        .collect();
    names.extend(
        table
            .strip_suffix("ies")
            .map(|stem| format!("{stem}y{column}")),
    );
    names
}

/// Returns the column's name without the prefix that all columns of its table have.
fn without_prefix<'a>(table: &Table, column: &'a str) -> Option<&'a str> {
    let (prefix, rest) = column.split_once('_')?;
    let shared = |name: &str| name.split_once('_').is_some_and(|(own, _)| own == prefix);
    let all = table.columns.len() > 1 && table.columns.iter().all(|column| shared(&column.name));
    (all && prefix.len() <= MAX_PREFIX_LENGTH).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_tables_name_a_key_after_its_table() {
        for (table, name) in [
            ("accounts", "account_id"),
            ("companies", "company_id"),
            ("boxes", "boxId"),
            ("Account", "accountid"),
        ] {
            assert!(
                foreign_names(table, "id").contains(&normalized(name)),
                "{table} {name}"
            );
        }
        assert!(!foreign_names("accounting", "id").contains(&normalized("account_id")));
    }
}

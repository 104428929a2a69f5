//! The settings of a map: what a key represents, its tables, its rules, and how shards share sequences.

use super::rules::PlacementRule;
use super::{ShardMap, Strategy};
use crate::id::MapName;
use crate::key::KeyType;
use crate::table::{MovingTable, TableKey, TableName};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};

/// The settings of a map, which apply to all of its versions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MapSettings {
    /// What one key represents. It never changes.
    #[serde(skip_serializing_if = "KeyedBy::is_column")]
    pub keyed_by: KeyedBy,
    /// The groups of whole tables (`keyed_by: group`), each with its tables.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, Vec<String>>,
    /// Sharded tables (`schema.name`, or a name without schema in `public`) and their key columns.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: BTreeMap<String, KeyColumns>,
    /// Tables without the shard key whose rows belong to rows of another table.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub through: BTreeMap<String, ThroughRef>,
    /// Reference tables, which have the same rows on every shard.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reference: Vec<String>,
    /// Tables that do not belong to the map.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// How shards avoid issuing the same sequence values.
    pub sequences: Sequences,
    /// Rules about where keys must be or must not be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<PlacementRule>,
    /// The seconds between two automatic checks of the map. Without a value only an operator starts checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check_every: Option<u32>,
}

impl MapSettings {
    /// Returns settings whose lists contain `tables`, which are the tables of a plan. In place of a partition, the list
    /// contains its partitioned table.
    #[must_use]
    pub fn listing(tables: &[MovingTable]) -> Self {
        let mut settings = Self::default();
        for table in tables {
            let name = table.top().to_string();
            match &table.key {
                TableKey::Columns(columns) => {
                    let names = columns.iter().map(|column| column.name.clone()).collect();
                    settings.tables.insert(name, KeyColumns(names));
                }
                TableKey::Through(through) => {
                    let reference = ThroughRef {
                        parent: through.parent.to_string(),
                        columns: through.columns.iter().cloned().collect(),
                    };
                    settings.through.insert(name, reference);
                }
                TableKey::Schema(_) => settings.keyed_by = KeyedBy::Schema,
                TableKey::Group(group) => {
                    settings.keyed_by = KeyedBy::Group;
                    let tables = settings.groups.entry(group.clone()).or_default();
                    if !tables.contains(&name) {
                        tables.push(name);
                    }
                }
                TableKey::Reference if settings.reference.contains(&name) => {}
                TableKey::Reference => settings.reference.push(name),
            }
        }
        settings
    }

    /// Returns the groups of `planned`, the settings of a plan, that lack one of their planned tables now. A plan does not
    /// have all tables of a group: it lacks partitioned tables without partitions.
    #[must_use]
    pub fn changed_groups<'a>(&self, planned: &'a Self) -> Vec<&'a str> {
        let names = |tables: &[String]| -> BTreeSet<TableName> {
            tables.iter().map(|name| TableName::parse(name)).collect()
        };
        let has_all = |group: &str, tables: &[String]| {
            let current = self.groups.get(group);
            current.is_some_and(|current| names(current).is_superset(&names(tables)))
        };
        let groups = planned.groups.iter();
        let changed = groups.filter(|(group, tables)| !has_all(group, tables));
        changed.map(|(group, _)| group.as_str()).collect()
    }

    /// Returns the lists of tables, with their names.
    fn lists(&self) -> [(&'static str, Vec<&String>); 5] {
        [
            ("groups", self.groups.values().flatten().collect()),
            ("tables", self.tables.keys().collect()),
            ("through", self.through.keys().collect()),
            ("reference", self.reference.iter().collect()),
            ("ignore", self.ignore.iter().collect()),
        ]
    }

    /// Returns whether a list contains the table, or `ignore` covers all tables that no other list contains.
    #[must_use]
    pub fn has_listed(&self, table: &TableName) -> bool {
        let lists = self.lists();
        let mut names = lists.iter().flat_map(|(_, names)| names);
        names.any(|name| name.as_str() == "*" || &TableName::parse(name) == table)
    }

    /// Returns the tables of which every shard has the same rows.
    #[must_use]
    pub fn reference_tables(&self) -> BTreeSet<TableName> {
        let names = self.reference.iter();
        names.map(|name| TableName::parse(name)).collect()
    }

    /// Returns the tables that are named as not belonging to the map.
    #[must_use]
    pub fn ignored_tables(&self) -> BTreeSet<TableName> {
        let names = self.ignore.iter().filter(|name| name.as_str() != "*");
        names.map(|name| TableName::parse(name)).collect()
    }

    /// Removes from the old lists each table that a new list `tables` or `through` contains. `is_new` returns whether a
    /// list is new. New lists `reference` and `ignore` remove nothing, so that they never make a sharded table
    /// unsharded.
    pub fn remove_from_other_lists(&mut self, is_new: impl Fn(&str) -> bool) {
        let is_new_and_sharded =
            |list: &str| is_new(list) && ["groups", "tables", "through"].contains(&list);
        let new_lists = self
            .lists()
            .into_iter()
            .filter(|(list, _)| is_new_and_sharded(list));
        let tables = new_lists.flat_map(|(_, tables)| tables);
        let tables: BTreeSet<TableName> = tables.map(|table| TableName::parse(table)).collect();
        let stays =
            |list: &str, table: &str| is_new(list) || !tables.contains(&TableName::parse(table));
        for tables in self.groups.values_mut() {
            tables.retain(|table| stays("groups", table));
        }
        self.tables.retain(|table, _| stays("tables", table));
        self.through.retain(|table, _| stays("through", table));
        self.reference.retain(|table| stays("reference", table));
        self.ignore.retain(|table| stays("ignore", table));
    }

    /// Returns all contradictions among the listed tables.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut lists_by_table: BTreeMap<TableName, Vec<&str>> = BTreeMap::new();
        for (list, tables) in self.lists() {
            for table in tables {
                lists_by_table
                    .entry(TableName::parse(table))
                    .or_default()
                    .push(list);
            }
        }
        let twice = lists_by_table
            .into_iter()
            .filter(|(_, lists)| lists.len() > 1);
        let mut problems: Vec<String> = twice
            .map(|(table, lists)| {
                let lists: Vec<String> = lists.iter().map(|list| format!("`{list}`")).collect();
                format!(
                    "table {table} is listed twice: under {}; `map set --forget` removes it from all lists",
                    lists.join(" and ")
                )
            })
            .collect();
        for (table, through) in &self.through {
            let parent = TableName::parse(&through.parent);
            let listed = self.tables.keys().chain(self.through.keys());
            if !listed
                .map(|text| TableName::parse(text))
                .any(|table| table == parent)
            {
                problems.push(format!(
                    "table {table} belongs to {parent}, which is listed under neither `tables` nor `through`"
                ));
            }
        }
        problems.extend(self.problems_of_whole_tables());
        let mut names = BTreeSet::new();
        for rule in &self.rules {
            if !names.insert(&rule.name) {
                problems.push(format!("two rules are called {}", rule.name));
            }
        }
        problems
    }
}

impl MapSettings {
    /// Returns the lists that do not fit what a key represents.
    fn problems_of_whole_tables(&self) -> Vec<String> {
        let name = self.keyed_by.name();
        let lists = [
            (
                "groups",
                !self.groups.is_empty(),
                self.keyed_by == KeyedBy::Group,
            ),
            ("tables", !self.tables.is_empty(), self.keyed_by.is_column()),
            (
                "through",
                !self.through.is_empty(),
                self.keyed_by.is_column(),
            ),
        ];
        let wrong = lists.into_iter().filter(|(_, used, fits)| *used && !fits);
        wrong
            .map(|(list, ..)| format!("a map with `keyed_by: {name}` has no list `{list}`"))
            .collect()
    }
}

/// The settings do not fit their map. The error has all reasons.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the settings do not fit map {map}: {}", problems.join("; "))]
pub struct SettingsError {
    /// The map.
    pub map: MapName,
    /// The reasons.
    pub problems: Vec<String>,
}

impl MapSettings {
    /// Converts the keys of rules to the kind and the key types of `map`.
    ///
    /// Every function that adds settings to a map calls this one.
    ///
    /// # Errors
    /// [`SettingsError`] with every contradiction, and everything that does not fit the map.
    pub fn accepted(mut self, map: &ShardMap) -> Result<Self, SettingsError> {
        let mut problems = self.problems();
        let is_list_of_texts = map.strategy == Strategy::List && map.key == [KeyType::Text];
        if !self.keyed_by.is_column() && !is_list_of_texts {
            problems.push(format!(
                "with `keyed_by: {}` the map has the strategy list, and its key has the type text",
                self.keyed_by.name()
            ));
        }
        for (table, columns) in &self.tables {
            if columns.0.len() != map.key.len() {
                problems.push(format!(
                    "table {table} has {} key column(s), the map's key has {}",
                    columns.0.len(),
                    map.key.len()
                ));
            }
        }
        for rule in &mut self.rules {
            if rule.shard.is_none() && rule.labels.is_empty() {
                problems.push(format!(
                    "rule {} names neither a shard nor labels",
                    rule.name
                ));
            }
            let Some(keys) = rule.keys.take() else {
                continue;
            };
            match map.accepted(keys) {
                Ok(keys) if keys.is_empty() => {
                    problems.push(format!("rule {} is about no keys", rule.name));
                }
                Ok(keys) => rule.keys = Some(keys),
                Err(error) => problems.push(format!("rule {}: {error}", rule.name)),
            }
        }
        if problems.is_empty() {
            Ok(self)
        } else {
            Err(SettingsError {
                map: map.name.clone(),
                problems,
            })
        }
    }
}

/// The key columns of a table: one name, or a list for a composite key.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(with = "OneOrMore")]
pub struct KeyColumns(pub Vec<String>);

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)] // Only its schema is used.
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl Serialize for KeyColumns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [only] => serializer.serialize_str(only),
            several => several.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for KeyColumns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ColumnList;
        impl<'de> serde::de::Visitor<'de> for ColumnList {
            type Value = KeyColumns;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the name of the key column, or a list of names")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<KeyColumns, E> {
                Ok(KeyColumns(vec![name.to_owned()]))
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut seq: A,
            ) -> Result<KeyColumns, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = seq.next_element()? {
                    names.push(name);
                }
                Ok(KeyColumns(names))
            }
        }
        deserializer.deserialize_any(ColumnList)
    }
}

/// The table to whose rows the rows of another table belong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThroughRef {
    /// The referenced table.
    pub parent: String,
    /// Pairs of a column of this table and a column of the parent. Without a value the foreign key determines them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub columns: BTreeMap<String, String>,
}

/// What one key of a map represents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeyedBy {
    /// The rows that have it in their key columns.
    #[default]
    Column,
    /// The schema of this name, with all of its tables.
    Schema,
    /// The group of tables of this name.
    Group,
}

impl KeyedBy {
    /// Returns whether columns of the rows have the key.
    #[must_use]
    pub fn is_column(&self) -> bool {
        *self == Self::Column
    }

    /// Returns the name in settings and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Column => "column",
            Self::Schema => "schema",
            Self::Group => "group",
        }
    }
}

/// How shards avoid issuing the same values from sequences with the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sequences {
    /// The increment is 64, and each shard issues values with its own remainder, which is the number of the shard.
    #[default]
    Stride,
    /// Each shard issues values from its own block of 2^40 values.
    Block,
    /// Shardwright does not change sequences. The application must avoid equal values.
    Keep,
}

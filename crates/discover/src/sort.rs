//! Decides the role of each table in the map: sharded, sharded through another table, reference table, or not part of
//! the map. No I/O.
//!
//! It first finds tables with the key, then tables that refer to these, then tables to which these refer, then the
//! rest.

use crate::domain::domains;
use crate::facts::{Facts, Reference, Table, map_name};
use crate::key::KeyCandidate;
use plans::shard_map::{KeyColumns, MapSettings, ThroughRef};
use plans::table::TableName;
use std::collections::{BTreeMap, BTreeSet};

/// A table with more bytes is not proposed as a reference table, unless sharded tables refer to it or the shards have
/// the same rows of it.
const SMALL_BYTES: i64 = 8 << 20;

/// Tables in which migration tools record their changes of the schema.
const TOOL_TABLES: [&str; 17] = [
    "schema_migrations",
    "ar_internal_metadata",
    "flyway_schema_history",
    "alembic_version",
    "django_migrations",
    "__efmigrationshistory",
    "_sqlx_migrations",
    "goose_db_version",
    "databasechangelog",
    "databasechangeloglock",
    "knex_migrations",
    "knex_migrations_lock",
    "_prisma_migrations",
    "sequelizemeta",
    "__diesel_schema_migrations",
    "refinery_schema_history",
    "atlas_schema_revisions",
];

/// The result of the comparison of a table: whether the shards have the same rows of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowComparison {
    /// Not compared: only one shard has tables, or the table is too large.
    NotCompared,
    Same,
    Different,
}

/// The tables that are tied to the key, which means that their rows have a key of their own or through another table;
/// and the remaining tables.
#[derive(Debug, Default)]
pub(crate) struct Keyed {
    /// Sharded tables with their key column.
    pub(crate) sharded: BTreeMap<TableName, String>,
    through: BTreeMap<TableName, ThroughRef>,
    /// Tables that are not tied to the key: reference tables, or tables that are not part of the map.
    pub(crate) rest: BTreeSet<TableName>,
    /// Foreign keys, and columns with the name of another table's key.
    paths: Vec<Reference>,
    reasons: Vec<String>,
}

impl Keyed {
    /// Finds the tables that are tied to the key.
    pub(crate) fn of(facts: &Facts, key: &KeyCandidate) -> Self {
        let plain = facts.tables.iter().filter(|(_, table)| table.is_plain());
        let mut keyed = Self {
            sharded: key.columns.clone(),
            rest: plain.map(|(name, _)| name.clone()).collect(),
            ..Self::default()
        };
        for (name, column) in &keyed.sharded {
            keyed.rest.remove(name);
            let table = facts.tables.get(name);
            let problems = table.map_or_else(Vec::new, |table| problems(table, column, key));
            let reason = format!("table {}: sharded by {column}", map_name(name));
            keyed.reasons.push(reason);
            let reason = problems
                .into_iter()
                .map(|problem| format!("warning: table {}: {problem}", map_name(name)));
            keyed.reasons.extend(reason);
        }
        let declared = facts.references.iter().cloned();
        keyed.paths = declared.chain(implied_references(facts)).collect();
        keyed.add_through(facts);
        keyed
    }

    /// Adds tables that refer to sharded ones, directly or through other tables.
    fn add_through(&mut self, facts: &Facts) {
        loop {
            let next = self.rest.iter().find_map(|name| {
                let parent = self.parent(name, facts)?;
                Some((name.clone(), parent))
            });
            let Some((name, parent)) = next else { return };
            self.rest.remove(&name);
            let reason = format!(
                "table {}: its rows belong to those of {}; it moves offline only, unless it gets a key column of its own",
                map_name(&name),
                parent.parent
            );
            self.reasons.push(reason);
            self.reasons
                .extend(self.missing_parent_warning(&name, &parent, facts));
            self.through.insert(name, parent);
        }
    }

    /// Describes rows of a table that can have no parent, and therefore no key.
    fn missing_parent_warning(
        &self,
        name: &TableName,
        parent: &ThroughRef,
        facts: &Facts,
    ) -> Option<String> {
        let to = TableName::parse(&parent.parent);
        let table = facts.tables.get(name)?;
        let may_be_null = |own: &&String| table.column(own).is_some_and(|found| !found.not_null);
        let mut paths = self.paths.iter().filter(|r| &r.from == name && r.to == to);
        let listed = |columns: &[(String, String)]| {
            let mut own = columns.iter();
            parent.columns.is_empty() || own.all(|(own, _)| parent.columns.contains_key(own))
        };
        let path = paths.find(|r| listed(&r.columns))?;
        let column = path.columns.iter().map(|(own, _)| own).find(may_be_null)?;
        let name = map_name(name);
        Some(format!(
            "warning: table {name}: its {column} may be null; such a row has no key, and is never moved"
        ))
    }

    /// Returns the table to which `name` belongs. Foreign keys whose columns are NOT NULL are preferred.
    fn parent(&self, name: &TableName, facts: &Facts) -> Option<ThroughRef> {
        let table = facts.tables.get(name)?;
        let is_tied =
            |to: &TableName| self.sharded.contains_key(to) || self.through.contains_key(to);
        let paths = self.paths.iter();
        let own = paths.filter(|r| &r.from == name && &r.to != name);
        let own: Vec<_> = own.filter(|r| is_tied(&r.to)).collect();
        let is_not_null =
            |column: &String| table.column(column).is_some_and(|found| found.not_null);
        let best = own.iter().max_by_key(|r| {
            let is_mandatory = r.columns.iter().all(|(own, _)| is_not_null(own));
            (
                facts.references.contains(r),
                is_mandatory,
                self.sharded.contains_key(&r.to),
            )
        })?;
        let mut declared = facts.references.iter();
        let declared = declared.any(|reference| reference == *best);
        let paths_to_parent = own.iter().filter(|r| r.to == best.to).count();
        Some(ThroughRef {
            parent: map_name(&best.to),
            columns: match paths_to_parent {
                1 if declared => BTreeMap::new(),
                _ => best.columns.iter().cloned().collect(),
            },
        })
    }
}

/// Returns the settings of the map, with a reason for each table.
pub(crate) fn map_settings(
    keyed: Keyed,
    facts: &Facts,
    rows: &BTreeMap<TableName, RowComparison>,
) -> (MapSettings, Vec<String>) {
    let mut reasons = keyed.reasons;
    let mut settings = MapSettings::default();
    let is_tied =
        |name: &TableName| keyed.sharded.contains_key(name) || keyed.through.contains_key(name);
    let referenced = referenced_tables(&keyed.rest, &keyed.paths, is_tied);
    for (name, table) in facts.tables.iter().filter(|(name, _)| !is_tied(name)) {
        let comparison = rows
            .get(name)
            .copied()
            .unwrap_or(RowComparison::NotCompared);
        let (is_reference, why) =
            is_reference_table(name, table, referenced.contains(name), comparison);
        let list = if is_reference {
            &mut settings.reference
        } else {
            &mut settings.ignore
        };
        list.push(map_name(name));
        reasons.push(why);
    }
    let columns = |(name, column): (TableName, String)| (map_name(&name), KeyColumns(vec![column]));
    settings.tables = keyed.sharded.into_iter().map(columns).collect();
    let through = keyed.through.into_iter();
    settings.through = through
        .map(|(name, parent)| (map_name(&name), parent))
        .collect();
    (settings, reasons)
}

/// Returns references without a foreign key: columns that hold values of another table's primary key.
fn implied_references(facts: &Facts) -> Vec<Reference> {
    let mut implied = Vec::new();
    for domain in domains(facts) {
        let Some((to, key)) = domain.root(facts) else {
            continue;
        };
        for (from, columns) in domain.columns.iter().filter(|(from, _)| **from != to) {
            let mut declared = facts.references.iter();
            if declared
                .any(|r| &r.from == from && r.columns.iter().any(|(own, _)| columns.contains(own)))
            {
                continue;
            }
            let reference = |own: &String| Reference {
                from: from.clone(),
                to: to.clone(),
                columns: vec![(own.clone(), key.clone())],
            };
            implied.extend(columns.iter().map(reference));
        }
    }
    implied
}

/// Returns the tables to which sharded tables refer, directly or through other tables.
fn referenced_tables(
    rest: &BTreeSet<TableName>,
    paths: &[Reference],
    is_tied: impl Fn(&TableName) -> bool,
) -> BTreeSet<TableName> {
    let mut found: BTreeSet<TableName> = BTreeSet::new();
    loop {
        let from = |name: &TableName| is_tied(name) || found.contains(name);
        let mut references = paths.iter();
        let next =
            references.find(|r| from(&r.from) && rest.contains(&r.to) && !found.contains(&r.to));
        let Some(next) = next else { return found };
        found.insert(next.to.clone());
    }
}

/// Decides whether a table without the key is a reference table, and returns the reason.
fn is_reference_table(
    name: &TableName,
    table: &Table,
    is_referred: bool,
    rows: RowComparison,
) -> (bool, String) {
    let (reference, why) = if table.is_extension {
        (false, "ignored: it came with an extension")
    } else if table.is_foreign {
        (false, "ignored: its rows are on another server")
    } else if TOOL_TABLES.contains(&name.name.to_lowercase().as_str()) && !is_referred {
        (false, "ignored: a tool keeps its own rows there")
    } else {
        match (is_referred, rows) {
            (true, RowComparison::Different) => {
                let reason = "a reference table, because sharded tables refer to it; but its rows differ between the shards: make them equal first";
                return (true, format!("warning: table {}: {reason}", map_name(name)));
            }
            (true, RowComparison::Same | RowComparison::NotCompared)
                if table.bytes > SMALL_BYTES =>
            {
                let reason = "a reference table, because sharded tables refer to it; but it is large, and every shard gets all of it";
                return (true, format!("warning: table {}: {reason}", map_name(name)));
            }
            (true, RowComparison::Same | RowComparison::NotCompared) => {
                (true, "a reference table: sharded tables refer to it")
            }
            (false, RowComparison::Same) => {
                (true, "a reference table: the same rows on every shard")
            }
            (false, RowComparison::Different) => {
                let reason = "ignored: it has no key, and other rows on each shard; decide where they belong";
                return (
                    false,
                    format!("warning: table {}: {reason}", map_name(name)),
                );
            }
            (false, RowComparison::NotCompared) if table.bytes <= SMALL_BYTES => (
                true,
                "a reference table: small, and nothing ties it to the key",
            ),
            (false, RowComparison::NotCompared) => {
                let reason = "ignored: it is large, and nothing ties it to the key; decide where its rows belong";
                return (
                    false,
                    format!("warning: table {}: {reason}", map_name(name)),
                );
            }
        }
    };
    (reference, format!("table {}: {why}", map_name(name)))
}

/// Returns what prevents moves of a table. `shardwright doctor` reports everything, with the SQL that fixes it.
fn problems(table: &Table, column: &str, key: &KeyCandidate) -> Vec<String> {
    let Some(found) = table.column(column) else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    if let Some(kind) = found.kind.filter(|kind| *kind != key.kind) {
        problems.push(format!("its {column} is {kind}, the key is {}", key.kind));
    }
    if !found.not_null {
        problems.push(format!(
            "its {column} may be null; such a row belongs nowhere"
        ));
    }
    let is_in_primary_key = table
        .primary_key()
        .is_some_and(|key| key.iter().any(|c| c == column));
    if !is_in_primary_key {
        problems.push(format!(
            "its primary key is without {column}; online moves want it there, or REPLICA IDENTITY FULL"
        ));
    }
    problems
}

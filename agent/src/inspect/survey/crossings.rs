//! Checks the foreign keys between sharded tables by which rows can reference rows with another shard key. A move could
//! separate such rows.
//!
//! The agent first excludes the foreign keys whose definition proves that both rows have the same key. One query then
//! checks the rows of all others. The module `foreign_keys` checks the foreign keys to tables that do not move.

use std::collections::BTreeMap;

use connect::Connected;
use plans::key_set::KeySet;
use plans::sql::quote_ident;
use plans::table::{TableKey, TableName};
use tokio_postgres::error::SqlState;

use super::super::keys::key_expressions;
use super::tables::ListedTables;
use super::target::list_names;
use crate::error::{StepError, WithIntent};
use crate::inspect::findings::Findings;
use crate::postgres::catalog::ForeignKey;

/// The time limit of the query if no move is planned, in seconds.
const PROBE_LIMIT_S: u32 = 5;

/// A foreign key between two sharded tables, and how each of them has the shard key.
struct CrossingReference<'a> {
    reference: &'a ForeignKey,
    from: &'a TableKey,
    to: &'a TableKey,
}

/// Refuses foreign keys by which a moving row and a row that stays reference each other. Adds one finding that lists
/// all other foreign keys that allow such references.
///
/// Without `moving_keys`, the function looks for references between any two different keys, and stops after a time
/// limit.
pub(super) async fn check(
    client: &Connected,
    listed: &ListedTables,
    foreign_keys: &[ForeignKey],
    moving_keys: Option<&KeySet>,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = client.name();
    let readable = listed.moving.iter().filter(|table| {
        table.key != TableKey::Reference && !listed.unreadable.contains(&table.table)
    });
    let keys: BTreeMap<&TableName, &TableKey> =
        readable.map(|table| (table.top(), &table.key)).collect();
    let unproven: Vec<CrossingReference<'_>> = foreign_keys
        .iter()
        .filter_map(|reference| {
            let (from, to) = (*keys.get(&reference.from)?, *keys.get(&reference.to)?);
            let crossing = CrossingReference {
                reference,
                from,
                to,
            };
            (!crossing.is_proven()).then_some(crossing)
        })
        .collect();
    if unproven.is_empty() {
        return Ok(());
    }
    let probes: Vec<String> = unproven
        .iter()
        .map(|crossing| crossing.probe_sql(moving_keys))
        .collect();
    let crossed = run_probes(client, &probes, moving_keys.is_none())
        .await
        .at(format_args!(
            "shard {shard}: looking for rows that reference rows with another key"
        ))?;
    let is_crossed = |index: usize| crossed.as_ref().is_some_and(|crossed| crossed[index]);
    let (crossed_indexes, other_indexes): (Vec<usize>, Vec<usize>) =
        (0..unproven.len()).partition(|index| is_crossed(*index));
    for index in crossed_indexes {
        unproven[index].add_finding(moving_keys.is_some(), shard, findings);
    }
    if other_indexes.is_empty() {
        return Ok(());
    }
    let mut names: Vec<String> = other_indexes
        .iter()
        .map(|index| unproven[*index].name())
        .collect();
    names.sort();
    let observation = match crossed {
        Some(_) => "no row references a row with another key now".to_owned(),
        None => {
            format!("within {PROBE_LIMIT_S} s the agent has not found out whether such rows exist")
        }
    };
    findings.add(
        "foreign_key.loose",
        format!("shard {shard}, foreign keys {}", list_names(&names)),
        format!(
            "they do not require that a row has the shard key of the row that it references; {observation}"
        ),
        "add the columns of the shard key to them, or make sure that the application never references a row with another key",
    );
    Ok(())
}

/// Runs all conditions in one query. Returns `None` if the query has a time limit (`has_limit`) and exceeds it.
async fn run_probes(
    client: &Connected,
    probes: &[String],
    has_limit: bool,
) -> Result<Option<Vec<bool>>, tokio_postgres::Error> {
    if has_limit {
        let limit = format!("set statement_timeout = '{PROBE_LIMIT_S}s'");
        client.batch_execute(&limit).await?;
    }
    let result = client
        .query_one(&format!("select array[{}]", probes.join(", ")), &[])
        .await;
    if has_limit {
        client.batch_execute("reset statement_timeout").await?;
    }
    match result {
        Ok(row) => Ok(Some(row.get(0))),
        Err(error) if has_limit && error.code() == Some(&SqlState::QUERY_CANCELED) => Ok(None),
        Err(error) => Err(error),
    }
}

impl CrossingReference<'_> {
    /// Returns true if the definitions prove that a row and the row that it references have the same shard key.
    fn is_proven(&self) -> bool {
        let pairs = &self.reference.columns;
        let equal = |from_column: &str, to_column: &str| {
            pairs
                .iter()
                .any(|(a, b)| a == from_column && b == to_column)
        };
        match (self.from, self.to) {
            (TableKey::Columns(from), TableKey::Columns(to)) => {
                from.len() == to.len() && from.iter().zip(to).all(|(a, b)| equal(&a.name, &b.name))
            }
            // The foreign key is the one by which the row depends on its parent.
            (TableKey::Through(from), _) if from.parent == self.reference.to => from
                .columns
                .iter()
                .all(|(from_column, to_column)| equal(from_column, to_column)),
            // Both rows depend on the same row of a third table.
            (TableKey::Through(from), TableKey::Through(to)) => {
                from.parent == to.parent
                    && from.columns.len() == to.columns.len()
                    && from.columns.iter().all(|(from_column, parent)| {
                        let mut target_columns = to.columns.iter();
                        target_columns.any(|(to_column, same)| {
                            same == parent && equal(from_column, to_column)
                        })
                    })
            }
            (TableKey::Schema(from), TableKey::Schema(to))
            | (TableKey::Group(from), TableKey::Group(to)) => from == to,
            (
                TableKey::Columns(_)
                | TableKey::Through(_)
                | TableKey::Schema(_)
                | TableKey::Group(_)
                | TableKey::Reference,
                _,
            ) => false,
        }
    }

    /// Returns an SQL expression that is true if a row references a row with another key; with `moving_keys`, if only
    /// one of the two rows moves.
    fn probe_sql(&self, moving_keys: Option<&KeySet>) -> String {
        let reference = self.reference;
        let joined: Vec<String> = reference
            .columns
            .iter()
            .map(|(from_column, to_column)| {
                format!(
                    "f.{} = t.{}",
                    quote_ident(from_column),
                    quote_ident(to_column)
                )
            })
            .collect();
        let compared_value = |key: &TableKey, row: &str| match moving_keys {
            Some(keys) => format!("({} is true)", key.predicate(keys, row)),
            None => format!("row({})", key_expressions(key, row).join(", ")),
        };
        format!(
            "exists (select from {} f join {} t on {} where {} <> {})",
            reference.from.sql(),
            reference.to.sql(),
            joined.join(" and "),
            compared_value(self.from, "f"),
            compared_value(self.to, "t"),
        )
    }

    fn name(&self) -> String {
        format!("{} of {}", self.reference.name, self.reference.from)
    }

    /// Adds a finding for such references. It refuses the move, or, without a move, reports that some moves would be
    /// refused.
    fn add_finding(&self, has_move: bool, shard: &str, findings: &mut Findings) {
        let ForeignKey { name, from, to, .. } = self.reference;
        let object = format!("shard {shard}, foreign key {}", self.name());
        let remedy = format!(
            "alter table {} drop constraint {}, or give both rows the same key",
            from.sql(),
            quote_ident(name)
        );
        if has_move {
            let problem = format!(
                "rows of {from} reference rows of {to} that have another key, and only one of the two rows moves"
            );
            findings.add_refusal("foreign_key.across", object, problem, remedy);
        } else {
            let problem = format!(
                "rows of {from} reference rows of {to} that have another key; a move that separates these keys is refused"
            );
            findings.add("foreign_key.mixed", object, problem, remedy);
        }
    }
}

//! Finds the present names of the columns of a captured change that is older than a change of its table.
//!
//! The stream describes a relation by the names of its columns, in the order of their numbers, at the time of the
//! change. A column can have had a name that the agent never read. But numbers only increase, and a column that exists
//! now existed at that time if its number is not above all that the relation has. So the order decides which column an
//! unknown name belongs to.

use std::collections::{BTreeMap, BTreeSet};

use connect::Connected;
use plans::failure::StepCode;
use plans::table::MovingTable;

use crate::error::{StepError, WithIntent};
use crate::postgres::pgoutput::Relation;

/// Maximum number of steps of the search. It needs one for each column, unless unknown names meet dropped columns.
const MAX_SEARCH: usize = 100_000;

/// A number that a column of the table has or had, in order: the present name, or `None` if the column was dropped.
type ColumnNumber = Option<String>;

/// Returns the relation with the present names of its columns.
///
/// # Errors
/// `schema.drift` if a name can belong to two columns, or to none.
pub(crate) async fn with_present_names(
    upstream: &Connected,
    table: &MovingTable,
    mut relation: Relation,
) -> Result<Relation, StepError> {
    let numbers = read_numbers(upstream, table).await?;
    let names: Vec<&str> = relation.columns.iter().map(|c| c.name.as_str()).collect();
    let Some(present) = present_names(&names, &numbers, &table.renamed_columns) else {
        return Err(StepError::refused(
            StepCode::SchemaDrift,
            format!(
                "table {}: a captured change has the columns {}, and the agent cannot tell which columns of the present table they are",
                table.table,
                names.join(", ")
            ),
            "`abort` the migration and plan it again",
        ));
    };
    for (column, name) in relation.columns.iter_mut().zip(present) {
        if let Some(name) = name {
            column.name = name;
        }
    }
    Ok(relation)
}

/// Reads the numbers of the table's columns. The stream sends no stored generated columns.
async fn read_numbers(
    upstream: &Connected,
    table: &MovingTable,
) -> Result<Vec<ColumnNumber>, StepError> {
    let rows = upstream
        .query(
            "select case when not attisdropped then attname::text end
             from pg_catalog.pg_attribute
             where attrelid = pg_catalog.to_regclass($1) and attnum > 0 and attgenerated = ''
             order by attnum",
            &[&table.table.sql()],
        )
        .await
        .at(format_args!(
            "shard {}: reading columns of {}",
            upstream.name(),
            table.table
        ))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Returns for each name the present name of its column, or `None` if the column was dropped. Returns `None` if there is
/// no such assignment, or more than one.
fn present_names(
    names: &[&str],
    numbers: &[ColumnNumber],
    earlier: &BTreeMap<String, String>,
) -> Option<Vec<ColumnNumber>> {
    let is_present = |name: &str| numbers.iter().flatten().any(|present| present == name);
    let known: Vec<Option<&str>> = names
        .iter()
        .map(|name| match is_present(name) {
            true => Some(*name),
            false => earlier
                .get(*name)
                .map(String::as_str)
                .filter(|present| is_present(present)),
        })
        .collect();
    let mut search = NameSearch {
        known: &known,
        numbers,
        found: BTreeSet::new(),
        steps: 0,
    };
    search.assign(&mut Vec::with_capacity(names.len()), 0);
    let is_unique = search.found.len() == 1 && search.steps < MAX_SEARCH;
    search.found.pop_first().filter(|_| is_unique)
}

/// The search for all assignments of names to columns.
struct NameSearch<'a> {
    /// The present name of each name that the agent knows.
    known: &'a [Option<&'a str>],
    numbers: &'a [ColumnNumber],
    found: BTreeSet<Vec<ColumnNumber>>,
    steps: usize,
}

impl NameSearch<'_> {
    /// Assigns the names after those in `assigned` to the numbers from `number` on.
    fn assign(&mut self, assigned: &mut Vec<ColumnNumber>, number: usize) {
        self.steps += 1;
        if self.steps >= MAX_SEARCH || self.found.len() > 1 {
            return;
        }
        let Some(known) = self.known.get(assigned.len()) else {
            self.found.insert(assigned.clone());
            return;
        };
        let numbers = self.numbers;
        match numbers.get(number) {
            None => {}
            // This column exists now, so it existed then, unless every name has its column already.
            Some(Some(present)) if known.is_none_or(|known| known == present) => {
                assigned.push(Some(present.clone()));
                self.assign(assigned, number + 1);
                assigned.pop();
            }
            Some(Some(_)) => {}
            Some(None) => {
                if known.is_none() {
                    assigned.push(None);
                    self.assign(assigned, number + 1);
                    assigned.pop();
                }
                self.assign(assigned, number + 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(names: &[&str], numbers: &[&str]) -> Option<Vec<String>> {
        let numbers: Vec<ColumnNumber> = numbers
            .iter()
            .map(|name| (*name != "-").then(|| (*name).to_owned()))
            .collect();
        let earlier = BTreeMap::from([("was".to_owned(), "is".to_owned())]);
        let found = present_names(names, &numbers, &earlier)?;
        let text = |name: ColumnNumber| name.unwrap_or_else(|| "-".to_owned());
        Some(found.into_iter().map(text).collect())
    }

    #[test]
    fn the_order_of_columns_tells_which_one_an_unknown_name_is() {
        for (names, numbers, expected) in [
            (&["id", "was"][..], &["id", "is"][..], &["id", "is"][..]),
            (&["id", "between"], &["id", "is"], &["id", "is"]),
            (&["id", "between"], &["id", "is", "later"], &["id", "is"]),
            (
                &["id", "between", "gone"],
                &["id", "is", "-"],
                &["id", "is", "-"],
            ),
            (
                &["id", "gone", "is"],
                &["id", "-", "is"],
                &["id", "-", "is"],
            ),
            (&["id", "gone"], &["id", "-", "-"], &["id", "-"]),
            (&["id"], &["id", "is"], &["id"]),
        ] {
            let expected: Vec<String> = expected.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(resolve(names, numbers), Some(expected), "{names:?}");
        }
    }

    #[test]
    fn a_name_that_can_be_two_columns_is_none() {
        assert_eq!(resolve(&["id", "gone"], &["id", "-", "later"]), None);
        assert_eq!(resolve(&["id", "more", "is"], &["id", "is"]), None);
    }
}

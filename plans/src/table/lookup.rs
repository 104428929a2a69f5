//! Looks up one row by its identity through the index of the identity, regardless of statistics.

use super::MovingTable;
use crate::sql::quote_ident;

impl MovingTable {
    /// Returns the text after FROM for a query that finds at most one row, with the alias `row`. `values` has an SQL
    /// expression of the column's type for each identity column.
    ///
    /// It uses [`lookup`]; the identity must not be empty.
    #[must_use]
    pub fn lookup(&self, row: &str, values: &[String]) -> String {
        let columns: Vec<String> = self
            .identity
            .iter()
            .map(|column| format!("{row}.{}", quote_ident(column)))
            .collect();
        let first = self.identity.first();
        let mut known = self.columns.iter();
        let first = known.find(|column| Some(&column.name) == first);
        let is_scalar = first.is_some_and(|column| !column.data_type.ends_with("[]"));
        lookup(&columns, values, self.ordered_columns(), is_scalar)
    }

    /// Returns the number of identity columns that the index has in their default order.
    #[must_use]
    pub fn ordered_columns(&self) -> usize {
        self.lookup_columns.unwrap_or(self.identity.len())
    }
}

/// Returns the conditions, order and limit that find one row by `columns` with these `values`. An index has the first
/// `ordered` columns in ascending order. `is_scalar`: the first value is not an array.
///
/// With equality alone, the planner may use any index that begins with one of the columns: if it assumes that few rows
/// share a value, all these indexes have the same cost. Therefore the row is bounded from both sides and requested in
/// the order of the index. A session that may not sort (`enable_sort` and `enable_incremental_sort` off) gets this
/// order only from one index. A column with a single value by equality has no order for the planner. A list with one
/// value has the same meaning for the index, and lets its scan end immediately after the row.
#[must_use]
pub fn lookup(columns: &[String], values: &[String], ordered: usize, is_scalar: bool) -> String {
    let ordered = ordered.min(columns.len());
    let (bounded, equal) = columns.split_at(ordered);
    let (bounded_values, equal_values) = values.split_at(ordered);
    let mut terms = match (bounded, bounded_values) {
        ([], _) => Vec::new(),
        ([first, rest @ ..], [value, values @ ..]) if is_scalar && !rest.is_empty() => {
            let mut terms = vec![format!("{first} = any (array[{value}])")];
            terms.extend(bounds(rest, values));
            terms
        }
        _ => bounds(bounded, bounded_values).to_vec(),
    };
    let equal = equal.iter().zip(equal_values);
    terms.extend(equal.map(|(column, value)| format!("{column} = {value}")));
    let order = if ordered > 0 {
        format!(" order by {}", bounded.join(", "))
    } else {
        String::new()
    };
    format!("where {}{order} limit 1", terms.join(" and "))
}

/// Returns the conditions that bound the columns from below and from above by the same values.
fn bounds(columns: &[String], values: &[String]) -> [String; 2] {
    let (columns, values) = (row_of(columns), row_of(values));
    [">=", "<="].map(|operator| format!("{columns} {operator} {values}"))
}

fn row_of(parts: &[String]) -> String {
    match parts {
        [only] => only.clone(),
        several => format!("({})", several.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup_sql(of: usize, ordered: usize, is_scalar: bool) -> String {
        let texts = |texts: [&str; 3]| texts[..of].iter().map(|t| (*t).to_owned()).collect();
        let columns: Vec<String> = texts(["t.a", "t.b", "t.c"]);
        let values: Vec<String> = texts(["$1", "$2", "$3"]);
        lookup(&columns, &values, ordered, is_scalar)
    }

    #[test]
    fn a_row_is_bounded_from_both_sides_and_requested_in_the_order_of_the_index() {
        assert_eq!(
            lookup_sql(1, 1, true),
            "where t.a >= $1 and t.a <= $1 order by t.a limit 1"
        );
        assert_eq!(
            lookup_sql(2, 2, true),
            "where t.a = any (array[$1]) and t.b >= $2 and t.b <= $2 order by t.a, t.b limit 1"
        );
        assert_eq!(
            lookup_sql(3, 3, true),
            "where t.a = any (array[$1]) and (t.b, t.c) >= ($2, $3) and (t.b, t.c) <= ($2, $3) order by t.a, t.b, t.c limit 1"
        );
        // A list of arrays would be one array with more dimensions.
        assert_eq!(
            lookup_sql(2, 2, false),
            "where (t.a, t.b) >= ($1, $2) and (t.a, t.b) <= ($1, $2) order by t.a, t.b limit 1"
        );
    }

    #[test]
    fn columns_that_are_not_in_the_index_order_are_compared_for_equality() {
        assert_eq!(
            lookup_sql(2, 1, true),
            "where t.a >= $1 and t.a <= $1 and t.b = $2 order by t.a limit 1"
        );
        assert_eq!(
            lookup_sql(2, 0, true),
            "where t.a = $1 and t.b = $2 limit 1"
        );
    }
}

//! How one row is looked up by its identity: through the index of the identity, whatever the statistics say.

use super::{MovingTable, quote_ident};

impl MovingTable {
    /// What follows FROM in a query that finds at most one row, called `row`, by `values`: an SQL expression of its
    /// column's type for each column of the identity.
    ///
    /// As [`lookup`]; the identity must not be empty.
    #[must_use]
    pub fn lookup(&self, row: &str, values: &[String]) -> String {
        let columns = self.identity.iter();
        let columns: Vec<String> = columns
            .map(|column| format!("{row}.{}", quote_ident(column)))
            .collect();
        lookup(&columns, values, self.ordered_columns())
    }

    /// How many columns of the identity its index holds, and gives in their own order.
    #[must_use]
    pub fn ordered_columns(&self) -> usize {
        self.lookup_columns.unwrap_or(self.identity.len())
    }
}

/// Conditions, order and limit that find one row by `columns` with these `values`, of which an index has the first
/// `ordered` in ascending order.
///
/// With equality the planner may take any index that begins with one of the columns: where it believes that few rows
/// share a value, all of them cost the same. So the row is bounded from both sides and asked for in the index's order.
/// A session that may not sort (`enable_sort` and `enable_incremental_sort` off) can get that order from one index only.
#[must_use]
pub fn lookup(columns: &[String], values: &[String], ordered: usize) -> String {
    let ordered = ordered.min(columns.len());
    let ((columns, others), (values, their_values)) =
        (columns.split_at(ordered), values.split_at(ordered));
    let mut terms = Vec::with_capacity(2 + others.len());
    if ordered > 0 {
        let (columns, values) = (row_of(columns), row_of(values));
        terms.push(format!("{columns} >= {values}"));
        terms.push(format!("{columns} <= {values}"));
    }
    let equal = others.iter().zip(their_values);
    terms.extend(equal.map(|(column, value)| format!("{column} = {value}")));
    let order = if ordered > 0 {
        format!(" order by {}", columns.join(", "))
    } else {
        String::new()
    };
    format!("where {}{order} limit 1", terms.join(" and "))
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

    fn looked_up(ordered: usize) -> String {
        let texts = |texts: [&str; 2]| texts.map(str::to_owned);
        lookup(&texts(["t.a", "t.b"]), &texts(["$1", "$2"]), ordered)
    }

    #[test]
    fn a_row_is_bounded_from_both_sides_and_asked_for_in_the_order_of_the_index() {
        assert_eq!(
            looked_up(2),
            "where (t.a, t.b) >= ($1, $2) and (t.a, t.b) <= ($1, $2) order by t.a, t.b limit 1"
        );
    }

    #[test]
    fn columns_that_the_index_lacks_are_compared_behind_it() {
        assert_eq!(
            looked_up(1),
            "where t.a >= $1 and t.a <= $1 and t.b = $2 order by t.a limit 1"
        );
        assert_eq!(looked_up(0), "where t.a = $1 and t.b = $2 limit 1");
    }
}

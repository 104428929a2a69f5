//! Tables as text. Each column is as wide as its longest cell, and lines have no spaces at their end.

/// A list with a line for each object.
#[derive(Debug)]
pub(in crate::cli) struct TextTable {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// The number of columns at the end that only the wide format shows.
    wide_columns: usize,
}

impl TextTable {
    /// Creates a table with the header `head`.
    pub(in crate::cli) fn new(head: &[&'static str], rows: Vec<Vec<String>>) -> Self {
        Self {
            head: head.to_vec(),
            rows,
            wide_columns: 0,
        }
    }

    /// Shows the last `columns` columns only in the wide format.
    pub(in crate::cli) fn wide(self, columns: usize) -> Self {
        Self {
            wide_columns: columns,
            ..self
        }
    }

    /// Returns the text: with the header if `headers`, and with all columns if `wide`.
    pub(in crate::cli) fn text(&self, headers: bool, wide: bool) -> String {
        let hidden = if wide { 0 } else { self.wide_columns };
        let columns = self.head.len().saturating_sub(hidden);
        let head = self.head.iter().map(|text| (*text).to_owned()).collect();
        // A line feed in a cell must not begin a new line of the table.
        let cell = |text: &String| plans::render::one_line(text).into_owned();
        let rows = self.rows.iter().map(|row| row.iter().map(cell).collect());
        let lines: Vec<Vec<String>> = Some(head)
            .filter(|_| headers)
            .into_iter()
            .chain(rows)
            .collect();
        let width = |column: usize| {
            let cells = lines
                .iter()
                .filter_map(|line: &Vec<String>| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let line = |line: &Vec<String>| {
            let cells = line.iter().zip(&widths);
            let padded: Vec<String> = cells.map(|(cell, w)| format!("{cell:<w$}")).collect();
            format!("{}\n", padded.join("  ").trim_end())
        };
        lines.iter().map(line).collect()
    }
}

/// Returns a table with header and all columns, for use in a longer text.
pub(in crate::cli) fn table(head: &[&'static str], rows: &[Vec<String>]) -> String {
    TextTable::new(head, rows.to_vec()).text(true, true)
}

/// Returns the value as text, or a dash if there is none.
pub(in crate::cli) fn or_dash<T: ToString>(value: Option<&T>) -> String {
    value.map_or_else(|| "-".to_owned(), ToString::to_string)
}

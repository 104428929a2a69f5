//! Tables as text: columns as wide as they need to be, the last one not padded.

/// A list: a line for each thing.
#[derive(Debug)]
pub(in crate::cli) struct TextTable {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// So many of the last columns are shown in the wide form only.
    wide: usize,
}

impl TextTable {
    /// Columns under `head`.
    pub(in crate::cli) fn new(head: &[&'static str], rows: Vec<Vec<String>>) -> Self {
        Self {
            head: head.to_vec(),
            rows,
            wide: 0,
        }
    }

    /// Keeps the last `columns` for the wide form.
    pub(in crate::cli) fn wide(self, columns: usize) -> Self {
        Self {
            wide: columns,
            ..self
        }
    }

    /// The text, with its head and all columns if so wished.
    pub(in crate::cli) fn text(&self, headers: bool, wide: bool) -> String {
        let hidden = if wide { 0 } else { self.wide };
        let columns = self.head.len().saturating_sub(hidden);
        let head = self.head.iter().map(|text| (*text).to_owned()).collect();
        // A cell is one line, whatever is in it.
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

/// A table within a longer text.
pub(in crate::cli) fn table(head: &[&'static str], rows: &[Vec<String>]) -> String {
    TextTable::new(head, rows.to_vec()).text(true, true)
}

/// The text, or a dash.
pub(in crate::cli) fn or_dash<T: ToString>(value: Option<&T>) -> String {
    value.map_or_else(|| "-".to_owned(), ToString::to_string)
}

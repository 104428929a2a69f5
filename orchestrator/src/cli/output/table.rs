//! Tables as text. Each column is as wide as its longest cell, and lines have no spaces at their end.

use super::styled::{StyledText, painted};
use crate::view::Tone;

/// Returns the tone of a cell, from its text.
type CellTone = fn(&str) -> Option<Tone>;

/// A list with a line for each object.
#[derive(Debug)]
pub(in crate::cli) struct TextTable {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// The number of columns at the end that only the wide format shows.
    wide_columns: usize,
    /// The columns whose cells have a colour.
    tones: Vec<(usize, CellTone)>,
}

impl TextTable {
    /// Creates a table with the header `head`.
    pub(in crate::cli) fn new(head: &[&'static str], rows: Vec<Vec<String>>) -> Self {
        Self {
            head: head.to_vec(),
            rows,
            wide_columns: 0,
            tones: Vec::new(),
        }
    }

    /// Shows the last `columns` columns only in the wide format.
    pub(in crate::cli) fn wide(self, columns: usize) -> Self {
        Self {
            wide_columns: columns,
            ..self
        }
    }

    /// Paints the cells of the column with the header `name`.
    pub(in crate::cli) fn toned(mut self, name: &str, tone: CellTone) -> Self {
        let column = self.head.iter().position(|head| *head == name);
        self.tones.extend(column.map(|column| (column, tone)));
        self
    }

    /// Returns the text: with the header if `headers`, and with all columns if `wide`.
    pub(in crate::cli) fn text(&self, headers: bool, wide: bool) -> StyledText {
        let hidden = if wide { 0 } else { self.wide_columns };
        let columns = self.head.len().saturating_sub(hidden);
        // A line feed in a cell must not begin a new line of the table.
        let cell = |text: &String| plans::render::one_line(text).into_owned();
        let rows: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| row.iter().take(columns).map(cell).collect())
            .collect();
        let head: Vec<String> = self.head.iter().map(|text| (*text).to_owned()).collect();
        let head = headers.then_some(head);
        let width = |column: usize| {
            let lines = head.iter().chain(&rows);
            let cells = lines.filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        if let Some(line) = &head {
            text += &aligned(line, &widths, |_, _| None);
        }
        for line in &rows {
            text += &aligned(line, &widths, |column, cell| self.tone(column, cell));
        }
        StyledText::from_cells(text)
    }

    fn tone(&self, column: usize, cell: &str) -> Option<Tone> {
        let mut tones = self.tones.iter();
        let (_, tone) = tones.find(|(toned, _)| *toned == column)?;
        // Rows of a list below another row are indented.
        tone(cell.trim_start())
    }
}

/// Returns a line of a table. Widths count characters, not the control sequences of colours.
fn aligned(
    cells: &[String],
    widths: &[usize],
    tone: impl Fn(usize, &str) -> Option<Tone>,
) -> String {
    let last = cells
        .iter()
        .zip(widths)
        .rposition(|(cell, _)| !cell.trim_end().is_empty());
    let mut line = String::new();
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        if last.is_none_or(|last| column > last) {
            break;
        }
        let is_last = last == Some(column);
        let cell = if is_last { cell.trim_end() } else { cell };
        line += &painted(cell, tone(column, cell));
        if !is_last {
            let padding = width.saturating_sub(cell.chars().count());
            line.extend(std::iter::repeat_n(' ', padding + 2));
        }
    }
    line + "\n"
}

/// Returns a table with header and all columns, for use in a longer text.
pub(in crate::cli) fn table(head: &[&'static str], rows: &[Vec<String>]) -> String {
    let text = TextTable::new(head, rows.to_vec()).text(true, true);
    text.as_str().to_owned()
}

/// Returns the value as text, or a dash if there is none.
pub(in crate::cli) fn or_dash<T: ToString>(value: Option<&T>) -> String {
    value.map_or_else(|| "-".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_do_not_count_in_the_width_of_a_column() {
        let rows = [["m1", "failed", "x"], ["m22", "running", ""]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec()).to_vec();
        let table = TextTable::new(&["ID", "STATE", "WHY"], rows);
        let plain = "ID   STATE    WHY\nm1   failed   x\nm22  running\n";
        assert_eq!(table.text(true, true).as_str(), plain);
        let toned = table.toned("STATE", |cell| (cell == "failed").then_some(Tone::Bad));
        let text = toned.text(true, true);
        assert!(
            text.as_str()
                .contains("m1   \x1b[1m\x1b[31mfailed\x1b[0m   x\n"),
            "{text:?}"
        );
        let stripped = anstream::adapter::strip_str(text.as_str()).to_string();
        assert_eq!(stripped, plain);
    }

    #[test]
    fn a_cell_cannot_bring_its_own_colour_or_line() {
        let rows = vec![vec!["a\x1b[31m\nb".to_owned()]];
        let text = TextTable::new(&["NAME"], rows).text(false, true);
        assert_eq!(text.as_str(), "a\\u{1b}[31m\\nb\n");
    }
}

//! Cells of a CSV file that a spreadsheet opens.
//!
//! A spreadsheet runs a cell that begins like a formula, and keys are chosen by tenants. So each text that begins so gets an
//! apostrophe in front, as a person would type it there, and each text that begins with an apostrophe one more: whoever
//! takes one off reads every text as it was.

use std::borrow::Cow;

const MARK: char = '\'';

/// What begins a formula, in full width too, or is passed over in front of one.
const BEGINNINGS: [char; 11] = [
    '=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
];

fn is_marked(text: &str) -> bool {
    text.starts_with(BEGINNINGS) || text.starts_with(MARK)
}

/// The text as a cell that no spreadsheet runs.
pub(super) fn guarded(text: &str) -> Cow<'_, str> {
    match is_marked(text) {
        true => Cow::Owned(format!("{MARK}{text}")),
        false => Cow::Borrowed(text),
    }
}

/// The text of a cell; one that was never guarded is left as it is.
pub(super) fn bare(cell: &str) -> &str {
    cell.strip_prefix(MARK)
        .filter(|text| is_marked(text))
        .unwrap_or(cell)
}

//! Cells of a CSV file that a user may open in a spreadsheet.
//!
//! A spreadsheet executes a cell that begins like a formula, and tenants choose keys. Therefore a text that begins like
//! a formula gets an apostrophe in front, as a user would type it. A text that begins with an apostrophe gets another
//! one. Removing one apostrophe restores every text.

use std::borrow::Cow;

const MARK: char = '\'';

/// The characters that begin a formula (also their full-width forms), and those that a spreadsheet ignores before a
/// formula.
const BEGINNINGS: [char; 11] = [
    '=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
];

fn is_marked(text: &str) -> bool {
    text.starts_with(BEGINNINGS) || text.starts_with(MARK)
}

/// Returns the text as a cell that no spreadsheet executes.
pub(super) fn guarded(text: &str) -> Cow<'_, str> {
    match is_marked(text) {
        true => Cow::Owned(format!("{MARK}{text}")),
        false => Cow::Borrowed(text),
    }
}

/// Returns the text of a cell, without the added apostrophe if there is one.
pub(super) fn bare(cell: &str) -> &str {
    cell.strip_prefix(MARK)
        .filter(|text| is_marked(text))
        .unwrap_or(cell)
}

//! Cells of a CSV file that a user may open in a spreadsheet.
//!
//! A spreadsheet executes a cell that begins like a formula, and tenants choose keys. Therefore a text that begins like
//! a formula gets an apostrophe in front, as a user would type it. A text that begins with an apostrophe gets another
//! one. Removing one apostrophe restores every text.

use std::borrow::Cow;

const APOSTROPHE: char = '\'';

/// The first characters of formulas (also in their full-width forms), and characters that a spreadsheet ignores before
/// a formula.
const FORMULA_STARTS: [char; 11] = [
    '=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
];

/// Returns whether a text as a cell needs an additional apostrophe: it begins like a formula, or with an apostrophe.
fn needs_apostrophe(text: &str) -> bool {
    text.starts_with(FORMULA_STARTS) || text.starts_with(APOSTROPHE)
}

/// Returns the text as a cell that no spreadsheet executes.
pub(super) fn escape_cell(text: &str) -> Cow<'_, str> {
    match needs_apostrophe(text) {
        true => Cow::Owned(format!("{APOSTROPHE}{text}")),
        false => Cow::Borrowed(text),
    }
}

/// Returns the text of a cell, without the added apostrophe if there is one.
pub(super) fn unescape_cell(cell: &str) -> &str {
    cell.strip_prefix(APOSTROPHE)
        .filter(|text| needs_apostrophe(text))
        .unwrap_or(cell)
}

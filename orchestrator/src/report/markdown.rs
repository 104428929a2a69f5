//! The report as Markdown.

use super::Report;
use super::html::{Document, error, fields, ms, took, when};
use crate::dashboard::figures::{count, seconds};
use askama::Template;
use plans::render::bytes;

#[derive(Template)]
#[template(path = "report/page.md", escape = "none")]
struct Page<'a> {
    document: Document<'a>,
}

/// The report for a wiki or a ticket.
pub(super) fn write(report: &Report) -> Result<String, askama::Error> {
    let document = Document::of(report);
    Page { document }.render()
}

/// Text as a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}

//! The report as Markdown. Names and texts from users appear as plain text: they cannot contain markup or HTML, or
//! start a new line.

use std::fmt::{self, Write};

use super::OperationReport;
use super::html::{
    ReportDocument, eta_error, ms, outcome, record_fields, when, work_and_idle_time,
};
use crate::view::figures::{count, seconds};
use askama::Template;
use askama::filters::Escaper;
use plans::render::bytes;

#[derive(Template)]
#[template(path = "report/page.md")]
struct MarkdownReportPage<'a> {
    document: ReportDocument<'a>,
    /// The fence around the plan: one backtick longer than the longest run of backticks in the plan.
    fence: String,
}

/// Returns the report as Markdown.
pub(super) fn write(report: &OperationReport) -> Result<String, askama::Error> {
    let document = ReportDocument::of(report);
    let longest_run = document.plan.split(|char| char != '`').map(str::len).max();
    let fence = "`".repeat(longest_run.unwrap_or(0).max(2) + 1);
    MarkdownReportPage { document, fence }.render()
}

/// Escapes the text that a template inserts: characters of Markdown or HTML markup. Characters that start a new line or
/// change the direction of the text become spaces.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Markdown;

impl Escaper for Markdown {
    fn write_escaped_str<W: Write>(&self, mut to: W, text: &str) -> fmt::Result {
        for char in text.chars() {
            match char {
                '&' => to.write_str("&amp;")?,
                '<' => to.write_str("&lt;")?,
                '>' => to.write_str("&gt;")?,
                '\\' | '`' | '*' | '[' | ']' | '|' => {
                    to.write_char('\\')?;
                    to.write_char(char)?;
                }
                char if plans::render::is_disruptive(char) => to.write_char(' ')?,
                char => to.write_char(char)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_names_is_escaped() {
        let mut page = String::new();
        let name = "a|b\n# <b>x</b> `c` [d](e) \u{202e}f \\|";
        Markdown
            .write_escaped_str(&mut page, name)
            .expect("written");
        assert_eq!(
            page,
            "a\\|b # &lt;b&gt;x&lt;/b&gt; \\`c\\` \\[d\\](e)  f \\\\\\|"
        );
    }
}

//! The registry of findings: everything that prevents a move, or that is worth knowing, with a number, a name and a
//! remedy.
//!
//! A finding refers to its row by the name `noun.reason`. The row contains the number and the severity. A number is
//! never reused for another finding, and docs/doctor.md has a chapter for each. This module examines nothing; the agent
//! does.

mod codes;
mod examine;
mod finding;
mod script;

pub use examine::{DoctorTask, Examined, MapTables, count, sort};
pub use finding::Finding;
pub use script::{Script, ShardDatabase, script};

use crate::failure::Severity;

/// One kind of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindingCode {
    /// The number: `SW` and four digits, of which the first two are the group.
    pub sw: &'static str,
    /// The name, in the form `noun.reason`.
    pub name: &'static str,
    /// The severity.
    pub severity: Severity,
    /// What was found, in a few words.
    pub title: &'static str,
    /// What goes wrong.
    pub wrong: &'static str,
    /// What the operator can do about it, with SQL statements if there are any.
    pub remedy: &'static str,
}

impl FindingCode {
    /// Returns the text of its chapter in docs/doctor.md, without the marks of the heading.
    #[must_use]
    pub fn chapter(&self) -> String {
        let severity = match self.severity {
            Severity::Note => "A note",
            Severity::Warning => "A warning",
            Severity::Refused => "Refused",
        };
        let (sw, name, title) = (self.sw, self.name, self.title);
        let (wrong, remedy) = (self.wrong, self.remedy);
        format!(
            "{sw} {name}\n\n**{title}.** {severity}.\n\nWhat goes wrong: {wrong}\n\nRemedy: {remedy}\n"
        )
    }
}

/// A group of related findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeGroup {
    /// The subject of the group.
    pub title: &'static str,
    /// The findings, ordered by number.
    pub codes: &'static [FindingCode],
}

/// All findings, by group.
pub const GROUPS: &[CodeGroup] = codes::GROUPS;

/// Returns the finding with this name or number.
#[must_use]
pub fn find(name: &str) -> Option<&'static FindingCode> {
    let mut codes = GROUPS.iter().flat_map(|group| group.codes);
    codes.find(|code| code.name == name || code.sw == name)
}

#[cfg(test)]
mod tests;

//! Every finding that stands in the way of a move, or is worth knowing: its number, its name, its remedy.
//!
//! A finding names its row by `noun.reason`; the row gives it the number that is searched for and the severity.
//! A number is never given to something else, and docs/doctor.md has a chapter for each.
//! Absent: looking; that is the agent's.

mod codes;
mod examine;
mod finding;
mod script;

pub use examine::{DoctorTask, Examined, MapTables, count, sort};
pub use finding::Finding;
pub use script::{Script, ShardDatabase, script};

use crate::failure::Severity;

/// What is known of one kind of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindingCode {
    /// The number, `SW` and four digits; the first two are the group.
    pub sw: &'static str,
    /// The name in `noun.reason` form.
    pub name: &'static str,
    /// How grave it is.
    pub severity: Severity,
    /// What is found, in a few words.
    pub title: &'static str,
    /// What goes wrong.
    pub wrong: &'static str,
    /// What the operator does about it, with the statements where there are any.
    pub remedy: &'static str,
}

impl FindingCode {
    /// The chapter that docs/doctor.md has of it, without the heading's marks.
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

/// Rows that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeGroup {
    /// What they are about.
    pub title: &'static str,
    /// The rows, by number.
    pub codes: &'static [FindingCode],
}

/// All rows, group by group.
pub const GROUPS: &[CodeGroup] = codes::GROUPS;

/// The row of a name, or of a number.
#[must_use]
pub fn find(name: &str) -> Option<&'static FindingCode> {
    let mut codes = GROUPS.iter().flat_map(|group| group.codes);
    codes.find(|code| code.name == name || code.sw == name)
}

#[cfg(test)]
mod tests;

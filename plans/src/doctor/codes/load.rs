//! Load that cannot be measured.

use super::{FindingCode, Warning};

pub(super) const CODES: &[FindingCode] = &[FindingCode {
    sw: "SW1101",
    name: "load.identity",
    severity: Warning,
    title: "The measurement does not count the writes of a table",
    wrong: "If the agent published the table without a replica identity, updates of the table would fail. The agent therefore excludes the table from the measurement.",
    remedy: "Run `alter table ... add primary key (...)`.",
}];

//! What cannot be measured.

use super::{Code, Warning};

pub(super) const CODES: &[Code] = &[Code {
    sw: "SW1101",
    name: "load.identity",
    severity: Warning,
    title: "The writes of a table are not counted",
    wrong: "Published without a replica identity its updates would fail, so it is left out of the measurement.",
    mend: "alter table ... add primary key (...)",
}];

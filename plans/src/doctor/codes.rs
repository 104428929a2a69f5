//! The findings, with one file for each group.

mod activity;
mod foreign_keys;
mod keys;
mod load;
mod pair;
mod role;
mod seed;
mod sequences;
mod server;
mod tables;
mod target;
mod types;

use super::{CodeGroup, FindingCode};
use crate::failure::Severity::{Note, Refused, Warning};

pub(super) const GROUPS: &[CodeGroup] = &[
    CodeGroup {
        title: "Server",
        codes: server::CODES,
    },
    CodeGroup {
        title: "Role of the agent",
        codes: role::CODES,
    },
    CodeGroup {
        title: "Source and target together",
        codes: pair::CODES,
    },
    CodeGroup {
        title: "Tables",
        codes: tables::CODES,
    },
    CodeGroup {
        title: "Shard key",
        codes: keys::CODES,
    },
    CodeGroup {
        title: "Foreign keys",
        codes: foreign_keys::CODES,
    },
    CodeGroup {
        title: "Sequences",
        codes: sequences::CODES,
    },
    CodeGroup {
        title: "Triggers, rules, publications",
        codes: activity::CODES,
    },
    CodeGroup {
        title: "Target",
        codes: target::CODES,
    },
    CodeGroup {
        title: "Measuring the load",
        codes: load::CODES,
    },
    CodeGroup {
        title: "Types",
        codes: types::CODES,
    },
    CodeGroup {
        title: "Standby as target",
        codes: seed::CODES,
    },
];

//! The rows, one file for each group.

mod foreign_keys;
mod keys;
mod load;
mod others;
mod pair;
mod role;
mod sequences;
mod server;
mod tables;
mod target;
mod types;

use super::{Code, Group};
use crate::failure::Severity::{Note, Refused, Warning};

pub(super) const GROUPS: &[Group] = &[
    Group {
        title: "Server",
        codes: server::CODES,
    },
    Group {
        title: "Role of the agent",
        codes: role::CODES,
    },
    Group {
        title: "Source and target together",
        codes: pair::CODES,
    },
    Group {
        title: "Tables",
        codes: tables::CODES,
    },
    Group {
        title: "Shard key",
        codes: keys::CODES,
    },
    Group {
        title: "Foreign keys",
        codes: foreign_keys::CODES,
    },
    Group {
        title: "Sequences",
        codes: sequences::CODES,
    },
    Group {
        title: "Triggers, rules, publications",
        codes: others::CODES,
    },
    Group {
        title: "Target",
        codes: target::CODES,
    },
    Group {
        title: "Measuring the load",
        codes: load::CODES,
    },
    Group {
        title: "Types",
        codes: types::CODES,
    },
];

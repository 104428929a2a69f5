//! Requirements for a standby that becomes the target of a move.

use super::{FindingCode, Refused};

pub(super) const CODES: &[FindingCode] = &[
    FindingCode {
        sw: "SW1301",
        name: "seed.standby",
        severity: Refused,
        title: "The target is no standby of the source",
        wrong: "A move with `seed: standby` promotes a physical standby of its source. Another server has other rows.",
        remedy: "Create a standby of the source with pg_basebackup and register it as the shard, or plan with `seed: copy`.",
    },
    FindingCode {
        sw: "SW1302",
        name: "seed.paused",
        severity: Refused,
        title: "The replay of the standby is paused or delayed",
        wrong: "The standby never reaches the position at which the agent promotes it.",
        remedy: "On the standby, run `select pg_wal_replay_resume()`, and `alter system set recovery_min_apply_delay = 0; select pg_reload_conf()`.",
    },
    FindingCode {
        sw: "SW1303",
        name: "seed.stream",
        severity: Refused,
        title: "The standby does not stream",
        wrong: "Without a WAL receiver the standby does not receive what the migration creates on the source.",
        remedy: "Set `primary_conninfo` on the standby, and wait until `select * from pg_stat_wal_receiver` returns a row.",
    },
    FindingCode {
        sw: "SW1304",
        name: "seed.lag",
        severity: Refused,
        title: "The standby is far behind",
        wrong: "The source would retain its log while the migration waits for the standby.",
        remedy: "Wait until the standby has replayed the log.",
    },
    FindingCode {
        sw: "SW1305",
        name: "seed.privilege",
        severity: Refused,
        title: "The role may not promote the standby",
        wrong: "The agent promotes the standby with the function `pg_promote`.",
        remedy: "On the source, run `grant execute on function pg_catalog.pg_promote(boolean, integer) to ROLE`.",
    },
    FindingCode {
        sw: "SW1306",
        name: "seed.subscription",
        severity: Refused,
        title: "A subscription would start on the promoted server",
        wrong: "A promoted server starts the subscriptions of its copy. They take over the slots of the source's subscriptions.",
        remedy: "On the source, run `alter subscription NAME disable` until the promotion is over.",
    },
    FindingCode {
        sw: "SW1307",
        name: "seed.synchronous",
        severity: Refused,
        title: "The source waits for the standby",
        wrong: "Commits or logical slots of the source would wait for the standby after its promotion.",
        remedy: "Remove the standby from `synchronous_standby_names` and its slot from `synchronized_standby_slots` on the source.",
    },
];

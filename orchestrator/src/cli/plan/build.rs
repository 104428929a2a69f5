//! Creates requests from flags.

use super::flags::{Flags, OperationArgs, SplitArgs};
use crate::cli::client::Client;
use crate::cli::error::CliError;
use crate::cli::keys::KeyShape;
use crate::cli::map::{fetch, tables};
use crate::cli::set::setting;
use plans::id::{MapName, ShardName};
use plans::request::{
    Cutover, Drain, Hold, Isolate, Merge, Mode, MoveEntry, MoveOperation, Options, Part, Rebalance,
    Request, Split, TrialRun,
};

impl OperationArgs {
    /// Creates the request. Reads the map, whose key types are needed to parse keys.
    pub(super) async fn build(self, client: &Client) -> Result<Request, CliError> {
        let shape = KeyShape::of(&fetch(client, self.map()).await?);
        let flags = self.flags();
        let options = options(flags)?;
        let (tables, ignore) = (tables(&flags.tables), flags.ignore.clone());
        let map = MapName::from(self.map());
        let shards = |names: Vec<String>| names.into_iter().map(ShardName).collect();
        Ok(match self {
            Self::Split(split) => Request::Split(Split {
                map,
                source: ShardName::from(split.source.as_str()),
                into: parts(&split, &shape)?,
                even: split.even,
                tables,
                ignore,
                options,
            }),
            Self::Merge(merge) => Request::Merge(Merge {
                map,
                sources: shards(merge.from),
                into: ShardName(merge.into),
                tables,
                ignore,
                options,
            }),
            Self::Move(moving) => Request::Move(MoveOperation {
                map,
                moves: vec![MoveEntry {
                    keys: moving.keys.map(|keys| shape.selection(&keys)).transpose()?,
                    source: ShardName(moving.from),
                    target: ShardName(moving.to),
                    mode: None,
                }],
                tables,
                ignore,
                options,
            }),
            Self::Isolate(isolate) => Request::Isolate(Isolate {
                map,
                key: shape.key(&isolate.key)?,
                target: ShardName(isolate.to),
                tables,
                ignore,
                options,
            }),
            Self::Drain(drain) => Request::Drain(Drain {
                map,
                source: ShardName(drain.shard),
                targets: shards(drain.to),
                by: drain.by,
                drop_tables: drain.drop_tables,
                tables,
                ignore,
                options,
            }),
            Self::Rebalance(rebalance) => Request::Rebalance(Rebalance {
                map,
                by: rebalance.by,
                onto: shards(rebalance.onto),
                threshold_percent: rebalance.threshold,
                max_bytes: rebalance.max_bytes,
                watch_seconds: u32::try_from(rebalance.watch.as_secs().max(1)).unwrap_or(3600),
                tables,
                ignore,
                options,
            }),
        })
    }
}

/// Returns the options that the flags name, with defaults for the others.
fn options(flags: &Flags) -> Result<Options, CliError> {
    let defaults = Options::default();
    let mut limits = defaults.limits();
    for (name, value) in &flags.limits {
        let setting = setting(name).map_err(CliError::Usage)?;
        setting
            .set(&mut limits, value, defaults.copy_streams)
            .map_err(|invalid| CliError::Usage(invalid.to_string()))?;
    }
    Ok(Options {
        mode: if flags.offline {
            Mode::Offline
        } else {
            Mode::Online
        },
        cutover: match flags.cutover.as_str() {
            "automatic" => Cutover::Automatic,
            _ => Cutover::Approve,
        },
        approvals: flags.approvals.unwrap_or(defaults.approvals),
        copy_streams: limits.streams,
        apply_sessions: flags.apply_sessions.unwrap_or(defaults.apply_sessions),
        throttle: limits.throttle,
        snapshot_age_s: flags.snapshot_age_s.unwrap_or(defaults.snapshot_age_s),
        wal_cap_mb: flags.wal_cap_mb.unwrap_or(defaults.wal_cap_mb),
        max_attempts: flags.max_attempts.unwrap_or(defaults.max_attempts),
        hold: flags.hold.unwrap_or(Hold::UntilFinish),
        override_rules: flags.override_rules.clone(),
        write_stop_budget_ms: flags
            .write_stop_budget_ms
            .unwrap_or(defaults.write_stop_budget_ms),
        long_writers: flags.long_writers.unwrap_or_default(),
        dual_write: flags.dual_write.unwrap_or_default(),
        ddl: flags.ddl.unwrap_or_default(),
        seed: flags.seed.unwrap_or_default(),
        schema: flags.schema.unwrap_or_default(),
        trial: match flags.no_trial {
            true => TrialRun::Skip,
            false => TrialRun::Run,
        },
        ignore_standbys: flags.ignore_standbys.clone(),
        moves_at_once: flags.moves_at_once.unwrap_or(defaults.moves_at_once),
        moves_per_shard: flags.moves_per_shard.unwrap_or(defaults.moves_per_shard),
        ..defaults
    })
}

/// Parses the parts of a split: `SHARD=KEYS`; with `--even`, `SHARD` or `SHARD=SHARE`.
fn parts(split: &SplitArgs, shape: &KeyShape) -> Result<Vec<Part>, CliError> {
    let part = |text: &String| {
        let (shard, rest) = match text.split_once('=') {
            Some((shard, rest)) => (shard, Some(rest)),
            None => (text.as_str(), None),
        };
        let mut part = Part {
            shard: ShardName::from(shard),
            keys: None,
            share: None,
        };
        match rest {
            Some(share) if split.even.is_some() => {
                let number = share.parse();
                let parse_error =
                    |_| CliError::Usage(format!("{share:?} is not a number of shares"));
                part.share = Some(number.map_err(parse_error)?);
            }
            Some(keys) => part.keys = Some(shape.selection(keys)?),
            None => {}
        }
        Ok(part)
    };
    split.into.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct TestLine {
        #[command(flatten)]
        flags: Flags,
    }

    fn parse_options(line: &str) -> Result<Options, CliError> {
        options(&TestLine::try_parse_from(line.split(' ')).unwrap().flags)
    }

    #[test]
    fn flags_give_the_options_of_a_request() {
        let options = parse_options(
            "plan --approvals 2 --limit rate=20MB/s --limit hours=22:00-06:00 --limit streams=4 \
             --limit commit=off --apply-sessions 1 --snapshot-age-s 60 --wal-cap-mb 2048 --max-attempts 3 --hold 3600",
        );
        let written = serde_json::json!({
            "approvals": 2, "copy_streams": 4, "apply_sessions": 1, "snapshot_age_s": 60, "wal_cap_mb": 2048,
            "max_attempts": 3, "hold": {"seconds": 3600},
            "throttle": {"rate_bytes_s": 20_000_000, "hours": "22:00-06:00", "shards": {"commit_ms": null}},
        });
        let written: Options = serde_json::from_value(written).unwrap();
        assert_eq!(options.unwrap(), written);
        assert_eq!(parse_options("plan").unwrap(), Options::default());
    }

    #[test]
    fn an_unknown_limit_or_value_is_wrong_usage() {
        for line in ["plan --limit speed=1", "plan --limit rate=quick"] {
            let error = parse_options(line).unwrap_err();
            assert!(matches!(error, CliError::Usage(_)), "{error}");
        }
    }
}

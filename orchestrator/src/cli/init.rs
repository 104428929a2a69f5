//! `shardwright init`: a first fleet file, from databases that no controller knows yet.
//!
//! Data is the file, on stdout or in `--out`; the reasons are talk. Nothing is written on a shard.

use super::error::CliError;
use super::files::{write_new, yaml};
use super::keys::{named_dsn, strategy};
use super::map::new_mapping;
use crate::cli::out::report;
use crate::controller::NewMap;
use clap::Args;
use connect::Dsn;
use discover::{KeyCandidate, Proposal, ProposalRequest, propose};
use plans::id::{MapName, ShardName};
use plans::shard_map::Strategy;
use serde::Serialize;
use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;

const HEAD: &str = "\
# Written by `shardwright init`. Read it, correct it, then:
#   shardwright fleet apply FILE --dry-run
#   shardwright fleet apply FILE
";

/// Look at databases and write a first fleet file for them; nothing is changed, no controller is needed.
#[derive(Debug, Args)]
pub(super) struct Init {
    /// A shard and its connection string, the password as ${file:/path} or ${env:NAME}; may be given several times.
    #[arg(long = "shard", value_name = "NAME=DSN", required = true)]
    shards: Vec<String>,
    /// Name of the map.
    #[arg(long, default_value = "main")]
    map: String,
    /// The key: a column, or table and column (users.id); without it you choose on the terminal, or it is the one that ties most tables.
    #[arg(long, value_name = "COLUMN")]
    key: Option<String>,
    /// Print every key that the tables could have, with its score.
    #[arg(long)]
    explain: bool,
    /// How keys are divided: range, hash or list; without it what fits the keys that are there.
    #[arg(long, value_parser = strategy)]
    strategy: Option<Strategy>,
    /// Where to write the file, which must not be there yet; without it, it is printed.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// What is written; `fleet apply` reads more.
#[derive(Debug, Serialize)]
struct FleetDraft {
    shards: Vec<ShardEntry>,
    maps: [NewMap; 1],
}

#[derive(Debug, Serialize)]
struct ShardEntry {
    name: ShardName,
    dsn: String,
}

impl Init {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let shards = self.read()?;
        let wish = ProposalRequest {
            map: MapName(self.map),
            key: self.key,
            strategy: self.strategy,
        };
        let proposed = propose(&shards, &wish, choose).await?;
        let Proposal {
            map,
            reasons,
            candidates,
        } = proposed;
        if self.explain {
            for candidate in candidates {
                report!("score {:.2}: {}", candidate.score, candidate.reason());
            }
        }
        for reason in reasons {
            report!("{reason}");
        }
        let entry = |(name, dsn): (ShardName, Dsn)| ShardEntry {
            name,
            dsn: dsn.expose().to_owned(),
        };
        let document = FleetDraft {
            shards: shards.into_iter().map(entry).collect(),
            maps: [NewMap {
                name: map.name,
                strategy: map.strategy,
                key: map.key,
                buckets: (map.strategy == Strategy::Hash).then_some(map.buckets),
                settings: map.settings,
                mappings: map.mappings.into_iter().map(new_mapping).collect(),
            }],
        };
        let text = format!("{HEAD}{}\n", yaml(&document)?.trim_end());
        match &self.out {
            Some(path) => {
                write_new(path, &text)?;
                let path = path.display();
                report!("written to {path}; next: shardwright fleet apply {path} --dry-run");
            }
            None => super::out::print(text),
        }
        Ok(0)
    }

    /// The shards; what is wrong in the arguments is found before any database is examined.
    fn read(&self) -> Result<Vec<(ShardName, Dsn)>, CliError> {
        let mut shards: Vec<(ShardName, Dsn)> = Vec::with_capacity(self.shards.len());
        for (text, place) in self.shards.iter().zip(1..) {
            let (name, dsn) = shard(text)
                .map_err(|reason| CliError::Usage(format!("--shard number {place}: {reason}")))?;
            if dsn.has_inline_password() {
                return Err(CliError::Usage(format!(
                    "the password of shard {name} is in its connection string, and would be in the file: write password=${{env:NAME}} or password=${{file:/path}}"
                )));
            }
            if shards.iter().any(|(other, _)| other == &name) {
                return Err(CliError::Usage(format!("shard {name} is named twice")));
            }
            shards.push((name, dsn));
        }
        match &self.out {
            Some(path) if path.exists() => Err(CliError::Refused(format!(
                "{} is there already, and may have been edited: name another file",
                path.display()
            ))),
            Some(_) | None => Ok(shards),
        }
    }
}

/// Asks on a terminal which of several keys it is; elsewhere it is the first.
fn choose(best: &[KeyCandidate]) -> usize {
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return 0;
    }
    for (candidate, number) in best.iter().zip(1..) {
        report!("{number}. {}", candidate.reason());
    }
    chosen(best.len(), std::io::stdin().lock())
}

/// The place that is typed, from 1 on; the first where nothing is.
fn chosen(count: usize, mut from: impl BufRead) -> usize {
    loop {
        super::out::write_message(format_args!("Which is the key? [1] "));
        let mut line = String::new();
        if !from.read_line(&mut line).is_ok_and(|read| read > 0) {
            return 0;
        }
        let number = match line.trim() {
            "" => 1,
            typed => typed.parse().unwrap_or(0),
        };
        if (1..=count).contains(&number) {
            return number - 1;
        }
    }
}

/// A shard and where it is.
fn shard(text: &str) -> Result<(ShardName, Dsn), String> {
    let (name, dsn) = named_dsn(text)?;
    let dsn = Dsn::parse(dsn).map_err(|error| error.to_string())?;
    Ok((ShardName::from(name), dsn))
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn a_number_is_asked_for_until_it_is_one_of_them() {
        for (typed, place) in [("2\n", 1), ("\n", 0), ("", 0), ("4\nx\n0\n3\n", 2)] {
            assert_eq!(chosen(3, typed.as_bytes()), place, "{typed:?}");
        }
    }
}

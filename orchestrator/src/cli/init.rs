//! `shardwright init`: proposes a first fleet file for databases that no controller knows yet.
//!
//! The file goes to stdout or to `--out`, and the reasons for the proposal to stderr. Nothing is written on a shard.

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

const FILE_HEADER: &str = "\
# Written by `shardwright init`. Read it, correct it, then:
#   shardwright fleet apply FILE --dry-run
#   shardwright fleet apply FILE
";

/// Examine databases and write a first fleet file for them. Changes nothing, and needs no controller.
#[derive(Debug, Args)]
pub(super) struct Init {
    /// A shard and its connection string, with the password as ${file:/path} or ${env:NAME}; may be given several
    /// times.
    #[arg(long = "shard", value_name = "NAME=DSN", required = true)]
    shards: Vec<String>,
    /// The name of the map.
    #[arg(long, default_value = "main")]
    map: String,
    /// The shard key: a column, or table and column (users.id). By default you choose it on the terminal; without a
    /// terminal, the key with the best score is used.
    #[arg(long, value_name = "COLUMN")]
    key: Option<String>,
    /// Print every possible key with its score.
    #[arg(long)]
    explain: bool,
    /// How keys are divided: range, hash or list. By default this depends on the keys that exist.
    #[arg(long, value_parser = strategy)]
    strategy: Option<Strategy>,
    /// Write to this file, which must not exist yet. By default the file is printed.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// The content of the file: a subset of what `fleet apply` reads.
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
        let shards = self.parse_shards()?;
        let request = ProposalRequest {
            map: MapName(self.map),
            key: self.key,
            strategy: self.strategy,
        };
        let proposed = propose(&shards, &request, choose_key).await?;
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
        let text = format!("{FILE_HEADER}{}\n", yaml(&document)?.trim_end());
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

    /// Parses the shards, and checks all arguments before any database is examined.
    fn parse_shards(&self) -> Result<Vec<(ShardName, Dsn)>, CliError> {
        let mut shards: Vec<(ShardName, Dsn)> = Vec::with_capacity(self.shards.len());
        for (text, number) in self.shards.iter().zip(1..) {
            let (name, dsn) = parse_shard(text)
                .map_err(|reason| CliError::Usage(format!("--shard number {number}: {reason}")))?;
            if dsn.has_inline_password() {
                return Err(CliError::Usage(format!(
                    "the connection string of shard {name} contains a password, which would be written to the file: use password=${{env:NAME}} or password=${{file:/path}}"
                )));
            }
            if shards.iter().any(|(other, _)| other == &name) {
                return Err(CliError::Usage(format!("shard {name} is named twice")));
            }
            shards.push((name, dsn));
        }
        match &self.out {
            Some(path) if path.exists() => Err(CliError::Refused(format!(
                "{} exists already, and may have been edited: name another file",
                path.display()
            ))),
            Some(_) | None => Ok(shards),
        }
    }
}

/// Asks on a terminal which of several keys to use, and returns its index. Without a terminal it is the first.
fn choose_key(best: &[KeyCandidate]) -> usize {
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return 0;
    }
    for (candidate, number) in best.iter().zip(1..) {
        report!("{number}. {}", candidate.reason());
    }
    read_choice(best.len(), std::io::stdin().lock())
}

/// Reads a number from 1 to `count`, and returns the index. If nothing is typed, it is the first.
fn read_choice(count: usize, mut from: impl BufRead) -> usize {
    loop {
        super::out::write_message(format_args!("Which of these is the shard key? [1] "));
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

/// Parses the name and the connection string of a shard.
fn parse_shard(text: &str) -> Result<(ShardName, Dsn), String> {
    let (name, dsn) = named_dsn(text)?;
    let dsn = Dsn::parse(dsn).map_err(|error| error.to_string())?;
    Ok((ShardName::from(name), dsn))
}

#[cfg(test)]
mod tests {
    use super::read_choice;

    #[test]
    fn the_question_is_repeated_until_the_answer_is_valid() {
        for (typed, index) in [("2\n", 1), ("\n", 0), ("", 0), ("4\nx\n0\n3\n", 2)] {
            assert_eq!(read_choice(3, typed.as_bytes()), index, "{typed:?}");
        }
    }
}

//! `shardwright shard show`: a shard and what the last probe read of its server.

use super::client::Client;
use super::error::CliError;
use super::output::{Output, StyledText, TextTable};
use super::shard::list_text;
use crate::controller::DetailedProbe;
use crate::store::ShardRecord;
use crate::view::server::{ServerFigures, SlotTexts, StandbyTexts};
use serde::Serialize;
use std::fmt::Write;

/// A shard and its last probe.
#[derive(Debug, Serialize)]
struct ShardDetails {
    #[serde(flatten)]
    shard: ShardRecord,
    probe: DetailedProbe,
}

/// Prints a shard.
pub(super) async fn show(client: &Client, name: &str, output: Output) -> Result<u8, CliError> {
    let path = format!("/api/v1/shards/{name}");
    let details = ShardDetails {
        shard: client.get(&path).await?,
        probe: client.get(&format!("{path}/probe")).await?,
    };
    output.print(&details, text)
}

fn text(details: &ShardDetails) -> StyledText {
    let ShardDetails { shard, probe } = details;
    let server = ServerFigures {
        shard,
        database: probe.probe.figures.as_ref(),
        activity: probe.activity.as_ref(),
    };
    let mut text = StyledText::default();
    let probes = std::slice::from_ref(&probe.probe);
    text.push_table(&list_text(std::slice::from_ref(shard), probes));
    text += "\n";
    let totals = server.totals();
    let width = totals.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in totals {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{name:width$}  {}", value.text);
    }
    push_part(&mut text, "standbys", server.standbys(), |all| {
        standbys(all)
    });
    push_part(
        &mut text,
        "replication slots of the server",
        server.slots(),
        slots,
    );
    text
}

/// Adds a table with its title, or the reason why its rows are not known.
fn push_part<T>(
    text: &mut StyledText,
    title: &str,
    rows: Result<Vec<T>, String>,
    table: impl FnOnce(&[T]) -> TextTable,
) {
    let _ = match &rows {
        Err(why) => writeln!(text, "\n{title}: {why}"),
        Ok(rows) if rows.is_empty() => writeln!(text, "\n{title}: none"),
        Ok(_) => writeln!(text, "\n{title}:"),
    };
    if let Ok(rows) = rows.as_deref()
        && !rows.is_empty()
    {
        text.push_table(&table(rows));
    }
}

fn standbys(standbys: &[StandbyTexts]) -> TextTable {
    let row = |standby: &StandbyTexts| {
        let values = standby.columns().map(|(_, value)| value.text.clone());
        [standby.name.clone()].into_iter().chain(values).collect()
    };
    let head = [
        "STANDBY",
        "STATE",
        "COMMITS WAIT FOR IT",
        "NOT REPLAYED YET",
        "LAG",
    ];
    TextTable::new(&head, standbys.iter().map(row).collect())
}

fn slots(slots: &[SlotTexts]) -> TextTable {
    let row = |slot: &SlotTexts| {
        vec![
            slot.name.clone(),
            slot.database.clone().unwrap_or_default(),
            slot.kind.to_owned(),
            slot.in_use.to_owned(),
            slot.retained.text.clone(),
        ]
    };
    let head = ["SLOT", "DATABASE", "KIND", "IN USE", "RETAINED WAL"];
    TextTable::new(&head, slots.iter().map(row).collect())
}

//! Reads names from the controller, with a short description beside each.

use super::LIMIT;
use super::permitted::MigrationUse;
use super::typed::TypedLine;
use super::values::{NamedObject, ShardUse};
use crate::cli::client::Client;
use crate::cli::config::Config;
use crate::cli::error::CliError;
use crate::cli::out::escape_control;
use crate::dashboard::agents::is_connected;
use crate::store::{AgentRecord, MapVersionRecord, ShardRecord, TokenRecord};
use crate::view::{MigrationSummary, OperationView};
use clap_complete::CompletionCandidate;
use controller_client::ControllerClient;
use plans::key::Key;
use plans::key_set::KeySet;
use plans::shard_map::{KeyedBy, ShardMap, Strategy};

/// The number of operations that are completed: the newest, as in `list`.
const MAX_OPERATIONS: u32 = 200;

/// A name and its description.
type DescribedName = (String, String);

/// Returns the names of this kind. If they cannot be read in time, there are none.
pub(super) fn candidates(named: NamedObject) -> Vec<CompletionCandidate> {
    let names = TypedLine::of_process().and_then(|line| names(named, &line));
    let candidates = names.unwrap_or_default().into_iter().enumerate();
    candidates
        .map(|(order, (name, about))| {
            let about = escape_control(&about).replace(['\n', '\t'], " ");
            CompletionCandidate::new(escape_control(&name).into_owned())
                .help(Some(about.into()))
                .display_order(Some(order))
        })
        .collect()
}

fn names(named: NamedObject, line: &TypedLine) -> Option<Vec<DescribedName>> {
    if named == NamedObject::Context {
        return contexts();
    }
    let (controller, identity) = line.options()?.resolve_silently().ok()?;
    let http = ControllerClient::new(&identity).ok()?;
    let client = Client::new(&controller, http, None);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .ok()?;
    let read = async { tokio::time::timeout(LIMIT, read(named, line, &client)).await };
    let names = runtime.block_on(read);
    // A name that is still being resolved must not delay the shell.
    runtime.shutdown_background();
    names.ok()?.ok()
}

async fn read(
    named: NamedObject,
    line: &TypedLine,
    client: &Client,
) -> Result<Vec<DescribedName>, CliError> {
    match named {
        NamedObject::Migration(purpose) => {
            let path = "/api/v1/operations";
            let (all, _) = client.newest::<OperationView>(path, MAX_OPERATIONS).await?;
            Ok(migrations(&all, purpose))
        }
        NamedObject::Map | NamedObject::HashMap => {
            let maps: Vec<ShardMap> = client.get("/api/v1/maps").await?;
            let is_wanted =
                |map: &&ShardMap| named == NamedObject::Map || map.strategy == Strategy::Hash;
            Ok(maps.iter().filter(is_wanted).map(map_name).collect())
        }
        NamedObject::MapVersion => {
            let Some(map) = line.value(&["name"]) else {
                return Ok(Vec::new());
            };
            let path = format!("/api/v1/maps/{map}/versions");
            let versions: Vec<MapVersionRecord> = client.get(&path).await?;
            Ok(versions.iter().rev().map(version_number).collect())
        }
        NamedObject::MapPart => Ok(match typed_map(line, client).await? {
            Some(map) => map_parts(&map),
            None => Vec::new(),
        }),
        NamedObject::Shard(purpose) => shards(purpose, line, client).await,
        NamedObject::SilentAgent => {
            let agents: Vec<AgentRecord> = client.get("/api/v1/agents").await?;
            let now = chrono::Utc::now();
            let silent = agents.iter().filter(|agent| !is_connected(agent, now));
            Ok(silent.map(agent_name).collect())
        }
        NamedObject::Token => {
            let tokens: Vec<TokenRecord> = client.get("/api/v1/tokens").await?;
            let valid = tokens.iter().filter(|token| token.revoked_at.is_none());
            Ok(valid
                .map(|token| (token.name.clone(), token.role.to_string()))
                .collect())
        }
        // The config file has them, not the controller.
        NamedObject::Context => Ok(Vec::new()),
    }
}

fn contexts() -> Option<Vec<DescribedName>> {
    let contexts = Config::read().ok()?.contexts.into_iter();
    Some(
        contexts
            .map(|(name, context)| (name, context.controller))
            .collect(),
    )
}

/// Returns the map that the command line names.
async fn typed_map(line: &TypedLine, client: &Client) -> Result<Option<ShardMap>, CliError> {
    match line.value(&["map", "name"]) {
        Some(name) => client.get(&format!("/api/v1/maps/{name}")).await.map(Some),
        None => Ok(None),
    }
}

/// Returns the shards that the command may accept. Without a map in the line, each shard may be an owner.
async fn shards(
    purpose: ShardUse,
    line: &TypedLine,
    client: &Client,
) -> Result<Vec<DescribedName>, CliError> {
    let mut shards: Vec<ShardRecord> = client.get("/api/v1/shards").await?;
    match purpose {
        ShardUse::Any => {}
        ShardUse::Owner => {
            if let Some(map) = typed_map(line, client).await? {
                let owners = map.shards();
                shards.retain(|shard| owners.contains(&shard.name));
            }
        }
        ShardUse::Unused => {
            let maps: Vec<ShardMap> = client.get("/api/v1/maps").await?;
            let is_used =
                |shard: &ShardRecord| maps.iter().any(|m| m.shards().contains(&shard.name));
            shards.retain(|shard| !is_used(shard));
        }
    }
    Ok(shards.iter().map(shard_name).collect())
}

/// Returns the operations and migrations that the command may accept, newest first.
fn migrations(all: &[OperationView], purpose: MigrationUse) -> Vec<DescribedName> {
    let mut names = Vec::new();
    for operation in all {
        let moves = operation.moves.iter().map(|moved| &moved.migration);
        let permitted: Vec<&MigrationSummary> = moves.filter(|m| purpose.permits(m)).collect();
        let is_single = operation.moves.len() == 1;
        if !is_single && !permitted.is_empty() && purpose.takes_operations() {
            let about = format!(
                "{}, {} of map {}, {} moves",
                operation.state,
                operation.operation,
                operation.map,
                operation.moves.len()
            );
            names.push((operation.id.to_string(), about));
        }
        names.extend(permitted.into_iter().map(migration_id));
    }
    names
}

fn migration_id(m: &MigrationSummary) -> DescribedName {
    let about = format!(
        "{}, {} of map {}, {} -> {}",
        m.state, m.operation, m.map, m.source, m.target
    );
    (m.id.to_string(), about)
}

fn map_name(map: &ShardMap) -> DescribedName {
    let kind = match map.settings.keyed_by {
        KeyedBy::Column => map.strategy.to_string(),
        KeyedBy::Schema | KeyedBy::Group => map.settings.keyed_by.name().to_owned(),
    };
    let shards: Vec<String> = map.shards().iter().map(ToString::to_string).collect();
    let about = format!("{kind}, version {}, on {}", map.version, shards.join(", "));
    (map.name.to_string(), about)
}

fn version_number(version: &MapVersionRecord) -> DescribedName {
    let at = version.created_at.format("%Y-%m-%d %H:%M:%S UTC");
    (
        version.version.to_string(),
        format!("{at}, by {}", version.by),
    )
}

/// Returns the schemas or groups of a map that has these as keys. Keys of other maps are values of rows, and are not
/// printed.
fn map_parts(map: &ShardMap) -> Vec<DescribedName> {
    if map.settings.keyed_by == KeyedBy::Column {
        return Vec::new();
    }
    let kind = map.settings.keyed_by.name();
    let mut parts = Vec::new();
    for mapping in &map.mappings {
        let KeySet::List(keys) = &mapping.keys else {
            continue;
        };
        let about = format!("{kind} on {}", mapping.shard);
        let names = keys.iter().filter_map(|key| match key {
            Key::Text(name) => Some(name.clone()),
            Key::Int(_)
            | Key::Uuid(_)
            | Key::Bytes(_)
            | Key::Date(_)
            | Key::Timestamp(_)
            | Key::Row(_) => None,
        });
        parts.extend(names.map(|name| (name, about.clone())));
    }
    parts
}

fn shard_name(shard: &ShardRecord) -> DescribedName {
    let labels = shard.labels.iter();
    let labels = labels.map(|(label, value)| format!("{label}={value}"));
    let role = if shard.is_standby() {
        "standby"
    } else {
        "shard"
    };
    let parts = std::iter::once(format!("{role} {}", shard.number)).chain(labels);
    let parts: Vec<String> = parts.collect();
    (shard.name.to_string(), parts.join(", "))
}

fn agent_name(agent: &AgentRecord) -> DescribedName {
    let at = agent.last_seen.format("%Y-%m-%d %H:%M:%S UTC");
    (agent.name.to_string(), format!("silent since {at}"))
}

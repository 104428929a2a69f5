//! A write by each method of the store that writes.

use super::access::{session, token};
use super::answers::{order, response};
use super::conversions::{conversion, hashed};
use super::fleet::imbalance;
use super::{at, change, submit};
use crate::fixture::{keys, map, mapping};
use orchestrator::store::{
    AgentProcess, AuditRecord, CleanupRecord, ConversionRecord, HookCursor, NewShard,
    SettingsRecord, ShardUpdate, Store, StoreError,
};
use plans::fleet::StandbySlot;
use plans::id::{Epoch, MapVersion, MigrationId};
use plans::identity::DatabaseIdentity;
use plans::inspection::inventory::ObservedServer;
use plans::shard_map::{MapSettings, ShardMap};
use std::collections::BTreeMap;

/// Methods that write nothing, or the lease itself.
pub(super) const OTHERS: &[&str] = &[
    "incarnation",
    "ping",
    "schema",
    "campaign",
    "term",
    "step_down",
    "resign",
    "leader",
    "wait_for_remote_change",
    "shard",
    "shards",
    "standby_slots",
    "maps",
    "map",
    "map_at",
    "history",
    "shards_of_map",
    "settings",
    "conversions",
    "operation",
    "operations",
    "load",
    "unfinished",
    "list",
    "readings",
    "events",
    "hook_backlog",
    "cleanup",
    "agents",
    "audit",
    "servers",
    "imbalance",
    "tokens",
    "session",
];

/// The files that define the roles of the store.
const ROLES: [&str; 9] = [
    include_str!("../../src/store/mod.rs"),
    include_str!("../../src/store/leader.rs"),
    include_str!("../../src/store/fleet.rs"),
    include_str!("../../src/store/conversions.rs"),
    include_str!("../../src/store/imbalance.rs"),
    include_str!("../../src/store/migrations.rs"),
    include_str!("../../src/store/agents.rs"),
    include_str!("../../src/store/access.rs"),
    include_str!("../../src/store/keyed_command.rs"),
];

/// Every method of the store: those of the trait `Store` and of its roles, in their order.
pub(super) fn methods() -> Vec<&'static str> {
    let (mut methods, mut in_role) = (Vec::new(), false);
    for line in ROLES.iter().flat_map(|source| source.lines()) {
        if let Some(rest) = line.strip_prefix("pub trait ") {
            in_role = rest.split([':', ' ']).next().unwrap().ends_with("Store");
        } else if line == "}" {
            in_role = false;
        }
        if let Some(method) = line.strip_prefix("    fn ").filter(|_| in_role) {
            methods.push(method.split(['(', '<']).next().unwrap());
        }
    }
    assert!(methods.len() >= OTHERS.len() + 14, "{methods:?}");
    methods
}

/// A write by this method, each of which succeeds once for whoever leads.
pub(super) async fn write(store: &dyn Store, method: &str) -> Result<(), StoreError> {
    let id = MigrationId::from("m1");
    let record = [CleanupRecord {
        shard: "a".into(),
        kind: "slot".to_owned(),
        name: "s".to_owned(),
        policy: "always".to_owned(),
        done_at: None,
    }];
    match method {
        "submit" => submit(store, "m2", 2, (None, Some(3))).await.map(drop),
        "commit" => {
            let snapshot = store.load(&id).await?.unwrap();
            assert!(store.commit(&change(&snapshot)).await?);
            Ok(())
        }
        "seal" => {
            store.seal(&id).await?.release().await;
            Ok(())
        }
        "extend_leases" => {
            let owner = "x1".into();
            let beats = [super::beat(id.as_str())];
            store.extend_leases(&owner, at(9), &beats).await.map(drop)
        }
        "add_hook" => store.add_hook("log", at(1)).await,
        "advance_hook" => {
            let cursor = HookCursor {
                migration: id,
                seq: 1,
                revision: 1,
            };
            store.advance_hook("log", &cursor).await
        }
        "add_cleanup" => store.add_cleanup(&id, &record).await,
        "finish_cleanup" => store.finish_cleanup(&id, &record, at(2)).await,
        "note_agent" => {
            let process = AgentProcess::of(&"x".into(), &"x1".into());
            store.note_agent(&process, at(1), None).await.map(drop)
        }
        "remove_agent" => store.remove_agent(&"x".into(), at(2)).await,
        "add_imbalance" => store.add_imbalance(&imbalance(0, "size", 1.5)).await,
        "add_audit" => store.add_audit(&audited("done")).await,
        "add_token" => store.add_token(&token("ada")).await,
        "revoke_token" => store.revoke_token("ada", "op", at(2)).await.map(drop),
        "add_session" => store.add_session(&session(1)).await,
        "begin_command" => store.begin_command(&order(1, 1)).await.map(drop),
        "store_response" => store.store_response(order(1, 1).key, &response()).await,
        "forget_command" => store.forget_command(order(1, 1).key).await,
        "end_session" => store.end_session(session(1).digest).await.map(drop),
        other => write_fleet(store, other).await,
    }
}

async fn write_fleet(store: &dyn Store, method: &str) -> Result<(), StoreError> {
    let map = map(store.incarnation());
    match method {
        "add_shard" => {
            let new = NewShard::plain("spare".into(), "host=x".to_owned());
            store.add_shard(&new).await.map(drop)
        }
        "update_shard" => {
            let update = ShardUpdate {
                name: "a".into(),
                labels: BTreeMap::new(),
                capacity: 7,
                space: None,
                dsn: None,
            };
            store.update_shard(&update).await.map(drop)
        }
        "remove_shard" => store.remove_shard(&"spare".into()).await,
        "add_standby_slot" => store.add_standby_slot(&standby_slot("s1")).await,
        "remove_standby_slot" => store.remove_standby_slot("s1").await,
        "put_server" => {
            let seen = ObservedServer {
                number: 1,
                server: DatabaseIdentity::default(),
                flushed: 0,
                missing: 0,
            };
            store.put_server(&seen).await
        }
        other => write_map(store, other, map).await,
    }
}

async fn write_map(store: &dyn Store, method: &str, map: ShardMap) -> Result<(), StoreError> {
    match method {
        "create_map" => {
            let other = ShardMap {
                name: "other".into(),
                ..map
            };
            store.create_map(&other, "op").await.map(drop)
        }
        "remove_map" => store.remove_map(&"other".into(), "op").await,
        "put_version" => {
            let (low, high) = (keys(None, Some(3)), keys(Some(3), None));
            let next = ShardMap {
                version: MapVersion(2),
                mappings: vec![mapping(low, "a"), mapping(high, "a")],
                ..map
            };
            store.put_version(&next, "op").await
        }
        "put_proven_version" => {
            let next = ShardMap {
                name: "other".into(),
                version: MapVersion(2),
                mappings: vec![mapping(keys(None, None), "b")],
                ..map
            };
            store.put_proven_version(&next, "op").await
        }
        "begin_conversion" => {
            let converted = ShardMap {
                name: "converted".into(),
                ..map
            };
            store.create_map(&converted, "op").await?;
            store
                .begin_conversion(&conversion("c1", "converted"), 1)
                .await
        }
        "take_conversion" => store.take_conversion(&"c1".into()).await.map(drop),
        "put_converted" => {
            let taken = ConversionRecord {
                epoch: Epoch(2),
                ..conversion("c1", "converted")
            };
            store
                .put_converted(&taken, &hashed(store, "converted"))
                .await
        }
        "finish_conversion" => {
            let taken = conversion("c1", "converted");
            store.finish_conversion(&taken, at(2)).await
        }
        "put_settings" => {
            let new = SettingsRecord {
                map: map.name,
                revision: 2,
                settings: MapSettings::default(),
                by: "op".to_owned(),
                created_at: at(1),
            };
            store.put_settings(&new).await
        }
        other => {
            panic!("store method {other} is new: say here how it writes, or that it does not")
        }
    }
}

fn standby_slot(slot: &str) -> StandbySlot {
    StandbySlot {
        slot: slot.to_owned(),
        standby: "b".into(),
        source: "a".into(),
    }
}

pub(super) fn audited(action: &str) -> AuditRecord {
    AuditRecord {
        at: at(1),
        actor: "op".to_owned(),
        action: action.to_owned(),
        object: "shard a".to_owned(),
        data: serde_json::json!({}),
    }
}

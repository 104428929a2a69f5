//! What Shardwright keeps on a shard: registers and guards of migrations, released keys, and every other object.

use askama::Template;
use plans::inspection::inventory::{CLOSED, Inventory, Object, ObjectOwner, ObservedMove};

/// The maximum number of listed objects.
const MAX_OBJECTS: usize = 100;

/// The objects that the last successful probe found.
#[derive(Template)]
#[template(path = "shards/objects.html")]
pub(super) struct ShardObjects {
    is_probed: bool,
    moves: Vec<ShardMoveRow>,
    released: Vec<ShardReleasedRow>,
    objects: Vec<ShardObjectRow>,
    /// The number of objects that are not listed.
    hidden: usize,
}

/// A migration that the shard has recorded.
struct ShardMoveRow {
    migration: String,
    role: String,
    map: String,
    register: &'static str,
    guards: u32,
    owns: bool,
}

/// Keys that the shard has released and refuses.
struct ShardReleasedRow {
    map: String,
    keys: String,
    version: i64,
    guards: u32,
}

struct ShardObjectRow {
    kind: String,
    name: String,
    on: String,
    /// The migration to which it belongs.
    migration: Option<String>,
    owner: &'static str,
}

impl ShardObjects {
    /// Lists the objects of an inventory.
    pub(super) fn new(inventory: Option<Inventory>) -> Self {
        let is_probed = inventory.is_some();
        let (moves, released, objects) = inventory.map_or_else(Default::default, |found| {
            (found.moves, found.released_keys, found.objects)
        });
        let released = released.into_iter().map(|keys| ShardReleasedRow {
            map: keys.map.to_string(),
            keys: keys.keys.to_string(),
            version: keys.version,
            guards: keys.guards,
        });
        Self {
            is_probed,
            moves: moves.iter().map(move_row).collect(),
            released: released.collect(),
            hidden: objects.len().saturating_sub(MAX_OBJECTS),
            objects: objects
                .into_iter()
                .take(MAX_OBJECTS)
                .map(object_row)
                .collect(),
        }
    }
}

fn move_row(observed: &ObservedMove) -> ShardMoveRow {
    ShardMoveRow {
        migration: observed.migration.to_string(),
        role: observed.role.clone(),
        map: observed.map.to_string(),
        register: register_text(observed.register),
        guards: observed.guards,
        owns: observed.owns,
    }
}

/// Describes the value of a register: the sequence that opens and closes the keys of a migration.
fn register_text(value: Option<i64>) -> &'static str {
    match value {
        None => "none",
        Some(CLOSED) => "closed",
        Some(0) => "open",
        Some(_) => "closed for a limited time",
    }
}

fn object_row(object: Object) -> ShardObjectRow {
    let (migration, owner) = match object.whose {
        ObjectOwner::Migration(id) => (Some(id.to_string()), ""),
        ObjectOwner::ReleasedKeys => (None, "guards released keys"),
        ObjectOwner::Probe => (None, "left by an inspection"),
        ObjectOwner::LiveProbe => (None, "a running inspection"),
        ObjectOwner::Standby { in_use: true } => (None, "a standby"),
        ObjectOwner::Standby { in_use: false } => (None, "a standby that is not connected"),
        ObjectOwner::Shared => (None, "shared"),
    };
    ShardObjectRow {
        kind: object.kind.name().replace('_', " "),
        name: object.name,
        on: object.on.unwrap_or_default(),
        migration,
        owner,
    }
}

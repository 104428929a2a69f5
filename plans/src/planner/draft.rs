//! The moves that an operation wants, before they are checked and get their ids and dependencies. The other files of
//! the planner call their [`PlannerInput`] `input`.

use super::{MoveOutline, Outline};
use crate::fleet::ShardInfo;
use crate::id::ShardName;
use crate::inspection::Load;
use crate::key_set::KeySet;
use crate::nearest::nearest_name;
use crate::plan::{After, Until};
use crate::request::{Mode, Options};
use crate::shard_map::ShardMap;
use std::cell::LazyCell;

/// The input of every operation.
#[derive(Clone, Copy)]
pub(super) struct PlannerInput<'a> {
    pub(super) map: &'a ShardMap,
    pub(super) fleet: &'a [ShardInfo],
    pub(super) loads: &'a [Load],
    pub(super) options: &'a Options,
}

impl<'a> PlannerInput<'a> {
    pub(super) fn shard(&self, name: &ShardName) -> Option<&'a ShardInfo> {
        self.fleet.iter().find(|shard| &shard.name == name)
    }

    pub(super) fn load(&self, shard: &ShardName) -> Option<&'a Load> {
        self.loads.iter().find(|load| &load.shard == shard)
    }

    /// Returns the text of the problem that a shard is not registered.
    pub(super) fn unknown_shard_problem(&self, shard: &ShardName) -> String {
        let known = self.fleet.iter().map(|known| known.name.as_str());
        match nearest_name(shard.as_str(), known) {
            Some(meant) => format!("there is no shard {shard}; did you mean {meant}?"),
            None => format!("there is no shard {shard}; `shardwright shard add` registers it"),
        }
    }

    /// Returns the text of the problem that a shard owns no keys, or that it is not registered.
    pub(super) fn no_keys_problem(&self, shard: &ShardName) -> String {
        if self.shard(shard).is_none()
            && !self
                .map
                .mappings
                .iter()
                .any(|mapping| &mapping.shard == shard)
        {
            return self.unknown_shard_problem(shard);
        }
        format!(
            "shard {shard} owns no keys in map {} version {}",
            self.map.name, self.map.version
        )
    }
}

/// A move without its id and without the dependency on the move that creates its target's tables.
#[derive(Debug)]
pub(super) struct WantedMove {
    pub(super) source: ShardName,
    pub(super) target: ShardName,
    pub(super) keys: KeySet,
    pub(super) mode: Mode,
    pub(super) why: String,
    /// The indexes of earlier wanted moves whose old rows must be removed first.
    pub(super) after: Vec<usize>,
    pub(super) drop_tables: bool,
}

/// The wanted moves, with notes and problems.
#[derive(Debug, Default)]
pub(super) struct PlanDraft {
    /// The wanted moves, in the order in which the plan lists them.
    pub(super) moves: Vec<WantedMove>,
    pub(super) notes: Vec<String>,
    pub(super) problems: Vec<String>,
}

impl PlanDraft {
    /// Creates a draft that is refused.
    pub(super) fn refused(problem: String) -> Self {
        Self {
            problems: vec![problem],
            ..Self::default()
        }
    }

    /// Returns the moves with their ids and dependencies.
    pub(super) fn outline(self, map: &ShardMap) -> Outline {
        let mut moves: Vec<MoveOutline> = Vec::with_capacity(self.moves.len());
        let owners = LazyCell::new(|| map.shards());
        for (index, wanted) in self.moves.into_iter().enumerate() {
            let mut after: Vec<After> = wanted
                .after
                .iter()
                .map(|earlier| dependency(&move_id(*earlier), Until::Finished))
                .collect();
            // The first move to a new shard creates its tables, so other moves to it cannot run at the same time.
            if let Some(other) = moves.iter().rev().find(|m| m.target == wanted.target)
                && after.iter().all(|earlier| earlier.id != other.id)
                && owners.binary_search(&wanted.target).is_err()
            {
                after.push(dependency(&other.id, Until::Flipped));
            }
            moves.push(MoveOutline {
                id: move_id(index),
                source: wanted.source,
                target: wanted.target,
                keys: wanted.keys,
                mode: wanted.mode,
                after,
                why: wanted.why,
                drop_tables: wanted.drop_tables,
            });
        }
        Outline {
            moves,
            notes: self.notes,
        }
    }
}

/// Returns the id of the move at `index`.
pub(super) fn move_id(index: usize) -> String {
    format!("m{}", index + 1)
}

/// Returns the dependency on the move `id`.
fn dependency(id: &str, until: Until) -> After {
    After {
        id: id.to_owned(),
        until,
    }
}

//! Decides about the register, the guards and the rows of one migration on one shard.

use super::super::super::inventory::{
    About, CLOSED, Inventory, ObjectKind, ObjectOwner, ObservedMove,
};
use super::super::{Guards, SweepInput, SweepVerdict};
use super::{never_open, owned_keys_on};
use crate::id::{MigrationId, ShardName};

/// The decision about one migration's register, guards and rows.
pub(super) struct MoveVerdict {
    pub(super) verdict: SweepVerdict,
    pub(super) why: String,
    pub(super) guards: Option<Guards>,
    /// True if the decision also applies to objects that refuse no writes: slots, publications, sessions.
    pub(super) for_all_objects: bool,
}

/// Returns the decision to keep the objects if another store started the migration and an agent works on it: the
/// operator may have run the command at the wrong controller.
pub(super) fn used_by_other_store(
    input: &SweepInput,
    inventory: &Inventory,
    own: Option<&ObservedMove>,
    id: &MigrationId,
) -> Option<MoveVerdict> {
    let about = own.and_then(|own| own.about.as_ref())?;
    let is_of_other_store = about.incarnation != input.incarnation;
    let has_agent_session = inventory.objects.iter().any(|object| {
        object.kind == ObjectKind::Session
            && object.whose == ObjectOwner::Migration(id.clone())
            && !object.name.contains("/holder/")
    });
    (is_of_other_store && has_agent_session).then(|| MoveVerdict {
        verdict: SweepVerdict::Keep,
        why: format!(
            "another control store ({}) started the migration, and an agent works on it now; if that store is lost, end the agent and repeat the cleanup",
            about.incarnation
        ),
        guards: None,
        for_all_objects: true,
    })
}

/// Leaves the decision to an operator if another store started the migration and this store does not have its map: that
/// store may still need the objects, even if no agent works on the migration now.
pub(super) fn started_by_other_store(
    input: &SweepInput,
    own: Option<&ObservedMove>,
) -> Option<MoveVerdict> {
    let own = own?;
    let about = own.about.as_ref()?;
    let mut maps = input.maps.iter();
    let known = maps.any(|map| map.name == own.map) || input.owners.contains_key(&own.map);
    (about.incarnation != input.incarnation && !known).then(|| MoveVerdict {
        for_all_objects: true,
        ..MoveVerdict::decide(format!(
            "another control store ({}) started the migration, of map {}, which this store does not have; if that store is lost, name the owner of the keys: --owner {}={} or --owner {}={}",
            about.incarnation, own.map, own.map, about.source, own.map, about.target
        ))
    })
}

impl MoveVerdict {
    pub(super) fn remove(why: &str, guards: Guards) -> Self {
        Self {
            verdict: SweepVerdict::Remove,
            why: why.to_owned(),
            guards: Some(guards),
            for_all_objects: false,
        }
    }

    pub(super) fn decide(why: String) -> Self {
        Self {
            verdict: SweepVerdict::Decide,
            why,
            guards: None,
            for_all_objects: false,
        }
    }
}

impl Guards {
    /// Creates the decision to remove all objects of the migration. No keys stay refused.
    pub(super) fn of(own: &ObservedMove) -> Self {
        let about = own.about.as_ref();
        Self {
            map: own.map.clone(),
            version: 0,
            refuse: None,
            keys: about.map(|about| about.keys.clone()),
            tables: about.map_or_else(Vec::new, |about| about.tables.clone()),
            copied: false,
            left_too: Vec::new(),
        }
    }
}

pub(super) fn decide_move(
    input: &SweepInput,
    inventories: &[Inventory],
    inventory: &Inventory,
    own: Option<&ObservedMove>,
) -> MoveVerdict {
    let Some(own) = own else {
        return MoveVerdict::decide(
            "shardwright.move has no row for its migration: find out which keys it refuses, and drop it yourself if this shard owns these keys".to_owned(),
        );
    };
    if own.register != Some(CLOSED) {
        return decide_open(input, inventory, own, Guards::of(own));
    }
    let Some(about) = &own.about else {
        return MoveVerdict::decide(format!(
            "it refuses keys of map {}, but the shard has no record of which keys: drop it yourself if this shard owns them",
            own.map
        ));
    };
    let Some(owned_keys) = owned_keys_on(input, &own.map, &inventory.shard, &about.keys) else {
        return MoveVerdict::decide(format!(
            "it refuses {} of map {}, which this store does not have; name the owner of the keys: --owner {}={} or --owner {}={}",
            about.keys, own.map, own.map, about.source, own.map, about.target
        ));
    };
    if own.role == "target" && own.flipped.is_none() {
        return never_open::decide(input, inventories, inventory, (own, about), &owned_keys);
    }
    let elsewhere = about.keys.minus(&owned_keys);
    if !elsewhere.is_empty() {
        return MoveVerdict {
            verdict: SweepVerdict::Close,
            why: format!(
                "another shard owns {elsewhere}: this shard refuses them permanently; `map check` finds their rows"
            ),
            guards: Some(Guards {
                refuse: Some(elsewhere),
                version: own.flipped.unwrap_or(own.map_version),
                ..Guards::of(own)
            }),
            for_all_objects: false,
        };
    }
    if !input.owners.contains_key(&own.map)
        && let Some(doubt) = reason_for_doubt(inventories, inventory, own, about)
    {
        return MoveVerdict::decide(format!(
            "by the map this shard owns {}, but {doubt}; name the owner of the keys: --owner {}=SHARD",
            about.keys, own.map
        ));
    }
    MoveVerdict::remove(
        "this shard owns the keys: it accepts writes to them again",
        Guards::of(own),
    )
}

/// Returns a reason why the map may be older than the fleet.
fn reason_for_doubt(
    inventories: &[Inventory],
    inventory: &Inventory,
    own: &ObservedMove,
    about: &About,
) -> Option<String> {
    if let Some(rival) = rival_owner(inventories, inventory, own) {
        return Some(format!(
            "shard {rival} has recorded that it owns them, and accepts writes to them"
        ));
    }
    let mut ends = [&about.source, &about.target].into_iter();
    let not_observed = ends.find(|end| !inventories.iter().any(|other| &other.shard == *end))?;
    Some(format!(
        "shard {not_observed}, which may own them, was not observed"
    ))
}

/// Returns another shard that accepts writes to the keys, and that has recorded the same flip as this shard or a later
/// one.
fn rival_owner<'a>(
    inventories: &'a [Inventory],
    inventory: &Inventory,
    own: &ObservedMove,
) -> Option<&'a ShardName> {
    let mut others = inventories
        .iter()
        .filter(|other| other.shard != inventory.shard);
    let is_open_since_flip = |row: &ObservedMove| {
        row.migration == own.migration
            && row.flipped.is_some()
            && row.flipped >= own.flipped
            && row.register != Some(CLOSED)
    };
    let rival = others.find(|other| other.moves.iter().any(is_open_since_flip))?;
    Some(&rival.shard)
}

/// Decides about a shard that accepts writes to the keys. It continues to accept them, unless another shard is known to
/// own them.
fn decide_open(
    input: &SweepInput,
    inventory: &Inventory,
    own: &ObservedMove,
    guards: Guards,
) -> MoveVerdict {
    let recorded = own.about.as_ref().zip(own.flipped);
    let owned_keys = recorded
        .and_then(|(about, _)| owned_keys_on(input, &own.map, &inventory.shard, &about.keys));
    let (Some((about, version)), Some(owned_keys)) = (recorded, owned_keys) else {
        return MoveVerdict {
            verdict: SweepVerdict::Remove,
            why: "it refuses no writes: the register of this shard is open".to_owned(),
            guards: Some(guards),
            for_all_objects: false,
        };
    };
    let elsewhere = about.keys.minus(&owned_keys);
    if elsewhere.is_empty() {
        return MoveVerdict {
            verdict: SweepVerdict::Remove,
            why: "this shard owns the keys, and accepts writes to them".to_owned(),
            guards: Some(guards),
            for_all_objects: false,
        };
    }
    if input.owners.contains_key(&own.map) {
        return MoveVerdict {
            verdict: SweepVerdict::Close,
            why: format!(
                "another shard owns {elsewhere}, by your option --owner: this shard refuses them permanently"
            ),
            guards: Some(Guards {
                refuse: Some(elsewhere),
                version,
                ..guards
            }),
            for_all_objects: false,
        };
    }
    MoveVerdict {
        verdict: SweepVerdict::Decide,
        why: format!(
            "this shard accepts writes to {elsewhere} since version {version}, but by the map another shard owns them: run `shardwright reconcile`, or name the owner of the keys: --owner {}=SHARD",
            own.map
        ),
        guards: None,
        for_all_objects: false,
    }
}

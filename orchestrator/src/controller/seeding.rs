//! Moves whose target is a standby of the source, which the agent promotes.
//!
//! A shard is registered as a standby until the step `promote` of a migration is done. Then the result of the step is
//! its registered identity. Until then the objects on the shard are copies of its primary's, and prove nothing.

use super::draft::MigrationDraft;
use super::shards::invalid_error;
use super::{ControlError, Controller};
use crate::store::{Migration, ShardRecord, Snapshot};
use plans::failure::{Failure, RetryClass};
use plans::fleet::ShardRef;
use plans::id::{MapName, ShardName};
use plans::identity::DatabaseIdentity;
use plans::inspection::inventory::{Inventory, ObservedServer};
use plans::key_set::KeySet;
use plans::planner::PlanError;
use plans::request::Seed;
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState;
use plans::step::StepKind;
use plans::step::promote::Promoted;

/// A move that is planned or submitted: its source and its target.
pub(super) type SourceAndTarget<'a> = (&'a ShardName, &'a ShardName);

impl Controller {
    /// Returns the target of a migration. The step `promote` has made a standby a database of its own; this is recorded
    /// for the shard if it is not recorded yet.
    pub(super) async fn target_of(&self, snapshot: &Snapshot) -> Result<ShardRef, ControlError> {
        let target = self.shard(&snapshot.migration.plan.moving.target).await?;
        let reference = target.reference();
        let Some(promoted) = promoted(snapshot) else {
            return Ok(reference);
        };
        self.record_promotion(&target, &promoted).await?;
        // An operator has accepted the server that replaced the promoted one.
        let is_accepted = |known: &DatabaseIdentity| promoted.target.was_promoted_to(known);
        if target.identity.as_ref().is_some_and(is_accepted) {
            return Ok(reference);
        }
        Ok(ShardRef {
            identity: Some(promoted.target),
            ..reference
        })
    }

    /// Records the identity of a promoted standby, unless the shard is registered as a database of its own already.
    async fn record_promotion(
        &self,
        shard: &ShardRecord,
        promoted: &Promoted,
    ) -> Result<(), ControlError> {
        if shard.identity.is_some() && !shard.is_standby() {
            return Ok(());
        }
        let observed = ObservedServer {
            number: shard.number,
            server: promoted.target.clone(),
            flushed: 0,
            missing: 0,
        };
        self.inner.store.put_server(&observed).await?;
        tracing::info!(shard = %shard.name, identity = %promoted.target, "the promoted standby is a shard of its own");
        Ok(())
    }

    /// Records what a probe of a shard shows that is a standby, or was one when it was registered.
    pub(super) async fn note_standby(
        &self,
        shard: &ShardRecord,
        inventory: &Inventory,
    ) -> Result<(), ControlError> {
        if inventory.server.standby {
            // A probe that changes nothing writes nothing: it may have begun before a promotion that is recorded now.
            return match shard.identity.as_ref() == Some(&inventory.server) {
                true => Ok(()),
                false => self.note_server(shard, inventory).await,
            };
        }
        let unfinished = self.inner.store.unfinished().await?;
        let promotions = unfinished
            .iter()
            .filter(|snapshot| snapshot.migration.plan.moving.target == shard.name)
            .filter_map(|snapshot| promoted(snapshot));
        for promoted in promotions {
            if promoted.target.accepts(&inventory.server) {
                self.record_promotion(shard, &promoted).await?;
            }
        }
        Ok(())
    }

    /// Returns the keys of the map that the migration does not move and that its target does not own, if its target is a
    /// standby.
    pub(super) async fn surplus_keys(
        &self,
        own: &Migration,
    ) -> Result<Option<KeySet>, ControlError> {
        if own.plan.options.seed == Seed::Copy {
            return Ok(None);
        }
        let name = &own.plan.map;
        let map = self.inner.store.map(name).await?;
        let map = map.ok_or_else(|| ControlError::missing("map", name.as_str()))?;
        let all = map
            .mappings
            .iter()
            .fold(map.empty_key_set(), |all, mapping| all.union(&mapping.keys));
        let moving = &own.plan.moving;
        let owned = map.owned_by(&moving.target);
        Ok(Some(all.minus(&moving.keys).minus(&owned)))
    }

    /// Refuses a move into a shard that an unfinished migration seeds, and a seeded move whose source owns keys of
    /// other maps or whose target another migration uses.
    pub(super) async fn refuse_unfit_seeding(
        &self,
        map: &MapName,
        seed: Seed,
        moves: &[SourceAndTarget<'_>],
    ) -> Result<(), ControlError> {
        let mut problems = Vec::new();
        if seed == Seed::Standby {
            let maps = self.inner.store.maps().await?;
            for other in maps.iter().filter(|other| &other.name != map) {
                let owners = moves
                    .iter()
                    .filter(|(source, _)| !other.owned_by(source).is_empty());
                problems.extend(owners.map(|(source, target)| {
                    let other = &other.name;
                    format!(
                        "shard {source} owns keys of map {other} too: its standby has the tables of map {other}, and no guard would refuse writes to them on shard {target}; use `seed: copy`"
                    )
                }));
            }
        }
        let unfinished = self.inner.store.unfinished().await?;
        for other in unfinished.iter().map(|snapshot| &snapshot.migration) {
            let is_seeded = other.plan.options.seed == Seed::Standby;
            let target = &other.plan.moving.target;
            if (is_seeded || seed == Seed::Standby) && moves.iter().any(|(_, own)| own == &target) {
                problems.push(format!(
                    "shard {target} is the target of migration {}{}; wait until it ends, or use another shard",
                    other.id,
                    match is_seeded {
                        true => ", which promotes it as a standby",
                        false => "",
                    }
                ));
            }
        }
        problems.sort();
        problems.dedup();
        match problems.is_empty() {
            true => Ok(()),
            false => Err(PlanError::Unfit { problems }.into()),
        }
    }
}

/// Returns whether the objects on the shard are copies of its primary's: it is a standby, or was registered as one and
/// no result of a step `promote` is recorded for it.
pub(super) fn is_copy(shard: &ShardRecord, inventory: &Inventory) -> bool {
    shard.is_standby() || inventory.server.standby
}

/// Returns an error if the operator accepts the promoted server of a shard that is registered as a standby: the server
/// has the objects and the id of its primary.
pub(super) fn check_acceptable(
    shard: &ShardRecord,
    inventory: &Inventory,
) -> Result<(), ControlError> {
    if !shard.is_standby() || inventory.server.standby {
        return Ok(());
    }
    let name = &shard.name;
    Err(invalid_error(&format!(
        "shard {name} is registered as a standby and was promoted, so it has copies of its primary's objects: create the standby again with pg_rewind or pg_basebackup"
    )))
}

/// Returns the result of the step `promote`, if it is done.
pub(super) fn promoted(snapshot: &Snapshot) -> Option<Promoted> {
    let output = snapshot.step_of(StepKind::Promote)?.output.clone()?;
    serde_json::from_value(output).ok()
}

/// Returns whether the failure shows that changes before the flip are lost, in a migration without a step that copies
/// the rows again.
pub(super) fn has_lost_changes(draft: &MigrationDraft, failure: &Failure) -> bool {
    let m = &draft.snapshot().migration;
    m.plan.options.seed == Seed::Standby
        && m.state != MigrationState::Unwinding
        && matches!(m.ownership, Ownership::Ready | Ownership::Fencing)
        && failure.loses_changes()
}

/// Returns the failure of a migration that cannot continue without a new copy of the rows, and has no step that copies
/// them.
pub(super) fn without_copy(draft: &MigrationDraft, failure: &Failure) -> Failure {
    let promote = draft.snapshot().step_of(StepKind::Promote);
    let may_be_promoted = promote.is_some_and(|step| step.started_at.is_some());
    let hint = match may_be_promoted {
        true => {
            "`abort` the migration, create the standby again with pg_rewind or pg_basebackup, and plan again"
        }
        false => "`abort` the migration, and plan again",
    };
    Failure {
        retry: RetryClass::None,
        hint: Some(hint.to_owned()),
        ..failure.clone()
    }
}

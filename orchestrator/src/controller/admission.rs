//! Admission of plans: the controller compares a plan again with the map and the shards, and then creates the
//! migrations of all its moves, or none of them.

use super::planning::SurveyScope;
use super::{ControlError, Controller, clock};
use crate::store::{NewOperation, ShardRecord, Snapshot, StoreError};
use futures::stream::{StreamExt, TryStreamExt};
use plans::id::{MapName, MapVersion, MigrationId};
use plans::plan::{Plan, PlannedMove};
use plans::shard_map::{MapSettings, RuleViolation, ShardMap};
use rand::Rng;
use serde_json::json;

impl Controller {
    /// Submits a plan, if what the plan was computed from has not changed. With `queue` the controller also accepts
    /// keys that other, unfinished migrations are moving; the new migrations wait for these.
    ///
    /// Returns the created migrations in the order of the plan's moves.
    ///
    /// # Errors
    /// [`ControlError::Stale`] if the map or the schema has changed since planning, [`ControlError::RulesBroken`] if
    /// the plan breaks a rule of the map and gives no reason for that, or [`StoreError::KeysMoving`], which names the
    /// migration that is moving the same keys.
    pub async fn submit(
        &self,
        text: &str,
        queue: bool,
        actor: &str,
    ) -> Result<Vec<Snapshot>, ControlError> {
        let plan = Plan::parse(text)?;
        self.check_approvals(&plan)?;
        let (map_version, broken) = self.check_current(&plan, queue).await?;
        let reason = plan.options.override_rules.clone();
        let new = NewOperation {
            id: new_id(),
            plan,
            map_version,
            by: actor.to_owned(),
            at: clock(),
            queue,
            override_reason: reason.filter(|_| !broken.is_empty()),
        };
        let submitted = self.inner.store.submit(&new).await;
        let snapshots = submitted.map_err(|error| {
            if let StoreError::MapVersion {
                map,
                current,
                expected,
            } = &error
            {
                return stale_error(version_changed(map, *current, *expected));
            }
            error.into()
        })?;
        if let Some(reason) = &new.override_reason {
            let broken: Vec<String> = broken.iter().map(ToString::to_string).collect();
            let data = json!({ "operation": new.id, "reason": reason, "broken": broken });
            let object = format!("map {}", new.plan.map);
            self.audit(actor, "rules.overridden", object, data).await?;
        }
        self.announce();
        tracing::info!(operation = %new.id, moves = snapshots.len(), actor, "submitted");
        Ok(snapshots)
    }

    /// Refuses a plan with keys that an unfinished migration is moving or that another shard owns now, a plan for
    /// another control store, and a plan for tables whose schema has changed. Returns the version of the map that the
    /// plan was compared with, and the rules that the plan breaks although it gives a reason.
    ///
    /// If newer map versions changed only the owner of other keys, the plan is still accepted.
    async fn check_current(
        &self,
        plan: &Plan,
        queue: bool,
    ) -> Result<(MapVersion, Vec<RuleViolation>), ControlError> {
        let store = &self.inner.store;
        let unfinished = store.unfinished().await?;
        let mut others = unfinished.iter().map(|snapshot| &snapshot.migration);
        let moves_same_keys = |other: &&crate::store::Migration| {
            let mut moves = plan.moves.iter();
            moves.any(|planned| other.moves_any_of(&plan.map, &planned.moving.keys))
        };
        if let Some(other) = others.find(moves_same_keys).filter(|_| !queue) {
            let migration = other.id.clone();
            return Err(StoreError::KeysMoving { migration }.into());
        }
        let map = self.map(&plan.map).await?;
        let mut changed = Vec::new();
        if plan.incarnation != store.incarnation() {
            changed.push(format!(
                "the plan was made for the control store {}, and this is {}",
                plan.incarnation,
                store.incarnation()
            ));
        }
        let owns_keys = |planned: &PlannedMove| {
            let moving = &planned.moving;
            map.owned_by(&moving.source).covers(&moving.keys)
        };
        // A map can have another number of virtual shards since, also for a plan that waits in the queue.
        let names_keys = |planned: &PlannedMove| map.accepted(planned.moving.keys.clone()).is_ok();
        let is_expressible = plan.moves.iter().all(names_keys);
        let is_same = map.version == plan.map_version;
        if !is_expressible || !is_same && !queue && !plan.moves.iter().all(owns_keys) {
            changed.push(version_changed(
                &plan.map,
                map.version.0,
                plan.map_version.0,
            ));
        }
        changed.extend(changed_groups(plan, &map));
        if !changed.is_empty() {
            return Err(ControlError::Stale { changed });
        }
        let moves = plan
            .moves
            .iter()
            .map(|planned| (&planned.moving.source, &planned.moving.target));
        let moves: Vec<_> = moves.collect();
        self.refuse_unfit_seeding(&plan.map, plan.options.seed, &moves)
            .await?;
        let shards = store.shards().await?;
        let broken = broken_rules(plan, &map, &shards);
        if !broken.is_empty() && plan.options.override_rules.is_none() {
            return Err(ControlError::RulesBroken { broken });
        }
        self.check_schemas(plan, &map, &shards).await?;
        Ok((map.version, broken))
    }

    /// Surveys each pair of shards of the plan again, and refuses the plan if the definitions of the tables have
    /// changed.
    async fn check_schemas(
        &self,
        plan: &Plan,
        map: &ShardMap,
        shards: &[ShardRecord],
    ) -> Result<(), ControlError> {
        let surveys = distinct_surveys(&plan.moves)
            .into_iter()
            .map(|planned| async move {
                let settings = settings_of(plan, planned, map);
                let scope = SurveyScope {
                    source: &planned.moving.source,
                    target: &planned.moving.target,
                    keys: &planned.moving.keys,
                    mode: planned.mode,
                    seed: plan.options.seed,
                    again: true,
                    trial: false,
                };
                let survey = self.survey(scope, settings, map, shards).await?;
                Ok::<_, ControlError>((planned, survey))
            });
        let surveys = futures::stream::iter(surveys.collect::<Vec<_>>());
        let surveyed: Vec<_> = surveys
            .buffered(super::planning::AT_ONCE)
            .try_collect()
            .await?;
        let changed: Vec<String> = surveyed
            .into_iter()
            .filter(|(planned, survey)| survey.schema_fingerprint != planned.schema_fingerprint)
            .map(|(planned, survey)| {
                format!(
                    "the tables on shard {} were changed: their fingerprint was {}, and is now {}",
                    planned.moving.source, planned.schema_fingerprint, survey.schema_fingerprint
                )
            })
            .collect();
        match changed.is_empty() {
            true => Ok(()),
            false => Err(ControlError::Stale { changed }),
        }
    }
}

/// Returns the first move for each combination of source, target and mode.
fn distinct_surveys(moves: &[PlannedMove]) -> Vec<&PlannedMove> {
    let is_same_pair = |a: &PlannedMove, b: &PlannedMove| {
        let has_whole = a
            .moving
            .tables
            .iter()
            .any(|table| table.whole_key().is_some());
        // Each move of whole tables has other tables.
        !has_whole
            && a.moving.source == b.moving.source
            && a.moving.target == b.moving.target
            && a.mode == b.mode
    };
    let first = |index: &usize| {
        moves[..*index]
            .iter()
            .all(|before| !is_same_pair(before, &moves[*index]))
    };
    (0..moves.len())
        .filter(first)
        .map(|index| &moves[index])
        .collect()
}

/// Returns the groups that lack a table which the plan moves with them. A table that a group has got since changes the
/// fingerprint of the survey.
fn changed_groups(plan: &Plan, map: &ShardMap) -> Vec<String> {
    let moves = plan.moves.iter();
    let planned = moves.map(|planned| MapSettings::listing(&planned.moving.tables));
    let changed = planned.flat_map(|planned| {
        let groups = map.settings.changed_groups(&planned).into_iter();
        let words = groups
            .map(|group| format!("group {group} has other tables in the map than in the plan"));
        words.collect::<Vec<_>>()
    });
    changed.collect()
}

/// Returns map settings that contain the tables, the ignored tables and the sequence mode of the plan, and the groups of the
/// map.
fn settings_of(plan: &Plan, planned: &PlannedMove, map: &ShardMap) -> MapSettings {
    let listed = MapSettings::listing(&planned.moving.tables);
    let reference = match listed.keyed_by.is_column() {
        true => listed.reference.clone(),
        // A reference table that the target has already is not in the plan.
        false => map.settings.reference.clone(),
    };
    MapSettings {
        ignore: plan.ignore.clone(),
        sequences: plan.sequences,
        reference,
        groups: map.settings.groups.clone(),
        ..listed
    }
}

/// Returns every rule of the map that a move of the plan breaks.
fn broken_rules(plan: &Plan, map: &ShardMap, shards: &[ShardRecord]) -> Vec<RuleViolation> {
    let mut broken = Vec::new();
    for moving in plan.moves.iter().map(|planned| &planned.moving) {
        let Some(target) = shards.iter().find(|shard| shard.name == moving.target) else {
            continue;
        };
        let info = target.info();
        let rules = map.settings.rules.iter();
        let rules = rules.filter(|rule| !rule.allows(&moving.keys, &info));
        broken.extend(rules.map(|rule| RuleViolation {
            rule: rule.name.clone(),
            keys: moving.keys.clone(),
            shard: moving.target.clone(),
        }));
    }
    broken
}

fn stale_error(changed: String) -> ControlError {
    ControlError::Stale {
        changed: vec![changed],
    }
}

fn version_changed(map: &MapName, current: i64, expected: i64) -> String {
    format!(
        "the plan was made for version {expected} of map {map}, which is now at version {current}"
    )
}

/// Returns a new id: `m` and nine random letters or digits.
pub(super) fn new_id() -> MigrationId {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut rng = rand::rng();
    let tail = (0..9).map(|_| char::from(DIGITS[rng.random_range(0..DIGITS.len())]));
    MigrationId(std::iter::once('m').chain(tail).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_ids_are_migration_ids() {
        assert!(MigrationId::parse(new_id().as_str()).is_ok());
        assert_eq!(new_id().as_str().len(), 10);
    }
}

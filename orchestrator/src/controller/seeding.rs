//! Moves whose target is a standby of the source, which the agent promotes.

use super::{ControlError, Controller};
use crate::store::{Migration, Snapshot};
use plans::fleet::ShardRef;
use plans::inspection::inventory::ObservedServer;
use plans::key_set::KeySet;
use plans::request::Seed;
use plans::step::StepKind;
use plans::step::promote::Promoted;

impl Controller {
    /// Returns the target of a migration. The step `promote` has made a standby a database of its own; this is recorded
    /// for the shard if it is not recorded yet.
    pub(super) async fn target_of(&self, snapshot: &Snapshot) -> Result<ShardRef, ControlError> {
        let target = self.shard(&snapshot.migration.plan.moving.target).await?;
        let reference = target.reference();
        let Some(promoted) = promoted(snapshot) else {
            return Ok(reference);
        };
        if target.identity.as_ref().is_some_and(|known| known.standby) {
            let observed = ObservedServer {
                number: target.number,
                server: promoted.target.clone(),
                flushed: 0,
                missing: 0,
            };
            self.inner.store.put_server(&observed).await?;
        }
        Ok(ShardRef {
            identity: Some(promoted.target),
            ..reference
        })
    }

    /// Returns the keys of the map that the migration does not move, if its target is a standby.
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
        Ok(Some(all.minus(&own.plan.moving.keys)))
    }
}

/// Returns the result of the step `promote`, if it is done.
fn promoted(snapshot: &Snapshot) -> Option<Promoted> {
    let output = snapshot.step_of(StepKind::Promote)?.output.clone()?;
    serde_json::from_value(output).ok()
}

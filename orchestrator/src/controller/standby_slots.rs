//! The physical replication slots of standbys that agents create.
//!
//! The controller records each slot before an agent creates it, so that `cleanup` finds a slot without a standby: such a
//! slot retains log on its server without limit.

use super::shards::{check_name, invalid_error};
use super::{ControlError, Controller};
use crate::store::ShardRecord;
use plans::fleet::{NewStandby, StandbySlot};
use plans::inspection::inventory::{Inventory, ObjectKind};
use plans::inspection::sweep::SweepInput;
use plans::names::STANDBY_SLOT_PREFIX;
use serde_json::json;
use std::collections::BTreeSet;

impl Controller {
    /// Records the slot of a standby that is to be created, under a new name.
    ///
    /// # Errors
    /// The name is no name of a shard or is in use, or the source is not registered or is a standby itself.
    pub async fn record_standby_slot(
        &self,
        new: &NewStandby,
        actor: &str,
    ) -> Result<StandbySlot, ControlError> {
        check_name("shard", new.name.as_str())?;
        self.refuse_known_shard(&new.name).await?;
        let source = self.shard(&new.source).await?;
        if source.is_standby() {
            return Err(invalid_error(&format!(
                "shard {} is a standby itself; name the shard on its primary",
                source.name
            )));
        }
        let slot = StandbySlot {
            slot: format!("{STANDBY_SLOT_PREFIX}{:016x}", rand::random::<u64>()),
            standby: new.name.clone(),
            source: new.source.clone(),
        };
        self.inner.store.add_standby_slot(&slot).await?;
        let data = json!({ "slot": slot.slot, "standby": slot.standby });
        self.audit(
            actor,
            "standby.slot_recorded",
            format!("shard {}", slot.source),
            data,
        )
        .await?;
        Ok(slot)
    }

    /// Removes the records of those slots that do not exist any more on the shards in `inventories`, and that no registered
    /// standby needs. The records must have been read before the inventories.
    pub(super) async fn forget_dropped_slots(
        &self,
        recorded: &[StandbySlot],
        input: &SweepInput,
        inventories: &[Inventory],
    ) -> Result<(), ControlError> {
        for recorded in recorded {
            let exists_on = |inventory: &Inventory| {
                let mut objects = inventory.objects.iter();
                objects.any(|it| it.kind == ObjectKind::Slot && it.name == recorded.slot)
            };
            let mut inventories = inventories.iter();
            let source = inventories.find(|inventory| inventory.shard == recorded.source);
            let is_dropped = source.is_some_and(|source| !exists_on(source));
            if is_dropped && !input.needed_slots.contains(&recorded.slot) {
                self.inner.store.remove_standby_slot(&recorded.slot).await?;
            }
        }
        Ok(())
    }
}

/// Returns the slots from which registered standbys stream: that of the last attempt to create each of them.
pub(super) fn needed_slots(slots: &[StandbySlot], shards: &[ShardRecord]) -> BTreeSet<String> {
    let standbys = shards.iter().filter(|shard| shard.is_standby());
    let last = standbys.filter_map(|shard| {
        let mut attempts = slots.iter().filter(|slot| slot.standby == shard.name);
        attempts.next_back()
    });
    last.map(|slot| slot.slot.clone()).collect()
}

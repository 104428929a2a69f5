//! The replication slots of a shard's server, in groups: those of the shard's database come first. A slot of a migration
//! links to the migration.

use crate::controller::Controller;
use crate::view::server::{ServerFigures, SlotScope, SlotTexts};
use plans::id::MigrationId;
use plans::names::{Direction, REPLICATION_PREFIX, STANDBY_SLOT_PREFIX};

/// Slots that belong to the same part of the server.
pub(super) struct SlotGroup {
    pub(super) title: String,
    /// What a reader must know about them.
    pub(super) note: &'static str,
    /// True if the database of each slot is shown.
    pub(super) has_databases: bool,
    /// True if the kind of each slot is shown: the title does not say it.
    pub(super) has_kinds: bool,
    pub(super) slots: Vec<LinkedSlot>,
}

/// A slot, and the migration to which it belongs.
pub(super) struct LinkedSlot {
    pub(super) texts: SlotTexts,
    /// The id of the migration and what it is, if the controller knows it.
    pub(super) migration: Option<(String, String)>,
    /// To what it belongs otherwise.
    pub(super) other: &'static str,
}

/// Returns the groups that have a slot, and the name of the shard's database; `Err` with the reason if the slots are not
/// known.
pub(super) async fn slot_groups(
    controller: &Controller,
    server: ServerFigures<'_>,
) -> Result<Vec<SlotGroup>, String> {
    let mut slots = Vec::new();
    for texts in server.slots()? {
        slots.push(LinkedSlot {
            migration: migration_of(controller, &texts.name).await,
            other: if texts.name.starts_with(STANDBY_SLOT_PREFIX) {
                "a standby of Shardwright"
            } else if texts.name.starts_with(REPLICATION_PREFIX) {
                "a migration of another control store"
            } else {
                "not of Shardwright"
            },
            texts,
        });
    }
    let own = server.activity.and_then(|it| it.now.database.clone());
    let own = own.unwrap_or_default();
    let mut groups: Vec<SlotGroup> = [
        SlotScope::Shard,
        SlotScope::Unknown,
        SlotScope::Server,
        SlotScope::OtherDatabase,
    ]
    .into_iter()
    .map(|scope| group(scope, &own, &mut slots))
    .collect();
    // The first group is the one that the reader looks for, so it is shown without slots too.
    let has_own = !own.is_empty();
    let mut index = 0;
    groups.retain(|group| {
        index += 1;
        !group.slots.is_empty() || (index == 1 && has_own)
    });
    Ok(groups)
}

fn group(scope: SlotScope, own: &str, slots: &mut Vec<LinkedSlot>) -> SlotGroup {
    let (title, note) = match scope {
        SlotScope::Shard => (format!("Logical slots of this shard, database {own}"), ""),
        SlotScope::Unknown => (
            "Slots of all databases of this server".to_owned(),
            "The agent does not report the database of each slot: it has an earlier version.",
        ),
        SlotScope::Server => (
            "Physical slots of the whole server".to_owned(),
            "They are for standbys and backups.",
        ),
        SlotScope::OtherDatabase => (
            "Logical slots of other databases on this server".to_owned(),
            "They do not belong to this shard, but they retain WAL on its disk.",
        ),
    };
    let (own_slots, others) = std::mem::take(slots)
        .into_iter()
        .partition(|slot| slot.texts.scope == scope);
    *slots = others;
    SlotGroup {
        title,
        note,
        has_databases: scope == SlotScope::OtherDatabase,
        has_kinds: scope == SlotScope::Unknown,
        slots: own_slots,
    }
}

/// Returns the migration that created the slot, if the controller knows it.
async fn migration_of(controller: &Controller, slot: &str) -> Option<(String, String)> {
    let (id, _) = slot.strip_prefix(REPLICATION_PREFIX)?.rsplit_once('_')?;
    let id = MigrationId::from(id);
    let is_its_slot = [Direction::Forward, Direction::Reverse]
        .into_iter()
        .any(|direction| id.slot(direction) == slot);
    let snapshot = controller.load(&id).await.ok().filter(|_| is_its_slot)?;
    let plan = &snapshot.migration.plan;
    let moving = &plan.moving;
    Some((
        id.to_string(),
        format!("{} {} → {}", plan.operation, moving.source, moving.target),
    ))
}

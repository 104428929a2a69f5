//! Checks and notes for maps whose keys are schemas or groups of tables.

use super::draft::{PlanDraft, PlannerInput, move_id};
use crate::key::Key;
use crate::request::{Request, Seed};
use crate::shard_map::KeyedBy;

/// Adds problems if the request does not fit such a map, and for each moving group a note about what the application must
/// change.
pub(super) fn check(request: &Request, draft: &mut PlanDraft, input: PlannerInput<'_>) {
    let settings = &input.map.settings;
    if settings.keyed_by.is_column() {
        return;
    }
    let (map, whole) = (&input.map.name, settings.keyed_by.name());
    if !request.tables().0.is_empty() {
        draft.problems.push(format!(
            "a key of map {map} is a {whole} with all of its tables: remove `tables` from the request"
        ));
    }
    if input.options.seed == Seed::Standby {
        draft.problems.push(format!(
            "a standby has every {whole} of the source, and the tables of those that stay could not be removed from it: use `seed: copy`"
        ));
    }
    if settings.keyed_by != KeyedBy::Group {
        return;
    }
    let mut notes = Vec::new();
    for (index, wanted) in draft.moves.iter().enumerate() {
        let groups = settings.groups.iter();
        let moving = groups.filter(|(group, _)| wanted.keys.contains(&Key::Text((*group).clone())));
        notes.extend(moving.map(|(group, tables)| {
            format!(
                "{}: from the flip on, the application uses the tables of group {group} ({}) on shard {}; a statement or transaction can no longer use them together with tables that stay on shard {}",
                move_id(index),
                tables.join(", "),
                wanted.target,
                wanted.source
            )
        }));
    }
    draft.notes.append(&mut notes);
}

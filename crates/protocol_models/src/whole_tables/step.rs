//! The actions of M9.

use super::state::{AttemptStage, CreatedTable, Creation, WholeTablesState};
use super::{WholeTables, WholeTablesRule};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WholeTablesAction {
    /// The application begins to create a table, commits, rolls back, or writes to the table after the flip.
    Begin(usize),
    Commit(usize),
    RollBack(usize),
    Write(usize),
    /// The agent adopts every table that it finds.
    Adopt,
    PassGate,
    Fence,
    /// A transaction of the wait-out has ended.
    SeeEnd(usize),
    /// The agent searches for new tables. It gives the attempt up if it finds one.
    Search,
    Flip,
}

impl WholeTables {
    pub(super) fn possible(&self, state: &WholeTablesState, actions: &mut Vec<WholeTablesAction>) {
        use WholeTablesAction as Act;
        let has_flipped = state.stage == AttemptStage::Flipped;
        for (index, table) in state.tables.iter().enumerate() {
            match table.creation {
                Creation::NotBegun if !has_flipped => actions.push(Act::Begin(index)),
                Creation::Open { .. } => actions.extend([Act::Commit(index), Act::RollBack(index)]),
                Creation::Committed { .. } if self.accepts_write(state, *table) => {
                    actions.push(Act::Write(index));
                }
                Creation::NotBegun | Creation::Committed { .. } | Creation::RolledBack => {}
            }
        }
        match &state.stage {
            AttemptStage::Idle if state.has_unknown_table() => actions.push(Act::Adopt),
            AttemptStage::Idle if state.attempt < self.attempts => actions.push(Act::PassGate),
            AttemptStage::Gate => actions.push(Act::Fence),
            AttemptStage::Fenced { awaited, searched } => {
                let ended = awaited
                    .iter()
                    .filter(|index| !state.tables[**index].holds_lock());
                actions.extend(ended.map(|index| Act::SeeEnd(*index)));
                let has_waited = awaited.is_empty();
                if !searched && (has_waited || self.is(WholeTablesRule::SearchesBeforeWait)) {
                    actions.push(Act::Search);
                }
                if *searched && has_waited {
                    actions.push(Act::Flip);
                }
            }
            AttemptStage::Idle | AttemptStage::Flipped => {}
        }
    }

    /// Returns whether the old owner accepts the first write to a table after the flip.
    fn accepts_write(&self, state: &WholeTablesState, table: CreatedTable) -> bool {
        let has_guard = table.adopted && !self.is(WholeTablesRule::AdoptsWithoutGuard);
        state.stage == AttemptStage::Flipped && !has_guard && !table.written_late
    }

    pub(super) fn perform(&self, state: &mut WholeTablesState, action: WholeTablesAction) {
        use WholeTablesAction as Act;
        match action {
            Act::Begin(index) => {
                let early = matches!(state.stage, AttemptStage::Idle | AttemptStage::Gate);
                state.tables[index].creation = Creation::Open { early };
            }
            Act::Commit(index) => {
                if let Creation::Open { early } = state.tables[index].creation {
                    state.tables[index].creation = Creation::Committed { early };
                }
            }
            Act::RollBack(index) => state.tables[index].creation = Creation::RolledBack,
            Act::Write(index) => state.tables[index].written_late = true,
            Act::Adopt => {
                let tables = state.tables.iter_mut();
                tables
                    .filter(|table| table.exists())
                    .for_each(|table| table.adopted = true);
            }
            Act::PassGate => {
                state.attempt += 1;
                state.stage = AttemptStage::Gate;
            }
            Act::Fence => {
                let open =
                    (0..state.tables.len()).filter(|index| state.tables[*index].holds_lock());
                let awaited = match self.is(WholeTablesRule::WaitsForNoCreation) {
                    true => Vec::new(),
                    false => open.collect(),
                };
                state.stage = AttemptStage::Fenced {
                    awaited,
                    searched: false,
                };
            }
            Act::SeeEnd(index) => {
                if let AttemptStage::Fenced { awaited, .. } = &mut state.stage {
                    awaited.retain(|other| *other != index);
                }
            }
            Act::Search => {
                let searches = !self.is(WholeTablesRule::SearchesAtGateOnly);
                if searches && state.has_unknown_table() {
                    state.has_failed_attempt = true;
                    state.stage = AttemptStage::Idle;
                    // The next attempt has a fence of its own.
                    state.mark_early();
                } else if let AttemptStage::Fenced { searched, .. } = &mut state.stage {
                    *searched = true;
                }
            }
            Act::Flip => state.stage = AttemptStage::Flipped,
        }
    }
}

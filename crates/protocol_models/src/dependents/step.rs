//! The actions of M10.

use super::state::{CapturedChange, DependentsState, ParentKey, ROWS, SHARED_CHILD};
use super::{Dependents, DependentsRule};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DependentsAction {
    /// Transactions of the application. Each change that it makes is one of a row, in the order of the log.
    InsertParentWithChild(usize, ParentKey),
    DeleteParent(usize),
    /// Deletes a parent, and lets its child refer to another one.
    ReplaceParent(usize),
    ChangeKey(usize),
    Relink(usize, usize),
    DeleteChild(usize),
    CopyParents,
    CopyChildren,
    /// The stream applies the next transaction.
    Apply,
    CatchUp,
}

impl Dependents {
    pub(super) fn possible(&self, state: &DependentsState, actions: &mut Vec<DependentsAction>) {
        use DependentsAction as Act;
        if state.has_failed {
            return;
        }
        if state.log.len() < self.transactions {
            self.transactions(state, actions);
        }
        if state.parents_copied.is_none() {
            actions.push(Act::CopyParents);
        }
        if state.children_copied.is_none() {
            actions.push(Act::CopyChildren);
        }
        if state.is_copied() && state.applied < state.log.len() {
            actions.push(Act::Apply);
        }
        let may_catch_up = state.has_passed_snapshots()
            || self.is(DependentsRule::CatchesUpEarly) && state.is_copied();
        if !state.has_caught_up && may_catch_up {
            actions.push(Act::CatchUp);
        }
    }

    fn transactions(&self, state: &DependentsState, actions: &mut Vec<DependentsAction>) {
        use DependentsAction as Act;
        let source = state.source;
        for parent in 0..ROWS {
            let shares = source.children[SHARED_CHILD] == Some(parent);
            match source.parents[parent] {
                None if source.children[parent].is_none() => {
                    actions.push(Act::InsertParentWithChild(parent, ParentKey::Other));
                    if parent != SHARED_CHILD {
                        actions.push(Act::InsertParentWithChild(parent, ParentKey::Moving));
                    }
                }
                None => {}
                Some(key) => {
                    actions.push(Act::DeleteParent(parent));
                    if source.parents[1 - parent].is_some() && !shares {
                        actions.push(Act::ReplaceParent(parent));
                    }
                    let may_enter = !source.has_child_of(parent)
                        || self.is(DependentsRule::LetsDependentsEnter) && !shares;
                    if key == ParentKey::Moving || may_enter {
                        actions.push(Act::ChangeKey(parent));
                    }
                }
            }
        }
        for child in (0..ROWS).filter(|child| source.children[*child].is_some()) {
            actions.push(Act::DeleteChild(child));
            let others = (0..ROWS).filter(|parent| {
                source.parents[*parent].is_some()
                    && (child != SHARED_CHILD || !source.moves(*parent))
            });
            actions.extend(others.map(|parent| Act::Relink(child, parent)));
        }
    }

    pub(super) fn perform(&self, state: &mut DependentsState, action: DependentsAction) {
        use CapturedChange as Change;
        use DependentsAction as Act;
        let before = state.source;
        let mut changes = Vec::new();
        match action {
            Act::InsertParentWithChild(parent, key) => {
                state.source.parents[parent] = Some(key);
                state.source.children[parent] = Some(parent);
                if key == ParentKey::Moving {
                    changes.push(Change::ParentCame(parent));
                }
                changes.push(Change::ChildInserted(parent, parent));
            }
            Act::DeleteParent(parent) | Act::ReplaceParent(parent) => {
                if before.moves(parent) {
                    changes.push(Change::ParentWent(parent));
                }
                state.source.parents[parent] = None;
                for child in (0..ROWS).filter(|child| before.children[*child] == Some(parent)) {
                    let stays = action == Act::ReplaceParent(parent);
                    state.source.children[child] = stays.then_some(1 - parent);
                    changes.push(match stays {
                        true => Change::ChildUpdated(child, 1 - parent),
                        false => Change::ChildDeleted(child),
                    });
                }
            }
            Act::ChangeKey(parent) => {
                let (key, change) = match before.moves(parent) {
                    true => (ParentKey::Other, Change::ParentWent(parent)),
                    false => (ParentKey::Moving, Change::ParentCame(parent)),
                };
                state.source.parents[parent] = Some(key);
                state.parent_left_with_child |= before.moves(parent) && before.has_child_of(parent);
                changes.push(change);
            }
            Act::Relink(child, parent) => {
                state.source.children[child] = Some(parent);
                changes.push(Change::ChildUpdated(child, parent));
            }
            Act::DeleteChild(child) => {
                state.source.children[child] = None;
                changes.push(Change::ChildDeleted(child));
            }
            Act::CopyParents => {
                state.parents_copied = Some(state.log.len());
                state.target.parents = [0, 1].map(|parent| before.moves(parent));
                return;
            }
            Act::CopyChildren => {
                state.children_copied = Some(state.log.len());
                let moving = |child: Option<usize>| child.filter(|parent| before.moves(*parent));
                state.target.children = before.children.map(moving);
                return;
            }
            Act::Apply => return self.apply(state),
            Act::CatchUp => {
                state.has_caught_up = true;
                if !self.is(DependentsRule::SkipsFinalRemoval) {
                    remove_dangling(state, |_| true);
                }
                return;
            }
        }
        state.log.push(changes);
    }

    /// Applies a transaction: the parents first, then each child. Removes the children of parents that have left.
    fn apply(&self, state: &mut DependentsState) {
        let (index, changes) = (state.applied, state.log[state.applied].clone());
        let sees = |copied: Option<usize>| copied.is_some_and(|copied| index < copied);
        let (skips_parents, skips_children) =
            (sees(state.parents_copied), sees(state.children_copied));
        let parents_before = state.target.parents;
        let mut gone = Vec::new();
        for change in changes.iter().filter(|_| !skips_parents) {
            match change {
                CapturedChange::ParentCame(parent) => state.target.parents[*parent] = true,
                CapturedChange::ParentWent(parent) => {
                    state.target.parents[*parent] = false;
                    gone.push(*parent);
                }
                CapturedChange::ChildInserted(..)
                | CapturedChange::ChildUpdated(..)
                | CapturedChange::ChildDeleted(_) => {}
            }
        }
        let parents = match self.is(DependentsRule::AssignsBeforeParents) {
            true => parents_before,
            false => state.target.parents,
        };
        for change in changes.iter().filter(|_| !skips_children) {
            let (child, new) = match change {
                CapturedChange::ChildInserted(child, parent)
                | CapturedChange::ChildUpdated(child, parent) => (*child, Some(*parent)),
                CapturedChange::ChildDeleted(child) => (*child, None),
                CapturedChange::ParentCame(_) | CapturedChange::ParentWent(_) => continue,
            };
            gone.extend(self.apply_child(state, parents, child, new));
        }
        // The copy of a child can be later than that of its parent, which may come back meanwhile.
        let is_within_snapshots = skips_parents || skips_children;
        let removes = !is_within_snapshots || self.is(DependentsRule::RemovesWithinSnapshots);
        if removes && !self.is(DependentsRule::LeavesDependentsOfDeparted) {
            remove_dangling(state, |parent| gone.contains(&parent));
        }
        state.applied += 1;
    }

    /// Assigns the change of a child, and applies it. Returns the missing parent to which a row of the copy refers now.
    fn apply_child(
        &self,
        state: &mut DependentsState,
        parents: [bool; ROWS],
        child: usize,
        new: Option<usize>,
    ) -> Option<usize> {
        let old = state.target.children[child];
        let takes_own = self.is(DependentsRule::TakesOwnRowForCopy) && child == SHARED_CHILD;
        let ignores_missing = self.is(DependentsRule::IgnoresMissingParent);
        let is_copied = takes_own || old.is_some_and(|parent| !ignores_missing || parents[parent]);
        let moves = new.is_some_and(|parent| parents[parent]);
        // A parent that does not move is missing on the target, like one that arrives later.
        let stays = is_copied && new.is_some();
        match (is_copied, moves || stays) {
            (true, true) => {
                state.target.children[child] = new;
                state.target.has_own_child &= !takes_own;
            }
            (true, false) => {
                state.has_left = true;
                state.target.children[child] = None;
                state.target.has_own_child &= !takes_own;
            }
            (false, true) => {
                state.has_entered = true;
                // The row exists already.
                state.has_failed |= old.is_some();
                state.target.children[child] = new;
            }
            (false, false) => {}
        }
        new.filter(|_| stays && !moves)
    }
}

/// Removes copied children of parents that the target lacks, if `is_chosen` returns true for the parent.
fn remove_dangling(state: &mut DependentsState, is_chosen: impl Fn(usize) -> bool) {
    for child in 0..ROWS {
        let parent = state.target.children[child];
        if parent.is_some_and(|parent| !state.target.parents[parent] && is_chosen(parent)) {
            state.target.children[child] = None;
            state.has_left = true;
        }
    }
}

//! Changes with the statements that execute them. The agent prepares them while the session still executes others.

use super::change::RowChange;
use super::lane::ApplyLane;
use super::net_changes::NetChanges;
use super::sets::{self, SetStatement};

/// The minimum average number of changes per set. With fewer changes, a set costs the server more than single
/// statements, because it plans each set.
const MIN_CHANGES_PER_SET: usize = 8;

/// Changes, and how they are executed.
#[derive(Debug)]
pub(crate) struct PlannedChanges<'a> {
    pub(super) changes: &'a [RowChange],
    /// `None` if the changes are executed one by one.
    pub(super) sets: Option<PlannedSets<'a>>,
}

/// The statements of the sets, and the changes that are executed one by one after them.
#[derive(Debug)]
pub(super) struct PlannedSets<'a> {
    /// The statements of the first lane, or all statements if one session executes the changes.
    first: Vec<SetStatement>,
    /// The statements of the second lane. One session can also execute them after those of the first lane, because the
    /// two lanes have different rows.
    second: Vec<SetStatement>,
    /// Changes of the first lane that are executed one by one after the sets.
    pub(super) remaining: Vec<&'a RowChange>,
}

impl PlannedSets<'_> {
    /// Returns the statements of both lanes, those of the first lane first.
    pub(super) fn all(&self) -> Vec<&SetStatement> {
        self.first.iter().chain(&self.second).collect()
    }

    pub(super) fn of_lane(&self, lane: ApplyLane) -> Vec<&SetStatement> {
        match lane {
            ApplyLane::First => self.first.iter().collect(),
            ApplyLane::Second => self.second.iter().collect(),
        }
    }
}

impl<'a> PlannedChanges<'a> {
    /// Plans the changes for one session.
    pub(crate) fn of(changes: &'a [RowChange]) -> Self {
        let sets = net_changes_if_efficient(changes).and_then(|net| {
            let statements: Option<Vec<_>> = net.sets.iter().map(sets::set_statement).collect();
            Some(PlannedSets {
                first: statements.filter(|statements| !statements.is_empty())?,
                second: Vec::new(),
                remaining: net.remaining,
            })
        });
        Self { changes, sets }
    }

    /// Plans the changes for two sessions. This is possible if each change is in a set, or is of a table that excludes
    /// sets: the first session executes those. Otherwise plans them for one session.
    pub(crate) fn for_two_lanes(changes: &'a [RowChange]) -> Self {
        let is_divisible = |net: &NetChanges<'_>| {
            net.remaining
                .iter()
                .all(|change| change.target.excludes_sets)
        };
        let Some(net) = net_changes_if_efficient(changes).filter(is_divisible) else {
            return Self::of(changes);
        };
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for set in net.sets {
            for (set, statements) in set.split_by_lane().iter().zip([&mut first, &mut second]) {
                if !set.rows.is_empty() {
                    statements.push(sets::set_statement(set));
                }
            }
        }
        let collect_all =
            |statements: Vec<Option<_>>| statements.into_iter().collect::<Option<Vec<_>>>();
        let sets = collect_all(first)
            .zip(collect_all(second))
            .map(|(first, second)| PlannedSets {
                first,
                second,
                remaining: net.remaining,
            });
        Self { changes, sets }
    }

    /// Returns whether both lanes have statements.
    pub(crate) fn has_two_lanes(&self) -> bool {
        let both = |sets: &PlannedSets<'_>| !sets.first.is_empty() && !sets.second.is_empty();
        self.sets.as_ref().is_some_and(both)
    }
}

/// Returns the net changes, if they can be computed and are sets of enough changes.
fn net_changes_if_efficient(changes: &[RowChange]) -> Option<NetChanges<'_>> {
    let net = (changes.len() >= MIN_CHANGES_PER_SET)
        .then(|| NetChanges::of(changes))
        .flatten();
    net.filter(|net| changes.len() >= MIN_CHANGES_PER_SET * net.sets.len())
}

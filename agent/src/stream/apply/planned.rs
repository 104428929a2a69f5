//! Changes with their statements, prepared before the session is free.

use super::change::RowChange;
use super::lane::ApplyLane;
use super::net::NetChanges;
use super::sets::{self, SetStatement};

/// The minimum average number of changes per set: with fewer, planning a set costs more than it saves.
const MIN_CHANGES_PER_SET: usize = 8;

/// Changes with the statements of their sets.
#[derive(Debug)]
pub(crate) struct PlannedChanges<'a> {
    pub(super) changes: &'a [RowChange],
    /// `None` if the changes are executed one by one.
    pub(super) sets: Option<PlannedSets<'a>>,
}

/// The statements of the sets, and the changes that are executed one by one after them.
#[derive(Debug)]
pub(super) struct PlannedSets<'a> {
    first: Vec<SetStatement>,
    /// The statements of the second lane. One session may also execute them after the first ones, because their rows
    /// are different.
    second: Vec<SetStatement>,
    /// Changes of the first lane that are executed one by one after the sets.
    pub(super) remaining: Vec<&'a RowChange>,
}

impl PlannedSets<'_> {
    pub(super) fn all(&self) -> Vec<&SetStatement> {
        self.first.iter().chain(&self.second).collect()
    }

    pub(super) fn of(&self, lane: ApplyLane) -> Vec<&SetStatement> {
        match lane {
            ApplyLane::First => self.first.iter().collect(),
            ApplyLane::Second => self.second.iter().collect(),
        }
    }
}

impl<'a> PlannedChanges<'a> {
    /// Plans the changes for one session.
    pub(crate) fn of(changes: &'a [RowChange]) -> Self {
        let sets = net_if_worthwhile(changes).and_then(|net| {
            let statements: Option<Vec<_>> = net.sets.iter().map(sets::set_statement).collect();
            Some(PlannedSets {
                first: statements.filter(|statements| !statements.is_empty())?,
                second: Vec::new(),
                remaining: net.remaining,
            })
        });
        Self { changes, sets }
    }

    /// Plans the changes for two sessions, if each change is in a set or belongs to the first session by the
    /// definition of its table.
    pub(crate) fn for_two_lanes(changes: &'a [RowChange]) -> Self {
        let is_divisible = |net: &NetChanges<'_>| {
            net.remaining
                .iter()
                .all(|change| change.target.never_by_sets)
        };
        let Some(net) = net_if_worthwhile(changes).filter(is_divisible) else {
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
        let all = |statements: Vec<Option<_>>| statements.into_iter().collect::<Option<Vec<_>>>();
        let sets = all(first)
            .zip(all(second))
            .map(|(first, second)| PlannedSets {
                first,
                second,
                remaining: net.remaining,
            });
        Self { changes, sets }
    }

    /// Whether both sessions have statements.
    pub(crate) fn has_two_lanes(&self) -> bool {
        let both = |sets: &PlannedSets<'_>| !sets.first.is_empty() && !sets.second.is_empty();
        self.sets.as_ref().is_some_and(both)
    }
}

fn net_if_worthwhile(changes: &[RowChange]) -> Option<NetChanges<'_>> {
    let net = (changes.len() >= MIN_CHANGES_PER_SET)
        .then(|| NetChanges::of(changes))
        .flatten();
    net.filter(|net| changes.len() >= MIN_CHANGES_PER_SET * net.sets.len())
}

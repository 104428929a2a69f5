//! What changes come to as statements, worked out before the session is there for them.

use super::change::RowChange;
use super::lane::ApplyLane;
use super::net::NetChanges;
use super::sets::{self, SetStatement};

/// Sets of fewer changes than this are not worth their planning.
const FEW: usize = 8;

/// Changes with what they come to.
#[derive(Debug)]
pub(crate) struct PlannedChanges<'a> {
    pub(super) changes: &'a [RowChange],
    /// `None`: they are executed one by one.
    pub(super) sets: Option<PlannedSets<'a>>,
}

/// What changes come to, as statements, and those that are executed behind them.
#[derive(Debug)]
pub(super) struct PlannedSets<'a> {
    first: Vec<SetStatement>,
    /// Those of the other lane; they may as well be executed behind the first, for they are of other rows.
    second: Vec<SetStatement>,
    /// Of the first lane.
    pub(super) rows: Vec<&'a RowChange>,
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
    /// For one session.
    pub(crate) fn of(changes: &'a [RowChange]) -> Self {
        let sets = net(changes).and_then(|net| {
            let statements: Option<Vec<_>> = net.sets.iter().map(sets::statement).collect();
            Some(PlannedSets {
                first: statements.filter(|statements| !statements.is_empty())?,
                second: Vec::new(),
                rows: net.rows,
            })
        });
        Self { changes, sets }
    }

    /// For two sessions, if each change is one of a set, or always the first one's.
    pub(crate) fn of_two_lanes(changes: &'a [RowChange]) -> Self {
        let apart = |net: &NetChanges<'_>| net.rows.iter().all(|change| change.target.one_by_one);
        let Some(net) = net(changes).filter(apart) else {
            return Self::of(changes);
        };
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for set in net.sets {
            for (set, statements) in set.divided().iter().zip([&mut first, &mut second]) {
                if !set.rows.is_empty() {
                    statements.push(sets::statement(set));
                }
            }
        }
        let all = |statements: Vec<Option<_>>| statements.into_iter().collect::<Option<Vec<_>>>();
        let sets = all(first)
            .zip(all(second))
            .map(|(first, second)| PlannedSets {
                first,
                second,
                rows: net.rows,
            });
        Self { changes, sets }
    }

    /// Whether either session has something to do.
    pub(crate) fn has_two_lanes(&self) -> bool {
        let both = |sets: &PlannedSets<'_>| !sets.first.is_empty() && !sets.second.is_empty();
        self.sets.as_ref().is_some_and(both)
    }
}

fn net(changes: &[RowChange]) -> Option<NetChanges<'_>> {
    let net = (changes.len() >= FEW)
        .then(|| NetChanges::of(changes))
        .flatten();
    net.filter(|net| changes.len() >= FEW * net.sets.len())
}

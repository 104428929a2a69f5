//! Explores one model: all states of the correct protocol, and each mutant until its property is violated.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::Hash;

use stateright::{Checker, Expectation, HasDiscoveries, Model, Property};

use crate::report::{Killed, ModelReport, PropertyReport};

/// How far a model is explored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelSize {
    /// Takes seconds. It is part of every test run.
    Short,
    /// Takes minutes: more crashes, attempts and clients.
    Full,
}

/// A mutant: one rule of the protocol is omitted or changed, and a property must detect it.
pub(crate) struct Mutant<R> {
    pub(crate) rule: R,
    /// The description in README.md.
    pub(crate) name: &'static str,
    /// The name of an `always` property of the same model.
    pub(crate) property: &'static str,
}

pub(crate) const fn mutant<R>(rule: R, name: &'static str, property: &'static str) -> Mutant<R> {
    Mutant {
        rule,
        name,
        property,
    }
}

/// A model of one part of the protocol: correct, or with one changed rule.
pub(crate) trait Protocol:
    Model<
        State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
        Action: Clone + Debug + PartialEq,
    > + Send
    + Sync
    + 'static
{
    const NAME: &'static str;
    /// The rules of which a mutant changes one.
    type Rule: Copy + 'static;

    fn new(size: ModelSize, bent: Option<Self::Rule>) -> Self;
    /// Returns the limits of the exploration, for the report.
    fn bounds(&self) -> String;
    fn mutants() -> Vec<Mutant<Self::Rule>>;

    /// Returns the actions that are possible in `state`.
    fn possible_actions(&self, state: &Self::State) -> Vec<Self::Action> {
        let mut actions = Vec::new();
        self.actions(state, &mut actions);
        actions
    }
}

/// Explores the correct model and all of its mutants.
pub(crate) fn check<P: Protocol>(size: ModelSize, threads: usize) -> ModelReport {
    let checker = P::new(size, None).checker().threads(threads);
    let checker = checker.spawn_bfs().join();
    ModelReport {
        name: P::NAME.to_owned(),
        bounds: checker.model().bounds(),
        states: checker.unique_state_count(),
        transitions: checker.state_count(),
        depth: checker.max_depth(),
        properties: checker
            .model()
            .properties()
            .iter()
            .map(|p| judge(p, &checker))
            .collect(),
        mutants: P::mutants()
            .iter()
            .map(|m| kill::<P>(size, threads, m))
            .collect(),
    }
}

/// Checks that an `always` property has no counterexample, and that a `sometimes` property has an example.
fn judge<P: Protocol>(property: &Property<P>, checker: &impl Checker<P>) -> PropertyReport {
    let path = checker.discovery(property.name);
    let sometimes = property.expectation == Expectation::Sometimes;
    PropertyReport {
        name: property.name.to_owned(),
        kind: if sometimes { "sometimes" } else { "always" }.to_owned(),
        holds: path.is_some() == sometimes,
        counterexample: match path {
            Some(path) if !sometimes => words(path.into_actions()),
            Some(_) | None => Vec::new(),
        },
    }
}

fn kill<P: Protocol>(size: ModelSize, threads: usize, mutant: &Mutant<P::Rule>) -> Killed {
    let checker = P::new(size, Some(mutant.rule))
        .checker()
        .threads(threads)
        .finish_when(HasDiscoveries::AnyOf(BTreeSet::from([mutant.property])))
        .spawn_bfs()
        .join();
    let path = checker.discovery(mutant.property);
    Killed {
        name: mutant.name.to_owned(),
        property: mutant.property.to_owned(),
        killed: path.is_some(),
        states: checker.unique_state_count(),
        counterexample: path.map_or_else(Vec::new, |path| words(path.into_actions())),
    }
}

fn words<A: Debug>(actions: Vec<A>) -> Vec<String> {
    actions.iter().map(|action| format!("{action:?}")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};
    use std::hash::{BuildHasher, RandomState};

    use super::*;

    /// Checks that no run is infinite. Properties about the end of a run rely on this.
    fn assert_every_run_ends<P: Protocol>() {
        let model = P::new(ModelSize::Short, None);
        let (hasher, mut waiting) = (RandomState::new(), model.init_states());
        let mut arrivals: HashMap<u64, u32> = HashMap::new();
        let mut visited: HashSet<u64> = HashSet::new();
        // First it counts how often each state is reached, then it checks that no cycle remains.
        while let Some(state) = waiting.pop() {
            if !visited.insert(hasher.hash_one(&state)) {
                continue;
            }
            for next in model.next_states(&state) {
                *arrivals.entry(hasher.hash_one(&next)).or_default() += 1;
                waiting.push(next);
            }
        }
        let (mut waiting, mut ended) = (model.init_states(), 0);
        while let Some(state) = waiting.pop() {
            ended += 1;
            for next in model.next_states(&state) {
                let left = arrivals
                    .get_mut(&hasher.hash_one(&next))
                    .expect("was arrived at");
                *left -= 1;
                if *left == 0 {
                    waiting.push(next);
                }
            }
        }
        assert_eq!(ended, visited.len(), "{} has a cycle", P::NAME);
    }

    #[test]
    fn every_run_ends() {
        assert_every_run_ends::<crate::copy::Copying>();
        assert_every_run_ends::<crate::cutover::Cutover>();
        assert_every_run_ends::<crate::control::Control>();
        assert_every_run_ends::<crate::reverse::Reverse>();
        assert_every_run_ends::<crate::lanes::Lanes>();
        assert_every_run_ends::<crate::cascades::Cascades>();
        assert_every_run_ends::<crate::seeding::Seeding>();
        assert_every_run_ends::<crate::failover::Failover>();
    }
}

//! Every state that the API can show, each served by a dashboard of its own over the store in memory.
//!
//! Each kind of state is walked by a function `after_…` that names the next one: a variant that is new does not compile
//! until it has a place there. `docs/dashboard.md` has the table of states and tests.

mod fleets;
mod maps;
mod migrations;
mod streams;
mod waits;

use crate::fixture::Dashboard;
use orchestrator::store::{LeaseHolder, Snapshot, Step};
use plans::step::StepKind;
use serde_json::{Value, json};

/// A state, where it is shown, and words that must be on each of the pages.
pub(crate) struct Shown {
    /// The kind of state and which it is, as in `wait: lock`.
    name: String,
    dashboard: Dashboard,
    paths: Vec<&'static str>,
    words: Vec<String>,
    /// The status, where it is one that refuses.
    refused: Option<u16>,
}

impl Shown {
    fn new(name: impl Into<String>, dashboard: Dashboard, paths: &[&'static str]) -> Self {
        Self {
            name: name.into(),
            dashboard,
            paths: paths.to_vec(),
            words: Vec::new(),
            refused: None,
        }
    }

    fn says(mut self, words: &[&str]) -> Self {
        self.words
            .extend(words.iter().map(|word| (*word).to_owned()));
        self
    }

    /// What the scenario is told.
    fn told(&self) -> Value {
        json!({"name": self.name, "url": self.dashboard.url, "paths": self.paths, "words": self.words, "refused": self.refused})
    }
}

/// All of them, and what the scenario is told of them.
pub(crate) async fn all() -> (Vec<Shown>, Vec<Value>) {
    let mut all = fleets::all().await;
    all.extend(maps::all().await);
    all.extend(migrations::all().await);
    all.extend(waits::all().await);
    all.extend(streams::all().await);
    let told = all.iter().map(Shown::told).collect();
    (all, told)
}

/// Each has its place in the table of `docs/dashboard.md`.
pub(crate) fn are_documented(all: &[Shown]) {
    let table = include_str!("../../../docs/dashboard.md");
    for Shown { name, .. } in all {
        let (kind, which) = name.split_once(": ").unwrap();
        let mut rows = table.lines();
        let row = rows.find(|row| row.starts_with(&format!("| {kind} |")));
        let cells = row.and_then(|row| row.split(" | ").nth(1));
        let named = cells.is_some_and(|cell| cell.split(", ").any(|each| each == which));
        assert!(named, "docs/dashboard.md does not name {name}");
    }
}

/// Every variant, from the first one on.
fn every<T: Copy>(first: T, after: fn(T) -> Option<T>) -> impl Iterator<Item = T> {
    std::iter::successors(Some(first), move |variant| after(*variant))
}

/// The step of this kind.
fn step(snapshot: &mut Snapshot, kind: StepKind) -> &mut Step {
    let mut steps = snapshot.steps.iter_mut();
    steps.find(|step| step.kind == kind).unwrap()
}

/// Held by a process whose lease lasts as long as a test.
fn held(snapshot: &mut Snapshot) {
    snapshot.migration.owner = Some(LeaseHolder {
        agent: "agent-1".into(),
        instance: "i1".into(),
        token: None,
        secret: None,
    });
    snapshot.lease_until = Some(chrono::Utc::now() + chrono::TimeDelta::hours(1));
}

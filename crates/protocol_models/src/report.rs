//! The results of the exploration, as text and as JSON.

use std::fmt;

use serde::Serialize;

/// The results of all models.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The name and version of the model checker.
    pub checker: String,
    /// One entry for each model.
    pub models: Vec<ModelReport>,
}

/// The results of one model.
#[derive(Debug, Clone, Serialize)]
pub struct ModelReport {
    /// The name, as in README.md.
    pub name: String,
    /// The limits of the exploration.
    pub bounds: String,
    /// The number of different states that were reached.
    pub states: usize,
    /// The number of steps, both to new and to known states.
    pub transitions: usize,
    /// The number of states on the longest of all shortest paths to a state.
    pub depth: usize,
    /// The properties of the correct protocol.
    pub properties: Vec<PropertyReport>,
    /// The mutants, which test the properties.
    pub mutants: Vec<Killed>,
}

/// One property of the correct protocol.
#[derive(Debug, Clone, Serialize)]
pub struct PropertyReport {
    /// The invariant's number, and the statement of the property.
    pub name: String,
    /// `always` or `sometimes`.
    pub kind: String,
    /// `always`: there is no counterexample. `sometimes`: there is an example.
    pub holds: bool,
    /// The steps to a state that violates the property; empty if it holds.
    pub counterexample: Vec<String>,
}

/// A mutant, and whether a property detected it.
#[derive(Debug, Clone, Serialize)]
pub struct Killed {
    /// The rule that was changed.
    pub name: String,
    /// The property that must detect the change.
    pub property: String,
    /// True if the property detected it.
    pub killed: bool,
    /// The number of different states that were reached before.
    pub states: usize,
    /// The steps to the state that violates the property.
    pub counterexample: Vec<String>,
}

impl Report {
    /// Returns true if every property holds and every mutant was detected.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.models.iter().all(|model| {
            model.properties.iter().all(|property| property.holds)
                && model.mutants.iter().all(|mutant| mutant.killed)
        })
    }

    /// Returns the number of detected mutants, and the number of all mutants.
    #[must_use]
    pub fn killed(&self) -> (usize, usize) {
        let mutants = || self.models.iter().flat_map(|model| &model.mutants);
        (
            mutants().filter(|mutant| mutant.killed).count(),
            mutants().count(),
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for model in &self.models {
            writeln!(f, "{model}")?;
        }
        let (killed, of) = self.killed();
        write!(f, "mutants killed {killed}/{of}")
    }
}

impl fmt::Display for ModelReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            states,
            transitions,
            depth,
            bounds,
            ..
        } = self;
        writeln!(
            f,
            "{name}: {states} states, {transitions} transitions, depth {depth}"
        )?;
        writeln!(f, "  bounds: {bounds}")?;
        for property in &self.properties {
            let verdict = if property.holds { "holds" } else { "BROKEN" };
            writeln!(f, "  {verdict:7} {:9} {}", property.kind, property.name)?;
            steps(f, &property.counterexample)?;
        }
        for mutant in &self.mutants {
            let Killed {
                name,
                property,
                states,
                ..
            } = mutant;
            if mutant.killed {
                let steps = mutant.counterexample.len();
                writeln!(
                    f,
                    "  killed  {name}: {property} ({steps} steps, {states} states)"
                )?;
            } else {
                writeln!(f, "  ALIVE   {name}: {property} holds in {states} states")?;
            }
        }
        Ok(())
    }
}

fn steps(f: &mut fmt::Formatter<'_>, steps: &[String]) -> fmt::Result {
    steps
        .iter()
        .try_for_each(|step| writeln!(f, "            {step}"))
}

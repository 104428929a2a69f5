//! What was explored and what was found, as text and as JSON.

use std::fmt;

use serde::Serialize;

/// The outcome of all models.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The program that explored, with its version.
    pub checker: String,
    /// One entry for each model.
    pub models: Vec<ModelReport>,
}

/// The outcome of one model.
#[derive(Debug, Clone, Serialize)]
pub struct ModelReport {
    /// Its name, as in README.md.
    pub name: String,
    /// What limits the exploration.
    pub bounds: String,
    /// Different states that were reached.
    pub states: usize,
    /// Steps that were taken, to new states and to known ones.
    pub transitions: usize,
    /// States on the longest of the shortest ways to a state.
    pub depth: usize,
    /// What was asked of the correct protocol.
    pub properties: Vec<PropertyReport>,
    /// What was asked of the properties.
    pub mutants: Vec<Killed>,
}

/// One property of the correct protocol.
#[derive(Debug, Clone, Serialize)]
pub struct PropertyReport {
    /// The invariant's number and what it says here.
    pub name: String,
    /// `always` or `sometimes`.
    pub kind: String,
    /// `always`: no counterexample exists. `sometimes`: an example does.
    pub holds: bool,
    /// The steps to a state that breaks it; empty when it holds.
    pub counterexample: Vec<String>,
}

/// One mutant and what became of it.
#[derive(Debug, Clone, Serialize)]
pub struct Killed {
    /// The rule that was bent.
    pub name: String,
    /// The property that has to notice.
    pub property: String,
    /// Whether it did.
    pub killed: bool,
    /// Different states that were reached until then.
    pub states: usize,
    /// The steps to the state where it did.
    pub counterexample: Vec<String>,
}

impl Report {
    /// Every property holds and every mutant was killed.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.models.iter().all(|model| {
            model.properties.iter().all(|property| property.holds)
                && model.mutants.iter().all(|mutant| mutant.killed)
        })
    }

    /// Mutants killed, of how many.
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

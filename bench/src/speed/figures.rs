//! What was measured, round by round, and what is said of it.

use super::busy::{Profile, Watch};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Instant;

/// Values by name, one for each round; and how busy the cores were meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    values: BTreeMap<String, Vec<f64>>,
    profiles: BTreeMap<String, Vec<Profile>>,
    pub(crate) watch: Watch,
}

impl Samples {
    pub(crate) fn add(&mut self, name: &str, value: f64) {
        eprintln!("  {name}: {value:.3}");
        self.values.entry(name.to_owned()).or_default().push(value);
    }

    /// Keeps how busy the cores were from one moment to another, microseconds since 1970, as a round of `name`.
    pub(crate) fn profile(&mut self, name: &str, (from, to): (u128, u128)) {
        if let Some(profile) = self.watch.between(from, to) {
            eprintln!("  {name}: {}", profile.text());
            self.profiles
                .entry(name.to_owned())
                .or_default()
                .push(profile);
        }
    }

    /// Runs something and keeps how many seconds it took, and how busy the cores were.
    pub(crate) fn time<T>(
        &mut self,
        name: &str,
        work: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let from = self.watch.take_sample();
        let began = Instant::now();
        let done = work()?;
        self.add(name, began.elapsed().as_secs_f64());
        self.profile(name, (from, self.watch.take_sample()));
        Ok(done)
    }

    /// The middle of the values; of an even number of them the mean of both.
    pub(crate) fn median(&self, name: &str) -> Option<f64> {
        self.values.get(name).and_then(|values| median(values))
    }

    /// The median of the quotients of two values of the same round.
    pub(crate) fn ratio(&self, above: &str, below: &str) -> Option<f64> {
        let (above, below) = (self.values.get(above)?, self.values.get(below)?);
        let quotients: Vec<f64> = above.iter().zip(below).map(|(a, b)| a / b).collect();
        median(&quotients)
    }

    /// How busy the cores were in all rounds of all these parts together.
    fn bound(&self, parts: &[&str]) -> Option<String> {
        let rounds = parts.iter().filter_map(|part| self.profiles.get(*part));
        let rounds: Vec<&Profile> = rounds.flatten().collect();
        (!rounds.is_empty()).then(|| Profile::sum(rounds).text())
    }

    /// The profiles, of all rounds of a part together.
    fn profiles(&self) -> Value {
        let parts = self.profiles.iter();
        let parts = parts.map(|(name, rounds)| (name.clone(), Profile::sum(rounds).json()));
        Value::Object(parts.collect())
    }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// A figure beside its goal.
#[derive(Debug)]
pub(crate) struct Figure {
    /// Its key in the JSON.
    pub(crate) key: &'static str,
    pub(crate) value: Option<f64>,
    pub(crate) goal: Goal,
    /// What is held against what.
    pub(crate) about: &'static str,
    /// Parts whose profiles say what bounds it on this machine.
    pub(crate) parts: &'static [&'static str],
}

/// What a figure should be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
    /// None: it is told beside another figure.
    Told,
}

impl Goal {
    /// Whether it is met, in a word.
    fn met(self, value: Option<f64>) -> &'static str {
        let met = match (self, value) {
            (_, None) => return "not measured",
            (Self::Told, _) => return "-",
            (Self::AtLeast(limit), Some(value)) => value >= limit,
            (Self::AtMost(limit), Some(value)) => value <= limit,
        };
        if met { "yes" } else { "no" }
    }
}

impl std::fmt::Display for Goal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtLeast(limit) => write!(f, ">= {limit}"),
            Self::AtMost(limit) => write!(f, "<= {limit}"),
            Self::Told => f.write_str("-"),
        }
    }
}

/// All that a run has to say.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) samples: Samples,
    pub(crate) figures: Vec<Figure>,
    /// More keys of the JSON's top level.
    pub(crate) more: Map<String, Value>,
}

impl Report {
    /// A table for people.
    pub(crate) fn text(&self) -> String {
        let mut text = String::from(
            "| figure | value | goal | met | about | bound |\n| --- | --- | --- | --- | --- | --- |\n",
        );
        for figure in &self.figures {
            let value = figure
                .value
                .map_or("-".to_owned(), |value| format!("{value:.3}"));
            let met = figure.goal.met(figure.value);
            let (key, goal, about) = (figure.key, figure.goal, figure.about);
            let bound = self.samples.bound(figure.parts);
            let bound = bound.as_deref().unwrap_or("-");
            let _ = writeln!(
                text,
                "| {key} | {value} | {goal} | {met} | {about} | {bound} |"
            );
        }
        text
    }

    /// Everything for programs: a figure whose key has a dot lies in an object.
    pub(crate) fn json(&self) -> Value {
        let mut all = self.more.clone();
        for figure in &self.figures {
            match figure.key.split_once('.') {
                None => {
                    all.insert(figure.key.to_owned(), json!(figure.value));
                }
                Some((object, key)) => {
                    let inner = all.entry(object).or_insert_with(|| json!({}));
                    inner[key] = json!(figure.value);
                }
            }
        }
        all.insert("samples".to_owned(), json!(self.samples.values));
        all.insert("profiles".to_owned(), self.samples.profiles());
        Value::Object(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_values_of_one_round() {
        let mut samples = Samples::default();
        for (ours, raw) in [(2.0, 1.0), (9.0, 3.0), (8.0, 2.0)] {
            samples.add("ours", ours);
            samples.add("raw", raw);
        }
        assert_eq!(samples.ratio("ours", "raw"), Some(3.0));
        assert_eq!(samples.median("ours"), Some(8.0));
        assert_eq!(samples.median("nothing"), None);
        assert_eq!(median(&[1.0, 4.0]), Some(2.5));
    }

    #[test]
    fn a_figure_with_a_dot_lies_in_an_object() {
        let figure = |key, value| Figure {
            key,
            value,
            goal: Goal::AtMost(1.1),
            about: "",
            parts: &[],
        };
        let report = Report {
            figures: vec![
                figure("impact.p99_ratio", Some(1.05)),
                figure("impact.p999_ratio", None),
                figure("copy_ratio", Some(2.0)),
            ],
            ..Report::default()
        };
        let json = report.json();
        assert_eq!(
            json["impact"],
            json!({"p99_ratio": 1.05, "p999_ratio": null})
        );
        assert_eq!(json["copy_ratio"], 2.0);
        let text = report.text();
        assert!(
            text.contains("| yes |")
                && text.contains("| no |")
                && text.contains("| not measured |")
        );
    }
}

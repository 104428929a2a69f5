//! The samples of all rounds, and the figures and the report that are computed from them.

use super::busy::{CpuSamples, Profile};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Instant;

/// The samples by name, one for each round, and the CPU times of the rounds.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    values: BTreeMap<String, Vec<f64>>,
    profiles: BTreeMap<String, Vec<Profile>>,
    pub(crate) cpu: CpuSamples,
}

impl Samples {
    /// Adds the value of a round, and prints it.
    pub(crate) fn add(&mut self, name: &str, value: f64) {
        eprintln!("  {name}: {value:.3}");
        self.values.entry(name.to_owned()).or_default().push(value);
    }

    /// Adds the CPU time between two moments, in microseconds since 1970, as that of a round of `name`.
    pub(crate) fn add_profile(&mut self, name: &str, (from, to): (u128, u128)) {
        if let Some(profile) = self.cpu.between(from, to) {
            eprintln!("  {name}: {}", profile.text());
            self.profiles
                .entry(name.to_owned())
                .or_default()
                .push(profile);
        }
    }

    /// Runs `work`, and adds its duration in seconds and its CPU time under `name`.
    pub(crate) fn time<T>(
        &mut self,
        name: &str,
        work: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let from = self.cpu.take_sample();
        let began = Instant::now();
        let done = work()?;
        self.add(name, began.elapsed().as_secs_f64());
        self.add_profile(name, (from, self.cpu.take_sample()));
        Ok(done)
    }

    /// Returns the median of the values.
    pub(crate) fn median(&self, name: &str) -> Option<f64> {
        self.values.get(name).and_then(|values| median(values))
    }

    /// Returns the median over all rounds of the quotient `numerator` / `denominator` of the same round.
    pub(crate) fn ratio(&self, numerator: &str, denominator: &str) -> Option<f64> {
        let (numerators, denominators) =
            (self.values.get(numerator)?, self.values.get(denominator)?);
        let quotients: Vec<f64> = numerators
            .iter()
            .zip(denominators)
            .map(|(a, b)| a / b)
            .collect();
        median(&quotients)
    }

    /// Returns a text with the CPU time of all rounds of these parts, which shows what limits the figure.
    fn cpu_text(&self, parts: &[&str]) -> Option<String> {
        let rounds = parts.iter().filter_map(|part| self.profiles.get(*part));
        let rounds: Vec<&Profile> = rounds.flatten().collect();
        (!rounds.is_empty()).then(|| Profile::sum(rounds).text())
    }

    /// Returns the CPU times as JSON: for each name the sum over all rounds.
    fn profiles_json(&self) -> Value {
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

/// A figure of the report with its goal.
#[derive(Debug)]
pub(crate) struct Figure {
    /// The key of the figure in the JSON.
    pub(crate) key: &'static str,
    pub(crate) value: Option<f64>,
    pub(crate) goal: Goal,
    /// A description of the figure. For a quotient, the two values with a slash between them.
    pub(crate) about: &'static str,
    /// The names of the CPU times that show what limits the figure on this machine.
    pub(crate) parts: &'static [&'static str],
}

/// The goal of a figure.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
    /// No goal: the figure is reported in addition to another one.
    None,
}

impl Goal {
    /// Returns a text for the table: whether `value` meets the goal.
    fn met_text(self, value: Option<f64>) -> &'static str {
        let is_met = match (self, value) {
            (_, None) => return "not measured",
            (Self::None, _) => return "-",
            (Self::AtLeast(limit), Some(value)) => value >= limit,
            (Self::AtMost(limit), Some(value)) => value <= limit,
        };
        if is_met { "yes" } else { "no" }
    }
}

impl std::fmt::Display for Goal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtLeast(limit) => write!(f, ">= {limit}"),
            Self::AtMost(limit) => write!(f, "<= {limit}"),
            Self::None => f.write_str("-"),
        }
    }
}

/// The result of a run.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) samples: Samples,
    pub(crate) figures: Vec<Figure>,
    /// Additional keys for the top level of the JSON.
    pub(crate) extra: Map<String, Value>,
}

impl Report {
    /// Returns the figures as a Markdown table.
    pub(crate) fn text(&self) -> String {
        let mut text = String::from(
            "| figure | value | goal | met | about | bound |\n| --- | --- | --- | --- | --- | --- |\n",
        );
        for figure in &self.figures {
            let value = figure
                .value
                .map_or("-".to_owned(), |value| format!("{value:.3}"));
            let met = figure.goal.met_text(figure.value);
            let (key, goal, about) = (figure.key, figure.goal, figure.about);
            let cpu = self.samples.cpu_text(figure.parts);
            let cpu = cpu.as_deref().unwrap_or("-");
            let _ = writeln!(
                text,
                "| {key} | {value} | {goal} | {met} | {about} | {cpu} |"
            );
        }
        text
    }

    /// Returns the figures, samples and CPU times as JSON. A figure whose key is `a.b` is the field `b` of the object
    /// `a`.
    pub(crate) fn json(&self) -> Value {
        let mut all = self.extra.clone();
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
        all.insert("profiles".to_owned(), self.samples.profiles_json());
        Value::Object(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_the_median_of_the_quotients_of_each_round() {
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
    fn a_figure_with_a_dot_is_in_an_object() {
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

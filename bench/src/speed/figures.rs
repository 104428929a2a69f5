//! What was measured, round by round, and what is said of it.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Instant;

/// Values by name, one for each round.
#[derive(Debug, Default)]
pub(crate) struct Samples(BTreeMap<String, Vec<f64>>);

impl Samples {
    pub(crate) fn add(&mut self, name: &str, value: f64) {
        eprintln!("  {name}: {value:.3}");
        self.0.entry(name.to_owned()).or_default().push(value);
    }

    /// Runs something and keeps how many seconds it took.
    pub(crate) fn time<T>(
        &mut self,
        name: &str,
        work: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let began = Instant::now();
        let done = work()?;
        self.add(name, began.elapsed().as_secs_f64());
        Ok(done)
    }

    /// The middle of the values; of an even number of them the mean of both.
    pub(crate) fn median(&self, name: &str) -> Option<f64> {
        self.0.get(name).and_then(|values| median(values))
    }

    /// The median of the quotients of two values of the same round.
    pub(crate) fn ratio(&self, above: &str, below: &str) -> Option<f64> {
        let (above, below) = (self.0.get(above)?, self.0.get(below)?);
        let quotients: Vec<f64> = above.iter().zip(below).map(|(a, b)| a / b).collect();
        median(&quotients)
    }

    fn json(&self) -> Value {
        json!(self.0)
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
}

/// What a figure should be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtLeast(limit) => value >= limit,
            Self::AtMost(limit) => value <= limit,
        }
    }
}

impl std::fmt::Display for Goal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtLeast(limit) => write!(f, ">= {limit}"),
            Self::AtMost(limit) => write!(f, "<= {limit}"),
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
            "| figure | value | goal | met | about |\n| --- | --- | --- | --- | --- |\n",
        );
        for figure in &self.figures {
            let value = figure
                .value
                .map_or("-".to_owned(), |value| format!("{value:.3}"));
            let met = match figure.value {
                Some(value) if figure.goal.is_met(value) => "yes",
                Some(_) => "no",
                None => "not measured",
            };
            let (key, goal, about) = (figure.key, figure.goal, figure.about);
            let _ = writeln!(text, "| {key} | {value} | {goal} | {met} | {about} |");
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
        all.insert("samples".to_owned(), self.samples.json());
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

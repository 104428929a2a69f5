//! The printed text: a line for each run, and tables at the end.

use super::record::{RecordSums, ResultsFile, RunRecord};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Returns the line of a run. If the run failed, the text also contains the problems, the folder of its files, and how
/// to repeat it.
pub(super) fn line(record: &RunRecord, number: u64) -> String {
    let verdict = if record.survived {
        "survived"
    } else {
        "FAILED"
    };
    let mut text = format!(
        "{number:4} {verdict} {} --seed {} ({}, {}: {}) {:.1} s, {} acknowledged",
        record.case,
        record.seed,
        record.mode,
        record.path,
        record.outcome,
        record.seconds,
        record.acknowledged
    );
    if let Some(write_block) = record.window_ms {
        let _ = write!(text, ", writes refused for {write_block:.0} ms");
    }
    for (event, count) in [
        ("resumed", record.resumed),
        ("resubmitted", record.resubmitted),
    ] {
        if count > 0 {
            let _ = write!(text, ", {event} {count} times");
        }
    }
    for problem in &record.problems {
        let _ = write!(text, "\n       {problem}");
    }
    if let Some(evidence) = &record.evidence {
        let _ = write!(text, "\n       evidence: {}", evidence.display());
    }
    if record.survived {
        return text;
    }
    let _ = write!(
        text,
        "\n       replay: shardwright torture --only {} --seed {}",
        record.case, record.seed
    );
    if !["", "range"].contains(&record.strategy.as_str()) {
        let _ = write!(text, " --strategy {}", record.strategy);
    }
    text
}

/// Returns the tables of all runs so far.
#[must_use]
pub fn summary(results: &ResultsFile) -> String {
    let mut text = format!(
        "commit {}, seed {}: {} of {} cases run\n",
        results.commit, results.seed, results.cases_run, results.cases_in_all
    );
    for cases in &results.left_out {
        let _ = writeln!(text, "not run: {cases}");
    }
    text.push('\n');
    let parts = [
        ("component", &results.by_component),
        ("step", &results.by_step),
        ("fault", &results.by_fault),
        ("mode", &results.by_mode),
    ];
    for (name, sums) in parts {
        table(&mut text, name, sums);
    }
    row(&mut text, "all", &results.sums);
    text
}

fn table(text: &mut String, name: &str, sums: &BTreeMap<String, RecordSums>) {
    let _ = writeln!(
        text,
        "{name:14} {:>5} {:>9} {:>13} {:>5} {:>11} {:>8} {:>10} {:>6} {:>6} {:>6} {:>8} {:>6} {:>6} {:>7}",
        "runs",
        "survived",
        "acknowledged",
        "lost",
        "duplicated",
        "phantom",
        "misplaced",
        "wrong",
        "lists",
        "bank",
        "diverged",
        "stuck",
        "leaked",
        "95 % <"
    );
    for (name, sums) in sums {
        row(text, name, sums);
    }
    text.push('\n');
}

fn row(text: &mut String, name: &str, sums: &RecordSums) {
    let _ = writeln!(
        text,
        "{name:14} {:>5} {:>9} {:>13} {:>5} {:>11} {:>8} {:>10} {:>6} {:>6} {:>6} {:>8} {:>6} {:>6} {:>7}",
        sums.runs,
        sums.survived,
        sums.acknowledged,
        sums.lost,
        sums.duplicated,
        sums.phantom,
        sums.misplaced,
        sums.wrong,
        sums.not_linearizable,
        sums.money,
        sums.diverged,
        sums.stuck,
        sums.leaked,
        upper_bound_text(sums)
    );
}

/// Returns the upper bound, with 95 % confidence, of the probability that such a run is not survived: 3/n after n runs
/// without a failure; "-" if a run failed or there is none.
fn upper_bound_text(sums: &RecordSums) -> String {
    if sums.runs == 0 || sums.runs > sums.survived {
        return "-".to_owned();
    }
    #[expect(clippy::cast_precision_loss, reason = "a small number of runs")]
    let bound = 3.0 / sums.runs as f64;
    format!("{:.3}", bound.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_three_over_n_and_only_without_a_failure() {
        let sums = |runs, survived| RecordSums {
            runs,
            survived,
            ..RecordSums::default()
        };
        let bounds =
            [(0, 0), (2, 2), (600, 600), (600, 599)].map(|(r, s)| upper_bound_text(&sums(r, s)));
        assert_eq!(bounds, ["-", "1.000", "0.005", "-"]);
    }

    #[test]
    fn the_line_of_a_failed_run_has_the_command_that_replays_it() {
        let record = RunRecord {
            case: "agent@copy.half/kill".to_owned(),
            seed: 5,
            problems: vec!["1 acknowledged transactions lost".to_owned()],
            ..RunRecord::default()
        };
        let text = line(&record, 1);
        assert!(
            text.contains("torture --only agent@copy.half/kill --seed 5"),
            "{text}"
        );
        assert!(text.contains("1 acknowledged transactions lost"), "{text}");
    }
}

//! Computes the figures of the benchmark from the samples, each with its goal.
//!
//! In the texts of figures, A / B is the quotient of A and B. Raw pipes are a `COPY` piped to a `COPY`.

use super::figures::{Figure, Goal, Report, Samples};
use super::{Options, apply};
use serde_json::json;

/// Adds the figures of all parts that are measured in rounds. Does not decide whether a goal is met.
pub(crate) fn add_figures(report: &mut Report, options: &Options) {
    let samples = &report.samples;
    report.figures = copies(samples);
    report.figures.extend(backlogs(samples));
    report.figures.extend(impact(samples));
    report.figures.extend(throttle(samples));
    let rate = |name| samples.median(name).map(|seconds| apply::CHANGES / seconds);
    let peers = json!({
        "native": {
            "copy_s": samples.median("native.copy"), "build_s": samples.median("native.build"),
            "changes_per_second": rate("apply.mixed.native"), "skewed_changes_per_second": rate("apply.skewed.native"),
        },
        "pglogical": {
            "changes_per_second": rate("apply.mixed.pglogical"),
            "skewed_changes_per_second": rate("apply.skewed.pglogical"),
        },
        "pgcopydb": {"whole_s": samples.median("pgcopydb.whole")},
    });
    report.extra.insert("peers".to_owned(), peers);
    let run = json!({"items": options.items(), "rounds": options.rounds(), "quick": options.quick});
    report.extra.insert("run".to_owned(), run);
}

/// Returns the figures of the copy of rows, the building of indexes and the verification.
fn copies(samples: &Samples) -> Vec<Figure> {
    let sum = |names: &[&str]| {
        names
            .iter()
            .map(|name| samples.median(name))
            .sum::<Option<f64>>()
    };
    let quotient = |above: Option<f64>, below: Option<f64>| Some(above? / below?);
    vec![
        Figure {
            key: "copy_ratio",
            value: samples.ratio("raw.copy", "ours.copy"),
            goal: Goal::AtLeast(0.95),
            about: "copied rows per second: a migration / raw pipes",
            parts: &["ours.copy"],
        },
        Figure {
            key: "copy_index_verify_ratio",
            value: quotient(
                sum(&["ours.copy", "ours.build", "ours.verify"]),
                sum(&["raw.copy", "raw.build"]),
            ),
            goal: Goal::AtMost(1.15),
            about: "time of a migration for rows, indexes, keys and verification / time of raw pipes for rows and indexes",
            parts: &["ours.copy", "ours.build", "ours.verify"],
        },
        Figure {
            key: "verify_ratio",
            value: samples.ratio("raw.digest", "ours.verify"),
            goal: Goal::AtLeast(0.85),
            about: "rows per second: the step verify / a query that computes a digest of all rows on both servers",
            parts: &["ours.verify"],
        },
        Figure {
            key: "verify_added_ratio",
            value: samples.ratio("ours.verify", "ours.copy"),
            goal: Goal::AtMost(0.05),
            about: "time of the step verify / time of the copy of the rows",
            parts: &["ours.verify"],
        },
        Figure {
            key: "whole_database_ratio",
            value: samples.ratio("ours.whole", "pgcopydb.whole"),
            goal: Goal::AtMost(1.0),
            about: "time for the whole database with indexes and foreign keys: a migration / pgcopydb with 4 jobs",
            parts: &["ours.whole"],
        },
    ]
}

/// Returns the figures of a backlog of changes that a migration's stream or another tool applies.
fn backlogs(samples: &Samples) -> Vec<Figure> {
    vec![
        Figure {
            key: "apply_ratio_native",
            value: samples.ratio("apply.mixed.native", "apply.mixed.ours"),
            goal: Goal::AtLeast(2.0),
            about: "mixed changes per second, decoding included: a migration with two connections to the target / a native subscription",
            parts: &["apply.mixed.ours"],
        },
        Figure {
            key: "apply_ratio_native_one",
            value: samples.ratio("apply.mixed.native", "apply.mixed.one"),
            goal: Goal::AtLeast(1.5),
            about: "the same, but a migration with one connection (`apply_sessions: 1`)",
            parts: &["apply.mixed.one"],
        },
        Figure {
            key: "apply_ratio_native_skewed",
            value: samples.ratio("apply.skewed.native", "apply.skewed.ours"),
            goal: Goal::AtLeast(5.0),
            about: "the same with two connections, if most updates change the same few rows",
            parts: &["apply.skewed.ours"],
        },
        Figure {
            key: "apply_ratio_decode",
            value: samples.ratio("apply.mixed.decode", "apply.mixed.ours"),
            goal: Goal::AtLeast(0.9),
            about: "mixed changes per second: a migration / logical decoding alone, whose output is discarded",
            parts: &["apply.mixed.ours"],
        },
    ]
}

/// Returns the figures of the effect of a migration on the latency of an application, at half of the source's maximum
/// load. Alone means without a migration.
fn impact(samples: &Samples) -> Vec<Figure> {
    vec![
        Figure {
            key: "impact.goodput_loss",
            value: samples.median("impact.goodput_loss"),
            goal: Goal::AtMost(0.005),
            about: "fraction of transactions slower than twice the p99 alone: during a migration minus alone",
            parts: &["impact.beside"],
        },
        Figure {
            key: "impact.p99_ratio",
            value: samples.ratio("impact.p99_beside_ms", "impact.p99_alone_ms"),
            goal: Goal::AtMost(1.10),
            about: "99th percentile of the latency: during a migration / alone",
            parts: &["impact.beside"],
        },
        Figure {
            key: "impact.p999_ratio",
            value: samples.ratio("impact.p999_beside_ms", "impact.p999_alone_ms"),
            goal: Goal::AtMost(1.25),
            about: "99.9th percentile of the latency: during a migration / alone",
            parts: &["impact.beside"],
        },
    ]
}

/// Returns how far the application's latency (p99) was from the configured latency limit (set point).
fn throttle(samples: &Samples) -> Vec<Figure> {
    let figure = |key, name, about| Figure {
        key,
        value: samples.median(name),
        goal: Goal::AtMost(0.2),
        about,
        parts: &["throttle.copy"],
    };
    vec![
        figure(
            "throttle.deviation",
            "throttle.whole_deviation",
            "how far the p99 of the whole copy is from the latency limit; the load changes from 30 % to 70 % and back",
        ),
        figure(
            "throttle.deviation_low",
            "throttle.low_deviation",
            "how far the median of the reported p99 values is from the latency limit, while the load is 30 %",
        ),
        figure(
            "throttle.deviation_high",
            "throttle.high_deviation",
            "the same, while the load is 70 %",
        ),
    ]
}

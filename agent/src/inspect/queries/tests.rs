//! Tests that the codes of findings in the code are those of the registry, and that the page docs/doctor.md has a
//! chapter for each.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use plans::doctor::GROUPS;

use super::pair::clock_difference;

/// Collects every string in a folder or file that has the form of a finding's code: two words with a dot between them.
fn collect_finding_names(path: &Path, found: &mut BTreeSet<String>) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("a folder") {
            collect_finding_names(&entry.expect("an entry").path(), found);
        }
        return;
    }
    let text = std::fs::read_to_string(path).expect("a source");
    let strings = text.split('"').filter(|text| {
        let word = |word: &str| {
            !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
        };
        text.split_once('.')
            .is_some_and(|(noun, reason)| word(noun) && word(reason))
    });
    found.extend(strings.map(str::to_owned));
}

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn every_finding_has_a_row_in_the_registry_and_every_row_is_used() {
    let root = folder("src/inspect");
    let mut named = BTreeSet::new();
    for path in [
        "queries",
        "queries.rs",
        "doctor.rs",
        "findings.rs",
        "survey",
        "survey.rs",
    ] {
        collect_finding_names(&root.join(path), &mut named);
    }
    // Names of source files in this file have the same form.
    named.retain(|name| !name.ends_with(".rs"));
    let rows = GROUPS.iter().flat_map(|group| group.codes);
    let known: BTreeSet<String> = rows.map(|code| code.name.to_owned()).collect();
    let lacking: Vec<_> = named.difference(&known).collect();
    assert!(lacking.is_empty(), "without a row: {lacking:?}");
    let mut used = named;
    collect_finding_names(&folder("src"), &mut used);
    let unused: Vec<_> = known.difference(&used).collect();
    assert!(unused.is_empty(), "found by nothing: {unused:?}");
}

/// Findings that no test of the doctor provokes, each with the reason.
const NOT_PLANTED: [(&str, &str); 4] = [
    (
        "target.absent",
        "the planner finds it, not an inspection: plans/tests/plans/examples.rs, and operations/existing.rs of orchestrator's tests",
    ),
    (
        "trial.failed",
        "found by a plan: protocol_tests/survey_trial.rs",
    ),
    (
        "trial.unfinished",
        "found by a plan: protocol_tests/survey_trial.rs",
    ),
    (
        "pair.version",
        "needs PostgreSQL 18 beside an older one: protocol_tests/versions.rs, where both are installed",
    ),
];

/// The minimum number of findings that the tests of the doctor provoke.
const MIN_PLANTED: usize = 50;

#[test]
fn a_test_provokes_every_finding_except_the_excused_ones() {
    let mut named = BTreeSet::new();
    for path in ["src/protocol_tests/doctor.rs", "src/protocol_tests/doctor"] {
        collect_finding_names(&folder(path), &mut named);
    }
    let rows = GROUPS.iter().flat_map(|group| group.codes);
    let known: BTreeSet<String> = rows.map(|code| code.name.to_owned()).collect();
    let excused: BTreeSet<String> = NOT_PLANTED.map(|(code, _)| code.to_owned()).into();
    let planted: BTreeSet<String> = named.intersection(&known).cloned().collect();
    let lacking: BTreeSet<String> = known.difference(&planted).cloned().collect();
    assert_eq!(
        lacking, excused,
        "left: provoked by no test; right: excused"
    );
    assert!(
        planted.len() >= MIN_PLANTED,
        "{} are planted",
        planted.len()
    );
}

/// The line of the page after which the text is generated from the registry.
const GENERATED_MARK: &str =
    "<!-- made of plans/src/doctor; WRITE_DOCS=1 cargo test -p agent the_page writes it anew -->\n";

#[test]
fn the_page_has_a_chapter_for_each_code() {
    let path = folder("../docs/doctor.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let (written, generated) = page
        .split_once(GENERATED_MARK)
        .expect("the line before the codes");
    let mut wanted = String::new();
    for group in GROUPS {
        let _ = write!(wanted, "\n## {}\n", group.title);
        for code in group.codes {
            let anchor = code.sw.to_lowercase();
            let _ = write!(wanted, "\n<a id=\"{anchor}\"></a>\n### {}", code.chapter());
        }
    }
    if std::env::var_os("WRITE_DOCS").is_some() {
        std::fs::write(&path, format!("{written}{GENERATED_MARK}{wanted}")).expect("written");
    } else {
        assert!(
            generated == wanted,
            "docs/doctor.md is older than the registry: {GENERATED_MARK}"
        );
    }
}

#[test]
fn clocks_differ_if_the_duration_of_the_queries_does_not_explain_the_difference() {
    assert_eq!(clock_difference(100.0, 100.5, 101.0), None);
    assert_eq!(clock_difference(100.0, 101.5, 100.9), None);
    assert_eq!(clock_difference(100.0, 98.5, 100.2), Some(1.5));
    assert_eq!(clock_difference(100.0, 103.0, 100.5), Some(2.5));
}

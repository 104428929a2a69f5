//! Every code of the API's problems has a line in docs/api.md, and no line has another.

use std::collections::BTreeSet;
use std::path::Path;

/// Texts in quotes that look like a code.
fn codes(text: &str, quote: char) -> BTreeSet<String> {
    let word = |part: &str| {
        let mut letters = part.chars();
        letters.next().is_some_and(|c| c.is_ascii_lowercase())
            && letters.all(|c| c.is_ascii_lowercase() || c == '_')
    };
    let parts = text.split(quote).skip(1).step_by(2);
    let codes = parts.filter(|part| {
        part.split_once('.')
            .is_some_and(|(noun, reason)| word(noun) && word(reason))
    });
    codes.map(str::to_owned).collect()
}

#[test]
fn every_code_of_a_problem_has_a_line() {
    let top = crate::top();
    let read = |file: &Path| std::fs::read_to_string(file).unwrap();
    let mut known = BTreeSet::from(["host.foreign", "origin.foreign"].map(str::to_owned));
    let errors = top.join("orchestrator/src/api/error");
    let parts = std::fs::read_dir(&errors).unwrap();
    let parts = parts.map(|part| part.unwrap().path());
    for file in parts.chain([errors.with_extension("rs")]) {
        known.extend(codes(&read(&file), '"'));
    }
    let page = read(&top.join("docs/api.md"));
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let firsts = rows.filter_map(|row| row.split('|').nth(1));
    let told: BTreeSet<String> = firsts.flat_map(|first| codes(first, '`')).collect();
    assert!(known.len() > 50, "{known:?}");
    assert_eq!(told, known);
}

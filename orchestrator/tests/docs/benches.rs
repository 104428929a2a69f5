//! `docs/benchmarks.md` says how to run each bench and each part of `make bench`, and no other.

use crate::top;
use std::collections::BTreeSet;

/// Every name in code marks in the row of the page's table that contains `mark`, after `mark`.
fn described(page: &str, mark: &str) -> BTreeSet<String> {
    let mut rows = page.lines().filter_map(|line| line.split_once(mark));
    let (_, names) = rows.next().unwrap_or_else(|| panic!("{mark}"));
    let names = names.split('`').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

/// The variants of `enum Part`, as the command line names them.
fn parts(source: &str) -> BTreeSet<String> {
    let (_, variants) = source.split_once("pub enum Part {").unwrap();
    let variants = variants.split_once('}').unwrap().0.lines().map(str::trim);
    let variants = variants.filter_map(|line| line.strip_suffix(','));
    variants.map(str::to_lowercase).collect()
}

#[test]
fn every_bench_is_described_and_no_other() {
    let page = std::fs::read_to_string(top().join("docs/benchmarks.md")).unwrap();
    let files = std::fs::read_dir(top().join("bench/benches")).unwrap();
    let benches: BTreeSet<String> = files
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_owned())
        .map(|name| name.into_string().unwrap())
        .collect();
    assert_eq!(described(&page, "--bench NAME`:"), benches);
    for bench in benches {
        let is_described =
            page.contains(&format!("(`{bench}`)")) || page.contains(&format!("| `{bench}` |"));
        assert!(is_described, "{bench} has no figure and no paragraph");
    }
    let options = std::fs::read_to_string(top().join("bench/src/speed/options.rs")).unwrap();
    assert_eq!(described(&page, "--only PART\"`:"), parts(&options));
}

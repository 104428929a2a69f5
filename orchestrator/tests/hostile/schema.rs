//! Both shards have the same schema in the end, as pg_dump prints it.

use crate::course::Course;
use std::collections::BTreeSet;

/// Asserts that the schemas are equal but for what a shard keeps that released keys, and for the steps of sequences.
pub(crate) async fn compare(course: &Course<'_>) {
    let (source, target) = tokio::join!(
        course.fleet.schema(&course.source),
        course.fleet.schema(&course.target)
    );
    let (source, target) = (statements(&source), statements(&target));
    let only = |of: &BTreeSet<String>, other: &BTreeSet<String>| {
        let only: Vec<String> = of.difference(other).cloned().collect();
        only.join("\n")
    };
    assert!(
        source == target,
        "the schemas differ; on the source alone:\n{}\non the target alone:\n{}",
        only(&source, &target),
        only(&target, &source)
    );
}

fn statements(dump: &str) -> BTreeSet<String> {
    let blocks = dump.split("\n--\n-- Name: ").skip(1);
    let blocks = blocks.filter(|block| !block.contains("shardwright_guard_away"));
    let kept = |line: &&str| {
        let line = line.trim();
        !line.starts_with("INCREMENT BY")
            && !line.trim_matches('-').is_empty()
            && !line.starts_with('\\')
    };
    blocks
        .map(|block| {
            let lines = block.lines();
            let lines = lines.take_while(|line| *line != "-- PostgreSQL database dump complete");
            lines.filter(kept).collect::<Vec<_>>().join("\n")
        })
        .collect()
}

//! Parts, gaps, widths and slots of bars.

use super::*;
use plans::id::ShardName;
use plans::shard_map::MappingState;

fn mapping(keys: KeySet, shard: &str) -> Mapping {
    Mapping {
        keys,
        shard: ShardName::from(shard),
        state: MappingState::Active,
    }
}

fn range(from: Option<i64>, to: Option<i64>, shard: &str) -> Mapping {
    mapping(KeySet::range(from.map(Key::Int), to.map(Key::Int)), shard)
}

fn part_widths(mappings: &[Mapping]) -> Vec<(String, i64)> {
    let parts = parts(&without_moving_keys(mappings), &Palette::default()).into_iter();
    parts
        .map(|part| (part.shard.clone(), part.width.round() as i64))
        .collect()
}

#[test]
fn a_map_of_one_shard_is_one_part() {
    assert_eq!(
        part_widths(&[range(None, None, "a")]),
        [("a".to_owned(), 100)]
    );
}

#[test]
fn parts_fill_the_bar_and_gaps_are_shown() {
    let widths = part_widths(&[range(None, Some(10), "a"), range(Some(20), None, "b")]);
    let names: Vec<&str> = widths.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a", "no shard", "b"]);
    assert_eq!(widths.iter().map(|(_, width)| width).sum::<i64>(), 100);
}

#[test]
fn a_single_bound_is_in_the_middle() {
    let widths = part_widths(&[range(None, Some(501), "a"), range(Some(501), None, "b")]);
    assert_eq!(widths, [("a".to_owned(), 50), ("b".to_owned(), 50)]);
}

#[test]
fn bounds_that_are_not_numbers_are_at_equal_distances() {
    let text = |from: Option<&str>, to: Option<&str>| {
        KeySet::range(from.map(Key::from), to.map(Key::from))
    };
    let widths = part_widths(&[
        mapping(text(None, Some("b")), "a"),
        mapping(text(Some("b"), Some("c")), "b"),
        mapping(text(Some("c"), Some("z")), "a"),
        mapping(text(Some("z"), None), "b"),
    ]);
    let widths: Vec<i64> = widths.iter().map(|(_, width)| *width).collect();
    assert_eq!(widths, [12, 38, 38, 12]);
}

#[test]
fn virtual_shards_and_listed_keys_have_proportional_widths() {
    let buckets = |from, to| KeySet::buckets(8, from, to);
    let widths = part_widths(&[mapping(buckets(0, 2), "a"), mapping(buckets(2, 8), "b")]);
    assert_eq!(widths, [("a".to_owned(), 25), ("b".to_owned(), 75)]);
    let keys = |keys: &[&str]| KeySet::list(keys.iter().map(|key| Key::from(*key)));
    let widths = part_widths(&[
        mapping(keys(&["x"]), "a"),
        mapping(keys(&["y", "z", "ä"]), "b"),
    ]);
    assert_eq!(widths, [("a".to_owned(), 25), ("b".to_owned(), 75)]);
}

#[test]
fn only_the_moving_keys_of_a_part_are_marked() {
    let text = |from: Option<&str>, to: Option<&str>| {
        KeySet::range(from.map(Key::from), to.map(Key::from))
    };
    let (owned, kept) = (
        mapping(text(None, Some("f")), "s1"),
        mapping(text(Some("f"), None), "s2"),
    );
    let moving = text(Some("echo"), Some("f"));
    let parts = parts(
        &[(&owned, Some(&moving)), (&kept, None)],
        &Palette::default(),
    );
    let [part, rest] = parts.as_slice() else {
        panic!("{parts:?}");
    };
    let [span] = part.moving.as_slice() else {
        panic!("{part:?}");
    };
    assert!(span.x > part.x && span.width < part.width, "{part:?}");
    assert!(
        (span.x + span.width - (part.x + part.width)).abs() < 0.01,
        "{part:?}"
    );
    assert_eq!(part.title(), "(-∞, \"f\"): s1, [\"echo\", \"f\") moving");
    assert!(rest.moving.is_empty());
}

#[test]
fn a_bar_with_too_many_parts_gets_equal_slots_that_fill_it() {
    let bucket = |at: u32| {
        let shard = if at.is_multiple_of(2) { "a" } else { "b" };
        mapping(KeySet::buckets(4096, at, at + 1), shard)
    };
    let all: Vec<Mapping> = (0..4096).map(bucket).collect();
    let slots = parts(&without_moving_keys(&all), &Palette::default());
    assert!(slots.len() <= 160, "{}", slots.len());
    let width: f64 = slots.iter().map(|part| part.width).sum();
    assert!((width - 100.0).abs() < 0.01, "{width}");
}

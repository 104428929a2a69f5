//! Properties of key sets and shard maps.

use crate::fixture;
use plans::graph::{StepGraph, StepNode};
use plans::id::ShardName;
use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use plans::shard_map::{ShardMap, difference};
use plans::step::StepKind;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A bound near the middle or at an end of the type.
fn bound() -> impl Strategy<Value = Option<i64>> {
    prop_oneof![
        1 => Just(None),
        8 => (-20_i64..20).prop_map(Some),
        1 => any::<i64>().prop_map(Some),
    ]
}

fn key() -> impl Strategy<Value = i64> {
    prop_oneof![8 => -22_i64..22, 1 => any::<i64>()]
}

/// A map whose mappings may leave gaps, and shards own several of them.
fn map() -> impl Strategy<Value = ShardMap> {
    let cuts = prop::collection::btree_set(-20_i64..20, 1..6);
    (
        cuts,
        any::<[bool; 2]>(),
        prop::collection::vec(0..4_usize, 8),
    )
        .prop_map(|(cuts, open, owners)| {
            let mut bounds: Vec<Option<i64>> = cuts.into_iter().map(Some).collect();
            if open[0] {
                bounds.insert(0, None);
            }
            if open[1] {
                bounds.push(None);
            }
            let shards = ["a", "b", "c"];
            let mappings: Vec<_> = bounds
                .windows(2)
                .zip(owners)
                // The owner 3 is no shard: a gap.
                .filter_map(|(pair, owner)| {
                    shards.get(owner).map(|shard| (pair[0], pair[1], *shard))
                })
                .collect();
            fixture::map("m", &mappings).validated().unwrap()
        })
}

/// Evaluates the text of the set's SQL predicate for `key`.
fn predicate_holds(set: &KeySet, key: i64) -> bool {
    let text = set.predicate(&[("k".to_owned(), KeyType::Bigint)]);
    let text = text
        .strip_prefix('(')
        .and_then(|t| t.strip_suffix(')'))
        .unwrap();
    if text == "false" {
        return false;
    }
    text.split(" and ").all(|term| {
        if term == "true" {
            return true;
        }
        let (compare, literal) = term.split_once(") '").unwrap();
        let value: i64 = literal
            .strip_suffix("'::pg_catalog.int8")
            .unwrap()
            .parse()
            .unwrap();
        match compare {
            "k operator(pg_catalog.>=" => key >= value,
            "k operator(pg_catalog.<" => key < value,
            other => panic!("{other}"),
        }
    })
}

fn owner(map: &ShardMap, key: i64) -> Option<String> {
    map.locate(&Key::Int(key))
        .map(|mapping| mapping.shard.to_string())
}

proptest! {
    #[test]
    fn the_predicate_and_contains_agree(from in bound(), to in bound(), key in key()) {
        let set = fixture::range(from, to);
        prop_assert_eq!(set.contains(&Key::Int(key)), predicate_holds(&set, key));
    }

    #[test]
    fn sets_that_share_a_key_overlap(a in (bound(), bound()), b in (bound(), bound()), key in key()) {
        let (a, b) = (fixture::range(a.0, a.1), fixture::range(b.0, b.1));
        if a.contains(&Key::Int(key)) && b.contains(&Key::Int(key)) {
            prop_assert!(a.overlaps(&b) && b.overlaps(&a));
        }
        prop_assert_eq!(a.overlaps(&b), b.overlaps(&a));
    }

    #[test]
    fn a_range_that_covers_another_has_all_its_keys(a in (bound(), bound()), b in (bound(), bound()), key in key()) {
        let (a, b) = (fixture::range(a.0, a.1), fixture::range(b.0, b.1));
        if a.covers(&b) && b.contains(&Key::Int(key)) {
            prop_assert!(a.contains(&Key::Int(key)));
        }
    }

    #[test]
    fn locate_finds_the_same_owner_as_a_linear_search(map in map(), key in key()) {
        let mut owners = map.mappings.iter().filter(|m| m.keys.contains(&Key::Int(key)));
        let found = owners.next().map(|m| m.shard.to_string());
        prop_assert_eq!(owners.next(), None);
        prop_assert_eq!(owner(&map, key), found);
    }

    #[test]
    fn a_move_changes_the_owner_of_its_keys_only(map in map(), pick in any::<prop::sample::Index>(), cut in (bound(), bound()), key in key()) {
        prop_assume!(!map.mappings.is_empty());
        let old = pick.get(&map.mappings);
        let moved = fixture::range(cut.0, cut.1);
        let next = map.with_moved(&moved, &old.shard, &"new".into(), &"m1".into());
        prop_assert_eq!(next.is_ok(), !moved.is_empty() && map.owned_by(&old.shard).covers(&moved));
        prop_assert!(next.is_ok() || moved.is_empty() || !old.keys.covers(&moved));
        if let Ok(next) = next {
            prop_assert_eq!(next.version, map.version.next());
            // The mappings do not overlap: `validated` finds no problem.
            prop_assert_eq!(next.clone().validated(), Ok(next.clone()));
            let before = owner(&map, key);
            let expected = if moved.contains(&Key::Int(key)) { Some("new".to_owned()) } else { before };
            prop_assert_eq!(owner(&next, key), expected);
        }
    }

    #[test]
    fn a_difference_has_each_key_whose_owner_changed_once(before in map(), after in map(), key in key()) {
        let (from, to) = (owner(&before, key), owner(&after, key));
        let differences = difference(&before, &after);
        let of_key = differences.iter().filter(|found| found.keys.contains(&Key::Int(key)));
        let name = |shard: &Option<ShardName>| shard.as_ref().map(ToString::to_string);
        let found: Vec<_> = of_key.map(|found| (name(&found.from), name(&found.to))).collect();
        let expected = if from == to { Vec::new() } else { vec![(from, to)] };
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn a_move_and_its_reverse_restore_every_owner(map in map(), pick in any::<prop::sample::Index>(), key in key()) {
        prop_assume!(!map.mappings.is_empty());
        let old = pick.get(&map.mappings).clone();
        let moved = map.with_moved(&old.keys, &old.shard, &"new".into(), &"m1".into()).unwrap();
        let back = moved.with_moved(&old.keys, &"new".into(), &old.shard, &"m1".into()).unwrap();
        prop_assert_eq!(owner(&back, key), owner(&map, key));
    }

    #[test]
    fn ready_steps_are_in_an_order_that_their_dependencies_permit(edges in prop::collection::vec(any::<u8>(), 1..9)) {
        let id = |nth: usize| plans::id::StepId(format!("s{nth}"));
        let nodes = edges.iter().enumerate().map(|(nth, mask)| StepNode {
            id: id(nth),
            kind: StepKind::Copy,
            after: (0..nth).filter(|before| mask >> before & 1 == 1).map(id).collect(),
        });
        let graph = StepGraph::new(nodes.collect()).unwrap();
        let mut done = BTreeSet::new();
        for _ in 0..graph.nodes().len() {
            let next = graph.ready(&done).last().unwrap();
            prop_assert!(next.after.iter().all(|before| done.contains(before)));
            done.insert(next.id.clone());
        }
        prop_assert_eq!(graph.ready(&done).count(), 0);
    }

    #[test]
    fn a_graph_with_a_dependency_on_a_later_step_is_refused(nth in 0_usize..5, ahead in 0_usize..5) {
        let id = |nth: usize| plans::id::StepId(format!("s{nth}"));
        let mut nodes: Vec<_> = (0..5).map(|nth| StepNode { id: id(nth), kind: StepKind::Copy, after: Vec::new() }).collect();
        nodes[nth].after.push(id(nth + ahead));
        prop_assert!(StepGraph::new(nodes).is_err());
    }
}

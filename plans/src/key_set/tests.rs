//! Sets of keys: membership, predicates, union, intersection and difference.

use super::*;
use proptest::prelude::*;

fn range(from: Option<i64>, to: Option<i64>) -> KeySet {
    KeySet::range(from.map(Key::Int), to.map(Key::Int))
}

fn bigint(column: &str) -> Vec<(String, KeyType)> {
    vec![(column.to_owned(), KeyType::Bigint)]
}

#[test]
fn a_range_holds_its_lower_bound_and_not_its_upper() {
    let r = range(Some(3), Some(5));
    assert!(r.contains(&Key::Int(3)) && r.contains(&Key::Int(4)));
    assert!(!r.contains(&Key::Int(2)) && !r.contains(&Key::Int(5)));
}

#[test]
fn adjacent_ranges_do_not_overlap() {
    assert!(!range(None, Some(5)).overlaps(&range(Some(5), None)));
    assert!(range(None, Some(6)).overlaps(&range(Some(5), None)));
    assert!(!range(Some(5), Some(5)).overlaps(&range(None, None)));
}

#[test]
fn a_range_covers_another_if_it_covers_both_ends() {
    assert!(range(None, None).covers(&range(Some(1), Some(2))));
    assert!(!range(Some(1), None).covers(&range(None, Some(2))));
    assert!(range(Some(1), Some(9)).covers(&range(Some(1), Some(9))));
}

#[test]
fn a_difference_can_have_two_pieces_and_a_union_joins_them() {
    let rest = range(None, None).minus(&range(Some(3), Some(5)));
    assert_eq!(rest.to_string(), "(-∞, 3), [5, ∞)");
    assert_eq!(rest.union(&range(Some(3), Some(5))), range(None, None));
}

#[test]
fn the_predicate_quotes_its_bounds() {
    assert_eq!(
        range(Some(i64::MIN), Some(7)).predicate(&bigint("\"k\"")),
        "(\"k\" operator(pg_catalog.>=) '-9223372036854775808'::pg_catalog.int8 \
         and \"k\" operator(pg_catalog.<) '7'::pg_catalog.int8)"
    );
    let text = KeySet::list([Key::from("it's"), Key::from("a\"\\b")]);
    assert_eq!(
        text.predicate(&[("k".to_owned(), KeyType::Text)]),
        "((k::pg_catalog.text collate pg_catalog.\"C\") operator(pg_catalog.=) any (e'{\"a\\\\\"\\\\\\\\b\",\"it''s\"}'::pg_catalog.text[]))"
    );
}

#[test]
fn many_single_keys_are_written_as_lists() {
    let even = (0..20).map(|key| Key::Int(2 * key));
    let single = range(None, None).of_keys(even);
    let large = range(Some(1000), None).minus(&range(None, None).of_keys([
        Key::Int(2000),
        Key::Int(2001),
        Key::Int(3000),
    ]));
    assert_eq!(
        single.union(&large).predicate(&bigint("k")),
        "((((k operator(pg_catalog.>=) '1000'::pg_catalog.int8)) and not (k operator(pg_catalog.=) any ('{\"2000\",\"2001\",\"3000\"}'::pg_catalog.int8[]))) or \
         (k operator(pg_catalog.=) any ('{\"0\",\"2\",\"4\",\"6\",\"8\",\"10\",\"12\",\"14\",\"16\",\"18\",\"20\",\"22\",\"24\",\"26\",\"28\",\"30\",\"32\",\"34\",\"36\",\"38\"}'::pg_catalog.int8[])))"
    );
}

#[test]
fn the_predicate_of_an_empty_set_is_false() {
    assert_eq!(
        range(None, None).empty_set().predicate(&bigint("k")),
        "(false)"
    );
    assert_eq!(KeySet::list([]).predicate(&bigint("k")), "(false)");
    assert_eq!(KeySet::buckets(8, 3, 3).predicate(&bigint("k")), "(false)");
}

fn sets() -> impl Strategy<Value = KeySet> {
    let ends = proptest::collection::vec((0_u32..16, 0_u32..16), 0..4);
    let except = proptest::collection::vec(-2_i64..40, 0..6);
    let buckets = (ends.clone(), except).prop_map(|(ends, except)| {
        let ranges = ends.iter().map(|(from, to)| BucketRange {
            from: *from,
            to: *to,
        });
        KeySet::Hash(Buckets {
            of: 16,
            ranges: ranges.collect(),
            except: except.into_iter().map(Key::Int).collect(),
        })
        .normal()
    });
    let ranges = proptest::collection::vec((-1_i64..16, 0_i64..17), 0..4).prop_map(|ends| {
        let ranges = ends.iter().map(|(from, to)| KeyRange {
            from: (*from >= 0).then_some(Key::Int(*from)),
            to: (*to < 16).then_some(Key::Int(*to)),
        });
        KeySet::Range(ranges.collect()).normal()
    });
    prop_oneof![buckets, ranges]
}

/// Returns keys within and outside of all bounds that `sets` can have.
fn keys() -> impl Iterator<Item = Key> {
    (-2..40).map(Key::Int)
}

proptest! {
    #[test]
    fn union_difference_and_intersection_have_the_expected_members(a in sets(), b in sets()) {
        prop_assume!(std::mem::discriminant(&a) == std::mem::discriminant(&b));
        for key in keys() {
            let (in_a, in_b) = (a.contains(&key), b.contains(&key));
            prop_assert_eq!(a.union(&b).contains(&key), in_a || in_b);
            prop_assert_eq!(a.minus(&b).contains(&key), in_a && !in_b);
            prop_assert_eq!(a.intersection(&b).contains(&key), in_a && in_b);
        }
        prop_assert_eq!(a.is_empty(), a == a.empty_set());
        let pieces = a.pieces();
        prop_assert_eq!(a.empty_set().union_all(&pieces), a.clone());
        for (piece, others) in pieces.iter().zip(1..).map(|(piece, n)| (piece, &pieces[n..])) {
            prop_assert!(others.iter().all(|other| !piece.overlaps(other)));
        }
        prop_assert_eq!(a.minus(&b).union(&a.intersection(&b)), a.clone());
        prop_assert!(!a.minus(&b).overlaps(&b));
    }

    #[test]
    fn ordered_bytes_have_the_order_of_the_keys(a in any::<i64>(), b in any::<i64>(), s in ".{0,4}", t in ".{0,4}") {
        let pairs = [
            (Key::Int(a), Key::Int(b)),
            (Key::Text(s.clone()), Key::Text(t.clone())),
            (Key::Row(vec![Key::Text(s), Key::Int(a)]), Key::Row(vec![Key::Text(t), Key::Int(b)])),
        ];
        for (x, y) in pairs {
            prop_assert_eq!(x.cmp(&y), x.ordered_bytes().cmp(&y.ordered_bytes()));
        }
    }
}

proptest! {
    /// Two sets have a common span exactly if they have a common key.
    #[test]
    fn spans_overlap_where_sets_do(a in sets(), b in sets()) {
        prop_assume!(std::mem::discriminant(&a) == std::mem::discriminant(&b));
        let is_before = |end: &Option<Vec<u8>>, start: &Option<Vec<u8>>| {
            matches!((end, start), (Some(end), Some(start)) if end <= start)
        };
        let own = b.spans();
        let meets = |(from, to): &Span| {
            own.iter().any(|(other_from, other_to)| !is_before(to, other_from) && !is_before(other_to, from))
        };
        prop_assert_eq!(a.spans().iter().any(meets), a.overlaps(&b));
    }

    /// Virtual shards of another number name the same keys.
    #[test]
    fn virtual_shards_of_a_multiple_have_the_same_keys(
        parts in proptest::collection::vec((0_u32..16, 0_u32..=16), 0..4),
        single in proptest::collection::vec(any::<i64>(), 0..4),
        doublings in 0_u32..4,
        keys in proptest::collection::vec(any::<i64>(), 1..200),
    ) {
        let empty = KeySet::buckets(16, 0, 0);
        let set = parts.iter().fold(empty, |all, (from, to)| all.union(&KeySet::buckets(16, *from, *to)));
        let single = KeySet::single_keys(16, single.into_iter().map(Key::Int));
        let set = set.union(&single).minus(&set.intersection(&single));
        let more = set.with_bucket_count(16 << doublings).unwrap();
        for key in keys {
            prop_assert_eq!(set.contains(&Key::Int(key)), more.contains(&Key::Int(key)));
        }
        prop_assert_eq!(more.with_bucket_count(16), Some(set.clone()));
        prop_assert!(set.covers(&more) && more.covers(&set));
        prop_assert!(set.minus(&more).is_empty() && more.minus(&set).is_empty());
        prop_assert!(set.union(&more).covers(&set) && set.intersection(&more).covers(&set));
    }
}

#[test]
fn fewer_virtual_shards_cannot_tell_keys_apart() {
    let halves = KeySet::buckets(16, 2, 4).union(&KeySet::buckets(16, 10, 12));
    assert_eq!(halves.with_bucket_count(8), Some(KeySet::buckets(8, 2, 4)));
    assert_eq!(KeySet::buckets(16, 2, 4).with_bucket_count(8), None);
    assert_eq!(KeySet::buckets(16, 10, 12).with_bucket_count(8), None);
    assert_eq!(halves.with_bucket_count(4), None);
}

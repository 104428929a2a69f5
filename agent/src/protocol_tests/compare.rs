//! The comparison: chunks cover each row of a table exactly once, and one changed value is found, with any names of the
//! columns.

use std::collections::BTreeMap;

use connect::Connected;
use plans::step::verify::{DifferenceKind, RowDifference};

use super::bench::Bench;
use crate::compare::{self, ChunkScope, MovingRows, RowsDigest};

/// Columns with the names that the statements of the comparison use.
const NAMES: &str = "create table public.names ( \
    tenant_id bigint, key text, t text, k text, given text, count int, \"T\" text, primary key (key, tenant_id)); \
    insert into public.names select 100, 'k' || g, 't', 'k', 'g', g, 'T' from generate_series(1, 300) g";

/// 2,000 rows. The first columns of the key have a sort order, and one row in ten does not move.
const ORDERED: &str = "create table public.ordered ( \
    tenant_id bigint, at timestamptz, name text, primary key (tenant_id, at, name)); \
    insert into public.ordered select case g % 10 when 0 then 1 else 100 + g % 7 end, \
      timestamptz '2026-01-01' + g % 50 * interval '1 day', 'n' || g from generate_series(1, 2000) g";

/// Changes on the target, with the number of rows that differ after each.
const CHANGES: [(&str, i64); 7] = [
    ("select", 0),
    ("update public.names set given = 'other' where count = 7", 1),
    ("update public.names set t = null where count = 8", 2),
    ("delete from public.names where count = 9", 3),
    ("insert into public.names values (100, 'new', 't')", 4),
    ("insert into public.names values (1, 'not moving', 't')", 4),
    (
        "update public.names set tenant_id = 101 where count = 10",
        6,
    ),
];

#[tokio::test]
async fn one_changed_value_is_found_by_digest_by_row_and_by_key() {
    let bench = Bench::new("comparedrows", NAMES).await;
    let (here, there) = (
        bench.ours(&bench.source).await,
        bench.ours(&bench.target).await,
    );
    let moving = MovingRows::new(&bench.tables[0], &bench.keys);
    let (origin, copy) = (&here, &there);
    let drill = async |most| {
        let found = compare::find_differences(origin, copy, &moving, &ChunkScope::Whole, most);
        found.await.expect("compared")
    };
    for (change, wanted) in CHANGES {
        there.batch_execute(change).await.expect(change);
        let (here, there) = (whole(origin, &moving).await, whole(copy, &moving).await);
        assert_eq!(here.rows, 300);
        assert_eq!(here == there, wanted == 0, "{change}");
        assert_eq!(drill(100).await.different(), wanted, "{change}");
    }
    let few = drill(2).await;
    assert_eq!((few.different(), few.named.len()), (6, 2));
    let all = drill(9).await;
    assert_eq!(all.named.len(), 6);
    for (key, column) in [("k7", "given"), ("k8", "t")] {
        let columns = vec![column.to_owned()];
        let kind = DifferenceKind::Changed { columns };
        let named = |row: &RowDifference| row.key[0] == key && row.kind == kind;
        assert!(all.named.iter().any(named), "{key}: {:?}", all.named);
    }
    let keys: Vec<String> = (1..=10).map(|id| format!("[\"k{id}\", \"100\"]")).collect();
    let rows = (
        keyed(origin, &moving, &keys).await,
        keyed(copy, &moving, &keys).await,
    );
    assert_eq!(rows.0.len(), 10);
    let differ = keys
        .iter()
        .filter(|key| rows.0.get(*key) != rows.1.get(*key));
    assert_eq!(differ.count(), 4);
}

async fn whole(side: &Connected, moving: &MovingRows<'_>) -> RowsDigest {
    let digest = compare::digest(side, moving, &ChunkScope::Whole).await;
    digest.expect("digested")
}

async fn keyed(
    side: &Connected,
    moving: &MovingRows<'_>,
    keys: &[String],
) -> BTreeMap<String, String> {
    let rows = compare::hashes_by_key(side, moving, keys).await;
    rows.expect("read")
}

/// Checks that each moving row is in exactly one chunk on both shards, and a difference in exactly one chunk.
async fn tiles(name: &str, ddl: &str, plant: &str) -> Vec<ChunkScope> {
    let bench = Bench::new(name, ddl).await;
    let (here, there) = (
        bench.ours(&bench.source).await,
        bench.ours(&bench.target).await,
    );
    let moving = MovingRows::new(&bench.tables[0], &bench.keys);
    let all = whole(&here, &moving).await;
    there.batch_execute(plant).await.expect("planted");
    // The heap is not in the order of the key: both shards read the whole table for each chunk, which has sixteen times
    // as many rows.
    let parts = compare::cut_into_chunks(&here, &moving, 25)
        .await
        .expect("cut");
    let wanted = usize::try_from(all.rows)
        .expect("a number")
        .div_ceil(16 * 25);
    assert_eq!(parts.len().next_power_of_two(), wanted.next_power_of_two());
    let (mut rows, mut different) = (0, 0);
    for part in &parts {
        let text = serde_json::to_string(part).expect("written");
        let part: ChunkScope = serde_json::from_str(&text).expect("read");
        let digests = (
            compare::digest(&here, &moving, &part)
                .await
                .expect("digested"),
            compare::digest(&there, &moving, &part)
                .await
                .expect("digested"),
        );
        rows += digests.0.rows;
        different += i32::from(digests.0 != digests.1);
    }
    assert_eq!((rows, different), (all.rows, 1));
    parts
}

#[tokio::test]
async fn ranges_of_the_key_tile_a_table() {
    let plant = "update public.ordered set name = 'other' where name = 'n777'";
    let parts = tiles("cut_ranges", ORDERED, plant).await;
    assert!(parts.len() > 3, "{parts:?}");
    let ChunkScope::Range {
        from: Some(from), ..
    } = &parts[1]
    else {
        panic!("{parts:?}")
    };
    // The sort order of text depends on the collation of the server, so text is no limit of a chunk.
    assert_eq!(from.len(), 2);
}

#[tokio::test]
async fn classes_of_the_key_tile_a_table_whose_key_has_no_order_of_its_own() {
    let plant = "update public.names set t = 'other' where count = 7";
    let more = format!(
        "{NAMES}; insert into public.names select 100, 'm' || g, 't', 'k', 'g', g + 1000, 'T' from generate_series(1, 900) g"
    );
    let parts = tiles("cut_classes", &more, plant).await;
    assert!(parts.len() > 1);
    assert!(
        parts
            .iter()
            .all(|part| matches!(part, ChunkScope::Class { .. })),
        "{parts:?}"
    );
}

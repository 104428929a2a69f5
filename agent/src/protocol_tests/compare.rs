//! The comparison finds one changed value, whatever the columns are called.

use super::bench::Bench;
use crate::pg::compare;

/// Columns with the names that the statements use themselves.
const NAMES: &str = "create table public.names ( \
    tenant_id bigint, key text, t text, k text, given text, count int, \"T\" text, primary key (key, tenant_id)); \
    insert into public.names select 100, 'k' || g, 't', 'k', 'g', g, 'T' from generate_series(1, 300) g";

#[tokio::test]
async fn one_changed_value_is_found_by_digest_by_bucket_and_by_key() {
    let bench = Bench::new("compared", NAMES).await;
    let (here, there) = (
        bench.ours(&bench.source).await,
        bench.ours(&bench.target).await,
    );
    let table = &bench.tables[0];
    let predicate = bench.predicate();
    for (change, wanted) in [
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
    ] {
        there.batch_execute(change).await.expect(change);
        let digests = (
            compare::digests(&here, table, &predicate, "s")
                .await
                .expect("digested"),
            compare::digests(&there, table, &predicate, "t")
                .await
                .expect("digested"),
        );
        assert_eq!(compare::rows(&digests.0), 300);
        let buckets = compare::differing(&digests.0, &digests.1);
        assert_eq!(buckets.is_empty(), wanted == 0, "{change}");
        let rows = (
            compare::bucket_rows(&here, table, &predicate, &buckets, "s")
                .await
                .expect("read"),
            compare::bucket_rows(&there, table, &predicate, &buckets, "t")
                .await
                .expect("read"),
        );
        assert_eq!(
            compare::count_differences(&rows.0, &rows.1),
            wanted,
            "{change}"
        );
    }
    let keys: Vec<String> = (1..=10).map(|id| format!("[\"k{id}\", \"100\"]")).collect();
    let rows = (
        compare::keyed_rows(&here, table, &predicate, &keys, "s")
            .await
            .expect("read"),
        compare::keyed_rows(&there, table, &predicate, &keys, "t")
            .await
            .expect("read"),
    );
    assert_eq!(rows.0.len(), 10);
    assert_eq!(compare::count_differences(&rows.0, &rows.1), 4);
}

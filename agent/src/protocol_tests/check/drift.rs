//! Drift of objects other than moved rows (reference tables, definitions, guards, sequences), and its repair.

use plans::inspection::check::DefectKind;
use plans::key::Key;
use plans::key_set::KeySet;
use tokio_postgres::error::SqlState;

use super::{Fleet, rows, run};
use crate::shard::sidecar_schema;

#[tokio::test]
async fn a_drifted_reference_table_becomes_that_of_the_other_shard() {
    let fleet = Fleet::new("ck_reference").await;
    run(
        &fleet.b,
        "insert into kind values (3, 'three'); update kind set name = 'zwei' where id = 2",
    )
    .await;
    let defects = fleet.defects().await;
    let [drift] = defects.as_slice() else {
        panic!("{defects:?}")
    };
    assert_eq!(drift.kind, DefectKind::ReferenceDrift);
    assert!(
        drift
            .detail
            .contains("3 row(s) on this shard, 2 on shard a"),
        "{}",
        drift.detail
    );
    // A row that another row references cannot be deleted.
    run(&fleet.b, "insert into good values (101, 5, 3)").await;
    assert_eq!(
        fleet.mend(&defects).await,
        [Err("mend.referred".to_owned())]
    );
    run(&fleet.b, "delete from good where id = 5").await;
    assert!(fleet.mend(&defects).await[0].is_ok());
    assert_eq!(fleet.defects().await, []);
    let again = fleet.mend(&defects).await;
    assert!(
        matches!(again.as_slice(), [Ok(text)] if text.contains("same rows")),
        "{again:?}"
    );
}

#[tokio::test]
async fn tables_that_differ_are_named_with_what_differs() {
    let fleet = Fleet::new("ck_schema").await;
    run(
        &fleet.b,
        "alter table item add note text; create index extra on good (kind)",
    )
    .await;
    let defects = fleet.defects().await;
    let found: Vec<(DefectKind, &str)> = defects
        .iter()
        .map(|d| (d.kind, d.object.as_str()))
        .collect();
    let kind = DefectKind::SchemaDrift;
    assert_eq!(
        found,
        [
            (kind, "shard b, table public.good"),
            (kind, "shard b, table public.item")
        ]
    );
    assert!(
        defects[0].detail.contains("index extra: on b CREATE INDEX"),
        "{}",
        defects[0].detail
    );
    assert!(
        defects[1]
            .detail
            .contains("column note: on b place 4 text collate default, on a missing"),
        "{}",
        defects[1].detail
    );
}

#[tokio::test]
async fn a_guard_that_is_missing_disabled_or_altered_is_put_back() {
    let fleet = Fleet::new("ck_guard").await;
    let session = fleet.a.session().await;
    sidecar_schema::create(&session).await.expect("our schema");
    let keys = serde_json::json!(KeySet::range(Some(Key::Int(100)), Some(Key::Int(200))));
    session
        .execute(
            "insert into shardwright.away (map, keys, map_version) values ('orders', $1, 1)",
            &[&keys],
        )
        .await
        .expect("given away");
    let defects = fleet.defects().await;
    assert_eq!(fleet.kinds().await, [DefectKind::GuardMissing; 2]);
    assert!(
        defects[0].detail.contains("missing"),
        "{}",
        defects[0].detail
    );
    assert!(fleet.mend(&defects).await.iter().all(Result::is_ok));
    assert_eq!(fleet.defects().await, []);
    let refused = session
        .execute("insert into public.good values (150, 1, 1)", &[])
        .await;
    assert_eq!(
        refused.unwrap_err().code(),
        Some(&SqlState::from_code("SM001"))
    );
    let trigger = session
        .query_one("select tgname::text from pg_catalog.pg_trigger where tgrelid = 'public.good'::regclass and tgname like 'shardwright_guard_away_%_insert'", &[])
        .await
        .expect("a trigger")
        .get::<_, String>(0);
    for (harm, said) in [
        (
            format!("alter table public.good disable trigger {trigger}"),
            "not ENABLE ALWAYS",
        ),
        (
            format!(
                "create or replace trigger {trigger} after insert on public.good for each row when (new.tenant_id = 150) execute function shardwright.{}(); alter table public.good enable always trigger {trigger}",
                plans::names::released_keys_function(&fleet.map.name)
            ),
            "is altered",
        ),
    ] {
        session.batch_execute(&harm).await.expect("harmed");
        let defects = fleet.defects().await;
        assert!(
            matches!(defects.as_slice(), [guard] if guard.detail.contains(said)),
            "{defects:?}"
        );
        assert!(fleet.mend(&defects).await[0].is_ok());
        assert_eq!(fleet.defects().await, []);
    }
}

#[tokio::test]
async fn sequences_that_would_meet_are_shared_out_again() {
    let fleet = Fleet::new("ck_sequence").await;
    run(
        &fleet.b,
        "alter sequence good_id_seq increment 1; select setval('good_id_seq', 500)",
    )
    .await;
    let defects = fleet.defects().await;
    let [shared] = defects.as_slice() else {
        panic!("{defects:?}")
    };
    assert_eq!(shared.kind, DefectKind::SequenceOverlap);
    assert!(
        shared.object.contains("good_id_seq") && shared.detail.contains("513"),
        "{shared:?}"
    );
    assert!(fleet.mend(&defects).await[0].is_ok());
    assert_eq!(fleet.defects().await, []);
    let next = rows(
        &fleet.b.session().await,
        "select nextval('public.good_id_seq')",
    )
    .await;
    assert!(next > 500 && next % 64 == 2, "{next}");
}

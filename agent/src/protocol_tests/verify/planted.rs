//! Corruption of every kind that is planted on the target without the stream is found and reported.

use plans::step::verify::DifferenceKind;

use super::case::{AWKWARD, VerifyCase, key, rows};
use crate::protocol_tests::bench::{ITEM, code};

/// Executes `sql` on the target. Checks that exactly these rows are reported, with these differences.
async fn planted(name: &str, sql: &str, wanted: &[(Vec<String>, DifferenceKind)]) {
    let case = VerifyCase::awkward(name).await;
    case.target.batch_execute(sql).await.expect("planted");
    assert_eq!(code(case.verify(1).await), "verify.different");
    assert_eq!(case.named().await, wanted);
}

fn changed(columns: &[&str]) -> DifferenceKind {
    DifferenceKind::Changed {
        columns: columns.iter().map(|&name| name.to_owned()).collect(),
    }
}

/// Checks a difference in one row.
async fn one_value(name: &str, set: &str, id: i64, columns: &[&str]) {
    let sql = format!("update public.awkward set {set} where id = {id}");
    planted(name, &sql, &[(key(id), changed(columns))]).await;
}

#[tokio::test]
async fn equal_rows_of_awkward_types_are_equal_in_any_physical_order() {
    let case = VerifyCase::awkward("v_equal").await;
    let rewrite = "update public.awkward set code = code; vacuum full public.awkward";
    for sql in rewrite.split(';') {
        case.target.batch_execute(sql).await.expect("rewritten");
    }
    let verified = case.verify(1).await.expect("equal");
    assert_eq!((verified.rows_compared, verified.different), (64, 0));
}

#[tokio::test]
async fn one_byte_of_a_text_is_found() {
    // The generated column changes too.
    one_value("v_text", "txt = 'text 0'", 7, &["txt", "gen"]).await;
}

#[tokio::test]
async fn one_byte_of_a_bytea_is_found() {
    one_value(
        "v_bytea",
        "raw = pg_catalog.set_byte(raw, 15, (pg_catalog.get_byte(raw, 15) + 1) % 256)",
        7,
        &["raw"],
    )
    .await;
}

#[tokio::test]
async fn a_space_in_a_json_is_found() {
    one_value(
        "v_json",
        "js = pg_catalog.replace(js::text, '  ', ' ')::json",
        7,
        &["js"],
    )
    .await;
}

#[tokio::test]
async fn the_scale_of_a_number_in_a_jsonb_is_found() {
    one_value("v_jsonb", "jb = '{\"b\": 7.5}'", 7, &["jb"]).await;
}

#[tokio::test]
async fn the_scale_of_a_numeric_is_found() {
    one_value("v_numeric", "num = 1.0", 6, &["num"]).await;
}

#[tokio::test]
async fn the_sign_of_zero_is_found() {
    one_value("v_zero", "f8 = '-0'", 8, &["f8"]).await;
}

#[tokio::test]
async fn the_last_bit_of_a_float_is_found() {
    one_value("v_float", "f8 = 7.1000000000000005", 7, &["f8"]).await;
}

#[tokio::test]
async fn the_case_of_a_citext_is_found() {
    one_value(
        "v_citext",
        "ci = pg_catalog.upper(ci::text)::public.citext",
        7,
        &["ci"],
    )
    .await;
}

#[tokio::test]
async fn null_is_not_the_empty_text() {
    one_value("v_null", "txt = null", 5, &["txt", "gen"]).await;
}

#[tokio::test]
async fn null_is_not_a_composite_of_nulls() {
    one_value("v_composite", "comp = null", 7, &["comp"]).await;
}

#[tokio::test]
async fn an_array_with_other_bounds_is_found() {
    one_value("v_array", "arr = array['a', null]", 6, &["arr"]).await;
}

#[tokio::test]
async fn a_null_element_is_not_its_name() {
    one_value("v_element", "arr = array[null, '']", 7, &["arr"]).await;
}

#[tokio::test]
async fn an_empty_range_is_not_another() {
    one_value("v_range", "ran = 'empty'", 7, &["ran"]).await;
}

#[tokio::test]
async fn a_microsecond_is_found() {
    one_value("v_time", "ts = ts + interval '1 microsecond'", 6, &["ts"]).await;
}

#[tokio::test]
async fn infinity_is_not_its_opposite() {
    one_value("v_infinity", "ts = '-infinity'", 8, &["ts"]).await;
}

#[tokio::test]
async fn a_value_out_of_line_is_found() {
    one_value(
        "v_toast",
        "big = pg_catalog.left(big, 63999) || 'X'",
        7,
        &["big"],
    )
    .await;
}

#[tokio::test]
async fn a_generated_column_alone_is_found() {
    let sql = "alter table public.awkward alter gen drop expression;
               update public.awkward set gen = 'other' where id = 7";
    planted("v_generated", sql, &[(key(7), changed(&["gen"]))]).await;
}

#[tokio::test]
async fn a_missing_row_is_found() {
    let sql = "delete from public.awkward where id = 7";
    planted("v_missing", sql, &[(key(7), DifferenceKind::Missing)]).await;
}

#[tokio::test]
async fn an_extra_row_is_found() {
    let sql = "insert into public.awkward (tenant_id, id, txt) values (101, 1000, 'new')";
    let extra = vec!["101".to_owned(), "1000".to_owned()];
    planted("v_extra", sql, &[(extra, DifferenceKind::Extra)]).await;
}

#[tokio::test]
async fn a_row_that_is_there_twice_under_two_keys_is_found() {
    let sql =
        "insert into public.awkward (tenant_id, id, txt, raw) select tenant_id, 2000, txt, raw
               from public.awkward where id = 7";
    let twice = vec!["101".to_owned(), "2000".to_owned()];
    planted("v_twice", sql, &[(twice, DifferenceKind::Extra)]).await;
}

#[tokio::test]
async fn values_that_two_rows_have_swapped_are_found() {
    let sql = "update public.awkward a set big = b.big from public.awkward b
               where (a.id, b.id) in ((7, 8), (8, 7))";
    let swapped = [(key(7), changed(&["big"])), (key(8), changed(&["big"]))];
    planted("v_swapped", sql, &swapped).await;
}

#[tokio::test]
async fn a_row_under_another_key_is_found_on_both_sides() {
    let sql = "update public.awkward set tenant_id = 199 where id = 7";
    let moved = vec!["199".to_owned(), "7".to_owned()];
    let wanted = [
        (key(7), DifferenceKind::Missing),
        (moved, DifferenceKind::Extra),
    ];
    planted("v_moved", sql, &wanted).await;
}

#[tokio::test]
async fn rows_that_do_not_move_are_not_compared() {
    let case = VerifyCase::new("v_others", AWKWARD, &rows("g"), &rows("g")).await;
    let other = "insert into public.awkward (tenant_id, id) values (1, 1)";
    case.target.batch_execute(other).await.expect("there");
    case.verify(1).await.expect("equal");
}

#[tokio::test]
async fn a_report_names_a_thousand_rows_and_counts_the_others() {
    let fill =
        "insert into public.item select 100, g, 'v' from pg_catalog.generate_series(1, 5000) g";
    let ddl = crate::protocol_tests::bench::ITEM;
    let case = VerifyCase::new("v_many", ddl, fill, fill).await;
    let sql =
        "update public.item set v = 'w' where id <= 3000; delete from public.item where id > 4900";
    case.target.batch_execute(sql).await.expect("planted");
    assert_eq!(code(case.verify(1).await), "verify.different");
    let report = case.report(plans::names::Direction::Forward).await;
    let table = &report.tables[0];
    assert_eq!((table.changed, table.missing, table.extra), (3000, 100, 0));
    assert_eq!(table.named.len(), 1000);
}

#[tokio::test]
async fn two_rows_with_one_key_are_refused_and_not_taken_for_equal() {
    let row = "insert into public.item values (150, 1, 'x')";
    let twice = format!("alter table public.item drop constraint item_pkey; {row}; {row}");
    let case = VerifyCase::new("v_two_of_one", ITEM, row, &twice).await;
    assert_eq!(code(case.verify(1).await), "verify.unnamed");
    assert_eq!(
        code(case.verify(1).await),
        "verify.unnamed",
        "nothing was recorded"
    );
}

//! Values that an operator, a cast or an index treats as equal although they differ. The verification distinguishes
//! each pair.

use std::collections::BTreeMap;

use plans::step::verify::DifferenceKind;

use super::case::VerifyCase;
use crate::protocol_tests::bench::code;

/// A type, a value on the source, and the value on the target.
const PAIRS: [(&str, &str, &str); 32] = [
    ("numeric", "1.0", "1.00"),
    ("numeric", "0", "0.000"),
    ("real", "0", "-0"),
    ("double precision", "0.1", "0.10000000000000002"),
    ("interval", "1 mon", "30 days"),
    ("interval", "1 day", "24:00:00"),
    ("timetz", "12:00:00+00", "13:00:00+01"),
    ("inet", "10.0.0.1", "10.0.0.1/31"),
    ("varbit", "0", "00"),
    ("text", "\u{e9}", "e\u{301}"),
    ("varchar", "a", "a "),
    ("public.citext", "A", "a"),
    ("json", "{\"a\":1}", "{\"a\": 1}"),
    ("json", "{\"a\":1,\"a\":2}", "{\"a\":2}"),
    ("jsonb", "{\"a\": 1.0}", "{\"a\": 1.00}"),
    ("jsonpath", "$.a", "strict $.a"),
    ("xml", "<a/>", "<a></a>"),
    ("tsvector", "a:1A", "a:1B"),
    ("tsquery", "a & b", "b & a"),
    ("point", "(0,0)", "(-0,0)"),
    ("box", "(1,1),(0,0)", "(2,1),(1,0)"),
    ("circle", "<(0,0),1>", "<(1,0),1>"),
    ("lseg", "[(0,0),(1,1)]", "[(1,1),(0,0)]"),
    ("path", "[(0,0),(1,1)]", "((0,0),(1,1))"),
    ("int[]", "{1}", "[2:2]={1}"),
    ("text[]", "{NULL}", "{\"NULL\"}"),
    ("text[]", "{}", "{\"\"}"),
    ("numrange", "[1.0,2]", "[1.00,2]"),
    ("nummultirange", "{[1,2],[5,5.0]}", "{[1,2],[5,5.00]}"),
    ("public.hstore", "a=>NULL", "a=>\"NULL\""),
    ("public.pair", "(1.0,)", "(1.0,\"\")"),
    ("public.pair[]", "{\"(1.0,x)\"}", "{\"(1.00,x)\"}"),
];

fn columns() -> Vec<String> {
    (0..PAIRS.len()).map(|at| format!("c{at}")).collect()
}

fn ddl() -> String {
    let columns: Vec<String> = columns()
        .iter()
        .zip(PAIRS)
        .map(|(name, (data_type, ..))| format!("{name} {data_type}"))
        .collect();
    format!(
        "create extension citext with schema public; create extension hstore with schema public;
         create type public.pair as (n numeric, t text);
         create table public.near (tenant_id bigint, id bigint, {}, primary key (tenant_id, id));",
        columns.join(", ")
    )
}

/// Returns a row for each pair, with one of its values.
fn rows(of: fn(&(&'static str, &'static str, &'static str)) -> &'static str) -> String {
    let rows = columns().into_iter().zip(&PAIRS).enumerate();
    let rows = rows.map(|(id, (column, pair))| {
        format!(
            "insert into public.near (tenant_id, id, {column}) values (100, {id}, '{}')",
            of(pair)
        )
    });
    rows.collect::<Vec<_>>().join("; ")
}

#[tokio::test]
async fn what_is_nearly_equal_is_found_and_named_by_its_column() {
    let case = VerifyCase::new("v_near", &ddl(), &rows(|pair| pair.1), &rows(|pair| pair.2)).await;
    assert_eq!(code(case.verify(1).await), "verify.different");
    let found: BTreeMap<String, DifferenceKind> = case
        .named()
        .await
        .into_iter()
        .map(|(key, kind)| (key[1].clone(), kind))
        .collect();
    let wanted = columns().into_iter().enumerate();
    let wanted = wanted.map(|(id, column)| {
        let columns = vec![column];
        (id.to_string(), DifferenceKind::Changed { columns })
    });
    assert_eq!(found, wanted.collect());
}

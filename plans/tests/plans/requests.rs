//! Malformed and contradictory requests: each is refused at its line and column.

use crate::fixture;
use plans::planner::{PlanError, outline};
use plans::request::{Request, RequestError};
use plans::throttle::Millis;

const GOOD: &str = "\
operation: split
map: tenants
source: a
into:
  - shard: a
    keys: { to: 5 }
  - shard: b
    keys: { from: 5 }
tables:
  orders: tenant_id
options:
  copy_streams: 2
";

/// Returns line, column and message of the error for `GOOD` with one text replaced.
fn refused(from: &str, to: &str) -> (u64, u64, String) {
    assert!(GOOD.contains(from), "{from}");
    malformed(&GOOD.replace(from, to))
}

fn malformed(text: &str) -> (u64, u64, String) {
    match Request::parse(text) {
        Err(RequestError::Malformed {
            message,
            line: Some(line),
            column: Some(column),
        }) => (line, column, message),
        other => panic!("{other:?}"),
    }
}

fn problems(text: &str) -> Vec<String> {
    match Request::parse(text) {
        Err(RequestError::Invalid { problems }) => problems,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_error_in_a_nested_field_has_its_line() {
    let (line, _, message) = refused("from: 5", "from: 5.5");
    assert_eq!(line, 8);
    assert!(
        message.contains("expected a key: a whole number"),
        "{message}"
    );
    let (line, column, message) = refused("copy_streams: 2", "copy_streams: many");
    assert_eq!((line, column), (12, 17));
    assert!(message.contains("invalid u32"), "{message}");
}

#[test]
fn a_key_beyond_bigint_is_refused_at_its_place() {
    let (line, _, message) = refused("from: 5", "from: 9223372036854775808");
    assert_eq!(line, 8);
    assert!(
        message.contains("expected a key: a whole number of 64 bits"),
        "{message}"
    );
}

#[test]
fn an_unknown_field_is_refused_with_the_known_ones() {
    let (line, column, message) = refused("source: a", "sorce: a");
    assert_eq!((line, column), (3, 1));
    assert!(
        message.contains("unknown field `sorce`, expected one of map, from, source, into, targets, to, even, tables"),
        "{message}"
    );
    let (line, column, message) = refused("  copy_streams: 2", "  streams: 2");
    assert_eq!((line, column), (12, 3));
    assert!(message.contains("write_stop_budget_ms"), "{message}");
}

#[test]
fn a_missing_field_is_named() {
    let (_, _, message) = refused("source: a\n", "");
    assert!(message.contains("missing field `source`"), "{message}");
    let (line, _, message) = refused("  - shard: b\n    keys", "  - keys");
    assert_eq!(line, 7);
    assert!(message.contains("missing field `shard`"), "{message}");
    let (_, _, message) = refused("operation: split\n", "");
    assert!(message.contains("missing field `operation`"), "{message}");
}

#[test]
fn a_misspelled_field_is_named_with_the_one_that_was_meant() {
    for (from, to, place, name, meant) in [
        (
            "operation: split",
            "opperation: split",
            (1, 1),
            "opperation",
            "operation",
        ),
        (
            "operation: split",
            "verb: split",
            (1, 1),
            "verb",
            "operation",
        ),
        ("source: a", "sorce: a", (3, 1), "sorce", "source"),
        ("from: 5", "form: 5", (8, 13), "form", "from"),
        (
            "  copy_streams: 2",
            "  copy_stream: 2",
            (12, 3),
            "copy_stream",
            "copy_streams",
        ),
    ] {
        let (line, column, message) = refused(from, to);
        assert_eq!((line, column), place, "{message}");
        for words in [
            format!("unknown field `{name}`"),
            format!("did you mean `{meant}`?"),
        ] {
            assert!(message.contains(&words), "{message}");
        }
    }
    let (_, _, message) = refused("operation: split", "operation: spilt");
    assert!(message.contains("did you mean `split`?"), "{message}");
}

#[test]
fn an_unknown_operation_is_refused_with_the_known_ones() {
    let (line, column, message) = refused("operation: split", "operation: splat");
    assert_eq!((line, column), (1, 12));
    assert!(
        message.contains("unknown operation `splat`, expected split"),
        "{message}"
    );
}

#[test]
fn bad_yaml_is_refused_at_its_place() {
    let (line, column, message) = refused("{ to: 5 }", "{ to: 5");
    assert!((line, column) > (6, 1), "{message}");
    let (line, ..) = refused("source: a", "source: a\nsource: b");
    assert_eq!(line, 4);
    let (line, column, _) = malformed("");
    assert_eq!((line, column), (1, 1));
    let (line, column, _) = malformed("- split");
    assert_eq!((line, column), (1, 1));
}

#[test]
fn the_message_shows_the_line() {
    let (.., message) = refused("from: 5", "form: 5");
    let expected = "\
line 8 column 13: unknown field `form`, expected one of from, to, ranges, buckets, values, except
  --> <input>:8:13
   |
 6 |     keys: { to: 5 }
 7 |   - shard: b
 8 |     keys: { form: 5 }
   |             ^ unknown field `form`, expected one of from, to, ranges, buckets, values, except";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn json_is_parsed_with_positions_too() {
    let good = serde_json::to_string_pretty(&Request::parse(GOOD).unwrap()).unwrap();
    assert_eq!(Request::parse(&good), Request::parse(GOOD));
    let tabs = good.replace("  ", "\t");
    assert_eq!(Request::parse(&tabs), Request::parse(GOOD));
    let (line, _, message) = malformed(&good.replace("\"source\"", "\"sorce\""));
    assert_eq!(line, 4);
    assert!(message.contains("unknown field `sorce`"), "{message}");
}

#[test]
fn the_request_in_getting_started_is_valid() {
    let path = fixture::crate_folder().join("../docs/getting-started.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (_, block) = page.split_once("```yaml\n").unwrap();
    let (text, _) = block.split_once("```").unwrap();
    assert_eq!(Request::parse(text).unwrap().map().as_str(), "tenants");
}

#[test]
fn throttle_limits_are_parsed_and_their_errors_have_a_line() {
    let with = |lines: &str| GOOD.replace("copy_streams: 2", &format!("throttle:\n{lines}"));
    let good = with("    latency_ms: 25\n    hours: 22:00-06:00\n    shards: { commit_ms: null }");
    let request = Request::parse(&good).unwrap();
    let throttle = &request.options().throttle;
    assert_eq!(throttle.latency_ms, Some(Millis::new(25.0).unwrap()));
    let request = Request::parse(&with("    latency_ms: 2.5")).unwrap();
    assert_eq!(request.options().throttle.latency_ms.unwrap().get(), 2.5);
    assert_eq!(throttle.hours.unwrap().to_string(), "22:00-06:00");
    assert_eq!(throttle.shards.commit_ms, None);
    assert_eq!(throttle.shards.replica_lag_s, Some(10));
    let (line, _, message) = malformed(&with("    latency_ms: 0"));
    assert_eq!(line, 13);
    assert!(message.contains("from 0.1 to 60000"), "{message}");
    let (line, _, message) = malformed(&with("    hours: at night"));
    assert_eq!(line, 13);
    assert!(message.contains("HH:MM-HH:MM"), "{message}");
    let (line, _, message) = malformed(&with("    rate: 20MB"));
    assert_eq!(line, 13);
    assert!(message.contains("unknown field"), "{message}");
    assert_eq!(
        problems(&with("    rate_bytes_s: 5")),
        ["option throttle.rate_bytes_s is 5, less than 1024"]
    );
}

#[test]
fn all_contradictions_are_reported_together() {
    let text = GOOD
        .replace(
            "copy_streams: 2",
            "copy_streams: 17\n  override_rules: ' '\n  approvals: 2\n  cutover: automatic",
        )
        .replace("  orders: tenant_id", "  orders: a\n  public.orders: b")
        .replace("source: a", "source: ''")
        .replace("keys: { from: 5 }", "share: 3");
    let expected = [
        "option copy_streams is 17, not within 1 to 16",
        "option cutover is automatic, but option approvals requires 2 approvals",
        "option override_rules needs a reason",
        "the name of a map or shard is empty",
        "table public.orders is listed more than once under `tables` and `ignore`",
        "part b names no keys; name them, or set `even` so that the planner finds the split points",
    ];
    assert_eq!(problems(&text), expected);
}

#[test]
fn a_split_needs_two_parts_and_with_even_they_name_no_keys() {
    let text = "operation: split\nmap: m\nsource: a\neven: rows\ninto: [{ shard: a, keys: { to: 3 }, share: 0 }]\n";
    let expected = [
        "a split needs at least two parts under `into`",
        "part a names keys, although with `even` the planner finds the split points",
    ];
    assert_eq!(problems(text), expected);
}

#[test]
fn a_merge_needs_a_source_that_is_not_the_target() {
    let merge = "operation: merge\nmap: m\nsources: [a, b, b]\ninto: c\n";
    assert_eq!(problems(merge), ["shard b is named twice under `sources`"]);
    let merge = "operation: merge\nmap: m\nsources: [c]\ninto: c\n";
    assert_eq!(
        problems(merge),
        ["a merge needs a source other than shard c, which is named under `into`"]
    );
}

#[test]
fn figures_of_drains_and_rebalances_have_limits() {
    let text = "operation: rebalance\nmap: m\nby: { query: ' ' }\nthreshold_percent: 0\nwatch_seconds: 4000\n";
    let expected = [
        "the query that measures the load is empty",
        "threshold_percent is 0, not within 1 to 100",
        "watch_seconds is 4000, not within 1 to 3600",
    ];
    assert_eq!(problems(text), expected);
    assert_eq!(
        problems("operation: drain\nmap: m\nsource: d\ntargets: [d, a]\n"),
        ["shard d cannot receive its own keys; remove it from `targets`"]
    );
}

#[test]
fn the_error_for_a_request_that_does_not_fit_says_what_the_shard_owns() {
    let request = Request::parse(GOOD).unwrap();
    let unfit = |mappings: &[(Option<i64>, Option<i64>, &str)]| {
        let map = fixture::map("tenants", mappings);
        match outline(&request, &map, &fixture::fleet(&["a", "b"]), &[]) {
            Err(PlanError::Unfit { problems }) => problems.join("; "),
            other => panic!("{other:?}"),
        }
    };
    let outside = unfit(&[(Some(10), None, "a"), (None, Some(10), "c")]);
    assert!(
        outside.contains("make up all keys, but shard a owns [10, ∞)"),
        "{outside}"
    );
    let unknown = unfit(&[(None, None, "c")]);
    assert_eq!(unknown, "shard a owns no keys in map tenants version 7");
}

#[test]
fn problems_name_the_keys_and_the_shards() {
    let map = fixture::map("tenants", &[(None, Some(10), "a"), (Some(10), None, "b")]);
    let fleet = fixture::fleet(&["a", "b", "c"]);
    let split = "operation: split\nmap: tenants\nsource: a\ninto:\n";
    let moving = "operation: move\nmap: tenants\nmoves:\n";
    for (text, expected) in [
        (
            format!(
                "{split}- {{ shard: a, keys: {{ to: 7 }} }}\n- {{ shard: c, keys: {{ from: 5, to: 10 }} }}\n"
            ),
            "part a ((-∞, 7)) and part c ([5, 10)) overlap: both have [5, 7)",
        ),
        (
            format!(
                "{split}- {{ shard: a, keys: {{ to: 3 }} }}\n- {{ shard: c, keys: {{ from: 5, to: 12 }} }}\n"
            ),
            "; no part has [3, 5); the shard does not own [10, 12)",
        ),
        (
            split.replace("source: a", "source: A")
                + "- { shard: a, keys: { to: 3 } }\n- { shard: c, keys: { from: 3 } }\n",
            "there is no shard A; did you mean a?",
        ),
        (
            "operation: merge\nmap: tenants\nsources: [B]\ninto: a\n".to_owned(),
            "there is no shard B; did you mean b?",
        ),
        (
            format!("{moving}- {{ source: a, target: C }}\n"),
            "there is no shard C; did you mean c?",
        ),
        (
            format!("{moving}- {{ source: x9, target: c, keys: {{ to: 3 }} }}\n"),
            "there is no shard x9; `shardwright shard add` registers it",
        ),
        (
            format!("{moving}- {{ source: a, target: c, keys: {{ from: 5, to: 12 }} }}\n"),
            "shard a does not own [5, 12) in map tenants version 7; [10, 12): on shard b",
        ),
    ] {
        let problems = fixture::try_outline(&text, &map, &fleet, &[]).unwrap_err();
        assert!(problems.concat().contains(expected), "{problems:?}");
    }
}

#[test]
fn the_message_of_a_refused_plan_counts_its_findings() {
    let of = |number: usize| {
        let findings = vec![fixture::finding(plans::failure::Severity::Refused); number];
        PlanError::Refused { findings }.to_string()
    };
    assert_eq!(of(1), "1 thing must be fixed first");
    assert_eq!(of(12), "12 things must be fixed first");
}

#[test]
fn each_operation_accepts_the_other_names_of_sources_and_targets() {
    let pairs = [
        (
            "{operation: split, map: m, source: a, into: [{shard: a, keys: {from: 1, to: 5}}, {shard: b, keys: {from: 5, to: 9}}]}",
            "{operation: split, map: m, from: a, to: [{shard: a, keys: {from: 1, to: 5}}, {shard: b, keys: {from: 5, to: 9}}]}",
        ),
        (
            "{operation: merge, map: m, sources: [a, b], into: c}",
            "{operation: merge, map: m, from: [a, b], to: c}",
        ),
        (
            "{operation: merge, map: m, sources: [a, b], into: c}",
            "{operation: merge, map: m, sources: [a, b], target: c}",
        ),
        (
            "{operation: move, map: m, moves: [{source: a, target: b}]}",
            "{operation: move, map: m, moves: [{from: a, to: b}]}",
        ),
        (
            "{operation: isolate, map: m, key: 7, target: b}",
            "{operation: isolate, map: m, key: 7, to: b}",
        ),
        (
            "{operation: drain, map: m, source: a, targets: [b]}",
            "{operation: drain, map: m, from: a, into: [b]}",
        ),
        (
            "{operation: rebalance, map: m, onto: [b]}",
            "{operation: rebalance, map: m, to: [b]}",
        ),
    ];
    for (documented, other) in pairs {
        let read =
            |text: &str| Request::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(read(other), read(documented));
    }
    let twice = "{operation: isolate, map: m, key: 7, target: b, to: c}";
    let error = Request::parse(twice).expect_err("two targets").to_string();
    assert!(error.contains("duplicate"), "{error}");
}

//! The log of controller and agent as JSON, through a whole move.

use crate::stage::{Stage, sql};
use serde_json::Value;
use std::collections::BTreeSet;

/// In rows that are copied, that come by the stream, and in the key's own table.
const ROWS: &str = "update public.orders set note = 'told-to-nobody-' || id";
const LATER: &str = "insert into public.orders select 700, g, 'told-to-nobody-either' \
    from generate_series(900000, 900100) g";

#[tokio::test]
async fn each_line_is_json_says_what_it_is_about_and_nothing_of_a_row() {
    let stage = Stage::logging("logs", "json").await;
    sql(&stage.a, "app", ROWS).await;
    let id = stage.ready_to_cut_over().await;
    sql(&stage.a, "app", LATER).await;
    stage.cut_over(&id).await;
    let text = stage.written();
    assert!(!text.contains("told-to-nobody"), "{text}");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")))
        .collect();
    let mut kinds = BTreeSet::new();
    for line in &lines {
        for name in ["timestamp", "level", "target", "fields"] {
            assert!(!line[name].is_null(), "{name} of {line}");
        }
        let spans = line["spans"].as_array().into_iter().flatten();
        for span in spans.filter(|span| span["name"] == "step.run") {
            assert_eq!(span["migration"], id.as_str(), "{line}");
            assert!(span["epoch"].as_i64() > Some(0), "{line}");
            assert!(span["attempt"].as_u64() > Some(0), "{line}");
            kinds.insert(span["step.kind"].as_str().unwrap().to_owned());
        }
    }
    for kind in ["preflight", "copy", "verify", "cutover"] {
        assert!(kinds.contains(kind), "{kind} of {kinds:?}");
    }
    let mut orders = lines.iter();
    let order = orders.find(|line| line["fields"]["message"] == "command");
    let order = order.unwrap();
    assert_eq!(order["fields"]["command"], "approve");
    assert_eq!(order["span"]["name"], "http.request");
    let named = order["span"]["request.id"].as_str().unwrap();
    assert!(uuid::Uuid::parse_str(named).is_ok(), "{order}");
}

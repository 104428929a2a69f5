//! Every alert and every wait has a place in docs/runbooks.md.

use orchestrator::view::WaitKind;
use serde_json::Value;

fn read(page: &str) -> String {
    std::fs::read_to_string(crate::top().join(page)).unwrap()
}

#[test]
fn every_alert_has_a_chapter_of_its_name() {
    let (rules, page) = (read("deploy/alerts.yaml"), read("docs/runbooks.md"));
    let alerts = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "));
    let mut counted = 0;
    for alert in alerts {
        let chapter = format!("### {alert}");
        assert!(
            page.lines().any(|line| line == chapter),
            "no chapter {alert}"
        );
        counted += 1;
    }
    let chapters = page
        .lines()
        .filter(|line| line.starts_with("### Shardwright"));
    assert_eq!(chapters.count(), counted, "a chapter is of no alert");
}

/// Names of an enum, in whichever way its schema lists them.
fn names(schema: &Value) -> Vec<String> {
    match schema {
        Value::String(name) => vec![name.clone()],
        Value::Array(parts) => parts.iter().flat_map(names).collect(),
        Value::Object(parts) => ["oneOf", "enum", "const"]
            .iter()
            .filter_map(|key| parts.get(*key))
            .flat_map(names)
            .collect(),
        _ => Vec::new(),
    }
}

#[test]
fn every_kind_of_wait_has_a_line() {
    let page = read("docs/runbooks.md");
    let kinds = names(schemars::schema_for!(WaitKind).as_value());
    assert!(kinds.len() > 10, "{kinds:?}");
    for kind in kinds {
        let line = format!("| `{kind}` |");
        assert!(page.contains(&line), "no line for {kind}");
    }
}

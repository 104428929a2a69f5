//! A plan's hash covers every field, and an edited plan is refused.

use crate::fixture;
use plans::plan::{Plan, PlanFileError};
use proptest::prelude::*;
use serde_json::{Value, json};

fn plan() -> Plan {
    let text = fixture::example("split-by-range.yaml");
    fixture::planned(&text)
}

/// Appends to `found` a JSON pointer to every scalar and every empty list of a document.
fn leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                leaves(value, &format!("{at}/{name}"), found);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, value) in items.iter().enumerate() {
                leaves(value, &format!("{at}/{index}"), found);
            }
        }
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            found.push(at.to_owned());
        }
    }
}

/// Returns another value of the same kind.
fn edited(value: &Value) -> Value {
    match value {
        Value::Bool(flag) => json!(!flag),
        Value::Number(number) => json!(number.as_i64().unwrap() + 1),
        Value::String(text) => json!(format!("{text}x")),
        Value::Array(_) => json!(["x"]),
        Value::Null | Value::Object(_) => json!("x"),
    }
}

#[test]
fn the_hash_covers_every_field() {
    let file = serde_json::to_value(plan()).unwrap();
    let mut found = Vec::new();
    leaves(&file, "", &mut found);
    assert!(found.len() > 100, "{}", found.len());
    for pointer in found {
        let mut other = file.clone();
        let place = other.pointer_mut(&pointer).unwrap();
        *place = edited(place);
        // An unknown name or step makes the file malformed. The hash detects every other edit.
        let error = Plan::parse(&other.to_string()).unwrap_err();
        let is_malformed = matches!(&error, PlanFileError::Malformed { message, .. }
            if message.contains("unknown variant") || message.contains("which does not exist"));
        let has_other_version = matches!(error, PlanFileError::Form { .. });
        assert!(
            is_malformed || has_other_version || error == PlanFileError::Edited,
            "{pointer}: {error}"
        );
    }
}

#[test]
fn the_hash_does_not_depend_on_the_layout_of_the_file() {
    let file = serde_json::to_string(&plan()).unwrap();
    assert_eq!(Plan::parse(&file), Ok(plan()));
    assert_eq!(plan().hash.len(), 64);
}

#[test]
fn a_truncated_plan_file_is_refused_with_a_line() {
    let file = serde_json::to_string_pretty(&plan()).unwrap();
    let error = Plan::parse(&file[..file.len() / 2]).unwrap_err();
    assert!(
        matches!(error, PlanFileError::Malformed { line, .. } if line > 10),
        "{error}"
    );
}

proptest! {
    #[test]
    fn plans_of_different_maps_have_different_hashes(version in any::<i64>(), rows in any::<i64>()) {
        let original = plan();
        let mut other = original.clone();
        other.map_version.0 = version;
        other.estimate.rows = rows;
        prop_assert_eq!(original == other, original.hash == other.with_hash().hash);
    }

    #[test]
    fn no_text_makes_the_parsers_panic(text in "\\PC{0,80}") {
        let _ = Plan::parse(&text);
        let _ = plans::request::Request::parse(&text);
    }
}

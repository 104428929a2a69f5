//! The JSON schema for editors: its file is current, and it agrees with the parser.

use crate::fixture;
use plans::request::Request;
use serde_json::{Map, Value, json};
use std::fs;

#[test]
fn the_schema_file_is_current() {
    let path = fixture::crate_folder().join("request.schema.json");
    let current = serde_json::to_string_pretty(&Request::json_schema()).unwrap() + "\n";
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        fs::write(&path, &current).unwrap();
    }
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        current,
        "write it again with: UPDATE_SCHEMA=1 cargo test -p plans schema"
    );
}

#[test]
fn every_example_satisfies_the_schema() {
    for (name, text) in fixture::examples() {
        assert_eq!(complaint(&value(&text)), None, "{name}");
    }
}

#[test]
fn the_parser_refuses_what_the_schema_refuses() {
    let text = fixture::example("split-by-range.yaml");
    let good = value(&text);
    let set = |pointer: &str, to: Value| {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let mut bad = good.clone();
        let parent = bad.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        if to.is_null() {
            parent.remove(name);
        } else {
            parent.insert(name.to_owned(), to);
        }
        bad
    };
    let bad = [
        set("/operation", json!("splat")),
        set("/operation", Value::Null),
        set("/map", Value::Null),
        set("/unknown", json!(1)),
        set("/into/0/unknown", json!(1)),
        set("/into/0/keys/from", json!(1.5)),
        set("/into/0/keys/below", json!(1)),
        set("/into", json!([])),
        set("/tables", json!(["orders"])),
        set("/options", json!({ "copy_streams": 0 })),
        set("/options", json!({ "copy_streams": 17 })),
        set("/options", json!({ "apply_sessions": 0 })),
        set("/options", json!({ "apply_sessions": 3 })),
        set("/options", json!({ "write_stop_budget_ms": 49 })),
        set("/options", json!({ "write_stop_budget_ms": 60_001 })),
        set("/options", json!({ "max_attempts": 101 })),
        set("/options", json!({ "approvals": 0 })),
        set("/options", json!({ "approvals": 6 })),
        set("/options", json!({ "hold": { "seconds": -1 } })),
        set("/options", json!({ "cutover": "never" })),
        set("/options", json!({ "throttle": { "hours": 22 } })),
        set("/options", json!({ "throttle": { "latency_ms": 0 } })),
        set(
            "/options",
            json!({ "throttle": { "latency_ms": 60_000.5 } }),
        ),
        set(
            "/options",
            json!({ "throttle": { "shards": { "lock_waits": 0 } } }),
        ),
    ];
    for request in bad {
        assert!(
            complaint(&request).is_some(),
            "the schema accepts {request}"
        );
        assert!(
            Request::parse(&request.to_string()).is_err(),
            "the parser accepts {request}"
        );
    }
}

fn value(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

/// Why the request does not satisfy the schema.
fn complaint(request: &Value) -> Option<String> {
    let root = Request::json_schema();
    SchemaCheck { root: &root }.complaint(&root, request)
}

/// Checks values against the parts of JSON Schema that the schema of requests uses. An unknown keyword fails the test.
struct SchemaCheck<'a> {
    root: &'a Value,
}

impl SchemaCheck<'_> {
    fn complaint(&self, schema: &Value, value: &Value) -> Option<String> {
        let rules = schema.as_object().unwrap();
        rules
            .iter()
            .find(|(keyword, rule)| !self.holds(keyword, rule, rules, value))
            .map(|(keyword, rule)| format!("{value} breaks {keyword}: {rule}"))
    }

    fn accepts(&self, schema: &Value, value: &Value) -> bool {
        self.complaint(schema, value).is_none()
    }

    fn holds(
        &self,
        keyword: &str,
        rule: &Value,
        rules: &Map<String, Value>,
        value: &Value,
    ) -> bool {
        let all = |rule: &Value| rule.as_array().unwrap().clone();
        let length = rule.as_u64().map(|length| length.try_into().unwrap());
        match keyword {
            "$schema" | "$defs" | "title" | "description" | "default" | "format" => true,
            "$ref" => {
                let place = rule.as_str().unwrap().trim_start_matches('#');
                self.accepts(self.root.pointer(place).unwrap(), value)
            }
            "anyOf" => all(rule).iter().any(|schema| self.accepts(schema, value)),
            "oneOf" => {
                all(rule)
                    .iter()
                    .filter(|schema| self.accepts(schema, value))
                    .count()
                    == 1
            }
            "const" => rule == value,
            "type" if rule.is_array() => all(rule)
                .iter()
                .any(|kind| self.holds(keyword, kind, rules, value)),
            "type" => match rule.as_str().unwrap() {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "integer" => value.is_i64(),
                "number" => value.is_number(),
                "boolean" => value.is_boolean(),
                "null" => value.is_null(),
                other => panic!("unknown type {other}"),
            },
            "minimum" => value.as_f64() >= rule.as_f64(),
            "maximum" => value.as_f64() <= rule.as_f64(),
            "enum" => all(rule).contains(value),
            "minProperties" => value.as_object().map(Map::len) >= length,
            "maxProperties" => value
                .as_object()
                .is_none_or(|fields| Some(fields.len()) <= length),
            "maxItems" => value
                .as_array()
                .is_none_or(|items| Some(items.len()) <= length),
            "minItems" => value.as_array().map(Vec::len) >= length,
            "items" => value
                .as_array()
                .is_none_or(|items| items.iter().all(|item| self.accepts(rule, item))),
            "required" => all(rule)
                .iter()
                .all(|name| value.get(name.as_str().unwrap()).is_some()),
            "properties" => rule.as_object().unwrap().iter().all(|(name, schema)| {
                value
                    .get(name)
                    .is_none_or(|value| self.accepts(schema, value))
            }),
            "additionalProperties" => {
                let known = |name: &String| {
                    rules
                        .get("properties")
                        .is_some_and(|known| known.get(name).is_some())
                };
                value.as_object().is_none_or(|fields| {
                    let mut others = fields.iter().filter(|(name, _)| !known(name));
                    others.all(|(_, value)| match rule.as_bool() {
                        Some(allowed) => allowed,
                        None => self.accepts(rule, value),
                    })
                })
            }
            other => panic!("the schema has the keyword {other}, which this test does not know"),
        }
    }
}

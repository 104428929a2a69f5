//! Selects which parts of a command's body the audit trail keeps: names and settings, never a secret.

use connect::Dsn;
use serde_json::{Map, Value, json};

/// The audit trail keeps at most this many characters of a text.
const MAX_TEXT: usize = 2_000;

/// Returns the fields to keep of `body`, which was sent to the route `pattern`; `None` if the trail keeps nothing of
/// this route's bodies: method and path suffice.
pub(super) fn detail(pattern: &str, body: &Value) -> Option<Value> {
    let fields: &[&str] = match pattern {
        "/api/v1/shards/{name}/directory" => &["schema", "table", "keys", "shard"],
        "/api/v1/shards" | "/api/v1/shards/{name}" => {
            &["name", "dsn", "labels", "capacity", "space"]
        }
        "/api/v1/standbys" => &["name", "source"],
        "/api/v1/migrations/{id}/limits" => &["limit", "value"],
        _ => return None,
    };
    let mut kept_fields = Map::new();
    for field in fields {
        if let Some(value) = body.get(field) {
            kept_fields.insert((*field).to_owned(), audited_value(field, value));
        }
    }
    (!kept_fields.is_empty()).then_some(Value::Object(kept_fields))
}

/// Returns a value in the form in which the audit trail keeps it.
fn audited_value(field: &str, value: &Value) -> Value {
    let text = value.as_str();
    match (field, text) {
        ("dsn", Some(text)) => json!(redacted(text)),
        (_, Some(text)) => json!(text.chars().take(MAX_TEXT).collect::<String>()),
        (_, None) if value.to_string().len() > MAX_TEXT => {
            json!("omitted: too long for the audit trail")
        }
        (_, None) => value.clone(),
    }
}

/// Removes an inline password from a connection string.
pub(super) fn redacted(dsn: &str) -> String {
    let parsed = Dsn::parse(dsn).map(|dsn| dsn.to_string());
    parsed.unwrap_or_else(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_string_is_kept_without_its_password() {
        let body = json!({"dsn": "host=h user=u password=geheim", "capacity": 3, "reason": "r"});
        let kept_fields = detail("/api/v1/shards/{name}", &body).unwrap();
        let dsn = "host=h user=u password=****";
        assert_eq!(kept_fields, json!({"dsn": dsn, "capacity": 3}));
        let broken = json!({"dsn": "host=h password='geheim"});
        let kept_fields = detail("/api/v1/shards", &broken).unwrap();
        assert!(!kept_fields.to_string().contains("geheim"), "{kept_fields}");
    }

    #[test]
    fn names_and_limits_are_kept_and_other_fields_are_not() {
        let body = json!({"table": "d", "keys": ["k"], "shard": "home", "timeout_ms": 5});
        let kept_fields = detail("/api/v1/shards/{name}/directory", &body).unwrap();
        assert_eq!(
            kept_fields,
            json!({"table": "d", "keys": ["k"], "shard": "home"})
        );
        let limit = json!({"limit": "rate", "value": "1MB/s"});
        let kept_fields = detail("/api/v1/migrations/{id}/limits", &limit).unwrap();
        assert_eq!(kept_fields, limit);
        assert_eq!(detail("/api/v1/tokens", &json!({"name": "a"})), None);
    }
}

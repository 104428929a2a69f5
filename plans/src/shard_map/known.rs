//! Settings in the answer of a controller that may be newer than this program.

use super::{MapSettings, PlacementRule, ThroughRef};
use schemars::{JsonSchema, schema_for};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The names of the settings that this version has.
static SETTINGS: LazyLock<BTreeSet<String>> = LazyLock::new(names_of::<MapSettings>);
/// The names of the fields of a rule.
static RULE: LazyLock<BTreeSet<String>> = LazyLock::new(names_of::<PlacementRule>);
/// The names of the fields of a table without the key.
static THROUGH: LazyLock<BTreeSet<String>> = LazyLock::new(names_of::<ThroughRef>);

/// Returns the names of the fields of `T`.
fn names_of<T: JsonSchema>() -> BTreeSet<String> {
    let schema = schema_for!(T);
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flat_map(Map::keys)
        .cloned()
        .collect()
}

/// Reads settings, and ignores those that this version does not have, also inside of rules and of tables without the
/// key: the API only adds fields. In a request an unknown setting is a mistake of the user, and is refused.
pub(super) fn known_settings<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<MapSettings, D::Error> {
    let mut settings = Map::<String, Value>::deserialize(deserializer)?;
    settings.retain(|name, _| SETTINGS.contains(name));
    if let Some(Value::Object(tables)) = settings.get_mut("through") {
        keep_known(tables.values_mut(), &THROUGH);
    }
    if let Some(Value::Array(rules)) = settings.get_mut("rules") {
        keep_known(rules.iter_mut(), &RULE);
    }
    MapSettings::deserialize(Value::Object(settings)).map_err(D::Error::custom)
}

/// Removes the fields without these names.
fn keep_known<'a>(objects: impl Iterator<Item = &'a mut Value>, names: &BTreeSet<String>) {
    for object in objects.filter_map(Value::as_object_mut) {
        object.retain(|name, _| names.contains(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_of_a_newer_version_are_ignored() {
        let document = json!({"tables": {"orders": "tenant_id"}, "colors": {"orders": "blue"}});
        assert!(serde_json::from_value::<MapSettings>(document.clone()).is_err());
        let settings = known_settings(document).unwrap();
        assert_eq!(settings.tables.len(), 1);
    }

    #[test]
    fn fields_that_a_newer_version_adds_to_settings_are_ignored() {
        let known = json!({
            "through": {"items": {"parent": "orders", "columns": {"order_id": "id"}}},
            "rules": [{"name": "eu", "effect": "pin", "labels": {"region": "eu"}}],
        });
        let mut newer = known.clone();
        newer["through"]["items"]["cascade"] = json!(true);
        newer["rules"][0]["weight"] = json!(2);
        assert!(serde_json::from_value::<MapSettings>(newer.clone()).is_err());
        assert_eq!(
            known_settings(newer).unwrap(),
            serde_json::from_value(known).unwrap()
        );
    }

    #[test]
    fn all_settings_are_known() {
        let document = serde_json::to_value(MapSettings::default()).unwrap();
        for name in ["keyed_by", "check_every", "sequences"] {
            assert!(SETTINGS.contains(name), "{name}");
        }
        for name in document.as_object().unwrap().keys() {
            assert!(SETTINGS.contains(name), "{name}");
        }
    }
}

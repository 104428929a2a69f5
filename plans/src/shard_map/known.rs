//! Settings in the answer of a controller that may be newer than this program.

use super::MapSettings;
use schemars::schema_for;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The names of the settings that this version has.
static NAMES: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let schema = schema_for!(MapSettings);
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flat_map(Map::keys)
        .cloned()
        .collect()
});

/// Reads settings, and ignores those that this version does not have: the API only adds fields. In a request an unknown
/// setting is a mistake of the user, and is refused.
pub(super) fn known_settings<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<MapSettings, D::Error> {
    let mut settings = Map::<String, Value>::deserialize(deserializer)?;
    settings.retain(|name, _| NAMES.contains(name));
    MapSettings::deserialize(Value::Object(settings)).map_err(D::Error::custom)
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
    fn all_settings_are_known() {
        let document = serde_json::to_value(MapSettings::default()).unwrap();
        for name in ["keyed_by", "check_every", "sequences"] {
            assert!(NAMES.contains(name), "{name}");
        }
        for name in document.as_object().unwrap().keys() {
            assert!(NAMES.contains(name), "{name}");
        }
    }
}

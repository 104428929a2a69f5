//! The options of a request in the form: each with its description, its choices and its default from the schema.

use super::fields::{RequestFields, parse_number};
use plans::request::{Options, Request};
use serde_json::{Map, Value, json};

/// An option in the form.
pub(super) struct OptionField {
    pub(super) name: &'static str,
    pub(super) description: String,
    pub(super) value: String,
    pub(super) default: String,
    /// The values to choose from; empty for a number.
    pub(super) choices: Vec<String>,
    pub(super) min: String,
    pub(super) max: String,
    /// What an empty field means.
    pub(super) placeholder: String,
}

impl OptionField {
    pub(super) fn is_default(&self) -> bool {
        self.value == self.default
    }
}

/// The options that the form shows, the most important first. The others are written as YAML.
fn shown(options: &Options) -> [(&'static str, Value); 21] {
    [
        ("mode", json!(options.mode)),
        ("cutover", json!(options.cutover)),
        ("hold", json!(options.hold)),
        ("approvals", json!(options.approvals)),
        ("write_stop_budget_ms", json!(options.write_stop_budget_ms)),
        ("dual_write", json!(options.dual_write)),
        ("dual_write_limit_ms", json!(options.dual_write_limit_ms)),
        ("long_writers", json!(options.long_writers)),
        ("ddl", json!(options.ddl)),
        ("seed", json!(options.seed)),
        ("schema", json!(options.schema)),
        ("trial", json!(options.trial)),
        ("copy_streams", json!(options.copy_streams)),
        ("apply_sessions", json!(options.apply_sessions)),
        ("copy_format", json!(options.copy_format)),
        ("moves_at_once", json!(options.moves_at_once)),
        ("moves_per_shard", json!(options.moves_per_shard)),
        ("max_attempts", json!(options.max_attempts)),
        ("snapshot_age_s", json!(options.snapshot_age_s)),
        ("wal_cap_mb", json!(options.wal_cap_mb)),
        ("drop_pause_ms", json!(options.drop_pause_ms)),
    ]
}

/// How an option is written in the form.
enum OptionKind {
    Number,
    Choice(Vec<String>),
    /// A word, or a number of an inner field.
    WordOrNumber(String, String),
}

/// Returns the fields for `options`.
pub(super) fn fields(options: &Options) -> Vec<OptionField> {
    let schema = Request::json_schema();
    let values = shown(options).into_iter().zip(shown(&Options::default()));
    let field = |((name, value), (_, default)): ((&'static str, Value), (_, Value))| {
        let property = property(&schema, name);
        let bound = |bound: &str| {
            property
                .get(bound)
                .map_or_else(String::new, Value::to_string)
        };
        let kind = kind(&schema, property);
        OptionField {
            name,
            description: property
                .get("description")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            value: input(&value),
            default: input(&default),
            min: bound("minimum"),
            max: bound("maximum"),
            placeholder: match &kind {
                OptionKind::WordOrNumber(word, inner) => {
                    format!(
                        "{}, or {} of",
                        word.replace('_', " "),
                        inner.replace('_', " ")
                    )
                }
                OptionKind::Number | OptionKind::Choice(_) => String::new(),
            },
            choices: match kind {
                OptionKind::Choice(choices) => choices,
                OptionKind::Number | OptionKind::WordOrNumber(..) => Vec::new(),
            },
        }
    };
    values.map(field).collect()
}

/// Returns the options with the values of the form.
///
/// # Errors
/// The text names the option and the value that it cannot have.
pub(super) fn with_fields(options: &Options, fields: &RequestFields) -> Result<Options, String> {
    let schema = Request::json_schema();
    let mut object = serde_json::to_value(options).unwrap_or_default();
    let Some(all) = object.as_object_mut() else {
        return Ok(options.clone());
    };
    for (name, _) in shown(options) {
        let field = format!("option.{name}");
        if fields.has(&field) {
            let text = fields.get(&field).unwrap_or_default();
            set(all, name, text, kind(&schema, property(&schema, name)))?;
        }
    }
    serde_json::from_value(object).map_err(|error| format!("the options cannot be used: {error}"))
}

fn set(
    all: &mut Map<String, Value>,
    name: &str,
    text: &str,
    kind: OptionKind,
) -> Result<(), String> {
    let value = match kind {
        OptionKind::Choice(_) if text.is_empty() => None,
        OptionKind::Choice(_) => Some(json!(text)),
        OptionKind::Number if text.is_empty() => None,
        OptionKind::Number => Some(json!(parse_number::<u32>(name, text)?)),
        OptionKind::WordOrNumber(word, _) if text.is_empty() || text == word => Some(json!(word)),
        OptionKind::WordOrNumber(_, inner) => {
            Some(json!({ inner: parse_number::<u32>(name, text)? }))
        }
    };
    match value {
        Some(value) => all.insert(name.to_owned(), value),
        None => all.remove(name),
    };
    Ok(())
}

/// Returns a value as the form shows it.
fn input(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) => fields
            .values()
            .next()
            .map_or_else(String::new, Value::to_string),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => value.to_string(),
    }
}

fn property<'a>(schema: &'a Value, name: &str) -> &'a Value {
    &schema["$defs"]["Options"]["properties"][name]
}

fn kind(schema: &Value, property: &Value) -> OptionKind {
    let definition = property["$ref"]
        .as_str()
        .and_then(|path| schema.pointer(path.trim_start_matches('#')));
    let variants = definition.and_then(|definition| definition["oneOf"].as_array());
    let Some(variants) = variants else {
        return OptionKind::Number;
    };
    let words = variants
        .iter()
        .filter_map(|variant| variant["const"].as_str());
    let words: Vec<String> = words.map(str::to_owned).collect();
    let inner = variants
        .iter()
        .find_map(|variant| variant["properties"].as_object()?.keys().next());
    match (inner, words.first()) {
        (Some(inner), Some(word)) => OptionKind::WordOrNumber(word.clone(), inner.clone()),
        (_, _) => OptionKind::Choice(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the form does not show, and YAML does.
    const ONLY_YAML: [&str; 3] = ["ignore_standbys", "override_rules", "throttle"];

    #[test]
    fn every_option_of_the_schema_is_in_the_form_or_only_in_yaml() {
        let schema = Request::json_schema();
        let all = schema["$defs"]["Options"]["properties"]
            .as_object()
            .unwrap();
        let shown = shown(&Options::default()).map(|(name, _)| name);
        for name in all.keys() {
            let is_shown = shown.contains(&name.as_str());
            assert_ne!(is_shown, ONLY_YAML.contains(&name.as_str()), "{name}");
        }
        assert_eq!(all.len(), shown.len() + ONLY_YAML.len());
    }

    #[test]
    fn values_of_the_form_become_options() {
        let pairs = [
            ("option.mode", "offline"),
            ("option.hold", "60"),
            ("option.copy_streams", "4"),
            ("option.long_writers", ""),
        ];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let options = with_fields(&Options::default(), &RequestFields::new(pairs.into())).unwrap();
        let text = serde_json::to_value(&options).unwrap();
        assert_eq!(text["mode"], "offline");
        assert_eq!(text["hold"], json!({"seconds": 60}));
        assert_eq!(options.copy_streams, 4);
        let wrong = RequestFields::new(vec![("option.copy_streams".to_owned(), "x".to_owned())]);
        assert!(with_fields(&Options::default(), &wrong).is_err());
    }
}

//! The reference of the API: the OpenAPI document as a page.

use super::page::DashboardPage;
use crate::access::Caller;
use crate::api::document;
use askama::Template;
use axum::Extension;
use serde_json::Value;

#[derive(Template)]
#[template(path = "reference.html")]
struct ReferencePage {
    nouns: Vec<ReferenceNoun>,
    schemas: Vec<ReferenceSchema>,
}

/// The routes for one kind of object.
struct ReferenceNoun {
    name: String,
    calls: Vec<ReferenceCall>,
}

struct ReferenceCall {
    method: String,
    path: String,
    summary: String,
    description: String,
    role: String,
    query: Vec<(String, String)>,
    takes: Vec<String>,
    answers: Vec<String>,
}

/// A type to which bodies refer.
struct ReferenceSchema {
    name: String,
    about: String,
    fields: Vec<ReferenceField>,
}

struct ReferenceField {
    name: String,
    kind: String,
    about: String,
}

/// Shows the page.
pub(super) async fn show(Extension(caller): Extension<Caller>) -> DashboardPage {
    let reference = ReferencePage::of(document());
    DashboardPage::static_page("API", &reference, Some(caller))
}

impl ReferencePage {
    fn of(document: &Value) -> Self {
        let mut nouns: Vec<ReferenceNoun> = Vec::new();
        for (path, item) in entries(&document["paths"]) {
            for (method, operation) in entries(item) {
                let tag = text(&operation["tags"][0]);
                let call = call(method, path, operation);
                match nouns.iter_mut().find(|noun| noun.name == tag) {
                    Some(noun) => noun.calls.push(call),
                    None => nouns.push(ReferenceNoun {
                        name: tag,
                        calls: vec![call],
                    }),
                }
            }
        }
        let schemas = entries(&document["components"]["schemas"]).map(schema);
        Self {
            nouns,
            schemas: schemas.collect(),
        }
    }
}

fn call(method: &str, path: &str, operation: &Value) -> ReferenceCall {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let query = parameters.filter(|parameter| parameter["in"] == "query");
    let body = |content: &Value| {
        entries(content)
            .map(|(kind, body)| format!("{kind}: {}", type_text(&body["schema"])))
            .collect::<Vec<_>>()
    };
    let answers = entries(&operation["responses"])
        .filter(|(status, _)| *status != "default")
        .flat_map(|(status, answer)| match body(&answer["content"]) {
            bodies if bodies.is_empty() => vec![status.to_owned()],
            bodies => bodies
                .iter()
                .map(|body| format!("{status} {body}"))
                .collect(),
        });
    ReferenceCall {
        method: method.to_uppercase(),
        path: path.to_owned(),
        summary: text(&operation["summary"]),
        description: text(&operation["description"]),
        role: text(&operation["x-least-role"]),
        query: query
            .map(|parameter| (text(&parameter["name"]), text(&parameter["description"])))
            .collect(),
        takes: body(&operation["requestBody"]["content"]),
        answers: answers.collect(),
    }
}

fn schema((name, schema): (&str, &Value)) -> ReferenceSchema {
    let alternative = |schema: &Value| ReferenceField {
        name: type_text(schema),
        kind: String::new(),
        about: text(&schema["description"]),
    };
    let fields = entries(&schema["properties"]).map(|(name, property)| ReferenceField {
        name: name.to_owned(),
        kind: type_text(property),
        about: text(&property["description"]),
    });
    let alternatives = ["oneOf", "anyOf"].map(|key| schema[key].as_array());
    let alternatives = alternatives
        .into_iter()
        .flatten()
        .flatten()
        .map(alternative);
    ReferenceSchema {
        name: name.to_owned(),
        about: text(&schema["description"]),
        fields: fields.chain(alternatives).collect(),
    }
}

/// Describes a schema in a few words.
fn type_text(schema: &Value) -> String {
    if let Some(path) = schema["$ref"].as_str() {
        return path.rsplit('/').next().unwrap_or(path).to_owned();
    }
    if let Some(word) = schema.get("const").or(schema["enum"].get(0)) {
        let more = schema["enum"].as_array().into_iter().flatten().skip(1);
        let words = [word].into_iter().chain(more).map(text);
        return words.collect::<Vec<_>>().join(" | ");
    }
    if schema["type"] == "array" {
        return format!("list of {}", type_text(&schema["items"]));
    }
    let either = ["anyOf", "oneOf"].map(|key| schema[key].as_array());
    let either: Vec<String> = either
        .into_iter()
        .flatten()
        .flatten()
        .map(type_text)
        .collect();
    match &schema["type"] {
        _ if !either.is_empty() => either.join(" | "),
        Value::Array(kinds) => kinds.iter().map(text).collect::<Vec<_>>().join(" | "),
        Value::String(kind) => kind.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => "any".to_owned(),
    }
}

fn entries(object: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let fields = object.as_object().into_iter().flatten();
    fields.map(|(name, value)| (name.as_str(), value))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_and_every_type_is_on_the_page() {
        let page = ReferencePage::of(document()).render().unwrap();
        for (path, _) in entries(&document()["paths"]) {
            assert!(page.contains(&format!("<code>{path}</code>")), "{path}");
        }
        for (name, _) in entries(&document()["components"]["schemas"]) {
            assert!(page.contains(&format!("id=\"{name}\"")), "{name}");
        }
    }

    #[test]
    fn a_type_is_described_in_a_few_words() {
        let kind = |text: &str| type_text(&serde_json::from_str(text).unwrap());
        assert_eq!(kind(r##"{"$ref":"#/components/schemas/Plan"}"##), "Plan");
        assert_eq!(kind(r#"{"type":["string","null"]}"#), "string | null");
        assert_eq!(
            kind(r#"{"type":"array","items":{"type":"integer"}}"#),
            "list of integer"
        );
        assert_eq!(kind(r#"{"enum":["a","b"]}"#), "a | b");
        assert_eq!(kind("{}"), "any");
    }
}

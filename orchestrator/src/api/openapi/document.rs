//! The OpenAPI 3.1 document.

use super::RouteDoc;
use super::about::BodyDoc;
use crate::access::RouteAccess;
use crate::api::once::takes_key;
use crate::api::{ACTOR_HEADER, Problem};
use crate::controller::Command;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// The document with the routes that were added so far.
pub(super) struct OpenApiDocument {
    generator: SchemaGenerator,
    paths: Map<String, Value>,
}

impl OpenApiDocument {
    pub(super) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            "/components/schemas".clone_into(settings.definitions_path.to_mut());
            settings.meta_schema = None;
        });
        Self {
            generator: settings.into_generator(),
            paths: Map::new(),
        }
    }

    pub(super) fn add(&mut self, method: &'static str, path: &'static str, about: RouteDoc) {
        let operation = self.operation(method, path, about);
        let item = self.paths.entry(path).or_insert_with(|| json!({}));
        item[method] = operation;
    }

    fn operation(&mut self, method: &str, path: &str, about: RouteDoc) -> Value {
        let need = RouteAccess::of(
            &method.to_uppercase(),
            path,
            path.rsplit('/').next().unwrap_or(path),
        );
        let problem = json!({"$ref": "#/components/responses/Problem"});
        let mut response = json!({"description": about.summary});
        if !about.response_bodies.is_empty() {
            response["content"] = self.contents(&about.response_bodies);
        }
        let mut operation = json!({
            "operationId": operation_id(method, path),
            "summary": about.summary,
            "tags": [tag(path)],
            "parameters": parameters(method, path, &about),
            "responses": {about.status.to_string(): response, "default": problem},
        });
        if need == RouteAccess::Nothing {
            operation["security"] = json!([]);
        } else if path.ends_with("/{command}") {
            operation["x-least-role"] = json!(RouteAccess::Operate.lowest_role());
            let needs_approver =
                |command: &Command| RouteAccess::of_command(command.name()) == RouteAccess::Approve;
            let commands = Command::ALL
                .into_iter()
                .filter(needs_approver)
                .map(Command::name);
            let (names, role) = (commands.collect::<Vec<_>>().join(", "), need.lowest_role());
            operation["description"] =
                json!(format!("These commands need the role {role}: {names}."));
        } else {
            operation["x-least-role"] = json!(need.lowest_role());
        }
        if let Some(body) = about.request_body {
            operation["requestBody"] = json!({
                "required": body.required,
                "content": self.contents(&[body]),
            });
        }
        operation
    }

    fn contents(&mut self, bodies: &[BodyDoc]) -> Value {
        let mut contents = Map::new();
        for body in bodies {
            let schema = match body.schema {
                Some(schema) => schema(&mut self.generator),
                None => json!({"type": "string"}),
            };
            for kind in body.media_types {
                contents.insert((*kind).to_owned(), json!({ "schema": schema }));
            }
        }
        contents.into()
    }

    /// Returns the document as JSON.
    pub(super) fn into_json(mut self) -> Value {
        let problem = schema::<Problem>(&mut self.generator);
        let schemas = self.generator.take_definitions(true);
        json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Shardwright",
                "version": env!("CARGO_PKG_VERSION"),
                "description": "The controller of shards: plans, migrations, maps, agents. Later releases only add fields.",
                "license": {"name": env!("CARGO_PKG_LICENSE")},
            },
            "servers": [{"url": "/"}],
            "security": [{"token": []}, {}],
            "paths": self.paths,
            "components": {
                "schemas": schemas,
                "responses": {"Problem": {
                    "description": "The reason why the request was refused or failed (RFC 9457)",
                    "content": {"application/problem+json": {"schema": problem}},
                }},
                "securitySchemes": {"token": {
                    "type": "http", "scheme": "bearer",
                    "description": "A token, if the controller requires one; see docs/security.md",
                }},
            },
        })
    }
}

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

/// Returns the operation id, such as `post_operations_id_report`.
fn operation_id(method: &str, path: &str) -> String {
    let path = path.trim_start_matches("/api/v1");
    let parts = path.split(['/', '-']).filter(|part| !part.is_empty());
    let parts = parts.map(|part| part.trim_matches(['{', '}']));
    [method]
        .into_iter()
        .chain(parts)
        .collect::<Vec<_>>()
        .join("_")
}

/// Returns the tag of a route: the kind of object to which it belongs.
fn tag(path: &str) -> &str {
    let mut parts = path.trim_start_matches("/api/v1").split('/');
    parts.find(|part| !part.is_empty()).unwrap_or("probes")
}

/// Returns the parameter for the header with the idempotency key.
fn key_parameter() -> Value {
    json!({
        "name": "idempotency-key", "in": "header", "required": false,
        "schema": {"type": "string", "minLength": 1, "maxLength": 255},
        "description": "If a command is sent again with the same key within 24 hours, it gets the earlier answer and is not carried out again.",
    })
}

fn parameters(method: &str, path: &str, about: &RouteDoc) -> Vec<Value> {
    let in_path = path.split('/').filter_map(|part| {
        let name = part.strip_prefix('{')?.strip_suffix('}')?;
        let schema = match name {
            "command" => json!({"type": "string", "enum": Command::ALL.map(Command::name)}),
            "version" => json!({"type": "integer", "minimum": 1}),
            _ => json!({"type": "string"}),
        };
        Some(json!({"name": name, "in": "path", "required": true, "schema": schema}))
    });
    let in_query = about.query.iter().map(|parameter| {
        json!({
            "name": parameter.name, "in": "query", "required": false,
            "schema": parameter.schema, "description": parameter.description,
        })
    });
    let actor = (method != "get").then(|| {
        json!({
            "name": ACTOR_HEADER, "in": "header", "required": false, "schema": {"type": "string"},
            "description": "The name of the user, if the controller requires no token.",
        })
    });
    let if_match = (path == "/api/v1/migrations/{id}/{command}").then(|| {
        json!({
            "name": "if-match", "in": "header", "required": false, "schema": {"type": "string"},
            "description": "The ETag of the migration that the client has read. If the migration has changed since, the command is refused.",
        })
    });
    let parameters = in_path.chain(in_query).chain(actor);
    let key = takes_key(&method.to_uppercase(), path).then(key_parameter);
    parameters.chain(if_match).chain(key).collect()
}

//! The description of one route.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

/// A function that adds the schema of a type, and of the types to which it refers, to the generator, and returns a
/// reference to it.
type SchemaFn = fn(&mut SchemaGenerator) -> Value;

/// A body in one or more media types.
pub(super) struct BodyDoc {
    pub(super) media_types: &'static [&'static str],
    /// `None`: text without a schema.
    pub(super) schema: Option<SchemaFn>,
    pub(super) required: bool,
}

/// A query parameter.
pub(super) struct ParameterDoc {
    pub(super) name: &'static str,
    pub(super) schema: Value,
    pub(super) description: &'static str,
}

/// The description of one route.
pub(in crate::api) struct RouteDoc {
    pub(super) summary: &'static str,
    pub(super) query: Vec<ParameterDoc>,
    /// The body of the request.
    pub(super) request_body: Option<BodyDoc>,
    /// The status of a successful response.
    pub(super) status: u16,
    /// The forms of its body.
    pub(super) response_bodies: Vec<BodyDoc>,
}

/// Adds the schema of `T` to the generator, and returns a reference to it.
fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

const JSON: &[&str] = &["application/json"];

impl RouteDoc {
    /// Describes a route without a body and with an empty response.
    pub(in crate::api) fn of(summary: &'static str) -> Self {
        Self {
            summary,
            query: Vec::new(),
            request_body: None,
            status: 200,
            response_bodies: Vec::new(),
        }
    }

    /// Adds a required body.
    pub(in crate::api) fn takes<T: JsonSchema>(mut self) -> Self {
        self.request_body = Some(BodyDoc {
            media_types: JSON,
            schema: Some(schema::<T>),
            required: true,
        });
        self
    }

    /// Adds an optional body.
    pub(in crate::api) fn may_take<T: JsonSchema>(self) -> Self {
        let mut about = self.takes::<T>();
        if let Some(body) = &mut about.request_body {
            body.required = false;
        }
        about
    }

    /// Does the same as [`RouteDoc::takes`], with these additional media types.
    pub(in crate::api) fn takes_as<T: JsonSchema>(
        self,
        media_types: &'static [&'static str],
    ) -> Self {
        let mut about = self.takes::<T>();
        if let Some(body) = &mut about.request_body {
            body.media_types = media_types;
        }
        about
    }

    /// Adds the content of the response.
    pub(in crate::api) fn answers<T: JsonSchema>(mut self) -> Self {
        self.response_bodies.push(BodyDoc {
            media_types: JSON,
            schema: Some(schema::<T>),
            required: true,
        });
        self
    }

    /// Adds the content of the response, with status 201 (created).
    pub(in crate::api) fn creates<T: JsonSchema>(self) -> Self {
        let mut about = self.answers::<T>();
        about.status = 201;
        about
    }

    /// Adds text in these media types as another form of the response.
    pub(in crate::api) fn answers_text(mut self, media_types: &'static [&'static str]) -> Self {
        self.response_bodies.push(BodyDoc {
            media_types,
            schema: None,
            required: true,
        });
        self
    }

    /// Adds server-sent events as another form of the response, for clients that accept them.
    pub(in crate::api) fn feeds(self) -> Self {
        self.answers_text(&["text/event-stream"])
    }

    /// Marks the response as a list in pages: a link leads to the next page.
    pub(in crate::api) fn pages(self) -> Self {
        self.query("limit", "integer", "The number of entries; 200 by default.")
            .query(
                "after",
                "string",
                "The cursor of the page, from the link to the next page.",
            )
    }

    /// Adds an optional query parameter.
    pub(in crate::api) fn query(
        mut self,
        name: &'static str,
        kind: &'static str,
        description: &'static str,
    ) -> Self {
        self.query.push(ParameterDoc {
            name,
            schema: json!({ "type": kind }),
            description,
        });
        self
    }

    /// Adds a query parameter that must be one of these words.
    pub(in crate::api) fn query_one_of(
        mut self,
        name: &'static str,
        words: &[&str],
        description: &'static str,
    ) -> Self {
        self.query.push(ParameterDoc {
            name,
            schema: json!({ "type": "string", "enum": words }),
            description,
        });
        self
    }
}

//! The description of one route.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

/// Creates the schema of a type, and adds the types to which it refers to the generator.
type SchemaFn = fn(&mut SchemaGenerator) -> Value;

/// A body in one or more media types.
pub(super) struct BodyDoc {
    pub(super) types: &'static [&'static str],
    /// `None`: text without a schema.
    pub(super) shape: Option<SchemaFn>,
    pub(super) required: bool,
}

/// A query parameter.
pub(super) struct ParameterDoc {
    pub(super) name: &'static str,
    pub(super) schema: Value,
    pub(super) about: &'static str,
}

/// The description of one route.
pub(in crate::api) struct RouteDoc {
    pub(super) summary: &'static str,
    pub(super) query: Vec<ParameterDoc>,
    pub(super) takes: Option<BodyDoc>,
    pub(super) status: u16,
    pub(super) answers: Vec<BodyDoc>,
}

fn shape<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

const JSON: &[&str] = &["application/json"];

impl RouteDoc {
    /// Describes a route without a body and with an empty response.
    pub(in crate::api) fn of(summary: &'static str) -> Self {
        Self {
            summary,
            query: Vec::new(),
            takes: None,
            status: 200,
            answers: Vec::new(),
        }
    }

    /// Adds a required body.
    pub(in crate::api) fn takes<T: JsonSchema>(mut self) -> Self {
        self.takes = Some(BodyDoc {
            types: JSON,
            shape: Some(shape::<T>),
            required: true,
        });
        self
    }

    /// Adds an optional body.
    pub(in crate::api) fn may_take<T: JsonSchema>(self) -> Self {
        let mut about = self.takes::<T>();
        if let Some(body) = &mut about.takes {
            body.required = false;
        }
        about
    }

    /// Does the same as [`RouteDoc::takes`], with these additional media types.
    pub(in crate::api) fn takes_as<T: JsonSchema>(self, types: &'static [&'static str]) -> Self {
        let mut about = self.takes::<T>();
        if let Some(body) = &mut about.takes {
            body.types = types;
        }
        about
    }

    /// Adds the content of the response.
    pub(in crate::api) fn answers<T: JsonSchema>(mut self) -> Self {
        self.answers.push(BodyDoc {
            types: JSON,
            shape: Some(shape::<T>),
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
    pub(in crate::api) fn answers_text(mut self, types: &'static [&'static str]) -> Self {
        self.answers.push(BodyDoc {
            types,
            shape: None,
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
        self.query("limit", "integer", "How many of them; 200 without it.")
            .query("after", "string", "What the link to the next page says.")
    }

    /// Adds an optional query parameter.
    pub(in crate::api) fn query(
        mut self,
        name: &'static str,
        kind: &'static str,
        about: &'static str,
    ) -> Self {
        self.query.push(ParameterDoc {
            name,
            schema: json!({ "type": kind }),
            about,
        });
        self
    }

    /// Adds a query parameter that must be one of these words.
    pub(in crate::api) fn query_one_of(
        mut self,
        name: &'static str,
        words: &[&str],
        about: &'static str,
    ) -> Self {
        self.query.push(ParameterDoc {
            name,
            schema: json!({ "type": "string", "enum": words }),
            about,
        });
        self
    }
}

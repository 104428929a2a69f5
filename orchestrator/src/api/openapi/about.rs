//! What is said of one route.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

/// Makes the schema of a type, and keeps what it refers to in the generator.
type SchemaFn = fn(&mut SchemaGenerator) -> Value;

/// A body in one or more media types.
pub(super) struct BodyDoc {
    pub(super) types: &'static [&'static str],
    /// None: text of no schema.
    pub(super) shape: Option<SchemaFn>,
    pub(super) required: bool,
}

/// A parameter of the query.
pub(super) struct ParameterDoc {
    pub(super) name: &'static str,
    pub(super) schema: Value,
    pub(super) about: &'static str,
}

/// What is said of one route.
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
    /// A route that answers with nothing, for a start.
    pub(in crate::api) fn of(summary: &'static str) -> Self {
        Self {
            summary,
            query: Vec::new(),
            takes: None,
            status: 200,
            answers: Vec::new(),
        }
    }

    /// The body that it needs.
    pub(in crate::api) fn takes<T: JsonSchema>(mut self) -> Self {
        self.takes = Some(BodyDoc {
            types: JSON,
            shape: Some(shape::<T>),
            required: true,
        });
        self
    }

    /// The body that may be left out.
    pub(in crate::api) fn may_take<T: JsonSchema>(self) -> Self {
        let mut about = self.takes::<T>();
        if let Some(body) = &mut about.takes {
            body.required = false;
        }
        about
    }

    /// As [`RouteDoc::takes`], also in these media types.
    pub(in crate::api) fn takes_as<T: JsonSchema>(self, types: &'static [&'static str]) -> Self {
        let mut about = self.takes::<T>();
        if let Some(body) = &mut about.takes {
            body.types = types;
        }
        about
    }

    /// What it answers with.
    pub(in crate::api) fn answers<T: JsonSchema>(mut self) -> Self {
        self.answers.push(BodyDoc {
            types: JSON,
            shape: Some(shape::<T>),
            required: true,
        });
        self
    }

    /// What it answers with, having made it.
    pub(in crate::api) fn creates<T: JsonSchema>(self) -> Self {
        let mut about = self.answers::<T>();
        about.status = 201;
        about
    }

    /// It can answer with this text too.
    pub(in crate::api) fn answers_text(mut self, types: &'static [&'static str]) -> Self {
        self.answers.push(BodyDoc {
            types,
            shape: None,
            required: true,
        });
        self
    }

    /// It answers with server-sent events where the reader accepts them.
    pub(in crate::api) fn feeds(self) -> Self {
        self.answers_text(&["text/event-stream"])
    }

    /// A list in pages: the link of an answer leads to the next one.
    pub(in crate::api) fn pages(self) -> Self {
        self.query("limit", "integer", "How many of them; 200 without it.")
            .query("after", "string", "What the link to the next page says.")
    }

    /// A parameter of the query, which may be left out.
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

    /// A parameter of the query that is one of these words.
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

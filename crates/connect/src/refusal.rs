//! Parses a server's error message, for connections that the driver does not read.

use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::ErrorResponseBody;

use crate::class::{Class, cause_state, classify_server};

/// An error of a server. The field DETAIL is omitted, because it may contain values of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The message.
    pub message: String,
    /// The SQLSTATE, five characters.
    pub state: String,
    /// The hint.
    pub hint: Option<String>,
}

impl Refusal {
    /// Returns whether a retry is useful.
    pub fn class(&self) -> Class {
        classify_server(&self.state, &self.message)
    }

    /// Returns the SQLSTATE for the cause, where the server reports a known cause as an internal error.
    pub fn cause_state(&self) -> &str {
        cause_state(&self.state, &self.message)
    }

    /// Reads the fields of an error message.
    pub fn read(body: &ErrorResponseBody) -> Self {
        let (mut message, mut state, mut hint) = (String::new(), String::new(), None);
        let mut fields = body.fields();
        while let Ok(Some(field)) = fields.next() {
            let text = String::from_utf8_lossy(field.value_bytes()).into_owned();
            match field.type_() {
                b'M' => message = text,
                b'C' => state = text,
                b'H' => hint = Some(text),
                _ => {}
            }
        }
        Self {
            message,
            state,
            hint,
        }
    }
}

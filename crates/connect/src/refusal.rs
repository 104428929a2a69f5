//! What a server said when it refused, where the driver does not read it.

use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::ErrorResponseBody;

/// An error of a server. Its detail, which may hold values of rows, is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What it said.
    pub message: String,
    /// Five characters: SQLSTATE.
    pub state: String,
    /// What it advised.
    pub hint: Option<String>,
}

impl Refusal {
    /// What stands in the message.
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

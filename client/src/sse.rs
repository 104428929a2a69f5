//! Parses server-sent events with the fields that the map's feed uses: `event`, `data`, and comments.

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) data: String,
}

/// Splits a stream of bytes into events. The bytes may arrive in pieces of any size.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    buffer: Vec<u8>,
    event: Event,
}

impl Parser {
    /// Adds bytes, and returns the events that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.buffer.extend_from_slice(bytes);
        let mut complete = Vec::new();
        while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.buffer.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            complete.extend(self.process_line(line.trim_end_matches(['\n', '\r'])));
        }
        complete
    }

    /// Processes one line. Returns the event if the line is empty and so ends the event.
    fn process_line(&mut self, line: &str) -> Option<Event> {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return (!event.data.is_empty()).then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if !self.event.data.is_empty() {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_survive_any_cut_of_the_stream() {
        let text = ": hello\n\nevent: map\nid: 7\ndata: {\"a\":1}\n\nevent: map\r\ndata: x\r\ndata: y\r\n\r\n";
        let uncut = Parser::default().push(text.as_bytes());
        let mut parser = Parser::default();
        let cut: Vec<Event> = text.bytes().flat_map(|byte| parser.push(&[byte])).collect();
        assert_eq!(uncut, cut);
        assert_eq!(
            uncut.iter().map(|e| e.data.as_str()).collect::<Vec<_>>(),
            ["{\"a\":1}", "x\ny"]
        );
    }
}

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
    /// The number of bytes of the buffer that contain no end of a line. A large map is one long line in many pieces.
    searched: usize,
    event: Event,
}

impl Parser {
    /// Adds bytes, and returns the events that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.buffer.extend_from_slice(bytes);
        let mut complete = Vec::new();
        while let Some(found) = self.end_of_line() {
            let line: Vec<u8> = self.buffer.drain(..=found).collect();
            self.searched = 0;
            let line = String::from_utf8_lossy(&line);
            complete.extend(self.process_line(line.trim_end_matches(['\n', '\r'])));
        }
        self.searched = self.buffer.len();
        complete
    }

    /// Returns the position of the first end of a line.
    fn end_of_line(&self) -> Option<usize> {
        let mut unsearched = self.buffer[self.searched..].iter();
        let found = unsearched.position(|byte| *byte == b'\n');
        found.map(|found| self.searched + found)
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

    /// A search of the whole buffer for each piece would take minutes.
    #[test]
    fn a_long_line_in_small_pieces_is_searched_once() {
        let mut parser = Parser::default();
        let piece = vec![b'x'; 1024];
        assert_eq!(parser.push(b"event: map\ndata: "), []);
        for _ in 0..64 * 1024 {
            assert_eq!(parser.push(&piece), []);
        }
        let complete = parser.push(b"\n\n");
        assert_eq!(complete.len(), 1);
        assert_eq!(complete[0].data.len(), 64 << 20);
    }

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

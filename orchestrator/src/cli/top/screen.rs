//! The terminal. The program uses its alternate screen, and restores the normal screen when it ends, also after a
//! panic.

use crate::cli::error::CliError;
use console::Term;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fmt::Write;
use std::io::Read;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Switches to the alternate screen and hides the cursor.
const OPEN_SCREEN: &str = "\x1b[?1049h\x1b[?25l";
/// Shows the cursor and switches to the normal screen.
const CLOSE_SCREEN: &str = "\x1b[?25h\x1b[?1049l";
/// Moves the cursor to the top left corner.
const CURSOR_HOME: &str = "\x1b[H";
/// Clears the rest of the line.
const CLEAR_LINE: &str = "\x1b[K";
/// Clears the rest of the screen.
const CLEAR_SCREEN: &str = "\x1b[J";

/// The alternate screen. Dropping the value restores the normal screen.
pub(super) struct TerminalScreen {
    term: Term,
    /// The settings of the terminal before the program changed them. Only this value changes them: a thread that waits
    /// for keys could do so after they were restored.
    settings: Option<Termios>,
}

impl TerminalScreen {
    pub(super) fn open(term: Term) -> Result<Self, CliError> {
        let settings = tcgetattr(std::io::stdin()).ok();
        if let Some(settings) = &settings {
            let mut raw = settings.clone();
            raw.make_raw();
            // If this fails, keys arrive when the user ends the line.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &raw);
        }
        term.write_str(OPEN_SCREEN)?;
        Ok(Self { term, settings })
    }

    /// Draws the lines that `frame` returns for the columns and rows of the terminal.
    pub(super) fn draw(
        &mut self,
        frame: impl FnOnce((usize, usize)) -> Vec<String>,
    ) -> Result<(), CliError> {
        let (rows, columns) = self.term.size();
        let lines = frame((columns.into(), rows.into()));
        let mut text = CURSOR_HOME.to_owned();
        for (number, line) in lines.iter().enumerate() {
            let end = if number + 1 < lines.len() { "\r\n" } else { "" };
            // Writing to a String cannot fail.
            let _ = write!(text, "{line}{CLEAR_LINE}{end}");
        }
        text += CLEAR_SCREEN;
        Ok(self.term.write_str(&text)?)
    }
}

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        // If this fails, the terminal has been closed.
        let _ = self.term.write_str(CLOSE_SCREEN);
        if let Some(settings) = &self.settings {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, settings);
        }
    }
}

/// The byte that the terminal sends for Ctrl-C.
const CTRL_C: u8 = 3;
/// The byte that the terminal sends for the escape key. Other special keys send more bytes after it.
const ESCAPE: u8 = 0x1b;

/// A key that the user presses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PressedKey {
    /// Leaves the screen.
    Leave,
    /// Changes the order.
    Sort,
}

/// Returns the keys with a meaning among the bytes that the terminal sent at once.
fn parse_keys(bytes: &[u8]) -> Vec<PressedKey> {
    if let [ESCAPE, rest @ ..] = bytes {
        return match rest.is_empty() {
            true => vec![PressedKey::Leave],
            false => Vec::new(),
        };
    }
    let key = |byte: &u8| match byte {
        b'q' | &CTRL_C => Some(PressedKey::Leave),
        b's' => Some(PressedKey::Sort),
        _ => None,
    };
    bytes.iter().filter_map(key).collect()
}

/// The keys that the user presses.
pub(super) struct KeyPresses(UnboundedReceiver<PressedKey>);

impl KeyPresses {
    /// Starts a thread that reads keys until one of them leaves the screen.
    pub(super) fn listen() -> Self {
        let (sender, receiver) = unbounded_channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 64];
            while let Ok(count @ 1..) = std::io::stdin().read(&mut bytes) {
                for key in parse_keys(&bytes[..count]) {
                    if sender.send(key).is_err() || key == PressedKey::Leave {
                        return;
                    }
                }
            }
        });
        Self(receiver)
    }

    /// Waits for the next key; `None` if the thread has ended.
    pub(super) async fn next(&mut self) -> Option<PressedKey> {
        self.0.recv().await
    }
}

#[cfg(test)]
mod tests {
    use super::{PressedKey, parse_keys};

    #[test]
    fn keys_without_a_meaning_are_ignored() {
        use PressedKey::{Leave, Sort};
        for (bytes, keys) in [
            (b"q".as_slice(), vec![Leave]),
            (b"xsq", vec![Sort, Leave]),
            (b"\x03", vec![Leave]),
            (b"\x1b", vec![Leave]),
            // An arrow key.
            (b"\x1b[A", vec![]),
        ] {
            assert_eq!(parse_keys(bytes), keys, "{bytes:?}");
        }
    }
}

//! The terminal: another screen while it is shown, the old one when it is left, however that comes about.

use crate::cli::error::CliError;
use console::{Key, Term};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fmt::Write;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// The other screen of a terminal, without the cursor.
const OPEN: &str = "\x1b[?1049h\x1b[?25l";
const CLOSE: &str = "\x1b[?25h\x1b[?1049l";
const HOME: &str = "\x1b[H";
const REST_OF_LINE: &str = "\x1b[K";
const REST_OF_SCREEN: &str = "\x1b[J";

/// The screen while it is shown.
pub(super) struct TerminalScreen {
    term: Term,
    /// How the terminal took keys before: a thread that waits for a key may never restore it.
    keys: Option<Termios>,
}

impl TerminalScreen {
    pub(super) fn open(term: Term) -> Result<Self, CliError> {
        let keys = tcgetattr(std::io::stdin()).ok();
        term.write_str(OPEN)?;
        Ok(Self { term, keys })
    }

    /// Draws the lines that `frame` makes for this many columns and rows.
    pub(super) fn draw(
        &mut self,
        frame: impl FnOnce((usize, usize)) -> Vec<String>,
    ) -> Result<(), CliError> {
        let (rows, columns) = self.term.size();
        let lines = frame((columns.into(), rows.into()));
        let mut text = HOME.to_owned();
        for (number, line) in lines.iter().enumerate() {
            let end = if number + 1 < lines.len() { "\r\n" } else { "" };
            // Writing to a String cannot fail.
            let _ = write!(text, "{line}{REST_OF_LINE}{end}");
        }
        text += REST_OF_SCREEN;
        Ok(self.term.write_str(&text)?)
    }
}

/// Also where the program panics, or a signal ends it.
impl Drop for TerminalScreen {
    fn drop(&mut self) {
        // Where the terminal is gone there is nothing to put back.
        let _ = self.term.write_str(CLOSE);
        if let Some(keys) = &self.keys {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, keys);
        }
    }
}

/// The keys that are pressed.
pub(super) struct KeyPresses(UnboundedReceiver<Key>);

impl KeyPresses {
    /// Listens until a key leaves the screen: one that is read changes the terminal while it is waited for.
    pub(super) fn listen() -> Self {
        let (sender, receiver) = unbounded_channel();
        std::thread::spawn(move || {
            while let Ok(key) = Term::stdout().read_key_raw() {
                let leaves = matches!(key, Key::Char('q') | Key::Escape | Key::CtrlC);
                if sender.send(key).is_err() || leaves {
                    break;
                }
            }
        });
        Self(receiver)
    }

    /// The next one; `None` where none comes any more.
    pub(super) async fn next(&mut self) -> Option<Key> {
        self.0.recv().await
    }
}

//! The terminal. The program uses its alternate screen, and restores the normal screen when it ends, also after a
//! panic.

use crate::cli::error::CliError;
use console::{Key, Term};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fmt::Write;
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
    /// The settings of the terminal before the program changed them. The thread that waits for keys changes them, and
    /// may end without restoring them.
    settings: Option<Termios>,
}

impl TerminalScreen {
    pub(super) fn open(term: Term) -> Result<Self, CliError> {
        let settings = tcgetattr(std::io::stdin()).ok();
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

/// The keys that the user presses.
pub(super) struct KeyPresses(UnboundedReceiver<Key>);

impl KeyPresses {
    /// Starts a thread that reads keys until one of them leaves the screen. It must not read another key then, because
    /// reading changes the settings of the terminal.
    pub(super) fn listen() -> Self {
        let (sender, receiver) = unbounded_channel();
        std::thread::spawn(move || {
            while let Ok(key) = Term::stdout().read_key_raw() {
                let leaves_screen = matches!(key, Key::Char('q') | Key::Escape | Key::CtrlC);
                if sender.send(key).is_err() || leaves_screen {
                    break;
                }
            }
        });
        Self(receiver)
    }

    /// Waits for the next key; `None` if the thread has ended.
    pub(super) async fn next(&mut self) -> Option<Key> {
        self.0.recv().await
    }
}

//! A meeting over a unix socket: the process under test waits until the test releases it.
//!
//! The process sends `name pid` and a line feed. The test answers `continue` and a line feed, or closes the connection.

use std::io;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

/// The side of the test: a socket to which processes connect.
#[derive(Debug)]
pub struct Rendezvous {
    listener: UnixListener,
    path: PathBuf,
}

/// A process that waits at a fail point. Dropping the value releases the process.
#[derive(Debug)]
pub struct Arrival {
    /// The name of the fail point.
    pub name: String,
    /// The process id.
    pub pid: i32,
    stream: UnixStream,
}

impl Rendezvous {
    /// Listens at `path`, which has at most 107 bytes. Dropping the value removes the socket.
    ///
    /// # Errors
    /// The error of the operating system, for example if the path exists.
    pub fn bind(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        Ok(Self {
            listener: UnixListener::bind(&path)?,
            path,
        })
    }

    /// Returns the text that makes `point` (`name` or `name#n`) connect to this socket.
    pub fn arms(&self, point: &str) -> String {
        format!("{point}=rendezvous:{}", self.path.display())
    }

    /// Waits for the next process. It is cancel safe only until a process has connected.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if the process does not send `name pid`, or an error of the socket.
    pub async fn arrived(&self) -> io::Result<Arrival> {
        let (stream, _) = self.listener.accept().await?;
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).await?;
        let parts = line.trim_end().split_once(' ');
        let greeting = parts.and_then(|(name, pid)| Some((name.to_owned(), pid.parse().ok()?)));
        let (name, pid) = greeting.ok_or(io::ErrorKind::InvalidData)?;
        Ok(Arrival {
            name,
            pid,
            stream: reader.into_inner(),
        })
    }
}

impl Drop for Rendezvous {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(path = %self.path.display(), %error, "socket not removed");
        }
    }
}

impl Arrival {
    /// Releases the process.
    ///
    /// # Errors
    /// An error of the socket, if the process has ended.
    pub async fn release(mut self) -> io::Result<()> {
        self.stream.write_all(b"continue\n").await
    }
}

/// The side of the process: sends its name, and returns when it is released.
pub(crate) async fn wait(path: &Path, name: &str) -> io::Result<()> {
    let mut stream = UnixStream::connect(path).await?;
    stream
        .write_all(format!("{name} {}\n", std::process::id()).as_bytes())
        .await?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).await?;
    Ok(())
}

//! Files that commands read and write; `-` is stdin.

use super::error::CliError;
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The text of a file.
pub(super) fn read(path: &Path) -> Result<String, CliError> {
    let text = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    text.map_err(|source| CliError::File {
        action: "read",
        path: path.to_owned(),
        source,
    })
}

/// Writes a file, replacing what was there.
pub(super) fn write(path: &Path, text: &str) -> Result<(), CliError> {
    std::fs::write(path, text).map_err(|source| CliError::File {
        action: "write",
        path: path.to_owned(),
        source,
    })
}

/// Writes to the file, or prints where none is named.
pub(super) fn write_or_print(path: Option<&Path>, text: &str) -> Result<(), CliError> {
    match path {
        Some(path) => write(path, text),
        None => {
            super::out::print(text);
            Ok(())
        }
    }
}

/// A document in YAML.
pub(super) fn yaml<T: serde::Serialize>(value: &T) -> Result<String, CliError> {
    serde_saphyr::to_string(value).map_err(|error| CliError::Usage(error.to_string()))
}

/// Makes a file that only its owner reads; one that is there is left alone.
pub(super) fn write_secret(path: &Path, text: &str) -> Result<(), CliError> {
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    let written = made.and_then(|mut file| writeln!(file, "{text}"));
    written.map_err(|source| CliError::File {
        action: "write",
        path: path.to_owned(),
        source,
    })
}

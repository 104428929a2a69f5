//! Files that commands read and write; `-` is stdin.

use super::error::CliError;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
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

/// Writes a file at once: who reads it meanwhile has the old one whole. A link stays one, and a pipe is written to.
pub(super) fn replace(path: &Path, text: &str) -> Result<(), CliError> {
    let there = std::fs::canonicalize(path);
    let path = there.as_deref().unwrap_or(path);
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return write(path, text);
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let other = path.with_file_name(name);
    let written = std::fs::write(&other, text).and_then(|()| std::fs::rename(&other, path));
    written.map_err(|source| {
        // A file that is half written is of no use.
        let _ = std::fs::remove_file(&other);
        CliError::File {
            action: "write",
            path: path.to_owned(),
            source,
        }
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

/// The secret in a file that only its owner reads; where it is not there it is made, whole at once, with its folder.
pub(super) fn read_or_make_secret(
    path: &Path,
    secret: impl FnOnce() -> String,
) -> Result<String, CliError> {
    if !path.exists() {
        let made = make_secret(path, &secret());
        made.map_err(|source| CliError::File {
            action: "write",
            path: path.to_owned(),
            source,
        })?;
    }
    read(path)
}

/// Refuses a secret that other accounts may read: only its owner, or the group of one that root owns.
pub(super) fn check_private(path: &Path) -> Result<(), CliError> {
    let found = std::fs::metadata(path).map_err(|source| CliError::File {
        action: "read",
        path: path.to_owned(),
        source,
    })?;
    let foreign = if found.uid() == 0 { 0o037 } else { 0o077 };
    if found.mode() & foreign == 0 {
        return Ok(());
    }
    let shown = path.display();
    Err(CliError::Usage(format!(
        "other accounts may read the token in {shown}: chmod 600 {shown}, and replace it if they did"
    )))
}

fn make_secret(path: &Path, secret: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let other = path.with_file_name(name);
    let _ = std::fs::remove_file(&other);
    make(&other, &format!("{secret}\n"), 0o600)?;
    // A link is made only where there is nothing yet: of two that start at once the second takes the first one's.
    let linked = std::fs::hard_link(&other, path);
    std::fs::remove_file(&other)?;
    match linked {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    }
}

/// Makes a file; one that is there is left alone.
pub(super) fn write_new(path: &Path, text: &str) -> Result<(), CliError> {
    make(path, text, 0o666).map_err(|source| CliError::File {
        action: "write",
        path: path.to_owned(),
        source,
    })
}

fn make(path: &Path, text: &str, mode: u32) -> std::io::Result<()> {
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path);
    made.and_then(|mut file| file.write_all(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_behind_its_link() {
        let folder = std::env::temp_dir().join(format!("shardwright-files-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let (link, file) = (folder.join("link"), folder.join("file"));
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        replace(&link, "new").unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

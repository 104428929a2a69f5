//! Reads and writes files for commands.

use super::error::CliError;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Returns the text of a file; the path `-` is stdin.
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

/// Writes a file. An existing file is overwritten.
pub(super) fn write(path: &Path, text: &str) -> Result<(), CliError> {
    std::fs::write(path, text).map_err(|source| CliError::File {
        action: "write",
        path: path.to_owned(),
        source,
    })
}

/// Replaces a file atomically: a program that reads it meanwhile gets the complete old content. If the path is a
/// symbolic link, the file to which it leads is replaced. If it is not a regular file, for example a pipe, the text is
/// written to it.
pub(super) fn replace(path: &Path, text: &str) -> Result<(), CliError> {
    let resolved = std::fs::canonicalize(path);
    let path = resolved.as_deref().unwrap_or(path);
    if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return write(path, text);
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = std::fs::write(&temporary, text).and_then(|()| std::fs::rename(&temporary, path));
    written.map_err(|source| {
        // The temporary file may be incomplete.
        let _ = std::fs::remove_file(&temporary);
        CliError::File {
            action: "write",
            path: path.to_owned(),
            source,
        }
    })
}

/// Writes to the file, or prints the text if no file is named.
pub(super) fn write_or_print(path: Option<&Path>, text: &str) -> Result<(), CliError> {
    match path {
        Some(path) => write(path, text),
        None => {
            super::out::print(text);
            Ok(())
        }
    }
}

/// Returns a value as YAML.
pub(super) fn yaml<T: serde::Serialize>(value: &T) -> Result<String, CliError> {
    serde_saphyr::to_string(value).map_err(|error| CliError::Usage(error.to_string()))
}

/// Returns the secret in a file. If the file does not exist, creates it with a new secret, so that only its owner can
/// read it; also creates its folder.
pub(super) fn read_or_create_secret(
    path: &Path,
    secret: impl FnOnce() -> String,
) -> Result<String, CliError> {
    if !path.exists() {
        let created = create_secret(path, &secret());
        created.map_err(|source| CliError::File {
            action: "write",
            path: path.to_owned(),
            source,
        })?;
    }
    read(path)
}

/// Fails if accounts other than the owner can read the file. If root owns the file, its group may read it too.
pub(super) fn check_private(path: &Path) -> Result<(), CliError> {
    let metadata = std::fs::metadata(path).map_err(|source| CliError::File {
        action: "read",
        path: path.to_owned(),
        source,
    })?;
    let forbidden_bits = if metadata.uid() == 0 { 0o037 } else { 0o077 };
    if metadata.mode() & forbidden_bits == 0 {
        return Ok(());
    }
    let shown = path.display();
    Err(CliError::Usage(format!(
        "other accounts can read the token in {shown}: run chmod 600 {shown}, and replace the token if another account may have read it"
    )))
}

/// Creates the file with the secret, unless it exists by then. Its content is complete as soon as the file exists.
fn create_secret(path: &Path, secret: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let temporary = path.with_file_name(name);
    let _ = std::fs::remove_file(&temporary);
    create(&temporary, &format!("{secret}\n"), 0o600)?;
    // A link is never created over an existing file. So if two controllers start together, both use the first secret.
    let linked = std::fs::hard_link(&temporary, path);
    std::fs::remove_file(&temporary)?;
    match linked {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    }
}

/// Creates a file. Fails if it exists.
pub(super) fn write_new(path: &Path, text: &str) -> Result<(), CliError> {
    create(path, text, 0o666).map_err(|source| CliError::File {
        action: "write",
        path: path.to_owned(),
        source,
    })
}

/// Creates a file with this mode. Fails if it exists.
fn create(path: &Path, text: &str, mode: u32) -> std::io::Result<()> {
    let opened = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path);
    opened.and_then(|mut file| file.write_all(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_behind_a_link_is_replaced() {
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

//! The data directory of the new standby.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use plans::render::bytes;

use super::StandbyError;

/// The mode that PostgreSQL requires of a data directory.
const MODE: u32 = 0o700;

/// A data directory that was empty, or did not exist, when it was checked. Everything in it is therefore of this process.
#[derive(Debug)]
pub(super) struct DataDirectory {
    path: PathBuf,
}

impl DataDirectory {
    /// Checks the directory, and creates it if it does not exist.
    pub(super) fn check(path: &Path) -> Result<Self, StandbyError> {
        if rustix::process::geteuid().is_root() {
            return Err(StandbyError::new(
                "PostgreSQL does not run as root",
                "run the command as the account of the server, for example `sudo -u postgres shardwright-agent standby create …`",
            ));
        }
        let shown = path.display();
        if !path.is_absolute() {
            return Err(StandbyError::new(
                format!("{shown} is no absolute path"),
                "give the whole path of the data directory",
            ));
        }
        let entries = std::fs::read_dir(path);
        match entries.map(|mut entries| entries.next().is_some()) {
            Ok(false) => {}
            Ok(true) => {
                return Err(StandbyError::new(
                    format!("directory {shown} is not empty"),
                    "choose an empty directory; Shardwright does not remove files that it has not created",
                ));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let created = std::fs::DirBuilder::new().mode(MODE).create(path);
                let hint = "create it as the account of the server, or choose another one";
                created.map_err(StandbyError::io(&format!("create directory {shown}"), hint))?;
            }
            Err(error) => {
                let hint = "choose a directory that the account of the server owns";
                return Err(StandbyError::io(&format!("read directory {shown}"), hint)(
                    error,
                ));
            }
        }
        Ok(Self {
            path: path.to_owned(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that the file system has room for `needed` bytes.
    pub(super) fn check_space(&self, needed: u64) -> Result<(), StandbyError> {
        let action = format!("read the free space of {}", self.path.display());
        let status = rustix::fs::statvfs(&self.path)
            .map_err(|error| StandbyError::io(&action, "")(error.into()))?;
        let free = status.f_bavail.saturating_mul(status.f_frsize);
        if free >= needed {
            return Ok(());
        }
        let shown = |amount| bytes(i64::try_from(amount).unwrap_or(i64::MAX));
        Err(StandbyError::new(
            format!(
                "{} has {} of free space, and the databases of the source have {}",
                self.path.display(),
                shown(free),
                shown(needed)
            ),
            "choose a larger file system; the standby also needs space for its log",
        ))
    }

    /// Removes everything in the directory.
    pub(super) fn empty(&self) -> std::io::Result<()> {
        for entry in std::fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                std::fs::remove_dir_all(entry.path())?;
            } else {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

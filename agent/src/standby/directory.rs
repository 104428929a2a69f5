//! The data directory of the new standby.

use std::fs::{DirBuilder, File, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use plans::render::bytes;
use rustix::fs::{Access, FlockOperation, access, flock, statvfs};

use super::StandbyError;

/// The mode that PostgreSQL requires of a data directory.
const MODE: u32 = 0o700;
const NOT_EMPTY: &str = "choose an empty directory, or a new one inside it. If an earlier attempt was killed, make sure that its pg_basebackup has ended, and remove its files";

/// A data directory that is empty or does not exist. Nothing was created yet.
#[derive(Debug)]
pub(super) struct FreeDirectory {
    path: PathBuf,
    exists: bool,
}

/// A data directory that this process has locked while it was empty. Everything in it is of this process.
#[derive(Debug)]
pub(super) struct DataDirectory {
    path: PathBuf,
    existed: bool,
    /// Holds the lock.
    _lock: File,
}

impl FreeDirectory {
    /// Checks the directory. Creates nothing.
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
        let exists = match std::fs::metadata(path) {
            Ok(found) if found.uid() != rustix::process::geteuid().as_raw() => {
                return Err(StandbyError::new(
                    format!("another account owns {shown}"),
                    "change its owner to the account of the server",
                ));
            }
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(error) => return Err(StandbyError::io(&format!("examine {shown}"), "")(error)),
        };
        let free = Self {
            path: path.to_owned(),
            exists,
        };
        if exists {
            refuse_files(path)?;
        }
        let folder = free.existing();
        access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| {
            let action = format!("create files in {}", folder.display());
            let hint = "choose a directory of the account of the server";
            StandbyError::io(&action, hint)(error.into())
        })?;
        Ok(free)
    }

    /// Returns the directory, or the one that it will be in.
    fn existing(&self) -> &Path {
        match self.path.parent() {
            Some(parent) if !self.exists => parent,
            Some(_) | None => &self.path,
        }
    }

    /// Checks that the file system has room for `needed` bytes.
    pub(super) fn check_space(&self, needed: u64) -> Result<(), StandbyError> {
        let folder = self.existing();
        let action = format!("read the free space of {}", folder.display());
        let status =
            statvfs(folder).map_err(|error| StandbyError::io(&action, "")(error.into()))?;
        let free = status.f_bavail.saturating_mul(status.f_frsize);
        if free >= needed {
            return Ok(());
        }
        let shown = |amount| bytes(i64::try_from(amount).unwrap_or(i64::MAX));
        Err(StandbyError::new(
            format!(
                "{} has {} of free space, and the databases of the source have {}",
                folder.display(),
                shown(free),
                shown(needed)
            ),
            "choose a larger file system; the standby also needs space for its log",
        ))
    }

    /// Creates the directory if it does not exist, and locks it against another `standby create`.
    pub(super) fn claim(self) -> Result<DataDirectory, StandbyError> {
        let shown = self.path.display();
        let action = format!("claim directory {shown}");
        let io = |error| StandbyError::io(&action, "choose another directory")(error);
        if !self.exists {
            DirBuilder::new()
                .mode(MODE)
                .create(&self.path)
                .map_err(io)?;
        }
        let lock = File::open(&self.path).map_err(io)?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(StandbyError::new(
                format!("another `standby create` uses directory {shown}"),
                "choose another directory",
            ));
        }
        // Another command may have used and left it meanwhile.
        refuse_files(&self.path)?;
        std::fs::set_permissions(&self.path, Permissions::from_mode(MODE)).map_err(io)?;
        Ok(DataDirectory {
            path: self.path,
            existed: self.exists,
            _lock: lock,
        })
    }
}

impl DataDirectory {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes everything in the directory, and the directory itself if it did not exist.
    pub(super) fn remove_copy(&self) -> std::io::Result<()> {
        for entry in std::fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                std::fs::remove_dir_all(entry.path())?;
            } else {
                std::fs::remove_file(entry.path())?;
            }
        }
        match self.existed {
            true => Ok(()),
            false => std::fs::remove_dir(&self.path),
        }
    }
}

fn refuse_files(path: &Path) -> Result<(), StandbyError> {
    let shown = path.display();
    let entries = std::fs::read_dir(path);
    match entries.map(|mut entries| entries.next().is_some()) {
        Ok(false) => Ok(()),
        Ok(true) => Err(StandbyError::new(
            format!("directory {shown} is not empty"),
            NOT_EMPTY,
        )),
        Err(error) => Err(StandbyError::io(&format!("read directory {shown}"), "")(
            error,
        )),
    }
}

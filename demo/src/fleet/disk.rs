//! A small disk in memory, for a server, a database or a program that is to run out of space.

use super::Folder;
use crate::error::DemoError;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

const BLOCK: usize = 1 << 16;

/// A mounted disk. Dropping it unmounts it.
#[derive(Debug)]
pub(crate) struct Disk {
    path: PathBuf,
}

impl Disk {
    /// Mounts a new disk of this size in MiB at `path`.
    pub(crate) fn mount(path: &Path, mebibytes: u32) -> Result<Self, DemoError> {
        std::fs::create_dir(path).map_err(DemoError::io(format!("create {}", path.display())))?;
        let mut mount = Command::new("mount");
        let size = format!("size={mebibytes}m,mode=755");
        mount.args(["-t", "tmpfs", "-o", &size, "shardwright-demo"]);
        let output = mount.arg(path).output();
        let output = output.map_err(DemoError::io("run mount"))?;
        if output.status.success() {
            return Ok(Self {
                path: path.to_owned(),
            });
        }
        Err(DemoError::NoMount {
            path: path.to_owned(),
            output: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        })
    }

    /// Mounts and unmounts a disk, to find out whether this process may do so.
    pub(crate) fn try_mount() -> Result<(), DemoError> {
        let folder = Folder::create("mount", false)?;
        Self::mount(&folder.path.join("disk"), 1).map(drop)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Fills the disk with a ballast file. It can be called again if space was freed meanwhile.
    pub(super) fn fill(&self) -> Result<(), DemoError> {
        let failed = || DemoError::io("fill a disk");
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.ballast());
        let mut file = file.map_err(failed())?;
        let block = vec![0x5a; BLOCK];
        loop {
            match file.write(&block) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => return Ok(()),
                Err(error) => return Err(failed()(error)),
            }
        }
    }

    /// Removes the ballast file.
    pub(super) fn empty(&self) -> Result<(), DemoError> {
        match std::fs::remove_file(self.ballast()) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(DemoError::io("empty a disk")(error))
            }
            _ => Ok(()),
        }
    }

    fn ballast(&self) -> PathBuf {
        self.path.join("ballast")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // The unmount is lazy, because a server that is ending may still use the disk for a moment.
        let done = Command::new("umount").arg("-l").arg(&self.path).output();
        if let Err(error) = done {
            tracing::warn!(path = %self.path.display(), %error, "disk not unmounted");
        }
    }
}

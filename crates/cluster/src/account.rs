//! The operating system account that runs the server programs: the account of this process, or `postgres` if this
//! process runs as root.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::ClusterError;

const USER: &str = "postgres";

/// The account. If `switch` is `None`, it is the account of this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account {
    /// User id and group id of another account.
    switch: Option<(u32, u32)>,
}

impl Account {
    /// Determines the account. Fails if this process runs as root and there is no account `postgres`.
    pub(crate) fn detect() -> Result<Self, ClusterError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self { switch: None });
        }
        let path = Path::new("/etc/passwd");
        let text = std::fs::read_to_string(path).map_err(ClusterError::io("read", path))?;
        let ids = text.lines().find_map(parse_entry);
        ids.map(|ids| Self { switch: Some(ids) })
            .ok_or(ClusterError::AccountMissing { user: USER })
    }

    /// Creates a command that runs as this account in `dir`, without this process's `PG*` variables and without its
    /// `NOTIFY_SOCKET`: with this variable the server would report to the service manager, in place of this process,
    /// that it is ready.
    pub(crate) fn command(&self, program: &Path, dir: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(dir)
            .env("LC_ALL", "C")
            .stdin(std::process::Stdio::null());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PG") || name == "NOTIFY_SOCKET" {
                command.env_remove(name);
            }
        }
        if let Some((uid, gid)) = self.switch {
            command.uid(uid).gid(gid);
        }
        command
    }

    /// Makes the server's account the owner of the file or folder, if the server runs under another account.
    pub(crate) fn make_owner_of(&self, path: &Path) -> Result<(), ClusterError> {
        let Some((uid, gid)) = self.switch else {
            return Ok(());
        };
        std::os::unix::fs::chown(path, Some(uid), Some(gid))
            .map_err(ClusterError::io("change the owner of", path))
    }

    /// Fails if the account cannot reach `dir` because it may not enter a folder above it.
    pub(crate) fn check_can_enter(&self, dir: &Path) -> Result<(), ClusterError> {
        let Some((uid, gid)) = self.switch else {
            return Ok(());
        };
        for path in dir.ancestors() {
            let meta = path.metadata().map_err(ClusterError::io("read", path))?;
            let bit = match meta {
                _ if meta.uid() == uid => 0o100,
                _ if meta.gid() == gid => 0o010,
                _ => 0o001,
            };
            if meta.permissions().mode() & bit == 0 {
                return Err(ClusterError::Unreachable {
                    path: path.to_owned(),
                    user: USER,
                });
            }
        }
        Ok(())
    }
}

fn parse_entry(line: &str) -> Option<(u32, u32)> {
    let mut fields = line.split(':');
    if fields.next() != Some(USER) {
        return None;
    }
    let uid = fields.nth(1)?.parse().ok()?;
    let gid = fields.next()?.parse().ok()?;
    Some((uid, gid))
}

#[cfg(test)]
mod tests {
    use super::parse_entry;

    #[test]
    fn only_the_entry_of_postgres_counts() {
        assert_eq!(
            parse_entry("postgres:x:101:104:admin,,,:/var/lib:/bin/bash"),
            Some((101, 104))
        );
        assert_eq!(parse_entry("postgres2:x:1:2::/:/bin/sh"), None);
        assert_eq!(parse_entry("root:x:0:0:root:/root:/bin/bash"), None);
    }
}

//! The files and variables that a connection string may reference as secrets.
//!
//! An application or the command line uses its own connection strings, so every reference is permitted. An agent
//! receives its connection strings from a controller. A user who registers a shard must not be able to read files of
//! the agent's host by references in the connection string. Therefore the agent calls [`Secrets::restrict_process`]
//! once at its start.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The variable with the directory of this process's secrets, which the service manager sets.
pub(crate) const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";

/// The secrets that the whole process may read; unset: all.
static OF_PROCESS: OnceLock<Secrets> = OnceLock::new();

/// The files and variables that connection strings may reference.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Secrets(Option<AllowedSecrets>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct AllowedSecrets {
    directories: Vec<PathBuf>,
    variables: Vec<String>,
    /// A file that is never permitted.
    except: Option<PathBuf>,
}

impl Secrets {
    /// Permits files below `directories`, and variables: by name, or with `*` at the end by the beginning of their
    /// name.
    #[must_use]
    pub fn within(directories: Vec<PathBuf>, variables: Vec<String>) -> Self {
        Self(Some(AllowedSecrets {
            directories,
            variables,
            except: None,
        }))
    }

    /// Also permits the directory of [`CREDENTIALS`], if there is one.
    #[must_use]
    pub fn and_credentials(mut self) -> Self {
        if let Some(allowed) = &mut self.0 {
            let folder = std::env::var_os(CREDENTIALS).map(PathBuf::from);
            allowed.directories.extend(folder);
        }
        self
    }

    /// Forbids `file` wherever it is: the process's own token.
    #[must_use]
    pub fn except(mut self, file: Option<PathBuf>) -> Self {
        if let Some(allowed) = &mut self.0 {
            allowed.except = file;
        }
        self
    }

    /// Restricts this process to these secrets. Only the first call has an effect.
    pub fn restrict_process(self) {
        let _ = OF_PROCESS.set(self);
    }

    pub(crate) fn of_process() -> Self {
        OF_PROCESS.get().cloned().unwrap_or_default()
    }

    pub(crate) fn admits_variable(&self, name: &str) -> bool {
        let Some(allowed) = &self.0 else { return true };
        let matches = |pattern: &String| match pattern.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => name == pattern,
        };
        allowed.variables.iter().any(matches)
    }

    /// Returns the file to which `path` leads, with links and `..` resolved; `None` if it is not permitted.
    ///
    /// # Errors
    /// The error of the operating system, for a permitted path. A path that leads to another directory is refused
    /// whether the file exists or not, so that the result does not reveal this.
    pub(crate) fn file(&self, path: &str) -> io::Result<Option<PathBuf>> {
        let path = Path::new(path);
        let Some(allowed) = &self.0 else {
            return Ok(Some(path.to_owned()));
        };
        let found = match path.canonicalize() {
            Ok(found) => found,
            Err(error) if allowed.has_directory_of(path) => return Err(error),
            Err(_) => return Ok(None),
        };
        let canonical = |path: &PathBuf| path.canonicalize().ok();
        let contains_file = |directory| found.starts_with(directory);
        let admitted = allowed
            .directories
            .iter()
            .filter_map(canonical)
            .any(contains_file);
        let forbidden = allowed.except.as_ref().and_then(canonical);
        Ok((admitted && forbidden.as_ref() != Some(&found)).then_some(found))
    }
}

impl AllowedSecrets {
    /// Returns true if `path`, as written, is in one of the directories.
    fn has_directory_of(&self, path: &Path) -> bool {
        let has_parent_steps = path.components().any(|part| part.as_os_str() == "..");
        let contains_path = |directory: &PathBuf| path.starts_with(directory);
        !has_parent_steps && self.directories.iter().any(contains_path)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_and_dots_do_not_lead_out_of_the_directories() {
        let root = std::env::temp_dir().join(format!("secrets-{}", std::process::id()));
        let (inside, outside) = (root.join("in"), root.join("out"));
        for folder in [&inside, &outside] {
            std::fs::create_dir_all(folder).expect("made");
        }
        std::fs::write(inside.join("mover"), "m").expect("written");
        std::fs::write(inside.join("token"), "t").expect("written");
        std::fs::write(outside.join("shadow"), "s").expect("written");
        symlink(outside.join("shadow"), inside.join("link")).expect("linked");
        symlink(inside.join("mover"), inside.join("data")).expect("linked");
        symlink(inside.join("token"), inside.join("own")).expect("linked");
        let secrets = Secrets::within(vec![inside.clone()], vec!["SHARD_*".into(), "ONE".into()])
            .except(Some(inside.join("token")));
        let read = |path: PathBuf| secrets.file(path.to_str().expect("text"));
        let mover = inside.join("mover").canonicalize().expect("there");
        for admitted in ["mover", "data", "../in/mover"] {
            let found = read(inside.join(admitted)).expect("found");
            assert_eq!(found.as_ref(), Some(&mover), "{admitted}");
        }
        for refused in ["link", "../out/shadow", "../out/missing", "token", "own"] {
            assert_eq!(
                read(inside.join(refused)).expect("refused"),
                None,
                "{refused}"
            );
        }
        assert_eq!(read(PathBuf::from("/etc/passwd")).expect("refused"), None);
        assert!(read(inside.join("missing")).is_err());
        std::fs::remove_dir_all(&root).expect("removed");
    }

    #[test]
    fn a_variable_is_permitted_by_its_name_or_its_prefix() {
        let secrets = Secrets::within(Vec::new(), vec!["SHARD_*".into(), "ONE".into()]);
        for (name, admitted) in [
            ("SHARD_PASSWORD", true),
            ("ONE", true),
            ("ONE_MORE", false),
            ("SHARDWRIGHT_TOKEN", false),
            ("PGPASSWORD", false),
        ] {
            assert_eq!(secrets.admits_variable(name), admitted, "{name}");
        }
        assert!(Secrets::default().admits_variable("HOME"));
    }
}

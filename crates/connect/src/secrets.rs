//! Which files and variables of this process a connection string may name as secrets.
//!
//! A program whose connection strings are its own, as an application or the command line, reads any of them.
//! An agent gets its strings from a controller, so whoever registers a shard must not read the agent's host through
//! it: [`Secrets::restrict_process`] limits the process once, at its start.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The variable that names the directory of this process's secrets, as the service manager set it.
pub(crate) const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";

/// What the whole process may read; unset: everything.
static OF_PROCESS: OnceLock<Secrets> = OnceLock::new();

/// The files and variables that connection strings may name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Secrets(Option<AllowedSecrets>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct AllowedSecrets {
    directories: Vec<PathBuf>,
    variables: Vec<String>,
    except: Option<PathBuf>,
}

impl Secrets {
    /// Files below `directories`, and variables: a name, or with `*` at its end all names that begin so.
    #[must_use]
    pub fn within(directories: Vec<PathBuf>, variables: Vec<String>) -> Self {
        Self(Some(AllowedSecrets {
            directories,
            variables,
            except: None,
        }))
    }

    /// The same, and the directory of [`CREDENTIALS`] if there is one.
    #[must_use]
    pub fn and_credentials(mut self) -> Self {
        if let Some(allowed) = &mut self.0 {
            let folder = std::env::var_os(CREDENTIALS).map(PathBuf::from);
            allowed.directories.extend(folder);
        }
        self
    }

    /// The same without `file`, wherever it is: the process's own token.
    #[must_use]
    pub fn except(mut self, file: Option<PathBuf>) -> Self {
        if let Some(allowed) = &mut self.0 {
            allowed.except = file;
        }
        self
    }

    /// From now on this process reads these alone. A second call changes nothing.
    pub fn restrict_process(self) {
        let _ = OF_PROCESS.set(self);
    }

    pub(crate) fn of_process() -> Self {
        OF_PROCESS.get().cloned().unwrap_or_default()
    }

    pub(crate) fn admits_variable(&self, name: &str) -> bool {
        let Some(allowed) = &self.0 else { return true };
        let fits = |pattern: &String| match pattern.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => name == pattern,
        };
        allowed.variables.iter().any(fits)
    }

    /// The file behind `path`, links and `..` followed; `None` for one that is not admitted.
    ///
    /// # Errors
    /// What the operating system said of a path that is admitted. A path that leads elsewhere is refused whether
    /// there is such a file or not.
    pub(crate) fn file(&self, path: &str) -> io::Result<Option<PathBuf>> {
        let path = Path::new(path);
        let Some(allowed) = &self.0 else {
            return Ok(Some(path.to_owned()));
        };
        let found = match path.canonicalize() {
            Ok(found) => found,
            Err(error) if allowed.names(path) => return Err(error),
            Err(_) => return Ok(None),
        };
        let real = |directory: &PathBuf| directory.canonicalize().ok();
        let below = |directory| found.starts_with(directory);
        let admitted = allowed.directories.iter().filter_map(real).any(below);
        let own = allowed.except.as_ref().and_then(real);
        Ok((admitted && own.as_ref() != Some(&found)).then_some(found))
    }
}

impl AllowedSecrets {
    /// True if `path`, as written, lies in one of the directories.
    fn names(&self, path: &Path) -> bool {
        let dots = path.components().any(|part| part.as_os_str() == "..");
        let below = |directory: &PathBuf| path.starts_with(directory);
        !dots && self.directories.iter().any(below)
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
    fn a_variable_is_admitted_by_its_name_or_the_beginning_of_it() {
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

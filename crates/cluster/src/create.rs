//! Creates a cluster with `initdb`, or takes over the cluster of an earlier process.
//!
//! The order is: base folder, cluster folder, owner file (it names the process to which the cluster belongs), password,
//! `initdb` under a temporary name, rename.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU16};

use crate::account::Account;
use crate::options::prepare_base;
use crate::server::{Cluster, SETTINGS_FILE, run, tail};
use crate::{Binaries, ClusterError, Options, owner, port, postmaster};

pub(crate) const SUPERUSER: &str = "postgres";

impl Cluster {
    /// Creates a cluster with `initdb`, in about a second. It does not start the server.
    ///
    /// The superuser `postgres` has a random password for TCP. It needs no password over the unix socket, which only
    /// the server's account can reach.
    ///
    /// # Errors
    /// [`ClusterError::BinariesMissing`], [`ClusterError::Exists`], [`ClusterError::Unreachable`], or the error of
    /// `initdb`. After an error the new folder is removed.
    pub fn create(options: Options) -> Result<Self, ClusterError> {
        Self::create_with(options, Self::init)
    }

    /// Creates a cluster in a new folder. `fill` creates its data. If `fill` fails, the folder is removed.
    pub(crate) fn create_with(
        options: Options,
        fill: impl FnOnce(&Self) -> Result<(), ClusterError>,
    ) -> Result<Self, ClusterError> {
        let binaries = options
            .binaries
            .clone()
            .map_or_else(|| Binaries::find(None), Ok)?;
        let account = Account::detect()?;
        prepare_base(&options.dir)?;
        let base = options
            .dir
            .canonicalize()
            .map_err(ClusterError::io("find", &options.dir))?;
        account.check_can_enter(&base)?;
        let dir = base.join(&options.name);
        std::fs::create_dir(&dir).map_err(|error| {
            if error.kind() == std::io::ErrorKind::AlreadyExists {
                return ClusterError::Exists { path: dir.clone() };
            }
            ClusterError::io("create", &dir)(error)
        })?;
        let port = AtomicU16::new(0);
        let port_is_fixed = AtomicBool::new(false);
        let cluster = Self {
            options,
            binaries,
            account,
            dir,
            port,
            port_is_fixed,
        };
        match fill(&cluster) {
            Ok(()) => Ok(cluster),
            Err(error) => {
                owner::remove(&cluster.dir)?;
                Err(error)
            }
        }
    }

    /// Creates a cluster and starts its server.
    ///
    /// # Errors
    /// Those of [`Cluster::create`] and [`Cluster::start`].
    pub fn launch(options: Options) -> Result<Self, ClusterError> {
        let cluster = Self::create(options)?;
        cluster.start()?;
        Ok(cluster)
    }

    /// Takes over the cluster that exists in the folder, running or not, or creates a new one.
    ///
    /// It uses the programs of the version that created the folder, unless the options contain others.
    ///
    /// # Errors
    /// Those of [`Cluster::create`].
    pub fn open(options: Options) -> Result<Self, ClusterError> {
        let dir = options.dir.join(&options.name);
        let version = dir.join("data").join("PG_VERSION");
        if !version.is_file() {
            // The folder does not exist, or an earlier creation was interrupted before the folder had data.
            owner::remove(&dir)?;
            return Self::create(options);
        }
        let dir = dir.canonicalize().map_err(ClusterError::io("find", &dir))?;
        let text = std::fs::read_to_string(&version).map_err(ClusterError::io("read", &version))?;
        let major = text.trim().parse().ok();
        let binaries = options
            .binaries
            .clone()
            .map_or_else(|| Binaries::find(major), Ok)?;
        owner::claim(&dir, options.keep)?;
        let last_port = postmaster::port(&dir.join("data")).or_else(|| configured_port(&dir));
        let port = AtomicU16::new(last_port.unwrap_or(0));
        let port_is_fixed = AtomicBool::new(false);
        Ok(Self {
            options,
            binaries,
            account: Account::detect()?,
            dir,
            port,
            port_is_fixed,
        })
    }

    /// Writes the owner file and the file with the password `secret` into the cluster's folder, and makes the server's
    /// account the owner of the folder. It does not create the data.
    pub(crate) fn write_files_beside_data(&self, secret: &str) -> Result<(), ClusterError> {
        owner::claim(&self.dir, self.options.keep)?;
        let password = self.password_file();
        write_private(&password, secret)?;
        self.account.make_owner_of(&password)?;
        self.account.make_owner_of(&self.dir)?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(&self.dir, mode)
            .map_err(ClusterError::io("set the mode of", &self.dir))
    }

    fn init(&self) -> Result<(), ClusterError> {
        let password = self.password_file();
        let secret =
            port::random::<16>().map_err(ClusterError::io("create the password for", &password))?;
        self.write_files_beside_data(&format!("{:032x}", u128::from_le_bytes(secret)))?;
        // The data have a temporary name until they are complete, so that `open` never finds an incomplete cluster.
        let incomplete = self.dir.join("data.begun");
        self.run_initdb(&incomplete)?;
        let main = incomplete.join("postgresql.conf");
        let mut text = std::fs::read_to_string(&main).map_err(ClusterError::io("read", &main))?;
        text.push_str(&format!("\ninclude '{SETTINGS_FILE}'\n"));
        std::fs::write(&main, text).map_err(ClusterError::io("write", &main))?;
        std::fs::rename(&incomplete, self.data()).map_err(ClusterError::io("rename", &incomplete))
    }

    fn run_initdb(&self, data: &Path) -> Result<(), ClusterError> {
        let mut command = self
            .account
            .command(&self.binaries.path("initdb"), &self.dir);
        command
            .arg("--pgdata")
            .arg(data)
            .arg("--pwfile")
            .arg(self.password_file());
        command.args(["--username", SUPERUSER, "--encoding", "UTF8", "--no-locale"]);
        command.args(["--auth-host", "scram-sha-256", "--auth-local", "trust"]);
        command.arg("--no-instructions");
        // A cluster that is removed with its process need not survive a crash of the machine.
        if !self.options.keep {
            command.arg("--no-sync");
        }
        let (status, output) = run(command, "initdb", &self.dir)?;
        if status.success() {
            return Ok(());
        }
        Err(ClusterError::Program {
            program: "initdb",
            status,
            output: tail(&output),
        })
    }
}

/// Creates a file that only its owner can read.
fn write_private(path: &Path, text: &str) -> Result<(), ClusterError> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(ClusterError::io("write", path))
}

/// Returns the port in the settings file of the cluster.
fn configured_port(dir: &Path) -> Option<u16> {
    let text = std::fs::read_to_string(dir.join("data").join(SETTINGS_FILE)).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("port = "))?;
    line.trim_matches('\'').parse().ok()
}

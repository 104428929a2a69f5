//! All servers and programs of a run: the shards, the control store, the controller and two agents.
//!
//! Clusters are started first, then the controller, then the agents; they are stopped in the opposite order. Each shard
//! has its own server if servers are killed or the write-blocked window is measured. Otherwise the shards are databases
//! on two servers. Dropping the fleet ends the programs and removes clusters and files, unless they are to be kept.

mod backup;
mod child;
mod clock;
mod disk;
mod folder;
mod listen_addresses;
mod server_group;
mod servers;
mod standby;

use crate::error::DemoError;
use crate::options::{Options, Process, Servers, Trouble, TroubleKind};
use crate::points::{PassedBy, PassedPoint};
use crate::shop::{self, APP_ROLE};
use child::Child;
pub(crate) use clock::Clock;
use cluster::Cluster;
use connect::Dsn;
use controller_client::Identity;
pub(crate) use disk::Disk;
use folder::Folder;
pub(crate) use listen_addresses::ListenAddresses;
use plans::id::ShardName;
use rand::Rng;
pub(crate) use server_group::{ServerGroup, TestEquipment};
use servers::{launch, server_layout, settings};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::Mutex;

/// The shard that is split.
pub(crate) const SOURCE: &str = "a";
/// The shard that receives the moving keys.
pub(crate) const TARGET: &str = "b";
/// The database of every server to which operators connect. If the control store has its own server, the store is in
/// this database.
const ADMIN_DATABASE: &str = "postgres";
/// The space for a server and a small shop, in MiB.
const SERVER_DISK: u32 = 512;
/// The superuser of every server.
const ADMIN: &str = "postgres";
/// The superuser of every server, and the name of its database.
pub(crate) const SUPERUSER: &str = ADMIN;
/// The names of the agents.
pub(crate) const AGENTS: [&str; 2] = ["agent-1", "agent-2"];
/// The names of the controllers. If there are several, one leads.
const CONTROLLERS: [&str; 2] = ["controller", "controller-2"];

/// The servers and programs of a run.
#[derive(Debug)]
pub(crate) struct Fleet {
    // Fields are dropped in this order: programs before servers.
    children: Mutex<Vec<Child>>,
    servers: Vec<Arc<Cluster>>,
    shard_servers: Vec<ShardServer>,
    /// The database of the control store.
    store: ShardServer,
    disk: Option<Arc<Disk>>,
    /// The clock of one server, if it is not the machine's.
    clock: Option<Arc<Clock>>,
    folder: Folder,
    /// The ports of the controllers.
    ports: Vec<u16>,
    listen_addresses: ListenAddresses,
    programs: PathBuf,
}

/// The server and the database of a shard.
#[derive(Debug, Clone)]
struct ShardServer {
    shard: &'static str,
    /// The index of the server.
    server: usize,
    database: String,
}

impl Fleet {
    /// Starts the servers, and creates the application's role and an empty database for each shard.
    pub(crate) async fn start(
        options: &Options,
        shards: &[&'static str],
    ) -> Result<Self, DemoError> {
        let folder = Folder::create("demo", options.keep)?;
        let small = |trouble: &Trouble| trouble.kind == TroubleKind::Disk;
        let disk = match options.troubles.iter().any(small) {
            true => Some(Arc::new(Disk::mount(
                &folder.path.join("disk"),
                SERVER_DISK,
            )?)),
            false => None,
        };
        let (names, shard_servers, store) = server_layout(options, shards);
        let mut fleet = Self {
            children: Mutex::default(),
            servers: launch(&names, options.servers, |name| {
                let disk = disk.as_ref().filter(|_| name == "target");
                settings(name, options.keep, disk.map(AsRef::as_ref))
            })
            .await?,
            shard_servers,
            store,
            ports: vec![free_port()?],
            listen_addresses: ListenAddresses::default(),
            programs: programs(options.programs.as_ref())?,
            disk,
            clock: None,
            folder,
        };
        fleet.prepare(None).await?;
        if options.is_seeded() {
            let source = &fleet.servers[fleet.server_of(SOURCE).server];
            let standby = standby::start(source, options.keep).await?;
            fleet.servers.push(Arc::new(standby));
        }
        Ok(fleet)
    }

    /// Creates the application's role with a new password, and an empty database for each shard. The server with the
    /// index `standby` receives them from another one.
    async fn prepare(&self, standby: Option<usize>) -> Result<(), DemoError> {
        let password = self.make_password()?;
        make_secret(&self.token_file()).map_err(DemoError::io("write the admin's token"))?;
        for (index, cluster) in self.servers.iter().enumerate() {
            let on_server = self
                .shard_servers
                .iter()
                .filter(|server| server.server == index);
            let databases: Vec<&str> = on_server.map(|server| server.database.as_str()).collect();
            let server = Dsn::parse(&cluster.dsn(ADMIN_DATABASE, ADMIN))?;
            if !databases.is_empty() && standby != Some(index) {
                shop::prepare(&server, &password, &databases).await?;
            }
        }
        Ok(())
    }

    /// Starts the controllers and the agents, and arms their fail points.
    pub(crate) async fn start_programs(
        &self,
        armed: &[(PassedPoint, String)],
    ) -> Result<(), DemoError> {
        let mut children = self.children.lock().await;
        let arms = |process: PassedBy| {
            let own = armed.iter().filter(|(point, _)| point.passed_by == process);
            let own: Vec<&str> = own.map(|(_, arms)| arms.as_str()).collect();
            own.join(",")
        };
        let token = self.token_file().display().to_string();
        for (index, name) in self.controllers() {
            let (listen, store) = (self.listen_address(index), self.store_dsn(index));
            let args = [
                "serve",
                "--listen",
                &listen,
                "--store",
                &store,
                "--admin-token-file",
                &token,
            ];
            let mut child = self.child(name, "shardwright", &args)?;
            child.start(&arms(PassedBy::Controller))?;
            children.push(child);
        }
        for (index, name) in AGENTS.into_iter().enumerate() {
            let mut child = self.agent(name, name)?;
            if let Some(port) = self.listen_addresses.agents.get(index) {
                child.route_through_proxy(*port);
            }
            child.start(&arms(PassedBy::Agents))?;
            children.push(child);
        }
        Ok(())
    }

    /// Starts another process with the name of an agent, but with its own spools and log.
    pub(crate) fn start_duplicate(&self, name: &str) -> Result<Child, DemoError> {
        let mut child = self.agent(&format!("{name}-duplicate"), name)?;
        child.start("")?;
        Ok(child)
    }

    /// Returns the program of an agent. `program` names its log and its spools.
    fn agent(&self, program: &str, name: &str) -> Result<Child, DemoError> {
        let controllers = self.urls().join(",");
        let secrets = std::env::temp_dir().display().to_string();
        let token = self.token_file().display().to_string();
        let args = [
            "--name",
            name,
            "--controller",
            &controllers,
            "--secrets-dir",
            &secrets,
            "--token-file",
            &token,
        ];
        self.child(program, "shardwright-agent", &args)
    }

    /// Kills the process that waits at a fail point.
    pub(crate) async fn kill_program(&self, pid: i32) -> Result<(), DemoError> {
        for child in self.children.lock().await.iter_mut() {
            if child.pid() == Some(pid) {
                child.kill().await?;
            }
        }
        Ok(())
    }

    /// Returns the process id of a program while it runs.
    pub(crate) async fn pid(&self, name: &str) -> Option<i32> {
        let children = self.children.lock().await;
        let child = children.iter().find(|child| child.name() == name);
        child.and_then(Child::pid)
    }

    /// Returns the controllers, with their indexes.
    pub(crate) fn controllers(&self) -> impl Iterator<Item = (usize, &'static str)> {
        (0..self.ports.len()).zip(CONTROLLERS)
    }

    /// Returns the controller with this URL.
    pub(crate) fn controller_at(&self, url: &str) -> Option<(usize, &'static str)> {
        self.controllers()
            .find(|(index, _)| self.urls()[*index] == url)
    }

    /// Returns the program with this process id.
    pub(crate) async fn program(&self, pid: i32) -> Option<String> {
        let children = self.children.lock().await;
        let child = children.iter().find(|child| child.pid() == Some(pid))?;
        Some(child.name().to_owned())
    }

    /// Kills the controllers and the agents at once.
    pub(crate) async fn kill_programs(&self) -> Result<(), DemoError> {
        let mut children = self.children.lock().await;
        let killed = children.iter_mut().map(Child::kill);
        futures::future::try_join_all(killed).await.map(|_| ())
    }

    /// Kills the controllers at once.
    pub(crate) async fn kill_controllers(&self) -> Result<(), DemoError> {
        let mut children = self.children.lock().await;
        let controllers = children
            .iter_mut()
            .filter(|child| CONTROLLERS.contains(&child.name()));
        let killed = controllers.map(Child::kill);
        futures::future::try_join_all(killed).await.map(|_| ())
    }

    /// Restarts every program that is not running, without fail points.
    pub(crate) async fn restart_programs(&self) -> Result<(), DemoError> {
        for child in self.children.lock().await.iter_mut() {
            if child.pid().is_none() {
                child.start("")?;
            }
        }
        Ok(())
    }

    /// Stops the programs.
    pub(crate) async fn stop_programs(&self) -> Result<(), DemoError> {
        let mut children = self.children.lock().await;
        while let Some(mut child) = children.pop() {
            child.stop().await?;
        }
        Ok(())
    }

    /// Returns a server by its role in the migration; `None` for a program.
    pub(crate) fn server(&self, process: Process) -> Option<Arc<Cluster>> {
        let index = match process {
            Process::Source => self.server_of(SOURCE).server,
            Process::Target => self.server_of(TARGET).server,
            Process::Store => self.store.server,
            Process::Agent | Process::Controller => return None,
        };
        Some(Arc::clone(&self.servers[index]))
    }

    /// Returns the operator's connection string for a server's own database; `None` for a program.
    pub(crate) fn operator_dsn(&self, process: Process) -> Result<Option<Dsn>, DemoError> {
        let Some(server) = self.server(process) else {
            return Ok(None);
        };
        Ok(Some(Dsn::parse(&server.dsn(ADMIN_DATABASE, ADMIN))?))
    }

    /// Returns the versions of the source's and the target's server.
    pub(crate) fn versions(&self) -> Servers {
        let major = |index: usize| self.servers.get(index).map(|it| it.binaries().major());
        Servers {
            source: major(0),
            // A merge fills the second server, and a standby is the last one.
            target: major(self.server_of(TARGET).server.max(1)),
        }
    }

    /// Returns the target's server.
    pub(crate) fn target(&self) -> Arc<Cluster> {
        Arc::clone(&self.servers[self.server_of(TARGET).server])
    }

    /// Returns the operator's password on the target, in the form of its reference in the connection string.
    pub(crate) fn target_password(&self) -> Result<String, DemoError> {
        let file = self.target().password_file();
        std::fs::read_to_string(file).map_err(DemoError::io("read the target's password"))
    }

    /// Fills the small disk.
    pub(crate) fn fill_disk(&self) -> Result<(), DemoError> {
        self.disk.as_ref().map_or(Ok(()), |disk| disk.fill())
    }

    /// Frees the small disk.
    pub(crate) fn empty_disk(&self) -> Result<(), DemoError> {
        self.disk.as_ref().map_or(Ok(()), |disk| disk.empty())
    }

    /// Sets the clock of the server with its own clock to this number of seconds ahead of the machine's.
    pub(crate) fn set_clock(&self, seconds: i64) -> Result<(), DemoError> {
        self.clock
            .as_ref()
            .map_or(Ok(()), |clock| clock.set(seconds))
    }

    /// Returns the URL of a controller.
    pub(crate) fn url(&self) -> String {
        self.urls().swap_remove(0)
    }

    /// Returns the URLs of all controllers.
    pub(crate) fn urls(&self) -> Vec<String> {
        let url = |index| format!("http://{}", self.listen_address(index));
        (0..self.ports.len()).map(url).collect()
    }

    /// Returns the folder of the run.
    pub(crate) fn dir(&self) -> &Path {
        &self.folder.path
    }

    /// Returns the folder of the programs.
    pub(crate) fn programs(&self) -> &Path {
        &self.programs
    }

    /// Returns the shards by name, with the operator's connection strings.
    pub(crate) fn shards(&self) -> Vec<(&'static str, String)> {
        self.shards_through(&ListenAddresses::default())
    }

    /// Returns the shards by name, with the connection strings that the agents receive.
    pub(crate) fn registered_shards(&self) -> Vec<(&'static str, String)> {
        self.shards_through(&self.listen_addresses)
    }

    fn shards_through(&self, listen_addresses: &ListenAddresses) -> Vec<(&'static str, String)> {
        let dsn = |shard: &ShardServer| {
            let cluster = &self.servers[shard.server];
            let port = listen_addresses.shards.get(shard.shard).copied();
            let port = port.unwrap_or_else(|| cluster.port());
            (shard.shard, cluster.dsn_by(port, &shard.database, ADMIN))
        };
        self.shard_servers.iter().map(dsn).collect()
    }

    /// Returns the shards by name, with the operator's connection strings, parsed.
    pub(crate) fn admins(&self) -> Result<Vec<(ShardName, Dsn)>, DemoError> {
        let parse = |(name, dsn): (&str, String)| Ok((name.into(), Dsn::parse(&dsn)?));
        self.shards().into_iter().map(parse).collect()
    }

    /// Returns the application's connection string for a shard.
    pub(crate) fn app_dsn(&self, shard: &str) -> Result<Dsn, DemoError> {
        let server = self.server_of(shard);
        let cluster = &self.servers[server.server];
        let password = self.password_file();
        let text = format!(
            "host={} port={} user={APP_ROLE} dbname={} password='${{file:{}}}'",
            cluster.host(),
            cluster.port(),
            server.database,
            password.display()
        );
        Ok(Dsn::parse(&text)?)
    }

    /// Returns the server and the database of a shard. For an unknown name it returns the last one.
    fn server_of(&self, shard: &str) -> &ShardServer {
        let known = self
            .shard_servers
            .iter()
            .find(|server| server.shard == shard);
        known.unwrap_or(&self.shard_servers[self.shard_servers.len() - 1])
    }

    /// Returns the ends of all logs, for a run that failed.
    pub(crate) fn logs(&self) -> String {
        let programs = self.controllers().map(|(_, name)| name).chain(AGENTS);
        let files = programs.map(|name| self.dir().join(format!("{name}.log")));
        let files = files.chain(self.servers.iter().map(|cluster| cluster.log_file()));
        files.map(|file| child::tail(&file)).collect()
    }

    fn child(&self, name: &str, program: &str, args: &[&str]) -> Result<Child, DemoError> {
        let path = self.programs.join(program);
        if !path.is_file() {
            return Err(DemoError::ProgramMissing { path });
        }
        let log = self.dir().join(format!("{name}.log"));
        Ok(Child::new(name, path, args, log, self.scratch()))
    }

    fn listen_address(&self, controller: usize) -> String {
        format!("127.0.0.1:{}", self.ports[controller])
    }

    fn store_dsn(&self, controller: usize) -> String {
        let server = &self.servers[self.store.server];
        let port = self.listen_addresses.stores.get(controller).copied();
        let port = port.unwrap_or_else(|| server.port());
        server.dsn_by(port, &self.store.database, ADMIN)
    }

    /// Returns the programs' folder for temporary files.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.dir().join("tmp")
    }

    /// Keeps the files of the run.
    pub(crate) fn keep(&self) {
        self.folder.keep.store(true, Ordering::Relaxed);
    }

    /// Returns the token and the certificates with which the run itself sends requests.
    pub(crate) fn identity(&self) -> Identity {
        Identity {
            token_file: Some(self.token_file()),
            ca_file: None,
        }
    }

    fn token_file(&self) -> PathBuf {
        self.dir().join("token")
    }

    fn password_file(&self) -> PathBuf {
        self.dir().join("app-password")
    }

    fn make_password(&self) -> Result<String, DemoError> {
        let written = make_secret(&self.password_file());
        written.map_err(DemoError::io("write the application's password"))
    }
}

/// Creates a file with 128 random bits that only its owner can read.
fn make_secret(path: &Path) -> std::io::Result<String> {
    let secret = format!("{:032x}", rand::rng().random::<u128>());
    let mut file = std::fs::OpenOptions::new();
    file.write(true).create_new(true).mode(0o600);
    let mut file = file.open(path)?;
    std::io::Write::write_all(&mut file, secret.as_bytes())?;
    Ok(secret)
}

fn programs(folder: Option<&PathBuf>) -> Result<PathBuf, DemoError> {
    if let Some(folder) = folder {
        return Ok(folder.clone());
    }
    let own = std::env::current_exe().map_err(DemoError::io("find this program"))?;
    Ok(own.parent().unwrap_or(&own).to_owned())
}

/// Returns a port on which no program listens.
pub(crate) fn free_port() -> Result<u16, DemoError> {
    cluster::free_port().map_err(DemoError::io("find a free port"))
}

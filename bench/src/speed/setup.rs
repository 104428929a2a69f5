//! Starts what a benchmark needs: two servers for shards, one server for the control store, a controller and one or two
//! agents.

use super::database::Database;
use anyhow::{Context, bail};
use cluster::Cluster;
use reqwest::redirect::Policy;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest time for the start of the programs.
const START_LIMIT: Duration = Duration::from_secs(60);
/// The names of the agents.
const AGENTS: [&str; 2] = ["agent-1", "agent-2"];

/// The servers and programs of a benchmark. Dropping the value ends the programs and removes the servers.
#[derive(Debug)]
pub(crate) struct BenchmarkSetup {
    // The fields are dropped in this order, so the programs end before the servers.
    programs: Programs,
    pub(crate) source: Arc<Cluster>,
    pub(crate) target: Arc<Cluster>,
    _store: Arc<Cluster>,
    folder: PathBuf,
    url: String,
    binaries: PathBuf,
}

#[derive(Debug, Default)]
struct Programs(Vec<Child>);

impl Drop for Programs {
    fn drop(&mut self) {
        for program in &mut self.0 {
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}

impl Drop for BenchmarkSetup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl BenchmarkSetup {
    /// Starts the servers and the programs, with two agents. `binaries` is the folder of the programs.
    pub(crate) fn start(binaries: &Path) -> anyhow::Result<Self> {
        Self::start_with(binaries, &AGENTS)
    }

    /// Does the same as [`BenchmarkSetup::start`] with only one agent, which executes all moves.
    pub(crate) fn start_with_one(binaries: &Path) -> anyhow::Result<Self> {
        Self::start_with(binaries, &AGENTS[..1])
    }

    fn start_with(binaries: &Path, agents: &[&str]) -> anyhow::Result<Self> {
        cluster::sweep(&cluster::temporary_base())?;
        let folder = std::env::temp_dir().join(format!("shardwright-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let port = std::net::TcpListener::bind("127.0.0.1:0")?
            .local_addr()?
            .port();
        let mut setup = Self {
            programs: Programs::default(),
            source: launch(settings("source"))?,
            target: launch(settings("target"))?,
            _store: launch(settings("store"))?,
            folder,
            url: format!("http://127.0.0.1:{port}"),
            binaries: binaries.to_owned(),
        };
        setup.start_programs(port, agents)?;
        Ok(setup)
    }

    fn start_programs(&mut self, port: u16, agents: &[&str]) -> anyhow::Result<()> {
        let store = Database::new(&self._store, "postgres")?.dsn();
        let listen = format!("127.0.0.1:{port}");
        self.spawn(
            "shardwright",
            &["serve", "--open", "--listen", &listen, "--store", &store],
            "controller",
        )?;
        let url = self.url.clone();
        for agent in agents {
            let args = ["--name", agent, "--controller", &url];
            self.spawn("shardwright-agent", &args, agent)?;
        }
        let begun = Instant::now();
        while self.shardwright(&["shard", "list"]).is_err() {
            if begun.elapsed() > START_LIMIT {
                bail!(
                    "the controller does not answer; see {}",
                    self.folder.display()
                );
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    fn spawn(&mut self, program: &str, args: &[&str], name: &str) -> anyhow::Result<()> {
        let path = self.binaries.join(program);
        let log = std::fs::File::create(self.folder.join(format!("{name}.log")))?;
        let child = Command::new(&path)
            .args(args)
            .env("SHARDWRIGHT_SPOOL_DIR", self.folder.join(name))
            .env("SHARDWRIGHT_SECRETS_DIR", std::env::temp_dir())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .with_context(|| format!("start {}", path.display()))?;
        self.programs.0.push(child);
        Ok(())
    }

    /// Returns the process ids of the agents.
    pub(crate) fn agents(&self) -> Vec<u32> {
        self.programs.0.iter().skip(1).map(Child::id).collect()
    }

    /// Returns the folder for the files of the run.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs the command line program `shardwright`, and returns what it prints.
    pub(crate) fn shardwright(&self, args: &[&str]) -> anyhow::Result<String> {
        let output = Command::new(self.binaries.join("shardwright"))
            .args(args)
            .env("SHARDWRIGHT_CONTROLLER", &self.url)
            .stdin(Stdio::null())
            .output()?;
        if !output.status.success() {
            bail!("{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Reports a latency (p99, in milliseconds) of an application that uses `map` to the controller.
    pub(crate) fn report_latency(&self, map: &str, p99_ms: f64) -> anyhow::Result<()> {
        let url = format!("{}/api/v1/maps/{map}/latency", self.url);
        let report = serde_json::json!({"p99_ms": p99_ms});
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let sent = controller_client::client(Policy::default(), None)?
            .post(url)
            .json(&report)
            .send();
        runtime.block_on(sent)?.error_for_status()?;
        Ok(())
    }

    /// Plans and submits a request. Returns the id of the operation.
    pub(crate) fn submit(&self, request: &str) -> anyhow::Result<String> {
        let (file, plan) = (
            self.folder.join("request.yaml"),
            self.folder.join("plan.json"),
        );
        std::fs::write(&file, request)?;
        let (file, plan) = (file.to_string_lossy(), plan.to_string_lossy());
        self.shardwright(&["plan", &file, "-o", &plan])?;
        Ok(self.shardwright(&["apply", &plan])?.trim().to_owned())
    }

    /// Waits until the operation or migration `id` is in `state`, and returns it as JSON.
    pub(crate) fn wait(&self, id: &str, state: &str) -> anyhow::Result<Value> {
        self.shardwright(&["wait", id, "--for", state])?;
        self.show(id)
    }

    /// Returns the operation or migration `id` as JSON.
    pub(crate) fn show(&self, id: &str) -> anyhow::Result<Value> {
        let shown = self.shardwright(&["show", id, "-o", "json"])?;
        Ok(serde_json::from_str(&shown)?)
    }
}

/// Returns the settings of a server. They are the same for every tool that is measured.
pub(crate) fn settings(name: &str) -> cluster::Options {
    cluster::Options::temporary(&format!("bench-{name}"))
        .setting("shared_buffers", "1GB")
        .setting("max_wal_size", "8GB")
        .setting("checkpoint_timeout", "30min")
        .setting("max_logical_replication_workers", "8")
        .setting("maintenance_work_mem", "256MB")
}

pub(crate) fn launch(options: cluster::Options) -> anyhow::Result<Arc<Cluster>> {
    Ok(Arc::new(Cluster::launch(options)?))
}

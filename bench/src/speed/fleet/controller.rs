//! Runs the controller as a separate process.

use anyhow::{Context, bail};
use reqwest::redirect::Policy;
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The longest time until every migration has started.
const START_LIMIT: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_millis(100);

/// A running controller. Dropping the value ends the process.
#[derive(Debug)]
pub(super) struct RunningController {
    child: Child,
    url: String,
    http: reqwest::Client,
}

impl Drop for RunningController {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl RunningController {
    /// Starts the program from the folder `programs` with the control store `store`.
    ///
    /// # Errors
    /// The program cannot be started.
    pub(super) fn start(programs: &Path, store: &str) -> anyhow::Result<Self> {
        let port = std::net::TcpListener::bind("127.0.0.1:0")?
            .local_addr()?
            .port();
        let path = programs.join("shardwright");
        let child = Command::new(&path)
            .args(["serve", "--open", "--listen", &format!("127.0.0.1:{port}")])
            // These shards do not exist, so the controller must not probe them.
            .args(["--store", store, "--reconcile-every", "0"])
            .env("RUST_LOG", "warn")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("start {}", path.display()))?;
        Ok(Self {
            child,
            url: format!("http://127.0.0.1:{port}"),
            http: controller_client::client(Policy::default(), None)?,
        })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the process id.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns a GET request to the controller, which the caller must send.
    pub(super) fn get(&self, path: &str) -> reqwest::RequestBuilder {
        self.http.get(format!("{}{path}", self.url))
    }

    /// Waits until the controller has started this many migrations. Returns the time in seconds.
    pub(super) async fn wait_until_all_started(&self, migrations: u32) -> anyhow::Result<f64> {
        let began = Instant::now();
        while self.count_started().await.unwrap_or_default() < u64::from(migrations) {
            if began.elapsed() > START_LIMIT {
                bail!(
                    "the controller at {} has not started every migration after {START_LIMIT:?}",
                    self.url
                );
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(began.elapsed().as_secs_f64())
    }

    /// Returns the number of migrations that have started.
    async fn count_started(&self) -> anyhow::Result<u64> {
        let answer = self.get("/api/v1/migrations?limit=10000").send().await?;
        let all: Vec<Value> = answer.error_for_status()?.json().await?;
        let started = all.iter().filter(|m| m["state"] != "planned");
        Ok(u64::try_from(started.count())?)
    }
}

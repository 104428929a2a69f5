//! A database on one of the servers. The benchmark uses it through psql.

use anyhow::{Context, bail};
use cluster::Cluster;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;

/// The superuser of every server, under whose name the benchmark connects.
const USER: &str = "postgres";

/// A database on a server.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    pub(crate) server: Arc<Cluster>,
    pub(crate) name: String,
    password: String,
}

impl Database {
    /// Returns the database `name` of a server. It does not have to exist yet.
    pub(crate) fn new(server: &Arc<Cluster>, name: &str) -> anyhow::Result<Self> {
        let password = std::fs::read_to_string(server.password_file())?;
        Ok(Self {
            server: Arc::clone(server),
            name: name.to_owned(),
            password: password.trim().to_owned(),
        })
    }

    /// Returns another database of the same server.
    pub(crate) fn other_database(&self, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..self.clone()
        }
    }

    /// Returns the connection string for Shardwright's programs.
    pub(crate) fn dsn(&self) -> String {
        self.server.dsn(&self.name, USER)
    }

    /// Returns the connection URI for PostgreSQL's programs and for subscriptions. It contains the password.
    pub(crate) fn uri(&self) -> String {
        let (host, port) = (self.server.host(), self.server.port());
        let password = &self.password;
        format!("postgresql://{USER}:{password}@{host}:{port}/{}", self.name)
    }

    /// Returns a command for a program of PostgreSQL. The connection parameters are in its environment.
    pub(crate) fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.server.binaries().path(name));
        command
            .env("PGHOST", self.server.host())
            .env("PGPORT", self.server.port().to_string())
            .env("PGUSER", USER)
            .env("PGPASSWORD", &self.password)
            .env("PGDATABASE", &self.name)
            .stdin(Stdio::null());
        command
    }

    fn psql(&self) -> Command {
        let mut command = self.program("psql");
        command.args(["-XAtq", "-v", "ON_ERROR_STOP=1"]);
        command
    }

    /// Runs the statements, each in its own transaction, and returns what they print.
    pub(crate) fn run(&self, statements: &[&str]) -> anyhow::Result<String> {
        let mut command = self.psql();
        for statement in statements {
            command.args(["-c", statement]);
        }
        let output = output_of_success(command.output()?, statements.first().unwrap_or(&""))?;
        Ok(output.trim().to_owned())
    }

    /// Runs a query, and returns the number in its result.
    pub(crate) fn number(&self, query: &str) -> anyhow::Result<f64> {
        let text = self.run(&[query])?;
        text.parse().with_context(|| format!("{query}: {text}"))
    }

    /// Runs a psql script with these psql variables.
    pub(crate) fn script(&self, script: &str, variables: &[(&str, u64)]) -> anyhow::Result<()> {
        let mut command = self.psql();
        for (name, value) in variables {
            command.args(["-v", &format!("{name}={value}")]);
        }
        let mut running = command
            .args(["-f", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = running.stdin.take() {
            std::io::Write::write_all(&mut stdin, script.as_bytes())?;
        }
        output_of_success(running.wait_with_output()?, "a script").map(|_| ())
    }

    /// Starts a statement. The caller reads its output from the standard output of the returned process.
    pub(crate) fn start_output(&self, statement: &str) -> anyhow::Result<Child> {
        let mut command = self.psql();
        command.args(["-c", statement]).stdout(Stdio::piped());
        Ok(command.spawn()?)
    }

    /// Starts a statement. The caller writes its input to the standard input of the returned process.
    pub(crate) fn start_input(&self, statement: &str) -> anyhow::Result<Child> {
        let mut command = self.psql();
        command
            .args(["-c", statement])
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        Ok(command.spawn()?)
    }

    /// Runs a statement whose input is the output of `producer`. Fails if one of the two fails.
    pub(crate) fn pipe_from(&self, statement: &str, producer: Child) -> anyhow::Result<()> {
        let mut producer = producer;
        let from = producer.stdout.take().context("no output")?;
        let mut command = self.psql();
        command.args(["-c", statement]).stdin(Stdio::from(from));
        output_of_success(command.output()?, statement)?;
        let produced = producer.wait()?;
        if !produced.success() {
            bail!("the statement that produces the input of {statement} failed: {produced}");
        }
        Ok(())
    }

    /// Drops the database if it exists, and creates an empty one.
    pub(crate) fn recreate(&self) -> anyhow::Result<()> {
        let (drop, create) = (
            format!("drop database if exists {} with (force)", self.name),
            format!("create database {}", self.name),
        );
        self.other_database(USER)
            .run(&[&drop, &create, "checkpoint"])?;
        Ok(())
    }
}

/// Returns the standard output of a program. Fails with its error output if the program failed.
fn output_of_success(output: Output, what: &str) -> anyhow::Result<String> {
    if !output.status.success() {
        bail!("{what}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

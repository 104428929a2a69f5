//! Saves and restores the control store's database with `pg_dump` and `pg_restore`, as an operator would.

use super::{ADMIN, Fleet};
use crate::error::DemoError;
use crate::options::Process;
use crate::shop::ShopError;
use connect::Session;
use plans::sql::quote_ident;
use std::path::Path;
use tokio::process::Command;

impl Fleet {
    /// Writes the current control store to a file.
    pub(crate) async fn dump_store(&self, file: &Path) -> Result<(), DemoError> {
        let mut dump = self.store_command("pg_dump")?;
        dump.arg("--format=custom").arg("--file").arg(file);
        run_to_end("dump the control store", dump).await
    }

    /// Replaces the control store by that in a file, and ends its sessions.
    pub(crate) async fn restore_store(&self, file: &Path) -> Result<(), DemoError> {
        if let Some(server) = self.operator_dsn(Process::Store)? {
            let session = connect::connect(&server, &Session::named("operator")).await;
            let session = session.map_err(ShopError::from)?;
            let database = quote_ident(&self.store.database);
            for sql in [
                format!("drop database {database} with (force)"),
                format!("create database {database}"),
            ] {
                let made = session.batch_execute(&sql).await;
                made.map_err(|source| ShopError::Statement {
                    action: "make room for a copy of the control store",
                    source,
                })?;
            }
            session.close().await;
        }
        let mut restore = self.store_command("pg_restore")?;
        restore.arg("--exit-on-error").arg(file);
        run_to_end("restore the control store", restore).await
    }

    /// Returns a command that runs a program of PostgreSQL and connects directly to the control store's database, not
    /// through a proxy.
    fn store_command(&self, program: &str) -> Result<Command, DemoError> {
        let server = &self.servers[self.store.server];
        let password = std::fs::read_to_string(server.password_file());
        let password = password.map_err(DemoError::io("read the control store's password"))?;
        let mut command = Command::new(server.binaries().path(program));
        command.env("PGPASSWORD", password.trim());
        command.args(["--host", server.host(), "--username", ADMIN]);
        command.args(["--port", &server.port().to_string()]);
        command.args(["--dbname", &self.store.database]);
        Ok(command)
    }
}

async fn run_to_end(action: &str, mut command: Command) -> Result<(), DemoError> {
    let output = command.kill_on_drop(true).output().await;
    let output = output.map_err(DemoError::io(action))?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(DemoError::io(action)(std::io::Error::other(message)))
}

//! Creates a physical standby of a shard on this machine, and registers it as a shard, for a move that is seeded from it.
//!
//! Order:
//! 1. Checks that create nothing: the data directory, the names, the source, the disk, the programs, and that no server
//!    answers at the connection string yet. Then the directory is locked.
//! 2. The controller records a physical replication slot, and the slot is created on the source. While a session with
//!    the slot's name exists there, `cleanup` keeps the slot.
//! 3. `pg_basebackup` copies the server into the data directory.
//! 4. The server starts and streams from the slot.
//! 5. The controller registers the standby.
//!
//! A failure before 4 removes the slot and the copied files. If this process is killed, `pg_basebackup` continues until its
//! end, and the slot stays; `cleanup` then finds it by its record.

mod backup;
mod directory;
mod error;
mod server;
mod source;

use std::path::PathBuf;

use connect::Dsn;
use plans::fleet::NewStandby;
use plans::id::ShardName;

use crate::controller::Controller;
use backup::BackupCommand;
use directory::{DataDirectory, FreeDirectory};
pub use error::StandbyError;
use server::StandbyServer;
use source::Source;

/// What `standby create` needs to know.
#[derive(Debug, Clone)]
pub struct NewStandbyServer {
    /// The name under which the standby is registered as a shard.
    pub name: ShardName,
    /// The shard whose server the standby copies.
    pub source: ShardName,
    /// The connection string by which agents reach the standby. Its port becomes the server's.
    pub dsn: String,
    /// The data directory. It must be empty, or must not exist.
    pub data_dir: PathBuf,
    /// Settings of the standby: names and values.
    pub settings: Vec<(String, String)>,
    /// The shell command that starts the server; `None`: `pg_ctl`.
    pub start_command: Option<String>,
    /// The greatest rate of the copy, as `pg_basebackup --max-rate` takes it.
    pub max_rate: Option<String>,
}

/// Creates the standby, and writes its progress to standard error.
///
/// # Errors
/// [`StandbyError`]. Its hint says what exists afterwards.
pub async fn create(new: &NewStandbyServer, controller: &Controller) -> Result<(), StandbyError> {
    let free = FreeDirectory::check(&new.data_dir)?;
    let dsn = parse_dsn(&new.dsn)?;
    if controller.shard(&new.name).await?.is_some() {
        return Err(StandbyError::new(
            format!("shard {} is registered already", new.name),
            "choose another name, or remove that shard first with `shardwright shard remove`",
        ));
    }
    let registered = controller.shard(&new.source).await?;
    let registered = registered.ok_or_else(|| {
        StandbyError::new(
            format!("shard {} is not registered", new.source),
            "`shardwright shard list` shows the registered shards",
        )
    })?;
    let source = Source::open(&registered, new).await?;
    free.check_space(source.bytes)?;
    let server = StandbyServer::of(new, &dsn, &source).await?;
    let directory = free.claim()?;
    let slot = match copy(new, controller, &source, &server, &directory).await {
        Ok(slot) => slot,
        Err((error, slot)) => return Err(undo(error, &source, slot.as_deref(), &directory).await),
    };
    server.prepare(&directory, &slot)?;
    // From the copy on, this process catches the signals that end it.
    tokio::select! {
        started = server.start_and_wait(&directory, &source, &slot) => started?,
        () = backup::interrupted() => return Err(server.stays("the command was interrupted", &slot)),
    }
    let added = controller.add_shard(&new.name, &new.dsn).await;
    added.map_err(|error| {
        let why = format!("the standby streams, but it is not registered: {error}");
        server.stays(&why, &slot)
    })?;
    progress(&format!(
        "shard {} is registered; `shardwright plan split MAP --source {} --into … --seed standby` promotes it",
        new.name, new.source
    ));
    Ok(())
}

/// Creates the slot and copies the server. Returns the slot; after an error the slot that may exist.
async fn copy(
    new: &NewStandbyServer,
    controller: &Controller,
    source: &Source,
    server: &StandbyServer<'_>,
    directory: &DataDirectory,
) -> Result<String, (StandbyError, Option<String>)> {
    let record = NewStandby {
        name: new.name.clone(),
        source: new.source.clone(),
    };
    let recorded = controller.record_standby_slot(&record).await;
    let slot = recorded.map_err(|error| (error.into(), None))?.slot;
    let command = BackupCommand {
        program: &server.pg_basebackup,
        directory,
        max_rate: new.max_rate.as_deref(),
    };
    let copied = match source.create_slot(&slot).await {
        Ok(session) => backup::run(source, &session, &slot, command).await,
        Err(error) => Err(error),
    };
    match copied {
        Ok(()) => Ok(slot),
        Err(error) => Err((error, Some(slot))),
    }
}

/// Removes the slot and the copied files. Returns the error, with a hint what could not be removed.
async fn undo(
    error: StandbyError,
    source: &Source,
    slot: Option<&str>,
    directory: &DataDirectory,
) -> StandbyError {
    let mut left = Vec::new();
    if let Err(why) = directory.remove_copy() {
        left.push(format!(
            "the copied files in {} ({why})",
            directory.path().display()
        ));
    }
    if let Some(slot) = slot
        && let Err(why) = source.drop_slot(slot).await
    {
        left.push(format!(
            "replication slot {slot} on shard {}, which `shardwright cleanup --apply` drops ({why})",
            source.name
        ));
    }
    match left.is_empty() {
        true => error.adding_hint("nothing is left of this attempt"),
        false => error.adding_hint(&format!("left behind: {}", left.join("; "))),
    }
}

fn parse_dsn(text: &str) -> Result<Dsn, StandbyError> {
    let dsn = Dsn::parse(text).map_err(|error| {
        StandbyError::new(
            format!("the connection string of the standby: {error}"),
            error.hint().unwrap_or("correct it"),
        )
    })?;
    if dsn.has_inline_password() {
        return Err(StandbyError::new(
            "the connection string of the standby contains a password",
            "use a reference such as ${file:/path}; docs/connections.md describes all forms",
        ));
    }
    Ok(dsn)
}

/// Writes one line about the progress to standard error.
fn progress(text: &str) {
    eprintln!("{text}");
}

//! Observes the target of a seeded move: whether it is a standby still, and how far it has replayed the source's log.

use connect::Connected;
use plans::failure::StepCode;
use plans::identity::DatabaseIdentity;

use crate::error::{StepError, WithIntent};
use crate::migration::context::StepContext;
use crate::postgres::lsn::Lsn;
use crate::shard::database::Shard;
use crate::shard::identity;

/// The target of a seeded move, with the identity that its sessions must find.
#[derive(Debug)]
pub(in crate::steps) enum SeededTarget {
    /// It replays the log of the source.
    Standby(Shard),
    /// It was promoted, by this migration or by someone else.
    Promoted(Shard),
}

/// Finds out whether the target is a standby of the source's server, or was one.
///
/// # Errors
/// `seed.standby` if it is neither.
pub(in crate::steps) async fn observe(context: &StepContext) -> Result<SeededTarget, StepError> {
    let any_database = context.target_as(None)?;
    let session = any_database.session("observe").await?;
    let what = format!("shard {}: identifying the server", any_database.name);
    let found = identity::read(&session).await.at(&what)?;
    let (source, _) = context.known_servers()?;
    let registered = context.dispatch.source.identity.as_ref();
    let is_other_database = registered.is_some_and(|registered| {
        registered.database.is_some() && registered.database != found.database
    });
    if found.system != source.system || is_other_database {
        return Err(standby_error(&any_database, &source, &found));
    }
    if found.standby {
        return Ok(SeededTarget::Standby(context.target_as(Some(found))?));
    }
    if found.timeline <= source.timeline {
        return Err(standby_error(&any_database, &source, &found));
    }
    // The id in the database is that of the source until the conversion has ended.
    let promoted = DatabaseIdentity { id: None, ..found };
    Ok(SeededTarget::Promoted(context.target_as(Some(promoted))?))
}

fn standby_error(shard: &Shard, source: &DatabaseIdentity, found: &DatabaseIdentity) -> StepError {
    StepError::refused(
        StepCode::SeedStandby,
        format!(
            "shard {}: it is not a standby of the source: its server is {found}, the source's is {source}",
            shard.name
        ),
        "correct the connection string of the shard, or create the standby with pg_basebackup; then `resume`",
    )
}

/// The state of the replay on a standby.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReplayState {
    /// The position up to which the standby has replayed the log.
    pub(super) replayed: Lsn,
    /// True if the replay is paused.
    pub(super) is_paused: bool,
    /// True if the replay of commits is delayed.
    pub(super) is_delayed: bool,
}

/// Reads the state of the replay.
///
/// # Errors
/// `seed.paused` if the replay is paused or delayed.
pub(super) async fn read_replay(session: &Connected) -> Result<ReplayState, StepError> {
    let shard = session.name();
    let row = session
        .query_one(
            "select coalesce(pg_catalog.pg_last_wal_replay_lsn(), '0/0'),
                    pg_catalog.pg_is_in_recovery() and pg_catalog.pg_is_wal_replay_paused(),
                    (select setting <> '0' from pg_catalog.pg_settings where name = 'recovery_min_apply_delay')",
            &[],
        )
        .await
        .at(format_args!("shard {shard}: reading the state of the replay"))?;
    let state = ReplayState {
        replayed: row.get(0),
        is_paused: row.get(1),
        is_delayed: row.get(2),
    };
    if state.is_paused || state.is_delayed {
        let what = match state.is_paused {
            true => "paused",
            false => "delayed by recovery_min_apply_delay",
        };
        return Err(StepError::listed(
            StepCode::SeedPaused,
            format!("shard {shard}: the replay of the log is {what}"),
        ));
    }
    Ok(state)
}

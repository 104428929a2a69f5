//! The register: a sequence whose value opens, fences or closes the keys of a migration on a shard.
//!
//! [`Register`] names the values of the sequence.
//!
//! `setval` is not transactional. It is therefore always a separate statement, after the exclusive proof of epoch and
//! attempt (R3, R4), and it counts only once its transaction has committed (R9).

use std::fmt;

use connect::Connected;
use plans::failure::StepCode;
use plans::id::{AttemptNo, MapVersion, MigrationId};
use plans::names::{Direction, SCHEMA, SQLSTATE_OUTDATED};
use plans::sql::{quote_ident, quote_literal};
use tokio_postgres::error::SqlState;

use super::epoch::{self, AttemptCount, EpochProof, EpochToken, ProvenTransaction};
use super::identity::{self, TIMELINE, TimelineRule};
use super::marker::{Marker, MarkerKind};
use crate::error::{StepError, WithIntent};

/// The condition for a migration's row on a shard that owns the keys: it has never given them away, or it was opened when
/// it became their owner.
const OWNS: &str = "coalesce(owns, role = 'source')";
/// The message with which a server refuses to open a shard that is not the owner by its own records.
const OUTDATED: &str = "the state of this shard is from before it became the owner of the moving keys, so rows are missing";

/// The value of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Register {
    /// The guard refuses nothing.
    Open,
    /// The register is *bound*: it is open on a server of this timeline, and closed on every other server. A physical
    /// copy of the shard that is promoted has a later timeline.
    Bound(i32),
    /// The guard refuses writes until this time, in milliseconds since 1970 by the clock of the shard. After it the
    /// register counts as open.
    FencedUntil(i64),
    /// The guard refuses writes without a time limit.
    Closed,
}

impl Register {
    /// The value of the sequence that means closed: the largest one.
    const CLOSED: i64 = i64::MAX;
    /// A bound register has the sum of this value and its timeline. Every time in milliseconds is less.
    pub(crate) const BOUND: i64 = 1 << 62;

    /// Returns the meaning of a value of the sequence.
    pub(crate) fn from_value(value: i64) -> Self {
        match value {
            0 => Self::Open,
            Self::CLOSED => Self::Closed,
            bound if bound >= Self::BOUND => {
                Self::Bound(i32::try_from(bound - Self::BOUND).unwrap_or(i32::MAX))
            }
            until_ms => Self::FencedUntil(until_ms),
        }
    }

    /// Returns the value of the sequence.
    pub(crate) fn value(self) -> i64 {
        match self {
            Self::Open => 0,
            Self::Bound(timeline) => Self::BOUND + i64::from(timeline),
            Self::FencedUntil(until_ms) => until_ms,
            Self::Closed => Self::CLOSED,
        }
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => f.write_str("open"),
            Self::Bound(timeline) => write!(f, "open on timeline {timeline} only"),
            Self::FencedUntil(until_ms) => write!(f, "fenced until {until_ms} ms since 1970"),
            Self::Closed => f.write_str("closed"),
        }
    }
}

/// A value to which a register is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RegisterSetting {
    /// Makes the shard the owner of the keys, and opens it.
    Open,
    /// Opens a shard that owns the keys already, and proves this in the same transaction.
    OpenAgain,
    /// Open, but only on the timeline of the server that executes the statement.
    Bound,
    /// Refuse writes for this many milliseconds, by the clock of the shard.
    FencedFor(u32),
    Closed,
}

/// Sets the register in an attempt that has begun on this shard with `count`.
pub(crate) async fn set(
    client: &Connected,
    token: &EpochToken,
    count: AttemptCount,
    setting: RegisterSetting,
) -> Result<(), StepError> {
    set_proven(client, token, EpochProof::Count(count), setting)
        .await
        .map(|_| ())
}

/// Sets the register in a transaction with `proof`, and returns the shard's count.
async fn set_proven(
    client: &Connected,
    token: &EpochToken,
    proof: EpochProof,
    setting: RegisterSetting,
) -> Result<AttemptCount, StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: setting the register to {setting:?}");
    epoch::transact(client, token, proof, &set_sql(token, setting), &what).await
}

/// Returns the statements that set the register, for a transaction with the required proof.
pub(crate) fn set_sql(token: &EpochToken, setting: RegisterSetting) -> String {
    let value = match setting {
        RegisterSetting::Open | RegisterSetting::OpenAgain => Register::Open.value().to_string(),
        RegisterSetting::Bound => format!("{} + {TIMELINE}", Register::BOUND),
        RegisterSetting::Closed => Register::Closed.value().to_string(),
        RegisterSetting::FencedFor(ms) => {
            format!("(extract(epoch from pg_catalog.clock_timestamp()) * 1000)::bigint + {ms}")
        }
    };
    let migration = quote_literal(token.migration.as_str());
    let owner = match setting {
        RegisterSetting::Open => {
            format!("update {SCHEMA}.move set owns = true where migration = {migration}; ")
        }
        RegisterSetting::OpenAgain => format!(
            "do $owner$ begin
               if not exists (select from {SCHEMA}.move where migration = {migration} and {OWNS}) then
                 raise exception using errcode = '{SQLSTATE_OUTDATED}', message = '{OUTDATED}';
               end if;
             end $owner$; "
        ),
        RegisterSetting::Bound | RegisterSetting::Closed | RegisterSetting::FencedFor(_) => {
            String::new()
        }
    };
    let register = quote_ident(&token.migration.register());
    format!("{owner}select pg_catalog.setval('{SCHEMA}.{register}', {value})")
}

/// The witness: the register of a shard and the column `flipped` of the migration's row there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RegisterWitness {
    pub(crate) register: Register,
    pub(crate) flipped: Option<MapVersion>,
    /// True if the migration recorded this database as its source when it was enrolled.
    pub(crate) is_source: bool,
}

/// Begins attempt `number` on the shard that would become the owner, and checks the witness there (I4, R1). Returns the
/// shard's count.
///
/// This comes before every fence and before every reopening, because a fence also opens when it expires.
///
/// # Errors
/// `flip.lost` if the register is open, or if the shard was notified of a version after `version`: the store has lost a flip.
pub(crate) async fn begin_and_check_witness(
    client: &Connected,
    token: &EpochToken,
    number: AttemptNo,
    version: MapVersion,
) -> Result<AttemptCount, StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: reading the register");
    let count = epoch::begin_attempt(client, token, number).await?;
    let witness = read(client, token, &what).await?;
    epoch::commit(client, &what).await?;
    if witness.register == Register::Closed && witness.flipped.unwrap_or_default() <= version {
        return Ok(count);
    }
    let flipped = match witness.flipped {
        Some(recorded) => format!("it has recorded the flip to map version {recorded}"),
        None => "it has recorded no flip".to_owned(),
    };
    Err(StepError::listed(
        StepCode::FlipLost,
        format!(
            "shard {shard} is a witness of a flip that the control store does not know: its register is {}, and {flipped}; \
             expected a closed register and at most version {version}",
            witness.register
        ),
    ))
}

/// Begins attempt `number`, or a release or recovery of it, and sets the register.
///
/// Returns the shard's new count, for later transactions of the same attempt.
pub(crate) async fn begin_and_set(
    client: &Connected,
    token: &EpochToken,
    number: AttemptNo,
    setting: RegisterSetting,
) -> Result<AttemptCount, StepError> {
    set_proven(client, token, EpochProof::Next(number), setting).await
}

/// Returns whether the register of the migration exists on the shard. It is dropped last, when nothing depends on it
/// any more.
///
/// The query reads the catalog, so it also works for a role without privileges on schema shardwright.
pub(crate) async fn exists(client: &Connected, migration: &MigrationId) -> Result<bool, StepError> {
    let shard = client.name();
    let row = client
        .query_one(
            "select exists (select from pg_catalog.pg_class c
                            join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                            where n.nspname = $1 and c.relname = $2 and c.relkind = 'S')",
            &[&SCHEMA, &migration.register()],
        )
        .await
        .at(format_args!("shard {shard}: searching for the register"))?;
    Ok(row.get(0))
}

/// Reads the witness in the caller's transaction.
pub(crate) async fn read(
    client: &Connected,
    token: &EpochToken,
    what: &str,
) -> Result<RegisterWitness, StepError> {
    let register = quote_ident(&token.migration.register());
    let row = client
        .query_one(
            &format!(
                "select r.last_value, m.flipped, m.role = 'source' from {SCHEMA}.{register} r, {SCHEMA}.move m where m.migration = $1"
            ),
            &[&token.migration.0],
        )
        .await
        .at(what)?;
    Ok(RegisterWitness {
        register: Register::from_value(row.get(0)),
        flipped: row.get::<_, Option<i64>>(1).map(MapVersion),
        is_source: row.get(2),
    })
}

/// Proves in the caller's transaction that this is the registered database, and the shard to which the stream in
/// `direction` applies changes, closed for the moving keys. The caller removes columns or rows there.
///
/// # Errors
/// `follow.owner`.
pub(crate) async fn prove_not_owner(
    client: &Connected,
    token: &EpochToken,
    direction: Direction,
) -> Result<(), StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: proving that it does not own the keys");
    let proof = identity::proof_sql(TimelineRule::NotEarlier);
    client.batch_execute(&proof).await.at(&what)?;
    let witness = read(client, token, &what).await?;
    let is_downstream = witness.is_source == (direction == Direction::Reverse);
    if is_downstream && witness.register == Register::Closed {
        return Ok(());
    }
    Err(StepError::listed(
        StepCode::FollowOwner,
        format!(
            "shard {shard}: its register for migration {} is open, or it is not the shard that follows the changes of the other one; nothing is changed",
            token.migration
        ),
    ))
}

/// Checks that the shard from which changes go in `direction` owns the keys by its own records, and accepts writes to
/// them. The caller removes rows of these keys on the other shard.
///
/// # Errors
/// `register.outdated`; `drop.role` if it is the wrong one of the two shards.
pub(crate) async fn require_owner(
    client: &Connected,
    token: &EpochToken,
    direction: Direction,
) -> Result<(), StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: proving that it owns the keys");
    let has_records =
        exists(client, &token.migration).await? && epoch::is_enrolled(client, token).await?;
    if has_records {
        let witness = read(client, token, &what).await?;
        if witness.is_source != (direction == Direction::Forward) {
            return Err(wrong_role_error(shard, token, witness.is_source));
        }
        let owns = format!("select {OWNS} from {SCHEMA}.move where migration = $1");
        let row = client.query_one(&owns, &[&token.migration.0]).await;
        if row.at(&what)?.get(0) && witness.register != Register::Closed {
            return Ok(());
        }
    }
    Err(StepError::listed(
        StepCode::RegisterOutdated,
        format!("shard {shard}: {OUTDATED}; nothing is removed on the other shard"),
    ))
}

/// Checks that the new owner has recorded the attempt that flipped the map: each attempt records itself there before the
/// old owner refuses any write (I4). Without the record the state is from before the attempt, and lacks later rows.
///
/// # Errors
/// `register.outdated`.
pub(crate) async fn require_attempt(
    new_owner: &Connected,
    token: &EpochToken,
    attempt: AttemptNo,
) -> Result<(), StepError> {
    let has_records =
        exists(new_owner, &token.migration).await? && epoch::is_enrolled(new_owner, token).await?;
    if has_records && epoch::newest_attempt(new_owner, token).await? >= attempt {
        return Ok(());
    }
    Err(StepError::listed(
        StepCode::RegisterOutdated,
        format!(
            "shard {}: {OUTDATED}; it has no record of attempt {attempt}, which flipped the map, and stays closed",
            new_owner.name()
        ),
    ))
}

/// Returns the error for a shard that has the wrong role in the migration, so that rows would be deleted on the wrong
/// shard.
pub(crate) fn wrong_role_error(shard: &str, token: &EpochToken, is_source: bool) -> StepError {
    let (actual_role, expected_role) = match is_source {
        true => ("source", "target"),
        false => ("target", "source"),
    };
    StepError::refused(
        StepCode::DropRole,
        format!(
            "shard {shard}: this database is the {actual_role} of migration {}, not its {expected_role}; nothing is deleted",
            token.migration
        ),
        "correct the connection strings of the migration's two shards, then `resume`",
    )
}

/// Begins a recovery or the opening of attempt `number`, and records on the shard the map version of the flip (C10,
/// first transaction). Returns the shard's new count.
pub(crate) async fn notify_of_flip(
    client: &Connected,
    token: &EpochToken,
    number: AttemptNo,
    version: MapVersion,
) -> Result<AttemptCount, StepError> {
    let shard = client.name();
    let what = format!("shard {shard}: notifying it of map version {version}");
    let sql = record_flip_sql(token, version);
    epoch::transact(client, token, EpochProof::Next(number), &sql, &what).await
}

/// Checks that the register refuses no write: it is open, or its fence has expired. The check is a statement of its
/// own.
///
/// # Errors
/// `register.closed` with the value of the register.
pub(crate) async fn check_open(client: &Connected, token: &EpochToken) -> Result<(), StepError> {
    let shard = client.name();
    if !exists(client, &token.migration).await? {
        return Ok(());
    }
    let register = quote_ident(&token.migration.register());
    // The condition is that of the guard: a fence counts for at most a minute.
    let row = client
        .query_one(
            &format!(
                "select r.last_value, r.last_value = {max} or r.last_value >= {bound} and r.last_value <> {bound} + {TIMELINE} or r.last_value > now.ms and r.last_value <= now.ms + 60000
                 from {SCHEMA}.{register} r,
                      (select (extract(epoch from pg_catalog.clock_timestamp()) * 1000)::bigint) now (ms)",
                max = Register::CLOSED,
                bound = Register::BOUND
            ),
            &[],
        )
        .await
        .at(format_args!("shard {shard}: reading the register"))?;
    let (value, refuses): (i64, bool) = (row.get(0), row.get(1));
    if !refuses {
        return Ok(());
    }
    Err(StepError::passing(
        StepCode::RegisterClosed,
        format!(
            "shard {shard}: its register is {}, so the guard refuses writes to the moving keys",
            Register::from_value(value)
        ),
    ))
}

/// Returns the statement that records the map version of the flip.
fn record_flip_sql(token: &EpochToken, version: MapVersion) -> String {
    format!(
        "update {SCHEMA}.move set flipped = {version}, owns = false where migration = {}",
        quote_literal(token.migration.as_str())
    )
}

/// How long an opening waits for a lock before the agent ends the sessions of the migration that may hold it.
const OPENING_LOCK_TIMEOUT: &str = "set lock_timeout = '100ms'";

/// The opening of the new owner (C10): the record of the flip, the marker `opened`, and the register. Each is committed
/// before the next begins.
pub(crate) struct ShardOpening<'a> {
    pub(crate) client: &'a Connected,
    pub(crate) token: &'a EpochToken,
    /// The proof of ownership for work after the flip.
    pub(crate) after: &'a EpochToken,
    pub(crate) number: AttemptNo,
    pub(crate) version: MapVersion,
}

impl ShardOpening<'_> {
    /// Opens the shard. `delayed` reports why that takes long.
    ///
    /// A lost session of the agent may still hold the migration's lock, as long as the server has not noticed that its
    /// client has ended. The opening ends such sessions: after the flip the shard refuses all that they could do.
    pub(crate) async fn open(&self, delayed: impl Fn(&str)) -> Result<(), StepError> {
        let (client, shard) = (self.client, self.client.name());
        let what = format!("shard {shard}: opening it at map version {}", self.version);
        let is_lock_timeout =
            |error: &StepError| error.sqlstate() == Some(SqlState::LOCK_NOT_AVAILABLE.code());
        loop {
            // One round trip: the setting is sent ahead of the batch.
            let (set, opened) = tokio::join!(
                client.batch_execute(OPENING_LOCK_TIMEOUT),
                self.try_open(&what)
            );
            set.at(&what)?;
            let Err(error) = opened else {
                return Ok(());
            };
            if !is_lock_timeout(&error) {
                return Err(error);
            }
            let ended = epoch::end_lock_holders(client, self.token)
                .await
                .at(&what)?;
            tracing::warn!(shard, ended, %error, "sessions of this migration that delayed the opening were ended");
            delayed(&format!("shard {shard} to take writes: {error}"));
        }
    }

    /// Sends the three transactions of the opening.
    async fn try_open(&self, what: &str) -> Result<(), StepError> {
        let (token, after) = (self.token, self.after);
        let record_flip = record_flip_sql(token, self.version);
        let marker = Marker::new(after, self.number, MarkerKind::Opened).sql();
        let opened = set_sql(token, RegisterSetting::Open);
        let in_turn = [
            ProvenTransaction {
                token,
                proof: EpochProof::Next(self.number),
                sql: &record_flip,
            },
            ProvenTransaction {
                token: after,
                proof: EpochProof::Work,
                sql: &marker,
            },
            ProvenTransaction {
                token,
                proof: EpochProof::LastCount,
                sql: &opened,
            },
        ];
        epoch::transact_in_turn(self.client, &in_turn, what)
            .await
            .map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::Register;

    #[test]
    fn each_register_has_one_value() {
        for (value, register) in [
            (0, Register::Open),
            (1_764_000_000_000, Register::FencedUntil(1_764_000_000_000)),
            ((1 << 62) + 3, Register::Bound(3)),
            (i64::MAX, Register::Closed),
        ] {
            assert_eq!(Register::from_value(value), register);
            assert_eq!(register.value(), value);
        }
    }
}

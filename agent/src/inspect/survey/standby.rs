//! Checks whether a server is a standby of the source that can be promoted to a target.

use connect::Connected;
use plans::sql::quote_ident;

use crate::error::{StepError, WithIntent};
use crate::inspect::findings::Findings;
use crate::postgres::lsn::Lsn;
use crate::postgres::standbys;
use crate::shard::identity;

/// A standby that lacks more bytes of log than this is refused: the source would retain the log of the wait.
const MAX_LAG_BYTES: u64 = 1 << 30;
/// The number of slots and of WAL senders that a migration needs on the promoted server.
const MIN_FREE: i64 = 3;

/// Adds a finding for each reason for which the standby cannot be promoted for a migration.
pub(super) async fn check(
    source: &Connected,
    target: &Connected,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let (shard, primary) = (target.name(), source.name());
    let object = format!("shard {shard}, server");
    let what = format!("shard {shard}: identifying the server");
    let (own, found) = tokio::try_join!(identity::read(source), identity::read(target)).at(what)?;
    if !found.standby || (&own.system, own.database) != (&found.system, found.database) {
        let problem = match found.standby {
            true => format!(
                "it is a standby of another server or database than shard {primary}: {found}"
            ),
            false => "it is no standby".to_owned(),
        };
        findings.add_refusal(
            "seed.standby",
            object,
            problem,
            format!("create a standby of shard {primary} with pg_basebackup, and register it as the shard; or plan with `seed: copy`"),
        );
        return Ok(());
    }
    check_replay(source, target, MAX_LAG_BYTES, findings).await?;
    check_settings(target, findings).await?;
    check_privilege(target, findings).await?;
    check_subscriptions(target, findings).await?;
    check_role_in_replication(source, target, findings).await
}

/// Checks that the standby streams, that its replay is neither paused nor delayed, and that it lacks at most `max_lag`
/// bytes of the source's log.
pub(crate) async fn check_replay(
    source: &Connected,
    target: &Connected,
    max_lag: u64,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = target.name();
    let row = target
        .query_one(
            "select coalesce(pg_catalog.pg_last_wal_replay_lsn(), '0/0'), pg_catalog.pg_is_wal_replay_paused(),
                    (select setting from pg_catalog.pg_settings where name = 'recovery_min_apply_delay'),
                    exists (select from pg_catalog.pg_stat_wal_receiver where pid is not null)",
            &[],
        )
        .await
        .at(format_args!("shard {shard}: reading the state of the replay"))?;
    let (replayed, paused, delay, streams): (Lsn, bool, &str, bool) =
        (row.get(0), row.get(1), row.get(2), row.get(3));
    let object = format!("shard {shard}, replay");
    if paused {
        let remedy = "on the standby, `select pg_wal_replay_resume()`";
        findings.add_refusal("seed.paused", object.clone(), "it is paused", remedy);
    }
    if delay != "0" {
        findings.add_refusal(
            "seed.paused",
            object.clone(),
            format!("it is delayed by recovery_min_apply_delay = {delay} ms"),
            "on the standby, `alter system set recovery_min_apply_delay = 0; select pg_reload_conf()`",
        );
    }
    if !streams {
        findings.add_refusal(
            "seed.stream",
            object.clone(),
            "the standby does not stream: it has no WAL receiver",
            "set primary_conninfo on the standby, and wait until `select * from pg_stat_wal_receiver` has a row",
        );
    }
    let behind = standbys::flush_position(source)
        .await?
        .bytes_since(replayed);
    if behind > max_lag {
        findings.add_refusal(
            "seed.lag",
            object,
            format!("the standby lacks {} MiB of the log", behind >> 20),
            "wait until it has replayed the log; `select pg_last_wal_replay_lsn()` shows how far it is",
        );
    }
    Ok(())
}

/// Checks the settings that the promoted server needs. They can differ from those of the source.
async fn check_settings(target: &Connected, findings: &mut Findings) -> Result<(), StepError> {
    let shard = target.name();
    let row = target
        .query_one(
            "select pg_catalog.current_setting('wal_level'),
                    pg_catalog.current_setting('max_replication_slots')::bigint
                      - (select count(*) from pg_catalog.pg_replication_slots),
                    pg_catalog.current_setting('max_wal_senders')::bigint
                      - (select count(*) from pg_catalog.pg_stat_replication)",
            &[],
        )
        .await
        .at(format_args!("shard {shard}: reading its settings"))?;
    let wal_level: &str = row.get(0);
    if wal_level != "logical" {
        findings.add_refusal(
            "server.wal_level",
            format!("shard {shard}, setting wal_level"),
            format!("it is {wal_level}; changes cannot be captured after the promotion"),
            "alter system set wal_level = 'logical'; then restart the server",
        );
    }
    for (column, name) in [(1, "max_replication_slots"), (2, "max_wal_senders")] {
        let free: i64 = row.get(column);
        if free < MIN_FREE {
            findings.add_refusal(
                "server.slots",
                format!("shard {shard}, setting {name}"),
                format!("{free} are free, {MIN_FREE} are needed"),
                format!(
                    "raise {name} by at least {}, then restart the server",
                    MIN_FREE - free
                ),
            );
        }
    }
    Ok(())
}

/// Checks that the role of the agents may promote the standby.
pub(crate) async fn check_privilege(
    target: &Connected,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = target.name();
    let row = target
        .query_one(
            "select pg_catalog.has_function_privilege('pg_catalog.pg_promote(boolean, integer)', 'execute'),
                    session_user::text",
            &[],
        )
        .await
        .at(format_args!("shard {shard}: reading the privileges of the role"))?;
    let (may_promote, role): (bool, &str) = (row.get(0), row.get(1));
    if !may_promote {
        findings.add_refusal(
            "seed.privilege",
            format!("shard {shard}, role {role}"),
            "it may not promote the standby",
            format!(
                "on the source, `grant execute on function pg_catalog.pg_promote(boolean, integer) to {}`; the standby receives it with the log",
                quote_ident(role)
            ),
        );
    }
    Ok(())
}

/// Checks that no subscription would start on the promoted server and take over the slots of the source's.
async fn check_subscriptions(target: &Connected, findings: &mut Findings) -> Result<(), StepError> {
    let shard = target.name();
    let rows = target
        .query(
            "select s.subname::text, d.datname::text from pg_catalog.pg_subscription s
             join pg_catalog.pg_database d on d.oid = s.subdbid where s.subenabled order by 1",
            &[],
        )
        .await
        .at(format_args!("shard {shard}: listing subscriptions"))?;
    for row in rows {
        let (name, database): (&str, &str) = (row.get(0), row.get(1));
        findings.add_refusal(
            "seed.subscription",
            format!("shard {shard}, subscription {name} in database {database}"),
            "it would start on the promoted server too, and take over the slot of the source's subscription",
            format!(
                "on the source, `alter subscription {} disable` until the promotion is over",
                quote_ident(name)
            ),
        );
    }
    Ok(())
}

/// Checks that no commit of the source waits for the standby, and that no logical slot waits for it.
async fn check_role_in_replication(
    source: &Connected,
    target: &Connected,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = target.name();
    let receiver = target
        .query_opt(
            "select slot_name::text, pg_catalog.substring(conninfo, 'application_name=(\\S+)') from pg_catalog.pg_stat_wal_receiver",
            &[],
        )
        .await
        .at(format_args!("shard {shard}: reading the state of its WAL receiver"))?;
    let (slot, name): (Option<String>, Option<String>) =
        receiver.map_or((None, None), |row| (row.get(0), row.get(1)));
    let row = source
        .query_one(
            "select exists (select from pg_catalog.pg_stat_replication r
                            left join pg_catalog.pg_replication_slots s on s.active_pid = r.pid
                            where r.sync_state in ('sync', 'quorum', 'potential')
                              and (s.slot_name = $1 or r.application_name = $2)),
                    coalesce($1 = any (pg_catalog.regexp_split_to_array(
                      (select setting from pg_catalog.pg_settings where name = 'synchronized_standby_slots'), '\\s*,\\s*')), false)",
            &[&slot, &name],
        )
        .await
        .at(format_args!("shard {}: reading the state of its standbys", source.name()))?;
    let object = format!("shard {shard}, server");
    if row.get(0) {
        findings.add_refusal(
            "seed.synchronous",
            object.clone(),
            "it is a synchronous standby: commits on the source would wait for it after its promotion",
            "remove it from synchronous_standby_names of the source (Patroni: set the tag nosync)",
        );
    }
    if row.get(1) {
        findings.add_refusal(
            "seed.synchronous",
            object,
            "its slot is in synchronized_standby_slots of the source: logical slots would wait for it after its promotion",
            "remove its slot from synchronized_standby_slots of the source",
        );
    }
    Ok(())
}

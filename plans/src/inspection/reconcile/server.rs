//! Compares the server of a shard with the one that was last observed under the shard's name.

use super::super::inventory::Inventory;
use super::compare::{StoreKnowledge, finding};
use super::{Contradiction, ContradictionKind};
use crate::id::ShardName;
use crate::identity::DatabaseIdentity;

/// Checks that the server is the one that was last observed under the name of this shard, with all of its log.
pub(super) fn check_server(known: &StoreKnowledge, inventory: &Inventory) -> Option<Contradiction> {
    let shard = &inventory.shard;
    let before = known.servers.get(shard)?;
    let (expected, found) = (&before.server, &inventory.server);
    let accept = || match known.uses(shard) {
        true => format!(
            "find out which changes are missing; `shardwright reconcile --accept {shard}` states that this is the right server"
        ),
        false => format!(
            "no map names the shard, so no keys are affected; `shardwright reconcile --accept {shard}` states that this is the right server"
        ),
    };
    if expected.system != found.system {
        let message = format!(
            "the server has the system identifier {}, but it was {}",
            found.system, expected.system
        );
        return Some(finding(
            ContradictionKind::OtherServer,
            shard,
            message,
            &accept(),
        ));
    }
    if !expected.is_same_database(found) {
        let message = format!("another database is at this address: {found}; it was {expected}");
        return Some(finding(
            ContradictionKind::OtherServer,
            shard,
            message,
            &accept(),
        ));
    }
    if expected.standby {
        return check_promotion(known, shard, found);
    }
    if found.standby {
        return Some(became_standby(known, shard));
    }
    if expected.timeline != found.timeline {
        let message = format!(
            "the server is on timeline {}, and was on {}: a standby was promoted, or the server was restored to a point in time; changes that were not replicated are missing",
            found.timeline, expected.timeline
        );
        return Some(finding(
            ContradictionKind::FailedOver,
            shard,
            message,
            &accept(),
        ));
    }
    let missing = before.missing_bytes(inventory.flushed);
    (missing > 0).then(|| {
        let message = format!(
            "the log of the server ended {missing} bytes before an end that was observed earlier: the server was restored from a copy; later changes are missing"
        );
        finding(ContradictionKind::WentBack, shard, message, &accept())
    })
}

/// Checks that only a migration promotes a shard that is registered as a standby. The result of its step `promote` then
/// becomes the registered identity.
fn check_promotion(
    known: &StoreKnowledge,
    shard: &ShardName,
    found: &DatabaseIdentity,
) -> Option<Contradiction> {
    let promotes = known
        .moves
        .iter()
        .any(|m| m.promotes && !m.finished && &m.target == shard);
    if found.standby || promotes {
        return None;
    }
    let message = format!(
        "the shard was registered as a standby, and its server is no standby any more: it was promoted, but no migration is promoting it; it is on timeline {}",
        found.timeline
    );
    let hint = match known.owns_keys(shard) {
        true => format!(
            "a map names the shard: `shardwright shard set {shard} --replaced --reason TEXT` states that this is the right server"
        ),
        false => format!(
            "abort a migration that was to promote it; create the standby again with pg_rewind or pg_basebackup, or run `shardwright shard remove {shard}`"
        ),
    };
    Some(finding(
        ContradictionKind::FailedOver,
        shard,
        message,
        &hint,
    ))
}

/// Returns the contradiction that a database of its own became a standby.
fn became_standby(known: &StoreKnowledge, shard: &ShardName) -> Contradiction {
    let hint = match known.uses(shard) {
        true => {
            format!("register the primary's address: `shardwright shard set {shard} --dsn ...`")
        }
        false => format!(
            "`shardwright reconcile --accept {shard}` registers the standby; then plan with `seed: standby`"
        ),
    };
    finding(
        ContradictionKind::OtherServer,
        shard,
        "the server is a standby, and was none: it replays the log of another server".to_owned(),
        &hint,
    )
}

//! What the shards show, beside what the control store knows; pure.
//!
//! A look at a shard lies between two readings of the store. The store is older than the fleet where the
//! later reading lacks what the shards prove; a shard is older than the map where both readings say so,
//! which the caller sees to.

use super::super::inventory::{CLOSED, Inventory, MoveSeen, ServerSeen};
use super::older;
use super::proofs::{Proof, proofs};
use super::{Closing, Finding, FindingKind};
use crate::id::{MapName, MigrationId, ShardName};
use crate::key_set::KeySet;
use crate::shard_map::ShardMap;
use crate::state::cutover::Ownership;
use crate::table::MovingTable;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the control store knows.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// The maps in force.
    pub maps: Vec<Arc<ShardMap>>,
    /// Migrations that have started and not ended, and those that were completed.
    pub moves: Vec<KnownMove>,
    /// The servers as they were seen last.
    pub servers: BTreeMap<ShardName, ServerSeen>,
}

/// A migration that has started.
#[derive(Debug, Clone)]
pub struct KnownMove {
    /// The migration.
    pub id: MigrationId,
    /// The map.
    pub map: MapName,
    /// The shard that the keys leave.
    pub source: ShardName,
    /// The shard that they come to.
    pub target: ShardName,
    /// The keys.
    pub keys: KeySet,
    /// Its tables.
    pub tables: Vec<MovingTable>,
    /// Who owns the keys.
    pub ownership: Ownership,
    /// Its owner's fencing token.
    pub epoch: i64,
    /// It has ended.
    pub finished: bool,
    /// The cutover is done, and no attempt to go back is under way: the target is open.
    pub opened: bool,
    /// The newest version that it made, on its way.
    pub version: Option<i64>,
    /// The newest version that it is known to have seen in force.
    pub aware: i64,
}

/// Everything that contradicts, by shard.
#[must_use]
pub fn compare(known: &Known, seen: &[Inventory]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = seen.iter().filter_map(|one| server(known, one)).collect();
    // What another database shows says nothing of the shard, and nothing is closed there.
    let seen = &known.of_shards(seen);
    findings.extend(older::store_older(known, seen));
    for inventory in seen {
        for m in known.moves.iter().filter(|m| !m.finished) {
            findings.extend(losing(m, inventory, seen));
            findings.extend(gaining(m, inventory));
        }
        findings.extend(given_away(known, inventory));
        findings.extend(ended(known, inventory));
    }
    findings
}

impl Known {
    /// Whether a map names the shard, or an unfinished migration moves keys from or to it.
    fn uses(&self, shard: &ShardName) -> bool {
        let owns = |map: &Arc<ShardMap>| map.mappings.iter().any(|m| &m.shard == shard);
        let moves = |m: &KnownMove| !m.finished && (&m.source == shard || &m.target == shard);
        self.maps.iter().any(owns) || self.moves.iter().any(moves)
    }

    pub(super) fn map(&self, name: &MapName) -> Option<&ShardMap> {
        let mut maps = self.maps.iter();
        maps.find(|map| &map.name == name).map(Arc::as_ref)
    }

    pub(super) fn known(&self, id: &MigrationId) -> Option<&KnownMove> {
        self.moves.iter().find(|m| &m.id == id)
    }

    /// The inventories that are of the shards' own databases.
    #[must_use]
    pub fn of_shards(&self, seen: &[Inventory]) -> Vec<Inventory> {
        let is_own = |inventory: &&Inventory| {
            let known = self.servers.get(&inventory.shard);
            known.is_none_or(|known| known.server.is_same_database(&inventory.server))
        };
        seen.iter().filter(is_own).cloned().collect()
    }

    /// The flips that the shards prove and the store does not know, by version.
    #[must_use]
    pub fn lost(&self, seen: &[Inventory]) -> Vec<Proof> {
        let proofs = proofs(seen);
        let is_lost = |proof: &&Proof| {
            if let Some(m) = self.known(&proof.migration) {
                return m.aware < proof.version;
            }
            let Some(map) = self.map(&proof.map) else {
                return false;
            };
            let later = proofs.iter().filter(|p| p.map == proof.map);
            let later = later.filter(|p| p.version > proof.version).map(|p| &p.keys);
            let moves = self.moves.iter().filter(|m| m.map == proof.map);
            let moves = moves
                .filter(|m| m.version > Some(proof.version))
                .map(|m| &m.keys);
            let still = later
                .chain(moves)
                .fold(proof.keys.clone(), |keys, gone| keys.minus(gone));
            !map.owned_by(&proof.owner).covers(&still)
        };
        proofs.iter().filter(is_lost).cloned().collect()
    }

    /// The highest version of a map that any shard was told of.
    #[must_use]
    pub fn highest(map: &MapName, seen: &[Inventory]) -> i64 {
        let rows = seen.iter().flat_map(|inventory| &inventory.moves);
        let rows = rows.filter(|row| &row.map == map);
        let told = rows.map(|row| row.flipped.unwrap_or(0).max(row.map_version));
        let away = seen.iter().flat_map(|inventory| &inventory.away);
        let away = away
            .filter(|away| &away.map == map)
            .map(|away| away.version);
        let given = seen.iter().flat_map(|inventory| &inventory.given);
        let given = given
            .filter(|given| &given.map == map)
            .map(|given| given.version);
        told.chain(away).chain(given).max().unwrap_or(0)
    }
}

pub(super) fn finding(
    kind: FindingKind,
    shard: &ShardName,
    message: String,
    hint: &str,
) -> Finding {
    Finding {
        kind,
        shard: shard.clone(),
        migration: None,
        map: None,
        message,
        hint: hint.to_owned(),
        close: None,
    }
}

fn server(known: &Known, inventory: &Inventory) -> Option<Finding> {
    let shard = &inventory.shard;
    let before = known.servers.get(shard)?;
    let (then, now) = (&before.server, &inventory.server);
    let accept = match known.uses(shard) {
        true => format!(
            "find out what it lacks; `shardwright reconcile --accept {shard}` says that it is the right server"
        ),
        false => format!(
            "no map names the shard, so no key is missing; `shardwright reconcile --accept {shard}` says that it is the right server"
        ),
    };
    if then.system != now.system {
        let message = format!("server {} answers, it was {}", now.system, then.system);
        return Some(finding(FindingKind::OtherServer, shard, message, &accept));
    }
    if !then.is_same_database(now) {
        let message = format!("another database answers, {now}; it was {then}");
        return Some(finding(FindingKind::OtherServer, shard, message, &accept));
    }
    if then.timeline != now.timeline {
        let message = format!(
            "it is on timeline {}, and was on {}: a standby was promoted, or it was restored to a point in time; what was not replicated is missing",
            now.timeline, then.timeline
        );
        return Some(finding(FindingKind::FailedOver, shard, message, &accept));
    }
    let missing = before.lacks(inventory.flushed);
    (missing > 0).then(|| {
        let message = format!(
            "its log ended {missing} bytes before the place where it had ended: it was restored from a copy; what was written since is missing"
        );
        finding(FindingKind::WentBack, shard, message, &accept)
    })
}

/// The shard that does not own the keys must refuse them.
fn losing(m: &KnownMove, inventory: &Inventory, seen: &[Inventory]) -> Option<Finding> {
    let shard = &inventory.shard;
    let row = inventory.moves.iter().find(|row| row.migration == m.id);
    // A shard that was told more than the store knows is the store's problem.
    if row.is_some_and(|row| row.flipped > Some(m.aware)) {
        return None;
    }
    let (loser, must) = match m.ownership {
        Ownership::Flipped | Ownership::RollbackFencing => (&m.source, Must::Refuse),
        Ownership::Completed => (&m.source, Must::RefuseRegister),
        // Before the flip, and after a roll back, the target has a register while anything of it is there.
        Ownership::Ready | Ownership::Fencing | Ownership::Aborted | Ownership::RolledBack => {
            (&m.target, Must::NotOpen)
        }
    };
    if loser != shard || refuses(m, row, inventory, must) {
        return None;
    }
    let was = row.map_or("it knows nothing of the migration".to_owned(), |row| {
        format!(
            "register {:?}, {} guard triggers, told of version {:?}",
            row.register, row.guards, row.flipped
        )
    });
    let owner = if loser == &m.source {
        &m.target
    } else {
        &m.source
    };
    let found = open(
        m,
        inventory,
        format!(
            "it takes writes for {} of map {}, which shard {owner} owns ({was}): it is older than the map",
            m.keys, m.map
        ),
    );
    Some(if row.is_none() {
        in_doubt(m, found, seen)
    } else {
        found
    })
}

/// A source that knows nothing of the migration is closed on the word of the target: where that knows nothing
/// either, the migration has ended since (it was rolled back), and the store is the older one.
fn in_doubt(m: &KnownMove, found: Finding, seen: &[Inventory]) -> Finding {
    let target = seen.iter().find(|inventory| inventory.shard == m.target);
    let knows = |target: &Inventory| target.moves.iter().any(|row| row.migration == m.id);
    match target {
        Some(target) if knows(target) => found,
        Some(_) => Finding {
            kind: FindingKind::StoreOlder,
            message: format!(
                "neither shard {} nor shard {} knows of migration {}, which the control store holds for under way: it has ended since",
                m.source, m.target, m.id
            ),
            hint: "the shards cannot tell how it ended: restore a newer copy of the store"
                .to_owned(),
            close: None,
            ..found
        },
        None => Finding {
            close: None,
            ..found
        },
    }
}

/// How the losing shard shows that it refuses the keys.
#[derive(Clone, Copy)]
enum Must {
    /// Register and guards, or the guard of keys that were given away.
    Refuse,
    /// The same, where the tables may be gone with their guards.
    RefuseRegister,
    /// A register that is there is closed.
    NotOpen,
}

fn refuses(m: &KnownMove, row: Option<&MoveSeen>, inventory: &Inventory, must: Must) -> bool {
    let mut away = inventory.away.iter().filter(|away| away.map == m.map);
    match must {
        Must::NotOpen => row.is_none_or(|row| row.register.is_none_or(|value| value == CLOSED)),
        Must::Refuse => row.is_some_and(MoveSeen::refuses) || away.any(|a| a.keys.covers(&m.keys)),
        Must::RefuseRegister => {
            row.is_some_and(|row| row.register == Some(CLOSED))
                || away.any(|away| away.keys.covers(&m.keys))
        }
    }
}

const AT_ONCE: &str = "its keys are closed at once; what was written there meanwhile is not on the owner: find it with `shardwright map check`";

fn open(m: &KnownMove, inventory: &Inventory, message: String) -> Finding {
    let role = if inventory.shard == m.source {
        "source"
    } else {
        "target"
    };
    Finding {
        migration: Some(m.id.clone()),
        map: Some(m.map.clone()),
        close: Some(Closing {
            migration: m.id.clone(),
            epoch: m.epoch,
            role: role.to_owned(),
            map: m.map.clone(),
            version: m.aware,
            keys: m.keys.clone(),
            tables: m.tables.clone(),
            for_good: m.finished,
            // Not before: of two shards, the one that was told first is taken for the owner.
            tell: m.opened && inventory.shard == m.source,
        }),
        ..finding(FindingKind::KeysOpen, &inventory.shard, message, AT_ONCE)
    }
}

/// The shard that owns the keys must have been told so.
fn gaining(m: &KnownMove, inventory: &Inventory) -> Option<Finding> {
    let owns = m.ownership == Ownership::Flipped && m.opened && inventory.shard == m.target;
    if !owns {
        return None;
    }
    let about = |finding: Finding| Finding {
        migration: Some(m.id.clone()),
        map: Some(m.map.clone()),
        ..finding
    };
    let row = inventory.moves.iter().find(|row| row.migration == m.id);
    let told = row.and_then(|row| row.flipped);
    if told < m.version {
        return Some(about(finding(
            FindingKind::DataMissing,
            &inventory.shard,
            format!(
                "the map names it the owner of {} since version {}, and it was never told: it was restored from before that; rows are missing, and nothing is opened",
                m.keys,
                m.version.unwrap_or(0)
            ),
            "restore it to its newest state, or roll the keys back by hand from the source, whose copy is as new as the stream back was",
        )));
    }
    let closed = row.is_some_and(|row| row.register == Some(CLOSED));
    closed.then(|| {
        about(finding(
            FindingKind::KeysRefused,
            &inventory.shard,
            format!(
                "it owns {} since version {} and refuses them: its register was lost",
                m.keys,
                m.version.unwrap_or(0)
            ),
            "a standby that lacked the opening may lack writes too: restore it to its newest state",
        ))
    })
}

/// Keys of completed moves must be refused by the shards that gave them away.
fn given_away(known: &Known, inventory: &Inventory) -> Vec<Finding> {
    let shard = &inventory.shard;
    let mut findings = Vec::new();
    for map in &known.maps {
        let mut moves: Vec<&KnownMove> = known.moves.iter().filter(|m| m.map == map.name).collect();
        moves.sort_by_key(|m| m.version);
        let coming = moves.iter().filter(|m| !m.finished && &m.target == shard);
        let mine = coming.fold(map.owned_by(shard), |all, m| all.union(&m.keys));
        let away = inventory.away.iter().find(|away| away.map == map.name);
        let refused = away.map_or_else(|| map.no_keys(), |away| away.keys.clone());
        for m in moves.iter().filter(|m| m.finished && &m.source == shard) {
            if m.ownership != Ownership::Completed {
                continue;
            }
            let must = m.keys.minus(&mine).minus(&refused);
            let row = inventory.moves.iter().find(|row| row.migration == m.id);
            if must.is_empty() || row.is_some_and(MoveSeen::refuses) {
                continue;
            }
            let part = KnownMove {
                keys: must.clone(),
                ..(*m).clone()
            };
            findings.push(open(&part, inventory, format!(
                "it takes writes for {must} of map {}, which it gave away with version {}: it is older than the map",
                map.name, m.version.unwrap_or(0)
            )));
        }
        let owned = map.owned_by(shard).intersection(&refused);
        if !owned.is_empty() {
            findings.push(Finding {
                map: Some(map.name.clone()),
                ..finding(
                    FindingKind::DataMissing,
                    shard,
                    format!("it owns {owned} of map {}, and refuses them as given away: it was restored from before they came back; rows are missing", map.name),
                    "restore it to its newest state; nothing is opened",
                )
            });
        }
    }
    findings
}

/// A closed register of a migration that was completed: its target was restored from before its opening.
fn ended(known: &Known, inventory: &Inventory) -> Vec<Finding> {
    let rows = inventory
        .moves
        .iter()
        .filter(|row| row.register == Some(CLOSED));
    let ended = rows.filter_map(|row| {
        let m = known.known(&row.migration)?;
        let owns = m.finished && m.ownership == Ownership::Completed && m.target == inventory.shard;
        owns.then(|| Finding {
            migration: Some(m.id.clone()),
            map: Some(m.map.clone()),
            ..finding(
                FindingKind::DataMissing,
                &inventory.shard,
                format!("it refuses {} of map {}, which came here for good: it was restored from before that; rows are missing", m.keys, m.map),
                "restore it to its newest state; nothing is opened",
            )
        })
    });
    ended.collect()
}

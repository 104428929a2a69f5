//! Evidence about the new owner that an agent must present before it may seal or flip (ADR 48).
//!
//! There are two proofs:
//!
//! - The comparison. The target has recorded row counts and digests, which the agent reads there before the fence. They
//!   must be those that `verify` reported, for every moving table of the plan.
//! - The end of the stream. The new owner has applied both markers, the messages that the agent writes into the log of
//!   the old owner after the fence and after the seal. The controller chose their random ids when the attempt began,
//!   and sent them to no other process.
//!
//! The evidence costs no round trip, because the agent sends it with its queries and the controller compares it with
//! values in memory.
//!
//! The evidence does not detect false reports of a process that performs both steps itself; such a process has the
//! credentials of both shards anyway. An agent of protocol 3 presents no evidence.

use crate::controller::ControlError;
use crate::store::{Migration, Snapshot};
use plans::id::MigrationId;
use plans::names::Direction;
use plans::request::Mode;
use plans::step::StepKind;
use plans::step::verify::{TableVerified, Verified};
use plans::wire::Markers;
use serde_json::Value;
use uuid::Uuid;

/// Returns whether the agent that has the lease must present evidence: it has a secret, so its protocol version
/// supports evidence.
fn must_show_evidence(m: &Migration) -> bool {
    let owner = m.owner.as_ref();
    owner.is_some_and(|owner| owner.secret.is_some())
}

/// Returns the markers of a new attempt; `None` if the move writes no markers, or if its agent does not support
/// evidence.
pub(super) fn markers_for(m: &Migration) -> Option<Markers> {
    let written = m.plan.mode == Mode::Online && must_show_evidence(m);
    written.then(|| Markers {
        fenced: Uuid::from_bytes(rand::random()),
        sealed: Uuid::from_bytes(rand::random()),
    })
}

/// Refuses a result of `verify` that does not prove that every moving table is the same on both shards.
pub(in crate::controller) fn check_verified(
    m: &Migration,
    output: &Value,
) -> Result<(), ControlError> {
    if !must_show_evidence(m) {
        return Ok(());
    }
    let what = match serde_json::from_value::<Verified>(output.clone()) {
        Err(error) => Some(format!("the comparison's result cannot be read: {error}")),
        Ok(verified) => verified.objection(&m.plan.moving.tables),
    };
    evidence_error(&m.id, what)
}

/// Refuses a seal if the target has no record of the comparison, or the record of another comparison.
pub(super) fn check_comparison(
    snapshot: &Snapshot,
    direction: Direction,
    recorded: Option<&[TableVerified]>,
) -> Result<(), ControlError> {
    let m = &snapshot.migration;
    let verify = snapshot.step_of(StepKind::Verify);
    let Some(verify) = verify.filter(|_| direction == Direction::Forward && must_show_evidence(m))
    else {
        return Ok(());
    };
    let output = verify.output.clone().unwrap_or_default();
    let what = match serde_json::from_value::<Verified>(output) {
        Err(_) => Some("no comparison has ended".to_owned()),
        Ok(verified) => verified
            .objection(&m.plan.moving.tables)
            .or_else(|| verified.objection_to(recorded.unwrap_or_default())),
    };
    evidence_error(&m.id, what)
}

/// Refuses a flip unless the agent reports that the new owner has applied the markers of this attempt.
pub(super) fn check_markers(
    id: &MigrationId,
    expected: Option<Markers>,
    applied: Option<Markers>,
) -> Result<(), ControlError> {
    let lacks_markers = expected.is_some() && expected != applied;
    let what = lacks_markers
        .then(|| "the agent does not report the markers of the attempt as applied".to_owned());
    evidence_error(id, what)
}

/// Returns an error if some evidence is missing.
fn evidence_error(id: &MigrationId, what: Option<String>) -> Result<(), ControlError> {
    match what {
        None => Ok(()),
        Some(what) => Err(ControlError::Evidence {
            migration: id.clone(),
            what,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::SecretDigest;
    use crate::controller::samples::{admitted, keys, planned};
    use crate::store::LeaseHolder;
    use plans::request::Options;
    use plans::table::{MovingTable, TableKey, TableName};
    use serde_json::json;

    fn table(name: &str) -> MovingTable {
        let table = TableName {
            schema: "public".to_owned(),
            name: name.to_owned(),
        };
        MovingTable::bare(table, TableKey::Columns(Vec::new()))
    }

    fn compared(name: &str, rows: i64) -> TableVerified {
        TableVerified {
            table: format!("public.{name}"),
            rows,
            digest: Some("d3".to_owned()),
        }
    }

    fn verified(tables: Vec<TableVerified>) -> Value {
        json!(Verified {
            tables,
            ..Verified::default()
        })
    }

    /// A migration of two tables that `verify` has compared. Its owner has the given secret, or none.
    fn migration(secret: Option<SecretDigest>) -> Snapshot {
        let mut moving = planned("m1", "a", "b", keys(0, 1));
        moving.moving.tables = vec![table("orders"), table("items")];
        let mut snapshot = admitted("m1", vec![moving], Options::default()).remove(0);
        snapshot.migration.owner = Some(LeaseHolder {
            agent: "a1".into(),
            instance: "a1-1".into(),
            token: Some("a1".to_owned()),
            secret,
        });
        for step in &mut snapshot.steps {
            if step.kind == StepKind::Verify {
                let tables = vec![compared("orders", 3), compared("items", 9)];
                step.output = Some(verified(tables));
            }
        }
        snapshot
    }

    fn error_text<T: std::fmt::Debug>(result: Result<T, ControlError>) -> String {
        result.map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn a_seal_needs_the_record_of_the_comparison_on_the_target() {
        let own = migration(Some(SecretDigest([1; 32])));
        let seal = |direction, recorded: Option<Vec<TableVerified>>| {
            error_text(check_comparison(&own, direction, recorded.as_deref()))
        };
        let (orders, items) = (compared("orders", 3), compared("items", 9));
        let whole = vec![items.clone(), orders.clone()];
        assert_eq!(seal(Direction::Forward, Some(whole)), "");
        for (recorded, why) in [
            (None, "no record of table public.orders"),
            (Some(Vec::new()), "no record of table public.orders"),
            (
                Some(vec![orders.clone()]),
                "no record of table public.items",
            ),
            (
                Some(vec![orders, compared("items", 0)]),
                "record of 0 row(s)",
            ),
        ] {
            let refused = seal(Direction::Forward, recorded);
            assert!(refused.contains(why), "{refused}");
        }
        // A rollback has no comparison, and an agent of protocol 3 presents no evidence.
        assert_eq!(seal(Direction::Reverse, None), "");
        let old = migration(None);
        assert_eq!(
            error_text(check_comparison(&old, Direction::Forward, None)),
            ""
        );
    }

    #[test]
    fn a_comparison_must_contain_every_table_and_find_no_difference() {
        let m = migration(Some(SecretDigest([1; 32]))).migration;
        let both = vec![compared("orders", 3), compared("items", 9)];
        assert_eq!(error_text(check_verified(&m, &verified(both.clone()))), "");
        for (output, why) in [
            (json!({}), "cannot be read"),
            (
                verified(vec![compared("orders", 3)]),
                "table public.items was not compared",
            ),
            (
                json!(Verified {
                    different: 2,
                    tables: both,
                    ..Verified::default()
                }),
                "2 row(s) differ",
            ),
        ] {
            let refused = error_text(check_verified(&m, &output));
            assert!(refused.contains(why), "{refused}");
        }
        let old = migration(None).migration;
        assert_eq!(error_text(check_verified(&old, &json!({}))), "");
    }

    #[test]
    fn a_flip_needs_the_markers_of_its_attempt() {
        let m = migration(Some(SecretDigest([1; 32]))).migration;
        let [expected, other] = [markers_for(&m), markers_for(&m)];
        assert!(expected.is_some() && expected != other);
        assert_eq!(error_text(check_markers(&m.id, expected, expected)), "");
        for shown in [None, other] {
            let refused = error_text(check_markers(&m.id, expected, shown));
            assert!(refused.contains("does not report the markers"), "{refused}");
        }
        let old = migration(None).migration;
        assert_eq!(markers_for(&old), None);
        assert_eq!(error_text(check_markers(&m.id, None, None)), "");
    }
}

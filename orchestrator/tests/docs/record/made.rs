//! Messages that are too rare to wait for, as this program writes them.

use plans::failure::{Failure, RetryClass};
use plans::id::{AttemptNo, Epoch, MapVersion, MigrationId, StepId};
use plans::names::Direction;
use plans::step::StepKind;
use plans::wire::{
    CutoverAnswer, CutoverCall, CutoverQuery, LongWriter, Outcome, Progress, Report, StepReport,
};
use serde::Serialize;
use serde_json::{Value, json};

/// By the names that heard ones have.
pub(super) fn all() -> impl Iterator<Item = (String, Value)> {
    reports().into_iter().chain(cutovers())
}

fn exchange(path: &str, asked: impl Serialize, answered: impl Serialize) -> Value {
    json!({"method": "POST", "path": format!("/api/v1/agents/{path}"), "asked": asked,
        "status": 200, "answered": answered})
}

fn failure() -> Failure {
    Failure {
        code: "slot.lost".to_owned(),
        message: "the slot of the forward stream is gone from shard-a".to_owned(),
        hint: Some("the copy begins again".to_owned()),
        retry: RetryClass::Exponential,
    }
}

fn reports() -> Vec<(String, Value)> {
    let report = |step: &str, outcome| {
        let report = Report::Step(StepReport {
            migration: MigrationId::from("m1"),
            step: StepId::from(step),
            epoch: Epoch(7),
            secret: None,
            outcome,
            progress: Progress::default(),
        });
        exchange("report", report, Value::Null)
    };
    let reshaped = Outcome::Reshaped {
        tables: Vec::new(),
        fingerprint: "f2".to_owned(),
        followed: Vec::new(),
        copy_again: false,
        retired: Vec::new(),
        changes: vec!["table public.orders: column note text was added".to_owned()],
    };
    let rewind = Outcome::Rewind {
        to: StepKind::OpenCapture,
        failure: failure(),
    };
    vec![
        (
            "report.made.reshaped".to_owned(),
            report("cutover", reshaped),
        ),
        ("report.made.rewind".to_owned(), report("copy", rewind)),
        (
            "report.made.interrupted".to_owned(),
            report("copy", Outcome::Interrupted),
        ),
    ]
}

fn cutovers() -> Vec<(String, Value)> {
    let (direction, attempt) = (Direction::Forward, AttemptNo(2));
    let map_version = MapVersion(4);
    let writer = LongWriter {
        shard: "shard-a".into(),
        pid: 4711,
        backend_start: "2026-01-01 00:00:00.123456+00".to_owned(),
        user: "shop".to_owned(),
        application: "batch".to_owned(),
        since: "2026-01-01 00:00:01.123456+00".to_owned(),
        query: "update orders set amount = ?".to_owned(),
    };
    let cancel = || CutoverQuery::Cancel {
        writers: vec![writer.clone()],
    };
    let reason = "the budget of 2000 ms is over".to_owned();
    let release = CutoverQuery::Release {
        direction,
        attempt,
        reason: reason.clone(),
    };
    let begin = || CutoverQuery::Begin { direction };
    let flip = CutoverQuery::Flip {
        direction,
        attempt,
        applied: None,
    };
    let flipped = CutoverAnswer::AlreadyFlipped {
        attempt,
        map_version,
    };
    let all = [
        ("cancel.asked", cancel(), CutoverAnswer::AwaitingOperator),
        ("cancel.granted", cancel(), CutoverAnswer::Granted),
        ("release.released", release, CutoverAnswer::Released),
        ("flip.refused", flip, CutoverAnswer::Refused { reason }),
        ("begin.already_flipped", begin(), flipped),
    ];
    let made = all.map(|(name, ask, answer)| {
        let call = CutoverCall {
            migration: MigrationId::from("m1"),
            epoch: Epoch(7),
            secret: None,
            query: ask,
        };
        (
            format!("cutover.made.{name}"),
            exchange("cutover", call, answer),
        )
    });
    made.into()
}

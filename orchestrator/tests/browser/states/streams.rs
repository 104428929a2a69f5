//! Change streams: what they do, whether writes are acknowledged on both shards, and how they end.

use super::waits::catching_up;
use super::{Shown, every, held};
use crate::fixture::{Dashboard, failure};
use plans::failure::RetryClass;
use plans::names::Direction;
use plans::wire::{
    DualWriteState, Heartbeat, MigrationStatus, Progress, Retained, StreamMode, StreamStatus,
};
use reqwest::redirect::Policy;

/// What differs between streams.
#[derive(Default)]
pub(super) struct Stream {
    pub(super) mode: StreamMode,
    pub(super) dual_write: DualWriteState,
    pub(super) lag_ms: i64,
    pub(super) fails: bool,
}

pub(super) async fn all() -> Vec<Shown> {
    let mut all = Vec::new();
    for mode in every(StreamMode::Live, after_mode) {
        let stream = Stream {
            mode,
            ..Stream::default()
        };
        all.push(
            shown(
                format!("stream: {mode:?}").to_lowercase(),
                stream,
                phase(mode),
            )
            .await,
        );
    }
    for (dual_write, words) in every_dual_write() {
        let (which, _) = words.split_once(' ').unwrap_or((words, ""));
        let name = format!("dual-write: {which}");
        let stream = Stream {
            dual_write,
            ..Stream::default()
        };
        all.push(shown(name, stream, words).await);
    }
    let stream = Stream {
        fails: true,
        ..Stream::default()
    };
    all.push(shown("stream: stopped".to_owned(), stream, "The stream stopped").await);
    all
}

async fn shown(name: String, stream: Stream, words: &str) -> Shown {
    let dashboard = Dashboard::with_migration(catching_up).await;
    beat(&dashboard, "catch_up", stream).await;
    Shown::new(name, dashboard, &["/migrations/m1"]).says(&[words, "source to target"])
}

fn after_mode(mode: StreamMode) -> Option<StreamMode> {
    match mode {
        StreamMode::Live => Some(StreamMode::Spooling),
        StreamMode::Spooling => Some(StreamMode::Draining),
        StreamMode::Draining => None,
    }
}

fn phase(mode: StreamMode) -> &'static str {
    match mode {
        StreamMode::Spooling => "capture, asynchronous",
        StreamMode::Live | StreamMode::Draining => "dual-write, asynchronous",
    }
}

fn every_dual_write() -> Vec<(DualWriteState, &'static str)> {
    let mut all = Vec::new();
    let mut next = Some(DualWriteState::Asynchronous);
    while let Some(state) = next {
        let words;
        (next, words) = match &state {
            DualWriteState::Asynchronous => (Some(DualWriteState::Synchronous), "asynchronous"),
            DualWriteState::Synchronous => {
                let since_ms = 1_767_225_600_000;
                let why = "shard b was away".to_owned();
                (
                    Some(DualWriteState::Degraded { since_ms, why }),
                    "synchronous",
                )
            }
            DualWriteState::Degraded { .. } => (
                None,
                "degraded since 2026-01-01 00:00:00 UTC: shard b was away",
            ),
        };
        all.push((state, words));
    }
    all
}

/// Lets the owner of `m1` say that it is at `step` with this stream.
pub(super) async fn beat(dashboard: &Dashboard, step: &str, stream: Stream) {
    let epoch = dashboard.migration().await.migration.epoch;
    let heartbeat = Heartbeat {
        agent: "agent-1".into(),
        instance: "i1".into(),
        holding: vec![MigrationStatus {
            migration: "m1".into(),
            epoch,
            step: Some(step.into()),
            progress: Progress::default(),
            stream: Some(status(stream)),
            secret: None,
        }],
        key: None,
    };
    let http = controller_client::client(Policy::none(), None).unwrap();
    let asked = http.post(format!("{}/api/v1/agents/heartbeat", dashboard.url));
    let answer = asked.json(&heartbeat).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    // A heartbeat renews the lease for seconds only.
    dashboard.edit("m1", held).await;
}

fn status(stream: Stream) -> StreamStatus {
    // A failure that may pass leaves the migration as it is.
    let failure = stream.fails.then(|| plans::failure::Failure {
        retry: RetryClass::Fixed,
        ..failure()
    });
    StreamStatus {
        direction: Direction::Forward,
        mode: stream.mode,
        spooled_bytes: 5 << 20,
        retained: Retained {
            bytes: 3 << 20,
            peak_bytes: 9 << 20,
            wal_status: "reserved".to_owned(),
            safe_bytes: Some(1 << 30),
        },
        dual_write: stream.dual_write,
        lag_bytes: 123_456,
        written_at: 9_000_000,
        applied_at: 8_876_544,
        lag_ms: stream.lag_ms,
        transactions: 4321,
        changes: 98_765,
        failure,
    }
}

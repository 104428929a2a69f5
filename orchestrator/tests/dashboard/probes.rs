//! An agent that answers probes of shards, without a shard.

use super::{Dashboard, Served};
use orchestrator::store::{AgentStore, ShardStore};
use plans::failure::{Failure, RetryClass};
use plans::id::{AgentName, InstanceId};
use plans::identity::DatabaseIdentity;
use plans::inspection::inventory::{
    ActiveSlot, ActiveStandby, ActivityPart, CLOSED, DatabaseFigures, Inventory, MeasuredTable,
    Object, ObjectKind, ObjectOwner, ObservedMove, ServerActivity, UnreadablePart,
};
use plans::inspection::{Inspected, Inspection, InspectionTask};
use plans::wire::{Claim, NEWEST_PROTOCOL, OLDEST_PROTOCOL, Report, WireSecret, Work};
use serde_json::{Value, json};

/// What a shard of so many GiB shows at the probe number `probe`, with a migration `m1` on it.
pub(crate) fn inventory(shard: &str, gib: u64, probe: u64) -> Inventory {
    Inventory {
        shard: shard.into(),
        server: DatabaseIdentity {
            system: "7301234567890".to_owned(),
            timeline: 1,
            database: Some(16_384),
            id: Some(format!("id-{shard}")),
            standby: false,
        },
        flushed: 1 + probe,
        figures: Some(DatabaseFigures {
            version: "17.2".to_owned(),
            bytes: gib << 30,
        }),
        activity: Some(Box::new(activity(gib, probe))),
        objects: vec![Object {
            kind: ObjectKind::Trigger,
            name: "shardwright_m1_orders".to_owned(),
            on: Some("public.orders".to_owned()),
            whose: ObjectOwner::Migration("m1".into()),
        }],
        similar: Vec::new(),
        moves: vec![observed_move()],
        released_keys: Vec::new(),
        released_moves: Vec::new(),
    }
}

/// The same, read by a role that sees neither the lag of standbys nor slots.
pub(crate) fn hidden_inventory(shard: &str, gib: u64, probe: u64) -> Inventory {
    let mut found = inventory(shard, gib, probe);
    let activity = found.activity.as_mut().unwrap();
    for standby in &mut activity.standbys {
        (standby.state, standby.lag_bytes, standby.lag_ms) = (None, None, None);
    }
    activity.slots.clear();
    activity.unreadable = vec![UnreadablePart {
        part: ActivityPart::Slots,
        reason: "permission denied for view pg_replication_slots".to_owned(),
    }];
    found
}

fn observed_move() -> ObservedMove {
    ObservedMove {
        migration: "m1".into(),
        role: "source".to_owned(),
        epoch: 1,
        attempt: 0,
        map: "tenants".into(),
        map_version: 1,
        flipped: None,
        register: Some(CLOSED),
        guards: 1,
        owns: false,
        copied: false,
        about: None,
    }
}

/// Each probe is 10 s after the one before.
fn activity(gib: u64, probe: u64) -> ServerActivity {
    let at_ms = 1_800_000_000_000 + 10_000 * i64::try_from(probe).unwrap();
    ServerActivity {
        at_ms,
        connections: u32::try_from(12 + 3 * gib).unwrap(),
        max_connections: 200,
        written_rows: 3_570 * gib * probe,
        read_rows: Some(81_000 * gib * probe),
        row_count: Some(11_400_000 * gib),
        commits: 900 * gib * probe,
        database: Some("shop".to_owned()),
        standbys: vec![ActiveStandby {
            name: "standby-1".to_owned(),
            state: Some("streaming".to_owned()),
            synchronous: true,
            lag_bytes: Some(81_920),
            lag_ms: Some(140),
        }],
        slots: vec![
            ActiveSlot {
                name: "shardwright_m1_fwd".to_owned(),
                logical: true,
                database: Some("shop".to_owned()),
                active: true,
                retained_bytes: Some(48 << 20),
            },
            ActiveSlot {
                name: "debezium".to_owned(),
                logical: true,
                database: Some("billing".to_owned()),
                active: true,
                retained_bytes: Some(3 << 20),
            },
            ActiveSlot {
                name: "standby_1".to_owned(),
                logical: false,
                database: None,
                active: false,
                retained_bytes: None,
            },
        ],
        table_count: 41,
        tables: vec![
            MeasuredTable {
                name: "public.order_items".to_owned(),
                bytes: gib << 29,
                rows: Some(gib * 9_120_000),
            },
            MeasuredTable {
                name: "public.orders".to_owned(),
                bytes: gib << 28,
                rows: None,
            },
        ],
        unreadable: Vec::new(),
    }
}

impl Dashboard {
    /// Probes every shard twice. `answer` has the inventory of a shard at a probe; `None`: it is unreachable.
    pub(crate) async fn probed(self, answer: impl Fn(&str, u64) -> Option<Inventory>) -> Self {
        for probe in 1..=2 {
            self.probe(|shard| answer(shard, probe)).await;
        }
        let far = chrono::Utc::now() + chrono::TimeDelta::hours(1);
        self.store
            .remove_agent(&AgentName::from("prober"), far)
            .await
            .unwrap();
        self
    }

    async fn probe(&self, answer: impl Fn(&str) -> Option<Inventory>) {
        let shards = self.store.shards().await.unwrap().len();
        self.probe_once(shards, answer).await;
    }
}

impl Served {
    /// Probes every shard once; there are so many.
    pub(crate) async fn probe_once(
        &self,
        shards: usize,
        answer: impl Fn(&str) -> Option<Inventory>,
    ) {
        let answering = async {
            for _ in 0..shards {
                let task = self.claimed().await;
                let Inspection::Inventory(wanted) = &task.inspection else {
                    panic!("{task:?}")
                };
                let found = answer(wanted.shard.name.as_str());
                let found = found.map(|found| Inspected::Inventory(Box::new(found)));
                let report = Report::Inspected {
                    id: task.id.clone(),
                    result: found.ok_or_else(unreachable_server),
                };
                self.send("/api/v1/agents/report", json!(report)).await;
            }
        };
        let (probed, ()) = tokio::join!(self.send("/api/v1/fleet/reconcile", json!({})), answering);
        assert!(probed.is_some());
    }

    /// Claims the next inspection, when there is one.
    pub(crate) async fn claimed(&self) -> InspectionTask {
        let claim = json!(Claim {
            protocol: NEWEST_PROTOCOL,
            oldest: Some(OLDEST_PROTOCOL),
            agent: "prober".into(),
            instance: InstanceId::from("p1"),
            holding: Vec::new(),
            inspecting: None,
            host: None,
            key: Some(WireSecret::from_text("key")),
            outlived: Vec::new(),
        });
        loop {
            let answer = self.send("/api/v1/agents/claim", claim.clone()).await;
            if let Some(answer) = answer {
                match serde_json::from_value(answer).unwrap() {
                    Work::Inspect(task) => return *task,
                    // The prober takes over no migration.
                    Work::Step(_) => {}
                }
            }
        }
    }

    /// Answers an inspection with a failure.
    pub(crate) async fn fail(&self, task: &InspectionTask) {
        let report = Report::Inspected {
            id: task.id.clone(),
            result: Err(unreachable_server()),
        };
        self.send("/api/v1/agents/report", json!(report)).await;
    }

    /// The answer's JSON, if it has any.
    async fn send(&self, path: &str, body: Value) -> Option<Value> {
        let url = format!("{}{path}", self.url);
        let answer = self.http.post(url).json(&body).send().await.unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).ok()
    }
}

fn unreachable_server() -> Failure {
    Failure {
        code: "connect.refused".to_owned(),
        message: "could not connect to db5:5432: connection refused".to_owned(),
        hint: Some("start the server".to_owned()),
        retry: RetryClass::Exponential,
    }
}

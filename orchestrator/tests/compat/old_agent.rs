//! An agent of a release, in its own words: its messages as they were recorded, with the ids of what it is given now.

use super::recorded::{Exchange, Release};
use super::shape::Shape;
use crate::fixture::Server;
use plans::id::MigrationId;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// No migration takes more.
const CLAIMS: usize = 200;

pub(super) struct OldAgent<'a> {
    server: &'a Server,
    words: BTreeMap<String, Exchange>,
    holding: Mutex<Vec<Value>>,
    /// What the surveys that it answers found: fingerprint and state of the target.
    found: Option<(String, Value)>,
}

impl<'a> OldAgent<'a> {
    pub(super) fn new(server: &'a Server, release: &Release) -> Self {
        Self {
            server,
            words: release.exchanges(),
            holding: Mutex::default(),
            found: None,
        }
    }

    pub(super) fn finding(self, fingerprint: String, target: Value) -> Self {
        let found = Some((fingerprint, target));
        Self { found, ..self }
    }

    /// A recorded request.
    fn said(&self, name: &str) -> Exchange {
        let said = self.words.get(name);
        said.unwrap_or_else(|| panic!("{name} was not recorded"))
            .clone()
    }

    /// Asks; every field of the recorded answers of this kind must be in the answer.
    async fn ask(&self, path: &str, body: &Value, kind: impl Fn(&Value) -> String) -> Value {
        let response = self.server.post(path, body).await;
        let status = response.status();
        let text = response.text().await.unwrap();
        assert!(status.is_success(), "{path}: {status} {text}");
        if text.is_empty() {
            return Value::Null;
        }
        let answer = serde_json::from_str(&text).unwrap();
        let prefix = kind(&answer);
        let alike = self
            .words
            .iter()
            .filter(|(name, _)| name.starts_with(&prefix));
        let alike = alike.map(|(_, exchange)| Shape::of(&exchange.answered));
        let shape = alike.reduce(Shape::common);
        let shape = shape.unwrap_or_else(|| panic!("nothing like {prefix} was recorded"));
        let lacks = shape.lacks(&answer);
        assert!(lacks.is_empty(), "{prefix}: {}", lacks.join("; "));
        answer
    }

    /// The process that the store knows under the release's name: it goes on over the upgrade.
    async fn instance(&self) -> Value {
        let name = &self.said("claim.step.preflight").asked["agent"];
        let agents = self.server.json("/api/v1/agents").await;
        let mut agents = agents.as_array().unwrap().iter();
        let known = agents.find(|agent| &agent["name"] == name);
        known.map_or_else(|| json!("old"), |agent| agent["instance"].clone())
    }

    fn hold(&self, work: &Value, step: &Value) {
        let mut holding = self.holding.lock().unwrap();
        holding.retain(|held| held["migration"] != work["migration"]);
        let held = json!({"migration": work["migration"], "epoch": work["epoch"], "step": step});
        holding.push(held);
    }

    /// The next work, if there is some.
    pub(super) async fn claim(&self) -> Option<Value> {
        let Exchange {
            path, mut asked, ..
        } = self.said("claim.step.preflight");
        asked["holding"] = json!(*self.holding.lock().unwrap());
        asked["instance"] = self.instance().await;
        let kind = |answer: &Value| format!("claim.{}.", answer["work"].as_str().unwrap());
        let work = self.ask(&path, &asked, kind).await;
        if work["work"] == "step" {
            self.hold(&work, &work["step"][0]);
        }
        Some(work).filter(|work| !work.is_null())
    }

    /// Does as the release did, and reports it.
    pub(super) async fn perform(&self, work: &Value) {
        if work["work"] == "inspect" {
            return self.look(work).await;
        }
        let Some(kind) = work["step"][1].as_str() else {
            return;
        };
        let id = MigrationId(work["migration"].as_str().unwrap().to_owned());
        self.beat(work).await;
        match kind {
            "cutover" => self.flip(work, "forward").await,
            "rollback" => self.flip(work, "reverse").await,
            "hold" => {
                assert_eq!(self.server.command(&id, "finish").await.status(), 200);
                assert_eq!(self.beat(work).await["directives"][0]["action"], "end_hold");
            }
            _ => {}
        }
        let Exchange {
            path, mut asked, ..
        } = self.said(&format!("report.{kind}.done"));
        asked["migration"] = work["migration"].clone();
        asked["epoch"] = work["epoch"].clone();
        asked["step"] = work["step"][0].clone();
        self.ask(&path, &asked, |_| panic!("a report is not answered"))
            .await;
        self.hold(work, &Value::Null);
    }

    async fn look(&self, work: &Value) {
        let kind = work["inspection"]["inspection"].as_str().unwrap();
        let Exchange {
            path, mut asked, ..
        } = self.said(&format!("report.inspected.{kind}"));
        asked["id"] = work["id"].clone();
        if let (Some((fingerprint, target)), "survey") = (&self.found, kind) {
            asked["result"]["Ok"]["schema_fingerprint"] = json!(fingerprint);
            asked["result"]["Ok"]["target"] = target.clone();
        }
        self.ask(&path, &asked, |_| panic!("a report is not answered"))
            .await;
    }

    async fn beat(&self, work: &Value) -> Value {
        let mut beats = self
            .words
            .iter()
            .filter(|(name, _)| name.starts_with("heartbeat."));
        let one = |held: &Value| held.as_array().is_some_and(|all| all.len() == 1);
        let of_one = beats.find(|(_, said)| one(&said.asked["holding"]));
        let (_, Exchange { path, asked, .. }) = of_one.expect("no sign of life was recorded");
        let mut asked = asked.clone();
        asked["instance"] = self.instance().await;
        let holding = &mut asked["holding"][0];
        holding["migration"] = work["migration"].clone();
        holding["epoch"] = work["epoch"].clone();
        holding["step"] = work["step"][0].clone();
        self.ask(path, &asked, |_| "heartbeat.".to_owned()).await
    }

    async fn flip(&self, work: &Value, direction: &str) {
        let mut attempt = Value::Null;
        for (ask, answer) in [("begin", "begun"), ("seal", "granted"), ("flip", "flipped")] {
            let name = format!("cutover.{ask}.{direction}.{answer}");
            let Exchange {
                path, mut asked, ..
            } = self.said(&name);
            asked["migration"] = work["migration"].clone();
            asked["epoch"] = work["epoch"].clone();
            if !attempt.is_null() {
                asked["ask"]["attempt"] = attempt.clone();
            }
            let answered = self.ask(&path, &asked, |_| name.clone()).await;
            assert_eq!(answered["answer"], answer, "{answered}");
            if ask == "begin" {
                attempt = answered["attempt"].clone();
            }
        }
    }

    /// Works until the migration is in this state.
    pub(super) async fn work_until(&self, id: &MigrationId, state: &str) -> Value {
        for _ in 0..CLAIMS {
            let view = self.server.view(id).await;
            if view["state"] == state {
                return view;
            }
            if let Some(work) = self.claim().await {
                self.perform(&work).await;
            }
        }
        panic!("{id} is not {state}: {}", self.server.view(id).await)
    }
}

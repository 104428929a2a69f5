//! Work is bound to the token, the process and the secret that it was given with; one process at a time has a name.

use super::locked::{Locked, code};
use crate::fixture::{Agent, Server, failure, flip, quick, seal, until};
use orchestrator::access::Role;
use orchestrator::controller::ControllerSettings;
use plans::failure::RetryClass;
use plans::id::MigrationId;
use plans::names::Direction;
use plans::wire::{Action, CutoverQuery, Dispatch, Markers, Report, SECRET_HEADER, WireSecret};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;

/// Two agents with tokens, of which the first works.
struct Two {
    locked: Locked,
    own: Agent,
    /// The token of the one that was given nothing.
    other: String,
}

impl Two {
    /// The dispatch of the cutover, once it is approved.
    async fn approved_cutover(&self) -> Dispatch {
        let locked = &self.locked;
        let cutover = async {
            loop {
                let dispatch = self.own.next().await;
                match dispatch.step.as_ref().map(|(id, _)| id.as_str()) {
                    Some("cutover") => break dispatch,
                    Some(_) => self.own.done(&dispatch).await,
                    None => {}
                }
            }
        };
        let approved = async {
            let path = format!("/api/v1/migrations/{}/approve", locked.migration);
            until("approved", || async {
                let word = json!({"reason": "test"});
                let asked = locked.post(&locked.admin, &path, &word);
                (asked.await.status() == 200).then_some(())
            })
            .await;
        };
        tokio::join!(cutover, approved).0
    }

    async fn start() -> Self {
        let locked = Locked::start().await;
        let own = locked.token("a1", Role::Agent, &json!({})).await;
        let own = locked.server.agent("a1", "a1-1").with_token(&own);
        let other = locked.token("a2", Role::Agent, &json!({})).await;
        Self { locked, own, other }
    }

    /// What everybody who may read migrations knows of one.
    async fn view(&self) -> Value {
        let path = format!("/api/v1/migrations/{}", self.locked.migration);
        let asked = self.locked.ask(&self.other, Method::GET, &path);
        asked.send().await.unwrap().json().await.unwrap()
    }

    /// Sends every call of an agent that changes something, about what `dispatch` gave to the first one.
    async fn forge(
        &self,
        dispatch: &Dispatch,
        secret: Option<&WireSecret>,
    ) -> Vec<(String, u16, String)> {
        let id = dispatch.migration.as_str();
        let mut answers = Vec::new();
        for (path, mut body) in calls(dispatch) {
            if let Some(secret) = secret
                && body.is_object()
            {
                body["secret"] = json!(secret);
            }
            let path = path.replace("{id}", id);
            let mut asked = self
                .locked
                .ask(&self.other, Method::POST, &path)
                .json(&body);
            if let Some(secret) = secret {
                asked = asked.header(SECRET_HEADER, secret.reveal());
            }
            let (status, code) = code(asked.send().await.unwrap()).await;
            answers.push((format!("{path} {}", body["ask"]["ask"]), status, code));
        }
        answers
    }
}

/// Path and body of each call that ends, begins or changes something of a migration.
fn calls(dispatch: &Dispatch) -> Vec<(&'static str, Value)> {
    let (id, epoch) = (&dispatch.migration, dispatch.epoch);
    let step = dispatch.step.as_ref().map(|(id, _)| id);
    let progress = json!({"message": "", "tables": [], "rows_per_second": 0.0, "bytes_per_second": 0.0, "eta_seconds": null});
    let report = |outcome: Value| json!({"report": "step", "migration": id, "step": step, "epoch": epoch, "outcome": outcome, "progress": progress});
    let ask = |ask: Value| json!({"migration": id, "epoch": epoch, "ask": ask});
    let records = json!([{"shard": "a", "kind": "slot", "name": "s", "policy": "always"}]);
    let report_path = "/api/v1/agents/report";
    let cutover = "/api/v1/agents/cutover";
    vec![
        (
            report_path,
            report(json!({"outcome": "done", "output": {}})),
        ),
        (
            report_path,
            report(json!({"outcome": "failed", "failure": failure(RetryClass::None)})),
        ),
        (report_path, report(json!({"outcome": "interrupted"}))),
        (
            cutover,
            ask(json!({"ask": "begin", "direction": "forward"})),
        ),
        (cutover, ask(json!({"ask": "cancel", "writers": []}))),
        (
            cutover,
            ask(
                json!({"ask": "release", "direction": "forward", "attempt": 1, "reason": "forged"}),
            ),
        ),
        ("/api/v1/migrations/{id}/cleanup-records", records.clone()),
        ("/api/v1/migrations/{id}/cleanup-records/done", records),
    ]
}

fn refused(answers: &[(String, u16, String)]) {
    for (call, status, code) in answers {
        assert_eq!((*status, code.as_str()), (403, "agent.not_owner"), "{call}");
    }
}

#[tokio::test]
async fn another_agents_token_ends_no_step_whatever_it_shows() {
    let two = Two::start().await;
    let copy = two.own.run_to("copy").await;
    let before = two.view().await;
    assert_eq!(
        before["epoch"],
        json!(copy.epoch),
        "an agent reads what it forges"
    );
    refused(&two.forge(&copy, None).await);
    refused(
        &two.forge(&copy, Some(&WireSecret::from_bits([7; 32])))
            .await,
    );
    // Also where the secret itself has leaked.
    refused(&two.forge(&copy, copy.secret.as_ref()).await);
    assert_eq!(two.view().await["steps"], before["steps"]);
    two.own.done(&copy).await;
    let verify = two.own.run_to("verify").await;
    let empty = plans::wire::Outcome::Done { output: json!({}) };
    assert_eq!(two.own.report(&verify, empty).await, StatusCode::CONFLICT);
    two.own.done(&verify).await;
    two.own.take("open_reverse").await;
}

#[tokio::test]
async fn another_agents_token_neither_seals_nor_flips_nor_takes_a_seal_away() {
    let two = Two::start().await;
    let cutover = two.approved_cutover().await;
    let attempt = two.own.begin(&cutover, Direction::Forward).await;
    let forge = |ask: CutoverQuery, secret: Option<WireSecret>| {
        let body = json!({"migration": cutover.migration, "epoch": cutover.epoch, "ask": ask, "secret": secret});
        let two = &two;
        async move {
            let sent = two.locked.post(&two.other, "/api/v1/agents/cutover", &body);
            code(sent.await).await
        }
    };
    let direction = Direction::Forward;
    let release = || CutoverQuery::Release {
        direction,
        attempt,
        reason: "forged".to_owned(),
    };
    let not_owner = (403, "agent.not_owner".to_owned());
    for secret in [None, cutover.secret.clone()] {
        assert_eq!(forge(seal(attempt), secret).await, not_owner);
    }
    let granted = two.own.try_cutover(&cutover, seal(attempt)).await;
    assert_eq!(granted.status(), 200);
    for secret in [None, cutover.secret.clone()] {
        for ask in [seal(attempt), flip(attempt), release()] {
            assert_eq!(
                forge(ask.clone(), secret.clone()).await,
                not_owner,
                "{ask:?}"
            );
        }
    }
    // The process itself must show the markers of this attempt.
    let foreign = Markers {
        fenced: uuid::Uuid::from_u128(1),
        sealed: uuid::Uuid::from_u128(2),
    };
    let unproved = CutoverQuery::Flip {
        direction,
        attempt,
        applied: Some(foreign),
    };
    let unproved = two.own.try_cutover(&cutover, unproved).await;
    assert_eq!(code(unproved).await, (409, "cutover.evidence".to_owned()));
    // The seal is still there for whoever holds it.
    let flipped: Value = two
        .own
        .try_cutover(&cutover, flip(attempt))
        .await
        .json()
        .await
        .unwrap();
    assert_eq!(flipped["answer"], "flipped", "{flipped}");
    let lookup = forge(flip(attempt), None).await;
    assert_eq!(lookup, not_owner, "not even what came of it is told");
}

#[tokio::test]
async fn what_another_agent_says_in_a_heartbeat_is_not_believed() {
    let two = Two::start().await;
    let copy = two.own.run_to("copy").await;
    let progress = json!({"message": "forged", "tables": [], "rows_per_second": 0.0, "bytes_per_second": 0.0, "eta_seconds": null});
    let beat = |agent: &str, instance: &str| {
        json!({"agent": agent, "instance": instance, "holding": [{"migration": copy.migration, "epoch": copy.epoch,
            "step": "copy", "progress": progress, "stream": null}]})
    };
    let path = "/api/v1/agents/heartbeat";
    let as_other = two.locked.post(&two.other, path, &beat("a1", "a1-1")).await;
    assert_eq!(code(as_other).await, (403, "agent.name".to_owned()));
    let own = two.locked.post(&two.other, path, &beat("a2", "a1-1")).await;
    let told: Value = own.json().await.unwrap();
    assert_eq!(told["directives"][0]["action"], "release", "{told}");
    // An admin may call itself what it likes; it has neither the key of the process nor the secret.
    let admin = two
        .locked
        .post(&two.locked.admin, path, &beat("a1", "a1-1"))
        .await;
    assert_eq!(code(admin).await, (409, "agent.name_in_use".to_owned()));
    assert!(!two.view().await.to_string().contains("forged"));
    assert_eq!(two.own.beat(&copy).await, Action::Continue);
}

#[tokio::test]
async fn claims_and_refusals_of_agents_are_written_down_with_the_token() {
    let two = Two::start().await;
    let copy = two.own.run_to("copy").await;
    two.forge(&copy, None).await;
    let audit = two.locked.audit().await;
    let of = |action: &str| {
        let lines = audit.iter().filter(|line| line["action"] == action);
        lines.cloned().collect::<Vec<Value>>()
    };
    let claimed = of("agent.claimed");
    let claimed = claimed
        .iter()
        .find(|line| line["data"]["step"] == "copy")
        .unwrap();
    assert_eq!(claimed["actor"], "a1");
    assert_eq!(claimed["object"], format!("migration {}", copy.migration));
    assert_eq!(claimed["data"]["host"], "host of a1-1");
    let refused = of("agent.refused");
    for path in calls(&copy)
        .into_iter()
        .map(|(path, _)| path.replace("{id}", copy.migration.as_str()))
    {
        let object = format!("POST {path}");
        let line = refused
            .iter()
            .find(|line| line["object"] == object.as_str());
        let line = line.unwrap_or_else(|| panic!("{object} is not in {refused:?}"));
        assert_eq!(
            (&line["actor"], &line["data"]["code"]),
            (&json!("a2"), &json!("agent.not_owner"))
        );
    }
    let path = format!("/api/v1/migrations/{}/events?limit=1000", copy.migration);
    let events = two.locked.ask(&two.locked.admin, Method::GET, &path);
    let events: Vec<Value> = events.send().await.unwrap().json().await.unwrap();
    let mut steps = events.iter().filter(|event| {
        let kind = event["kind"].as_str().unwrap();
        ["step.dispatched", "step.completed"].contains(&kind)
    });
    assert!(steps.clone().count() > 2);
    assert!(
        steps.all(|event| event["data"]["token"] == "a1" && event["actor"] == "a1"),
        "{events:?}"
    );
}

#[tokio::test]
async fn without_tokens_the_secret_alone_opens_the_work() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    let copy = agent.run_to("copy").await;
    for secret in [None, Some(WireSecret::from_bits([9; 32]))] {
        for (path, mut body) in calls(&copy) {
            let path = path.replace("{id}", id.as_str());
            let mut asked = server.http.post(format!("{}{path}", server.url));
            if let Some(secret) = &secret {
                asked = asked.header(SECRET_HEADER, secret.reveal());
                if body.is_object() {
                    body["secret"] = json!(secret);
                }
            }
            let (status, code) = code(asked.json(&body).send().await.unwrap()).await;
            assert_eq!(
                (status, code.as_str()),
                (403, "agent.not_owner"),
                "{path} {body}"
            );
        }
    }
    // Who only knows what can be read is not taken for the process, and interrupts nothing.
    let claim = json!({"protocol": plans::wire::NEWEST_PROTOCOL, "agent": "x", "instance": "x1", "holding": []});
    let forged = server.post("/api/v1/agents/claim", &claim).await;
    assert_eq!(code(forged).await, (409, "agent.name_in_use".to_owned()));
    let events = server
        .json(&format!("/api/v1/migrations/{id}/events?limit=1000"))
        .await;
    assert!(
        events.to_string().contains("\"token\":\"no token\""),
        "{events}"
    );
    agent.done(&copy).await;
}

#[tokio::test]
async fn nothing_that_can_be_read_shows_a_secret() {
    let two = Two::start().await;
    let copy = two.own.run_to("copy").await;
    two.own.beat(&copy).await;
    two.forge(&copy, None).await;
    let secret = copy.secret.as_ref().unwrap().reveal();
    let key = "key of a1-1";
    let id = copy.migration.as_str();
    let document = orchestrator::api::document()["paths"].as_object().unwrap();
    let reading = document
        .iter()
        .filter(|(_, item)| item.get("get").is_some());
    let paths = reading.map(|(path, _)| path.clone());
    let pages = [
        "/",
        "/agents",
        "/audit",
        "/migrations/{id}",
        "/migrations/{id}/events",
        "/migrations/{id}/steps/copy",
    ];
    let mut read = 0;
    for path in paths.chain(pages.map(str::to_owned)) {
        let path = path.replace("{id}", id).replace("{command}", "pause");
        let path = path.replace(
            "{name}",
            if path.contains("/maps/") {
                "tenants"
            } else {
                "a"
            },
        );
        let asked = two.locked.ask(&two.locked.admin, Method::GET, &path);
        let answer = asked.send().await.unwrap();
        let feed = answer.headers().get("content-type");
        if feed.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
            continue;
        }
        let text = answer.text().await.unwrap();
        assert!(!text.contains(secret) && !text.contains(key), "{path}");
        read += 1;
    }
    assert!(read > 20, "{read}");
    let pool = two.locked.server.database.pool().await;
    let kept = "select to_jsonb(m)::text || to_jsonb(a)::text from shardwright.migration m, shardwright.agent a";
    let kept: Vec<(String,)> = sqlx::query_as(kept).fetch_all(&pool).await.unwrap();
    assert!(
        kept.iter()
            .all(|(row,)| !row.contains(secret) && !row.contains(key))
    );
}

#[tokio::test]
async fn a_new_owner_has_another_secret_and_the_old_ones_is_worth_nothing() {
    let server = Server::start().await;
    let old = server.agent("x", "x1");
    server.apply(&old, "").await;
    let lost = old.run_to("copy").await;
    let new = server.agent("x", "x2").after(&old);
    let taken = new.take("copy").await;
    assert!(taken.secret.is_some() && taken.secret != lost.secret);
    let mixed = Dispatch {
        secret: lost.secret.clone(),
        ..taken.clone()
    };
    let done = || plans::wire::Outcome::Done { output: json!({}) };
    assert_eq!(old.report(&lost, done()).await, StatusCode::CONFLICT);
    assert_eq!(old.report(&mixed, done()).await, StatusCode::FORBIDDEN);
    assert_eq!(old.beat(&lost).await, Action::Release);
    new.done(&taken).await;
    // It stays the owner, and with it its secret.
    let next = new.take("catch_up").await;
    assert_eq!((next.epoch, &next.secret), (taken.epoch, &taken.secret));
}

#[tokio::test]
async fn an_agent_of_the_version_before_is_bound_to_its_token() {
    let two = Two::start().await;
    let old = two.locked.token("a3", Role::Agent, &json!({})).await;
    let claim = json!({"protocol": 3, "agent": "a3", "instance": "a3-1", "holding": []});
    let work = two.locked.post(&old, "/api/v1/agents/claim", &claim).await;
    let work: Value = work.json().await.unwrap();
    assert!(work.get("secret").is_none(), "{work}");
    let dispatch: Dispatch = serde_json::from_value(work).unwrap();
    refused(&two.forge(&dispatch, None).await);
    let (path, done) = calls(&dispatch).remove(0);
    assert_eq!(two.locked.post(&old, path, &done).await.status(), 200);
}

#[tokio::test]
async fn an_inspection_is_answered_by_who_was_asked() {
    let two = Two::start().await;
    let examined = two
        .locked
        .ask(&two.locked.admin, Method::POST, "/api/v1/doctor");
    let examined = examined.body("{}").send();
    let told = async {
        loop {
            let task = two.own.asked().await;
            assert_eq!(task.id.len(), 64, "256 bits");
            let result = Err(failure(RetryClass::None));
            let id = task.id.clone();
            let report = serde_json::to_value(Report::Inspected { id, result }).unwrap();
            let path = "/api/v1/agents/report";
            let refused = two.locked.post(&two.other, path, &report).await;
            assert_eq!(code(refused).await, (403, "agent.not_asked".to_owned()));
            two.own.answer(&task, Err(failure(RetryClass::None))).await;
        }
    };
    tokio::select! {
        examined = examined => assert_eq!(examined.unwrap().status(), 200),
        () = told => unreachable!("looks for ever"),
    }
}

/// Two processes of one name took the step from each other for ever.
#[tokio::test]
async fn a_second_process_of_a_name_is_told_where_the_first_one_runs() {
    let server = Server::start().await;
    let first = server.agent("x", "x1");
    let id: MigrationId = server.apply(&first, "").await;
    let copy = first.run_to("copy").await;
    let second = server.agent("x", "x2");
    let refused = second.try_claims().await;
    assert_eq!(refused.status(), 409);
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(problem["code"], "agent.name_in_use");
    assert_eq!(
        problem["detail"],
        "the name x is in use by a process on host host of x1; the refused process is on host host of x2"
    );
    let hint = problem["hint"].as_str().unwrap();
    for words in [
        "another --name",
        "stop the other agent",
        "sent nothing for 32 s",
    ] {
        assert!(hint.contains(words), "{hint}");
    }
    assert_eq!(first.beat(&copy).await, Action::Continue);
    first.done(&copy).await;
    let view = server.view(&id).await;
    assert_eq!(view["epoch"], json!(copy.epoch), "{view}");
    let agents = server.json("/api/v1/agents").await;
    assert_eq!(agents[0]["host"], "host of x1", "{agents}");
}

#[tokio::test]
async fn a_name_is_free_once_its_process_was_silent_and_then_belongs_to_the_new_one() {
    let server = Server::with(ControllerSettings {
        lease: Duration::from_millis(100),
        ..quick()
    })
    .await;
    let first = server.agent("x", "x1");
    server.apply(&first, "").await;
    let lost = first.take("preflight").await;
    let second = server.agent("x", "x2");
    let taken = until("given the name", || async {
        let answer = second.try_claims().await;
        (answer.status() == 200).then_some(answer)
    });
    let taken: Value = taken.await.json().await.unwrap();
    assert_eq!(taken["step"][0], "preflight", "{taken}");
    // The first one lives after all, and is refused for as long as the second one does.
    let refused = first.try_claims().await;
    assert_eq!(code(refused).await, (409, "agent.name_in_use".to_owned()));
    assert_eq!(first.beat(&lost).await, Action::Release);
    assert_eq!(second.try_claims().await.status(), 200);
}

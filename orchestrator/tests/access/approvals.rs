//! A cutover that more than one person has to approve.

use super::code;
use crate::fixture::{Agent, Server, program, quick, request, until};
use orchestrator::access::{AccessRule, Role, Secret};
use orchestrator::controller::ControllerSettings;
use plans::id::MigrationId;
use plans::names::Direction;
use reqwest::{Method, Response};
use serde_json::{Value, json};

/// A server that asks for tokens: pia has submitted a migration, ada and ben may approve it too.
struct Stage {
    server: Server,
    admin: String,
    agent: Agent,
    pia: String,
    ada: String,
    ben: String,
}

impl Stage {
    async fn of(settings: ControllerSettings) -> Self {
        let mut server = Server::with(settings).await;
        let admin = Secret::random();
        let rule = AccessRule::Tokens;
        server.behind(rule, Some(admin.digest()), false).await;
        until("leading", || async {
            let health = server.json("/api/v1/health").await;
            (health["role"] == "leader").then_some(())
        })
        .await;
        let agent = server.agent("x", "x1");
        let mut stage = Self {
            server,
            admin: admin.reveal().to_owned(),
            agent,
            pia: String::new(),
            ada: String::new(),
            ben: String::new(),
        };
        let agent = stage.token("x", Role::Agent).await;
        stage.agent = stage.server.agent("x", "x1").with_token(&agent);
        stage.pia = stage.token("pia", Role::Approver).await;
        stage.ada = stage.token("ada", Role::Approver).await;
        stage.ben = stage.token("ben", Role::Approver).await;
        stage
    }

    async fn token(&self, name: &str, role: Role) -> String {
        self.token_by(&self.admin, name, role).await
    }

    async fn token_by(&self, maker: &str, name: &str, role: Role) -> String {
        let new = json!({"name": name, "role": role});
        let made = self.post(maker, "/api/v1/tokens", &new).await;
        let made: Value = made.json().await.unwrap();
        made["token"].as_str().unwrap().to_owned()
    }

    async fn post(&self, token: &str, path: &str, body: &Value) -> Response {
        self.send(token, path, body.to_string()).await
    }

    async fn send(&self, token: &str, path: &str, body: String) -> Response {
        let url = format!("{}{path}", self.server.url);
        let asked = self.server.http.request(Method::POST, url);
        asked.bearer_auth(token).body(body).send().await.unwrap()
    }

    /// What a plan of pia's with these options comes to.
    async fn planned(&self, options: &str) -> Result<Value, (u16, String)> {
        let sent = self.send(&self.pia, "/api/v1/plans", request(options));
        let answered = tokio::select! {
            answered = sent => answered,
            () = self.look() => unreachable!("looks for ever"),
        };
        match answered.status().as_u16() {
            200 => Ok(answered.json().await.unwrap()),
            _ => Err(code(answered).await),
        }
    }

    async fn look(&self) {
        loop {
            self.agent.survey("f1").await;
        }
    }

    async fn submitted(&self, plan: &Value) -> Result<MigrationId, (u16, String)> {
        let sent = self.post(&self.pia, "/api/v1/migrations", plan);
        let answered = tokio::select! {
            answered = sent => answered,
            () = self.look() => unreachable!("looks for ever"),
        };
        if answered.status() != 201 {
            return Err(code(answered).await);
        }
        let view: Value = answered.json().await.unwrap();
        Ok(MigrationId(view["id"].as_str().unwrap().to_owned()))
    }

    async fn order(&self, token: &str, id: &MigrationId, command: &str) -> (u16, Value) {
        let path = format!("/api/v1/migrations/{id}/{command}");
        let answer = self.post(token, &path, &json!({"reason": "seen"})).await;
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    async fn get(&self, path: &str) -> Value {
        let url = format!("{}{path}", self.server.url);
        let asked = self.server.http.get(url).bearer_auth(&self.admin);
        asked.send().await.unwrap().json().await.unwrap()
    }

    async fn in_state(&self, id: &MigrationId, state: &str) -> Value {
        until(state, || async {
            let view = self.get(&format!("/api/v1/migrations/{id}")).await;
            (view["state"] == state).then_some(view)
        })
        .await
    }

    /// What the journal says of approvals: line and actor.
    async fn approvals(&self, id: &MigrationId) -> Vec<(String, String)> {
        let events = self.get(&format!("/api/v1/migrations/{id}/events")).await;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let events = events.as_array().unwrap().iter();
        let all = events.map(|event| (text(&event["kind"]), text(&event["actor"])));
        all.filter(|(kind, _)| kind.starts_with("approval.") || kind == "migration.approved")
            .collect()
    }

    /// A migration that waits for its approvals.
    async fn ready(&self, options: &str) -> MigrationId {
        let plan = self.planned(options).await.unwrap();
        let id = self.submitted(&plan).await.unwrap();
        let last = self.agent.run_to("open_reverse").await;
        self.agent.done(&last).await;
        self.in_state(&id, "waiting").await;
        id
    }
}

fn waits(view: &Value) -> &str {
    view["waits"][0]["what"].as_str().unwrap()
}

#[tokio::test]
async fn two_people_who_did_not_submit_it_approve_a_cutover() {
    let stage = Stage::of(quick()).await;
    let id = stage.ready("approvals: 2").await;
    let view = stage.in_state(&id, "waiting").await;
    assert_eq!(waits(&view), "2 approvals of the cutover");

    let (status, own) = stage.order(&stage.pia, &id, "approve").await;
    assert_eq!((status, own["code"].as_str()), (403, Some("approval.own")));
    let (status, view) = stage.order(&stage.ada, &id, "approve").await;
    assert_eq!((status, &view["state"]), (200, &json!("waiting")));
    assert_eq!(view["approved"], false);
    assert_eq!(view["approvals"][0]["by"], "ada");
    assert_eq!(view["approvals"][0]["reason"], "seen");
    let more = waits(&view);
    assert!(
        more.starts_with("one more approval of the cutover; given by ada at 20"),
        "{more}"
    );
    let (status, twice) = stage.order(&stage.ada, &id, "approve").await;
    assert_eq!(
        (status, twice["code"].as_str()),
        (409, Some("approval.given"))
    );
    let given = stage.agent.claim().await;
    assert!(given.is_none(), "nothing begins: {given:?}");

    let (status, view) = stage.order(&stage.ben, &id, "approve").await;
    assert_eq!((status, &view["approved"]), (200, &json!(true)));
    let cutover = stage.agent.take("cutover").await;
    stage.agent.flip(&cutover, Direction::Forward).await;
    let told = stage.approvals(&id).await;
    let told: Vec<(&str, &str)> = told.iter().map(|(k, a)| (&**k, &**a)).collect();
    assert_eq!(
        told,
        [
            ("approval.given", "ada"),
            ("approval.given", "ben"),
            ("migration.approved", "ben")
        ]
    );
    let audit = stage.get("/api/v1/audit").await;
    let orders = audit.as_array().unwrap().iter();
    let path = format!("POST /api/v1/migrations/{id}/approve");
    let mut orders: Vec<(&str, u64)> = orders
        .filter(|line| line["object"] == path.as_str())
        .map(|line| {
            (
                line["actor"].as_str().unwrap(),
                line["data"]["outcome"].as_u64().unwrap(),
            )
        })
        .collect();
    orders.reverse();
    assert_eq!(
        orders,
        [("pia", 403), ("ada", 200), ("ada", 409), ("ben", 200)]
    );
}

#[tokio::test]
async fn one_admin_is_one_person_whatever_tokens_they_make() {
    let stage = Stage::of(quick()).await;
    let cleo = stage.token("cleo", Role::Admin).await;
    let second = stage.token_by(&cleo, "x1", Role::Admin).await;
    let third = stage.token_by(&second, "x2", Role::Approver).await;
    let of_pia = stage.token_by(&cleo, "dora", Role::Approver).await;
    let other_case = json!({"name": "Cleo", "role": "approver"});
    let taken = stage.post(&cleo, "/api/v1/tokens", &other_case).await;
    assert_eq!(code(taken).await, (409, "token.exists".to_owned()));

    let id = stage.ready("approvals: 2").await;
    let refused = |answer: (u16, Value)| (answer.0, answer.1["code"].as_str().map(str::to_owned));
    let late = stage.token_by(&cleo, "late", Role::Approver).await;
    let young = stage.order(&late, &id, "approve").await;
    assert_eq!(refused(young), (403, Some("approval.young".to_owned())));
    assert_eq!(stage.order(&third, &id, "approve").await.0, 200);
    for maker in [&second, &cleo, &stage.admin] {
        let related = stage.order(maker, &id, "approve").await;
        assert_eq!(refused(related), (403, Some("approval.related".to_owned())));
    }
    // Made by the same admin, who takes no part.
    let (status, view) = stage.order(&of_pia, &id, "approve").await;
    assert_eq!((status, &view["approved"]), (200, &json!(true)));
}

#[tokio::test]
async fn a_word_that_is_not_enough_yet_does_not_outlast_a_pause() {
    let stage = Stage::of(quick()).await;
    let id = stage.ready("approvals: 2").await;
    assert_eq!(stage.order(&stage.ada, &id, "approve").await.0, 200);
    assert_eq!(stage.order(&stage.pia, &id, "pause").await.0, 200);
    assert_eq!(stage.order(&stage.pia, &id, "resume").await.0, 200);
    let view = stage.in_state(&id, "waiting").await;
    assert_eq!(waits(&view), "2 approvals of the cutover");
    assert_eq!(view["approvals"], json!([]));
    let (_, view) = stage.order(&stage.ben, &id, "approve").await;
    assert_eq!(view["approved"], false);
    let (_, view) = stage.order(&stage.ada, &id, "approve").await;
    assert_eq!(view["approved"], true);
    // What is complete stays: a pause alone does not ask again.
    assert_eq!(stage.order(&stage.pia, &id, "pause").await.0, 200);
    assert_eq!(stage.order(&stage.pia, &id, "resume").await.0, 200);
    let cutover = stage.agent.run_to("cutover").await;
    assert_eq!(cutover.migration, id);
    let told = stage.approvals(&id).await;
    assert_eq!(told[1], ("approval.dropped".to_owned(), "pia".to_owned()));
}

#[tokio::test]
async fn after_a_roll_back_another_cutover_is_approved_by_as_many_anew() {
    let stage = Stage::of(quick()).await;
    let id = stage.ready("approvals: 2").await;
    for token in [&stage.ada, &stage.ben] {
        assert_eq!(stage.order(token, &id, "approve").await.0, 200);
    }
    let cutover = stage.agent.take("cutover").await;
    stage.agent.flip(&cutover, Direction::Forward).await;
    stage.agent.done(&cutover).await;
    let hold = stage.agent.take("hold").await;
    // The way back takes one person, its author too.
    assert_eq!(stage.order(&stage.pia, &id, "rollback").await.0, 200);
    stage.agent.done(&hold).await;
    let back = stage.agent.take("rollback").await;
    stage.agent.flip(&back, Direction::Reverse).await;
    stage.agent.done(&back).await;
    let held = stage.agent.take("hold_back").await;
    let (status, own) = stage.order(&stage.pia, &id, "approve").await;
    assert_eq!((status, own["code"].as_str()), (403, Some("approval.own")));
    let (status, view) = stage.order(&stage.ada, &id, "approve").await;
    assert_eq!((status, &view["hold_end"]), (200, &Value::Null));
    let what = waits(&view);
    let more = "and another cutover waits for one more approval of the cutover; given by ada";
    assert!(what.contains(more), "{what}");
    let (status, view) = stage.order(&stage.ben, &id, "approve").await;
    assert_eq!((status, &view["hold_end"]), (200, &json!("again")));
    stage.agent.done(&held).await;
    stage.agent.run_to("verify").await;
}

#[tokio::test]
async fn a_controller_asks_for_two_whatever_a_plan_says() {
    let stage = Stage::of(ControllerSettings {
        approvals: 2,
        ..quick()
    })
    .await;
    let mut plan = stage.planned("").await.unwrap();
    assert_eq!(plan["options"]["approvals"], 2);
    let refused = stage.planned("cutover: automatic").await.unwrap_err();
    assert_eq!(refused, (422, "approval.too_few".to_owned()));
    let three = stage.planned("approvals: 3").await.unwrap();
    assert_eq!(three["options"]["approvals"], 3);
    plan["options"].as_object_mut().unwrap().remove("approvals");
    let edited: plans::plan::Plan = serde_json::from_value(plan).unwrap();
    let edited = serde_json::to_value(edited.with_hash()).unwrap();
    let refused = stage.submitted(&edited).await.unwrap_err();
    assert_eq!(refused, (422, "approval.too_few".to_owned()));
}

#[tokio::test]
async fn where_nobody_is_known_no_two_people_are_asked_for() {
    let server = Server::start().await;
    let agent = server.agent("x", "x1");
    let url = format!("{}/api/v1/plans", server.url);
    let sent = server.http.post(url).body(request("approvals: 2")).send();
    let (refused, ()) = tokio::join!(sent, agent.survey("f1"));
    assert_eq!(
        code(refused.unwrap()).await,
        (422, "approval.unknown".to_owned())
    );
    let run = program("")
        .args(["serve", "--open", "--approvals", "2"])
        .output();
    let run = run.await.unwrap();
    assert_eq!(run.status.code(), Some(64));
    let said = String::from_utf8(run.stderr).unwrap();
    assert!(said.contains("--approvals needs tokens"), "{said}");
}

//! Hooks that are asked: they hold a phase up, and nothing else.

use super::stage::{Ear, Folder, Say, YES, server};
use crate::fixture::{Agent, Server, failure, step_name, until};
use plans::failure::RetryClass;
use plans::id::MigrationId;
use plans::names::Direction;
use plans::wire::{CutoverAnswer, CutoverQuery, Outcome};
use serde_json::{Value, json};

const FREEZE: Say = Say::Status(409, "{\"reason\": \"change freeze\\nuntil Monday\"}");

fn hook(url: &str, more: &str) -> String {
    format!("hooks:\n- {{name: freeze, on: [before_cutover], url: '{url}'{more}}}\n")
}

/// The view, once a hook has said something that holds the migration up.
async fn held(server: &Server, id: &MigrationId) -> Value {
    until("held", || async {
        let view = server.view(id).await;
        let said = view["hook"]["said"].is_object();
        said.then_some(view)
    })
    .await
}

/// The first thing that it waits for.
fn wait<'v>(view: &'v Value, name: &str) -> &'v str {
    view["waits"][0][name].as_str().unwrap_or_default()
}

/// Up to the cutover, which is not begun.
async fn ready(agent: &Agent) {
    let last = agent.run_to("open_reverse").await;
    agent.done(&last).await;
}

/// The lines of the journal about hooks, without `hook.`.
async fn journal(server: &Server, id: &MigrationId) -> Vec<String> {
    let events = server
        .json(&format!("/api/v1/migrations/{id}/events"))
        .await;
    let kinds = events.as_array().unwrap().iter();
    let kinds = kinds.filter_map(|event| event["kind"].as_str().unwrap().strip_prefix("hook."));
    kinds.map(str::to_owned).collect()
}

async fn nothing_begins(server: &Server, agent: &Agent, id: &MigrationId) {
    // It may be asked to go on owning the migration, and to do no step.
    for _ in 0..2 {
        match agent.claim().await {
            None => break,
            Some(plans::wire::Work::Step(given)) => assert_eq!(step_name(&given), ""),
            Some(other) => panic!("{other:?}"),
        }
    }
    let view = server.view(id).await;
    assert_eq!(view["ownership"], "ready");
    assert_eq!(view["attempt"], 0);
}

#[tokio::test]
async fn a_veto_leaves_a_migration_before_the_fence_until_the_hook_allows_it() {
    let ear = Ear::new(FREEZE).await;
    let server = server(&hook(&ear.url, ", again_s: 86400")).await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    ready(&agent).await;
    let view = held(&server, &id).await;
    assert_eq!(wait(&view, "kind"), "hook");
    assert_eq!(
        wait(&view, "what"),
        "hook freeze, which is called before the cutover and refuses: change freeze until Monday"
    );
    assert_eq!(wait(&view, "held_by"), "hook freeze");
    let remedy = format!("shardwright overrule {id} --reason TEXT");
    assert_eq!(wait(&view, "remedy"), remedy);
    nothing_begins(&server, &agent, &id).await;
    let pool = server.database.pool().await;
    let (kind,): (String,) =
        sqlx::query_as("select waits_kind from shardwright.migration_status where id = $1")
            .bind(id.as_str())
            .fetch_one(&pool)
            .await
            .unwrap();
    assert_eq!(kind, "hook");
    let asked = &ear.heard()[0];
    let message = asked.json();
    assert_eq!(message["phase"], "before_cutover");
    assert_eq!(message["migration"]["id"], id.as_str());
    assert_eq!(message["migration"]["step"], "cutover");
    assert_eq!(asked.header("webhook-id"), message["id"].as_str().unwrap());

    ear.say(YES);
    assert_eq!(server.command(&id, "retry").await.status(), 200);
    let cutover = agent.run_to("cutover").await;
    agent.flip(&cutover, Direction::Forward).await;
    let told = journal(&server, &id).await;
    assert_eq!(told, ["asked", "vetoed", "asked", "allowed"]);
}

#[tokio::test]
async fn a_hook_that_does_not_answer_is_overruled_by_a_person_with_a_reason() {
    let ear = Ear::new(Say::Nothing).await;
    let server = server(&hook(
        &ear.url,
        ", timeout_s: 1, attempts: 2, again_s: 86400",
    ))
    .await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    ready(&agent).await;
    // Whoever claims at once gets nothing either: it is asked before anybody knows that the cutover is next.
    nothing_begins(&server, &agent, &id).await;
    let view = held(&server, &id).await;
    assert_eq!(ear.heard().len(), 2, "as often as it has attempts");
    assert_eq!(
        wait(&view, "what"),
        "an answer of hook freeze before the cutover: no answer within 1 s"
    );
    nothing_begins(&server, &agent, &id).await;
    let path = format!("/api/v1/migrations/{id}/overrule");
    for silent in [json!({}), json!({"reason": " "})] {
        let refused = server.post(&path, &silent).await;
        assert_eq!(refused.status(), 422);
        let problem: Value = refused.json().await.unwrap();
        assert_eq!(problem["code"], "order.reason");
    }
    let possible = server.get(&path).await;
    assert_eq!(possible.status(), 200, "to be tried it needs no reason");
    let reason = json!({"reason": "the service is down"});
    assert_eq!(server.post(&path, &reason).await.status(), 200);
    let cutover = agent.run_to("cutover").await;
    // The word counts for all attempts of this cutover.
    let cause = failure(RetryClass::Fixed);
    agent
        .report(&cutover, Outcome::Failed { failure: cause })
        .await;
    let cutover = agent.run_to("cutover").await;
    agent.flip(&cutover, Direction::Forward).await;
    let events = server
        .json(&format!("/api/v1/migrations/{id}/events"))
        .await;
    let mut events = events.as_array().unwrap().iter();
    let line = events.find(|event| event["kind"] == "hook.overruled");
    let line = line.unwrap();
    assert_eq!(line["data"]["reason"], "the service is down");
    assert_eq!(line["data"]["said"]["hook"], "freeze");
    let refused = server.post(&path, &reason).await;
    assert_eq!(refused.status(), 409, "nobody holds it up any more");
}

#[tokio::test]
async fn a_pause_takes_an_overruling_back() {
    let ear = Ear::new(Say::Status(
        200,
        "{\"allow\": false, \"reason\": \"not yet\"}",
    ))
    .await;
    let server = server(&hook(&ear.url, ", again_s: 86400")).await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    ready(&agent).await;
    let view = held(&server, &id).await;
    assert!(wait(&view, "what").ends_with("refuses: not yet"), "{view}");
    assert_eq!(server.command(&id, "overrule").await.status(), 200);
    assert_eq!(server.command(&id, "pause").await.status(), 200);
    assert_eq!(server.view(&id).await["hook"], Value::Null);
    assert_eq!(server.command(&id, "resume").await.status(), 200);
    let view = held(&server, &id).await;
    assert_eq!(view["hook"]["overruled_by"], Value::Null);
    nothing_begins(&server, &agent, &id).await;
}

#[tokio::test]
async fn each_attempt_is_asked_about_and_none_that_has_begun() {
    let ear = Ear::new(YES).await;
    let server = server(&hook(&ear.url, ", again_s: 86400")).await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    let cause = failure(RetryClass::Fixed);
    let failed = Outcome::Failed { failure: cause };
    agent.report(&cutover, failed.clone()).await;
    let cutover = agent.run_to("cutover").await;
    assert_eq!(ear.heard().len(), 2);
    agent.begin(&cutover, Direction::Forward).await;
    ear.say(FREEZE);
    agent.report(&cutover, failed).await;
    let cutover = agent.run_to("cutover").await;
    agent.flip(&cutover, Direction::Forward).await;
    assert_eq!(ear.heard().len(), 2, "keys may be closed: nobody is asked");
    assert_eq!(server.view(&id).await["ownership"], "flipped");
}

#[tokio::test]
async fn a_program_whose_time_is_over_ends_with_all_that_it_has_started() {
    let folder = Folder::new();
    let seen = folder.0.join("seen");
    let script = format!("sleep 600 & echo $! > {}\nwait\n", seen.display());
    let script = folder.write("hang.sh", &script);
    let text = format!(
        "hooks:\n- {{name: slow, on: [before_copy], timeout_s: 1, attempts: 1, command: [/bin/sh, {}]}}\n",
        script.display()
    );
    let server = server(&text).await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    let checked = agent.run_to("preflight").await;
    agent.done(&checked).await;
    let view = held(&server, &id).await;
    assert_eq!(view["hook"]["said"]["veto"], false);
    let process = std::fs::read_to_string(&seen).unwrap();
    let process = format!("/proc/{}", process.trim());
    until("ended", || async {
        // Until somebody has asked how it ended, something of it is left.
        let state = std::fs::read_to_string(format!("{process}/stat")).unwrap_or_default();
        (state.is_empty() || state.contains(") Z ")).then_some(())
    })
    .await;
}

#[tokio::test]
async fn while_a_hook_holds_the_next_attempt_an_owner_opens_what_the_last_one_closed() {
    let ear = Ear::new(YES).await;
    let server = server(&hook(&ear.url, ", again_s: 86400")).await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    let cutover = agent.run_to("cutover").await;
    let direction = Direction::Forward;
    let attempt = agent.begin(&cutover, direction).await;
    let release = CutoverQuery::Release {
        direction,
        attempt,
        reason: "over the budget".to_owned(),
    };
    assert_eq!(
        agent.cutover(&cutover, release).await,
        CutoverAnswer::Released
    );
    ear.say(FREEZE);
    let failure = failure(RetryClass::Fixed);
    agent.report(&cutover, Outcome::Failed { failure }).await;
    let owner = agent.next().await;
    assert_eq!(step_name(&owner), "", "a new owner, and no attempt");
    assert!(owner.epoch > cutover.epoch);
    let view = held(&server, &id).await;
    assert_eq!(view["ownership"], "ready");
    assert_eq!(view["attempt"], 1);
}

#[tokio::test]
async fn an_offline_move_is_asked_about_before_its_keys_are_closed() {
    let ear = Ear::new(FREEZE).await;
    let server = server(&hook(&ear.url, ", again_s: 86400")).await;
    let agent = server.agent("x", "x1");
    let id = server
        .apply(&agent, "mode: offline, cutover: automatic")
        .await;
    let made = agent.run_to("create_target").await;
    agent.done(&made).await;
    held(&server, &id).await;
    nothing_begins(&server, &agent, &id).await;
    ear.say(YES);
    assert_eq!(server.command(&id, "retry").await.status(), 200);
    let closed = agent.run_to("set_read_only").await;
    ear.say(FREEZE);
    agent.done(&closed).await;
    agent.run_to("cutover").await;
    assert_eq!(ear.heard().len(), 2);
}

#[tokio::test]
async fn a_program_is_asked_with_the_migration_in_its_environment_and_nothing_of_ours() {
    let folder = Folder::new();
    let seen = folder.0.join("seen");
    let allowed = folder.0.join("allowed");
    let script = folder.write(
        "ask.sh",
        &format!(
            "{{ env; echo; cat; }} > {}\n[ -e {} ] && exit 0\necho not in business hours\nexit 3\n",
            seen.display(),
            allowed.display()
        ),
    );
    let text = format!(
        "hooks:\n- name: hours\n  on: [before_copy, before_drop]\n  again_s: 86400\n  command: [/bin/sh, {}]\n",
        script.display()
    );
    let server = server(&text).await;
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "cutover: automatic").await;
    let checked = agent.run_to("preflight").await;
    agent.done(&checked).await;
    let view = held(&server, &id).await;
    let what = wait(&view, "what");
    assert!(
        what.ends_with("before the copy and refuses: not in business hours"),
        "{what}"
    );
    nothing_begins(&server, &agent, &id).await;
    let text = std::fs::read_to_string(&seen).unwrap();
    let (environment, message) = text.split_once("\n\n").unwrap();
    assert!(environment.contains("SHARDWRIGHT_PHASE=before_copy"));
    assert!(environment.contains(&format!("SHARDWRIGHT_MIGRATION={id}")));
    assert!(!environment.contains("CARGO"), "{environment}");
    let message: Value = serde_json::from_str(message).unwrap();
    assert_eq!(message["migration"]["source"], "a");
    for secret in ["host=x", "${env"] {
        assert!(!text.contains(secret), "{text}");
    }
    folder.write("allowed", "");
    assert_eq!(server.command(&id, "retry").await.status(), 200);
    let cutover = agent.run_to("cutover").await;
    agent.flip(&cutover, Direction::Forward).await;
    agent.done(&cutover).await;
    let hold = agent.run_to("hold").await;
    std::fs::remove_file(&allowed).unwrap();
    assert_eq!(server.command(&id, "finish").await.status(), 200);
    agent.done(&hold).await;
    let view = held(&server, &id).await;
    assert_eq!(view["hook"]["phase"], "before_drop");
    folder.write("allowed", "");
    assert_eq!(server.command(&id, "retry").await.status(), 200);
    let last = agent.run_to("drop_old").await;
    agent.done(&last).await;
    server.in_state(&id, "completed").await;
}

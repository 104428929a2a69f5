//! Several controllers on one store: one leads, the others take over from one that is killed, paused or stopped.

use crate::fixture::{Agent, Database, Process, Server, flip, quick, seal, until};
use fail_point::Rendezvous;
use plans::names::Direction;
use plans::wire::{CutoverAnswer, CutoverQuery, Dispatch, Outcome};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::task::JoinHandle;

/// A leader with fail points and a follower, over a migration at `step` whose agent holds it.
pub(crate) struct Pair {
    pub(crate) leader: Process,
    pub(crate) follower: Process,
    pub(crate) agent: Agent,
    pub(crate) dispatch: Dispatch,
    beats: JoinHandle<()>,
    _database: Database,
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.beats.abort();
    }
}

impl Pair {
    pub(crate) async fn at(step: &str, fail_points: &str) -> Self {
        let server = Server::with(quick()).await;
        let agent = server.agent("x", "x1");
        server.apply(&agent, "cutover: automatic").await;
        agent.run_to(step).await;
        let database = server.into_database();
        let leader = Process::start(&database, fail_points).await;
        leader.leads().await;
        let follower = Process::start(&database, "").await;
        follower.follows(Some(&leader.url)).await;
        // However long that took, the agent holds its step from here on.
        let agent = agent.at(&leader.url);
        agent.forget();
        let dispatch = agent.run_to(step).await;
        let urls = [&leader.url, &follower.url];
        Self {
            beats: tokio::spawn(beat(urls.map(|url| agent.at(url)), dispatch.clone())),
            leader,
            follower,
            agent,
            dispatch,
            _database: database,
        }
    }

    /// The version of the map and how often it was changed by a migration, as the follower reads them.
    async fn flips(&self) -> (i64, usize) {
        let history = self.follower.json("/api/v1/maps/tenants/versions").await;
        let versions = history.as_array().unwrap();
        let flips = versions.iter().filter(|v| !v["migration"].is_null());
        (
            versions.last().unwrap()["version"].as_i64().unwrap(),
            flips.count(),
        )
    }

    /// Events of this kind in the migration's journal.
    async fn events(&self, kind: &str) -> usize {
        let path = format!("/api/v1/migrations/{}/events", self.dispatch.migration);
        let events = self.follower.json(&path).await;
        let events = events.as_array().unwrap().iter();
        events.filter(|event| event["kind"] == kind).count()
    }
}

/// An agent that lives, whoever hears of it.
async fn beat(agents: [Agent; 2], dispatch: Dispatch) {
    let every = Duration::from_millis(500);
    loop {
        for agent in &agents {
            // A paused controller answers later, or never.
            let _ = tokio::time::timeout(every, agent.late_beat(&dispatch)).await;
        }
        tokio::time::sleep(every).await;
    }
}

fn rendezvous(name: &str) -> Rendezvous {
    let file = format!("shardwright-leader-{}-{name}", std::process::id());
    Rendezvous::bind(std::env::temp_dir().join(file)).unwrap()
}

/// An answer of a process that does not lead: go elsewhere, or nothing was done, or it could not be.
fn is_refused(response: &reqwest::Response) -> bool {
    matches!(response.status().as_u16(), 307 | 421 | 503)
}

#[tokio::test]
async fn a_killed_leader_is_followed() {
    let mut pair = Pair::at("copy", "").await;
    pair.leader.signal("KILL").await;
    let term = pair.follower.leads().await;
    assert!(term >= 3, "{term}");
    pair.leader.is_dead().await;
    // The step goes on under its epoch; nobody is asked to do it again.
    let agent = pair.agent.at(&pair.follower.url);
    agent.done(&pair.dispatch).await;
    let next = agent.take("catch_up").await;
    assert_eq!(next.epoch, pair.dispatch.epoch);
    let cutover = agent.at(&pair.follower.url);
    cutover.done(&next).await;
    let dispatch = cutover.run_to("cutover").await;
    assert_eq!(cutover.flip(&dispatch, Direction::Forward).await, 2);
}

#[tokio::test]
async fn a_leader_that_is_stopped_gives_its_lease_up() {
    let pair = Pair::at("copy", "").await;
    pair.leader.signal("TERM").await;
    pair.follower.leads().await;
    pair.agent.at(&pair.follower.url).done(&pair.dispatch).await;
}

#[tokio::test]
async fn of_controllers_that_start_at_one_moment_one_leads() {
    let database = Database::new().await;
    let all = [(); 3].map(|()| Process::launch(&database, ""));
    let leader = until("led", || async {
        for process in &all {
            let health: Value = process.get("/api/v1/health").await?.json().await.ok()?;
            if let Some(leader) = health["leader"].as_str() {
                return Some(leader.to_owned());
            }
        }
        None
    })
    .await;
    for process in &all {
        if process.url == leader {
            assert_eq!(process.leads().await, 1);
        } else {
            process.follows(Some(&leader)).await;
        }
    }
}

/// The leader is paused right before its flip for longer than its lease. It comes back before, or after, the next
/// one flips; its flip finds no transaction and no term, and the keys are moved once.
async fn paused_before_its_flip(wakes_first: bool) {
    let meeting = rendezvous(if wakes_first { "first" } else { "last" });
    let pair = Pair::at("cutover", &meeting.arms("controller.cutover.before_flip")).await;
    let (agent, cutover) = (&pair.agent, &pair.dispatch);
    let attempt = agent.begin(cutover, Direction::Forward).await;
    let sealed = agent.cutover(cutover, seal(attempt)).await;
    assert_eq!(sealed, CutoverAnswer::Granted);
    let zombie = async {
        let arrival = meeting.arrived().await.unwrap();
        pair.leader.signal("STOP").await;
        pair.follower.leads().await;
        let agent = agent.at(&pair.follower.url);
        // The row is free at once, and the answer is final.
        let answer = agent.cutover(cutover, flip(attempt)).await;
        assert!(
            matches!(answer, CutoverAnswer::Refused { .. }),
            "{answer:?}"
        );
        if !wakes_first {
            assert_eq!(agent.flip(cutover, Direction::Forward).await, 2);
        }
        arrival.release().await.unwrap();
        pair.leader.signal("CONT").await;
        agent
    };
    let flip = agent.try_cutover(cutover, flip(attempt));
    let (late, agent) = tokio::join!(flip, zombie);
    assert!(
        late.status().is_server_error() || is_refused(&late),
        "{late:?}"
    );
    pair.leader.follows(Some(&pair.follower.url)).await;
    if wakes_first {
        assert_eq!(pair.flips().await, (1, 0));
        assert_eq!(agent.flip(cutover, Direction::Forward).await, 2);
    }
    agent.done(cutover).await;
    agent.take("hold").await;
    assert_eq!(pair.flips().await, (2, 1));
    assert_eq!(pair.events("migration.flipped").await, 1);
}

#[tokio::test]
async fn a_late_flip_before_the_next_leaders_is_refused() {
    paused_before_its_flip(true).await;
}

#[tokio::test]
async fn a_late_flip_after_the_next_leaders_is_refused() {
    paused_before_its_flip(false).await;
}

#[tokio::test]
async fn a_flip_whose_leader_is_paused_before_it_answers_is_found() {
    let meeting = rendezvous("after");
    let pair = Pair::at("cutover", &meeting.arms("controller.cutover.after_flip")).await;
    let (agent, cutover) = (&pair.agent, &pair.dispatch);
    let attempt = agent.begin(cutover, Direction::Forward).await;
    agent.cutover(cutover, seal(attempt)).await;
    let zombie = async {
        let arrival = meeting.arrived().await.unwrap();
        pair.leader.signal("STOP").await;
        pair.follower.leads().await;
        let agent = agent.at(&pair.follower.url);
        let answer = agent.cutover(cutover, flip(attempt)).await;
        assert_eq!(
            answer,
            CutoverAnswer::Flipped {
                map_version: plans::id::MapVersion(2)
            }
        );
        agent.done(cutover).await;
        arrival.release().await.unwrap();
        pair.leader.signal("CONT").await;
    };
    // The late answer is true: the flip was committed under the zombie's own term.
    let (late, ()) = tokio::join!(agent.try_cutover(cutover, flip(attempt)), zombie);
    assert_eq!(late.status(), 200);
    assert_eq!(pair.flips().await, (2, 1));
}

#[tokio::test]
async fn an_attempt_that_a_paused_leader_began_is_begun_anew() {
    let meeting = rendezvous("begun");
    let pair = Pair::at("cutover", &meeting.arms("controller.cutover.begun")).await;
    let (agent, cutover) = (&pair.agent, &pair.dispatch);
    let begin = CutoverQuery::Begin {
        direction: Direction::Forward,
    };
    let zombie = async {
        let arrival = meeting.arrived().await.unwrap();
        pair.leader.signal("STOP").await;
        pair.follower.leads().await;
        arrival.release().await.unwrap();
        pair.leader.signal("CONT").await;
    };
    let (late, ()) = tokio::join!(agent.try_cutover(cutover, begin), zombie);
    // The agent may hear of attempt 1; the next leader knows nothing of it.
    assert_eq!(late.status(), 200);
    pair.leader.follows(Some(&pair.follower.url)).await;
    let attempt = plans::id::AttemptNo(1);
    let answer = agent.cutover(cutover, seal(attempt)).await;
    assert!(
        matches!(answer, CutoverAnswer::Refused { .. }),
        "{answer:?}"
    );
    let agent = agent.at(&pair.follower.url);
    assert_eq!(agent.begin(cutover, Direction::Forward).await.0, 2);
    assert_eq!(agent.flip(cutover, Direction::Forward).await, 2);
    assert_eq!(pair.flips().await, (2, 1));
}

/// What reaches a paused leader waits in its socket; when it wakes it believes that it leads.
#[tokio::test]
async fn a_leader_that_was_paused_dispatches_and_settles_nothing() {
    let pair = Pair::at("copy", "").await;
    let id = pair.dispatch.migration.clone();
    let before = pair.events("step.dispatched").await;
    let other = Agent::new(&pair.leader.url, "y", "y1");
    pair.leader.signal("STOP").await;
    let (pause, reason) = (
        format!("/api/v1/migrations/{id}/pause"),
        json!({"reason": "late"}),
    );
    let report = pair.agent.late_report(&pair.dispatch, Outcome::Interrupted);
    let claim = other.late_claim();
    let beat = pair.agent.late_beat(&pair.dispatch);
    let command = pair.leader.post(&pause, &reason);
    let wake = async {
        pair.follower.leads().await;
        pair.leader.signal("CONT").await;
    };
    let (report, claim, beat, command, ()) = tokio::join!(report, claim, beat, command, wake);
    for (what, response) in [
        ("report", report),
        ("claim", claim),
        ("beat", beat.unwrap()),
        ("command", command),
    ] {
        assert!(is_refused(&response), "{what}: {response:?}");
    }
    let view = pair
        .follower
        .json(&format!("/api/v1/migrations/{id}"))
        .await;
    assert_eq!(view["state"], "running");
    let agent = pair.agent.at(&pair.follower.url);
    agent.done(&pair.dispatch).await;
    agent.take("catch_up").await;
    assert_eq!(pair.events("step.dispatched").await, before + 1);
}

/// Nobody else is there to take over; it stops by itself, and goes on under a new term.
#[tokio::test]
async fn a_leader_without_its_store_stops_and_comes_back() {
    let database = Database::alone().await;
    let leader = Process::start(&database, "").await;
    let term = leader.leads().await;
    let cluster = std::sync::Arc::clone(&database.cluster);
    tokio::task::spawn_blocking(move || cluster.stop(cluster::Shutdown::Immediate).unwrap())
        .await
        .unwrap();
    leader.follows(None).await;
    let shard = json!({"name": "c", "dsn": "host=x"});
    let refused = leader.post("/api/v1/shards", &shard).await;
    assert_eq!(refused.status(), 503);
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(problem["code"], "controller.no_leader");
    let cluster = std::sync::Arc::clone(&database.cluster);
    tokio::task::spawn_blocking(move || cluster.start().unwrap())
        .await
        .unwrap();
    assert!(leader.leads().await > term);
    assert_eq!(leader.post("/api/v1/shards", &shard).await.status(), 201);
}

/// The agent's own program finds whoever leads, also when the one that it speaks to only falls silent.
#[tokio::test]
async fn an_agent_goes_to_the_controller_that_leads() {
    let database = Database::new().await;
    let first = Process::start(&database, "").await;
    first.leads().await;
    let second = Process::start(&database, "").await;
    second.follows(Some(&first.url)).await;
    let program = std::path::PathBuf::from(env!("CARGO_BIN_EXE_shardwright"));
    let program = program.with_file_name("shardwright-agent");
    assert!(program.is_file(), "cargo build --bins");
    let _agent = tokio::process::Command::new(program)
        .args([
            "--name",
            "real",
            "--controller",
            &second.url,
            "--controller",
            &first.url,
        ])
        .env("SHARDWRIGHT_SPOOL_DIR", std::env::temp_dir())
        .env("SHARDWRIGHT_LOG", "warn")
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    is_heard(&second).await;
    first.signal("STOP").await;
    second.leads().await;
    is_heard(&second).await;
    first.signal("CONT").await;
    first.follows(Some(&second.url)).await;
    second.signal("KILL").await;
    first.leads().await;
    is_heard(&first).await;
}

/// Waits until the agent spoke after this moment, as `process` reads it.
async fn is_heard(process: &Process) {
    let asked = chrono::Utc::now();
    until("heard", || async {
        let agents = process.json("/api/v1/agents").await;
        let seen = agents[0]["last_seen"]
            .as_str()?
            .parse::<chrono::DateTime<chrono::Utc>>();
        (seen.unwrap() > asked).then_some(())
    })
    .await;
}

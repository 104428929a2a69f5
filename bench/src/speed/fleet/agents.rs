//! Agents that only send requests to the controller: claims, reports, and each second a heartbeat with the migrations
//! that they have claimed.
//!
//! Claims are due at a fixed rate, and the agents make them in turn. The latency of a claim is measured from when it
//! was due, so it includes the time in which the agent still waits for the answer to another claim.

use super::Size;
use anyhow::Context;
use plans::id::{InstanceId, StepId};
use plans::wire::{
    Claim, ClaimedWork, Dispatch, Heartbeat, MigrationStatus, NEWEST_PROTOCOL, OLDEST_PROTOCOL,
    Outcome, Progress, Report, StepReport, Work,
};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::{AbortHandle, JoinSet};

/// The rate of the claims of all agents together, per second.
const CLAIMS_PER_SECOND: u32 = 25;
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);

/// The durations of requests.
#[derive(Debug, Default, Clone)]
pub(super) struct Latencies(Vec<Duration>);

impl Latencies {
    /// Returns the percentile `percent` of the durations, in milliseconds.
    pub(super) fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let index = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
        sorted
            .get(index)
            .map_or(f64::NAN, |d| d.as_secs_f64() * 1e3)
    }
}

/// All agents of a fleet, with the tasks that send their heartbeats. Dropping the value ends these tasks.
pub(super) struct AgentGroup {
    working: Vec<Arc<Agent>>,
    heartbeats: Vec<AbortHandle>,
}

impl Drop for AgentGroup {
    fn drop(&mut self) {
        self.heartbeats.iter().for_each(AbortHandle::abort);
    }
}

/// One agent with the migrations that it has claimed.
struct Agent {
    http: Client,
    url: String,
    name: String,
    instance: InstanceId,
    /// The claimed migrations. The first one is the one whose step has run for the longest time.
    claimed: Mutex<VecDeque<Dispatch>>,
    heartbeat_times: Mutex<Vec<Duration>>,
}

impl AgentGroup {
    pub(super) fn new(url: &str, size: Size) -> anyhow::Result<Self> {
        let agents = size.agents();
        let http = controller_client::client(Policy::default(), None)?;
        let agent = |number| Arc::new(Agent::new(&http, url, number));
        let working: Vec<Arc<Agent>> = (0..agents).map(agent).collect();
        // Real agents are not started at the same moment, so their heartbeats are spread over the interval.
        let first_heartbeat = |number| HEARTBEAT_INTERVAL * number / agents.max(1);
        let beating = (0..agents).zip(&working).map(|(number, agent)| {
            tokio::spawn(agent.clone().send_heartbeats(first_heartbeat(number)))
        });
        Ok(Self {
            heartbeats: beating.map(|task| task.abort_handle()).collect(),
            working,
        })
    }

    /// Claims the first steps of `count` migrations.
    pub(super) async fn claim_first_steps(&self, count: u32) -> anyhow::Result<Latencies> {
        self.claim_in_turn(count, false).await
    }

    /// Ends `count` steps and claims the next step after each, while other agents wait for work.
    pub(super) async fn claim_next_steps(&self, count: u32) -> anyhow::Result<Latencies> {
        let waiting = (0..self.working.len().div_ceil(2)).map(|number| {
            let number = u32::try_from(self.working.len() + number).unwrap_or(u32::MAX);
            let template = &self.working[0];
            let agent = Agent::new(&template.http, &template.url, number);
            tokio::spawn(async move { while agent.claim().await.is_ok() {} }).abort_handle()
        });
        let waiting: Vec<AbortHandle> = waiting.collect();
        let done = self.claim_in_turn(count, true).await;
        waiting.iter().for_each(AbortHandle::abort);
        done
    }

    /// Returns the durations of the heartbeats.
    pub(super) fn heartbeat_latencies(&self) -> Latencies {
        let all = self
            .working
            .iter()
            .flat_map(|agent| lock(&agent.heartbeat_times).clone());
        Latencies(all.collect())
    }

    /// Makes `count` claims, each by the next agent. If `report` is true, the agent first ends a step.
    async fn claim_in_turn(&self, count: u32, report: bool) -> anyhow::Result<Latencies> {
        let began = Instant::now();
        let agents = u32::try_from(self.working.len())?;
        let mut tasks = JoinSet::new();
        for (agent, first) in self.working.iter().cloned().zip(0..) {
            let due = (first..count).step_by(usize::try_from(agents)?);
            tasks.spawn(async move {
                let mut took = Vec::new();
                for number in due {
                    let mut due = began + Duration::from_secs(1) / CLAIMS_PER_SECOND * number;
                    tokio::time::sleep_until(due.into()).await;
                    if report {
                        agent.report().await?;
                        due = Instant::now();
                    }
                    agent.claim().await?;
                    took.push(due.elapsed());
                }
                anyhow::Ok(took)
            });
        }
        let mut all = Latencies::default();
        while let Some(done) = tasks.join_next().await {
            all.0.extend(done??);
        }
        Ok(all)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn step(dispatch: &Dispatch) -> Option<StepId> {
    dispatch.step.clone().map(|(id, _)| id)
}

impl Agent {
    fn new(http: &Client, url: &str, number: u32) -> Self {
        Self {
            http: http.clone(),
            url: url.to_owned(),
            name: format!("agent-{number}"),
            instance: InstanceId(format!("instance-{number}")),
            claimed: Mutex::default(),
            heartbeat_times: Mutex::default(),
        }
    }

    async fn send(&self, path: &str, body: &impl Serialize) -> anyhow::Result<Response> {
        let url = format!("{}/api/v1/agents/{path}", self.url);
        let answer = self.http.post(url).json(body).send().await?;
        Ok(answer.error_for_status()?)
    }

    /// Claims work, and repeats the claim until the controller assigns a step.
    async fn claim(&self) -> anyhow::Result<()> {
        let held = |dispatch: &Dispatch| ClaimedWork {
            migration: dispatch.migration.clone(),
            epoch: dispatch.epoch,
            step: step(dispatch),
            secret: dispatch.secret.clone(),
        };
        let claim = Claim {
            protocol: NEWEST_PROTOCOL,
            oldest: Some(OLDEST_PROTOCOL),
            agent: self.name.as_str().into(),
            instance: self.instance.clone(),
            holding: lock(&self.claimed).iter().map(held).collect(),
            inspecting: None,
            host: None,
            key: None,
            outlived: Vec::new(),
        };
        loop {
            let answer = self.send("claim", &claim).await?;
            if answer.status() == 204 {
                continue;
            }
            if let Work::Step(dispatch) = answer.json().await? {
                let mut held = lock(&self.claimed);
                held.retain(|other| other.migration != dispatch.migration);
                held.push_back(*dispatch);
                return Ok(());
            }
        }
    }

    /// Reports that the step that has run for the longest time is done.
    async fn report(&self) -> anyhow::Result<()> {
        let dispatch = lock(&self.claimed)
            .pop_front()
            .context("the agent has claimed no migration")?;
        let report = Report::Step(StepReport {
            migration: dispatch.migration.clone(),
            step: step(&dispatch).context("the assigned work has no step")?,
            epoch: dispatch.epoch,
            secret: dispatch.secret.clone(),
            outcome: Outcome::Done {
                output: serde_json::json!({}),
            },
            progress: Progress::default(),
        });
        self.send("report", &report).await?;
        lock(&self.claimed).push_back(Dispatch {
            step: None,
            ..dispatch
        });
        Ok(())
    }

    async fn send_heartbeats(self: Arc<Self>, first: Duration) {
        let first = tokio::time::Instant::now() + first;
        let mut beat = tokio::time::interval_at(first, HEARTBEAT_INTERVAL);
        loop {
            beat.tick().await;
            let began = Instant::now();
            let holding = lock(&self.claimed).iter().map(holding).collect();
            let heartbeat = Heartbeat {
                agent: self.name.as_str().into(),
                instance: self.instance.clone(),
                holding,
                key: None,
            };
            // The result is ignored: if heartbeats fail, the leases expire, and later requests fail.
            let _ = self.send("heartbeat", &heartbeat).await;
            lock(&self.heartbeat_times).push(began.elapsed());
        }
    }
}

fn holding(dispatch: &Dispatch) -> MigrationStatus {
    MigrationStatus {
        migration: dispatch.migration.clone(),
        epoch: dispatch.epoch,
        step: step(dispatch),
        progress: Progress {
            message: "working".to_owned(),
            ..Progress::default()
        },
        stream: None,
        secret: dispatch.secret.clone(),
    }
}

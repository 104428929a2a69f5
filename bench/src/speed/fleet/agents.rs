//! Agents that only speak: they claim, report, and say each second what they hold.
//!
//! Claims are due at a fixed rate, shared out in turn; a latency counts from when its claim was due, so that one that
//! waits for the answer to another is not forgotten.

use super::Size;
use anyhow::Context;
use plans::id::{InstanceId, StepId};
use plans::wire::{
    Claim, ClaimedWork, Dispatch, Heartbeat, MigrationStatus, OLDEST_PROTOCOL, Outcome, PROTOCOL,
    Progress, Report, StepReport, Work,
};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::{AbortHandle, JoinSet};

/// Claims a second of all agents together.
const RATE: u32 = 25;
const BEAT: Duration = Duration::from_secs(1);

/// Durations.
#[derive(Debug, Default, Clone)]
pub(super) struct Latencies(Vec<Duration>);

impl Latencies {
    /// That which `percent` of a hundred do not exceed, milliseconds.
    pub(super) fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let index = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
        sorted
            .get(index)
            .map_or(f64::NAN, |d| d.as_secs_f64() * 1e3)
    }
}

/// All agents of a fleet, with their heartbeats; dropping it silences them.
pub(super) struct Crowd {
    busy: Vec<Arc<Agent>>,
    background: Vec<AbortHandle>,
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.background.iter().for_each(AbortHandle::abort);
    }
}

/// One agent.
struct Agent {
    http: Client,
    url: String,
    name: String,
    instance: InstanceId,
    /// What it was given, that of which the step runs longest first.
    held: Mutex<VecDeque<Dispatch>>,
    beats: Mutex<Vec<Duration>>,
}

impl Crowd {
    pub(super) fn new(url: &str, size: Size) -> anyhow::Result<Self> {
        let agents = size.agents();
        let http = controller_client::client(Policy::default(), None)?;
        let agent = |number| Arc::new(Agent::new(&http, url, number));
        let busy: Vec<Arc<Agent>> = (0..agents).map(agent).collect();
        // Agents that were started by themselves do not speak all at once.
        let apart = |number| BEAT * number / agents.max(1);
        let beating = (0..agents)
            .zip(&busy)
            .map(|(number, agent)| tokio::spawn(agent.clone().beat_for_ever(apart(number))));
        Ok(Self {
            background: beating.map(|task| task.abort_handle()).collect(),
            busy,
        })
    }

    /// Claims so many first steps.
    pub(super) async fn take_up(&self, count: u32) -> anyhow::Result<Latencies> {
        self.in_turn(count, false).await
    }

    /// Ends so many steps and claims those that follow, while other agents wait for work.
    pub(super) async fn go_on(&self, count: u32) -> anyhow::Result<Latencies> {
        let waiting = (0..self.busy.len().div_ceil(2)).map(|number| {
            let number = u32::try_from(self.busy.len() + number).unwrap_or(u32::MAX);
            let known = &self.busy[0];
            let agent = Agent::new(&known.http, &known.url, number);
            tokio::spawn(async move { while agent.claim().await.is_ok() {} }).abort_handle()
        });
        let waiting: Vec<AbortHandle> = waiting.collect();
        let done = self.in_turn(count, true).await;
        waiting.iter().for_each(AbortHandle::abort);
        done
    }

    /// How long heartbeats took.
    pub(super) fn beats(&self) -> Latencies {
        let all = self
            .busy
            .iter()
            .flat_map(|agent| lock(&agent.beats).clone());
        Latencies(all.collect())
    }

    /// `count` claims, each by the next agent.
    async fn in_turn(&self, count: u32, report: bool) -> anyhow::Result<Latencies> {
        let began = Instant::now();
        let agents = u32::try_from(self.busy.len())?;
        let mut tasks = JoinSet::new();
        for (agent, first) in self.busy.iter().cloned().zip(0..) {
            let due = (first..count).step_by(usize::try_from(agents)?);
            tasks.spawn(async move {
                let mut took = Vec::new();
                for number in due {
                    let mut due = began + Duration::from_secs(1) / RATE * number;
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
            held: Mutex::default(),
            beats: Mutex::default(),
        }
    }

    async fn send(&self, path: &str, body: &impl Serialize) -> anyhow::Result<Response> {
        let url = format!("{}/api/v1/agents/{path}", self.url);
        let answer = self.http.post(url).json(body).send().await?;
        Ok(answer.error_for_status()?)
    }

    /// Work, however long it takes.
    async fn claim(&self) -> anyhow::Result<()> {
        let held = |dispatch: &Dispatch| ClaimedWork {
            migration: dispatch.migration.clone(),
            epoch: dispatch.epoch,
            step: step(dispatch),
            secret: dispatch.secret.clone(),
        };
        let claim = Claim {
            protocol: PROTOCOL,
            oldest: Some(OLDEST_PROTOCOL),
            agent: self.name.as_str().into(),
            instance: self.instance.clone(),
            holding: lock(&self.held).iter().map(held).collect(),
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
                let mut held = lock(&self.held);
                held.retain(|other| other.migration != dispatch.migration);
                held.push_back(*dispatch);
                return Ok(());
            }
        }
    }

    /// Ends the step that runs longest.
    async fn report(&self) -> anyhow::Result<()> {
        let dispatch = lock(&self.held)
            .pop_front()
            .context("an agent without work")?;
        let report = Report::Step(StepReport {
            migration: dispatch.migration.clone(),
            step: step(&dispatch).context("a dispatch without a step")?,
            epoch: dispatch.epoch,
            secret: dispatch.secret.clone(),
            outcome: Outcome::Done {
                output: serde_json::json!({}),
            },
            progress: Progress::default(),
        });
        self.send("report", &report).await?;
        lock(&self.held).push_back(Dispatch {
            step: None,
            ..dispatch
        });
        Ok(())
    }

    async fn beat_for_ever(self: Arc<Self>, first: Duration) {
        let first = tokio::time::Instant::now() + first;
        let mut beat = tokio::time::interval_at(first, BEAT);
        loop {
            beat.tick().await;
            let began = Instant::now();
            let holding = lock(&self.held).iter().map(holding).collect();
            let heartbeat = Heartbeat {
                agent: self.name.as_str().into(),
                instance: self.instance.clone(),
                holding,
                key: None,
            };
            // One that fails is seen by what it leads to: the lease is lost.
            let _ = self.send("heartbeat", &heartbeat).await;
            lock(&self.beats).push(began.elapsed());
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

//! Inspections are checks of shards by an agent outside of a migration. This file has those that wait for an agent, or
//! for its answer. Only the memory of the process holds them: if it ends, users must repeat their requests.

use super::identify::LIVE;
use super::{CallerTokenName, ControlError, Controller, ShardReach, clock};
use plans::failure::Failure;
use plans::fleet::ShardRef;
use plans::id::{AgentName, InstanceId, ShardName};
use plans::inspection::{Inspected, Inspection, InspectionTask};
use plans::wire::{Claim, WireSecret};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// How often a waiting caller looks whether the agent is silent.
const SILENCE_CHECK: Duration = Duration::from_secs(15);

type InspectionReply = Result<Inspected, Failure>;

/// The inspections that an agent has not claimed yet, or has claimed and not answered yet, by their id.
#[derive(Debug, Default)]
struct WaitingInspections {
    /// The inspections that no agent has claimed yet, oldest first.
    queue: VecDeque<InspectionTask>,
    /// For each inspection that no agent has claimed yet: notifies its caller when an agent claims it.
    claim_notifiers: BTreeMap<String, oneshot::Sender<()>>,
    /// For each inspection: sends the answer to its caller.
    answers: BTreeMap<String, oneshot::Sender<InspectionReply>>,
    /// The process of the agent that claimed each inspection.
    claimants: BTreeMap<String, ClaimingProcess>,
    /// The shards of each inspection, until it is answered or given up.
    shards: BTreeMap<String, Vec<ShardName>>,
}

/// The process of the agent that claimed an inspection, its token, and the inspection.
#[derive(Debug)]
struct ClaimingProcess {
    token: CallerTokenName,
    agent: AgentName,
    instance: InstanceId,
    task: InspectionTask,
}

/// [`WaitingInspections`] behind a lock.
#[derive(Debug, Default)]
pub(super) struct Inspections(Mutex<WaitingInspections>);

/// Removes the inspection `id` from all collections when it is dropped, which is when the caller no longer waits.
struct RemoveOnDrop<'a> {
    inspections: &'a Inspections,
    id: String,
}

impl Drop for RemoveOnDrop<'_> {
    fn drop(&mut self) {
        let mut waiting = self.inspections.waiting();
        waiting.queue.retain(|task| task.id != self.id);
        waiting.claim_notifiers.remove(&self.id);
        waiting.answers.remove(&self.id);
        waiting.shards.remove(&self.id);
        waiting.claimants.remove(&self.id);
    }
}

impl Inspections {
    /// Locks the inspections of this controller.
    fn waiting(&self) -> MutexGuard<'_, WaitingInspections> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims the oldest unclaimed inspection for an agent's process. All shards of the inspection must be in `reach`,
    /// the shards that the token of the agent permits.
    pub(super) fn claim(
        &self,
        reach: &ShardReach,
        token: &CallerTokenName,
        claim: &Claim,
    ) -> Option<InspectionTask> {
        let mut waiting = self.waiting();
        let is_in_reach = |task: &InspectionTask| {
            let reached =
                |shard: &&ShardRef| reach.as_ref().is_none_or(|r| r.contains(&shard.name));
            task.inspection.shards().iter().all(reached)
        };
        let first = waiting.queue.iter().position(is_in_reach)?;
        let task = waiting.queue.remove(first)?;
        if let Some(notifier) = waiting.claim_notifiers.remove(&task.id) {
            // The send fails if the caller no longer waits.
            let _ = notifier.send(());
        }
        let claimant = ClaimingProcess {
            token: token.clone(),
            agent: claim.agent.clone(),
            instance: claim.instance.clone(),
            task: task.clone(),
        };
        waiting.claimants.insert(task.id.clone(), claimant);
        Some(task)
    }

    /// Puts each inspection back into the queue that the agent's process `instance` claimed but does not list in
    /// `received`: the controller's response with this inspection did not reach that process.
    pub(super) fn requeue_unreceived(&self, instance: &InstanceId, received: &[String]) {
        let mut waiting = self.waiting();
        let WaitingInspections {
            queue,
            claimants,
            answers,
            ..
        } = &mut *waiting;
        claimants.retain(|id, claimant| {
            let is_unreceived = claimant.instance == *instance
                && !received.contains(id)
                && answers.contains_key(id);
            if is_unreceived {
                queue.push_front(claimant.task.clone());
            }
            !is_unreceived
        });
    }

    /// Gives up the inspections that earlier processes of an agent have claimed: its process is `instance` now.
    pub(super) fn give_up_of_earlier(&self, agent: &AgentName, instance: &InstanceId) {
        let mut waiting = self.waiting();
        let WaitingInspections {
            claimants, answers, ..
        } = &mut *waiting;
        claimants.retain(|id, claimant| {
            let is_earlier = claimant.agent == *agent && claimant.instance != *instance;
            if is_earlier {
                // The caller learns that the answer is lost.
                answers.remove(id);
            }
            !is_earlier
        });
    }

    /// Returns the agent that has claimed the inspection.
    fn claiming_agent(&self, id: &str) -> Option<AgentName> {
        let waiting = self.waiting();
        let claimant = waiting.claimants.get(id)?;
        Some(claimant.agent.clone())
    }

    /// Gives up all inspections: from now on the agents claim from another controller.
    pub(super) fn clear(&self) {
        *self.waiting() = WaitingInspections::default();
    }

    /// Returns the first shard of the inspection that the token of the agent does not permit, if there is one.
    fn first_out_of_reach(&self, reach: &ShardReach, id: &str) -> Option<ShardName> {
        let reach = reach.as_ref()?;
        let waiting = self.waiting();
        let mut shards = waiting.shards.get(id)?.iter();
        shards.find(|shard| !reach.contains(*shard)).cloned()
    }

    /// Returns true if the answer to this inspection is still awaited, and an agent with another token than `token`
    /// claimed it, or no agent has claimed it.
    fn is_claimed_by_other(&self, id: &str, token: &CallerTokenName) -> bool {
        let waiting = self.waiting();
        let waits = waiting.answers.contains_key(id);
        waits && waiting.claimants.get(id).map(|claimant| &claimant.token) != Some(token)
    }

    /// Sends an answer to the caller that waits for it.
    pub(super) fn send_answer(&self, id: &str, reply: InspectionReply) {
        if let Some(answer) = self.waiting().answers.remove(id) {
            let _ = answer.send(reply);
        }
    }
}

impl Controller {
    /// Refuses an answer about shards that the token does not permit, and an answer under another token than that of
    /// the claim.
    ///
    /// The id of an inspection is random, and only the process that claimed it knows the id. So the id is also its
    /// secret.
    pub(crate) fn check_inspection(
        &self,
        reach: &ShardReach,
        token: &CallerTokenName,
        id: &str,
    ) -> Result<(), ControlError> {
        if let Some(shard) = self.inner.inspections.first_out_of_reach(reach, id) {
            return Err(ControlError::InspectionOutOfReach { shard });
        }
        if self.inner.inspections.is_claimed_by_other(id, token) {
            return Err(ControlError::ClaimedByOtherToken {
                token: token.name().to_owned(),
            });
        }
        Ok(())
    }

    /// Waits until an agent claims the inspection, and then for the answer. Each wait ends after `inspection_wait`; the
    /// second one is longer by `work`, the time that the agent needs.
    pub(super) async fn inspect(
        &self,
        inspection: Inspection,
        work: Duration,
    ) -> Result<Inspected, ControlError> {
        let limit = self.inner.settings.inspection_wait;
        let inspections = &self.inner.inspections;
        let waiting_query = RemoveOnDrop {
            inspections,
            id: WireSecret::from_bits(rand::random()).reveal().to_owned(),
        };
        let (notifier, claimed) = oneshot::channel();
        let (answer, answered) = oneshot::channel();
        {
            let mut waiting = inspections.waiting();
            let shards = inspection.shards();
            let shards = shards.iter().map(|shard| shard.name.clone()).collect();
            waiting.shards.insert(waiting_query.id.clone(), shards);
            waiting
                .claim_notifiers
                .insert(waiting_query.id.clone(), notifier);
            waiting.answers.insert(waiting_query.id.clone(), answer);
            waiting.queue.push_back(InspectionTask {
                id: waiting_query.id.clone(),
                inspection,
            });
        }
        self.announce();
        let claimed = tokio::time::timeout(limit, claimed).await;
        if !matches!(claimed, Ok(Ok(()))) {
            return Err(ControlError::NoAgent);
        }
        let answered = tokio::time::timeout(limit + work, answered);
        tokio::select! {
            answer = answered => match answer {
                Ok(Ok(Ok(inspected))) => Ok(inspected),
                Ok(Ok(Err(failure))) => Err(ControlError::Inspection(failure)),
                Ok(Err(_)) | Err(_) => Err(ControlError::InspectionLost),
            },
            () = self.agent_is_silent(&waiting_query.id) => Err(ControlError::InspectionLost),
        }
    }

    /// Waits until the agent that has claimed the inspection has sent no request for a while: its process has ended, or
    /// cannot reach the controller.
    async fn agent_is_silent(&self, id: &str) {
        loop {
            tokio::time::sleep(SILENCE_CHECK).await;
            let Some(claiming) = self.inner.inspections.claiming_agent(id) else {
                continue;
            };
            let Ok(agents) = self.inner.store.agents().await else {
                continue;
            };
            let known = agents.iter().find(|agent| agent.name == claiming);
            if known.is_none_or(|agent| agent.last_seen + LIVE < clock()) {
                return;
            }
        }
    }
}

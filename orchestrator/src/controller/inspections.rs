//! Inspections are checks of shards by an agent outside of a migration. This file has those that wait for an agent, or
//! for its answer. Only the memory of the process holds them: if it ends, users must repeat their requests.

use super::{CallerToken, ControlError, Controller, ShardReach};
use plans::failure::Failure;
use plans::fleet::ShardRef;
use plans::id::{InstanceId, ShardName};
use plans::inspection::{Inspected, Inspection, InspectionTask};
use plans::wire::WireSecret;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

type InspectionReply = Result<Inspected, Failure>;

/// All inspections that an agent has not claimed, or has claimed and not answered.
#[derive(Debug, Default)]
struct QueuedInspection {
    /// The inspections that no agent has claimed yet, oldest first.
    queue: VecDeque<InspectionTask>,
    /// For each inspection that no agent has claimed yet: notifies its caller when an agent claims it.
    claimed: BTreeMap<String, oneshot::Sender<()>>,
    /// For each inspection: sends the answer to its caller.
    answers: BTreeMap<String, oneshot::Sender<InspectionReply>>,
    /// The process of the agent that claimed each inspection.
    takers: BTreeMap<String, AssignedProcess>,
    /// The shards of each inspection, until it is answered or given up.
    about: BTreeMap<String, Vec<ShardName>>,
}

/// The process of the agent that claimed an inspection, and the inspection.
#[derive(Debug)]
struct AssignedProcess {
    token: CallerToken,
    instance: InstanceId,
    task: InspectionTask,
}

/// All inspections that wait for an agent or an answer.
#[derive(Debug, Default)]
pub(super) struct Inspections(Mutex<QueuedInspection>);

/// Removes the inspection `id` from all collections when it is dropped, which is when the caller no longer waits.
struct InspectionQuery<'a> {
    inspections: &'a Inspections,
    id: String,
}

impl Drop for InspectionQuery<'_> {
    fn drop(&mut self) {
        let mut waiting = self.inspections.waiting();
        waiting.queue.retain(|task| task.id != self.id);
        waiting.claimed.remove(&self.id);
        waiting.answers.remove(&self.id);
        waiting.about.remove(&self.id);
        waiting.takers.remove(&self.id);
    }
}

impl Inspections {
    /// Locks the inspections of this controller.
    fn waiting(&self) -> MutexGuard<'_, QueuedInspection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims the oldest unclaimed inspection for an agent's process. All shards of the inspection must be in `reach`,
    /// the shards that the token of the agent permits.
    pub(super) fn take(
        &self,
        reach: &ShardReach,
        token: &CallerToken,
        instance: &InstanceId,
    ) -> Option<InspectionTask> {
        let mut waiting = self.waiting();
        let is_in_reach = |task: &InspectionTask| {
            let reached =
                |shard: &&ShardRef| reach.as_ref().is_none_or(|r| r.contains(&shard.name));
            task.inspection.shards().iter().all(reached)
        };
        let first = waiting.queue.iter().position(is_in_reach)?;
        let task = waiting.queue.remove(first)?;
        if let Some(claimed) = waiting.claimed.remove(&task.id) {
            // The send fails if the caller no longer waits.
            let _ = claimed.send(());
        }
        let taker = AssignedProcess {
            token: token.clone(),
            instance: instance.clone(),
            task: task.clone(),
        };
        waiting.takers.insert(task.id.clone(), taker);
        Some(task)
    }

    /// Puts each inspection back into the queue that the agent's process `instance` claimed but does not list in
    /// `heard`: the controller's response with this inspection did not reach that process.
    pub(super) fn take_back_unheard(&self, instance: &InstanceId, heard: &[String]) {
        let mut waiting = self.waiting();
        let QueuedInspection {
            queue,
            takers,
            answers,
            ..
        } = &mut *waiting;
        takers.retain(|id, taker| {
            let unheard =
                taker.instance == *instance && !heard.contains(id) && answers.contains_key(id);
            if unheard {
                queue.push_front(taker.task.clone());
            }
            !unheard
        });
    }

    /// Gives up all inspections: from now on the agents claim from another controller.
    pub(super) fn clear(&self) {
        *self.waiting() = QueuedInspection::default();
    }

    /// Returns the first shard of the inspection that the token of the agent does not permit, if there is one.
    fn beyond(&self, reach: &ShardReach, id: &str) -> Option<ShardName> {
        let reach = reach.as_ref()?;
        let waiting = self.waiting();
        let mut shards = waiting.about.get(id)?.iter();
        shards.find(|shard| !reach.contains(*shard)).cloned()
    }

    /// Returns whether another token took this inspection, and its answer is still awaited.
    fn is_of_another(&self, id: &str, token: &CallerToken) -> bool {
        let waiting = self.waiting();
        let waits = waiting.answers.contains_key(id);
        waits && waiting.takers.get(id).map(|taker| &taker.token) != Some(token)
    }

    /// Sends an answer to the caller that waits for it.
    pub(super) fn settle(&self, id: &str, reply: InspectionReply) {
        if let Some(answer) = self.waiting().answers.remove(id) {
            let _ = answer.send(reply);
        }
    }
}

impl Controller {
    /// Refuses an answer about shards that are out of reach, and an answer under another token than that of the claim.
    ///
    /// The id of an inspection is random, and only the process that took it knows the id. So the id is also its secret.
    pub(crate) fn check_inspection(
        &self,
        reach: &ShardReach,
        token: &CallerToken,
        id: &str,
    ) -> Result<(), ControlError> {
        if let Some(shard) = self.inner.inspections.beyond(reach, id) {
            return Err(ControlError::UnseenByToken { shard });
        }
        if self.inner.inspections.is_of_another(id, token) {
            return Err(ControlError::NotRequested {
                token: token.name().to_owned(),
            });
        }
        Ok(())
    }

    /// Waits until an agent takes the inspection, and then for the answer. The second wait is longer by `work`.
    pub(super) async fn inspect(
        &self,
        inspection: Inspection,
        work: Duration,
    ) -> Result<Inspected, ControlError> {
        let limit = self.inner.settings.inspection_wait;
        let inspections = &self.inner.inspections;
        let query = InspectionQuery {
            inspections,
            id: WireSecret::from_bits(rand::random()).reveal().to_owned(),
        };
        let (take, claimed) = oneshot::channel();
        let (answer, answered) = oneshot::channel();
        {
            let mut waiting = inspections.waiting();
            let shards = inspection.shards();
            let shards = shards.iter().map(|shard| shard.name.clone()).collect();
            waiting.about.insert(query.id.clone(), shards);
            waiting.claimed.insert(query.id.clone(), take);
            waiting.answers.insert(query.id.clone(), answer);
            waiting.queue.push_back(InspectionTask {
                id: query.id.clone(),
                inspection,
            });
        }
        self.announce();
        let claimed = tokio::time::timeout(limit, claimed).await;
        if !matches!(claimed, Ok(Ok(()))) {
            return Err(ControlError::NoAgent);
        }
        match tokio::time::timeout(limit + work, answered).await {
            Ok(Ok(Ok(inspected))) => Ok(inspected),
            Ok(Ok(Err(failure))) => Err(ControlError::Inspection(failure)),
            Ok(Err(_)) | Err(_) => Err(ControlError::InspectionLost),
        }
    }
}

//! Surveys that wait for an agent, and for its answer; lost with the process, and asked again by the user.

use super::ControlError;
use plans::failure::Failure;
use plans::survey::{Survey, SurveyTask};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

type Reply = Result<Survey, Failure>;

#[derive(Debug, Default)]
struct Waiting {
    queue: VecDeque<SurveyTask>,
    taken: BTreeMap<String, oneshot::Sender<()>>,
    answers: BTreeMap<String, oneshot::Sender<Reply>>,
}

/// Surveys under way.
#[derive(Debug, Default)]
pub(super) struct Surveys(Mutex<Waiting>);

/// Forgets a survey whose asker is gone.
struct Asked<'a> {
    surveys: &'a Surveys,
    id: String,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let mut waiting = self.surveys.waiting();
        waiting.queue.retain(|task| task.id != self.id);
        waiting.taken.remove(&self.id);
        waiting.answers.remove(&self.id);
    }
}

impl Surveys {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The oldest survey that no agent has taken.
    pub(super) fn take(&self) -> Option<SurveyTask> {
        let mut waiting = self.waiting();
        let task = waiting.queue.pop_front()?;
        if let Some(taken) = waiting.taken.remove(&task.id) {
            // The asker may be gone; then nobody waits for the answer either.
            let _ = taken.send(());
        }
        Some(task)
    }

    /// Hands an answer to whoever asked.
    pub(super) fn settle(&self, id: &str, reply: Reply) {
        if let Some(answer) = self.waiting().answers.remove(id) {
            let _ = answer.send(reply);
        }
    }

    /// Waits at most `limit` for an agent to take the task, and as long again for its answer.
    pub(super) async fn ask(
        &self,
        task: SurveyTask,
        limit: Duration,
        announce: impl FnOnce(),
    ) -> Result<Survey, ControlError> {
        let asked = Asked {
            surveys: self,
            id: task.id.clone(),
        };
        let (take, taken) = oneshot::channel();
        let (answer, answered) = oneshot::channel();
        {
            let mut waiting = self.waiting();
            waiting.taken.insert(asked.id.clone(), take);
            waiting.answers.insert(asked.id.clone(), answer);
            waiting.queue.push_back(task);
        }
        announce();
        let taken = tokio::time::timeout(limit, taken).await;
        if !matches!(taken, Ok(Ok(()))) {
            return Err(ControlError::NoAgent);
        }
        match tokio::time::timeout(limit, answered).await {
            Ok(Ok(Ok(survey))) => Ok(survey),
            Ok(Ok(Err(failure))) => Err(ControlError::Survey(failure)),
            Ok(Err(_)) | Err(_) => Err(ControlError::SurveyLost),
        }
    }
}

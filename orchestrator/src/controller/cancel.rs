//! Permission to end transactions that prevent a cutover from starting: the agent names the transactions, the operator
//! decides.
//!
//! A permission covers only the named transactions. If another transaction prevents the cutover, the agent needs a new
//! permission.

use super::draft::MigrationDraft;
use super::{ControlError, Controller, LeaseProof};
use crate::store::CancelRequest;
use plans::state::migration::{MigrationEvent, MigrationState};
use plans::step::StepKind;
use plans::wire::{CutoverAnswer, LongWriter};
use serde_json::{Value, json};

impl Controller {
    /// Returns whether the agent may end the transactions of `writers`. An empty list withdraws the request.
    pub(super) async fn request_cancel(
        &self,
        proof: LeaseProof<'_>,
        writers: &[LongWriter],
    ) -> Result<CutoverAnswer, ControlError> {
        let edit = |draft: &mut MigrationDraft| {
            draft.set_token(proof.token);
            proof.check(&draft.snapshot().migration)?;
            note_request(draft, writers)
        };
        let (answer, _) = self.change(proof.migration, "controller", edit).await?;
        Ok(answer)
    }
}

/// Records the agent's request on the draft, and returns the answer to the agent.
fn note_request(
    draft: &mut MigrationDraft,
    writers: &[LongWriter],
) -> Result<CutoverAnswer, ControlError> {
    let running = draft.snapshot().running().map(|step| step.kind);
    if !matches!(running, Some(StepKind::Cutover | StepKind::Rollback)) {
        return Ok(CutoverAnswer::Refused {
            reason: "no cutover or rollback is running".to_owned(),
        });
    }
    if writers.is_empty() {
        draft.clear_cancel()?;
        return Ok(CutoverAnswer::Released);
    }
    if let Some(known) = &draft.snapshot().migration.cancel
        && known.contains_all(writers)
    {
        let allowed = known.approved_by.is_some();
        return Ok(match allowed {
            true => CutoverAnswer::Granted,
            false => CutoverAnswer::AwaitingOperator,
        });
    }
    draft.record("cancel.asked", None, json!({ "writers": writers }));
    if draft.snapshot().migration.state == MigrationState::Running {
        draft.apply_to_migration(MigrationEvent::Held, json!({}))?;
    }
    let requested_at = draft.now;
    let m = draft.migration();
    m.waiting_for = Some(waiting_for(writers));
    m.cancel = Some(CancelRequest {
        writers: writers.to_vec(),
        requested_at,
        approved_by: None,
    });
    Ok(CutoverAnswer::AwaitingOperator)
}

/// Returns the text for the operator, with the session, its query and the start of its transaction for each writer.
fn waiting_for(writers: &[LongWriter]) -> String {
    let text = |writer: &LongWriter| {
        format!(
            "pid {} of shard {} ({} as {}, in a transaction since {}; {})",
            writer.pid, writer.shard, writer.application, writer.user, writer.since, writer.query
        )
    };
    let all: Vec<String> = writers.iter().map(text).collect();
    format!("permission to end {}", all.join(", "))
}

/// Records that the operator gives the permission. Returns `None` if there is no open request.
pub(super) fn approve(
    draft: &mut MigrationDraft,
    data: &Value,
) -> Result<Option<()>, ControlError> {
    let actor = draft.actor().to_owned();
    let Some(request) = draft.migration().cancel.as_mut() else {
        return Ok(None);
    };
    if request.approved_by.is_some() {
        return Ok(None);
    }
    request.approved_by = Some(actor);
    let writers = request.writers.clone();
    let reason = data.get("reason");
    draft.record(
        "cancel.approved",
        None,
        json!({ "writers": writers, "reason": reason }),
    );
    draft.migration().waiting_for = None;
    if draft.snapshot().migration.state == MigrationState::Waiting {
        draft.apply_to_migration(MigrationEvent::Cleared, json!({}))?;
    }
    Ok(Some(()))
}

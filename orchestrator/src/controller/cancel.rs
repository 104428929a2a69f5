//! Leave to end writers that keep a cutover from starting: the agent names them, the operator decides.
//!
//! Only the writers that were named are allowed; somebody new in the way is asked about again.

use super::draft::Draft;
use super::{ControlError, Controller, Shown};
use crate::store::CancelAsk;
use plans::state::migration::{MigrationEvent, MigrationState};
use plans::step::StepKind;
use plans::wire::{CutoverAnswer, LongWriter};
use serde_json::{Value, json};

impl Controller {
    /// Answers whether `writers` may be ended; an empty list takes the question back.
    pub(super) async fn ask_cancel(
        &self,
        shown: Shown<'_>,
        writers: &[LongWriter],
    ) -> Result<CutoverAnswer, ControlError> {
        let edit = |draft: &mut Draft| {
            draft.by(shown.token);
            shown.check(&draft.snapshot().migration)?;
            ask(draft, writers)
        };
        let (answer, _) = self.change(shown.migration, "controller", edit).await?;
        Ok(answer)
    }
}

fn ask(draft: &mut Draft, writers: &[LongWriter]) -> Result<CutoverAnswer, ControlError> {
    let running = draft.snapshot().running().map(|step| step.kind);
    if !matches!(running, Some(StepKind::Cutover | StepKind::Rollback)) {
        return Ok(CutoverAnswer::Refused {
            reason: "no cutover is at its gate".to_owned(),
        });
    }
    if writers.is_empty() {
        draft.clear_cancel()?;
        return Ok(CutoverAnswer::Released);
    }
    if let Some(known) = &draft.snapshot().migration.cancel
        && known.names(writers)
    {
        let allowed = known.approved_by.is_some();
        return Ok(match allowed {
            true => CutoverAnswer::Granted,
            false => CutoverAnswer::Asked,
        });
    }
    draft.note("cancel.asked", None, json!({ "writers": writers }));
    if draft.snapshot().migration.state == MigrationState::Running {
        draft.migrate(MigrationEvent::Held, json!({}))?;
    }
    let asked_at = draft.now;
    let m = draft.migration();
    m.waiting_for = Some(waiting_for(writers));
    m.cancel = Some(CancelAsk {
        writers: writers.to_vec(),
        asked_at,
        approved_by: None,
    });
    Ok(CutoverAnswer::Asked)
}

/// What the operator reads: whom, what, since when.
fn waiting_for(writers: &[LongWriter]) -> String {
    let one = |writer: &LongWriter| {
        format!(
            "pid {} of shard {} ({} as {}, in a transaction since {}; {})",
            writer.pid, writer.shard, writer.application, writer.user, writer.since, writer.query
        )
    };
    let all: Vec<String> = writers.iter().map(one).collect();
    format!("leave to cancel {}", all.join(", "))
}

/// The operator allows it; `None`: nobody asked.
pub(super) fn approve(draft: &mut Draft, data: &Value) -> Result<Option<()>, ControlError> {
    let actor = draft.actor().to_owned();
    let Some(ask) = draft.migration().cancel.as_mut() else {
        return Ok(None);
    };
    if ask.approved_by.is_some() {
        return Ok(None);
    }
    ask.approved_by = Some(actor);
    let writers = ask.writers.clone();
    let reason = data.get("reason");
    draft.note(
        "cancel.approved",
        None,
        json!({ "writers": writers, "reason": reason }),
    );
    draft.migration().waiting_for = None;
    if draft.snapshot().migration.state == MigrationState::Waiting {
        draft.migrate(MigrationEvent::Cleared, json!({}))?;
    }
    Ok(Some(()))
}

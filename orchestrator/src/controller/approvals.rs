//! Approval of a cutover by as many people as its plan requires.
//!
//! If a plan requires more than one approval, these rules hold:
//!
//! - The user who submitted the operation cannot approve. Each user counts once. A user is the name of a token; upper
//!   and lower case are the same.
//! - The controller refuses a user whose token was created after the migration. It also refuses a user if the user
//!   created the token of the submitter or of another approver, directly or through other tokens, or if one of them
//!   created the token of the user.
//! - While there are not enough approvals, they are dropped when the migration is paused, fails or is aborted, when a
//!   step is repeated, and when the plan is changed because a table was changed. When there are enough, they remain.

use super::draft::MigrationDraft;
use super::{ApprovalError, ControlError, Controller};
use crate::access::AccessRule;
use crate::store::{Approval, Migration, TokenRecord};
use plans::plan::Plan;
use plans::request::Cutover;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Returns how many of the `needed` approvals are still missing.
#[must_use]
pub fn approvals_left(needed: u32, approvals: &[Approval]) -> u32 {
    needed.saturating_sub(u32::try_from(approvals.len()).unwrap_or(u32::MAX))
}

/// Returns the text that says which approvals the migration waits for.
pub(crate) fn approval_of(m: &Migration) -> String {
    missing_approvals_text(m.plan.options.approvals, &m.approvals)
}

/// Returns the text that says which approvals are missing, and who has approved already.
pub(crate) fn missing_approvals_text(needed: u32, approvals: &[Approval]) -> String {
    let what = "approval of the cutover";
    if needed <= 1 {
        return what.to_owned();
    }
    let by: Vec<String> = approvals
        .iter()
        .map(|one| format!("{} at {}", one.by, one.at.format("%Y-%m-%d %H:%M:%S UTC")))
        .collect();
    match approvals_left(needed, approvals) {
        left if by.is_empty() => format!("{left} approvals of the cutover"),
        1 => format!("one more {what}; given by {}", by.join(", ")),
        left => format!(
            "{left} more approvals of the cutover; given by {}",
            by.join(", ")
        ),
    }
}

/// Records an approval of the actor. Returns `true` if there are enough approvals now.
pub(super) fn give(draft: &mut MigrationDraft, data: &Value) -> Result<bool, ControlError> {
    let m = &draft.snapshot().migration;
    let needed = m.plan.options.approvals;
    if needed <= 1 {
        return Ok(true);
    }
    let (by, at) = (draft.actor().to_owned(), draft.now);
    let migration = m.id.clone();
    if by.eq_ignore_ascii_case(&m.submitted_by) {
        return Err(ApprovalError::Own {
            migration,
            by,
            needed,
        }
        .into());
    }
    if m.approvals
        .iter()
        .any(|approval| approval.by.eq_ignore_ascii_case(&by))
    {
        return Err(ApprovalError::AlreadyApproved { migration, by }.into());
    }
    let reason = data.get("reason").and_then(Value::as_str);
    let m = draft.migration();
    m.approvals.push(Approval {
        by,
        at,
        reason: reason.map(str::to_owned),
    });
    let (count, enough) = (m.approvals.len(), are_enough(m));
    draft.record(
        "approval.given",
        None,
        json!({ "given": count, "needed": needed, "reason": reason }),
    );
    Ok(enough)
}

/// Refuses the actor if its token was created after the migration, or if the actor may be the same person as the
/// submitter or another approver: one of them created the other's token, directly or through other tokens. `tokens` are
/// all tokens of the store.
pub(super) fn check_independence(
    draft: &MigrationDraft,
    tokens: &[TokenRecord],
) -> Result<(), ControlError> {
    let (m, by) = (&draft.snapshot().migration, draft.actor());
    if m.plan.options.approvals <= 1 {
        return Ok(());
    }
    let (migration, by) = (m.id.clone(), by.to_owned());
    let own_token = valid(tokens, &by).max_by_key(|token| token.created_at);
    if own_token.is_some_and(|own| own.created_at > m.created_at) {
        return Err(ApprovalError::Young { migration, by }.into());
    }
    let approvers = m.approvals.iter().map(|approval| &approval.by);
    let others = approvers.chain([&m.submitted_by]);
    let mut others = others.filter(|other| !other.eq_ignore_ascii_case(&by));
    let related = |other: &&String| {
        let is_created_by =
            |user: &str, other: &str| creators(tokens, user).contains(&lower(other));
        is_created_by(&by, other) || is_created_by(other, &by)
    };
    match others.find(related) {
        None => Ok(()),
        Some(other) => {
            let other = other.clone();
            Err(ApprovalError::Related {
                migration,
                by,
                other,
            }
            .into())
        }
    }
}

/// Returns the tokens of this name that are not revoked.
fn valid<'t>(tokens: &'t [TokenRecord], name: &str) -> impl Iterator<Item = &'t TokenRecord> {
    let named = move |token: &&TokenRecord| token.name.eq_ignore_ascii_case(name);
    let found = tokens.iter().filter(|token| token.revoked_at.is_none());
    found.filter(named).collect::<Vec<_>>().into_iter()
}

/// Returns the user who created the token of this name, the user who created that user's token, and so on, in lower
/// case.
fn creators(tokens: &[TokenRecord], name: &str) -> BTreeSet<String> {
    let mut creators = BTreeSet::new();
    let first = valid(tokens, name).map(|token| lower(&token.created_by));
    let mut next: Vec<String> = first.collect();
    while let Some(creator) = next.pop() {
        if creators.insert(creator.clone()) {
            let theirs = tokens.iter().filter(|token| lower(&token.name) == creator);
            next.extend(theirs.map(|token| lower(&token.created_by)));
        }
    }
    creators
}

fn lower(name: &str) -> String {
    name.to_ascii_lowercase()
}

fn are_enough(m: &Migration) -> bool {
    approvals_left(m.plan.options.approvals, &m.approvals) == 0
}

/// Drops the approvals of the migration if there are not enough of them.
pub(super) fn drop_approvals(draft: &mut MigrationDraft, why: &str) {
    let m = draft.migration();
    if m.approvals.is_empty() || are_enough(m) {
        return;
    }
    let approvals = std::mem::take(&mut m.approvals);
    let by: Vec<String> = approvals.into_iter().map(|approval| approval.by).collect();
    draft.record("approval.dropped", None, json!({ "by": by, "why": why }));
}

impl Controller {
    /// Returns the plan with at least the number of approvals that this controller requires.
    pub(super) fn with_approvals(&self, mut plan: Plan) -> Result<Plan, ControlError> {
        let needed = self.inner.settings.approvals;
        if plan.options.cutover == Cutover::Approve && plan.options.approvals < needed {
            plan.options.approvals = needed;
            plan = plan.with_hash();
        }
        self.check_approvals(&plan)?;
        Ok(plan)
    }

    /// Refuses a plan that requires fewer approvals than this controller, and a plan that requires several approvals
    /// while the controller accepts requests without tokens, because then it cannot distinguish the approvers.
    pub(super) fn check_approvals(&self, plan: &Plan) -> Result<(), ControlError> {
        let (needed, options) = (self.inner.settings.approvals, &plan.options);
        if needed > 1 && options.cutover == Cutover::Automatic {
            let planned = "none".to_owned();
            return Err(ApprovalError::TooFew { planned, needed }.into());
        }
        if options.approvals < needed {
            let planned = options.approvals.to_string();
            return Err(ApprovalError::TooFew { planned, needed }.into());
        }
        if options.approvals > 1 && self.rule() == AccessRule::Open {
            let needed = options.approvals;
            return Err(ApprovalError::UnknownApprover { needed }.into());
        }
        Ok(())
    }
}

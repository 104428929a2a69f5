//! Whether the migration is ready for the cutover: each condition, and whether it is met.
//!
//! The details of conditions that are not met come from [`crate::view::WaitReason`], as on all other pages.

use super::super::marks::{self, StateMark};
use crate::view::figures::{count, millis, moment};
use crate::view::{MigrationView, StepView, Tone, WaitKind, WaitReason};
use askama::Template;
use plans::request::Mode;
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::StepKind;
use plans::step::verify::Verified;

/// The list of conditions. It is empty once the keys have changed their owner, or if they cannot change it any more.
#[derive(Template)]
#[template(path = "migration/ready.html")]
pub(super) struct ReadyView {
    /// The id of the migration; `None` on the page of the cutover, where no link to this page is needed.
    id: Option<String>,
    items: Vec<ReadyItem>,
    ready: bool,
}

struct ReadyItem {
    what: &'static str,
    mark: StateMark,
    /// Details as HTML.
    details: String,
}

impl ReadyView {
    /// Returns the list for the page of the cutover, without a link to that page.
    pub(super) fn on_cutover_page(view: &MigrationView) -> Self {
        Self {
            id: None,
            ..Self::new(view)
        }
    }

    pub(super) fn new(view: &MigrationView) -> Self {
        let is_before_flip = matches!(
            view.summary.ownership,
            Ownership::Ready | Ownership::Fencing
        );
        let is_unwinding = view.summary.state == MigrationState::Unwinding;
        let items = if is_before_flip && !is_unwinding && view.summary.finished_at.is_none() {
            items(view)
        } else {
            Vec::new()
        };
        let ready = items.iter().all(|item| item.mark.tone == Tone::Good);
        Self {
            id: Some(view.summary.id.to_string()),
            items,
            ready,
        }
    }
}

fn items(view: &MigrationView) -> Vec<ReadyItem> {
    let mut items = vec![agent_item(view), seeding_item(view)];
    if view.summary.mode == Mode::Online {
        items.push(stream_item(view));
    }
    items.push(verify_item(view));
    if view.summary.mode == Mode::Online {
        items.push(step_item(view, "Rollback prepared", StepKind::OpenReverse));
    }
    items.push(writers_item(view));
    items.push(approval_item(view));
    items
}

/// Returns the item for the rows that existed when the move began: they were copied, or the target is a promoted
/// standby.
fn seeding_item(view: &MigrationView) -> ReadyItem {
    match step(view, StepKind::Promote) {
        Some(_) => step_item(view, "Standby promoted", StepKind::Promote),
        None => step_item(view, "Rows copied", StepKind::Copy),
    }
}

fn item(what: &'static str, is_met: bool, details: String) -> ReadyItem {
    let mark = if is_met {
        marks::go()
    } else {
        marks::not_yet()
    };
    ReadyItem {
        what,
        mark,
        details,
    }
}

fn step(view: &MigrationView, kind: StepKind) -> Option<&StepView> {
    view.steps.iter().find(|step| step.kind == kind)
}

/// Returns the first reason to wait of these kinds, as HTML.
fn wait_details(view: &MigrationView, kinds: &[WaitKind]) -> Option<String> {
    let wait = view.waits.iter().find(|wait| kinds.contains(&wait.kind))?;
    Some(escaped(wait))
}

/// Returns a wait as HTML text. It is escaped, because it may contain the name of a role or an application.
fn escaped(wait: &WaitReason) -> String {
    let text = wait.to_string();
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn agent_item(view: &MigrationView) -> ReadyItem {
    let live = view.owner.as_ref().is_some_and(|owner| owner.live);
    let details = wait_details(view, &[WaitKind::Agent]);
    let details = details.unwrap_or_else(|| {
        if live {
            "an agent has the lease"
        } else {
            "no agent has the lease"
        }
        .to_owned()
    });
    item("Agent", live, details)
}

fn step_item(view: &MigrationView, what: &'static str, kind: StepKind) -> ReadyItem {
    let found = step(view, kind).filter(|step| step.state == StepState::Done);
    let at = found.and_then(|step| step.finished_at);
    item(what, found.is_some(), at.map(moment).unwrap_or_default())
}

fn stream_item(view: &MigrationView) -> ReadyItem {
    let stream = view
        .stream
        .as_ref()
        .filter(|stream| stream.failure.is_none());
    let has_caught_up =
        step(view, StepKind::CatchUp).is_some_and(|step| step.state == StepState::Done);
    let lag = wait_details(view, &[WaitKind::Lag]);
    let details = match stream {
        None => "no stream runs".to_owned(),
        Some(stream) => format!("{} behind", millis(stream.lag_ms)),
    };
    let is_met = stream.is_some() && has_caught_up && lag.is_none();
    item("Changes applied", is_met, lag.unwrap_or(details))
}

fn verify_item(view: &MigrationView) -> ReadyItem {
    let done = step(view, StepKind::Verify).filter(|step| step.state == StepState::Done);
    let output = done.and_then(|step| step.output.clone());
    let found: Option<Verified> = output.and_then(|output| serde_json::from_value(output).ok());
    let at = done.and_then(|step| step.finished_at).map(moment);
    let rows = found.as_ref().map(|found| {
        let (rows, different) = (count(found.rows_compared), count(found.different));
        format!("{rows} rows, {different} differ, ")
    });
    let is_met = found.as_ref().is_none_or(|found| found.different == 0) && done.is_some();
    let details = rows.unwrap_or_default() + &at.unwrap_or_default();
    item("Copies compared", is_met, details)
}

fn writers_item(view: &MigrationView) -> ReadyItem {
    let kinds = [
        WaitKind::Gate,
        WaitKind::Lock,
        WaitKind::Cancel,
        WaitKind::Hook,
    ];
    let details = wait_details(view, &kinds);
    item(
        "No long writing transaction",
        details.is_none(),
        details.unwrap_or_else(|| "none is reported".to_owned()),
    )
}

fn approval_item(view: &MigrationView) -> ReadyItem {
    // The page shows the failure already.
    let has_failed = view.waits.iter().any(|wait| wait.kind == WaitKind::Failed);
    let details = match has_failed {
        true => Some("asked for once the failure is fixed and the migration is resumed".to_owned()),
        false => wait_details(view, &[WaitKind::Approval, WaitKind::Paused]),
    };
    let is_met = details.is_none() && (view.approved || is_automatic(view));
    let why = if is_automatic(view) {
        "not required: the plan has an automatic cutover"
    } else {
        ""
    };
    let waits_for_you = view
        .waits
        .iter()
        .any(|wait| wait.kind == WaitKind::Approval);
    let mut item = item(
        "Approval",
        is_met,
        details.unwrap_or_else(|| why.to_owned()),
    );
    if waits_for_you {
        item.mark = marks::waits_for_you();
    }
    item
}

fn is_automatic(view: &MigrationView) -> bool {
    view.plan.options.cutover == plans::request::Cutover::Automatic
}

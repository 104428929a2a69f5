//! The page of the cutover: the keys, whether the migration is ready, and the duration of every attempt in
//! milliseconds.

use super::super::commands::CommandsView;
use super::super::marks::{self, StateMark};
use super::super::page::{DashboardPage, Fragment, PageError};
use super::super::palette::Palette;
use super::attempts::{AttemptsView, CutoverCourse};
use super::events;
use super::ready::ReadyView;
use super::rollback::RollbackRequest;
use super::window::{WindowsView, blocked_ms};
use crate::access::Caller;
use crate::controller::{ControlError, Controller};
use crate::view::MigrationView;
use crate::view::sentence::migration_sentence;
use askama::Template;
use axum::Extension;
use axum::extract::{Path, State};
use chrono::{SecondsFormat, Utc};
use plans::id::{MigrationId, ShardName};
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState;

/// Shows the page.
pub(in crate::dashboard) async fn show(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<DashboardPage, PageError> {
    let id = MigrationId(id);
    Ok(DashboardPage {
        title: format!("Cutover of {id}"),
        live: Some(format!("/live/migrations/{id}/switch")),
        fragments: fragments(&controller, &id, &caller).await?,
        caller: Some(caller),
    })
}

/// Returns the fragments of the page in their current state.
pub(in crate::dashboard) async fn fragments(
    controller: &Controller,
    id: &MigrationId,
    caller: &Caller,
) -> Result<Vec<Fragment>, ControlError> {
    let snapshot = controller.load(id).await?;
    let events = events::read(controller, id).await?;
    let view = MigrationView::new(&snapshot, controller.figures(id).as_ref(), Utc::now());
    let shards = controller.store().shards().await?;
    let palette = Palette::of(shards.into_iter().map(|shard| shard.name));
    let attempts = AttemptsView::new(&events, &blocked_ms(&view));
    Ok(vec![
        Fragment::new(
            "switch",
            &CutoverHead::new(
                &view,
                &attempts,
                RollbackRequest::new(&view, &events),
                &palette,
            ),
        ),
        Fragment::new("orders", &CommandsView::of_cutover(&snapshot, caller)),
        Fragment::new("ready", &ReadyView::on_cutover_page(&view)),
        Fragment::new("windows", &WindowsView::on_cutover_page(&view)),
        Fragment::new("attempts", &attempts),
        Fragment::new("course", &CutoverCourse::new(&events)),
    ])
}

/// The owner of the keys, and how long writes to them may be refused.
#[derive(Template)]
#[template(path = "cutover/head.html")]
struct CutoverHead {
    id: String,
    title: String,
    mark: StateMark,
    sentence: String,
    rollback: Option<RollbackRequest>,
    keys: String,
    sides: [CutoverSide; 2],
    /// The heading of what the shards do afterwards; `None` if the owner does not change any more.
    then: Option<&'static str>,
    /// What would change the owner.
    next: &'static str,
    budget: u32,
    /// When the current attempt began. During an attempt writes may be refused.
    since: Option<String>,
    attempt: String,
}

/// The role of a shard for the moving keys, now and after the cutover.
struct CutoverSide {
    shard: String,
    /// The CSS class of the shard's colour.
    class: String,
    /// True if the shard owns the keys now.
    is_owner: bool,
    role: &'static str,
    now: &'static str,
    then: &'static str,
}

impl CutoverHead {
    fn new(
        view: &MigrationView,
        attempts: &AttemptsView,
        rollback: Option<RollbackRequest>,
        palette: &Palette,
    ) -> Self {
        let m = &view.summary;
        Self {
            id: m.id.to_string(),
            title: format!("Cutover {} → {}", m.source, m.target),
            mark: marks::of_migration(m.state),
            sentence: migration_sentence(view),
            rollback,
            keys: m.keys.to_string(),
            sides: sides(view, palette),
            then: then_title(view),
            next: if is_flipped(m.ownership) {
                "rollback"
            } else {
                "cutover"
            },
            budget: view.plan.options.write_stop_budget_ms,
            since: attempts
                .running_since()
                .map(|since| since.to_rfc3339_opts(SecondsFormat::Millis, true)),
            attempt: view.attempt.to_string(),
        }
    }
}

/// Returns whether the target owns the keys.
fn is_flipped(ownership: Ownership) -> bool {
    match ownership {
        Ownership::Flipped | Ownership::RollbackFencing | Ownership::Completed => true,
        Ownership::Ready | Ownership::Fencing | Ownership::Aborted | Ownership::RolledBack => false,
    }
}

fn then_title(view: &MigrationView) -> Option<&'static str> {
    let m = &view.summary;
    let is_final =
        m.finished_at.is_some() || matches!(m.ownership, Ownership::Completed | Ownership::Aborted);
    let title = if is_flipped(m.ownership) {
        "After a rollback"
    } else {
        "After the cutover"
    };
    (!is_final).then_some(title)
}

const OWNS: &str = "takes every read and write";
const FOLLOWS: &str = "receives the changes of the owner, takes no writes of the application";
const BLOCKS: &str = "writes are blocked for a moment";
const NO_ROWS: &str = "has no rows of the keys";

fn sides(view: &MigrationView, palette: &Palette) -> [CutoverSide; 2] {
    let m = &view.summary;
    let ended = m.finished_at.is_some();
    let copy_state = if ended { NO_ROWS } else { FOLLOWS };
    let (source, target, is_flipped) = match m.ownership {
        Ownership::Ready if m.state == MigrationState::Planned => (OWNS, NO_ROWS, false),
        Ownership::Ready => (OWNS, copy_state, false),
        Ownership::Fencing => (BLOCKS, FOLLOWS, false),
        Ownership::Aborted => (OWNS, NO_ROWS, false),
        Ownership::Flipped => (copy_state, OWNS, true),
        Ownership::RollbackFencing => (FOLLOWS, BLOCKS, true),
        Ownership::RolledBack => (OWNS, copy_state, false),
        Ownership::Completed => (NO_ROWS, OWNS, true),
    };
    // After a cutover the target owns the keys; after a rollback the source owns them.
    let (source_then, target_then) = if is_flipped {
        (OWNS, FOLLOWS)
    } else {
        (FOLLOWS, OWNS)
    };
    let is_final = ended || m.ownership == Ownership::Completed;
    let side = |shard: &ShardName, role, now, then| CutoverSide {
        shard: shard.to_string(),
        class: palette.class(shard),
        is_owner: now == OWNS,
        role,
        now,
        then: if is_final { now } else { then },
    };
    [
        side(&m.source, "source", source, source_then),
        side(&m.target, "target", target, target_then),
    ]
}

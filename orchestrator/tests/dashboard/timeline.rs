//! The timeline of a migration, its charts, its journal and its progress, with a past.

use crate::fixture::Dashboard;
use crate::{past, state, step};
use orchestrator::store::Snapshot;
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState as State;
use plans::state::step::StepState;
use plans::step::StepKind;
use serde_json::json;

/// The copy runs, after a first attempt that failed.
fn copying(snapshot: &mut Snapshot) {
    state(State::Running, Ownership::Ready)(snapshot);
    super::hold(snapshot);
    for kind in [
        StepKind::Preflight,
        StepKind::CreateTarget,
        StepKind::OpenCapture,
    ] {
        step(snapshot, kind).state = StepState::Done;
    }
    let copy = step(snapshot, StepKind::Copy);
    copy.state = StepState::Running;
    copy.attempt = 2;
    copy.progress = Some(
        json!({"message": "", "rows_per_second": 1200.0, "bytes_per_second": 250_000.0, "eta_seconds": 95.0,
            "tables": [{"table": "public.orders", "rows_done": 50, "rows_total": 200, "bytes_done": 1024,
                "bytes_total": 4096, "phase": "copying"}]}),
    );
}

async fn with_past(edit: impl FnOnce(&mut Snapshot)) -> Dashboard {
    let dashboard = Dashboard::with_migration(edit).await;
    past::give(&dashboard).await;
    dashboard
}

/// The row of a phase.
fn phase<'a>(page: &'a str, name: &str) -> &'a str {
    let row = page.split(&format!("id=\"phase-{name}\"")).nth(1).unwrap();
    row.split("lane-took").next().unwrap()
}

#[tokio::test]
async fn a_timeline_has_attempts_waits_and_a_prediction() {
    let dashboard = with_past(copying).await;
    let page = dashboard.page("/migrations/m1").await;
    let copy = phase(&page, "copy");
    for words in [
        "aria-current=\"step\"",
        "class=\"bar bad\"",
        "copy attempt failed",
        "class=\"bar wait\"",
        "fill=\"url(#hatch)\"",
        "class=\"bar busy\"",
        "class=\"bar later\"",
        "copy predicted",
        "class=\"now\"",
    ] {
        assert!(copy.contains(words), "{words}: {copy}");
    }
    let prepare = phase(&page, "prepare");
    assert!(prepare.contains("class=\"bar done\""), "{prepare}");
    let verify = phase(&page, "verify");
    assert!(!verify.contains("class=\"bar"), "{verify}");
    assert!(verify.contains("Verify; pending; later"), "{verify}");
}

#[tokio::test]
async fn the_head_has_one_bar_with_rows_a_rate_and_a_range() {
    let dashboard = with_past(copying).await;
    let page = dashboard.page("/migrations/m1").await;
    let head = page.split("<section id=\"orders\"").next().unwrap();
    for words in [
        "split tenants: <span",
        "keys [501, ∞)",
        "<strong>25 %</strong> <span>of the rows copied</span>",
        "50 of 200 rows",
        "rows/s, 244.1 KiB/s",
        "ends between <time",
        "nothing waits for you",
    ] {
        assert!(head.contains(words), "{words}: {head}");
    }
    assert_eq!(head.matches("<progress").count(), 1);
}

#[tokio::test]
async fn charts_have_gaps_marks_and_one_axis() {
    let dashboard = with_past(copying).await;
    let page = dashboard.page("/migrations/m1").await;
    let charts: Vec<&str> = page.split("<figure class=\"chart\">").skip(1).collect();
    assert_eq!(charts.len(), 5);
    let rows = charts[0];
    assert!(rows.contains("Rows per second"), "{rows}");
    let path = rows.split("d=\"").nth(1).unwrap();
    let path = path.split('"').next().unwrap();
    assert_eq!(path.matches('M').count(), 2, "one gap: {path}");
    assert!(rows.contains(">not measured<"), "{rows}");
    assert!(rows.contains("began: copy at"), "{rows}");
    let times = |chart: &str| -> Vec<String> {
        let labels = chart.split("<text class=\"x\" x=\"").skip(1);
        labels
            .map(|rest| rest.split("</text>").next().unwrap().to_owned())
            .collect()
    };
    assert!(charts.iter().all(|chart| times(chart) == times(rows)));
}

#[tokio::test]
async fn the_journal_is_filtered_by_kind_step_and_text() {
    let dashboard = with_past(copying).await;
    let lines = async |query: &str| {
        let page = dashboard.page(&format!("/migrations/m1?{query}")).await;
        let events = page.split("<section id=\"events\"").nth(1).unwrap();
        let events = events.split("</section>").next().unwrap().to_owned();
        (events.matches("<tr>").count() - 1, events)
    };
    let (all, _) = lines("").await;
    let (steps, _) = lines("kind=step").await;
    let (copy, _) = lines("kind=step&of=copy").await;
    assert!(all > steps && steps > copy, "{all} {steps} {copy}");
    assert_eq!(copy, 3);
    let (found, events) = lines("text=REFUSED").await;
    assert_eq!(found, 1, "{events}");
    let page = dashboard.page("/migrations/m1?text=%3Cb%3E").await;
    assert!(page.contains("No line of the journal matches"), "{page}");
    assert!(page.contains("value=\"&#60;b&#62;\""), "{page}");
    assert!(
        page.contains("data-url=\"/live/migrations/m1?text=%3Cb%3E\""),
        "{page}"
    );
}

#[tokio::test]
async fn a_wait_for_an_approval_is_amber_only_while_it_lasts() {
    let waiting = |snapshot: &mut Snapshot| {
        state(State::Waiting, Ownership::Ready)(snapshot);
        snapshot.migration.waiting_for = Some("approval of the cutover".to_owned());
        for step in &mut snapshot.steps {
            if step.kind == StepKind::Cutover {
                break;
            }
            step.state = StepState::Done;
        }
    };
    let dashboard = with_past(waiting).await;
    let page = dashboard.page("/migrations/m1").await;
    let cutover = phase(&page, "cutover");
    assert!(cutover.contains("class=\"bar wait ask\""), "{cutover}");
    assert!(cutover.contains("waited for an approval"), "{cutover}");
    assert!(
        page.contains("Waits for your approval of the cutover"),
        "{page}"
    );
    let done = |snapshot: &mut Snapshot| {
        state(State::Completed, Ownership::Completed)(snapshot);
        for step in &mut snapshot.steps {
            step.state = StepState::Done;
        }
    };
    dashboard.edit("m1", done).await;
    let page = dashboard.page("/migrations/m1").await;
    assert!(!page.contains("class=\"bar wait ask\""), "{page}");
}

#[tokio::test]
async fn an_aborted_migration_has_grey_bars_and_steps_that_did_not_run() {
    let dashboard = with_past(copying).await;
    let aborted = |snapshot: &mut Snapshot| {
        state(State::Unwound, Ownership::Aborted)(snapshot);
        step(snapshot, StepKind::Copy).state = StepState::Pending;
    };
    dashboard.edit("m1", aborted).await;
    let page = dashboard.page("/migrations/m1").await;
    assert!(
        page.contains("<section id=\"tables\" class=\"unsuccessful\">"),
        "{page}"
    );
    let head = page.split("<section id=\"orders\"").next().unwrap();
    assert!(!head.contains("<progress"), "{head}");
    assert!(page.contains("<span>not run</span>"), "{page}");
}

//! The shards beside the map: what contradicts, what is left over, and its mending.

use super::{ApiError, actor, json_or_default};
use crate::controller::{
    CleanupOrder, CleanupReport, Controller, FleetReport, ReconcileOrder, Role,
};
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use plans::inspection::reconcile::FindingKind;
use std::fmt::Write;

/// What the last looks showed.
pub(super) async fn show(State(controller): State<Controller>) -> Json<FleetReport> {
    Json(controller.fleet())
}

/// Looks now, and does what the order says.
pub(super) async fn reconcile(
    State(controller): State<Controller>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<FleetReport>, ApiError> {
    let order: ReconcileOrder = json_or_default(&body)?;
    Ok(Json(controller.reconcile(&order, actor(&headers)).await?))
}

/// Lists what no live migration explains, and removes it if the order says so.
pub(super) async fn cleanup(
    State(controller): State<Controller>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<CleanupReport>, ApiError> {
    let order: CleanupOrder = json_or_default(&body)?;
    Ok(Json(controller.cleanup(&order, actor(&headers)).await?))
}

/// Who leads, and what the leader's looks found by kind, for a monitoring system. A follower does not look.
pub(super) fn metrics(controller: &Controller) -> String {
    let leads = matches!(controller.role(), Role::Leads(_));
    let mut text = format!(
        "# HELP shardwright_controller_leads Whether this controller leads.\n\
         # TYPE shardwright_controller_leads gauge\n\
         shardwright_controller_leads {}\n",
        u8::from(leads)
    );
    if !leads {
        return text;
    }
    text.push_str(
        "# HELP shardwright_fleet_findings What the last looks at the shards found to contradict the map.\n\
         # TYPE shardwright_fleet_findings gauge\n",
    );
    let findings = controller.fleet().findings;
    for kind in FindingKind::ALL {
        let found = findings
            .iter()
            .filter(|finding| finding.kind == kind)
            .count();
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "shardwright_fleet_findings{{kind=\"{kind}\"}} {found}"
        );
    }
    text
}

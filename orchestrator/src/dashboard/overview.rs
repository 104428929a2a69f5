//! The overview: what needs attention, operations with their moves, maps, agents, and the leader.

mod agents;
mod attention;
mod leader;
mod maps;
mod operations;

use super::open::OpenMigration;
use super::page::{DashboardPage, Fragment, LEADER, PageError};
use crate::access::{Caller, RouteAccess};
use crate::controller::{ControlError, Controller, MarkedMap};
use agents::OverviewAgents;
use attention::OverviewAttention;
use axum::Extension;
use axum::extract::State;
use chrono::Utc;
use leader::OverviewLeader;
use maps::OverviewMaps;
use operations::OverviewOperations;

/// The maximum number of operations in the list: the newest ones.
const MAX_OPERATIONS: i64 = 100;

/// Shows the page.
pub(super) async fn show(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
) -> Result<DashboardPage, PageError> {
    Ok(DashboardPage {
        title: "Overview".to_owned(),
        live: Some("/live/overview".to_owned()),
        fragments: fragments(&controller, &caller).await?,
        caller: Some(caller),
    })
}

/// Returns the fragments of the page in their current state.
pub(super) async fn fragments(
    controller: &Controller,
    caller: &Caller,
) -> Result<Vec<Fragment>, ControlError> {
    let now = Utc::now();
    let store = controller.store();
    let (unfinished, operations) = (
        store.unfinished().await?,
        store.operations(MAX_OPERATIONS, None).await?,
    );
    let (agents, shards) = (store.agents().await?, store.shards().await?);
    let maps = store.maps().await?.into_iter();
    let maps: Vec<MarkedMap> = maps.map(|map| MarkedMap::new(map, &unfinished)).collect();
    let views: Vec<OpenMigration> = unfinished
        .iter()
        .map(|s| OpenMigration::new(controller, s, now))
        .collect();
    let agents = OverviewAgents::new(&agents, &views, now);
    let attention = OverviewAttention::new(&views, &agents, controller.fleet().findings);
    let can_plan = !shards.is_empty() && !maps.is_empty();
    let operations = OverviewOperations::new(
        &operations,
        &views,
        (can_plan, caller.may(RouteAccess::Operate)),
    );
    Ok(vec![
        Fragment::new("attention", &attention),
        Fragment::new("migrations", &operations),
        Fragment::new("maps", &OverviewMaps::new(&maps, &shards)),
        Fragment::new("agents", &agents),
        Fragment::new(LEADER, &OverviewLeader::new(controller)),
    ])
}

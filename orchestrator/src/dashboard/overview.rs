//! The overview: what needs a person, the fleet as a picture, migrations, and the leader.

mod attention;
mod fleet;
mod flow_style;
mod flows;
mod leader;
mod operations;
mod steps;
mod trend;

use super::agents::is_connected;
use super::open::OpenMigration;
use super::page::{DashboardPage, Fragment, LEADER, PageError};
use super::prober::OtherProber;
use super::shards::ShardState;
use crate::access::{Caller, RouteAccess};
use crate::controller::{ControlError, Controller, FleetMeasure};
use attention::{FleetNeeds, OverviewAttention};
use axum::Extension;
use axum::extract::{Query, State};
use chrono::Utc;
use fleet::{FleetParts, FleetPicture};
use leader::OverviewLeader;
use operations::OverviewOperations;
use serde::Deserialize;
use steps::FirstSteps;
use trend::ImbalanceTrend;

/// The maximum number of operations that are read: the newest ones.
const MAX_OPERATIONS: i64 = 100;

/// The query parameters.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct OverviewQuery {
    /// The name of the measure by which shards are compared.
    by: String,
}

/// Shows the page.
pub(super) async fn show(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<OverviewQuery>,
) -> Result<DashboardPage, PageError> {
    let measure = FleetMeasure::parse(&query.by);
    Ok(DashboardPage {
        title: "Overview".to_owned(),
        live: Some(format!("/live/overview?by={}", measure.name())),
        fragments: fragments(&controller, &query, &caller).await?,
        caller: Some(caller),
    })
}

/// Returns the fragments of the page in their current state.
pub(super) async fn fragments(
    controller: &Controller,
    query: &OverviewQuery,
    caller: &Caller,
) -> Result<Vec<Fragment>, ControlError> {
    let now = Utc::now();
    let store = controller.store();
    let unfinished = store.unfinished().await?;
    let operations = store.operations(MAX_OPERATIONS, None).await?;
    let (agents, records) = (store.agents().await?, store.shards().await?);
    let has_map = !store.maps().await?.is_empty();
    let views: Vec<OpenMigration> = unfinished
        .iter()
        .map(|snapshot| OpenMigration::new(controller, snapshot, now))
        .collect();
    let shards = ShardState::all(controller, &records);
    let needs = FleetNeeds {
        unfinished: &views,
        shards: &shards,
        agents: &agents,
        findings: controller.contradictions(),
        now,
    };
    let connected = agents.iter().filter(|agent| is_connected(agent, now));
    let may_plan = caller.may(RouteAccess::Operate);
    let steps = FirstSteps::new(!agents.is_empty(), &records, has_map, may_plan);
    let steps = steps.hidden_if(!operations.is_empty());
    let measure = FleetMeasure::parse(&query.by);
    let picture = FleetPicture::new(FleetParts {
        shards: &shards,
        unfinished: &views,
        measure,
        trend: ImbalanceTrend::new(&controller.imbalance_history().await?, measure, now),
        connected_agents: connected.count(),
        prober: OtherProber::on_page(controller, "/"),
    });
    let list = OverviewOperations::new(&operations, &views, may_plan);
    Ok(vec![
        Fragment::new("attention", &OverviewAttention::new(needs, caller)),
        Fragment::new("first-steps", &steps),
        Fragment::new("fleet", &picture),
        Fragment::new("migrations", &list),
        Fragment::new(LEADER, &OverviewLeader::new(controller)),
    ])
}

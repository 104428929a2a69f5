//! The page of one shard: its server, keys, migrations, standbys, slots, tables, and what Shardwright keeps there.
//!
//! Everything about the server is as of the last probe. The page names its time, and what the probe could not read.

mod objects;

use super::keys::keys_by_shard;
use super::{FleetMeasure, ShardState, rate_text};
use crate::access::{Caller, RouteAccess};
use crate::controller::{ControlError, Controller, ShardActivity};
use crate::dashboard::marks::StateMark;
use crate::dashboard::open::{MigrationListRow, OpenMigration};
use crate::dashboard::page::{DashboardPage, Fragment, PageError};
use crate::dashboard::palette::Palette;
use crate::view::figures::{ago, count, file_size};
use askama::Template;
use axum::Extension;
use axum::extract::{Path, State};
use chrono::Utc;
use objects::ShardObjects;
use plans::id::ShardName;
use plans::inspection::inventory::{ActiveSlot, ActiveStandby, MeasuredTable};

/// The title, and the figures of the server.
#[derive(Template)]
#[template(path = "shards/head.html")]
struct ShardHead {
    name: String,
    colour: String,
    mark: StateMark,
    is_standby: bool,
    /// Why the last probe failed.
    failure: Option<String>,
    /// When a probe last reached the shard, as HTML.
    reached: Option<String>,
    /// Names and values; a value that was not measured is missing.
    figures: Vec<(&'static str, Option<String>)>,
    server: Vec<(&'static str, Option<String>)>,
    dsn: String,
    labels: Vec<String>,
    added: String,
    may_administer: bool,
}

/// The keys of each map, and the unfinished migrations.
#[derive(Template)]
#[template(path = "shards/work.html")]
struct ShardWork {
    name: String,
    keys: Vec<(String, String)>,
    moves: Vec<MigrationListRow>,
}

/// The standbys and the slots.
#[derive(Template)]
#[template(path = "shards/replication.html")]
struct ShardReplication {
    is_measured: bool,
    standbys: Vec<(ActiveStandby, Option<String>)>,
    slots: Vec<(ActiveSlot, Option<String>)>,
}

/// The largest tables.
#[derive(Template)]
#[template(path = "shards/tables.html")]
struct ShardTables {
    is_measured: bool,
    rows: Vec<ShardTableRow>,
    /// The number of tables that are not listed.
    hidden: u64,
    colour: String,
}

struct ShardTableRow {
    name: String,
    size: String,
    /// The size in percent of the largest table.
    bar: f64,
    rows: Option<String>,
}

/// Shows the page.
pub(in crate::dashboard) async fn show(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Result<DashboardPage, PageError> {
    let name = ShardName(name);
    Ok(DashboardPage {
        title: format!("Shard {name}"),
        live: Some(format!("/live/shards/{name}")),
        fragments: fragments(&controller, &name, &caller).await?,
        caller: Some(caller),
    })
}

/// Returns the fragments of the page in their current state.
pub(in crate::dashboard) async fn fragments(
    controller: &Controller,
    name: &ShardName,
    caller: &Caller,
) -> Result<Vec<Fragment>, ControlError> {
    let record = controller.shard(name).await?;
    let store = controller.store();
    let shards = store.shards().await?;
    let palette = Palette::of(shards.into_iter().map(|shard| shard.name));
    let state = ShardState {
        probed: controller.probed_shard(name),
        record: &record,
    };
    let keys = keys_by_shard(&store.maps().await?, std::iter::once(name)).remove(name);
    let work = ShardWork {
        name: name.to_string(),
        keys: keys.unwrap_or_default(),
        moves: moves(controller, name).await?,
    };
    let activity = state.probed.activity.as_deref();
    let objects = ShardObjects::new(controller.last_inventory(name));
    Ok(vec![
        Fragment::new("head", &head(&state, &palette, caller)),
        Fragment::new("work", &work),
        Fragment::new("replication", &replication(activity)),
        Fragment::new("tables", &tables(activity, palette.class(name))),
        Fragment::new("objects", &objects),
    ])
}

fn head(state: &ShardState<'_>, palette: &Palette, caller: &Caller) -> ShardHead {
    let record = state.record;
    let labels = record.labels.iter();
    ShardHead {
        name: record.name.to_string(),
        colour: palette.class(&record.name),
        mark: state.mark(),
        is_standby: record.is_standby(),
        failure: state.probed.failure.clone(),
        reached: state.reached(),
        figures: figures(state),
        server: server(state),
        dsn: record.dsn.clone(),
        labels: labels
            .map(|(label, value)| format!("{label}={value}"))
            .collect(),
        added: ago(record.created_at),
        may_administer: caller.may(RouteAccess::Administer),
    }
}

fn figures(state: &ShardState<'_>) -> Vec<(&'static str, Option<String>)> {
    let activity = state.probed.activity.as_deref();
    let with_limit = |measure: FleetMeasure| {
        let text = measure.text(measure.of(state)?);
        Some(match measure.limit(state) {
            Some(limit) => format!("{text} of {}", measure.text(limit)),
            None => text,
        })
    };
    let commits = activity.and_then(|activity| activity.commits_per_second);
    vec![
        ("Size on disk", with_limit(FleetMeasure::Size)),
        ("Rows written", with_limit(FleetMeasure::Writes)),
        (
            "Transactions",
            commits.map(|rate| rate_text(rate, "commit")),
        ),
        ("Connections", with_limit(FleetMeasure::Connections)),
        (
            "Tables",
            activity.map(|activity| whole(activity.now.table_count)),
        ),
    ]
}

fn server(state: &ShardState<'_>) -> Vec<(&'static str, Option<String>)> {
    let record = state.record;
    let identity = record.identity.as_ref();
    let version = state.probed.figures.as_ref();
    vec![
        ("PostgreSQL", version.map(|figures| figures.version.clone())),
        ("System identifier", identity.map(|it| it.system.clone())),
        ("Timeline", identity.map(|it| it.timeline.to_string())),
        (
            "Database OID",
            identity.and_then(|it| it.database.map(|oid| oid.to_string())),
        ),
        ("Database id", identity.and_then(|it| it.id.clone())),
        ("Number in the fleet", Some(record.number.to_string())),
        ("Capacity", Some(record.capacity.to_string())),
    ]
}

fn whole(number: u64) -> String {
    count(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Returns the unfinished migrations that have the shard as source or target.
async fn moves(
    controller: &Controller,
    name: &ShardName,
) -> Result<Vec<MigrationListRow>, ControlError> {
    let now = Utc::now();
    let unfinished = controller.store().unfinished().await?;
    let touching = unfinished.iter().filter(|snapshot| {
        let moving = &snapshot.migration.plan.moving;
        &moving.source == name || &moving.target == name
    });
    let rows = touching.map(|snapshot| {
        let open = OpenMigration::new(controller, snapshot, now);
        MigrationListRow::new(&snapshot.migration, std::slice::from_ref(&open))
    });
    Ok(rows.collect())
}

fn replication(activity: Option<&ShardActivity>) -> ShardReplication {
    let server = activity.map(|activity| activity.now.clone());
    let is_measured = server.is_some();
    let server = server.unwrap_or_default();
    let standbys = server.standbys.into_iter();
    let slots = server.slots.into_iter();
    ShardReplication {
        is_measured,
        standbys: standbys
            .map(|standby| {
                let lag = standby.lag_bytes.map(file_size);
                (standby, lag)
            })
            .collect(),
        slots: slots
            .map(|slot| {
                let retained = slot.retained_bytes.map(file_size);
                (slot, retained)
            })
            .collect(),
    }
}

fn tables(activity: Option<&ShardActivity>, colour: String) -> ShardTables {
    let measured = activity.map_or_else(Vec::new, |activity| activity.now.tables.clone());
    let largest = measured.iter().map(|table| table.bytes).max().unwrap_or(0);
    let all = activity.map_or(0, |activity| activity.now.table_count);
    let listed = u64::try_from(measured.len()).unwrap_or(u64::MAX);
    let row = |table: MeasuredTable| ShardTableRow {
        bar: (table.bytes as f64 * 1000.0 / largest.max(1) as f64).round() / 10.0,
        size: file_size(table.bytes),
        rows: table.rows.map(whole),
        name: table.name,
    };
    ShardTables {
        is_measured: activity.is_some(),
        rows: measured.into_iter().map(row).collect(),
        hidden: all.saturating_sub(listed),
        colour,
    }
}

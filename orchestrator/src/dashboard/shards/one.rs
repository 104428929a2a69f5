//! The page of one shard: its server, keys, migrations, standbys, slots, tables, and what Shardwright keeps there.
//!
//! Everything about the server is as of the last probe. The page names its time, and what the probe could not read.

mod objects;
mod slots;

use super::ShardState;
use super::keys::keys_by_shard;
use crate::access::{Caller, RouteAccess};
use crate::controller::{ControlError, Controller};
use crate::dashboard::marks::StateMark;
use crate::dashboard::open::{MigrationListRow, OpenMigration};
use crate::dashboard::page::{DashboardPage, Fragment, PageError};
use crate::dashboard::palette::Palette;
use crate::dashboard::prober::{OtherProber, probes_here};
use crate::view::figures::{ago, count, file_size};
use crate::view::server::{ServerFigures, ServerValue, StandbyTexts};
use askama::Template;
use axum::Extension;
use axum::extract::{Path, State};
use chrono::Utc;
use objects::ShardObjects;
use plans::id::ShardName;
use plans::inspection::inventory::{ActivityPart, MeasuredTable};
use slots::{SlotGroup, slot_groups};

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
    figures: Vec<(&'static str, ServerValue)>,
    server: Vec<(&'static str, Option<String>)>,
    dsn: String,
    labels: Vec<String>,
    added: String,
    may_administer: bool,
    /// The note of a controller that does not probe.
    prober: Option<OtherProber>,
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
    /// `Err`: why they are not known.
    standbys: Result<Vec<StandbyTexts>, String>,
    slots: Result<Vec<SlotGroup>, String>,
}

/// The largest tables.
#[derive(Template)]
#[template(path = "shards/tables.html")]
struct ShardTables {
    /// Why the tables are not known.
    unknown: Option<String>,
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
        probes_here: probes_here(controller),
    };
    let keys = keys_by_shard(&store.maps().await?, std::iter::once(name)).remove(name);
    let work = ShardWork {
        name: name.to_string(),
        keys: keys.unwrap_or_default(),
        moves: moves(controller, name).await?,
    };
    let replication = ShardReplication {
        standbys: state.server().standbys(),
        slots: slot_groups(controller, state.server()).await,
    };
    let objects = ShardObjects::new(controller.last_inventory(name));
    Ok(vec![
        Fragment::new(
            "head",
            &ShardHead {
                prober: OtherProber::on_page(controller, format!("/shards/{name}")),
                ..head(&state, &palette, caller)
            },
        ),
        Fragment::new("work", &work),
        Fragment::new("replication", &replication),
        Fragment::new("tables", &tables(state.server(), palette.class(name))),
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
        figures: state.server().totals(),
        server: server(state),
        dsn: record.dsn.clone(),
        labels: labels
            .map(|(label, value)| format!("{label}={value}"))
            .collect(),
        added: ago(record.created_at),
        may_administer: caller.may(RouteAccess::Administer),
        prober: None,
    }
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

fn tables(server: ServerFigures<'_>, colour: String) -> ShardTables {
    let (unknown, now) = match server.read_part(ActivityPart::Tables) {
        Ok(activity) => (None, Some(&activity.now)),
        Err(why) => (Some(why), None),
    };
    let measured = now.map_or_else(Vec::new, |now| now.tables.clone());
    let largest = measured.iter().map(|table| table.bytes).max().unwrap_or(0);
    let listed = u64::try_from(measured.len()).unwrap_or(u64::MAX);
    let row = |table: MeasuredTable| ShardTableRow {
        bar: (table.bytes as f64 * 1000.0 / largest.max(1) as f64).round() / 10.0,
        size: file_size(table.bytes),
        rows: table.rows.map(whole),
        name: table.name,
    };
    ShardTables {
        unknown,
        rows: measured.into_iter().map(row).collect(),
        hidden: now.map_or(0, |now| now.table_count.saturating_sub(listed)),
        colour,
    }
}

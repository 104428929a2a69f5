//! The routes of maps: versions, settings, owners of keys, measurements and checks.

use crate::api::migrations::CommandReason;
use crate::api::openapi::{DescribedRoutes, RouteDoc};
use crate::api::{LocatedKey, inspections, maps};
use crate::controller::{
    ClientReport, ConversionReport, ConvertRequest, LatencyReport, LoadRequest, MapCheck, MapEdit,
    MapLoad, NewMap, RepairOutcome,
};
use crate::store::{ConversionRecord, MapVersionRecord, SettingsRecord};
use plans::inspection::check::RepairRequest;
use plans::shard_map::{Difference, MapSettings, ShardMap};
use serde_json::Value;

pub(super) fn of_maps(all: DescribedRoutes) -> DescribedRoutes {
    let settings = "/api/v1/maps/{name}/settings";
    let all = of_versions(all)
        .patch(
            settings,
            maps::set,
            RouteDoc::of("Change settings of a map, as a JSON merge patch")
                .takes::<Value>()
                .answers::<MapSettings>(),
        )
        .get(
            settings,
            maps::settings,
            RouteDoc::of("All revisions of the settings").answers::<Vec<SettingsRecord>>(),
        )
        .post(
            "/api/v1/maps/{name}/locate",
            maps::locate,
            RouteDoc::of("The shard that owns a key")
                .takes::<Value>()
                .answers::<LocatedKey>(),
        )
        .get(
            "/api/v1/maps/{name}/changes",
            maps::changes,
            RouteDoc::of("The map, now and after each change, as server-sent events").feeds(),
        );
    of_load(all)
}

fn of_versions(all: DescribedRoutes) -> DescribedRoutes {
    let versions = "/api/v1/maps/{name}/versions";
    all.post(
        "/api/v1/maps",
        maps::create,
        RouteDoc::of("Create a map")
            .takes::<NewMap>()
            .creates::<ShardMap>(),
    )
    .get(
        "/api/v1/maps",
        maps::list,
        RouteDoc::of("All maps in force").answers::<Vec<ShardMap>>(),
    )
    .get(
        "/api/v1/maps/{name}",
        maps::show,
        RouteDoc::of("The map in force; its ETag is the version").answers::<ShardMap>(),
    )
    .delete(
        "/api/v1/maps/{name}",
        maps::remove,
        RouteDoc::of("Remove a map that has no migration").may_take::<CommandReason>(),
    )
    .post(
        versions,
        maps::edit,
        RouteDoc::of(
            "Create the next version without a migration, for keys that have no rows or whose rows are already on the named shard",
        )
        .takes::<MapEdit>()
        .answers::<ShardMap>(),
    )
    .post(
        "/api/v1/maps/{name}/conversions",
        maps::convert,
        RouteDoc::of(
            "Give a map another strategy or another key. Each key that exists keeps its shard, and no row moves",
        )
        .takes::<ConvertRequest>()
        .answers::<ConversionReport>(),
    )
    .get(
        "/api/v1/maps/{name}/conversions",
        maps::conversions,
        RouteDoc::of("The conversions of a map, newest first").answers::<Vec<ConversionRecord>>(),
    )
    .get(
        versions,
        maps::history,
        RouteDoc::of("All versions of a map").answers::<Vec<MapVersionRecord>>(),
    )
    .get(
        "/api/v1/maps/{name}/versions/{version}",
        maps::version,
        RouteDoc::of("One version of a map").answers::<ShardMap>(),
    )
    .get(
        "/api/v1/maps/{name}/diff",
        maps::diff,
        RouteDoc::of("The keys that have different owners in two versions")
            .query("from", "integer", "The older version; required.")
            .query("to", "integer", "The newer version; required.")
            .answers::<Vec<Difference>>(),
    )
}

/// Adds the routes for measurements and checks of maps.
fn of_load(all: DescribedRoutes) -> DescribedRoutes {
    all.get(
        "/api/v1/maps/{name}/load",
        inspections::load,
        RouteDoc::of("Measure the load of the shards and keys of a map").answers::<MapLoad>(),
    )
    .post(
        "/api/v1/maps/{name}/load",
        inspections::load_with_body,
        RouteDoc::of("Measure the load; the body specifies what is measured")
            .may_take::<LoadRequest>()
            .answers::<MapLoad>(),
    )
    .post(
        "/api/v1/maps/{name}/counters",
        inspections::counters,
        RouteDoc::of("An application reports how often it used which keys").takes::<ClientReport>(),
    )
    .post(
        "/api/v1/maps/{name}/latency",
        maps::latency,
        RouteDoc::of("An application reports its p99 latency, which migrations can keep below a limit")
            .takes::<LatencyReport>(),
    )
    .post(
        "/api/v1/maps/{name}/check",
        inspections::check,
        RouteDoc::of("Check every shard for rows and guards that contradict the map")
            .query(
                "token",
                "string",
                "The token of a check that could not examine everything; only the rest is examined.",
            )
            .answers::<MapCheck>(),
    )
    .post(
        "/api/v1/maps/{name}/mend",
        inspections::repair,
        RouteDoc::of("Carry out the repairs that a check proposed")
            .takes::<RepairRequest>()
            .answers::<Vec<RepairOutcome>>(),
    )
}

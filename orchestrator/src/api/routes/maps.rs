//! The routes of maps: versions, settings, owners of keys, measurements and checks.

use crate::api::openapi::{DescribedRoutes, RouteDoc};
use crate::api::{LocatedKey, inspections, maps};
use crate::controller::{
    ClientReport, LatencyReport, LoadRequest, MapCheck, MapEdit, MapLoad, NewMap, RepairOutcome,
};
use crate::store::{MapVersionRecord, SettingsRecord};
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
            RouteDoc::of("The owner of a key")
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
    .post(
        versions,
        maps::edit,
        RouteDoc::of(
            "Make the next version by hand, of keys that have no rows or are where they belong",
        )
        .takes::<MapEdit>()
        .answers::<ShardMap>(),
    )
    .get(
        versions,
        maps::history,
        RouteDoc::of("All versions of a map").answers::<Vec<MapVersionRecord>>(),
    )
    .get(
        "/api/v1/maps/{name}/versions/{version}",
        maps::version,
        RouteDoc::of("The map as it was in this version").answers::<ShardMap>(),
    )
    .get(
        "/api/v1/maps/{name}/diff",
        maps::diff,
        RouteDoc::of("What changed its owner between two versions")
            .query("from", "integer", "The older version; needed.")
            .query("to", "integer", "The newer version; needed.")
            .answers::<Vec<Difference>>(),
    )
}

/// Adds the routes for measurements and checks of maps.
fn of_load(all: DescribedRoutes) -> DescribedRoutes {
    all.get(
        "/api/v1/maps/{name}/load",
        inspections::load,
        RouteDoc::of("What shards and keys of a map cost").answers::<MapLoad>(),
    )
    .post(
        "/api/v1/maps/{name}/load",
        inspections::load_by,
        RouteDoc::of("The same, measured as the body says")
            .may_take::<LoadRequest>()
            .answers::<MapLoad>(),
    )
    .post(
        "/api/v1/maps/{name}/counters",
        inspections::counters,
        RouteDoc::of("An application tells how often it used which keys").takes::<ClientReport>(),
    )
    .post(
        "/api/v1/maps/{name}/latency",
        maps::latency,
        RouteDoc::of("An application tells its p99, which migrations can hold")
            .takes::<LatencyReport>(),
    )
    .post(
        "/api/v1/maps/{name}/check",
        inspections::check,
        RouteDoc::of("Look on every shard for rows and guards that are not where the map says")
            .query(
                "token",
                "string",
                "The check to go on with, where it failed.",
            )
            .answers::<MapCheck>(),
    )
    .post(
        "/api/v1/maps/{name}/mend",
        inspections::repair,
        RouteDoc::of("Do what a check proposed")
            .takes::<RepairRequest>()
            .answers::<Vec<RepairOutcome>>(),
    )
}

//! The routes of maps: versions, settings, owners of keys, and what is measured and checked of them.

use crate::api::openapi::{About, Described};
use crate::api::{Located, inspections, maps};
use crate::controller::{
    ClientReport, LatencyReport, LoadAsk, MapCheck, MapEdit, MapLoad, MendOutcome, NewMap,
};
use crate::store::{MapVersionRecord, SettingsRecord};
use plans::inspection::check::MendRequest;
use plans::shard_map::{Difference, MapSettings, ShardMap};
use serde_json::Value;

pub(super) fn of_maps(all: Described) -> Described {
    let settings = "/api/v1/maps/{name}/settings";
    let all = of_versions(all)
        .patch(
            settings,
            maps::set,
            About::of("Change settings of a map, as a JSON merge patch")
                .takes::<Value>()
                .answers::<MapSettings>(),
        )
        .get(
            settings,
            maps::settings,
            About::of("All revisions of the settings").answers::<Vec<SettingsRecord>>(),
        )
        .post(
            "/api/v1/maps/{name}/locate",
            maps::locate,
            About::of("The owner of a key")
                .takes::<Value>()
                .answers::<Located>(),
        )
        .get(
            "/api/v1/maps/{name}/changes",
            maps::changes,
            About::of("The map, now and after each change, as server-sent events").feeds(),
        );
    of_load(all)
}

fn of_versions(all: Described) -> Described {
    let versions = "/api/v1/maps/{name}/versions";
    all.post(
        "/api/v1/maps",
        maps::create,
        About::of("Create a map")
            .takes::<NewMap>()
            .creates::<ShardMap>(),
    )
    .get(
        "/api/v1/maps",
        maps::list,
        About::of("All maps in force").answers::<Vec<ShardMap>>(),
    )
    .get(
        "/api/v1/maps/{name}",
        maps::show,
        About::of("The map in force; its ETag is the version").answers::<ShardMap>(),
    )
    .post(
        versions,
        maps::edit,
        About::of(
            "Make the next version by hand, of keys that have no rows or are where they belong",
        )
        .takes::<MapEdit>()
        .answers::<ShardMap>(),
    )
    .get(
        versions,
        maps::history,
        About::of("All versions of a map").answers::<Vec<MapVersionRecord>>(),
    )
    .get(
        "/api/v1/maps/{name}/versions/{version}",
        maps::version,
        About::of("The map as it was in this version").answers::<ShardMap>(),
    )
    .get(
        "/api/v1/maps/{name}/diff",
        maps::diff,
        About::of("What changed its owner between two versions")
            .query("from", "integer", "The older version; needed.")
            .query("to", "integer", "The newer version; needed.")
            .answers::<Vec<Difference>>(),
    )
}

/// What is measured and checked of maps.
fn of_load(all: Described) -> Described {
    all.get(
        "/api/v1/maps/{name}/load",
        inspections::load,
        About::of("What shards and keys of a map cost").answers::<MapLoad>(),
    )
    .post(
        "/api/v1/maps/{name}/load",
        inspections::load_by,
        About::of("The same, measured as the body says")
            .may_take::<LoadAsk>()
            .answers::<MapLoad>(),
    )
    .post(
        "/api/v1/maps/{name}/counters",
        inspections::counters,
        About::of("An application tells how often it used which keys").takes::<ClientReport>(),
    )
    .post(
        "/api/v1/maps/{name}/latency",
        maps::latency,
        About::of("An application tells its p99, which migrations can hold")
            .takes::<LatencyReport>(),
    )
    .post(
        "/api/v1/maps/{name}/check",
        inspections::check,
        About::of("Look on every shard for rows and guards that are not where the map says")
            .query(
                "token",
                "string",
                "The check to go on with, where it failed.",
            )
            .answers::<MapCheck>(),
    )
    .post(
        "/api/v1/maps/{name}/mend",
        inspections::mend,
        About::of("Do what a check proposed")
            .takes::<MendRequest>()
            .answers::<Vec<MendOutcome>>(),
    )
}

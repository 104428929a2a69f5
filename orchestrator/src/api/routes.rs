//! Every route of the API, with what its document says of it.

mod maps;

use self::maps::of_maps;
use super::openapi::{About, Described};
use super::{
    BODY_LIMIT, Health, Issued, Ordered, Readiness, SignInCode, Version, agents, doctor, fleet,
    health, inspections, leader, migrations, once, operations, plan, shards, tokens, verify,
};
use crate::access::NewToken;
use crate::controller::{
    CleanupOrder, CleanupReport, Controller, Diagnosis, DirectoryRequest, DoctorAsk, FleetReport,
    LimitOrder, ReconcileOrder, ShardChange,
};
use crate::report::Report;
use crate::store::{
    AgentRecord, AuditLine, CleanupRecord, Event, NewShard, Reading, ShardRecord, TokenRecord,
};
use crate::view::{MigrationView, OperationView, Summary};
use axum::extract::DefaultBodyLimit;
use axum::{Json, Router};
use plans::inspection::Directory;
use plans::plan::Plan;
use plans::request::Request;
use plans::step::verify::DifferenceReport;
use serde_json::Value;
use std::sync::LazyLock;

/// What a plan or a request may be sent as.
const TEXTS: &[&str] = &["application/json", "application/yaml"];

/// The OpenAPI 3.1 document of all routes.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| described().into_parts().1);

/// The OpenAPI 3.1 document of all routes.
#[must_use]
pub fn document() -> &'static Value {
    &DOCUMENT
}

/// All routes of the API over `controller`, unguarded; pages may be merged in before they are guarded.
pub fn routes(controller: Controller) -> Router {
    described()
        .into_parts()
        .0
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(axum::middleware::from_fn_with_state(
            once::Orders::new(controller.clone()),
            once::answer,
        ))
        .layer(axum::middleware::from_fn_with_state(
            controller.clone(),
            leader::redirect,
        ))
        .with_state(controller)
}

fn described() -> Described {
    let probes = of_probes(Described::new());
    let fleet = of_fleet(of_maps(of_shards(probes)));
    of_agents(of_tries(of_migrations(of_operations(fleet))))
}

fn of_probes(all: Described) -> Described {
    let text = || About::of("The process answers").answers_text(&["text/plain"]);
    all.get("/healthz", health::alive, text())
        .get(
            "/readyz",
            health::ready,
            About::of("Store, schema and leader are as they must be; with verbose each of them")
                .query(
                    "verbose",
                    "string",
                    "With any value: each thing that was looked at.",
                )
                .answers::<Readiness>()
                .answers_text(&["text/plain"]),
        )
        .get(
            "/version",
            health::version,
            About::of("Version, protocols of agents, and the store").answers::<Version>(),
        )
        .get(
            "/api/v1/health",
            health::health,
            About::of("Who leads, under which term").answers::<Health>(),
        )
        .get(
            "/metrics",
            inspections::metrics,
            About::of("Metrics; docs/metrics.md says what each means")
                .answers_text(&["application/openmetrics-text"]),
        )
        .get(
            "/api/v1/openapi.json",
            show,
            About::of("This document").answers::<Value>(),
        )
}

async fn show() -> Json<&'static Value> {
    Json(document())
}

fn of_shards(all: Described) -> Described {
    let name = "/api/v1/shards/{name}";
    all.post(
        "/api/v1/shards",
        shards::add,
        About::of("Register a shard")
            .takes::<NewShard>()
            .creates::<ShardRecord>(),
    )
    .get(
        "/api/v1/shards",
        shards::list,
        About::of("All shards").answers::<Vec<ShardRecord>>(),
    )
    .get(
        name,
        shards::show,
        About::of("One shard").answers::<ShardRecord>(),
    )
    .patch(
        name,
        shards::change,
        About::of("Change connection string, labels or capacity of a shard")
            .takes::<ShardChange>()
            .answers::<ShardRecord>(),
    )
    .delete(
        name,
        shards::remove,
        About::of("Forget a shard that no map names").may_take::<migrations::Order>(),
    )
    .post(
        "/api/v1/shards/{name}/directory",
        inspections::directory,
        About::of("Read keys and their shards from a table of a shard, by its name and those of its columns")
            .takes::<DirectoryRequest>()
            .answers::<Directory>(),
    )
}

fn of_fleet(all: Described) -> Described {
    all.post(
        "/api/v1/doctor",
        doctor::examine,
        About::of("Everything that stands in the way of moves")
            .may_take::<DoctorAsk>()
            .answers::<Diagnosis>(),
    )
    .get(
        "/api/v1/fleet",
        fleet::show,
        About::of("What the last looks at the shards showed").answers::<FleetReport>(),
    )
    .post(
        "/api/v1/fleet/reconcile",
        fleet::reconcile,
        About::of("Look at every shard now, and mend a store that is older than the fleet")
            .may_take::<ReconcileOrder>()
            .answers::<FleetReport>(),
    )
    .post(
        "/api/v1/fleet/cleanup",
        fleet::cleanup,
        About::of("List what no live migration explains, and remove it where it is ordered")
            .may_take::<CleanupOrder>()
            .answers::<CleanupReport>(),
    )
    .get(
        "/api/v1/audit",
        operations::audit,
        About::of("Orders and changes, newest first")
            .pages()
            .answers::<Vec<AuditLine>>(),
    )
    .post(
        "/api/v1/tokens",
        tokens::create,
        About::of("Make a token; it is shown in this answer alone")
            .takes::<NewToken>()
            .creates::<Issued>(),
    )
    .get(
        "/api/v1/tokens",
        tokens::list,
        About::of("All tokens, revoked ones too, without their secrets")
            .answers::<Vec<TokenRecord>>(),
    )
    .delete(
        "/api/v1/tokens/{name}",
        tokens::revoke,
        About::of("Take a token back")
            .may_take::<migrations::Order>()
            .answers::<TokenRecord>(),
    )
    .post(
        "/api/v1/sign-in-codes",
        tokens::sign_in_code,
        About::of("Make a code by which your browser signs in once, within five minutes")
            .answers::<SignInCode>(),
    )
}

fn of_plans(all: Described) -> Described {
    all.post(
        "/api/v1/plans",
        plan::make,
        About::of("Make a plan of a request; nothing is changed")
            .takes_as::<Request>(TEXTS)
            .answers::<Plan>(),
    )
    .get(
        "/api/v1/schemas/request",
        plan::schema,
        About::of("The JSON Schema of a request").answers::<Value>(),
    )
}

fn of_operations(all: Described) -> Described {
    let submit = || {
        About::of("Submit a plan")
            .takes_as::<Plan>(TEXTS)
            .query(
                "queue",
                "boolean",
                "Also while others move some of its keys.",
            )
            .creates::<OperationView>()
    };
    let report = || {
        About::of("The evidence of an operation")
            .query_one_of("format", &["json", "md", "html"], "JSON without it.")
            .answers::<Report>()
            .answers_text(&["text/markdown", "text/html"])
    };
    of_plans(all)
        .post("/api/v1/operations", operations::submit, submit())
        .post("/api/v1/migrations", operations::submit, submit())
        .get(
            "/api/v1/operations",
            operations::list,
            About::of("The newest operations, newest first")
                .pages()
                .answers::<Vec<OperationView>>(),
        )
        .get(
            "/api/v1/operations/{id}",
            operations::show,
            About::of("One operation with its moves").answers::<OperationView>(),
        )
        .get(
            "/api/v1/operations/{id}/plan",
            operations::plan,
            About::of("The plan as it was submitted").answers::<Plan>(),
        )
        .get(
            "/api/v1/operations/{id}/events",
            operations::events,
            About::of(
                "The journals of all its migrations by time; or its view whenever it changes",
            )
            .answers::<Vec<operations::Line>>()
            .feeds(),
        )
        .get(
            "/api/v1/operations/{id}/report",
            operations::report,
            report(),
        )
        .get(
            "/api/v1/migrations/{id}/report",
            operations::report,
            report(),
        )
        .post(
            "/api/v1/operations/{id}/{command}",
            operations::command,
            About::of("Give an order to every migration of an operation that can take it")
                .may_take::<migrations::Order>()
                .answers::<OperationView>(),
        )
}

fn of_migrations(all: Described) -> Described {
    let verify = "/api/v1/migrations/{id}/verify";
    all.get(
        "/api/v1/migrations",
        migrations::list,
        About::of("The newest migrations, newest first")
            .pages()
            .answers::<Vec<Summary>>(),
    )
    .get(
        "/api/v1/migrations/{id}",
        migrations::show,
        About::of("One migration with its steps").answers::<MigrationView>(),
    )
    .get(
        "/api/v1/migrations/{id}/events",
        migrations::events,
        About::of("Its journal; or, as server-sent events, each line and each change of its view")
            .query("after", "integer", "Only lines behind this number.")
            .answers::<Vec<Event>>()
            .feeds(),
    )
    .get(
        "/api/v1/migrations/{id}/course",
        migrations::course,
        About::of("How far it was over time").answers::<Vec<Reading>>(),
    )
    .get(
        "/api/v1/migrations/{id}/cleanup",
        migrations::cleanup,
        About::of("What it made on the shards").answers::<Vec<CleanupRecord>>(),
    )
    .post(
        "/api/v1/migrations/{id}/limits",
        migrations::limit,
        About::of("Change what it may take of its shards")
            .takes::<LimitOrder>()
            .answers::<MigrationView>(),
    )
    .post(
        verify,
        verify::order,
        About::of("Compare both copies again, now")
            .may_take::<verify::Ask>()
            .answers::<Ordered>(),
    )
    .get(
        verify,
        verify::report,
        About::of("What the last comparisons found; keys of rows that differ are in it")
            .answers::<Vec<DifferenceReport>>(),
    )
    .post(
        "/api/v1/migrations/{id}/{command}",
        migrations::command,
        About::of("Give an order to a migration")
            .may_take::<migrations::Order>()
            .answers::<MigrationView>(),
    )
}

/// Orders that are only tried.
fn of_tries(all: Described) -> Described {
    let about = || About::of("Whether an order could be given now; nothing is changed");
    all.get(
        "/api/v1/operations/{id}/{command}",
        operations::try_command,
        about().answers::<OperationView>(),
    )
    .get(
        "/api/v1/migrations/{id}/{command}",
        migrations::try_command,
        about().answers::<MigrationView>(),
    )
}

/// What agents say; its shape is that of the protocol's version, which `/version` tells.
fn of_agents(all: Described) -> Described {
    let said = |summary| About::of(summary).takes::<Value>();
    all.get(
        "/api/v1/agents",
        agents::list,
        About::of("Agents that have spoken").answers::<Vec<AgentRecord>>(),
    )
    .post(
        "/api/v1/agents/claim",
        agents::claim,
        said("An agent asks for work").answers::<Value>(),
    )
    .post(
        "/api/v1/agents/heartbeat",
        agents::heartbeat,
        said("An agent tells how far it is").answers::<Value>(),
    )
    .post(
        "/api/v1/agents/report",
        agents::report,
        said("An agent tells what came of a step"),
    )
    .post(
        "/api/v1/agents/cutover",
        agents::cutover,
        said("An agent asks for a part of a cutover").answers::<Value>(),
    )
    .post(
        "/api/v1/migrations/{id}/cleanup-records",
        agents::record_cleanup,
        said("An agent tells what it is about to make"),
    )
    .post(
        "/api/v1/migrations/{id}/cleanup-records/done",
        agents::cleanup_done,
        said("An agent tells what is gone"),
    )
}

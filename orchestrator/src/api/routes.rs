//! All routes of the API, with their descriptions in the OpenAPI document.

mod maps;

use self::maps::of_maps;
use super::openapi::{DescribedRoutes, RouteDoc};
use super::{
    BODY_LIMIT, ControllerVersion, IssuedToken, LeadershipHealth, Readiness, ScheduledComparison,
    SignInCode, agents, doctor, fleet, health, inspections, leader, migrations, once, operations,
    plan, shards, tokens, verify,
};
use crate::access::NewToken;
use crate::controller::{
    CleanupReport, CleanupRequest, Controller, DetailedProbe, Diagnosis, DirectoryRequest,
    DoctorRequest, FleetReport, LimitChange, ReconcileRequest, ShardChange,
};
use crate::report::OperationReport;
use crate::store::{
    AgentRecord, AuditLine, CleanupRecord, Event, FigureReading, ImbalanceSample, NewShard,
    ShardRecord, TokenRecord,
};
use crate::view::{MigrationSummary, MigrationView, OperationView};
use axum::extract::DefaultBodyLimit;
use axum::{Json, Router};
use plans::fleet::{NewStandby, StandbySlot};
use plans::inspection::Directory;
use plans::plan::Plan;
use plans::request::Request;
use plans::step::verify::DifferenceReport;
use serde_json::Value;
use std::sync::LazyLock;

/// The media types of a plan or a request.
const TEXTS: &[&str] = &["application/json", "application/yaml"];

/// The OpenAPI 3.1 document of all routes.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| described().into_parts().1);

/// Returns the OpenAPI 3.1 document of all routes.
#[must_use]
pub fn document() -> &'static Value {
    &DOCUMENT
}

/// Returns all routes of the API for `controller`, without admission. Pages can be added before
/// [`guarded`](super::guarded).
pub fn routes(controller: Controller) -> Router {
    described()
        .into_parts()
        .0
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(axum::middleware::from_fn_with_state(
            once::RunningCommands::new(controller.clone()),
            once::answer,
        ))
        .layer(axum::middleware::from_fn_with_state(
            controller.clone(),
            leader::redirect,
        ))
        .with_state(controller)
}

fn described() -> DescribedRoutes {
    let probes = of_probes(DescribedRoutes::new());
    let fleet = of_fleet(of_maps(of_shards(probes)));
    of_agents(of_trial_commands(of_migrations(of_operations(fleet))))
}

fn of_probes(all: DescribedRoutes) -> DescribedRoutes {
    let text = || RouteDoc::of("The process runs").answers_text(&["text/plain"]);
    all.get("/healthz", health::alive, text())
        .get(
            "/readyz",
            health::ready,
            RouteDoc::of("The controller is ready: it reaches the store, the schema has its version, and a controller leads")
                .query(
                    "verbose",
                    "string",
                    "With any value: return the result of each check.",
                )
                .answers::<Readiness>()
                .answers_text(&["text/plain"]),
        )
        .get(
            "/version",
            health::version,
            RouteDoc::of("The versions of the program and of the agents' protocol, and the id of the store")
                .answers::<ControllerVersion>(),
        )
        .get(
            "/api/v1/health",
            health::health,
            RouteDoc::of("Which controller leads, and under which term").answers::<LeadershipHealth>(),
        )
        .get(
            "/metrics",
            inspections::metrics,
            RouteDoc::of("Metrics; docs/metrics.md describes them")
                .answers_text(&["application/openmetrics-text"]),
        )
        .get(
            "/api/v1/openapi.json",
            show,
            RouteDoc::of("This document").answers::<Value>(),
        )
}

/// Returns the document itself.
async fn show() -> Json<&'static Value> {
    Json(document())
}

fn of_shards(all: DescribedRoutes) -> DescribedRoutes {
    let name = "/api/v1/shards/{name}";
    all.post(
        "/api/v1/shards",
        shards::add,
        RouteDoc::of("Register a shard")
            .takes::<NewShard>()
            .creates::<ShardRecord>(),
    )
    .get(
        "/api/v1/shards",
        shards::list,
        RouteDoc::of("All shards").answers::<Vec<ShardRecord>>(),
    )
    .get(
        name,
        shards::show,
        RouteDoc::of("One shard").answers::<ShardRecord>(),
    )
    .get(
        "/api/v1/shards/{name}/probe",
        shards::probe,
        RouteDoc::of("The last probe of a shard: size, rates, connections, standbys, replication slots, largest tables")
            .answers::<DetailedProbe>(),
    )
    .patch(
        name,
        shards::change,
        RouteDoc::of("Change the connection string, labels, capacity or space of a shard")
            .takes::<ShardChange>()
            .answers::<ShardRecord>(),
    )
    .delete(
        name,
        shards::remove,
        RouteDoc::of("Remove a shard that occurs in no map in force").may_take::<migrations::CommandReason>(),
    )
    .post(
        "/api/v1/standbys",
        shards::record_standby_slot,
        RouteDoc::of("Record the replication slot of a standby, before an agent creates the slot and the standby")
            .takes::<NewStandby>()
            .creates::<StandbySlot>(),
    )
    .post(
        "/api/v1/shards/{name}/directory",
        inspections::directory,
        RouteDoc::of("Read keys and their shards from a table of a shard; the body names the table and its columns")
            .takes::<DirectoryRequest>()
            .answers::<Directory>(),
    )
}

fn of_fleet(all: DescribedRoutes) -> DescribedRoutes {
    all.post(
        "/api/v1/doctor",
        doctor::examine,
        RouteDoc::of("Everything that prevents moves")
            .may_take::<DoctorRequest>()
            .answers::<Diagnosis>(),
    )
    .get(
        "/api/v1/fleet",
        fleet::show,
        RouteDoc::of("The results of the last probes of the shards").answers::<FleetReport>(),
    )
    .get(
        "/api/v1/fleet/imbalance",
        fleet::imbalance,
        RouteDoc::of("How many times its fair share the most loaded shard had, over the last 24 hours")
            .answers::<Vec<ImbalanceSample>>(),
    )
    .post(
        "/api/v1/fleet/reconcile",
        fleet::reconcile,
        RouteDoc::of("Probe every shard now, and repair a store that is older than the fleet")
            .may_take::<ReconcileRequest>()
            .answers::<FleetReport>(),
    )
    .post(
        "/api/v1/fleet/cleanup",
        fleet::cleanup,
        RouteDoc::of("List objects on the shards that belong to no unfinished migration, and remove them if requested")
            .may_take::<CleanupRequest>()
            .answers::<CleanupReport>(),
    )
    .get(
        "/api/v1/audit",
        operations::audit,
        RouteDoc::of("The audit trail: commands and changes, newest first")
            .pages()
            .answers::<Vec<AuditLine>>(),
    )
    .post(
        "/api/v1/tokens",
        tokens::create,
        RouteDoc::of("Create a token; only this response contains it")
            .takes::<NewToken>()
            .creates::<IssuedToken>(),
    )
    .get(
        "/api/v1/tokens",
        tokens::list,
        RouteDoc::of("All tokens, including revoked ones, without their secrets")
            .answers::<Vec<TokenRecord>>(),
    )
    .delete(
        "/api/v1/tokens/{name}",
        tokens::revoke,
        RouteDoc::of("Revoke a token")
            .may_take::<migrations::CommandReason>()
            .answers::<TokenRecord>(),
    )
    .post(
        "/api/v1/sign-in-codes",
        tokens::sign_in_code,
        RouteDoc::of("Create a link with which a browser signs in once, within five minutes")
            .answers::<SignInCode>(),
    )
}

fn of_plans(all: DescribedRoutes) -> DescribedRoutes {
    all.post(
        "/api/v1/plans",
        plan::create,
        RouteDoc::of("Create a plan from a request; nothing is changed")
            .takes_as::<Request>(TEXTS)
            .answers::<Plan>(),
    )
    .get(
        "/api/v1/schemas/request",
        plan::schema,
        RouteDoc::of("The JSON Schema of a request").answers::<Value>(),
    )
}

fn of_operations(all: DescribedRoutes) -> DescribedRoutes {
    let submit = || {
        RouteDoc::of("Submit a plan")
            .takes_as::<Plan>(TEXTS)
            .query(
                "queue",
                "boolean",
                "Accept the plan even if other migrations first move some of its keys.",
            )
            .creates::<OperationView>()
    };
    let report = || {
        RouteDoc::of("The report of an operation")
            .query_one_of(
                "format",
                &["json", "md", "html"],
                "The format; JSON by default.",
            )
            .answers::<OperationReport>()
            .answers_text(&["text/markdown", "text/html"])
    };
    of_plans(all)
        .post("/api/v1/operations", operations::submit, submit())
        .post("/api/v1/migrations", operations::submit, submit())
        .get(
            "/api/v1/operations",
            operations::list,
            RouteDoc::of("The newest operations, newest first")
                .pages()
                .answers::<Vec<OperationView>>(),
        )
        .get(
            "/api/v1/operations/{id}",
            operations::show,
            RouteDoc::of("One operation with its moves").answers::<OperationView>(),
        )
        .get(
            "/api/v1/operations/{id}/plan",
            operations::plan,
            RouteDoc::of("The plan as it was submitted").answers::<Plan>(),
        )
        .get(
            "/api/v1/operations/{id}/events",
            operations::events,
            RouteDoc::of(
                "The journals of all migrations of the operation, by time; or, as events, the operation after each change",
            )
            .answers::<Vec<operations::JournalLine>>()
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
            RouteDoc::of("Send a command to every migration of an operation for which it is possible")
                .may_take::<migrations::CommandReason>()
                .answers::<OperationView>(),
        )
}

fn of_migrations(all: DescribedRoutes) -> DescribedRoutes {
    let verify = "/api/v1/migrations/{id}/verify";
    all.get(
        "/api/v1/migrations",
        migrations::list,
        RouteDoc::of("The newest migrations, newest first")
            .pages()
            .answers::<Vec<MigrationSummary>>(),
    )
    .get(
        "/api/v1/migrations/{id}",
        migrations::show,
        RouteDoc::of("One migration with its steps").answers::<MigrationView>(),
    )
    .get(
        "/api/v1/migrations/{id}/events",
        migrations::events,
        RouteDoc::of(
            "The journal of a migration; or, as events, each new line and the migration after each change",
        )
        .query("after", "integer", "Only lines with a number greater than this.")
        .answers::<Vec<Event>>()
        .feeds(),
    )
    .get(
        "/api/v1/migrations/{id}/course",
        migrations::course,
        RouteDoc::of("The progress figures of a migration over time").answers::<Vec<FigureReading>>(),
    )
    .get(
        "/api/v1/migrations/{id}/cleanup",
        migrations::cleanup,
        RouteDoc::of("The objects that a migration created on the shards").answers::<Vec<CleanupRecord>>(),
    )
    .post(
        "/api/v1/migrations/{id}/limits",
        migrations::limit,
        RouteDoc::of("Change a limit of the load that a migration causes on its shards")
            .takes::<LimitChange>()
            .answers::<MigrationView>(),
    )
    .post(
        verify,
        verify::schedule,
        RouteDoc::of("Compare both copies of a migration again, now")
            .may_take::<verify::VerifyRequest>()
            .answers::<ScheduledComparison>(),
    )
    .get(
        verify,
        verify::report,
        RouteDoc::of("The results of the last comparisons, with the keys of rows that differ")
            .answers::<Vec<DifferenceReport>>(),
    )
    .post(
        "/api/v1/migrations/{id}/{command}",
        migrations::command,
        RouteDoc::of("Send a command to a migration")
            .may_take::<migrations::CommandReason>()
            .answers::<MigrationView>(),
    )
}

/// Adds routes that check whether a command is possible, without carrying it out.
fn of_trial_commands(all: DescribedRoutes) -> DescribedRoutes {
    let about = || RouteDoc::of("Check whether a command is possible now; nothing is changed");
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

/// Adds the routes for agents. The messages have the form of the protocol version that `/version` returns.
fn of_agents(all: DescribedRoutes) -> DescribedRoutes {
    let with_json_body = |summary| RouteDoc::of(summary).takes::<Value>();
    all.get(
        "/api/v1/agents",
        agents::list,
        RouteDoc::of("All agents that have sent a request").answers::<Vec<AgentRecord>>(),
    )
    .delete(
        "/api/v1/agents/{name}",
        agents::remove,
        RouteDoc::of("Remove the record of an agent that does not come back")
            .may_take::<migrations::CommandReason>(),
    )
    .get(
        "/api/v1/agents/{name}/removal",
        agents::try_remove,
        RouteDoc::of("Check whether the record of an agent can be removed now; nothing is changed")
            .answers::<AgentRecord>(),
    )
    .post(
        "/api/v1/agents/claim",
        agents::claim,
        with_json_body("An agent requests work").answers::<Value>(),
    )
    .post(
        "/api/v1/agents/heartbeat",
        agents::heartbeat,
        with_json_body("An agent sends a heartbeat").answers::<Value>(),
    )
    .post(
        "/api/v1/agents/report",
        agents::report,
        with_json_body("An agent reports the outcome of a step or an inspection"),
    )
    .post(
        "/api/v1/agents/cutover",
        agents::cutover,
        with_json_body("An agent requests the next part of a cutover").answers::<Value>(),
    )
    .post(
        "/api/v1/migrations/{id}/cleanup-records",
        agents::record_cleanup,
        with_json_body("An agent records objects that it is about to create"),
    )
    .post(
        "/api/v1/migrations/{id}/cleanup-records/done",
        agents::cleanup_done,
        with_json_body("An agent reports that objects are removed"),
    )
}

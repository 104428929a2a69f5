//! The fleet on the pages: what was measured and what was not, flows, needs with their buttons, and roles.

use crate::fixture::probes::{hidden_inventory, inventory};
use crate::fixture::{Dashboard, failure, plan};
use crate::state;
use orchestrator::store::{
    AccessStore, AgentProcess, AgentStore, AuditRecord, ImbalanceSample, ImbalanceStore,
    ShardStore, ShardUpdate, Store,
};
use plans::id::{AgentName, InstanceId};
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState as State;
use serde_json::json;

/// Shard `a` has 100 GiB, `b` 20 GiB; `c` is unreachable.
async fn probed() -> Dashboard {
    let dashboard = Dashboard::patient().await.having(|map| map).await;
    let space = ShardUpdate {
        name: "a".into(),
        labels: [("region".to_owned(), "eu".to_owned())].into(),
        capacity: 100,
        space: Some(200 << 30),
        dsn: None,
    };
    dashboard.store.update_shard(&space).await.unwrap();
    let dashboard = dashboard.probed(|name, probe| match name {
        "a" => Some(inventory(name, 100, probe)),
        "b" => Some(inventory(name, 20, probe)),
        _ => None,
    });
    dashboard.await
}

/// As [`probed`], with an agent whose role may read neither the lag of standbys nor slots.
async fn without_privileges() -> Dashboard {
    let dashboard = Dashboard::patient().await.having(|map| map).await;
    dashboard
        .probed(|name, probe| Some(hidden_inventory(name, 10, probe)))
        .await
}

/// The part of a page from an element with this id to the next section.
fn part<'a>(page: &'a str, id: &str) -> &'a str {
    let mark = format!("<section id=\"{id}\"");
    let part = page.split(mark.as_str()).nth(1).unwrap();
    part.split("</section>").next().unwrap()
}

#[tokio::test]
async fn the_fleet_shows_what_was_measured_and_says_what_was_not() {
    let dashboard = probed().await;
    let page = dashboard.page("/").await;
    let fleet = part(&page, "fleet");
    for words in [
        "aria-label=\"a: 100.0 GiB of 200.0 GiB\"",
        "aria-label=\"c: not measured\"",
        "imbalance <strong",
        "1.67",
        "35\u{202f}700 writes/s",
        "312 connections",
        "1 standby, 80.0 KiB behind",
        "unreachable",
    ] {
        assert!(fleet.contains(words), "{words}: {fleet}");
    }
    assert_eq!(fleet.matches("class=\"bar-value\"").count(), 2, "{fleet}");
    let by = dashboard.page("/?by=connections").await;
    let fleet = part(&by, "fleet");
    assert!(fleet.contains("aria-label=\"b: 72 of 200\""), "{fleet}");
    assert!(by.contains("/live/overview?by=connections"), "{by}");
}

#[tokio::test]
async fn a_shard_without_a_probe_is_not_drawn_as_empty() {
    let page = Dashboard::with_map().await.page("/").await;
    let fleet = part(&page, "fleet");
    assert_eq!(fleet.matches("not measured").count(), 6, "{fleet}");
    assert!(!fleet.contains("class=\"bar-value\""), "{fleet}");
    assert!(!fleet.contains("imbalance"), "{fleet}");
    assert!(!fleet.contains("0 B"), "{fleet}");
}

#[tokio::test]
async fn running_moves_are_flows_between_the_shards() {
    let dashboard = probed().await.having_operation().await;
    dashboard
        .edit("m1x1", state(State::Running, Ownership::Ready))
        .await;
    let page = dashboard.page("/").await;
    let fleet = part(&page, "fleet");
    assert_eq!(fleet.matches("class=\"leader-line\"").count(), 1, "{fleet}");
    assert!(fleet.contains("moves rows now"), "{fleet}");
    assert!(fleet.contains("<a href=\"/migrations/m1x1\""), "{fleet}");
    assert!(fleet.contains("split a → b: step 1 of 11"), "{fleet}");
    assert!(!fleet.contains("quiet-flow"), "{fleet}");
}

#[tokio::test]
async fn moves_in_hold_are_quiet_arrows_that_point_to_the_owner() {
    let dashboard = probed().await.having_operation().await;
    dashboard
        .edit("m1x1", state(State::Flipped, Ownership::Flipped))
        .await;
    dashboard
        .edit("m1x3", state(State::RolledBack, Ownership::RolledBack))
        .await;
    let page = dashboard.page("/").await;
    let fleet = part(&page, "fleet");
    for words in [
        "in hold · b owns the keys",
        "rolled back · a owns the keys",
        "keys moved; points to their owner",
    ] {
        assert!(fleet.contains(words), "{words}: {fleet}");
    }
    assert_eq!(fleet.matches(" quiet-flow\"><title>").count(), 2, "{fleet}");
    let list = part(&page, "migrations");
    assert!(
        list.contains("3 unfinished: 1 in hold, 1 planned, 1 rolled back"),
        "{list}"
    );
}

#[tokio::test]
async fn finish_looks_the_same_on_the_overview_and_on_the_page_of_the_migration() {
    use plans::step::StepKind;
    let dashboard = Dashboard::with_migration(|snapshot| {
        state(State::Flipped, Ownership::Flipped)(snapshot);
        crate::step(snapshot, StepKind::Hold).state = plans::state::step::StepState::Running;
    })
    .await;
    let overview = dashboard.page("/").await;
    let needs = part(&overview, "attention");
    let button = "<a class=\"button grave\"";
    assert!(
        needs.contains(&format!(
            "{button} href=\"/migrations/m1/finish\">Finish, drop old rows…"
        )),
        "{needs}"
    );
    assert!(needs.contains("Cannot be undone: no rollback"), "{needs}");
    assert!(!needs.contains("button first"), "{needs}");
    let page = dashboard.page("/migrations/m1").await;
    let own = format!("{button} id=\"do-finish\" href=\"/migrations/m1/finish\"");
    assert!(page.contains(&own), "{page}");
    assert!(page.contains("waits for Finish"), "{page}");
}

#[tokio::test]
async fn a_controller_that_follows_says_that_the_leader_probes() {
    let leader = probed().await;
    let follower = leader.follower().await;
    for path in ["/", "/shards", "/shards/a"] {
        let own = leader.page(path).await;
        assert!(!own.contains("does not probe shards"), "{path}");
        let page = follower.page(path).await;
        for words in [
            "This controller does not probe shards.",
            &format!("<a href=\"http://this{path}\">see this page on this</a>"),
            "not probed here",
        ] {
            assert!(page.contains(words), "{path}: {words}: {page}");
        }
        assert!(!page.contains("No agent has probed"), "{path}");
    }
}

#[tokio::test]
async fn what_needs_a_person_has_a_button_and_the_command() {
    let dashboard = probed().await.having_operation().await;
    dashboard
        .edit("m1x1", state(State::Waiting, Ownership::Ready))
        .await;
    let broken = |snapshot: &mut orchestrator::store::Snapshot| {
        state(State::Failed, Ownership::Ready)(snapshot);
        snapshot.migration.failure = Some(failure());
    };
    dashboard.edit("m1x3", broken).await;
    let (name, instance) = (AgentName::from("lost"), InstanceId::from("l1"));
    let long_ago = chrono::Utc::now() - chrono::TimeDelta::minutes(10);
    let agents = dashboard.store.clone();
    let noted = AgentProcess::of(&name, &instance);
    agents.note_agent(&noted, long_ago, None).await.unwrap();
    let (name, instance) = (AgentName::from("near"), InstanceId::from("n1"));
    let noted = AgentProcess::of(&name, &instance);
    agents
        .note_agent(&noted, chrono::Utc::now(), None)
        .await
        .unwrap();
    let page = dashboard.page("/").await;
    let needs = part(&page, "attention");
    for words in [
        "Shard c is unreachable",
        "connection refused",
        "<a class=\"button first\" href=\"/migrations/m1x1/approve\">Approve the cutover…",
        "Can be undone: roll back until you finish.",
        "shardwright approve m1x1",
        "<a class=\"button first\" href=\"/migrations/m1x3/resume\">Resume…",
        "Continues where it stopped. You can pause it again.",
        "<a class=\"button details\" href=\"/migrations/m1x3\">Details",
        "<a class=\"button details\" href=\"/shards/c\">Details",
        "Agent lost is silent",
        "shardwright agent remove lost",
    ] {
        assert!(needs.contains(words), "{words}: {needs}");
    }
    assert!(!needs.contains("near"), "{needs}");
    let confirmation = dashboard.page("/migrations/m1x3/resume").await;
    assert!(confirmation.contains("shardwright resume m1x3"));
}

#[tokio::test]
async fn the_list_of_shards_is_filtered_and_ordered() {
    let dashboard = probed().await;
    let page = dashboard.page("/shards").await;
    for words in [
        "2 reachable",
        "1 unreachable",
        "100.0 GiB",
        "href=\"/maps/tenants\"",
        "1 range",
        "17.2",
        "1 to 3 of 3",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let found = dashboard.page("/shards?q=REGION%3Deu").await;
    assert!(found.contains("1 to 1 of 1"), "{found}");
    let lost = dashboard.page("/shards?state=unreachable").await;
    assert!(part(&lost, "list").contains("href=\"/shards/c\""));
    assert!(!part(&lost, "list").contains("href=\"/shards/a\""));
    let by_size = dashboard.page("/shards?by=size").await;
    let place = |name: &str| by_size.find(&format!("href=\"/shards/{name}\"")).unwrap();
    assert!(place("a") < place("b") && place("b") < place("c"));
    let none = dashboard.page("/shards?q=zzz").await;
    assert!(none.contains("No shard matches"), "{none}");
}

#[tokio::test]
async fn a_shard_has_a_page_with_its_server_tables_slots_and_registers() {
    let dashboard = probed().await;
    let page = dashboard.page("/shards/a").await;
    for words in [
        "100.0 GiB of 200.0 GiB",
        "35\u{202f}700 writes/s",
        "810\u{202f}000 reads/s",
        "1\u{202f}140\u{202f}000\u{202f}000",
        "140 ms",
        "80.0 KiB",
        "9\u{202f}000 commits/s",
        "312 of 200",
        "region=eu",
        "standby-1",
        "Logical slots of this shard, database shop",
        "shardwright_m1_fwd",
        "48.0 MiB",
        "Physical slots of the whole server",
        "Logical slots of other databases on this server",
        "data-label=\"Database\">billing<",
        "public.order_items",
        "912\u{202f}000\u{202f}000",
        "never analyzed",
        "39 smaller tables are not measured",
        "closed",
        "shardwright_m1_orders",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert_eq!(page.matches("<h1").count(), 1);
    let order = ["shardwright_m1_fwd", "standby_1", "debezium"];
    let order = order.map(|slot| page.find(&format!("<code>{slot}</code></th>")).unwrap());
    assert!(order.is_sorted(), "{page}");
    let lost = dashboard.page("/shards/c").await;
    for words in [
        "The last probe failed",
        "No probe has reached the shard yet",
        "not measured",
        "Unknown: no probe of this controller has reached",
    ] {
        assert!(lost.contains(words), "{words}: {lost}");
    }
    assert_eq!(dashboard.get("/shards/nope").await.status(), 404);
    assert_eq!(dashboard.get("/live/shards/nope").await.status(), 404);
}

#[tokio::test]
async fn a_slot_of_a_migration_links_to_it() {
    let dashboard = probed().await;
    let before = dashboard.page("/shards/a").await;
    assert!(
        before.contains("a migration of another control store"),
        "{before}"
    );
    dashboard
        .submit("m1", plan(dashboard.store.incarnation()))
        .await;
    let page = dashboard.page("/shards/a").await;
    let link = "<a href=\"/migrations/m1\">split a → b</a>";
    assert!(part(&page, "replication").contains(link), "{page}");
}

#[tokio::test]
async fn what_the_role_may_not_read_is_not_shown_as_zero() {
    let dashboard = without_privileges().await;
    let page = dashboard.page("/shards/a").await;
    let replication = part(&page, "replication");
    let needs = "not readable: needs pg_read_all_stats";
    assert_eq!(replication.matches(needs).count(), 1, "{replication}");
    assert!(
        replication.contains("not readable: permission denied for view pg_replication_slots"),
        "{replication}"
    );
    assert!(
        !replication.contains("no replication slot"),
        "{replication}"
    );
    assert!(!replication.contains("0 B"), "{replication}");
}

#[tokio::test]
async fn the_api_has_the_figures_of_the_page() {
    let dashboard = probed().await;
    let probe = dashboard.json("/api/v1/shards/a/probe").await;
    let activity = &probe["activity"];
    assert_eq!(probe["shard"], "a");
    assert_eq!(probe["figures"]["bytes"], json!(100_u64 << 30));
    for (field, value) in [
        ("written_per_second", json!(35_700.0)),
        ("read_per_second", json!(810_000.0)),
        ("commits_per_second", json!(9_000.0)),
        ("connections", json!(312)),
        ("max_connections", json!(200)),
        ("row_count", json!(1_140_000_000_u64)),
    ] {
        assert_eq!(activity[field], value, "{field}: {activity}");
    }
    let standby = json!({"name": "standby-1", "state": "streaming", "synchronous": true, "lag_bytes": 81_920, "lag_ms": 140});
    assert_eq!(activity["standbys"], json!([standby]));
    assert_eq!(activity["slots"][0]["retained_bytes"], json!(48 << 20));
    assert_eq!(activity["slots"][1]["database"], "billing");
    assert!(activity["slots"][2].get("retained_bytes").is_none());
    let lost = dashboard.json("/api/v1/shards/c/probe").await;
    assert!(
        lost["failure"].is_string() && lost.get("activity").is_none(),
        "{lost}"
    );
    assert_eq!(
        dashboard.get("/api/v1/shards/nope/probe").await.status(),
        404
    );
}

#[tokio::test]
async fn the_imbalance_of_the_day_is_beside_its_figure() {
    let dashboard = probed().await;
    let interval = ImbalanceSample::interval_of(chrono::Utc::now());
    for (minutes, factor) in [(60, 1.2), (55, 1.4), (5, 1.6)] {
        let sample = ImbalanceSample {
            at: interval - chrono::TimeDelta::minutes(minutes),
            factors: [("size".to_owned(), factor)].into(),
        };
        dashboard.store.add_imbalance(&sample).await.unwrap();
    }
    let page = dashboard.page("/").await;
    let fleet = part(&page, "fleet");
    let label =
        "imbalance of size over the last 24 hours: 1.20 to 1.60, not measured for 23 h 50 min";
    assert!(
        fleet.contains(&format!("aria-label=\"{label}\"")),
        "{fleet}"
    );
    let line = fleet.split("class=\"trend-line\" d=\"").nth(1).unwrap();
    let line = line.split('"').next().unwrap();
    assert_eq!(line.matches('M').count(), 2, "a gap: {line}");
    let by = dashboard.page("/?by=writes").await;
    assert!(!part(&by, "fleet").contains("trend-line"), "{by}");
    let read = dashboard.json("/api/v1/fleet/imbalance").await;
    assert_eq!(read.as_array().unwrap().len(), 3, "{read}");
    assert_eq!(read[2]["factors"], json!({"size": 1.6}));
}

#[tokio::test]
async fn the_activity_is_told_in_words_and_filtered() {
    let dashboard = Dashboard::with_operation().await;
    let lines = [
        ("ci", "token.created", "token nora", json!({})),
        (
            "ci",
            "order",
            "POST /api/v1/tokens",
            json!({"outcome": 201, "from": "10.0.0.4"}),
        ),
        (
            "ada",
            "order",
            "POST /api/v1/migrations/m1x3/abort",
            json!({"why": "too slow", "outcome": 200}),
        ),
        (
            "vera",
            "order",
            "POST /migrations/m1x3/approve",
            json!({"outcome": "token.role"}),
        ),
    ];
    for (actor, action, object, data) in lines {
        let record = AuditRecord {
            at: chrono::Utc::now(),
            actor: actor.to_owned(),
            action: action.to_owned(),
            object: object.to_owned(),
            data,
        };
        dashboard.store.add_audit(&record).await.unwrap();
    }
    let page = dashboard.page("/activity").await;
    for words in [
        "<strong>ada</strong> aborted <a href=\"/migrations/m1x3\">split a → c (tenants)</a>",
        "“too slow”",
        "was refused:</span> approve the cutover of",
        "(token.role)",
        "<strong>ci</strong> created <a href=\"/tokens\">token nora</a>",
        "order · POST /api/v1/tokens",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert_eq!(
        page.matches("<strong>ci</strong>").count(),
        1,
        "one line for the call and its change"
    );
    let refused = dashboard.page("/activity?kind=refused").await;
    assert!(refused.contains("vera</strong>") && !refused.contains("ada</strong>"));
    let of_ada = dashboard.page("/activity?who=ada&kind=migrations").await;
    assert!(of_ada.contains("ada</strong>") && !of_ada.contains("vera</strong>"));
    let moved = dashboard.get("/audit?q=slow").await;
    assert_eq!(moved.status(), 308);
    assert_eq!(moved.headers()["location"], "/activity?q=slow");
}

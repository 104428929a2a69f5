//! The evidence report: what was done, by whom, with which result, in three forms.

use crate::fixture::{Server, program};
use plans::names::Direction;
use plans::wire::{Dispatch, Outcome, SECRET_HEADER};
use serde_json::{Value, json};

const DIGEST: &str = "0123456789abcdef0123456789abcdef";

/// A migration that was copied, compared, cut over by somebody with an odd name, and finished.
async fn finished(server: &Server) -> String {
    let agent = server.agent("x", "x1");
    let id = server.apply(&agent, "").await;
    let copy = agent.run_to("copy").await;
    record_objects(server, &copy).await;
    agent.beat(&copy).await;
    let copied = json!({"rows": 1_234_567, "bytes": 9, "bytes_twice": 0, "seconds": 2.0});
    agent.report(&copy, Outcome::Done { output: copied }).await;
    let verify = agent.run_to("verify").await;
    let tables = json!([{"table": "public.odd|name", "rows": 7, "digest": DIGEST}]);
    let verified = json!({"rows_compared": 7, "different": 0, "at": "0/1", "tables": tables});
    agent
        .report(&verify, Outcome::Done { output: verified })
        .await;
    agent.done(&agent.take("open_reverse").await).await;
    server.in_state(&id, "waiting").await;
    let approve = server
        .http
        .post(format!("{}/api/v1/migrations/{id}/approve", server.url));
    let order = approve
        .header("x-shardwright-actor", "<b>eve")
        .json(&json!({"reason": "it | is <i>time"}));
    assert_eq!(order.send().await.unwrap().status(), 200);
    let cutover = agent.take("cutover").await;
    agent.flip(&cutover, Direction::Forward).await;
    let window = json!({"total": 12.5, "wait_out": 1, "drain": 2, "check": 3, "seal": 4, "flip": 1, "open": 1.5});
    let cut =
        json!({"attempt": 1, "map_version": 2, "window": window, "dirty_keys": 5, "refused": 4321});
    agent.report(&cutover, Outcome::Done { output: cut }).await;
    let hold = agent.take("hold").await;
    assert_eq!(server.command(&id, "finish").await.status(), 200);
    agent.done(&hold).await;
    let drop = agent.take("drop_old").await;
    let dropped =
        json!({"rows": 7, "bytes_bloat": 8192, "reclaim": ["vacuum (full, analyze) public.odd"]});
    agent.report(&drop, Outcome::Done { output: dropped }).await;
    server.in_state(&id, "completed").await;
    id.to_string()
}

/// Announces a slot and a table, and reports later that a check has found nothing of them.
async fn record_objects(server: &Server, dispatch: &Dispatch) {
    let records = json!([
        {"shard": "a", "kind": "slot", "name": "shardwright_fwd", "policy": "always"},
        {"shard": "b", "kind": "table", "name": "public.accounts", "policy": "on_failure"},
    ]);
    let path = format!("{}/api/v1/migrations/{}", server.url, dispatch.migration);
    for path in [
        format!("{path}/cleanup-records"),
        format!("{path}/cleanup-records/done"),
    ] {
        let secret = dispatch.secret.as_ref().unwrap().reveal();
        let sent = server.http.post(path).header(SECRET_HEADER, secret);
        assert_eq!(sent.json(&records).send().await.unwrap().status(), 200);
    }
}

async fn text(server: &Server, path: &str) -> (u16, String, String) {
    let answer = server.get(path).await;
    let kind = answer.headers().get("content-type").cloned();
    let kind = kind.map_or_else(String::new, |kind| kind.to_str().unwrap().to_owned());
    (answer.status().as_u16(), kind, answer.text().await.unwrap())
}

#[tokio::test]
async fn a_report_has_the_same_evidence_in_each_form() {
    let server = Server::start().await;
    let id = finished(&server).await;
    let path = format!("/api/v1/operations/{id}/report");
    let (_, kind, json) = text(&server, &path).await;
    assert_eq!(kind, "application/json");
    let report: Value = serde_json::from_str(&json).unwrap();
    let evidence = &report["moves"][0];
    assert_eq!(report["kind"], "Report");
    assert_eq!(report["operation"]["id"], id.as_str());
    assert_eq!(evidence["course"][0]["step"], "copy");
    assert_eq!(evidence["migration"]["state"], "completed");
    let orders = report["orders"].as_array().unwrap();
    let approve = orders
        .iter()
        .find(|order| order["actor"] == "<b>eve")
        .unwrap();
    assert_eq!(approve["data"]["why"], "it | is <i>time");

    let objects = evidence["cleanup"].as_array().unwrap();
    let [slot, table] = objects.as_slice() else {
        panic!("{objects:?}");
    };
    assert_eq!(slot["outcome"], "removed");
    assert_eq!(table["outcome"], "handed_over");
    assert!(table["done_at"].is_null(), "{table}");

    let (_, kind, html) = text(&server, &format!("{path}?format=html")).await;
    assert_eq!(kind, "text/html; charset=utf-8");
    let (_, kind, md) = text(&server, &format!("{path}?format=md")).await;
    assert_eq!(kind, "text/markdown; charset=utf-8");
    let plan = report["operation"]["plan_hash"].as_str().unwrap();
    for page in [&html, &md] {
        let page = page.replace('\u{202f}', " ");
        for said in [
            DIGEST,
            plan,
            "12.5 ms",
            "1 234 567 rows",
            "4 321",
            "drop_old",
            "Every moved row was compared",
            "removed 20",
            "kept: b owns the keys",
        ] {
            assert!(page.contains(said), "{said} is missing in {page}");
        }
    }
    // One file that runs and fetches nothing, and in which nobody's words are markup.
    for refused in [
        "<script", "src=", "href=", "http:", "https:", "<b>eve", "<i>time",
    ] {
        assert!(!html.contains(refused), "{refused} is in {html}");
    }
    assert!(
        md.contains("vacuum (full, analyze) public.odd") && md.contains("ACCESS EXCLUSIVE"),
        "{md}"
    );
    assert!(
        md.contains("public.odd\\|name") && md.contains("it \\| is &lt;i&gt;time"),
        "{md}"
    );
}

#[tokio::test]
async fn a_report_that_is_not_there_is_told_so() {
    let server = Server::start().await;
    let (status, _, problem) = text(&server, "/api/v1/operations/none/report?format=html").await;
    assert_eq!(status, 404, "{problem}");
    let id = finished(&server).await;
    let path = format!("/api/v1/migrations/{id}/report?format=pdf");
    assert_eq!(text(&server, &path).await.0, 422);
}

#[tokio::test]
async fn the_command_line_writes_the_report_to_a_file() {
    let server = Server::start().await;
    let id = finished(&server).await;
    let folder = std::env::temp_dir().join(format!("shardwright-report-{id}"));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("report.html");
    let line = ["report", &id, "--to", file.to_str().unwrap()];
    let done = program(&server.url).args(line).output().await.unwrap();
    assert!(done.status.success(), "{done:?}");
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .starts_with("<!DOCTYPE html>")
    );
    std::fs::remove_dir_all(&folder).unwrap();
    for line in [&["report", &id, "--format", "md"][..], &["report", &id]] {
        let done = program(&server.url).args(line).output().await.unwrap();
        let report = String::from_utf8(done.stdout).unwrap();
        assert!(report.starts_with("# Report of split"), "{report}");
    }
    for (state, code) in [
        ("flipped", 0),
        ("completed", 0),
        ("finished", 0),
        ("waiting", 8),
    ] {
        let line = ["wait", &id, "--for", state];
        let waited = program(&server.url).args(line).output().await.unwrap();
        assert_eq!(waited.status.code(), Some(code), "{state}");
    }
}

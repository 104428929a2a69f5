//! Plans that releases wrote, for their own stores.

use super::old_agent::OldAgent;
use super::recorded::{newest, releases};
use super::store::brought_forward;
use plans::plan::{Plan, PlanFileError};
use serde_json::{Value, json};

#[test]
fn old_plans_are_read_and_their_hash_holds() {
    for release in releases() {
        let plans = release.plans();
        assert_eq!(plans.len(), 6, "one for each operation");
        for (operation, text) in plans {
            let plan = Plan::parse(&text).unwrap_or_else(|error| panic!("{operation}: {error}"));
            assert_eq!(plan.operation, operation);
            let edited = text.replacen("\"map_version\": ", "\"map_version\": 1", 1);
            assert_eq!(Plan::parse(&edited), Err(PlanFileError::Edited));
        }
    }
}

#[tokio::test]
async fn old_plans_are_taken() {
    for release in releases() {
        let server = brought_forward(&release).await;
        for (operation, text) in release.plans() {
            let plan: Value = serde_json::from_str(&text).unwrap();
            let first = &plan["moves"][0];
            let fingerprint = first["schema_fingerprint"].as_str().unwrap().to_owned();
            let agent =
                OldAgent::new(&server, &newest()).finding(fingerprint, first["target"].clone());
            let looks = async {
                loop {
                    if let Some(work) = agent.claim().await.filter(|work| work["work"] == "inspect")
                    {
                        agent.perform(&work).await;
                    }
                }
            };
            // Keys of migrations that are under way have to wait for those.
            let sent = server.post("/api/v1/operations?queue=true", &plan);
            let answer = tokio::select! {
                answer = sent => answer,
                () = looks => unreachable!("looks for ever"),
            };
            let status = answer.status();
            let view: Value = answer.json().await.unwrap();
            assert_eq!(status, 201, "{operation}: {view}");
            assert_eq!(view["operation"], json!(operation), "{view}");
        }
    }
}

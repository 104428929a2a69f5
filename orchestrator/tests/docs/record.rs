//! Records what a release says and keeps, for `tests/compat`: later versions must understand it.
//!
//! A controller, an agent that reaches it through here, two shards; `record/scenario.sh` moves keys between them in
//! every way, and keeps the control store as it is in the middle of it. Folders that are there are never written to.

mod heard;
mod made;

use crate::world::{RECORD, World};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use heard::Heard;
use reqwest::redirect::Policy;
use std::path::Path;
use std::sync::Arc;

/// What stands between agent and controller.
#[derive(Clone)]
struct Ear {
    controller: String,
    http: reqwest::Client,
    heard: Arc<Heard>,
}

impl Ear {
    /// Hands a request on, and writes down what was asked and answered.
    async fn hand_on(
        &self,
        method: &Method,
        path: &str,
        asked: &Bytes,
    ) -> reqwest::Result<Response> {
        let request = self
            .http
            .request(method.clone(), format!("{}{path}", self.controller));
        let request = request.header(header::CONTENT_TYPE, "application/json");
        let answer = request.body(asked.clone()).send().await?;
        let status = answer.status();
        let kind = answer.headers().get(header::CONTENT_TYPE).cloned();
        let answered = answer.bytes().await?;
        self.heard
            .write_down(method, path, status, asked, &answered);
        let mut response = (status, answered).into_response();
        if let Some(kind) = kind {
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
        }
        Ok(response)
    }
}

async fn listen(State(ear): State<Ear>, method: Method, uri: Uri, asked: Bytes) -> Response {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let handed_on = ear.hand_on(&method, path, &asked).await;
    handed_on.unwrap_or_else(|_| StatusCode::BAD_GATEWAY.into_response())
}

#[tokio::test]
#[ignore = "once for each release: CONTRIBUTING.md"]
async fn this_release_is_recorded() {
    let folder = Path::new("tests/compat").join(env!("CARGO_PKG_VERSION"));
    let folder = crate::top().join(folder);
    assert!(!folder.exists(), "{} was recorded before", folder.display());
    let world = World::new(RECORD).await;
    let heard = Arc::new(Heard::default());
    let ear = Ear {
        controller: format!("http://{}", world.address()),
        http: controller_client::client(Policy::none(), None).unwrap(),
        heard: Arc::clone(&heard),
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let ears = format!("http://{}", listener.local_addr().unwrap());
    let app = Router::new().fallback(listen).with_state(ear);
    let serving = tokio::spawn(async move { axum::serve(listener, app).await });
    let scenario = include_str!("record/scenario.sh");
    world.run_script(scenario, &[("AGENTS_CALL", &ears)]).await;
    serving.abort();

    let write = |name: &str, text: &str| {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    for (name, exchange) in heard.all().into_iter().chain(made::all()) {
        let text = serde_json::to_string_pretty(&exchange).unwrap();
        write(&format!("wire/{name}.json"), &(text + "\n"));
    }
    for name in ["store.sql", "shard.sql", "migrations.json"] {
        write(name, &world.file(name));
    }
    for operation in ["split", "merge", "move", "isolate", "drain", "rebalance"] {
        let name = format!("plans/{operation}.json");
        write(&name, &world.file(&name));
    }
}

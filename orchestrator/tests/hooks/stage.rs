//! A server of the operator's that hears what it is posted, and a controller with hooks.

use crate::fixture::{Server, quick, until};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use orchestrator::controller::ControllerSettings;
use orchestrator::hooks::Hooks;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// What it answers.
#[derive(Clone)]
pub(super) enum Say {
    Status(u16, &'static str),
    /// It takes the message and never answers.
    Nothing,
}

pub(super) const YES: Say = Say::Status(200, "");

/// What it was posted.
#[derive(Clone)]
pub(super) struct Heard {
    pub(super) headers: HeaderMap,
    pub(super) text: String,
}

impl Heard {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    pub(super) fn phase(&self) -> String {
        self.json()["phase"].as_str().unwrap().to_owned()
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }
}

/// A real HTTP server.
#[derive(Clone)]
pub(super) struct Ear {
    pub(super) url: String,
    heard: Arc<Mutex<Vec<Heard>>>,
    say: Arc<Mutex<Say>>,
}

impl Ear {
    pub(super) async fn new(say: Say) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let ear = Self {
            url,
            heard: Arc::default(),
            say: Arc::new(Mutex::new(say)),
        };
        let app = axum::Router::new().route("/hook", axum::routing::post(hear));
        let app = app.with_state(ear.clone());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        ear
    }

    pub(super) fn say(&self, say: Say) {
        *self.say.lock().unwrap() = say;
    }

    pub(super) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    pub(super) fn phases(&self) -> Vec<String> {
        self.heard().iter().map(Heard::phase).collect()
    }

    /// Waits until it was posted something of this phase.
    pub(super) async fn hears(&self, phase: &str) {
        until(phase, || async {
            let heard = self.phases();
            heard.iter().any(|known| known == phase).then_some(())
        })
        .await;
    }
}

async fn hear(State(ear): State<Ear>, headers: HeaderMap, body: Bytes) -> Response {
    let text = String::from_utf8(body.to_vec()).unwrap();
    ear.heard.lock().unwrap().push(Heard { headers, text });
    let say = ear.say.lock().unwrap().clone();
    match say {
        Say::Status(status, text) => {
            let status = StatusCode::from_u16(status).unwrap();
            (status, text).into_response()
        }
        Say::Nothing => std::future::pending().await,
    }
}

/// A folder that goes with its value.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        let name = format!("hooks-{}", uuid::Uuid::new_v4().simple());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(super) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(super) fn read(folder: &Folder, text: &str) -> Hooks {
    Hooks::read(&folder.write("hooks.yaml", text)).unwrap()
}

/// A server whose controller calls the hooks of this file.
pub(super) async fn server(text: &str) -> Server {
    server_with(quick(), text).await
}

pub(super) async fn server_with(settings: ControllerSettings, text: &str) -> Server {
    let hooks = read(&Folder::new(), text);
    let mut server = Server::with(settings).await;
    server.hook(hooks).await;
    server
}

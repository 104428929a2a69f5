//! A server behind its door: who asks with which token, and every route that changes something.

use crate::fixture::{Server, until};
use orchestrator::access::{AccessRule, Role, Secret};
use orchestrator::controller::Command;
use plans::id::MigrationId;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

/// A server that asks for tokens, with a migration that waits for an agent.
pub(super) struct Locked {
    pub(super) server: Server,
    pub(super) admin: String,
    pub(super) migration: MigrationId,
}

impl Locked {
    pub(super) async fn start() -> Self {
        let mut server = Server::start().await;
        let agent = server.agent("x", "x1");
        let migration = server.apply(&agent, "").await;
        let admin = Secret::random();
        server
            .behind(AccessRule::Tokens, Some(admin.digest()), false)
            .await;
        let admin = admin.reveal().to_owned();
        let locked = Self {
            server,
            admin,
            migration,
        };
        until("leading", || async {
            let health = locked.server.json("/api/v1/health").await;
            (health["role"] == "leader").then_some(())
        })
        .await;
        locked
    }

    pub(super) fn ask(&self, token: &str, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.server.url);
        self.server.http.request(method, url).bearer_auth(token)
    }

    pub(super) async fn post(&self, token: &str, path: &str, body: &Value) -> Response {
        let asked = self.ask(token, Method::POST, path).json(body);
        asked.send().await.unwrap()
    }

    pub(super) async fn token(&self, name: &str, role: Role, labels: &Value) -> String {
        let new = json!({"name": name, "role": role, "labels": labels});
        let made = self.post(&self.admin, "/api/v1/tokens", &new).await;
        assert_eq!(made.status(), 201);
        let made: Value = made.json().await.unwrap();
        made["token"].as_str().unwrap().to_owned()
    }

    pub(super) async fn audit(&self) -> Vec<Value> {
        let asked = self.ask(&self.admin, Method::GET, "/api/v1/audit?limit=10000");
        asked.send().await.unwrap().json().await.unwrap()
    }

    /// Every route that may change something, with names that are there.
    pub(super) fn changing(&self) -> Vec<(Method, String)> {
        let found = patterns().into_iter().flat_map(|(method, pattern)| {
            let paths = self.paths(pattern);
            paths.map(move |path| (method.clone(), path))
        });
        found.collect()
    }

    fn paths(&self, pattern: &str) -> impl Iterator<Item = String> + use<> {
        let name = if pattern.contains("/maps/") {
            "tenants"
        } else {
            "a"
        };
        let path = pattern
            .replace("{id}", self.migration.as_str())
            .replace("{name}", name);
        let commands = Command::ALL.into_iter().map(Command::name);
        let commands: Vec<_> = if path.contains("{command}") {
            commands.collect()
        } else {
            vec![""]
        };
        commands
            .into_iter()
            .map(move |command| path.replace("{command}", command))
    }
}

/// The method and pattern of each route that may change something: of the API by its document, of the pages by their
/// table.
pub(super) fn patterns() -> Vec<(Method, &'static str)> {
    let document = orchestrator::api::document()["paths"].as_object().unwrap();
    let mut found: Vec<(Method, &str)> = document
        .iter()
        .flat_map(|(pattern, item)| {
            let methods = item.as_object().unwrap().keys();
            let changing = methods.filter(|method| *method != "get");
            changing.map(|method| (method.to_uppercase().parse().unwrap(), pattern.as_str()))
        })
        .collect();
    let table = include_str!("../../src/dashboard/mod.rs");
    for route in table.split(".route(").skip(1) {
        let pattern = route.split('"').nth(1).unwrap();
        let handlers = route.split(".layer(").next().unwrap();
        if handlers.contains("post(") {
            found.push((Method::POST, pattern));
        }
    }
    // As many as there were when this was written, at least: both are still understood.
    assert!(found.len() >= 35, "{found:?}");
    found
}

/// Routes that let everybody in, and what a viewer may send although it is no GET.
pub(super) fn is_open(path: &str) -> bool {
    matches!(path, "/sign-in" | "/sign-out")
}

/// What every person may send although it is no GET.
pub(super) fn is_question(path: &str) -> bool {
    path.ends_with("/locate") || path == "/api/v1/sign-in-codes"
}

pub(super) async fn code(response: Response) -> (u16, String) {
    let status = response.status().as_u16();
    let problem: Value = response.json().await.unwrap_or_default();
    (
        status,
        problem["code"].as_str().unwrap_or_default().to_owned(),
    )
}

pub(super) fn is_api(path: &str) -> bool {
    path.starts_with("/api/")
}

/// A browser, with the cookie that it was given.
pub(super) struct Browser {
    http: reqwest::Client,
    pub(super) url: String,
    pub(super) cookie: String,
}

impl Browser {
    pub(super) fn new(locked: &Locked) -> Self {
        Self {
            http: controller_client::client(reqwest::redirect::Policy::none(), None).unwrap(),
            url: locked.server.url.clone(),
            cookie: String::new(),
        }
    }

    pub(super) async fn signed_in(locked: &Locked, token: &str) -> Self {
        let mut browser = Self::new(locked);
        let answer = browser.post("/sign-in", format!("token={token}")).await;
        assert_eq!(answer.status(), 303);
        let cookie = answer.headers()["set-cookie"].to_str().unwrap();
        assert!(cookie.contains("HttpOnly; SameSite=Strict"), "{cookie}");
        browser.cookie = cookie.split(';').next().unwrap().to_owned();
        browser
    }

    pub(super) async fn post(&self, path: &str, body: String) -> Response {
        let asked = self.form(Method::POST, path, body);
        asked.send().await.unwrap()
    }

    /// A form on its way.
    pub(super) fn form(&self, method: Method, path: &str, body: String) -> RequestBuilder {
        let asked = self.http.request(method, format!("{}{path}", self.url));
        let asked = asked.header("content-type", "application/x-www-form-urlencoded");
        asked.header("cookie", &self.cookie).body(body)
    }

    pub(super) async fn get(&self, path: &str) -> Response {
        let asked = self.http.get(format!("{}{path}", self.url));
        asked.header("cookie", &self.cookie).send().await.unwrap()
    }

    /// What the forms of a page carry.
    pub(super) async fn csrf(&self, path: &str) -> String {
        let page = self.get(path).await.text().await.unwrap();
        let (_, csrf) = page.split_once("name=\"csrf\" value=\"").unwrap();
        csrf.split('"').next().unwrap().to_owned()
    }
}

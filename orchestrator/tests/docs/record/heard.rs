//! What agent and controller said to each other: of each kind one exchange.

use axum::body::Bytes;
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

#[derive(Default)]
pub(super) struct Heard(Mutex<BTreeMap<String, Value>>);

impl Heard {
    /// Of signs of life the last one of each kind is kept, which has figures; of everything else the first.
    pub(super) fn write_down(
        &self,
        method: &Method,
        path: &str,
        status: StatusCode,
        asked: &Bytes,
        answered: &Bytes,
    ) {
        let read = |text: &Bytes| serde_json::from_slice(text).unwrap_or(Value::Null);
        let (asked, answered) = (read(asked), read(answered));
        let Some(name) = name(method, path, &asked, &answered).filter(|_| status.is_success())
        else {
            return;
        };
        let exchange = json!({"method": method.as_str(), "path": path, "asked": asked,
            "status": status.as_u16(), "answered": answered});
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if name.starts_with("heartbeat") || !all.contains_key(&name) {
            all.insert(name, exchange);
        }
    }

    pub(super) fn all(&self) -> BTreeMap<String, Value> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// What kind of exchange it is; none that others have not.
fn name(method: &Method, path: &str, asked: &Value, answered: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let last = path.rsplit('/').next()?;
    match (method.as_str(), last) {
        ("POST", "claim") => match answered["work"].as_str() {
            None => Some("claim.none".to_owned()),
            Some("inspect") => {
                let kind = text(&answered["inspection"]["inspection"])?;
                Some(format!("claim.inspect.{kind}"))
            }
            Some(_) => {
                let kind = text(&answered["step"][1]).unwrap_or("keep".to_owned());
                Some(format!("claim.step.{kind}"))
            }
        },
        ("POST", "heartbeat") => match asked["holding"].as_array()?.as_slice() {
            [] => Some("heartbeat.idle".to_owned()),
            [one] => {
                let step = text(&one["step"]).unwrap_or("keep".to_owned());
                let action = text(&answered["directives"][0]["action"])?;
                Some(format!("heartbeat.{step}.{action}"))
            }
            _ => Some("heartbeat.several".to_owned()),
        },
        ("POST", "report") if asked["report"] == "step" => {
            let (step, outcome) = (text(&asked["step"])?, text(&asked["outcome"]["outcome"])?);
            Some(format!("report.{step}.{outcome}"))
        }
        ("POST", "report") => {
            let kind = text(&asked["result"]["Ok"]["inspected"]).unwrap_or("failed".to_owned());
            Some(format!("report.inspected.{kind}"))
        }
        ("POST", "cutover") => {
            let (ask, answer) = (text(&asked["ask"]["ask"])?, text(&answered["answer"])?);
            let direction = text(&asked["ask"]["direction"]).unwrap_or("any".to_owned());
            Some(format!("cutover.{ask}.{direction}.{answer}"))
        }
        ("POST", "cleanup-records") => Some("cleanup.recorded".to_owned()),
        ("POST", "done") => Some("cleanup.done".to_owned()),
        ("GET", "health") => Some("health".to_owned()),
        _ => None,
    }
}

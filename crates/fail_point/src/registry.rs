//! The armed points, how often the code reached each one, and what happens when one fires.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Injected, VARIABLE, rendezvous};

/// The variable does not have the form `name[#n]=action,...`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{VARIABLE}: {part:?} is not name[#n]=error, =abort or =rendezvous:PATH")]
pub struct Malformed {
    /// The invalid part.
    pub part: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PointAction {
    Error,
    Abort,
    Rendezvous(PathBuf),
}

#[derive(Debug)]
struct Point {
    name: String,
    /// The number of the call at which the point fires, from 1.
    nth: u64,
    action: PointAction,
    /// How often the code has reached the point.
    hits: AtomicU64,
}

#[derive(Debug, Default)]
pub(crate) struct Registry {
    points: Vec<Point>,
}

impl Registry {
    pub(crate) fn parse(text: &str) -> Result<Self, Malformed> {
        let parts = text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty());
        let point = |part: &str| {
            Point::parse(part).ok_or(Malformed {
                part: part.to_owned(),
            })
        };
        Ok(Self {
            points: parts.map(point).collect::<Result<_, _>>()?,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    pub(crate) async fn hit(&self, name: &'static str) -> Result<(), Injected> {
        for point in self.points.iter().filter(|point| point.name == name) {
            if point.hits.fetch_add(1, Ordering::Relaxed) + 1 != point.nth {
                continue;
            }
            tracing::warn!(fail_point = name, passage = point.nth, "fail point fired");
            match &point.action {
                PointAction::Error => return Err(Injected { name }),
                PointAction::Abort => std::process::abort(),
                PointAction::Rendezvous(path) => {
                    if let Err(error) = rendezvous::wait(path, name).await {
                        tracing::warn!(fail_point = name, %error, "no process listens at the socket of the rendezvous");
                    }
                }
            }
        }
        Ok(())
    }
}

impl Point {
    fn parse(part: &str) -> Option<Self> {
        let (point, action) = part.split_once('=')?;
        let (name, nth) = match point.split_once('#') {
            Some((name, nth)) => (name, nth.parse().ok().filter(|nth| *nth > 0)?),
            None => (point, 1),
        };
        let action = match action.split_once(':') {
            None if action == "error" => PointAction::Error,
            None if action == "abort" => PointAction::Abort,
            Some(("rendezvous", path)) if !path.is_empty() => PointAction::Rendezvous(path.into()),
            _ => return None,
        };
        let has_valid_name = name
            .split_once('.')
            .is_some_and(|(step, when)| !step.is_empty() && !when.is_empty());
        let name = name.to_owned();
        has_valid_name.then(|| Self {
            name,
            nth,
            action,
            hits: AtomicU64::new(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_names_the_invalid_part() {
        for part in [
            "copy.end",
            "copy.end=",
            "copy.end=sleep",
            "copy.end#0=error",
            "copy=error",
        ] {
            let error = Registry::parse(&format!("copy.start=error, {part}")).expect_err(part);
            assert_eq!(error.part, part);
        }
    }

    #[test]
    fn an_empty_variable_arms_nothing() {
        assert!(Registry::parse(" ").expect("parsed").is_empty());
    }

    #[tokio::test]
    async fn a_point_fires_only_at_its_nth_hit() {
        let armed = Registry::parse("copy.chunk#2=error,copy.end=error").expect("parsed");
        let mut failed = Vec::new();
        for _ in 0..4 {
            failed.push(armed.hit("copy.chunk").await.is_err());
        }
        assert_eq!(failed, [false, true, false, false]);
        assert_eq!(
            armed.hit("copy.end").await,
            Err(Injected { name: "copy.end" })
        );
        assert_eq!(armed.hit("copy.other").await, Ok(()));
    }

    #[tokio::test]
    async fn without_a_peer_the_call_does_not_wait() {
        let armed = Registry::parse("copy.end=rendezvous:/nowhere/socket").expect("parsed");
        assert_eq!(armed.hit("copy.end").await, Ok(()));
    }
}

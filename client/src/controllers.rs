//! The controllers that serve a map. Every controller can answer. If one fails, all later requests use the next one.
//!
//! Clones share the current controller, so that a failure that one clone has seen counts for all. This module sends no
//! requests and makes no pauses.

use plans::id::MapName;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A map at one or more controllers.
#[derive(Debug, Clone)]
pub(crate) struct Controllers {
    maps: Arc<[String]>,
    /// The number of the current controller. It only grows, and is used modulo the number of controllers.
    at: Arc<AtomicUsize>,
}

impl Controllers {
    /// Creates the list from `urls`, which are separated by commas, for the map `name`.
    pub(crate) fn new(urls: &str, name: &MapName) -> Self {
        let urls = urls.split(',').map(|url| url.trim().trim_end_matches('/'));
        let map = |url: &str| format!("{url}/api/v1/maps/{name}");
        Self {
            maps: urls.map(map).collect(),
            at: Arc::default(),
        }
    }

    /// Returns the number of controllers.
    pub(crate) fn count(&self) -> usize {
        self.maps.len()
    }

    /// Returns the map's URLs, for people.
    pub(crate) fn all(&self) -> String {
        self.maps.join(", ")
    }

    /// Returns the controller for the next request.
    pub(crate) fn current(&self) -> CurrentController<'_> {
        let turn = self.at.load(Relaxed);
        // The list is never empty: splitting a text gives at least one part.
        let url = self.maps.get(turn % self.maps.len().max(1));
        CurrentController {
            url: url.map_or("", String::as_str),
            turn,
        }
    }

    /// Switches to the next controller after `current` has failed, unless another clone has already done so.
    pub(crate) fn failed(&self, current: &CurrentController<'_>) {
        let next = current.turn.wrapping_add(1);
        let _ = self
            .at
            .compare_exchange(current.turn, next, Relaxed, Relaxed);
    }
}

/// A controller that receives a request.
#[derive(Debug)]
pub(crate) struct CurrentController<'a> {
    /// The map's URL at this controller.
    pub(crate) url: &'a str,
    turn: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_asked_in_turn_and_two_that_fail_together_go_on_once() {
        let controllers = Controllers::new("http://a/, http://b", &MapName::from("m"));
        let (one, two) = (controllers.current(), controllers.clone());
        assert_eq!(one.url, "http://a/api/v1/maps/m");
        let same = two.current();
        controllers.failed(&one);
        two.failed(&same);
        let next = controllers.current();
        assert_eq!(next.url, "http://b/api/v1/maps/m");
        two.failed(&next);
        assert_eq!(controllers.current().url, one.url);
    }
}

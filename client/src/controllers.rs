//! The controllers that serve a map. Every controller can answer. If one fails, all later requests use the next one.
//!
//! Clones share the current controller, so that after a failure in one clone all clones use the next controller. This
//! module sends no requests and makes no pauses.

use plans::id::MapName;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A map at one or more controllers.
#[derive(Debug, Clone)]
pub(crate) struct Controllers {
    /// The URL of the map at each controller.
    map_urls: Arc<[String]>,
    /// The number of the current controller. It only grows, and is used modulo the number of controllers.
    position: Arc<AtomicUsize>,
}

impl Controllers {
    /// Creates the list from `urls`, which are separated by commas, for the map `name`.
    pub(crate) fn new(urls: &str, name: &MapName) -> Self {
        let urls = urls.split(',').map(|url| url.trim().trim_end_matches('/'));
        let map_url = |url: &str| format!("{url}/api/v1/maps/{name}");
        Self {
            map_urls: urls.map(map_url).collect(),
            position: Arc::default(),
        }
    }

    /// Returns the number of controllers.
    pub(crate) fn count(&self) -> usize {
        self.map_urls.len()
    }

    /// Returns the map's URLs, for people.
    pub(crate) fn urls_text(&self) -> String {
        self.map_urls.join(", ")
    }

    /// Returns the controller for the next request.
    pub(crate) fn current(&self) -> CurrentController<'_> {
        let position = self.position.load(Relaxed);
        // The list is never empty: splitting a text gives at least one part.
        let url = self.map_urls.get(position % self.map_urls.len().max(1));
        CurrentController {
            url: url.map_or("", String::as_str),
            position,
        }
    }

    /// Switches to the next controller after `current` has failed, unless another clone has already done so.
    pub(crate) fn switch_after_failure(&self, current: &CurrentController<'_>) {
        let next = current.position.wrapping_add(1);
        let _ = self
            .position
            .compare_exchange(current.position, next, Relaxed, Relaxed);
    }
}

/// A controller that receives a request.
#[derive(Debug)]
pub(crate) struct CurrentController<'a> {
    /// The map's URL at this controller.
    pub(crate) url: &'a str,
    position: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_failures_of_the_same_controller_switch_to_the_next_only_once() {
        let controllers = Controllers::new("http://a/, http://b", &MapName::from("m"));
        let (first, second_clone) = (controllers.current(), controllers.clone());
        assert_eq!(first.url, "http://a/api/v1/maps/m");
        let same = second_clone.current();
        controllers.switch_after_failure(&first);
        second_clone.switch_after_failure(&same);
        let second = controllers.current();
        assert_eq!(second.url, "http://b/api/v1/maps/m");
        second_clone.switch_after_failure(&second);
        assert_eq!(controllers.current().url, first.url);
    }
}

//! The controllers that serve a map. Any of them answers; when one fails, the next is asked from then on.
//!
//! Order: clones share which one is asked, so that what one of them found out holds for all.
//! Absent: asking itself, pauses.

use plans::id::MapName;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// One map at one or more controllers.
#[derive(Debug, Clone)]
pub(crate) struct Controllers {
    maps: Arc<[String]>,
    /// The one that is asked now, counted on for ever.
    at: Arc<AtomicUsize>,
}

impl Controllers {
    /// The map `name` at `urls`, separated by commas.
    pub(crate) fn new(urls: &str, name: &MapName) -> Self {
        let urls = urls.split(',').map(|url| url.trim().trim_end_matches('/'));
        let map = |url: &str| format!("{url}/api/v1/maps/{name}");
        Self {
            maps: urls.map(map).collect(),
            at: Arc::default(),
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.maps.len()
    }

    /// The map's URLs, for people.
    pub(crate) fn all(&self) -> String {
        self.maps.join(", ")
    }

    /// The one to ask now.
    pub(crate) fn current(&self) -> Asked<'_> {
        let turn = self.at.load(Relaxed);
        // There is always one: splitting a text gives at least one part.
        let url = self.maps.get(turn % self.maps.len().max(1));
        Asked {
            url: url.map_or("", String::as_str),
            turn,
        }
    }

    /// `asked` gave no answer: the next one is asked, unless somebody has gone on already.
    pub(crate) fn failed(&self, asked: &Asked<'_>) {
        let next = asked.turn.wrapping_add(1);
        let _ = self.at.compare_exchange(asked.turn, next, Relaxed, Relaxed);
    }
}

/// A controller that is being asked.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    /// The map's URL there.
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

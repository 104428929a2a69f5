//! Every page that the router serves was examined: those that a link opens by the states, those that answer a form by
//! the scenarios.
//!
//! The routes are read from the table of the dashboard, which is the only one with pages besides the document of the API.
//! Scenarios write the method and path of each page that they examined to a folder.

use std::collections::BTreeSet;
use std::path::Path;

const TABLE: &str = include_str!("../../src/dashboard/mod.rs");
/// Handlers that answer with no page of their own: parts of pages, files, and redirects.
const WITHOUT_PAGE: [&str; 8] = [
    "live::",
    "assets::",
    "redirect_to_form",
    "activity::redirect",
    "request::check",
    "request::estimate",
    "sign_in::end",
    "map::measure",
];

/// The page that a route serves.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone)]
struct PageRoute {
    method: &'static str,
    pattern: String,
}

/// Fails with the pages that are missing among those that `folder` names as examined with this method.
pub(crate) fn all_were_examined(method: &'static str, folder: &Path) {
    let routes = page_routes();
    // As many as there were when this was written, at least: the table is still understood.
    assert!(routes.len() >= 25, "{routes:?}");
    let mut examined = BTreeSet::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        examined.extend(text.lines().filter_map(|line| route_of(line, &routes)));
    }
    let missing: Vec<_> = routes
        .iter()
        .filter(|route| route.method == method && !examined.contains(*route))
        .collect();
    assert!(
        missing.is_empty(),
        "no test put these pages on their page: {missing:?}"
    );
}

/// The routes with pages: of the dashboard by their table, of the API by its document.
fn page_routes() -> Vec<PageRoute> {
    let mut found = Vec::new();
    for route in TABLE.split(".route(").skip(1) {
        let pattern = route.split('"').nth(1).unwrap();
        let handlers = route.split(".layer(").next().unwrap();
        for (method, call) in [("GET", "get("), ("POST", "post(")] {
            let Some((_, handler)) = handlers.split_once(call) else {
                continue;
            };
            if !WITHOUT_PAGE.iter().any(|none| handler.starts_with(none)) {
                let pattern = pattern.to_owned();
                found.push(PageRoute { method, pattern });
            }
        }
    }
    let document = orchestrator::api::document()["paths"].as_object().unwrap();
    for (pattern, item) in document {
        if item["get"].to_string().contains("text/html") {
            let pattern = pattern.clone();
            found.push(PageRoute {
                method: "GET",
                pattern,
            });
        }
    }
    found
}

/// The route of a line `METHOD PATH`: of those that match, the one with the fewest parameters.
fn route_of(line: &str, routes: &[PageRoute]) -> Option<PageRoute> {
    let (method, path) = line.split_once(' ')?;
    let matching = routes
        .iter()
        .filter(|route| route.method == method && matches(&route.pattern, path));
    matching
        .min_by_key(|route| route.pattern.matches('{').count())
        .cloned()
}

fn matches(pattern: &str, path: &str) -> bool {
    let (parts, names) = (pattern.split('/'), path.split('/'));
    parts.clone().count() == names.clone().count()
        && parts
            .zip(names)
            .all(|(part, name)| part.starts_with('{') || part == name)
}

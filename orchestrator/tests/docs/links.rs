//! Links between the pages lead somewhere, to a file and a heading in it.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What a page links to, and its headings as anchors.
struct Page {
    links: Vec<String>,
    anchors: BTreeSet<String>,
}

/// As GitHub makes them: letters and digits in lower case, blanks as hyphens, nothing else.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn read(path: &Path) -> Page {
    let text = std::fs::read_to_string(path).unwrap();
    let (mut links, mut anchors) = (Vec::new(), BTreeSet::new());
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(&text, pulldown_cmark::Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                links.push(dest_url.into_string());
            }
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => anchors.extend(heading.take().map(|h| anchor(&h))),
            Event::Text(part) | Event::Code(part) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&part);
                }
            }
            Event::Html(part) | Event::InlineHtml(part) => {
                let named = part
                    .split("id=\"")
                    .nth(1)
                    .and_then(|rest| rest.split('"').next());
                anchors.extend(named.map(str::to_owned));
            }
            _ => {}
        }
    }
    Page { links, anchors }
}

/// Why a link of `page` leads nowhere.
fn broken(page: &Path, link: &str) -> Option<String> {
    if link.contains("://") {
        return None;
    }
    let (file, part) = link.split_once('#').unwrap_or((link, ""));
    let target: PathBuf = match file {
        "" => page.to_owned(),
        file => page.parent().unwrap().join(file),
    };
    if !target.exists() {
        return Some(format!("{}: {link}", page.display()));
    }
    let markdown = target.extension().is_some_and(|end| end == "md");
    let there = part.is_empty() || !markdown || read(&target).anchors.contains(part);
    (!there).then(|| format!("{}: {link} has no such heading", page.display()))
}

#[test]
fn every_link_leads_somewhere() {
    let mut files = crate::files();
    let records = std::fs::read_dir(crate::top().join("docs/adr")).unwrap();
    files.extend(records.map(|entry| Path::new("docs/adr").join(entry.unwrap().file_name())));
    let (mut links, mut broken_ones) = (0, Vec::new());
    for file in files {
        let page = crate::top().join(file);
        for link in read(&page).links {
            links += 1;
            broken_ones.extend(broken(&page, &link));
        }
    }
    assert!(links > 200, "{links}");
    assert!(broken_ones.is_empty(), "{}", broken_ones.join("\n"));
}

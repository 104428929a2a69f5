//! The fenced blocks of a Markdown page, each with the comment that stands before it.
//!
//! ```text
//! <!-- run: WORLD -->          run in that world, with the page's other blocks of it, in their order
//! <!-- file: WORLD NAME -->    a file of that world, written where it stands
//! <!-- into: WORLD NAME -->    lines that go below the first line of such a file that ends in a colon
//! <!-- is: WORLD NAME -->      what a command before it has written
//! <!-- parsed: KIND -->        read by what reads such a file
//! <!-- not run: WHY -->
//! ```

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use std::path::{Path, PathBuf};

/// What becomes of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mark {
    Run(String),
    File { world: String, name: String },
    Into { world: String, name: String },
    Is { world: String, name: String },
    Parsed(String),
    NotRun(String),
}

#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// Below the top of the checkout.
    pub(crate) page: PathBuf,
    pub(crate) line: usize,
    pub(crate) language: String,
    pub(crate) mark: Option<Mark>,
    pub(crate) text: String,
}

impl Block {
    /// Commands or files: everything but pictures and answers.
    pub(crate) fn wants_a_mark(&self) -> bool {
        !matches!(self.language.as_str(), "text" | "mermaid")
    }

    pub(crate) fn place(&self) -> String {
        format!("{}:{}", self.page.display(), self.line)
    }

    /// The world that it belongs to.
    pub(crate) fn world(&self) -> Option<&str> {
        match self.mark.as_ref()? {
            Mark::Run(world)
            | Mark::File { world, .. }
            | Mark::Into { world, .. }
            | Mark::Is { world, .. } => Some(world),
            Mark::Parsed(_) | Mark::NotRun(_) => None,
        }
    }
}

/// A comment that is no mark is none of ours.
fn mark(comment: &str) -> Option<Mark> {
    let inside = comment.trim().strip_prefix("<!--")?.strip_suffix("-->")?;
    let (name, value) = inside.split_once(':')?;
    let value = value.trim().to_owned();
    let two = || {
        let (world, name) = value.split_once(' ')?;
        Some((world.to_owned(), name.trim().to_owned()))
    };
    match name.trim() {
        "run" => Some(Mark::Run(value)),
        "file" => two().map(|(world, name)| Mark::File { world, name }),
        "into" => two().map(|(world, name)| Mark::Into { world, name }),
        "is" => two().map(|(world, name)| Mark::Is { world, name }),
        "parsed" => Some(Mark::Parsed(value)),
        "not run" if !value.is_empty() => Some(Mark::NotRun(value)),
        _ => None,
    }
}

/// The blocks of a page, in their order.
pub(crate) fn of_page(page: &Path, text: &str) -> Vec<Block> {
    let (mut blocks, mut comment) = (Vec::new(), String::new());
    let mut inside: Option<Block> = None;
    for (event, place) in Parser::new(text).into_offset_iter() {
        match (event, &mut inside) {
            (Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))), _) => {
                inside = Some(Block {
                    page: page.to_owned(),
                    line: 1 + text[..place.start].matches('\n').count(),
                    language: language.to_string(),
                    mark: mark(&std::mem::take(&mut comment)),
                    text: String::new(),
                });
            }
            (Event::Text(part), Some(block)) => block.text.push_str(&part),
            (Event::End(TagEnd::CodeBlock), _) => blocks.extend(inside.take()),
            (Event::Html(part), _) => comment = part.into_string(),
            (Event::Start(Tag::HtmlBlock) | Event::End(TagEnd::HtmlBlock), _) => {}
            _ => comment.clear(),
        }
    }
    blocks
}

#[test]
fn blocks_are_found_with_what_stands_before_them() {
    let page = "# A\n\n<!-- run: fleet -->\n```sh\nls\n```\n\n```text\nx\n```\n\n- one\n\n  <!-- file: fleet a.yaml -->\n  ```yaml\n  \
        a: 1\n  ```\n\n<!-- not run: why -->\n\nText.\n\n```sh\nrm\n```\n";
    let found = of_page(Path::new("p.md"), page);
    let marks: Vec<_> = found.iter().map(|b| (b.line, b.mark.clone())).collect();
    let run = Mark::Run("fleet".to_owned());
    let (world, name) = ("fleet".to_owned(), "a.yaml".to_owned());
    let file = Mark::File { world, name };
    assert_eq!(
        marks,
        [(4, Some(run)), (8, None), (15, Some(file)), (23, None)]
    );
    assert_eq!(
        (found[0].text.as_str(), found[2].text.as_str()),
        ("ls\n", "a: 1\n")
    );
}

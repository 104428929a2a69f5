//! The names of the source: a type's name has one meaning in its crate, and no name has a word for which the
//! documentation has a technical term.

use super::structure::{CRATES, sources};
use super::top;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

/// Words that no name contains, and the terms that replace them.
const TERMS: [(&str, &[&str]); 15] = [
    ("command", &["order"]),
    ("request or query", &["ask", "asks", "asked", "asking"]),
    ("report or log", &["say", "says", "said", "saying"]),
    ("report or notify", &["tell", "tells", "told", "telling"]),
    ("probe or check", &["look", "looks", "looked", "looking"]),
    ("observed", &["seen"]),
    ("repair", &["mend", "mends", "mended", "mending"]),
    ("old owner and new owner", &["losing", "gaining", "former"]),
    ("released keys", &["given"]),
    ("health signals or throttle ratio", &["strain", "pace"]),
    (
        "shared scan, participants",
        &["siblings", "sibling", "guests", "guest", "company"],
    ),
    ("unique conflict", &["clash", "clashes"]),
    ("warm up", &["rehearse", "rehearses", "rehearsed"]),
    ("pause or end", &["halt", "halts", "halted", "hurried"]),
    (
        "redacted, key text, monitor session, listener, forecast",
        &["masked", "legible", "lookout", "door", "foreseen"],
    ),
];

/// Names that keep such a word, and why.
const ALLOWED: [(&str, &[&str]); 3] = [
    (
        "an order is a sequence here",
        &[
            "order",
            "in_order",
            "in_drop_order",
            "insert_order",
            "is_order_independent",
            "random_order",
            "retry_in_order",
            "row_order",
            "RowOrder",
            "OrderPosition",
        ],
    ),
    (
        "an order is an object of the demo's shop",
        &["order_items", "place_order", "PlacedOrder"],
    ),
    (
        "the name is a field of a message, a column of a table, or a class of the model checker",
        &["last_seen", "foreseen", "given_up", "halted"],
    ),
];

/// A named item: the kind, the name, and the file.
#[derive(Default)]
struct NameCollector {
    file: PathBuf,
    types: Vec<(String, PathBuf)>,
    names: Vec<(String, PathBuf)>,
}

impl NameCollector {
    fn of(name: &str) -> Self {
        let mut collector = Self::default();
        let root = top().join(name).join("src");
        for file in sources(&root).into_iter().filter(|file| !is_test(file)) {
            collector.read(file);
        }
        collector
    }

    fn read(&mut self, file: PathBuf) {
        let text = std::fs::read_to_string(&file).unwrap();
        let parsed = syn::parse_file(&text).unwrap();
        self.file = file;
        self.visit_file(&parsed);
    }

    fn add_type(&mut self, name: &syn::Ident) {
        self.types.push((name.to_string(), self.file.clone()));
    }
}

impl<'ast> Visit<'ast> for NameCollector {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        match item {
            syn::Item::Mod(module) if module.attrs.iter().any(is_test_only) => return,
            syn::Item::Struct(item) => self.add_type(&item.ident),
            syn::Item::Enum(item) => self.add_type(&item.ident),
            syn::Item::Trait(item) => self.add_type(&item.ident),
            syn::Item::Type(item) => self.add_type(&item.ident),
            syn::Item::Union(item) => self.add_type(&item.ident),
            syn::Item::Mod(module) => self
                .names
                .push((module.ident.to_string(), self.file.clone())),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.names
            .push((signature.ident.to_string(), self.file.clone()));
        visit::visit_signature(self, signature);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if let Some(name) = &field.ident {
            self.names.push((name.to_string(), self.file.clone()));
        }
        visit::visit_field(self, field);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.names.push((item.ident.to_string(), self.file.clone()));
        visit::visit_item_const(self, item);
    }

    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        self.names
            .push((pattern.ident.to_string(), self.file.clone()));
        visit::visit_pat_ident(self, pattern);
    }
}

/// Whether an attribute is `#[cfg(test)]`.
fn is_test_only(attribute: &syn::Attribute) -> bool {
    let is_test = attribute
        .parse_args::<syn::Ident>()
        .is_ok_and(|condition| condition == "test");
    attribute.path().is_ident("cfg") && is_test
}

/// Whether a file has tests only.
fn is_test(file: &Path) -> bool {
    file.with_extension("")
        .iter()
        .any(|part| part == "tests" || part == "protocol_tests")
}

/// The words of a name in lower case: `RowOrder` and `row_order` are `row` and `order`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        if letter == '_' || (letter.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        was_lower = letter.is_lowercase() || letter.is_numeric();
        if letter != '_' {
            words.last_mut().unwrap().extend(letter.to_lowercase());
        }
    }
    words
}

/// The term that replaces a word of a name; `None` if the name has only words that may be there.
fn replacement(name: &str) -> Option<&'static str> {
    if ALLOWED.iter().any(|(_, names)| names.contains(&name)) {
        return None;
    }
    let words = words(name);
    let mut terms = TERMS.iter();
    let found = terms.find(|(_, left)| words.iter().any(|word| left.contains(&word.as_str())));
    found.map(|(term, _)| *term)
}

#[test]
fn names_have_no_word_that_has_a_term() {
    let found: BTreeSet<String> = CRATES
        .iter()
        .flat_map(|name| {
            let collector = NameCollector::of(name);
            collector.names.into_iter().chain(collector.types)
        })
        .filter_map(|(name, file)| {
            let term = replacement(&name)?;
            Some(format!(
                "{}: `{name}`: {term}",
                file.strip_prefix(top()).unwrap().display()
            ))
        })
        .collect();
    let found: Vec<String> = found.into_iter().collect();
    assert!(
        found.is_empty(),
        "{} names:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn no_type_name_occurs_twice_in_a_crate() {
    // The modules of the models are one program each, with the same parts.
    let crates = CRATES
        .iter()
        .filter(|name| !name.ends_with("protocol_models"));
    let mut twice = Vec::new();
    for name in crates {
        let mut types: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for (name, file) in NameCollector::of(name).types {
            types.entry(name).or_default().push(file);
        }
        let several = types.into_iter().filter(|(_, files)| files.len() > 1);
        twice.extend(several.map(|(name, files)| format!("{name}: {files:?}")));
    }
    assert!(twice.is_empty(), "{}", twice.join("\n"));
}

#[test]
fn words_of_names_are_found() {
    assert_eq!(words("LastLookAt"), ["last", "look", "at"]);
    assert_eq!(replacement("last_look"), Some("probe or check"));
    assert_eq!(replacement("MENDED"), Some("repair"));
    assert_eq!(replacement("row_order"), None);
    assert_eq!(replacement("overlooked"), None);
    let mut collector = NameCollector::default();
    let source = "struct Ask { told: u8 } #[cfg(test)] mod tests { struct Seen; } fn f(given: u8) { let said = given; }";
    collector.visit_file(&syn::parse_str(source).unwrap());
    let names: Vec<_> = collector
        .names
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["told", "f", "given", "said"]);
    assert_eq!(collector.types.len(), 1);
}

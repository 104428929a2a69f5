//! Tests that read archives in the format of pg_dump, including corrupt ones.

use super::*;

/// Writes an archive in the format of pg_dump.
struct ArchiveWriter {
    bytes: Vec<u8>,
    minor: u8,
}

impl ArchiveWriter {
    fn new(minor: u8, entries: i32) -> Self {
        let mut writer = Self {
            bytes: [&b"PGDMP"[..], &[1, minor, 0, 4, 8, CUSTOM_FORMAT]].concat(),
            minor,
        };
        if minor >= COMPRESSION_BY_NAME {
            writer.bytes.push(0);
        } else {
            writer.int(-1);
        }
        for number in [59, 30, 4, 27, 10, 126, 0] {
            writer.int(number);
        }
        for text in ["shop", "18.1", "18.1"] {
            writer.text(Some(text));
        }
        writer.int(entries);
        writer
    }

    fn int(&mut self, value: i32) {
        self.bytes.push(u8::from(value < 0));
        self.bytes.extend(value.unsigned_abs().to_le_bytes());
    }

    fn text(&mut self, text: Option<&str>) {
        match text {
            None => self.int(-1),
            Some(text) => {
                self.int(i32::try_from(text.len()).expect("short"));
                self.bytes.extend(text.bytes());
            }
        }
    }

    fn entry(&mut self, tag: &str, definition: &str) {
        self.int(7);
        self.int(0);
        for text in ["1259", "16385", tag, "TABLE"] {
            self.text(Some(text));
        }
        self.int(2);
        self.text(Some(definition));
        self.text(Some("DROP TABLE x;"));
        self.text(None);
        for text in [Some("public"), Some(""), Some("heap")] {
            self.text(text);
        }
        if self.minor >= WITH_RELKIND {
            self.int(i32::from(b'p'));
        }
        for text in [Some("owner"), Some("false"), Some("3"), None] {
            self.text(text);
        }
        self.bytes.push(3);
        self.bytes.extend([0; 8]);
    }
}

const NAME: &str = "z\n-- Name: x; Type: TABLE\n;select evil.pwn(); --\"";
const BODY: &str =
    "CREATE TABLE x (\n);\n--\n-- PostgreSQL database dump complete\n--\n\\unrestrict x\n";

#[test]
fn names_and_bodies_are_read_by_their_length_in_every_known_format() {
    for minor in MINOR_VERSIONS {
        let mut writer = ArchiveWriter::new(minor, 2);
        writer.entry(NAME, BODY);
        writer.entry("after", "");
        let entries = read(&writer.bytes).expect("read");
        let first = &entries[0];
        assert_eq!(
            (first.tag.as_str(), first.definition.as_str()),
            (NAME, BODY)
        );
        assert_eq!(first.depends_on, [3]);
        assert_eq!(first.relkind, (minor >= WITH_RELKIND).then_some('p'));
        let object = ObjectId {
            class: 1259,
            oid: 16385,
        };
        assert_eq!(first.object, Some(object));
        assert_eq!(entries[1].tag, "after");
    }
}

#[test]
fn an_archive_that_ends_anywhere_is_refused() {
    let mut writer = ArchiveWriter::new(16, 1);
    writer.entry(NAME, BODY);
    for length in 0..writer.bytes.len() {
        assert!(read(&writer.bytes[..length]).is_err(), "{length}");
    }
}

#[test]
fn other_formats_and_broken_counts_are_refused() {
    for minor in [13, 17] {
        let error = read(&ArchiveWriter::new(minor, 0).bytes).expect_err("refused");
        assert!(error.to_string().contains(&format!("1.{minor}")), "{error}");
    }
    assert!(matches!(
        read(b"PK\x03\x04 a zip"),
        Err(ArchiveError::Foreign)
    ));
    for count in [-1, i32::MAX] {
        assert!(read(&ArchiveWriter::new(14, count).bytes).is_err());
    }
}

//! Reads the table of contents of an archive that `pg_dump --format=custom` wrote.
//!
//! The reader takes every field by its length and never interprets its content: a name or a function body may contain
//! newlines, quotes and text that looks like a comment of pg_restore. It does not read data blocks, because a
//! schema-only dump has none.

/// The minor versions of the archive format that pg_dump 15 to 18 write.
const MINOR_VERSIONS: std::ops::RangeInclusive<u8> = 14..=16;
/// From this minor version on (pg_dump 16), one byte in the header names the compression.
const COMPRESSION_BY_NAME: u8 = 15;
/// From this minor version on (pg_dump 17), each entry contains the kind of its relation.
const WITH_RELKIND: u8 = 16;
/// The byte in the header that identifies `--format=custom`.
const CUSTOM_FORMAT: u8 = 1;
/// The minimum size of an entry in bytes. It limits the number of entries, so that a corrupt count cannot cause a large
/// allocation.
const SMALLEST_ENTRY: usize = 16;

/// The identity of an object on its server: the OID of the catalog that lists the object, and the OID of its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectId {
    pub(crate) class: u32,
    pub(crate) oid: u32,
}

/// The section of pg_restore that an entry belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArchiveSection {
    /// The entry has no section of its own: pg_restore restores it with the entries that it depends on.
    None,
    PreData,
    Data,
    PostData,
}

/// One entry of the table of contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArchiveEntry {
    pub(crate) dump_id: i32,
    /// None for comments and for other entries that have no row in a catalog.
    pub(crate) object: Option<ObjectId>,
    pub(crate) tag: String,
    /// The kind of the object, as pg_dump names it, for example `TABLE`.
    pub(crate) kind: String,
    pub(crate) section: ArchiveSection,
    pub(crate) definition: String,
    pub(crate) schema: String,
    /// Empty if the object is in the default tablespace of the database.
    pub(crate) tablespace: String,
    pub(crate) access_method: Option<String>,
    /// The value of `pg_class.relkind`. Only relations have it, and only since pg_dump 17.
    pub(crate) relkind: Option<char>,
    pub(crate) owner: String,
    pub(crate) depends_on: Vec<i32>,
}

/// The reason why an archive cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArchiveError {
    #[error("the archive ends in the middle of its table of contents, at byte {at}")]
    Truncated { at: usize },
    #[error("the file is not an archive of pg_dump --format=custom")]
    Foreign,
    #[error("the archive has format {major}.{minor}, and 1.14 to 1.16 are known")]
    Version { major: u8, minor: u8 },
    #[error("the archive has {what} {value} at byte {at}")]
    Value {
        what: &'static str,
        value: String,
        at: usize,
    },
}

/// Returns the entries of the table of contents, in the order of the archive.
///
/// # Errors
/// Returns [`ArchiveError`] with the byte position if the archive is truncated, foreign or of an unknown version.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<ArchiveEntry>, ArchiveError> {
    let mut reader = ArchiveReader {
        bytes,
        at: 0,
        int_size: 4,
        offset_size: 8,
        minor: 0,
    };
    reader.header()?;
    let count = reader.int()?;
    let max_count = reader.bytes.len() / SMALLEST_ENTRY;
    let count = usize::try_from(count)
        .ok()
        .filter(|count| *count <= max_count);
    let count = count.ok_or(ArchiveError::Truncated { at: reader.at })?;
    (0..count).map(|_| reader.entry()).collect()
}

struct ArchiveReader<'a> {
    bytes: &'a [u8],
    /// The position of the next byte.
    at: usize,
    /// The number of bytes of an integer, without its sign byte.
    int_size: usize,
    offset_size: usize,
    minor: u8,
}

impl<'a> ArchiveReader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], ArchiveError> {
        let end = self.at.checked_add(length);
        let bytes = end.and_then(|end| self.bytes.get(self.at..end));
        let bytes = bytes.ok_or(ArchiveError::Truncated { at: self.at })?;
        self.at += length;
        Ok(bytes)
    }

    fn byte(&mut self) -> Result<u8, ArchiveError> {
        Ok(self.take(1)?[0])
    }

    /// Reads an integer: a sign byte, then the bytes of the absolute value in little-endian order.
    fn int(&mut self) -> Result<i32, ArchiveError> {
        let at = self.at;
        let negative = self.byte()? != 0;
        let bytes = self.take(self.int_size)?;
        let absolute = bytes.iter().rev().try_fold(0_i64, |value, byte| {
            value.checked_mul(256)?.checked_add(i64::from(*byte))
        });
        let signed = absolute.map(|value| if negative { -value } else { value });
        let value = signed.and_then(|value| i32::try_from(value).ok());
        value.ok_or_else(|| ArchiveError::Value {
            what: "a number",
            value: format!("{bytes:?}"),
            at,
        })
    }

    fn text(&mut self) -> Result<Option<String>, ArchiveError> {
        let Ok(length) = usize::try_from(self.int()?) else {
            return Ok(None);
        };
        let at = self.at;
        let bytes = self.take(length)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(error) => Err(ArchiveError::Value {
                what: "a text that is not UTF-8:",
                value: error.to_string(),
                at,
            }),
        }
    }

    /// Reads a number that the archive stores as text.
    fn number<N: std::str::FromStr>(&mut self) -> Result<Option<N>, ArchiveError> {
        let at = self.at;
        let Some(text) = self.text()? else {
            return Ok(None);
        };
        match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(ArchiveError::Value {
                what: "a number",
                value: text,
                at,
            }),
        }
    }

    fn header(&mut self) -> Result<(), ArchiveError> {
        if self.take(5)? != b"PGDMP" {
            return Err(ArchiveError::Foreign);
        }
        let (major, minor) = (self.byte()?, self.byte()?);
        if major != 1 || !MINOR_VERSIONS.contains(&minor) {
            return Err(ArchiveError::Version { major, minor });
        }
        self.minor = minor;
        let _revision = self.byte()?;
        self.int_size = usize::from(self.byte()?);
        self.offset_size = usize::from(self.byte()?);
        if self.byte()? != CUSTOM_FORMAT {
            return Err(ArchiveError::Foreign);
        }
        if minor >= COMPRESSION_BY_NAME {
            self.byte()?;
        } else {
            self.int()?;
        }
        // Skips the creation time (seven integers), the database name and the versions of the server and of pg_dump.
        for _ in 0..7 {
            self.int()?;
        }
        for _ in 0..3 {
            self.text()?;
        }
        Ok(())
    }

    fn entry(&mut self) -> Result<ArchiveEntry, ArchiveError> {
        let dump_id = self.int()?;
        let _has_data = self.int()?;
        let class = self.number()?.unwrap_or_default();
        let oid = self.number()?.unwrap_or_default();
        let tag = self.text()?.unwrap_or_default();
        let kind = self.text()?.unwrap_or_default();
        let at = self.at;
        let section = match self.int()? {
            1 => ArchiveSection::None,
            2 => ArchiveSection::PreData,
            3 => ArchiveSection::Data,
            4 => ArchiveSection::PostData,
            other => {
                return Err(ArchiveError::Value {
                    what: "section",
                    value: other.to_string(),
                    at,
                });
            }
        };
        let definition = self.text()?.unwrap_or_default();
        let (_drop, _copy) = (self.text()?, self.text()?);
        let schema = self.text()?.unwrap_or_default();
        let tablespace = self.text()?.unwrap_or_default();
        let access_method = self.text()?.filter(|name| !name.is_empty());
        let relkind = if self.minor >= WITH_RELKIND {
            let letter = u8::try_from(self.int()?).ok().filter(|byte| *byte > 0);
            letter.map(char::from)
        } else {
            None
        };
        let owner = self.text()?.unwrap_or_default();
        let _with_oids = self.text()?;
        let mut depends_on = Vec::new();
        while let Some(id) = self.number()? {
            depends_on.push(id);
        }
        // Skips the position of the entry's data: a flag and an offset.
        self.take(1 + self.offset_size)?;
        Ok(ArchiveEntry {
            dump_id,
            object: (oid != 0).then_some(ObjectId { class, oid }),
            tag,
            kind,
            section,
            definition,
            schema,
            tablespace,
            access_method,
            relkind,
            owner,
            depends_on,
        })
    }
}

#[cfg(test)]
mod tests;

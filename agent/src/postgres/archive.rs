//! The table of contents of an archive that `pg_dump --format=custom` wrote.
//!
//! Every field is read by its length, never by what it contains: a name or a function's body may hold newlines, quotes
//! and everything that looks like a comment of pg_restore. Absent: the data blocks, which a dump of a schema has none of.

/// The archives of pg_dump 15 to 18.
const MINORS: std::ops::RangeInclusive<u8> = 14..=16;
/// Since pg_dump 16 the header names the compression by one byte.
const COMPRESSION_BY_NAME: u8 = 15;
/// Since pg_dump 17 each entry has the kind of its relation.
const WITH_RELKIND: u8 = 16;
/// The byte that stands for `--format=custom`.
const CUSTOM: u8 = 1;
/// An entry has at least this many bytes, so that a broken count allocates nothing.
const SMALLEST: usize = 16;

/// An object as the server knows it: the catalog that lists it, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectId {
    pub(crate) class: u32,
    pub(crate) oid: u32,
}

/// When pg_restore would restore an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArchiveSection {
    /// With what it depends on.
    None,
    PreData,
    Data,
    PostData,
}

/// One entry of the table of contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArchiveEntry {
    pub(crate) dump_id: i32,
    /// None for what no catalog lists, and for comments.
    pub(crate) object: Option<ObjectId>,
    pub(crate) tag: String,
    /// The kind, in pg_dump's words.
    pub(crate) kind: String,
    pub(crate) section: ArchiveSection,
    pub(crate) definition: String,
    pub(crate) schema: String,
    /// Empty for the database's own.
    pub(crate) tablespace: String,
    pub(crate) access_method: Option<String>,
    /// For relations, since pg_dump 17: the letter of `pg_class.relkind`.
    pub(crate) relkind: Option<char>,
    pub(crate) owner: String,
    pub(crate) depends_on: Vec<i32>,
}

/// Why the bytes are no archive that is known here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArchiveError {
    #[error("the archive ends in the middle of its table of contents, at byte {at}")]
    Truncated { at: usize },
    #[error("it is no archive of pg_dump --format=custom")]
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

/// Reads the table of contents, in the order of the archive.
///
/// # Errors
/// [`ArchiveError`], with the place.
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
    let most = reader.bytes.len() / SMALLEST;
    let count = usize::try_from(count).ok().filter(|count| *count <= most);
    let count = count.ok_or(ArchiveError::Truncated { at: reader.at })?;
    (0..count).map(|_| reader.entry()).collect()
}

struct ArchiveReader<'a> {
    bytes: &'a [u8],
    at: usize,
    int_size: usize,
    offset_size: usize,
    minor: u8,
}

impl<'a> ArchiveReader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], ArchiveError> {
        let end = self.at.checked_add(length);
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or(ArchiveError::Truncated { at: self.at })?;
        self.at += length;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, ArchiveError> {
        Ok(self.take(1)?[0])
    }

    /// A sign, then the bytes from the lowest on.
    fn int(&mut self) -> Result<i32, ArchiveError> {
        let at = self.at;
        let negative = self.byte()? != 0;
        let bytes = self.take(self.int_size)?;
        let folded = bytes.iter().rev().try_fold(0_i64, |value, byte| {
            value.checked_mul(256)?.checked_add(i64::from(*byte))
        });
        let signed = folded.map(|value| if negative { -value } else { value });
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

    /// A number that is written as text.
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
        if major != 1 || !MINORS.contains(&minor) {
            return Err(ArchiveError::Version { major, minor });
        }
        self.minor = minor;
        let _revision = self.byte()?;
        self.int_size = usize::from(self.byte()?);
        self.offset_size = usize::from(self.byte()?);
        if self.byte()? != CUSTOM {
            return Err(ArchiveError::Foreign);
        }
        if minor >= COMPRESSION_BY_NAME {
            self.byte()?;
        } else {
            self.int()?;
        }
        // When it was made, in seven numbers; the database; the versions of server and pg_dump.
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
        // Where the data is: a flag and an offset.
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

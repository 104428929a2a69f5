//! Splits the output of one binary COPY by its first column, a two-byte number that names the receiver of the row. The
//! router removes this column and forwards the other bytes as they arrive. It never needs a complete row in memory.

use std::io;

use super::HEADER_BYTES;

/// Length of the file header: signature, flags and the length of the header extension.
const HEAD: usize = 19;
/// Length of the field count of a row.
const COUNT: usize = 2;
/// Length of a column's length field.
const LENGTH: usize = 4;
/// Length of the column that names the receiver, with its length field.
const NUMBER: usize = LENGTH + 2;
/// File trailer: this value replaces the field count after the last row.
const END: i16 = -1;

/// Data for one receiver: free space for a message header, then row data, with the number of rows that end in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RoutedRows {
    pub(super) bytes: Vec<u8>,
    pub(super) rows: u64,
}

impl Default for RoutedRows {
    fn default() -> Self {
        Self {
            bytes: vec![0; HEADER_BYTES],
            rows: 0,
        }
    }
}

impl RoutedRows {
    /// Returns the number of bytes of row data.
    pub(super) fn filled(&self) -> usize {
        self.bytes.len() - HEADER_BYTES
    }
}

/// The field that the next byte of the COPY belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RoutePosition {
    Head,
    Count,
    /// The column that names the receiver; the number of columns after it.
    Number(u16),
    /// The length field of a column; the number of columns after this one.
    Length(u16),
    /// A column value: the number of its bytes still to come, and the number of columns after it.
    Value(usize, u16),
    End,
}

/// Parses a COPY of which the bytes can be split anywhere.
#[derive(Debug)]
pub(super) struct RowRouter {
    at: RoutePosition,
    /// The bytes of the current fixed-length field that have arrived.
    held: Vec<u8>,
    /// The receiver of the current row.
    part: usize,
}

impl Default for RowRouter {
    fn default() -> Self {
        Self {
            at: RoutePosition::Head,
            held: Vec::with_capacity(HEAD),
            part: 0,
        }
    }
}

impl RowRouter {
    /// Appends the data in `bytes` to the pieces of its receivers.
    ///
    /// # Errors
    /// Returns an error if the data is no binary COPY, or if a row names no receiver. No row is dropped silently.
    pub(super) fn route(&mut self, bytes: &[u8], to: &mut [RoutedRows]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let count = match self.at {
                RoutePosition::Head => self.read_field(HEAD, rest, to)?,
                RoutePosition::Count => self.read_field(COUNT, rest, to)?,
                RoutePosition::Number(_) => self.read_field(NUMBER, rest, to)?,
                RoutePosition::Length(_) => self.read_field(LENGTH, rest, to)?,
                RoutePosition::Value(left, follow) => {
                    let count = left.min(rest.len());
                    self.piece(to)?.bytes.extend_from_slice(&rest[..count]);
                    self.value(left - count, follow, to)?;
                    count
                }
                RoutePosition::End => return Err(unexpected()),
            };
            rest = &rest[count..];
        }
        Ok(())
    }

    /// Returns whether the file trailer has arrived.
    pub(super) fn is_complete(&self) -> bool {
        self.at == RoutePosition::End
    }

    /// Reads bytes of the current field, which has `size` bytes, and processes the field if it is complete. Returns how
    /// many bytes it read.
    fn read_field(
        &mut self,
        size: usize,
        bytes: &[u8],
        to: &mut [RoutedRows],
    ) -> io::Result<usize> {
        let count = (size - self.held.len()).min(bytes.len());
        self.held.extend_from_slice(&bytes[..count]);
        if self.held.len() == size {
            self.process_field(to)?;
            self.held.clear();
        }
        Ok(count)
    }

    /// Processes a fixed-length field that is complete.
    fn process_field(&mut self, to: &mut [RoutedRows]) -> io::Result<()> {
        match self.at {
            RoutePosition::Head => {
                // No PostgreSQL server writes a header extension.
                if self.held[HEAD - LENGTH..] != [0; LENGTH] {
                    return Err(unexpected());
                }
                self.append_to_all(to);
                self.at = RoutePosition::Count;
            }
            RoutePosition::Count => match i16::from_be_bytes(array(&self.held)?) {
                END => {
                    self.append_to_all(to);
                    self.at = RoutePosition::End;
                }
                columns => {
                    let follow = u16::try_from(columns).ok();
                    let follow = follow.and_then(|columns| columns.checked_sub(1));
                    self.at = RoutePosition::Number(follow.ok_or_else(unexpected)?);
                }
            },
            RoutePosition::Number(follow) => {
                let [length @ .., high, low] = array::<NUMBER>(&self.held)?;
                let number = usize::try_from(i16::from_be_bytes([high, low])).ok();
                if length != 2_i32.to_be_bytes() {
                    return Err(unexpected());
                }
                self.part = number.ok_or_else(unexpected)?;
                let piece = self.piece(to)?;
                piece.bytes.extend_from_slice(&follow.to_be_bytes());
                self.column(follow, to)?;
            }
            RoutePosition::Length(follow) => {
                let length = i32::from_be_bytes(array(&self.held)?);
                let words: [u8; LENGTH] = array(&self.held)?;
                self.piece(to)?.bytes.extend_from_slice(&words);
                // A null value has the length -1 and no bytes.
                self.value(usize::try_from(length).unwrap_or(0), follow, to)?;
            }
            RoutePosition::Value(..) | RoutePosition::End => {}
        }
        Ok(())
    }

    /// Starts a column value of `left` bytes.
    fn value(&mut self, left: usize, follow: u16, to: &mut [RoutedRows]) -> io::Result<()> {
        if left == 0 {
            return self.column(follow, to);
        }
        self.at = RoutePosition::Value(left, follow);
        Ok(())
    }

    /// Continues with the next column, or with the next row if no column follows.
    fn column(&mut self, follow: u16, to: &mut [RoutedRows]) -> io::Result<()> {
        if let Some(follow) = follow.checked_sub(1) {
            self.at = RoutePosition::Length(follow);
        } else {
            self.piece(to)?.rows += 1;
            self.at = RoutePosition::Count;
        }
        Ok(())
    }

    fn append_to_all(&self, to: &mut [RoutedRows]) {
        for piece in to {
            piece.bytes.extend_from_slice(&self.held);
        }
    }

    fn piece<'a>(&self, to: &'a mut [RoutedRows]) -> io::Result<&'a mut RoutedRows> {
        to.get_mut(self.part).ok_or_else(unexpected)
    }
}

fn array<const N: usize>(words: &[u8]) -> io::Result<[u8; N]> {
    words.try_into().map_err(|_| unexpected())
}

pub(super) fn unexpected() -> io::Error {
    let what = "rows arrived that do not name their receiver";
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[Option<&[u8]>]) -> Vec<u8> {
        let mut row = i16::try_from(values.len())
            .expect("few")
            .to_be_bytes()
            .to_vec();
        for value in values {
            let length = value.map_or(-1, |value| i32::try_from(value.len()).expect("short"));
            row.extend(length.to_be_bytes());
            row.extend(value.unwrap_or_default());
        }
        row
    }

    fn head() -> Vec<u8> {
        [b"PGCOPY\n\xff\r\n\0".as_slice(), &[0; 8]].concat()
    }

    /// Returns the data and the row count of two receivers when `all` arrives in pieces of `size` bytes.
    fn routed(all: &[u8], size: usize) -> io::Result<[(Vec<u8>, u64); 2]> {
        let (mut router, mut to) = (
            RowRouter::default(),
            [RoutedRows::default(), RoutedRows::default()],
        );
        for bytes in all.chunks(size) {
            router.route(bytes, &mut to)?;
        }
        assert!(router.is_complete());
        Ok(to.map(|piece| (piece.bytes[HEADER_BYTES..].to_vec(), piece.rows)))
    }

    #[test]
    fn each_row_goes_to_the_receiver_in_its_first_column_however_its_bytes_are_split() {
        let (wide, end) = (vec![7; 1000], END.to_be_bytes().to_vec());
        let rows = [
            row(&[Some(&[0, 1]), Some(b"one"), None, Some(b"")]),
            row(&[Some(&[0, 0]), Some(&wide), Some(b"nought")]),
            row(&[Some(&[0, 1])]),
        ];
        let all = [head(), rows.concat(), end.clone()].concat();
        let nought = row(&[Some(&wide), Some(b"nought")]);
        let one = [row(&[Some(b"one"), None, Some(b"")]), row(&[])].concat();
        for size in [1, 2, 3, 5, 19, 100, all.len()] {
            let to = routed(&all, size).expect("the form");
            assert_eq!(to[0], ([head(), nought.clone(), end.clone()].concat(), 1));
            assert_eq!(to[1], ([head(), one.clone(), end.clone()].concat(), 2));
        }
    }

    #[test]
    fn a_row_without_a_receiver_is_an_error() {
        for number in [Some(&[0, 2][..]), Some(&[255, 255]), Some(&[1]), None] {
            let row = row(&[number, Some(b"value")]);
            assert!(routed(&[head(), row].concat(), 7).is_err(), "{number:?}");
        }
        let extended = [
            b"PGCOPY\n\xff\r\n\0".as_slice(),
            &[0, 0, 0, 0, 0, 0, 0, 1, 0],
        ]
        .concat();
        assert!(routed(&extended, 7).is_err());
    }
}

//! Tells the rows of one COPY in its binary form apart by their first column, a two-byte number that the server
//! computed: which of several receivers a row is for. The column is taken out, what stands around it is passed on as it
//! comes, and no row need ever be whole in memory.

use std::io;

use super::HEADER;

/// Signature, flags and the length of an extension.
const HEAD: usize = 19;
/// How many columns a row has.
const COUNT: usize = 2;
/// The length of a column.
const LENGTH: usize = 4;
/// The length and the value of the column that names the receiver.
const NUMBER: usize = LENGTH + 2;
/// Stands where the number of columns does, behind the last row.
const END: i16 = -1;

/// What one receiver has to be sent: room for a header, bytes of rows, and how many rows end among them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RoutedRows {
    pub(super) bytes: Vec<u8>,
    pub(super) rows: u64,
}

impl Default for RoutedRows {
    fn default() -> Self {
        Self {
            bytes: vec![0; HEADER],
            rows: 0,
        }
    }
}

impl RoutedRows {
    /// Bytes of rows.
    pub(super) fn filled(&self) -> usize {
        self.bytes.len() - HEADER
    }
}

/// Where in the form the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RoutePosition {
    Head,
    Count,
    /// The column that names the receiver; so many follow it.
    Number(u16),
    /// The length of a column, which so many follow.
    Length(u16),
    /// So many bytes of a value; so many columns follow it.
    Value(usize, u16),
    End,
}

/// Follows a COPY, however its bytes are cut.
#[derive(Debug)]
pub(super) struct RowRouter {
    at: RoutePosition,
    /// What has come of the words at this place.
    held: Vec<u8>,
    /// The receiver of the row that is under way.
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
    /// Adds what is in `bytes` to the pieces of those that it is for.
    ///
    /// # Errors
    /// When it is not the form, or names none of them: no row is left out in silence.
    pub(super) fn route(&mut self, bytes: &[u8], to: &mut [RoutedRows]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let count = match self.at {
                RoutePosition::Head => self.words(HEAD, rest, to)?,
                RoutePosition::Count => self.words(COUNT, rest, to)?,
                RoutePosition::Number(_) => self.words(NUMBER, rest, to)?,
                RoutePosition::Length(_) => self.words(LENGTH, rest, to)?,
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

    /// Every row has come, and the end behind them.
    pub(super) fn is_over(&self) -> bool {
        self.at == RoutePosition::End
    }

    fn words(&mut self, size: usize, bytes: &[u8], to: &mut [RoutedRows]) -> io::Result<usize> {
        let count = (size - self.held.len()).min(bytes.len());
        self.held.extend_from_slice(&bytes[..count]);
        if self.held.len() == size {
            self.understand(to)?;
            self.held.clear();
        }
        Ok(count)
    }

    /// The words at this place are whole.
    fn understand(&mut self, to: &mut [RoutedRows]) -> io::Result<()> {
        match self.at {
            RoutePosition::Head => {
                // No server writes an extension.
                if self.held[HEAD - LENGTH..] != [0; LENGTH] {
                    return Err(unexpected());
                }
                self.to_all(to);
                self.at = RoutePosition::Count;
            }
            RoutePosition::Count => match i16::from_be_bytes(array(&self.held)?) {
                END => {
                    self.to_all(to);
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
                // A value that is missing has a length below zero and no bytes.
                self.value(usize::try_from(length).unwrap_or(0), follow, to)?;
            }
            RoutePosition::Value(..) | RoutePosition::End => {}
        }
        Ok(())
    }

    /// So many bytes of a value are to come.
    fn value(&mut self, left: usize, follow: u16, to: &mut [RoutedRows]) -> io::Result<()> {
        if left == 0 {
            return self.column(follow, to);
        }
        self.at = RoutePosition::Value(left, follow);
        Ok(())
    }

    /// So many columns of the row are to come.
    fn column(&mut self, follow: u16, to: &mut [RoutedRows]) -> io::Result<()> {
        if let Some(follow) = follow.checked_sub(1) {
            self.at = RoutePosition::Length(follow);
        } else {
            self.piece(to)?.rows += 1;
            self.at = RoutePosition::Count;
        }
        Ok(())
    }

    fn to_all(&self, to: &mut [RoutedRows]) {
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
    let what = "rows came that do not say for whom they are";
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

    /// What two receivers get of `all` when it comes in pieces of `size`.
    fn routed(all: &[u8], size: usize) -> io::Result<[(Vec<u8>, u64); 2]> {
        let (mut router, mut to) = (
            RowRouter::default(),
            [RoutedRows::default(), RoutedRows::default()],
        );
        for bytes in all.chunks(size) {
            router.route(bytes, &mut to)?;
        }
        assert!(router.is_over());
        Ok(to.map(|piece| (piece.bytes[HEADER..].to_vec(), piece.rows)))
    }

    #[test]
    fn each_row_goes_where_its_first_column_says_however_its_bytes_are_cut() {
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
    fn a_row_for_nobody_is_an_error() {
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

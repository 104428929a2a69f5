//! Computes PostgreSQL's 64-bit hash of a key with seed 0. The result equals that of the SQL expression
//! [`super::KeyType::hash_expression`].
//!
//! The algorithm is `hash_bytes_extended` of PostgreSQL's src/common/hashfn.c, which is Bob Jenkins' lookup3 on
//! little-endian words. With seed 0 the initial state is not mixed. Constants and tables of this file come from there.

use super::{Key, hex};

impl Key {
    /// Returns the hash that [`super::KeyType::hash_expression`] computes on a server.
    ///
    /// The hashes of a composite key's columns are combined as `hash_record_extended` does: 31 times the hash of the
    /// columns so far, plus the hash of the column.
    #[must_use]
    pub fn hash64(&self) -> u64 {
        match self {
            Self::Int(value) | Self::Timestamp(value) => hash_int8(*value),
            Self::Date(days) => hash_u32(u32::from_ne_bytes(days.to_ne_bytes())),
            Self::Text(text) => hash_bytes(text.as_bytes()),
            Self::Uuid(bytes) => hash_bytes(bytes),
            Self::Bytes(bytes) => hash_bytes(hex(bytes).as_bytes()),
            Self::Row(values) => values.iter().fold(0_u64, |hash, value| {
                (hash << 5).wrapping_sub(hash).wrapping_add(value.hash64())
            }),
        }
    }
}

/// Computes `hashint8extended`. A smaller integer type has the same hash for the same value.
fn hash_int8(value: i64) -> u64 {
    let [a, b, c, d, e, f, g, h] = value.to_le_bytes();
    let low = u32::from_le_bytes([a, b, c, d]);
    let high = u32::from_le_bytes([e, f, g, h]);
    // The high half is 0 for a value that fits into 32 bits, also if the value is negative.
    hash_u32(low ^ if value >= 0 { high } else { !high })
}

/// The three words of the hash state.
struct HashState(u32, u32, u32);

/// Returns the initial state for `length` bytes.
fn initial_state(length: u32) -> HashState {
    let word = 0x9e37_79b9_u32.wrapping_add(length).wrapping_add(3_923_095);
    HashState(word, word, word)
}

impl HashState {
    /// Mixes the words after a block. Each tuple is one step: word x changes by word y, then y by z.
    fn mix(&mut self) {
        let Self(a, b, c) = self;
        for (x, y, z, bits) in [
            (0, 2, 1, 4),
            (1, 0, 2, 6),
            (2, 1, 0, 8),
            (0, 2, 1, 16),
            (1, 0, 2, 19),
            (2, 1, 0, 4),
        ] {
            let mut words = [*a, *b, *c];
            words[x] = words[x].wrapping_sub(words[y]);
            words[x] ^= words[y].rotate_left(bits);
            words[y] = words[y].wrapping_add(words[z]);
            [*a, *b, *c] = words;
        }
    }

    /// Returns the last two words of the final state as one number.
    fn finish(mut self) -> u64 {
        let Self(a, b, c) = &mut self;
        for (x, y, bits) in [
            (2, 1, 14),
            (0, 2, 11),
            (1, 0, 25),
            (2, 1, 16),
            (0, 2, 4),
            (1, 0, 14),
            (2, 1, 24),
        ] {
            let mut words = [*a, *b, *c];
            words[x] ^= words[y];
            words[x] = words[x].wrapping_sub(words[y].rotate_left(bits));
            [*a, *b, *c] = words;
        }
        (u64::from(self.1) << 32) | u64::from(self.2)
    }
}

fn hash_u32(value: u32) -> u64 {
    let mut state = initial_state(4);
    state.0 = state.0.wrapping_add(value);
    state.finish()
}

fn hash_bytes(bytes: &[u8]) -> u64 {
    // A value in PostgreSQL is shorter than 1 GiB.
    let mut state = initial_state(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    let mut blocks = bytes.chunks_exact(12);
    for block in &mut blocks {
        state.0 = state.0.wrapping_add(word_of(&block[0..4]));
        state.1 = state.1.wrapping_add(word_of(&block[4..8]));
        state.2 = state.2.wrapping_add(word_of(&block[8..12]));
        state.mix();
    }
    let rest = blocks.remainder();
    let word_at = |from: usize, to: usize| word_of(&rest[from.min(rest.len())..to.min(rest.len())]);
    state.0 = state.0.wrapping_add(word_at(0, 4));
    state.1 = state.1.wrapping_add(word_at(4, 8));
    // The lowest byte of the third word is reserved for the length.
    state.2 = state.2.wrapping_add(word_at(8, 11) << 8);
    state.finish()
}

/// Returns up to four bytes as a little-endian word.
fn word_of(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .rev()
        .fold(0, |word, byte| (word << 8) | u32::from(*byte))
}

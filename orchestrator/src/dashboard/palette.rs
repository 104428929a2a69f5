//! The colours of shards: each shard has the same one on every page.
//!
//! A colour is a CSS class `shard-1` to `shard-8` of `fleet.css`, which sets the custom properties `--shard` and
//! `--shard-back`. After eight shards a second class, `tint` or `shade`, makes them lighter or darker. The classes depend
//! only on the position of the shard among the names of the fleet, so neighbours by name have different hues. Pages show
//! the name beside each colour.

use plans::id::ShardName;

/// The number of hues, and the classes that distinguish the shards with the same hue.
const HUES: usize = 8;
const VARIANTS: [&str; 3] = ["", " tint", " shade"];

/// The colours of the shards of a fleet.
#[derive(Debug, Clone, Default)]
pub(super) struct Palette(Vec<ShardName>);

impl Palette {
    /// Creates a palette for these shards.
    pub(super) fn of(shards: impl IntoIterator<Item = ShardName>) -> Self {
        let mut names: Vec<ShardName> = shards.into_iter().collect();
        names.sort();
        names.dedup();
        Self(names)
    }

    /// Returns the CSS classes of a shard's colour.
    pub(super) fn class(&self, shard: &ShardName) -> String {
        let index = self.0.binary_search(shard);
        // A shard that is not in the palette gets the colour of the position at which it would be.
        let index = index.unwrap_or_else(|insertion| insertion);
        let variant = VARIANTS[index / HUES % VARIANTS.len()];
        format!("shard-{}{variant}", index % HUES + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_follows_the_position_of_the_name() {
        let name = |index: usize| ShardName(format!("s{index:02}"));
        let palette = Palette::of((0..20).rev().map(name));
        assert_eq!(palette.class(&name(0)), "shard-1");
        assert_eq!(palette.class(&name(7)), "shard-8");
        assert_eq!(palette.class(&name(8)), "shard-1 tint");
        assert_eq!(palette.class(&name(19)), "shard-4 shade");
        assert_eq!(Palette::default().class(&name(3)), "shard-1");
    }
}

//! The option `--seed`: a number that makes a run repeatable, or the seeding of the target.

use plans::request::Seed;
use std::str::FromStr;

/// A value of the option. The option can be given once with each kind of value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeedOption {
    /// Makes the run repeatable.
    Number(u64),
    /// How the target gets the rows that exist when the move begins.
    Target(Seed),
}

impl SeedOption {
    /// Returns the last number and the last seeding among the values.
    #[must_use]
    pub fn split(values: &[Self]) -> (Option<u64>, Seed) {
        let (mut number, mut seeding) = (None, Seed::default());
        for value in values {
            match *value {
                Self::Number(value) => number = Some(value),
                Self::Target(value) => seeding = value,
            }
        }
        (number, seeding)
    }
}

impl FromStr for SeedOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("copy", _) => Ok(Self::Target(Seed::Copy)),
            ("standby", _) => Ok(Self::Target(Seed::Standby)),
            (_, Ok(number)) => Ok(Self::Number(number)),
            (_, Err(_)) => Err(format!("{text:?} is neither a number nor copy or standby")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_a_seeding_can_be_given_together() {
        let parsed = |texts: &[&str]| {
            let values: Vec<SeedOption> = texts.iter().map(|text| text.parse().unwrap()).collect();
            SeedOption::split(&values)
        };
        assert_eq!(parsed(&[]), (None, Seed::Copy));
        assert_eq!(parsed(&["7"]), (Some(7), Seed::Copy));
        assert_eq!(parsed(&["standby", "7"]), (Some(7), Seed::Standby));
        assert!("dump".parse::<SeedOption>().is_err());
    }
}

//! What can go wrong on purpose, beside a kill: trouble on the target, and the loss of everything of ours.

use super::{OptionError, parse_step};
use plans::step::StepKind;
use std::fmt;
use std::str::FromStr;

/// Trouble on the target's server that the operator has to mend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TroubleKind {
    /// The password of the agents' role is changed and its sessions are ended.
    Password,
    /// The disk is full; it is a small one of its own, which takes the rights of root.
    Disk,
    /// The server is stopped for longer than the attempts last.
    Down,
    /// The server is stopped for a while; nothing fails, and the migration goes on by itself.
    Outage,
}

impl TroubleKind {
    const ALL: [Self; 4] = [Self::Password, Self::Disk, Self::Down, Self::Outage];

    /// The name on the command line and in the report.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::Disk => "disk",
            Self::Down => "down",
            Self::Outage => "away",
        }
    }
}

/// Trouble in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trouble {
    /// Which.
    pub kind: TroubleKind,
    /// While this step runs.
    pub step: StepKind,
    /// After the migration has failed of it and it is mended.
    pub then: AfterRepair,
}

/// What the operator does once the trouble is mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterRepair {
    /// Goes on.
    Resume,
    /// Takes everything back.
    Abort,
}

impl FromStr for Trouble {
    type Err = OptionError;

    /// `KIND@STEP`; the migration is resumed afterwards.
    fn from_str(text: &str) -> Result<Self, OptionError> {
        let owned = || text.to_owned();
        let (kind, step) = text
            .split_once('@')
            .ok_or_else(|| OptionError::Form { text: owned() })?;
        let kind = TroubleKind::ALL
            .into_iter()
            .find(|known| known.name() == kind)
            .ok_or_else(|| OptionError::Trouble { text: owned() })?;
        Ok(Self {
            kind,
            step: parse_step(step)?,
            then: AfterRepair::Resume,
        })
    }
}

impl FromStr for AfterRepair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "resume" => Ok(Self::Resume),
            "abort" => Ok(Self::Abort),
            _ => Err(format!("{text:?} is not resume or abort")),
        }
    }
}

/// A moment of the cutover (docs/protocol.md, C1 to C11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutoverMoment {
    /// C3: the fence is up.
    Fenced,
    /// C6: the fence holds, and changed keys are about to be compared.
    BeforeCheck,
    /// Between C6 and C7.
    BeforeSeal,
    /// C7: the source is sealed.
    Sealed,
    /// C9: the map names the target, which is not open yet.
    Flipped,
}

impl CutoverMoment {
    const ALL: [Self; 5] = [
        Self::Fenced,
        Self::BeforeCheck,
        Self::BeforeSeal,
        Self::Sealed,
        Self::Flipped,
    ];

    /// The name on the command line; the fail point is `cutover.` and this.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fenced => "fenced",
            Self::BeforeCheck => "before_check",
            Self::BeforeSeal => "before_seal",
            Self::Sealed => "sealed",
            Self::Flipped => "flipped",
        }
    }

    /// True when the source opens again by itself.
    #[must_use]
    pub fn expires(self) -> bool {
        match self {
            Self::Fenced | Self::BeforeCheck | Self::BeforeSeal => true,
            Self::Sealed | Self::Flipped => false,
        }
    }
}

impl FromStr for CutoverMoment {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        Self::ALL
            .into_iter()
            .find(|known| known.name() == text)
            .ok_or_else(|| OptionError::Moment {
                text: text.to_owned(),
            })
    }
}

impl fmt::Display for TroubleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for CutoverMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

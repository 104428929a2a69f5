//! Intentional failures other than a kill: failures of the target, and the loss of all controllers and agents.

use super::{OptionError, parse_step};
use plans::step::StepKind;
use std::fmt;
use std::str::FromStr;

/// A failure of the target's server that the operator must repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TroubleKind {
    /// The password of the agents' role is changed, and its sessions are ended.
    Password,
    /// The disk is full. It is a small disk of its own, which requires root.
    Disk,
    /// The server is stopped for longer than all attempts of a step last.
    Down,
    /// The server is stopped for a while. Nothing fails, and the migration continues without a command.
    Outage,
}

impl TroubleKind {
    const ALL: [Self; 4] = [Self::Password, Self::Disk, Self::Down, Self::Outage];

    /// Returns the name on the command line and in the report.
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

/// A failure in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trouble {
    /// The kind of failure.
    pub kind: TroubleKind,
    /// The step during which it occurs.
    pub step: StepKind,
    /// The operator's command after the migration has failed and the failure is repaired.
    pub then: AfterRepair,
}

/// The operator's command after the repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterRepair {
    /// Resumes the migration.
    Resume,
    /// Aborts the migration.
    Abort,
}

impl FromStr for Trouble {
    type Err = OptionError;

    /// Parses `KIND@STEP`. The migration is resumed afterwards.
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
    /// C3: writes to the moving keys are refused.
    Fenced,
    /// C6: changed keys are about to be compared, while the fence is in force.
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

    /// Returns the name on the command line. The fail point is `cutover.` and this name.
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

    /// Returns true if the source opens again without any process.
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

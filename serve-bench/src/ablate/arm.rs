//! What can be changed, and one arm: a row of the table with what the command line fills in.

use boxfile::Limits;
use explain::Change;

use super::args::AblateArgs;
use super::place::Place;

/// What the name of a control begins with.
const CONTROL: &str = "tp1-";

/// Something that can be changed.
#[derive(Debug)]
pub(super) struct Row {
    /// Its name on the command line.
    pub(super) name: &'static str,
    /// What it changes.
    pub(super) change: Change,
    /// What it is, for the help.
    pub(super) about: &'static str,
    /// Variables of the collective library, without the prefix that is the vendor's.
    pub(super) variables: &'static [(&'static str, &'static str)],
    /// Whether it says something only where the engine leaves all-reduces to the library.
    pub(super) library_only: bool,
    /// What it is on a simulated machine.
    pub(super) soft: Soft,
    /// What speaks against it, the first being told.
    pub(super) checks: &'static [Check],
    /// The arms that the command line makes of it.
    pub(super) arms: fn(&'static Row, &AblateArgs) -> Vec<Arm>,
}

/// Why an arm cannot be run here; `None` where it can.
pub(super) type Check = fn(&AblateArgs, &Place) -> Option<String>;

/// What an arm is on a simulated machine.
#[derive(Debug)]
pub(super) enum Soft {
    /// The box as it is, or with other times of collectives.
    Limited(fn() -> Limits),
    /// Nothing, with the reason.
    Not(&'static str),
}

/// Launches that are started alike.
#[derive(Debug, Clone)]
pub(super) struct Arm {
    /// Its name, such as `delay-20`.
    pub(super) name: String,
    /// What it is an instance of.
    pub(super) row: &'static Row,
    /// Tensor parallel size: 1 for a negative control.
    pub(super) tp: u32,
    /// What the shim adds to each all-reduce, us.
    pub(super) delay_us: Option<u32>,
}

impl Arm {
    /// The row by itself.
    pub(super) fn of(row: &'static Row, tp: u32) -> Self {
        Self {
            name: row.name.to_owned(),
            row,
            tp,
            delay_us: None,
        }
    }

    /// The same on one GPU: what it changes must change nothing there.
    pub(super) fn control(&self) -> Self {
        Self {
            name: format!("{CONTROL}{}", self.name),
            tp: 1,
            ..self.clone()
        }
    }

    /// The arm that it is the control of; `None` where it is none.
    pub(super) fn controlled(&self) -> Option<String> {
        self.name.strip_prefix(CONTROL).map(str::to_owned)
    }

    /// What it changes against the baseline.
    pub(super) fn change(&self) -> Change {
        match self.tp {
            1 => Change::NegativeControl,
            _ => self.row.change,
        }
    }
}

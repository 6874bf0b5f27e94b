//! One arm: a row of the table with what the command line fills in.

use explain::Change;

use super::table::Row;

/// What the name of a control begins with.
const CONTROL: &str = "tp1-";

/// Launches that are started alike.
#[derive(Debug, Clone)]
pub(super) struct Arm {
    /// Its name, such as `delay-20`.
    pub(super) name: String,
    /// What it is an instance of.
    pub(super) row: &'static Row,
    /// Tensor parallel size: 1 for a negative control.
    pub(super) tp: u32,
    /// Devices in place of those of the other arms.
    pub(super) group: Option<String>,
    /// What the shim adds to each all-reduce, us.
    pub(super) delay_us: Option<u32>,
    /// Nodes of the threads and of the memory.
    pub(super) nodes: Option<(u32, u32)>,
}

impl Arm {
    /// The row by itself.
    pub(super) fn of(row: &'static Row, tp: u32) -> Self {
        Self {
            name: row.name.to_owned(),
            row,
            tp,
            group: None,
            delay_us: None,
            nodes: None,
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

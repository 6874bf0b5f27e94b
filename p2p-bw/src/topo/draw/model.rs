//! [`Drawing`]: what a picture of a box shows.

/// A box to be drawn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Drawing {
    /// The picture's title, such as the machine's name.
    pub(crate) title: String,
    /// The soft box that it is of, `None` for a machine.
    pub(crate) simulated: Option<String>,
    /// What the picture cannot show, a sentence each.
    pub(crate) open: Vec<String>,
    /// NUMA nodes, and where devices have none, a frame that says so.
    pub(crate) frames: Vec<Frame>,
    /// Links beside PCI Express.
    pub(crate) beside: Vec<Beside>,
}

/// A NUMA node with what hangs below it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Frame {
    /// Its name, such as `node 0`.
    pub(crate) name: String,
    /// What stands below the name, a short line each: CPUs, memory.
    pub(crate) lines: Vec<String>,
    /// Root ports, or devices that sit at the root complex; none below a node with memory only.
    pub(crate) roots: Vec<Branch>,
    /// Distance to each frame in their order, `None` where the kernel says none; empty where it says none at all.
    pub(crate) distances: Vec<Option<u32>>,
}

/// A bridge or a device with what hangs below it.
#[derive(Debug, Clone)]
pub(crate) struct Branch {
    /// What it is.
    pub(crate) kind: Kind,
    /// Its name: `GPU0`, `root port`, `switch`; names of devices are unique.
    pub(crate) name: String,
    /// At most two lines below the name, such as model and address; what is too long ends in three dots.
    pub(crate) lines: Vec<String>,
    /// The link above it, where there is one that is known.
    pub(crate) link: Option<Link>,
    /// What hangs below it.
    pub(crate) below: Vec<Branch>,
}

/// What a branch is, which gives its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bridge,
    Gpu,
    Nic,
    Other,
}

/// The link above a branch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Link {
    /// As it is: `Gen4 x16`.
    pub(crate) is: String,
    /// What it could be, where that is more: `x16`, `Gen4`.
    pub(crate) could: Option<String>,
    /// Whether it lacks lanes; it is then drawn in red.
    pub(crate) narrow: bool,
}

/// A link beside PCI Express between two devices.
#[derive(Debug, Clone)]
pub(crate) struct Beside {
    /// The names of both devices.
    pub(crate) ends: (String, String),
    /// What it is: `NV18`, `MX`.
    pub(crate) what: String,
}

impl Kind {
    /// Its class in the style sheet.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Bridge => "bridge",
            Self::Gpu => "gpu",
            Self::Nic => "nic",
            Self::Other => "other",
        }
    }
}

impl Drawing {
    /// The picture as a file of its own.
    pub(crate) fn svg(&self) -> String {
        super::layout::of(self).svg(&self.title)
    }
}

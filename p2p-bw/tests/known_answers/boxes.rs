//! Who reaches whom on a described machine, by its file.

use boxfile::BoxFile;

use super::routes::Routes;

/// What the probe of a pair must say: access denied, or small copies that take the pair's latency, which is staged above
/// 5 us and 70% of the time without access, unless the vendor's copies heed no access.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Access {
    Denied,
    Granted {
        us: f64,
        without_us: f64,
        heeded: bool,
    },
}

impl Access {
    /// Whether a probe must call it staged.
    pub(crate) fn is_staged(self) -> bool {
        matches!(self, Self::Granted { us, without_us, heeded } if heeded && us > 5.0 && us > 0.7 * without_us)
    }

    /// Whether a probe must call it direct.
    pub(crate) fn is_direct(self) -> bool {
        self != Self::Denied && !self.is_staged()
    }
}

/// Whether the copies of the box's vendor go direct only where access was enabled: AMD's go as the hardware can.
pub(crate) fn heeds_access(described: &BoxFile) -> bool {
    described.vendor != boxfile::Vendor::AMD
}

/// What the probe of two devices of the file must say.
pub(crate) fn access(described: &BoxFile, a: usize, b: usize) -> Access {
    // MIG instances of one GPU do not reach each other.
    let path = (a != b).then(|| described.peer_path(a, b));
    match path.filter(|path| path.access) {
        None => Access::Denied,
        Some(path) => Access::Granted {
            us: path.latency_us.unwrap(),
            without_us: Routes(described).unassisted_us(a, b),
            heeded: heeds_access(described),
        },
    }
}

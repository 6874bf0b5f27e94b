//! Counts what the process does and says which injected fault is due. What a fault then does is the driver's matter.

use boxfile::{AllocSite, Direction, Fault, HangOp, Link, WrongOp};

use crate::{Code, Kernel};

/// A copy as faults see it; devices are positions in the box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyKind {
    H2d(usize),
    D2h(usize),
    Local(usize),
    /// Peer access is enabled.
    Direct(usize, usize),
    /// The driver goes through host memory.
    Staged(usize, usize),
}

impl CopyKind {
    fn devices(self) -> Vec<usize> {
        match self {
            Self::H2d(device) | Self::D2h(device) | Self::Local(device) => vec![device],
            Self::Direct(a, b) | Self::Staged(a, b) if a == b => vec![a],
            Self::Direct(a, b) | Self::Staged(a, b) => vec![a, b],
        }
    }
}

/// How the bytes of a copy go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Damage {
    /// Nothing is moved.
    Dropped,
    /// Some bytes arrive wrong.
    Wrong,
}

/// What faults make of one copy.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Due {
    pub(crate) lost: Vec<(usize, Option<Code>)>,
    pub(crate) retrained: Vec<(usize, Link)>,
    pub(crate) hangs: bool,
    pub(crate) damage: Option<Damage>,
}

/// The box's faults and the process's counters.
pub(crate) struct FaultBook {
    faults: Vec<Fault>,
    /// Operations that matched each fault so far.
    matched: Vec<u64>,
    device_allocations: u64,
    host_allocations: u64,
}

impl FaultBook {
    pub(crate) fn new(faults: &[Fault]) -> Self {
        Self {
            faults: faults.to_vec(),
            matched: vec![0; faults.len()],
            device_allocations: 0,
            host_allocations: 0,
        }
    }

    /// The code that initialising returns.
    pub(crate) fn init_code(&self) -> Option<i32> {
        self.faults.iter().find_map(|fault| match fault {
            Fault::InitFailure { code } => Some(*code),
            _ => None,
        })
    }

    /// Whether this initialisation never returns.
    pub(crate) fn init_hangs(&mut self) -> bool {
        self.hangs(|op, _, _| op == HangOp::Init)
    }

    /// Whether this allocation fails.
    pub(crate) fn allocation_fails(&mut self, site: AllocSite) -> bool {
        let count = match site {
            AllocSite::Device => &mut self.device_allocations,
            AllocSite::Host => &mut self.host_allocations,
        };
        *count += 1;
        let count = *count;
        let due = |fault: &Fault| matches!(fault, Fault::AllocFailure { on, nth } if *on == site && *nth == count);
        self.faults.iter().any(due)
    }

    /// Whether host memory cannot be placed on a node.
    pub(crate) fn placing_is_refused(&self, node: u32) -> bool {
        let refused = |fault: &Fault| matches!(fault, Fault::MbindRefused { node: of } if of.is_none_or(|of| of == node));
        self.faults.iter().any(refused)
    }

    /// Whether `accessor` is kept from accessing `peer`.
    pub(crate) fn is_denied(&self, accessor: usize, peer: usize) -> bool {
        self.faults
            .iter()
            .any(|fault| matches!(fault, Fault::PeerDenied { pair } if *pair == [accessor, peer]))
    }

    /// Whether enabling access of `accessor` to `peer` never returns.
    pub(crate) fn enabling_hangs(&mut self, accessor: usize, peer: usize) -> bool {
        self.hangs(|op, _, pair| op == HangOp::EnablePeer && pair == Some([accessor, peer]))
    }

    /// Counts a copy and says what happens to it.
    pub(crate) fn copy(&mut self, kind: CopyKind) -> Due {
        let mut due = Due {
            hangs: self.hangs(|op, device, pair| match kind {
                CopyKind::H2d(own) => op == HangOp::H2d && device == Some(own),
                CopyKind::D2h(own) => op == HangOp::D2h && device == Some(own),
                CopyKind::Local(own) => op == HangOp::Local && device == Some(own),
                CopyKind::Direct(a, b) => op == HangOp::Peer && pair == Some([a, b]),
                CopyKind::Staged(..) => false,
            }),
            ..Due::default()
        };
        due.damage = self.damage(kind);
        let touched = kind.devices();
        for (fault, matched) in self.faults.iter().zip(&mut self.matched) {
            match fault {
                Fault::DeviceLost {
                    device,
                    after_copies,
                    off_the_bus,
                } if touched.contains(device) => {
                    *matched += 1;
                    if *matched > *after_copies {
                        due.lost.push((*device, off_the_bus.map(Code)));
                    }
                }
                Fault::Retrain {
                    device,
                    after_copies,
                    generation,
                    width,
                } if touched.contains(device) => {
                    *matched += 1;
                    if *matched == after_copies + 1 {
                        due.retrained.push((
                            *device,
                            Link {
                                generation: *generation,
                                width: *width,
                            },
                        ));
                    }
                }
                _ => {}
            }
        }
        due
    }

    /// Counts a copy kernel of a device and says what happens to it.
    pub(crate) fn kernel_copy(&mut self, kind: CopyKind, by: usize) -> Due {
        Due {
            hangs: self.hangs(|op, device, _| op == HangOp::Kernel && device == Some(by)),
            // Faults on host copies are those of copy engines.
            damage: match kind {
                CopyKind::Direct(..) => self.damage(kind),
                _ => None,
            },
            ..Due::default()
        }
    }

    /// Counts a kernel of a device that is no copy, and says whether it goes wrong.
    pub(crate) fn kernel_is_wrong(&mut self, kernel: Kernel, by: usize) -> bool {
        let is_of = |op| match kernel {
            Kernel::Fill { .. } => op == WrongOp::Fill,
            Kernel::Burn { .. } => op == WrongOp::Arithmetic,
            _ => false,
        };
        let mut due = false;
        for (fault, matched) in self.faults.iter().zip(&mut self.matched) {
            if let Fault::KernelWrong {
                device,
                op,
                after_launches,
            } = fault
                && *device == by
                && is_of(*op)
            {
                *matched += 1;
                due |= *matched > *after_launches;
            }
        }
        due
    }

    /// How the bytes of a copy go wrong; of several faults, the last.
    fn damage(&self, kind: CopyKind) -> Option<Damage> {
        let damages = self.faults.iter().filter_map(|fault| match fault {
            Fault::DropData { pair: [a, b] } => Some((CopyKind::Direct(*a, *b), Damage::Dropped)),
            Fault::WrongData {
                pair: Some([a, b]), ..
            } => Some((CopyKind::Direct(*a, *b), Damage::Wrong)),
            Fault::WrongData {
                direction: Some(direction),
                device: Some(device),
                ..
            } => Some((
                match direction {
                    Direction::H2d => CopyKind::H2d(*device),
                    Direction::D2h => CopyKind::D2h(*device),
                },
                Damage::Wrong,
            )),
            _ => None,
        });
        damages
            .filter(|(of, _)| *of == kind)
            .map(|(_, damage)| damage)
            .next_back()
    }

    /// Counts an operation against the hangs it matches; true when one is due.
    fn hangs(
        &mut self,
        matches: impl Fn(HangOp, Option<usize>, Option<[usize; 2]>) -> bool,
    ) -> bool {
        let mut due = false;
        for (fault, matched) in self.faults.iter().zip(&mut self.matched) {
            if let Fault::Hang {
                op,
                device,
                pair,
                after_copies,
            } = fault
                && matches(*op, *device, *pair)
            {
                *matched += 1;
                due |= *matched > *after_copies;
            }
        }
        due
    }
}

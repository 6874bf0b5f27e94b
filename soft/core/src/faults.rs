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
    fn touches(self, device: usize) -> bool {
        match self {
            Self::H2d(own) | Self::D2h(own) | Self::Local(own) => own == device,
            Self::Direct(a, b) | Self::Staged(a, b) => a == device || b == device,
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

/// The box's faults, and how many operations of the process matched each so far.
pub(crate) struct FaultBook(Vec<(Fault, u64)>);

impl FaultBook {
    pub(crate) fn new(faults: &[Fault]) -> Self {
        Self(faults.iter().map(|fault| (fault.clone(), 0)).collect())
    }

    fn any(&self, is_it: impl Fn(&Fault) -> bool) -> bool {
        self.0.iter().any(|(fault, _)| is_it(fault))
    }

    /// Counts an operation against each fault for which `after` says how many still go well; those that are due, with the number of
    /// this operation from 1 since they are.
    fn due(&mut self, after: impl Fn(&Fault) -> Option<u64>) -> Vec<(&Fault, u64)> {
        let faults = self.0.iter_mut();
        let due = faults.filter_map(|(fault, matched)| {
            let after = after(fault)?;
            *matched += 1;
            let since = matched.checked_sub(after).filter(|since| *since > 0)?;
            Some((&*fault, since))
        });
        due.collect()
    }

    /// Counts an operation against the hangs of its kind; true when one is due.
    fn hangs(&mut self, kind: HangOp, by: Option<usize>, between: Option<[usize; 2]>) -> bool {
        let due = self.due(|fault| match fault {
            Fault::Hang {
                op,
                device,
                pair,
                after_copies,
            } if (*op, *device, *pair) == (kind, by, between) => Some(*after_copies),
            _ => None,
        });
        !due.is_empty()
    }

    /// The code that initialising returns.
    pub(crate) fn init_code(&self) -> Option<i32> {
        self.0.iter().find_map(|(fault, _)| match fault {
            Fault::InitFailure { code } => Some(*code),
            _ => None,
        })
    }

    /// Whether this initialisation never returns.
    pub(crate) fn init_hangs(&mut self) -> bool {
        self.hangs(HangOp::Init, None, None)
    }

    /// Whether this allocation fails.
    pub(crate) fn allocation_fails(&mut self, site: AllocSite) -> bool {
        let due = self.due(|fault| match fault {
            Fault::AllocFailure { on, nth } if *on == site => Some(nth - 1),
            _ => None,
        });
        due.iter().any(|(_, since)| *since == 1)
    }

    /// Whether host memory cannot be placed on a node.
    pub(crate) fn placing_is_refused(&self, node: u32) -> bool {
        self.any(|fault| matches!(fault, Fault::MbindRefused { node: of } if of.is_none_or(|of| of == node)))
    }

    /// Whether `accessor` is kept from accessing `peer`.
    pub(crate) fn is_denied(&self, accessor: usize, peer: usize) -> bool {
        self.any(|fault| matches!(fault, Fault::PeerDenied { pair } if *pair == [accessor, peer]))
    }

    /// Whether enabling access of `accessor` to `peer` never returns.
    pub(crate) fn enabling_hangs(&mut self, accessor: usize, peer: usize) -> bool {
        self.hangs(HangOp::EnablePeer, None, Some([accessor, peer]))
    }

    /// Counts a copy and says what happens to it.
    pub(crate) fn copy(&mut self, kind: CopyKind) -> Due {
        let hangs = match kind {
            CopyKind::H2d(own) => self.hangs(HangOp::H2d, Some(own), None),
            CopyKind::D2h(own) => self.hangs(HangOp::D2h, Some(own), None),
            CopyKind::Local(own) => self.hangs(HangOp::Local, Some(own), None),
            CopyKind::Direct(a, b) => self.hangs(HangOp::Peer, None, Some([a, b])),
            CopyKind::Staged(..) => false,
        };
        let mut due = Due {
            hangs,
            damage: self.damage(kind),
            ..Due::default()
        };
        for (fault, since) in self.due(|fault| match fault {
            Fault::DeviceLost {
                device,
                after_copies,
                ..
            }
            | Fault::Retrain {
                device,
                after_copies,
                ..
            } if kind.touches(*device) => Some(*after_copies),
            _ => None,
        }) {
            match fault {
                Fault::DeviceLost {
                    device,
                    off_the_bus,
                    ..
                } => due.lost.push((*device, off_the_bus.map(Code))),
                Fault::Retrain {
                    device,
                    generation,
                    width,
                    ..
                } if since == 1 => {
                    let (generation, width) = (*generation, *width);
                    due.retrained.push((*device, Link { generation, width }));
                }
                _ => {}
            }
        }
        due
    }

    /// Counts a copy kernel of a device and says what happens to it.
    pub(crate) fn kernel_copy(&mut self, kind: CopyKind, by: usize) -> Due {
        // Faults on host copies are those of copy engines.
        let is_direct = matches!(kind, CopyKind::Direct(..));
        Due {
            hangs: self.hangs(HangOp::Kernel, Some(by), None),
            damage: self.damage(kind).filter(|_| is_direct),
            ..Due::default()
        }
    }

    /// Counts a kernel of a device that is no copy, and says whether it goes wrong.
    pub(crate) fn kernel_is_wrong(&mut self, kernel: Kernel, by: usize) -> bool {
        let kind = match kernel {
            Kernel::Fill(..) => WrongOp::Fill,
            Kernel::Burn(..) => WrongOp::Arithmetic,
            _ => return false,
        };
        let due = self.due(|fault| match fault {
            Fault::KernelWrong {
                device,
                op,
                after_launches,
            } if (*device, *op) == (by, kind) => Some(*after_launches),
            _ => None,
        });
        !due.is_empty()
    }

    /// How the bytes of a copy go wrong; of several faults, the last.
    fn damage(&self, kind: CopyKind) -> Option<Damage> {
        let damage = |(fault, _): &(Fault, u64)| match (fault, kind) {
            (Fault::DropData { pair }, CopyKind::Direct(a, b)) => {
                (*pair == [a, b]).then_some(Damage::Dropped)
            }
            (
                Fault::WrongData {
                    pair,
                    direction,
                    device,
                },
                kind,
            ) => {
                let of_fault = (*pair, *direction, *device);
                let of_copy = match kind {
                    CopyKind::Direct(a, b) => (Some([a, b]), None, None),
                    CopyKind::H2d(own) => (None, Some(Direction::H2d), Some(own)),
                    CopyKind::D2h(own) => (None, Some(Direction::D2h), Some(own)),
                    _ => return None,
                };
                (of_fault == of_copy).then_some(Damage::Wrong)
            }
            _ => None,
        };
        self.0.iter().filter_map(damage).next_back()
    }
}

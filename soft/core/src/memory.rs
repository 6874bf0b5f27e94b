//! Device and pinned host memory as anonymous mappings, and the moving of bytes. The only file of this crate with unsafe code.
//! It keeps no clock and decides nothing about order.
#![expect(
    unsafe_code,
    reason = "maps memory and copies bytes between addresses that come from C callers"
)]

use std::collections::BTreeMap;

/// An address of host memory that a caller of a simulated library passed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostAddress(usize);

impl HostAddress {
    /// Takes over an address from a C caller.
    ///
    /// # Safety
    /// The memory that a call names together with this address is valid, for reading or for writing as the call says, until
    /// the copy has ended: until the call returns where the memory is pageable, else until the caller has waited for the
    /// copy, freed or unregistered the memory, or destroyed the stream. Of a copy that is captured, it is valid likewise for
    /// every launch of a graph that holds it.
    #[must_use]
    pub unsafe fn new(address: usize) -> Self {
        Self(address)
    }

    /// The address as a number.
    #[must_use]
    pub fn get(self) -> usize {
        self.0
    }
}

/// What a range of host memory is to the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostMemory {
    Pageable,
    Pinned,
}

/// One place of a transfer, checked when it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Inside a device allocation.
    Device(u64),
    /// Host memory that the caller vouches for.
    Host(HostAddress),
}

/// An anonymous private mapping, zeroed, page aligned.
///
/// Invariant: `address..address + bytes` is mapped readable and writable, and belongs to this value alone.
struct Mapping {
    address: usize,
    bytes: usize,
}

impl Mapping {
    /// `None` when the system refuses; `populate` makes the pages present, as pinning does.
    fn new(bytes: usize, populate: bool) -> Option<Self> {
        let flags = libc::MAP_PRIVATE
            | libc::MAP_ANONYMOUS
            | if populate {
                libc::MAP_POPULATE
            } else {
                libc::MAP_NORESERVE
            };
        // SAFETY: mmap(2) of a fresh anonymous region; no existing memory is touched. Unmapped by Drop.
        let pointer = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                -1,
                0,
            )
        };
        (pointer != libc::MAP_FAILED).then_some(Self {
            address: pointer as usize,
            bytes,
        })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: munmap(2) of the region that `new` mapped; the invariant says nobody else owns it, and the owner of the
        // driver has run all pending copies.
        unsafe { libc::munmap(self.address as *mut libc::c_void, self.bytes) };
    }
}

/// All memory of the process's driver.
#[derive(Default)]
pub(crate) struct Memory {
    /// Allocations by address, with the ordinal that they belong to.
    device: BTreeMap<usize, (Mapping, usize)>,
    /// Pinned host memory by address.
    pinned: BTreeMap<usize, Mapping>,
    /// The bytes and the node of host ranges that do not overlap, by address.
    told: BTreeMap<usize, (usize, u32)>,
}

impl Memory {
    pub(crate) fn allocate_device(&mut self, ordinal: usize, bytes: usize) -> Option<u64> {
        let mapping = Mapping::new(bytes, false)?;
        let address = mapping.address;
        self.device.insert(address, (mapping, ordinal));
        Some(address as u64)
    }

    /// Frees an allocation by its first address; answers ordinal and size.
    pub(crate) fn free_device(&mut self, address: u64) -> Option<(usize, usize)> {
        self.device
            .remove(&(address as usize))
            .map(|(mapping, ordinal)| (ordinal, mapping.bytes))
    }

    /// The ordinal whose single allocation holds the whole range.
    pub(crate) fn ordinal_of(&self, address: u64, bytes: usize) -> Option<usize> {
        let address = address as usize;
        let (start, (mapping, ordinal)) = self.device.range(..=address).next_back()?;
        inside(*start, mapping.bytes, address, bytes).then_some(*ordinal)
    }

    pub(crate) fn allocate_pinned(&mut self, bytes: usize) -> Option<usize> {
        let mapping = Mapping::new(bytes, true)?;
        let address = mapping.address;
        self.pinned.insert(address, mapping);
        Some(address)
    }

    /// Frees pinned memory by its first address; false where it is none.
    pub(crate) fn free_pinned(&mut self, address: usize) -> bool {
        let was_there = self.pinned.remove(&address);
        was_there.map(|_| self.forget(address)).is_some()
    }

    /// Notes the node of a host range; `false` for no bytes, and where the range overlaps another one in part.
    pub(crate) fn put_on(&mut self, address: usize, bytes: usize, node: u32) -> bool {
        let Some(end) = address.checked_add(bytes).filter(|_| bytes > 0) else {
            return false;
        };
        // Ranges do not overlap, so that only the last one that begins before this one's end can reach into it.
        let last = self.told.range(..end).next_back();
        let overlaps = last.is_some_and(|(start, (told, _))| {
            start + told > address && (*start, *told) != (address, bytes)
        });
        if !overlaps {
            self.told.insert(address, (bytes, node));
        }
        !overlaps
    }

    /// Forgets what was said of the range that begins here.
    pub(crate) fn forget(&mut self, address: usize) {
        self.told.remove(&address);
    }

    /// The node of a whole host range; `None` where it does not lie in one that was put on a node.
    pub(crate) fn node_of(&self, address: usize, bytes: usize) -> Option<u32> {
        let (start, (told, node)) = self.told.range(..=address).next_back()?;
        inside(*start, *told, address, bytes).then_some(*node)
    }

    /// What the whole host range is; pageable where it does not lie in one pinned range.
    pub(crate) fn host_kind(&self, address: usize, bytes: usize) -> HostMemory {
        let pinned = self.pinned.range(..=address).next_back();
        let holds =
            |(start, mapping): (&usize, &Mapping)| inside(*start, mapping.bytes, address, bytes);
        match pinned.is_some_and(holds) {
            true => HostMemory::Pinned,
            false => HostMemory::Pageable,
        }
    }

    /// Bytes from an address to the end of the allocation that it lies in.
    pub(crate) fn bytes_from(&self, address: usize) -> Option<usize> {
        let before = ..=address;
        let device = self.device.range(before).next_back();
        let pinned = self.pinned.range(before).next_back();
        let ends = [
            device.map(|(start, (mapping, _))| start + mapping.bytes),
            pinned.map(|(start, mapping)| start + mapping.bytes),
        ];
        let left = |end: usize| end.checked_sub(address).filter(|bytes| *bytes > 0);
        ends.into_iter().flatten().find_map(left)
    }

    /// Moves bytes, if what is device memory is still allocated.
    pub(crate) fn copy(&mut self, to: Place, from: Place, bytes: usize) {
        let (Some(to), Some(from)) = (self.address(to, bytes), self.address(from, bytes)) else {
            return;
        };
        // SAFETY: memmove(3) semantics. `address` has checked device ranges against live allocations; host ranges are valid
        // for the copy by the promise of HostAddress::new. Overlap is allowed.
        unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) };
    }

    /// Inverts one byte of every 64 KiB of a range, the first among them, and its last.
    pub(crate) fn spoil(&mut self, at: Place, bytes: usize) {
        let Some(address) = self.address(at, bytes) else {
            return;
        };
        let last = bytes.saturating_sub(1);
        let inner = (0..bytes)
            .step_by(64 << 10)
            .filter(|offset| *offset != last);
        for offset in inner.chain((bytes > 0).then_some(last)) {
            let byte = (address + offset) as *mut u8;
            // SAFETY: inside the checked or vouched-for range, as for `copy`; unaligned access does not exist for bytes.
            let old = unsafe { byte.read() };
            // SAFETY: as above.
            unsafe { byte.write(!old) };
        }
    }

    fn address(&self, place: Place, bytes: usize) -> Option<usize> {
        match place {
            Place::Device(address) => self.ordinal_of(address, bytes).map(|_| address as usize),
            Place::Host(address) => Some(address.0),
        }
    }
}

fn inside(start: usize, size: usize, address: usize, bytes: usize) -> bool {
    address >= start
        && address
            .checked_add(bytes)
            .is_some_and(|end| end <= start + size)
}

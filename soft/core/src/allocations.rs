//! The simulated driver's calls on memory: of devices, and pinned of the host.

use crate::memory::HostMemory;
use crate::{Code, Outcome, SoftDriver};
use boxfile::AllocSite;

impl SoftDriver {
    /// Free and total memory of a device in bytes.
    ///
    /// # Errors
    /// As the type says.
    pub fn memory_bytes(&self, ordinal: usize) -> Outcome<(u64, u64)> {
        self.usable(ordinal)?;
        let device = self.device(ordinal)?;
        let free = device
            .memory_bytes
            .saturating_sub(device.busy_bytes)
            .saturating_sub(self.used[ordinal]);
        Ok((free, device.memory_bytes))
    }

    /// Allocates device memory, zeroed; its address is a real one that other parts of the process must not touch.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`] for 0 bytes, [`Code::OUT_OF_MEMORY`] beyond the box's memory or by an injected fault.
    pub fn allocate(&mut self, ordinal: usize, bytes: usize) -> Outcome<u64> {
        let (free, _) = self.memory_bytes(ordinal)?;
        if bytes == 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        if self.faults.allocation_fails(AllocSite::Device) || bytes as u64 > free {
            return Err(Code::OUT_OF_MEMORY.into());
        }
        let address = self
            .memory
            .allocate_device(ordinal, bytes)
            .ok_or(Code::OUT_OF_MEMORY)?;
        self.used[ordinal] += bytes as u64;
        Ok(address)
    }

    /// Frees device memory after running everything that is pending.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`] where the address is not one of an allocation.
    pub fn free(&mut self, address: u64) -> Outcome<()> {
        self.devices()?;
        let owner = self
            .memory
            .ordinal_of(address, 0)
            .ok_or(Code::INVALID_VALUE)?;
        self.usable(owner)?;
        self.drain()?;
        let (ordinal, bytes) = self
            .memory
            .free_device(address)
            .ok_or(Code::INVALID_VALUE)?;
        self.used[ordinal] -= bytes as u64;
        Ok(())
    }

    /// Allocates pinned host memory, present and zeroed. Devices know it by the same address.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`] for 0 bytes, [`Code::OUT_OF_MEMORY`].
    pub fn allocate_host(&mut self, ordinal: usize, bytes: usize) -> Outcome<usize> {
        self.usable(ordinal)?;
        if bytes == 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        if self.faults.allocation_fails(AllocSite::Host) {
            return Err(Code::OUT_OF_MEMORY.into());
        }
        let address = self
            .memory
            .allocate_pinned(bytes)
            .ok_or(Code::OUT_OF_MEMORY)?;
        if let Some(node) = self.thread_node() {
            self.memory.put_on(address, bytes, node);
        }
        Ok(address)
    }

    /// Frees pinned host memory after running everything that is pending.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`] where the address is not one of an allocation.
    pub fn free_host(&mut self, address: usize) -> Outcome<()> {
        self.devices()?;
        self.drain()?;
        if self.memory.free_pinned(address) {
            Ok(())
        } else {
            Err(Code::INVALID_VALUE.into())
        }
    }

    /// Whether an address is device memory.
    #[must_use]
    pub fn is_device_memory(&self, address: u64) -> bool {
        self.memory.ordinal_of(address, 1).is_some()
    }

    /// The device whose allocation holds the range.
    ///
    /// # Errors
    /// [`Code::INVALID_VALUE`] where no single allocation does.
    pub fn owner(&self, address: u64, bytes: usize) -> Outcome<usize> {
        self.devices()?;
        let ordinal = self
            .memory
            .ordinal_of(address, bytes)
            .ok_or(Code::INVALID_VALUE)?;
        self.usable(ordinal)?;
        Ok(ordinal)
    }

    /// Whether the whole range is host memory that devices can reach: pinned.
    #[must_use]
    pub fn is_mapped_host(&self, address: usize, bytes: usize) -> bool {
        self.memory.host_kind(address, bytes) != HostMemory::Pageable
    }
}

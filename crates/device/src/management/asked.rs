//! What every vendor's management is asked.

use super::{Answer, ManagedDevice, ManagedLink, Sample};

/// What tells of a vendor's devices, whoever uses them.
pub trait Management {
    /// The version of the driver package or of the kernel's driver.
    ///
    /// # Errors
    /// Why it is not reported.
    fn driver_version(&self) -> Answer<String>;

    /// All physical devices; one that cannot be asked is left out with its reason.
    ///
    /// # Errors
    /// Why devices are not told at all.
    fn devices(&self) -> Answer<Vec<Answer<ManagedDevice>>>;

    /// The device's own link, at a PCI address.
    ///
    /// # Errors
    /// No such device, or why its link is not reported.
    fn link(&self, pci: &str) -> Answer<ManagedLink>;

    /// Reads the physical device at a PCI address now; of each value that is missing, why.
    ///
    /// On NVIDIA this takes 40 ms or more: each of two PCIe counters counts for 20 ms.
    fn sample(&self, pci: &str) -> Sample;
}

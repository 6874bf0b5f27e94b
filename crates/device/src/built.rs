//! What is to be known of a backend that is built.

use crate::management::Managed;
use crate::registry::PciVendor;
use crate::vendors::Built;

impl Built {
    /// The vendor whose devices it drives; `None` for host memory.
    #[must_use]
    pub fn pci_vendor(self) -> Option<PciVendor> {
        self.gpu_vendor().map(|vendor| vendor.pci)
    }

    /// The vendor's word in box files; `None` for host memory.
    #[must_use]
    pub fn in_boxes(self) -> Option<&'static str> {
        self.gpu_vendor().map(|vendor| vendor.in_boxes)
    }

    /// Files of the simulated libraries that play its boxes; none for host memory.
    #[must_use]
    pub fn soft_libraries(self) -> &'static [&'static str] {
        self.gpu_vendor()
            .map_or(&[], |vendor| vendor.soft_libraries)
    }

    /// The file of its library of collectives that plays its boxes; `None` for host memory.
    #[must_use]
    pub fn soft_collectives(self) -> Option<&'static str> {
        self.gpu_vendor()?.collective_files.first().copied()
    }

    /// What tells who uses its devices; `None` for host memory and where nothing does.
    #[must_use]
    pub fn managed(self) -> Option<&'static Managed> {
        self.gpu_vendor()?.managed
    }

    /// Whether its copies between devices go direct only where access was enabled. Where it is false they go as the hardware
    /// can, whatever was enabled, and what they take tells nothing of access.
    #[must_use]
    pub fn copies_obey_access(self) -> bool {
        self.gpu_vendor()
            .is_none_or(|vendor| vendor.copies_obey_access)
    }

    /// Which of its copies a kernel does instead of the copy engine, in words; `None` where none is known.
    #[must_use]
    pub fn copies_by_kernel(self) -> Option<&'static str> {
        self.gpu_vendor()?.copies_by_kernel
    }

    /// The variable that limits how many of its streams run at once; `None` where none is known.
    #[must_use]
    pub fn queues_variable(self) -> Option<&'static str> {
        self.gpu_vendor()?.queues
    }

    /// The backend that drives devices of a vendor's number on the PCI bus.
    #[must_use]
    pub fn of_vendor(id: u16) -> Option<Self> {
        let drives = |built: &Self| built.pci_vendor().is_some_and(|vendor| vendor.id == id);
        Self::ALL.iter().copied().find(drives)
    }

    /// The backend that drives the devices of a box, by the vendor's word in its file.
    #[must_use]
    pub fn of_box(word: &str) -> Option<Self> {
        let drives = |built: &Self| built.in_boxes() == Some(word);
        Self::ALL.iter().copied().find(drives)
    }

    /// The backend of a name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|built| built.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_is_found_by_its_name_and_by_what_its_boxes_say() {
        for built in Built::ALL {
            assert_eq!(Built::of(built.name()), Some(*built));
            if let Some(word) = built.in_boxes() {
                assert_eq!(Built::of_box(word), Some(*built));
            }
        }
        assert_eq!(Built::of("metal"), None);
        assert_eq!(Built::of_box("host"), None);
        // NVIDIA's is asked first.
        assert_eq!(Built::ALL.first(), Some(&Built::Cuda));
    }
}

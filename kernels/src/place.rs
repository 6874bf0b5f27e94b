//! Memory that a kernel is given, and what must hold of it before anything is launched.

use device::kernel::Argument;
use device::{Device, DeviceBuffer, DeviceError, HostBuffer, HostKind, Result};

/// Memory that a kernel reads or writes, from an offset on.
#[derive(Debug)]
pub enum Place<'a, D: Device> {
    /// Memory of the kernel's device, or of a peer whose access was enabled.
    Device(&'a D::DeviceBuffer, usize),
    /// Pinned, write-combined or registered host memory.
    Host(&'a HostBuffer, usize),
}

impl<'a, D: Device> Place<'a, D> {
    /// The argument for a kernel that uses `bytes` from the offset on, in words of `word` bytes.
    ///
    /// Buffers themselves begin at a multiple of every word: device memory at one of 256 bytes (CUDA C++ programming guide,
    /// device memory accesses; HIP alike), host memory at a page.
    pub(crate) fn argument(
        self,
        bytes: usize,
        word: usize,
    ) -> Result<Argument<'a, D::DeviceBuffer>> {
        let (offset, len) = match self {
            Self::Device(buffer, offset) => (offset, buffer.len()),
            Self::Host(buffer, offset) => (offset, buffer.len()),
        };
        for (what, number) in [("the bytes", bytes), ("the offset", offset)] {
            if !number.is_multiple_of(word) {
                return Err(DeviceError::Argument {
                    what,
                    why: format!("{number} is no multiple of {word}, the kernel's words"),
                });
            }
        }
        let end = offset.checked_add(bytes);
        if end.is_none_or(|end| end > len) {
            return Err(DeviceError::OutOfRange {
                offset,
                end: end.unwrap_or(usize::MAX),
                len,
            });
        }
        match self {
            Self::Device(buffer, offset) => Ok(Argument::Device(buffer, offset)),
            Self::Host(buffer, _) if buffer.kind() == HostKind::Pageable => {
                Err(DeviceError::Argument {
                    what: "pageable host memory",
                    why: "a kernel reaches pinned, write-combined and registered memory only"
                        .to_owned(),
                })
            }
            Self::Host(buffer, offset) => Ok(Argument::Host(buffer, offset)),
        }
    }

    /// The same for a word that the kernel lowers while other threads do.
    pub(crate) fn lowered(self) -> Result<Argument<'a, D::DeviceBuffer>> {
        if matches!(self, Self::Host(..)) {
            return Err(DeviceError::Argument {
                what: "host memory for the first wrong word",
                why: "a minimum is no operation of the PCIe bus; use memory of the device"
                    .to_owned(),
            });
        }
        self.argument(8, 8)
    }
}

#[cfg(test)]
mod tests {
    use device::Backend;
    use device::host::Host;

    use super::*;

    type Memory = <Host as Backend>::Device;

    fn device() -> Memory {
        Host::open().unwrap().device(0).unwrap()
    }

    #[test]
    fn a_range_inside_a_buffer_at_a_multiple_of_the_word_is_taken() {
        let memory = device().alloc(4096).unwrap();
        for (offset, bytes, word) in [(0, 4096, 16), (4080, 16, 16), (8, 4088, 8), (4096, 0, 16)] {
            let argument = Place::<Memory>::Device(&memory, offset).argument(bytes, word);
            assert!(
                matches!(argument, Ok(Argument::Device(_, at)) if at == offset),
                "{offset} {bytes} {word}"
            );
        }
    }

    #[test]
    fn what_lies_outside_is_refused_with_the_range() {
        let memory = device().alloc(4096).unwrap();
        for (offset, bytes) in [(0, 4112), (4096, 16), (4080, 32), (usize::MAX - 15, 16)] {
            let refused = Place::<Memory>::Device(&memory, offset).argument(bytes, 16);
            assert!(
                matches!(refused, Err(DeviceError::OutOfRange { offset: at, len: 4096, .. }) if at == offset),
                "{offset} {bytes}"
            );
        }
    }

    #[test]
    fn what_is_no_whole_word_is_refused() {
        let memory = device().alloc(4096).unwrap();
        for (offset, bytes, word, text) in [
            (
                8,
                16,
                16,
                "the offset cannot be used: 8 is no multiple of 16, the kernel's words",
            ),
            (
                0,
                24,
                16,
                "the bytes cannot be used: 24 is no multiple of 16, the kernel's words",
            ),
            (
                4,
                8,
                8,
                "the offset cannot be used: 4 is no multiple of 8, the kernel's words",
            ),
        ] {
            let refused = Place::<Memory>::Device(&memory, offset).argument(bytes, word);
            assert_eq!(refused.map(drop).unwrap_err().to_string(), text);
        }
    }

    #[test]
    fn host_memory_that_no_kernel_reaches_is_refused() {
        let host = device().alloc_host(HostKind::Pageable, 4096, None).unwrap();
        let refused = Place::<Memory>::Host(&host, 0).argument(16, 16);
        let text = refused.map(drop).unwrap_err().to_string();
        assert!(
            text.starts_with("pageable host memory cannot be used"),
            "{text}"
        );
        let refused = Place::<Memory>::Host(&host, 0).lowered();
        assert!(
            refused
                .map(drop)
                .unwrap_err()
                .to_string()
                .contains("use memory of the device")
        );
    }
}

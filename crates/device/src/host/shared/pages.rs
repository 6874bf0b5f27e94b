//! Memory of a device that lies in a file without a name, so that the other ranks can read it where it is.
//!
//! The file goes with the last process that has it open or mapped, however that ends.

use std::io;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use super::ffi::{Mapping, nameless, reserve};
use crate::backend::HostKind;
use crate::error::Result;
use crate::memory::{HostBuffer, HostMemory, Shown};

/// Bytes of a buffer that lies in a file. Shorter ones are never read in place. Of longer ones the kernel says sooner that there is
/// no room where they are ordinary memory: a file's pages are taken one after another.
const SIZES: RangeInclusive<usize> = 64 << 10..=1 << 30;

/// A place in a buffer that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Which one.
    pub(super) shown: Shown,
    /// The first byte.
    pub(super) start: usize,
}

/// Memory of a device, on a node where one is named: in a file if its size is one of those, and the system gives such a file.
///
/// # Errors
/// Where the system refuses the node, or has no memory.
pub(in crate::host) fn allocate(bytes: usize, node: Option<u32>) -> Result<HostBuffer> {
    if SIZES.contains(&bytes) {
        let on_node = |node| numa::PolicyGuard::set(&numa::MemoryPolicy::Bind(vec![node]));
        let _on_node = node.map(on_node).transpose()?;
        if let Ok(memory) = in_file(bytes) {
            return Ok(HostBuffer::new(memory, HostKind::Pageable));
        }
    }
    HostBuffer::from_pages(HostKind::Pageable, bytes, node)
}

fn in_file(bytes: usize) -> io::Result<HostMemory> {
    static SHOWN: AtomicU32 = AtomicU32::new(0);
    let file = nameless(c"tplens-device")?;
    file.set_len(bytes as u64)?;
    reserve(&file, 0, bytes)?;
    let shown = Shown {
        // After the last number comes the first again, which is long gone.
        number: NonZeroU32::MIN.saturating_add(SHOWN.fetch_add(1, Relaxed)),
        descriptor: file.as_raw_fd().unsigned_abs(),
        file: file.metadata()?.ino(),
    };
    let mapping = Mapping::whole(&file, bytes)?;
    Ok(mapping.into_memory(file).showing(shown))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn memory_of_some_sizes_lies_in_a_file_without_a_name_and_is_gone_when_dropped() {
        let memory = allocate(64 << 10, None).unwrap();
        let shown = memory.memory.shown().unwrap();
        let path = format!("/proc/self/fd/{}", shown.descriptor);
        let found = fs::metadata(&path).unwrap();
        assert_eq!(
            (found.nlink(), found.ino(), found.len()),
            (0, shown.file, 64 << 10)
        );
        // All of it is there: 64 KiB are 128 blocks of 512 bytes.
        assert!(found.blocks() >= 128, "{}", found.blocks());
        assert!(
            memory
                .with_bytes(|bytes| bytes.iter().all(|byte| *byte == 0))
                .unwrap()
        );
        drop(memory);
        let file = fs::metadata(&path).map(|found| found.ino());
        assert!(!matches!(file, Ok(number) if number == shown.file));
        for bytes in [1, (64 << 10) - 1] {
            assert_eq!(allocate(bytes, None).unwrap().memory.shown(), None);
        }
    }

    #[test]
    fn memory_in_a_file_is_on_the_node_that_was_asked_for() {
        let (ordinary, shown) = (
            HostBuffer::from_pages(HostKind::Pageable, 64 << 10, Some(0)),
            allocate(64 << 10, Some(0)),
        );
        // Node 0 may be without memory, and a sandbox may forbid to ask.
        match (ordinary, shown) {
            (Ok(ordinary), Ok(shown)) => assert_eq!(ordinary.proven_node(), shown.proven_node()),
            (Err(_), Err(_)) => {}
            other => panic!("{other:?}"),
        }
        assert!(allocate(64 << 10, Some(1 << 20)).is_err());
    }
}

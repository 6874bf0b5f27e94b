//! The words that host and kernel share.
#![expect(unsafe_code, reason = "a kernel writes beside the host")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::memory::HostMemory;

/// Two words in pinned host memory: one that the host raises and a kernel looks at, one that the kernel answers in.
///
/// Host and kernel use them at the same time, so they are atomics and never given out as bytes.
#[derive(Clone)]
pub struct HostFlag(Arc<HostMemory>);

/// Bytes of memory that a flag needs; the words lie on cache lines of their own.
pub(crate) const FLAG_BYTES: usize = 256;
/// Offset of the word that the kernel answers in.
pub(crate) const ANSWER_AT: usize = 128;

impl std::fmt::Debug for HostFlag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HostFlag")
    }
}

impl HostFlag {
    /// A lowered flag in memory of [`FLAG_BYTES`] that the device can reach.
    pub(crate) fn new(memory: HostMemory) -> Self {
        assert!(
            memory.len() >= FLAG_BYTES,
            "a flag needs {FLAG_BYTES} bytes"
        );
        let flag = Self(Arc::new(memory));
        flag.lower();
        flag
    }

    /// Its memory, which a launch holds and takes the addresses of.
    pub(crate) fn memory(&self) -> &Arc<HostMemory> {
        &self.0
    }

    /// Lets kernels that wait for it go.
    pub fn raise(&self) {
        self.word(0).store(1, Ordering::Release);
    }

    /// Lowers it and clears the answer; no kernel that looks at it may be queued.
    pub fn lower(&self) {
        self.word(0).store(0, Ordering::Release);
        self.word(ANSWER_AT).store(0, Ordering::Release);
    }

    /// Whether a kernel answered, which is to say that it gave up waiting.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        self.word(ANSWER_AT).load(Ordering::Acquire) != 0
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: both offsets lie within FLAG_BYTES, which `new` checked.
        let word = unsafe { self.0.pointer().as_ptr().add(offset) };
        // SAFETY: page-aligned memory at a multiple of 4, alive as long as self; it is only ever used as these two
        // atomics by the host (`new` took it over), and the device's accesses are naturally aligned 32-bit ones.
        unsafe { AtomicU32::from_ptr(word.cast()) }
    }
}

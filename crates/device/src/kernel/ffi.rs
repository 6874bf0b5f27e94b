//! Code in the forms that vendors take, arguments, the launch of a kernel whose arguments nobody but its author can check, and the
//! words that host and kernel share.
#![expect(
    unsafe_code,
    reason = "a kernel reads and writes what its arguments point to, also beside the host"
)]

use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::Result;
use crate::memory::{HostBuffer, HostMemory};

/// One kernel in each form that a vendor takes; a backend picks its own, and refuses where there is none.
#[derive(Debug, Clone, Copy)]
pub struct KernelCode {
    /// Its name in all forms.
    pub name: &'static CStr,
    /// PTX text, for NVIDIA's driver.
    pub ptx: Option<&'static CStr>,
    /// HIP C++ with its prelude, which AMD's runtime compiles on the user's machine.
    pub hip: Option<&'static CStr>,
}

/// An argument of a kernel, in the order of its parameters.
#[derive(Debug)]
pub enum Argument<'a, M> {
    /// The address of device memory at an offset, of the stream's device or of a peer whose access was enabled.
    Device(&'a M, usize),
    /// The device's address of pinned host memory at an offset.
    Host(&'a HostBuffer, usize),
    /// The device's address of a flag's word that the host writes.
    Flag(&'a HostFlag),
    /// The device's address of a flag's word that the kernel writes.
    FlagAnswer(&'a HostFlag),
    /// A number.
    Long(u64),
}

/// Streams that can launch kernels.
pub trait Launch {
    /// A loaded kernel of the stream's device.
    type Kernel;
    /// Memory of that device.
    type Memory;

    /// Queues a kernel on `blocks` blocks of `threads` threads. Memory in the arguments is held as that of copies is.
    ///
    /// # Safety
    /// The arguments are those of the kernel's parameters, in number, order and kind, and with them it writes only bytes of
    /// the buffers that they name. It may read others of the device's address space, held by nobody and perhaps not there:
    /// what it does with them decides neither where it writes nor anything that is relied on.
    ///
    /// # Errors
    /// A kernel of another device, an offset outside a buffer, a buffer that the host is using, or the driver's words. Memory
    /// of a peer whose access is not enabled is refused where the backend knows of it; else the kernel runs into it, and the
    /// device is lost, which a later call says.
    unsafe fn launch_kernel(
        &self,
        kernel: &Self::Kernel,
        blocks: u32,
        threads: u32,
        arguments: &[Argument<'_, Self::Memory>],
    ) -> Result<()>;
}

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

//! What kernels do to words of memory: the pattern, the chain, and the words that host and kernel share.
#![expect(unsafe_code, reason = "reads and writes memory by its address")]

use crate::Kernel;
use crate::memory::{HostAddress, HostMemory, Memory, Place};
use std::sync::atomic::{AtomicU32, Ordering};

/// Word `index` of the pattern of a seed, as the crate `device` writes it on the host (its `pattern.rs`).
fn word(index: u64, seed: u64) -> u64 {
    let mixed = (index ^ seed).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ (mixed >> 32)
}

/// The bit that a faulty fill flips.
const FLIPPED: u64 = 1 << 20;

/// Words of 8 bytes in memory that devices reach.
///
/// Invariant: all of them lie in one live allocation or registered range of the memory that `memory` borrows.
struct Words<'a> {
    start: usize,
    count: u64,
    _memory: &'a Memory,
}

impl Words<'_> {
    /// `None` beyond the end.
    fn pointer(&self, index: u64) -> Option<*mut [u8; 8]> {
        (index < self.count).then(|| (self.start + index as usize * 8) as *mut [u8; 8])
    }

    fn read(&self, index: u64) -> Option<u64> {
        let pointer = self.pointer(index)?;
        // SAFETY: the type's invariant; bytes have no alignment. A host that writes here at the same time breaks the promise
        // that it gave with HostAddress::new.
        let bytes = unsafe { pointer.read() };
        Some(u64::from_le_bytes(bytes))
    }

    fn write(&self, index: u64, value: u64) {
        if let Some(pointer) = self.pointer(index) {
            // SAFETY: as for `read`.
            unsafe { pointer.write(value.to_le_bytes()) };
        }
    }
}

impl Memory {
    /// The range as a place of a copy; `None` where devices cannot reach it.
    pub(crate) fn place(&self, address: u64, bytes: usize) -> Option<Place> {
        if bytes == 0 || self.ordinal_of(address, bytes).is_some() {
            return Some(Place::Device(address));
        }
        let host = address as usize;
        if self.host_kind(host, bytes) == HostMemory::Pageable {
            return None;
        }
        // SAFETY: pinned memory is valid until it is freed, which runs what is pending first: `Mapping`'s invariant.
        Some(Place::Host(unsafe { HostAddress::new(host) }))
    }

    /// Whether the word that a gate waits for is not 0.
    pub(crate) fn is_raised(&self, flag: u64) -> bool {
        self.shared_word(flag)
            .is_some_and(|word| word.load(Ordering::Acquire) != 0)
    }

    /// Writes 1 into the word that a gate answers in.
    pub(crate) fn write_answer(&self, answer: u64) {
        if let Some(word) = self.shared_word(answer) {
            word.store(1, Ordering::Release);
        }
    }

    /// Does what a kernel does to words, or what a faulty one does; `false` where a chain leads out of its memory.
    pub(crate) fn run(&mut self, kernel: Kernel, is_wrong: bool) -> bool {
        match kernel {
            Kernel::Fill(to, words, seed, complement) => {
                let inverted = if complement == 0 { 0 } else { u64::MAX };
                if let Some(target) = self.words(to, words) {
                    (0..words).for_each(|index| target.write(index, word(index, seed) ^ inverted));
                    if is_wrong {
                        let flipped = word(words / 2, seed) ^ inverted ^ FLIPPED;
                        target.write(words / 2, flipped);
                    }
                }
            }
            Kernel::Check(data, words, seed, first_wrong) => {
                if let Some((data, answer)) =
                    self.words(data, words).zip(self.words(first_wrong, 1))
                {
                    let wrong =
                        (0..words).find(|index| data.read(*index) != Some(word(*index, seed)));
                    if let Some((wrong, before)) = wrong.zip(answer.read(0)) {
                        answer.write(0, wrong.min(before));
                    }
                }
            }
            Kernel::Burn(.., first_wrong) => {
                // No sum is calculated: a healthy device's are what they must be.
                if let Some(answer) = self.words(first_wrong, 1).filter(|_| is_wrong) {
                    answer.write(0, 0);
                }
            }
            Kernel::Chase(base, steps, end) => {
                let Some(last) = self.chase(base, steps) else {
                    return false;
                };
                if let Some(end) = self.words(end, 1) {
                    end.write(0, last);
                }
            }
            // A gate's answer and a copy's bytes are the driver's matter, and a spin has none.
            Kernel::Gate(..) | Kernel::Copy(..) | Kernel::Spin(_) => {}
        }
        true
    }

    /// The last offset of a chain that begins at offset 0; `None` where one leads out of the memory or between words.
    fn chase(&self, base: u64, steps: u64) -> Option<u64> {
        let count = self.bytes_from(base as usize)? as u64 / 8;
        let chain = self.words(base, count)?;
        let mut at = 0;
        for _ in 0..steps {
            at = chain.read(at / 8).filter(|next| next.is_multiple_of(8))?;
        }
        Some(at)
    }

    fn words(&self, address: u64, count: u64) -> Option<Words<'_>> {
        let start = address as usize;
        let bytes = usize::try_from(count.checked_mul(8)?).ok()?;
        (bytes <= self.bytes_from(start)?).then_some(Words {
            start,
            count,
            _memory: self,
        })
    }

    /// A word of 4 bytes that the host may use at the same time.
    fn shared_word(&self, address: u64) -> Option<&AtomicU32> {
        let start = address as usize;
        if !start.is_multiple_of(4) || self.bytes_from(start)? < 4 {
            return None;
        }
        // SAFETY: aligned, and inside a live allocation or registered range, which stays while self is borrowed; a program
        // that has a gate look at it uses it as an atomic too (cuda.h and hip_runtime_api.h ask that of shared memory).
        Some(unsafe { AtomicU32::from_ptr(start as *mut u32) })
    }
}

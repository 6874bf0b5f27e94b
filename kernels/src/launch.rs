//! The kernels of one device, launched with arguments that fit. What memory they may be given is decided in `place.rs`.
#![expect(
    unsafe_code,
    reason = "only the launches here know what their kernels read and write"
)]

use std::cell::OnceCell;

use device::kernel::{Argument, HostFlag, KernelCode, Launch};
use device::pattern::Pattern;
use device::{Device, DeviceError, Result};

use crate::code;
use crate::place::Place;

/// The kernels of one device. Gate, copy and chase are loaded: their first launches load nothing any more.
///
/// Fill, check and burn are loaded by the first call that needs them, which may wait for all that the device has to do. So that call
/// is not for a stream behind a closed gate, nor for a capture.
pub struct Kernels<D: Device> {
    device: D,
    gate: D::Kernel,
    copy: D::Kernel,
    chase: D::Kernel,
    fill: OnceCell<D::Kernel>,
    check: OnceCell<D::Kernel>,
    burn: OnceCell<D::Kernel>,
}

/// Threads of a block at most: a divisor of what a multiprocessor of each vendor holds.
const THREADS: u32 = 512;
/// Threads for each multiprocessor: what the smallest holds at once (CUDA C++ programming guide, compute capability 7.5), so
/// that no block waits for another to end. With four 16-byte loads each, 64 KiB are under way there.
const THREADS_EACH: u32 = 1024;
/// The smallest block: two warps of NVIDIA, one wave of AMD's wider ones.
const LEAST_THREADS: u32 = 64;
/// Multiprocessors that are assumed where the driver does not say: enough for any link, if not for the memory of every chip.
const ASSUMED_MULTIPROCESSORS: u32 = 64;
/// Bytes of a word of the copy.
const VECTOR: usize = 16;
/// Bytes of a word of the other kernels.
const WORD: usize = 8;

/// Multiply-adds of a round of an item of [`Kernels::burn`]: 8 by 4 sums, 8 each.
pub const BURN_MULTIPLY_ADDS: u64 = 256;
/// Rounds of [`Kernels::burn`] at most: sums of 8 products of 8 by 8 a round then come to 2^24 at most, which single precision holds.
pub const BURN_ROUNDS: u64 = 32_768;

impl<D: Device> Kernels<D> {
    /// Loads gate, copy and chase.
    ///
    /// # Errors
    /// `Unsupported`, with the reason, where the backend runs no kernels or has no compiler; the driver's words.
    pub fn load(device: &D) -> Result<Self> {
        Ok(Self {
            gate: device.load(&code::GATE)?,
            copy: device.load(&code::COPY)?,
            chase: device.load(&code::CHASE)?,
            fill: OnceCell::new(),
            check: OnceCell::new(),
            burn: OnceCell::new(),
            device: device.clone(),
        })
    }

    /// A kernel that is loaded when it is first used.
    fn loaded<'k>(
        &self,
        cell: &'k OnceCell<D::Kernel>,
        code: &KernelCode,
    ) -> Result<&'k D::Kernel> {
        if let Some(kernel) = cell.get() {
            return Ok(kernel);
        }
        let kernel = self.device.load(code)?;
        Ok(cell.get_or_init(|| kernel))
    }

    /// A closed gate with a flag of its own.
    ///
    /// # Errors
    /// Out of memory.
    pub fn gate(&self) -> Result<Gate> {
        self.device.flag().map(Gate)
    }

    /// Queues a wait for the gate, of `timeout_ns` nanoseconds at most by the device's clock.
    ///
    /// # Errors
    /// The driver's words.
    pub fn hold(&self, stream: &D::Stream, gate: &Gate, timeout_ns: u64) -> Result<()> {
        let arguments = [
            Argument::Flag(&gate.0),
            Argument::FlagAnswer(&gate.0),
            Argument::Long(timeout_ns),
        ];
        // SAFETY: cu/gate.cu: three parameters, of which it reads the first word and writes the second.
        unsafe { stream.launch_kernel(&self.gate, 1, 1, &arguments) }
    }

    /// Queues a copy by all multiprocessors. `bytes` and both offsets are multiples of 16.
    ///
    /// # Errors
    /// `Argument` where they are not, or for pageable host memory; `OutOfRange`; `BufferInUse`; the driver's words.
    pub fn copy(
        &self,
        stream: &D::Stream,
        to: Place<'_, D>,
        from: Place<'_, D>,
        bytes: usize,
    ) -> Result<()> {
        self.copy_beside(stream, to, from, bytes, 1)
    }

    /// As [`Kernels::copy`], where `at_once` copies are to run on the device at the same time: each takes its part of every
    /// multiprocessor, as one that took all would keep the others waiting.
    ///
    /// # Errors
    /// As [`Kernels::copy`].
    pub fn copy_beside(
        &self,
        stream: &D::Stream,
        to: Place<'_, D>,
        from: Place<'_, D>,
        bytes: usize,
        at_once: u32,
    ) -> Result<()> {
        let vectors = bytes / VECTOR;
        let arguments = [
            to.argument(bytes, VECTOR)?,
            from.argument(bytes, VECTOR)?,
            Argument::Long(vectors as u64),
        ];
        let (blocks, threads) = grid(self.device.multiprocessors(), vectors, at_once);
        // SAFETY: cu/copy.cu: three parameters; it reads and writes as many vectors from the two addresses on, and both
        // ranges lie inside their buffers.
        unsafe { stream.launch_kernel(&self.copy, blocks, threads, &arguments) }
    }

    /// Queues the writing of a pattern, or of its complement. `bytes` and the offset are multiples of 8.
    ///
    /// # Errors
    /// As [`Kernels::copy`], the first time as [`Kernels::load`] too.
    pub fn fill(
        &self,
        stream: &D::Stream,
        to: Place<'_, D>,
        bytes: usize,
        pattern: Pattern,
        complement: bool,
    ) -> Result<()> {
        let words = bytes / WORD;
        let arguments = [
            to.argument(bytes, WORD)?,
            Argument::Long(words as u64),
            Argument::Long(pattern.seed()),
            Argument::Long(u64::from(complement)),
        ];
        let kernel = self.loaded(&self.fill, &code::FILL)?;
        let (blocks, threads) = grid(self.device.multiprocessors(), words, 1);
        // SAFETY: cu/fill.cu: four parameters; it writes as many words from the address on, which lie inside the buffer.
        unsafe { stream.launch_kernel(kernel, blocks, threads, &arguments) }
    }

    /// Queues a comparison with a pattern: lowers the 64-bit number at `first_wrong` to the index of the first 8-byte word
    /// that differs. The caller writes `u64::MAX` there before.
    ///
    /// # Errors
    /// As [`Kernels::fill`]; `Argument` too where `first_wrong` is host memory.
    pub fn check(
        &self,
        stream: &D::Stream,
        data: Place<'_, D>,
        bytes: usize,
        pattern: Pattern,
        first_wrong: Place<'_, D>,
    ) -> Result<()> {
        let words = bytes / WORD;
        let arguments = [
            data.argument(bytes, WORD)?,
            Argument::Long(words as u64),
            Argument::Long(pattern.seed()),
            first_wrong.lowered()?,
        ];
        let kernel = self.loaded(&self.check, &code::CHECK)?;
        let (blocks, threads) = grid(self.device.multiprocessors(), words, 1);
        // SAFETY: cu/check.cu: four parameters; it reads as many words from the first address on and reads and writes one
        // at the last, and both ranges lie inside their buffers.
        unsafe { stream.launch_kernel(kernel, blocks, threads, &arguments) }
    }

    /// Queues `rounds` rounds of [`BURN_MULTIPLY_ADDS`] single-precision multiply-adds for each of `items`, every sum compared with
    /// what it must be: lowers the 64-bit number at `first_wrong` to the index of the first item that has a wrong one. The caller
    /// writes `u64::MAX` there before. It takes half of every multiprocessor, and leaves the other to fills and checks.
    ///
    /// # Errors
    /// As [`Kernels::check`]; `Argument` too for more than [`BURN_ROUNDS`] rounds, whose sums would be rounded.
    pub fn burn(
        &self,
        stream: &D::Stream,
        items: u64,
        rounds: u64,
        seed: u64,
        first_wrong: Place<'_, D>,
    ) -> Result<()> {
        if rounds > BURN_ROUNDS {
            return Err(DeviceError::Argument {
                what: "the number of rounds",
                why: format!("{rounds} would round the sums; take {BURN_ROUNDS} at most"),
            });
        }
        let arguments = [
            Argument::Long(items),
            Argument::Long(rounds),
            Argument::Long(seed),
            first_wrong.lowered()?,
        ];
        let kernel = self.loaded(&self.burn, &code::BURN)?;
        let words = usize::try_from(items).unwrap_or(usize::MAX);
        let (blocks, threads) = grid(self.device.multiprocessors(), words, 2);
        // SAFETY: cu/burn.cu: four parameters; it reads and writes one word at the last, which lies inside its buffer.
        unsafe { stream.launch_kernel(kernel, blocks, threads, &arguments) }
    }

    /// Items of [`Kernels::burn`] that fill its half of the chip `turns` times.
    #[must_use]
    pub fn burn_items(&self, turns: u64) -> u64 {
        let (blocks, threads) = grid(self.device.multiprocessors(), usize::MAX, 2);
        u64::from(blocks) * u64::from(threads) * turns
    }

    /// Queues `steps` dependent loads by one thread through a chain that [`crate::write_chain`] wrote, and writes the
    /// offset of the node where it ended to the 64-bit number at `end`.
    ///
    /// What memory holds is not looked at before: anything else is followed too, to wherever it leads in what the device can
    /// reach, and a device that finds nothing there is lost.
    ///
    /// # Errors
    /// As [`Kernels::copy`].
    pub fn chase(
        &self,
        stream: &D::Stream,
        chain: Place<'_, D>,
        steps: u64,
        end: Place<'_, D>,
    ) -> Result<()> {
        let arguments = [
            chain.argument(crate::CHAIN_STRIDE, WORD)?,
            Argument::Long(steps),
            end.argument(WORD, WORD)?,
        ];
        // SAFETY: cu/chase.cu: three parameters; it writes one word at the last, which lies inside its buffer. It loads at
        // the offsets that the memory holds, inside the chain where `write_chain` wrote it and anywhere else where it did
        // not; a load outside, which the contract allows, gives a wrong end or ends the device, and nothing relies on it.
        unsafe { stream.launch_kernel(&self.chase, 1, 1, &arguments) }
    }
}

/// Blocks and their threads for as many words, one for each thread: those that fill this part of the chip, or fewer for few
/// words.
fn grid(multiprocessors: Option<u32>, words: usize, at_once: u32) -> (u32, u32) {
    let each = THREADS_EACH / at_once.clamp(1, THREADS_EACH / LEAST_THREADS);
    let threads = (each.min(THREADS) / LEAST_THREADS).max(1) * LEAST_THREADS;
    let full = multiprocessors
        .unwrap_or(ASSUMED_MULTIPROCESSORS)
        .saturating_mul(each / threads);
    let needed = u32::try_from(words.div_ceil(threads as usize)).unwrap_or(u32::MAX);
    // A grid of no blocks is refused by drivers, and a kernel without words does nothing.
    (needed.min(full).max(1), threads)
}

/// A gate: streams that were held by it do nothing until it opens, or until its time-out.
#[derive(Debug, Clone)]
pub struct Gate(HostFlag);

impl Gate {
    /// Lets the streams go.
    pub fn open(&self) {
        self.0.raise();
    }

    /// Closes it again; no stream may be held by it any more.
    pub fn close(&self) {
        self.0.lower();
    }

    /// Whether a stream gave up waiting: what was timed behind it did not start together.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0.is_answered()
    }
}

#[cfg(test)]
mod tests {
    use device::Backend;
    use device::host::Host;

    use super::*;

    #[test]
    fn a_grid_fills_the_chip_and_few_words_take_fewer_blocks() {
        // 142 multiprocessors, 2 blocks each; 1 GiB is 67,108,864 vectors, more than 284 blocks of 512 threads.
        assert_eq!(grid(Some(142), (1 << 30) / VECTOR, 1), (284, 512));
        // 64 KiB are 4096 vectors, one for each thread of 8 blocks; one vector more takes a ninth.
        assert_eq!(grid(Some(142), 4096, 1), (8, 512));
        assert_eq!(grid(Some(142), 4097, 1), (9, 512));
        assert_eq!(grid(Some(142), 0, 1), (1, 512));
        // 64 are assumed where the driver does not say.
        assert_eq!(grid(None, usize::MAX, 1), (128, 512));
    }

    #[test]
    fn kernels_that_run_at_once_find_room_beside_each_other() {
        for at_once in 1..=16 {
            let (blocks, threads) = grid(Some(100), usize::MAX, at_once);
            assert_eq!((blocks % 100, threads % 64), (0, 0), "{at_once}");
            // 1024 threads for each multiprocessor in all.
            assert!(at_once * threads * (blocks / 100) <= 1024, "{at_once}");
        }
        // 1024 / 2 = 512; 1024 / 7 = 146, of which 128 are whole warps of every vendor.
        assert_eq!(grid(Some(100), usize::MAX, 2), (100, 512));
        assert_eq!(grid(Some(100), usize::MAX, 7), (100, 128));
    }

    #[test]
    fn a_backend_without_kernels_says_so() {
        let device = Host::open().unwrap().device(0).unwrap();
        let refused = Kernels::load(&device).err();
        assert!(
            matches!(refused, Some(DeviceError::Unsupported { .. })),
            "{refused:?}"
        );
    }
}

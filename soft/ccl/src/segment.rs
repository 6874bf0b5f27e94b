//! Memory that the ranks of one communicator share: a file without a name, made with the unique id and mapped by each of them.
//!
//! Words are atomic and of 64 bits. Behind them each rank has two slots for bytes. Who writes what when is decided elsewhere.
#![expect(unsafe_code, reason = "maps shared memory")]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64, fence};
use std::time::Duration;

/// Bytes of one slot.
pub(crate) const SLOT: usize = 256 << 10;
/// Words of a line of the cache.
const LINE: usize = 8;
/// Words before those of the ranks: word 0 is the number of ranks, word 1 the bell, words 2 and 3 are the token, and word 8, in a
/// line of its own, counts the ranks that sleep.
const COMMON: usize = 2 * LINE;
const BELL: usize = 1;
const SLEEPERS: usize = LINE;
/// Where the token stands, in bytes.
const TOKEN: u64 = 16;
/// Words of each rank: a line for its joining, then one for each slot.
const OWN: usize = 3 * LINE;
const PAGE: usize = 4096;
/// How often a waiting rank looks whether it still shall wait.
const LOOK: Duration = Duration::from_millis(2);
/// Rounds in which a rank leaves the processor to who else wants it, before it sleeps.
const YIELDS: u32 = 400;

/// One mapping of a communicator's file.
///
/// Invariant: `start` is the first of `bytes` bytes mapped shared, which belong to this value until it is dropped.
pub(crate) struct Segment {
    start: NonNull<u8>,
    bytes: usize,
    ranks: usize,
}

/// One of the two slots of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) rank: usize,
    pub(crate) slot: usize,
}

// SAFETY: a mapping belongs to the process and not to a thread.
unsafe impl Send for Segment {}
// SAFETY: words are reached as atomics; bytes are copied under the protocol of `communicator`, never borrowed.
unsafe impl Sync for Segment {}

/// Makes the memory of a new communicator, with its token: a file without a name, gone with the last process that has it open.
pub(crate) fn make(token: [u8; 16]) -> io::Result<File> {
    let name = c"tplens-soft-ccl";
    // SAFETY: memfd_create(2) reads a name that ends in NUL.
    let descriptor = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and nobody else's.
    let file = unsafe { File::from_raw_fd(descriptor) };
    file.write_all_at(&token, TOKEN)?;
    Ok(file)
}

impl Segment {
    /// Maps the memory of a token for this many ranks, through the process that made it.
    pub(crate) fn open(path: &Path, token: [u8; 16], ranks: usize) -> io::Result<Self> {
        let words = COMMON + OWN * ranks;
        let head = (8 * words).next_multiple_of(PAGE);
        let bytes = head + 2 * SLOT * ranks;
        let file = File::options().read(true).write(true).open(path)?;
        let mut found = [0; 16];
        file.read_exact_at(&mut found, TOKEN)?;
        if found != token {
            return Err(io::Error::other("it is another file"));
        }
        let length = libc::off_t::try_from(bytes).map_err(io::Error::other)?;
        // Setting pages aside now keeps want of memory from ending the process by a signal later.
        // SAFETY: posix_fallocate(3) takes a descriptor, which `file` keeps open, and two numbers.
        let code = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) };
        if code != 0 {
            return Err(io::Error::from_raw_os_error(code));
        }
        let (access, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: mmap(2) at an address of the kernel's choice touches no memory of ours; unmapped in Drop.
        let start =
            unsafe { libc::mmap(ptr::null_mut(), bytes, access, shared, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self {
            start,
            bytes,
            ranks,
        })
    }

    /// The word that says how many ranks there are, 0 in a new file.
    pub(crate) fn rank_count(&self) -> &AtomicU64 {
        self.word(0)
    }

    /// Half of the token.
    pub(crate) fn token(&self) -> u64 {
        self.word(TOKEN as usize / 8).load(Relaxed)
    }

    /// A word of a rank that is for its joining.
    pub(crate) fn of_rank(&self, rank: usize, number: usize) -> &AtomicU64 {
        assert!(rank < self.ranks && number < OWN, "no such word");
        self.word(COMMON + rank * OWN + number)
    }

    /// A word that announces the piece in a rank's slot.
    pub(crate) fn of_slot(&self, rank: usize, slot: usize, number: usize) -> &AtomicU64 {
        assert!(slot < 2, "no such slot");
        self.of_rank(rank, (1 + slot) * LINE + number)
    }

    fn word(&self, number: usize) -> &AtomicU64 {
        let word = self.start.as_ptr().wrapping_add(8 * number).cast();
        // SAFETY: the head has room for every word asked for here, and the mapping begins at a page; every process reaches
        // these words as atomics only.
        unsafe { AtomicU64::from_ptr(word) }
    }

    fn bell(&self) -> &AtomicU32 {
        let word = self.start.as_ptr().wrapping_add(8 * BELL).cast();
        // SAFETY: as `word`; no other word lies there.
        unsafe { AtomicU32::from_ptr(word) }
    }

    /// Wakes every rank that waits, where one does.
    pub(crate) fn ring(&self) {
        // With the same in `wait`: either this sees the sleeper, or the sleeper sees what was written before this.
        fence(SeqCst);
        if self.word(SLEEPERS).load(Relaxed) == 0 {
            return;
        }
        self.bell().fetch_add(1, AcqRel);
        // SAFETY: futex(2) FUTEX_WAKE reads nothing but the address of a word that is mapped.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.bell().as_ptr(),
                libc::FUTEX_WAKE,
                libc::c_int::MAX,
            )
        };
    }

    /// Waits until something holds, or until the rank gives up; whether it holds.
    pub(crate) fn wait(&self, holds: impl Fn() -> bool, gives_up: impl Fn() -> bool) -> bool {
        for _ in 0..YIELDS {
            if holds() {
                return true;
            }
            std::thread::yield_now();
        }
        self.word(SLEEPERS).fetch_add(1, SeqCst);
        let held = self.sleep(holds, gives_up);
        // A process that ends meanwhile leaves its count, which costs the others a needless call each time.
        self.word(SLEEPERS).fetch_sub(1, SeqCst);
        held
    }

    fn sleep(&self, holds: impl Fn() -> bool, gives_up: impl Fn() -> bool) -> bool {
        loop {
            let heard = self.bell().load(Acquire);
            fence(SeqCst);
            if holds() {
                return true;
            }
            if gives_up() {
                return false;
            }
            let time = libc::timespec {
                tv_sec: 0,
                tv_nsec: LOOK.subsec_nanos().into(),
            };
            // SAFETY: futex(2) FUTEX_WAIT compares a word that is mapped and reads one timespec; it returns when it was woken,
            // when the word has changed, or after the time.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.bell().as_ptr(),
                    libc::FUTEX_WAIT,
                    heard,
                    &raw const time,
                )
            };
        }
    }

    /// Where the [`SLOT`] bytes of a slot begin.
    pub(crate) fn place(&self, Slot { rank, slot }: Slot) -> *mut u8 {
        assert!(rank < self.ranks && slot < 2, "no such slot");
        let slots = self.bytes - 2 * SLOT * self.ranks;
        self.start
            .as_ptr()
            .wrapping_add(slots + (2 * rank + slot) * SLOT)
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: munmap(2) of what `open` mapped; the invariant says that nobody else has it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

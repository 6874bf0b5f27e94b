//! One rank: driver and library loaded, a device, a stream and a communicator. Checks every answer, expects nothing of results.

use crate::driver::{Driver, Pointer, call};
use crate::libraries::Tested;
use crate::processes::{ID, RANK, RANKS, tested};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int};
use std::path::Path;
use std::ptr::null_mut;

/// `ncclUniqueId`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Id(pub(crate) [u8; 128]);

pub(crate) const F16: c_int = 6;
pub(crate) const F32: c_int = 7;
pub(crate) const BF16: c_int = 9;

/// A new id as hex digits, made by a process that has no driver.
pub(crate) fn new_id(library: &Path, prefix: &str) -> String {
    // SAFETY: our own library, whose constructors do nothing.
    let library = unsafe { Library::new(library) }.expect("loads");
    let mut id = Id([0; 128]);
    let name = format!("{prefix}GetUniqueId");
    assert_eq!(call!(library, name, &raw mut id => *mut Id), 0);
    id.0.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The library of this process.
pub(crate) struct Ccl {
    pub(crate) tested: Tested,
    pub(crate) library: Library,
}

impl Ccl {
    pub(crate) fn load() -> Self {
        let tested = tested();
        Self {
            tested,
            // SAFETY: as above.
            library: unsafe { Library::new(tested.file) }.expect("loads"),
        }
    }

    pub(crate) fn name(&self, name: &str) -> String {
        format!("{}{name}", self.tested.prefix)
    }

    /// The text of a code and the words of the last error.
    pub(crate) fn words(&self, code: c_int) -> (String, String) {
        let copied = |pointer: *const c_char| {
            // SAFETY: both functions answer text that ends in NUL and is copied at once.
            let text = unsafe { CStr::from_ptr(pointer) };
            text.to_string_lossy().into_owned()
        };
        type TextOf = unsafe extern "C" fn(c_int) -> *const c_char;
        type LastOf = unsafe extern "C" fn(Pointer) -> *const c_char;
        let (text, last) = (self.name("GetErrorString"), self.name("GetLastError"));
        // SAFETY: nccl.h declares them so.
        let text = unsafe { self.library.get::<TextOf>(text.as_bytes()) }.expect("there");
        // SAFETY: as above.
        let last = unsafe { self.library.get::<LastOf>(last.as_bytes()) }.expect("there");
        // SAFETY: takes any number.
        let text = copied(unsafe { text(code) });
        // SAFETY: the communicator may be null.
        let last = copied(unsafe { last(null_mut()) });
        (text, last)
    }

    /// Joins with the calling thread's device; the communicator, or the code.
    pub(crate) fn join(&self, id: Id, ranks: usize, rank: usize) -> Result<Pointer, c_int> {
        let mut comm = null_mut();
        let code = call!(self.library, self.name("CommInitRank"),
            &raw mut comm => *mut Pointer, ranks as c_int => c_int, id => Id, rank as c_int => c_int);
        if code == 0 { Ok(comm) } else { Err(code) }
    }

    /// What one of the functions says that take a communicator only.
    pub(crate) fn end(&self, name: &str, comm: Pointer) -> c_int {
        call!(self.library, self.name(name), comm => Pointer)
    }
}

/// The id that the test gave this process.
pub(crate) fn own_id() -> Id {
    let text = std::env::var(ID).expect("set by the test");
    let mut id = Id([0; 128]);
    for (at, byte) in id.0.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("hex");
    }
    id
}

pub(crate) fn own_rank() -> usize {
    std::env::var(RANK).expect("set").parse().expect("a number")
}

pub(crate) fn own_ranks() -> usize {
    std::env::var(RANKS)
        .expect("set")
        .parse()
        .expect("a number")
}

/// Loads the driver of this process.
pub(crate) fn driver() -> Driver {
    let tested = tested();
    Driver::load(tested.driver_file, tested.driver)
}

/// A rank that has joined on the device of its number.
pub(crate) struct Rank {
    pub(crate) driver: Driver,
    pub(crate) ccl: Ccl,
    pub(crate) comm: Pointer,
    pub(crate) stream: Pointer,
    pub(crate) rank: usize,
    pub(crate) ranks: usize,
}

impl Rank {
    pub(crate) fn join() -> Self {
        let (rank, ranks) = (own_rank(), own_ranks());
        let driver = driver();
        driver.open(rank);
        let stream = driver.stream();
        let ccl = Ccl::load();
        let comm = ccl.join(own_id(), ranks, rank);
        let comm = comm.unwrap_or_else(|code| panic!("{:?}", ccl.words(code)));
        Self {
            driver,
            ccl,
            comm,
            stream,
            rank,
            ranks,
        }
    }

    pub(crate) fn allocate(&self, bytes: usize) -> u64 {
        self.driver.allocate(bytes)
    }

    pub(crate) fn upload(&self, to: u64, bytes: &[u8]) {
        self.driver.upload(to, bytes, self.stream);
    }

    pub(crate) fn download(&self, from: u64, bytes: usize) -> Vec<u8> {
        let mut found = vec![0_u8; bytes];
        self.driver.download(&mut found, from, self.stream);
        found
    }

    pub(crate) fn synchronize(&self) {
        self.driver.synchronize(self.stream);
    }

    /// The code of a sum of `count` elements.
    pub(crate) fn try_all_reduce(&self, to: u64, from: u64, count: usize, kind: c_int) -> c_int {
        self.try_sum("AllReduce", (to, from), count, kind, 0)
    }

    pub(crate) fn all_reduce(&self, to: u64, from: u64, count: usize, kind: c_int) {
        self.passed(self.try_all_reduce(to, from, count, kind));
    }

    pub(crate) fn reduce_scatter(&self, to: u64, from: u64, count: usize, kind: c_int) {
        self.passed(self.try_sum("ReduceScatter", (to, from), count, kind, 0));
    }

    pub(crate) fn try_sum(
        &self,
        name: &str,
        (to, from): (u64, u64),
        count: usize,
        kind: c_int,
        operation: c_int,
    ) -> c_int {
        call!(self.ccl.library, self.ccl.name(name),
            from => u64, to => u64, count => usize, kind => c_int, operation => c_int,
            self.comm => Pointer, self.stream => Pointer)
    }

    pub(crate) fn all_gather(&self, to: u64, from: u64, count: usize, kind: c_int) {
        let name = self.ccl.name("AllGather");
        let code = call!(self.ccl.library, name,
            from => u64, to => u64, count => usize, kind => c_int, self.comm => Pointer, self.stream => Pointer);
        self.passed(code);
    }

    fn passed(&self, code: c_int) {
        assert_eq!(code, 0, "{:?}", self.ccl.words(code));
    }

    /// Virtual microseconds between two events around some work.
    pub(crate) fn time_us(&self, work: impl FnOnce()) -> f64 {
        let first = self.driver.event(self.stream);
        work();
        let last = self.driver.event(self.stream);
        self.synchronize();
        self.driver.elapsed_us(first, last)
    }

    /// Captures work into an executable graph.
    pub(crate) fn capture(&self, work: impl FnOnce()) -> Pointer {
        self.driver.capture(self.stream, work)
    }

    pub(crate) fn launch(&self, graph: Pointer) {
        self.driver.launch(graph, self.stream);
    }
}

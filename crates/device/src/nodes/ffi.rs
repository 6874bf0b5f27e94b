//! The functions by which a simulated driver is told where host memory and threads are on its box. No vendor's library has them.
#![expect(unsafe_code, reason = "C functions of the simulated drivers")]

use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::ptr::NonNull;

use numa::{Errno, NumaError};

use crate::error::Result;

type PlaceCall = unsafe extern "C" fn(*mut c_void, usize, c_int) -> c_int;
type RangeCall = unsafe extern "C" fn(*mut c_void, usize) -> c_int;
type RunCall = unsafe extern "C" fn(c_int) -> c_int;

/// What stands for no node.
const NOWHERE: c_int = -1;

/// The functions of a loaded simulated driver, which stays loaded for the life of the process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DriverNodes {
    place: PlaceCall,
    node_of: RangeCall,
    run_on: RunCall,
}

impl DriverNodes {
    /// `None` where the library lacks one of them.
    pub(super) fn find(address: impl Fn(&[u8]) -> Option<*const c_void>) -> Option<Self> {
        let address = |name| address(name).filter(|address| !address.is_null());
        let place = address(b"tplens_soft_place")?;
        let node_of = address(b"tplens_soft_node_of")?;
        let run_on = address(b"tplens_soft_run_on")?;
        Some(Self {
            // SAFETY: only our simulated drivers export this name, as `int (void *, size_t, int)`; it is not null.
            place: unsafe { transmute::<*const c_void, PlaceCall>(place) },
            // SAFETY: as above, as `int (void *, size_t)`.
            node_of: unsafe { transmute::<*const c_void, RangeCall>(node_of) },
            // SAFETY: as above, as `int (int)`.
            run_on: unsafe { transmute::<*const c_void, RunCall>(run_on) },
        })
    }

    fn put(self, start: NonNull<u8>, bytes: usize, node: Option<u32>) -> Option<Errno> {
        // SAFETY: it notes the range and does not touch its bytes; any node that is none is an error number.
        error(unsafe { (self.place)(start.as_ptr().cast(), bytes, number(node)) })
    }

    /// Says where a range of memory is.
    pub(super) fn place(self, start: NonNull<u8>, bytes: usize, node: u32) -> Result<()> {
        let refused = |errno| NumaError::Bind { node, bytes, errno };
        let refused = self.put(start, bytes, Some(node)).map(refused);
        refused.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Tells of pages that the driver has not made; it forgets them when the answer is dropped, which is before they go.
    pub(crate) fn tell(self, start: NonNull<u8>, bytes: usize, node: Option<u32>) -> Result<Told> {
        let told = Told {
            driver: self,
            address: start.as_ptr() as usize,
        };
        node.map_or(Ok(()), |node| self.place(start, bytes, node))?;
        Ok(told)
    }

    /// Where a range of memory is; `None` where it was put on no node.
    pub(super) fn node_of(self, start: NonNull<u8>, bytes: usize) -> Option<u32> {
        // SAFETY: it looks the range up and does not touch its bytes.
        let node = unsafe { (self.node_of)(start.as_ptr().cast(), bytes) };
        u32::try_from(node).ok()
    }

    /// Says where the calling thread is; the driver's word against it.
    pub(super) fn run_on(self, node: Option<u32>) -> Option<Errno> {
        // SAFETY: it notes the number; any that is no node is an error number.
        error(unsafe { (self.run_on)(number(node)) })
    }
}

/// A node that is too large for C is one that no box has.
fn number(node: Option<u32>) -> c_int {
    node.map_or(NOWHERE, |node| c_int::try_from(node).unwrap_or(c_int::MAX))
}

fn error(errno: c_int) -> Option<Errno> {
    (errno != 0).then_some(Errno(errno))
}

/// Memory that a simulated driver was told of; it is told to forget it when this is dropped.
pub(crate) struct Told {
    driver: DriverNodes,
    address: usize,
}

impl Drop for Told {
    fn drop(&mut self) {
        if let Some(start) = NonNull::new(self.address as *mut u8) {
            // It cannot be refused: what the driver does not know it has nothing to forget of.
            let _ = self.driver.put(start, 0, None);
        }
    }
}

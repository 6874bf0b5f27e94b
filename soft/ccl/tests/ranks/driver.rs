//! The driver of a child by its vendor's functions: CUDA's driver API, or a runtime of HIP's shape. Every call must succeed.

use libloading::Library;
use std::ffi::c_int;
use std::ptr::null_mut;

pub(crate) use std::ffi::c_void;

pub(crate) type Pointer = *mut c_void;

/// Calls a function of a library: its name, then each argument with its C type. Answers what it returns, an `int`.
macro_rules! call {
    ($library:expr, $name:expr $(, $argument:expr => $kind:ty)* $(,)?) => {{
        let name: String = $name.to_owned();
        // SAFETY: cuda.h, hip_runtime_api.h and nccl.h declare functions of these names with these types; MetaX's are the same.
        let function = unsafe {
            $library.get::<unsafe extern "C" fn($($kind),*) -> std::ffi::c_int>(name.as_bytes())
        };
        let function = function.unwrap_or_else(|error| panic!("{name}: {error}"));
        // SAFETY: pointers are to locals of the right type; handles and addresses are the library's to check.
        unsafe { function($($argument),*) }
    }};
}

/// The same for a call that must succeed.
macro_rules! ok {
    ($library:expr, $name:expr $(, $argument:expr => $kind:ty)* $(,)?) => {
        assert_eq!(crate::driver::call!($library, $name $(, $argument => $kind)*), 0, "{}", $name)
    };
}

pub(crate) use call;

/// A loaded driver and what its functions begin with.
pub(crate) struct Driver {
    pub(crate) library: Library,
    prefix: &'static str,
    is_cuda: bool,
}

impl Driver {
    pub(crate) fn load(file: &str, prefix: &'static str) -> Self {
        Self {
            // SAFETY: our own library, whose constructors do nothing.
            library: unsafe { Library::new(file) }.expect("loads"),
            prefix,
            is_cuda: prefix == "cu",
        }
    }

    /// The name of a function, of which CUDA's may end otherwise.
    fn name(&self, cuda: &str, runtime: &str) -> String {
        let name = if self.is_cuda { cuda } else { runtime };
        format!("{}{name}", self.prefix)
    }

    fn same(&self, name: &str) -> String {
        self.name(name, name)
    }

    /// Begins the driver.
    pub(crate) fn begin(&self) {
        if self.is_cuda {
            ok!(self.library, "cuInit", 0 => u32);
        }
    }

    /// Makes a device the calling thread's; answers what another thread needs to do the same.
    pub(crate) fn open(&self, device: usize) {
        self.begin();
        if self.is_cuda {
            let mut context = null_mut();
            ok!(self.library, "cuDevicePrimaryCtxRetain", &raw mut context => *mut Pointer, device as c_int => c_int);
            ok!(self.library, "cuCtxSetCurrent", context => Pointer);
        } else {
            ok!(self.library, self.same("SetDevice"), device as c_int => c_int);
        }
    }

    pub(crate) fn stream(&self) -> Pointer {
        let mut stream = null_mut();
        let name = self.name("StreamCreate", "StreamCreateWithFlags");
        ok!(self.library, name, &raw mut stream => *mut Pointer, 1 => u32);
        stream
    }

    pub(crate) fn allocate(&self, bytes: usize) -> u64 {
        let mut address = 0;
        let name = self.name("MemAlloc_v2", "Malloc");
        ok!(self.library, name, &raw mut address => *mut u64, bytes => usize);
        address
    }

    pub(crate) fn free(&self, address: u64) {
        ok!(self.library, self.name("MemFree_v2", "Free"), address => u64);
    }

    pub(crate) fn upload(&self, to: u64, bytes: &[u8], stream: Pointer) {
        self.copy(
            "MemcpyHtoDAsync_v2",
            1,
            (to, bytes.as_ptr() as u64),
            bytes.len(),
            stream,
        );
    }

    pub(crate) fn download(&self, bytes: &mut [u8], from: u64, stream: Pointer) {
        let to = bytes.as_mut_ptr() as u64;
        self.copy("MemcpyDtoHAsync_v2", 2, (to, from), bytes.len(), stream);
    }

    fn copy(&self, cuda: &str, kind: u32, (to, from): (u64, u64), bytes: usize, stream: Pointer) {
        if self.is_cuda {
            ok!(self.library, self.same(cuda), to => u64, from => u64, bytes => usize, stream => Pointer);
        } else {
            let name = self.same("MemcpyAsync");
            ok!(self.library, name, to => u64, from => u64, bytes => usize, kind => u32, stream => Pointer);
        }
    }

    pub(crate) fn synchronize(&self, stream: Pointer) {
        ok!(self.library, self.same("StreamSynchronize"), stream => Pointer);
    }

    pub(crate) fn event(&self, stream: Pointer) -> Pointer {
        let mut event = null_mut();
        let name = self.name("EventCreate", "EventCreateWithFlags");
        ok!(self.library, name, &raw mut event => *mut Pointer, 0 => u32);
        ok!(self.library, self.same("EventRecord"), event => Pointer, stream => Pointer);
        event
    }

    /// Virtual microseconds between two events.
    pub(crate) fn elapsed_us(&self, from: Pointer, to: Pointer) -> f64 {
        let mut ms = 0.0_f32;
        let name = self.name("EventElapsedTime_v2", "EventElapsedTime");
        ok!(self.library, name, &raw mut ms => *mut f32, from => Pointer, to => Pointer);
        f64::from(ms) * 1000.0
    }

    /// Captures work into an executable graph.
    pub(crate) fn capture(&self, stream: Pointer, work: impl FnOnce()) -> Pointer {
        let (mut graph, mut executable) = (null_mut(), null_mut());
        let (into, begin) = (
            &raw mut executable,
            self.name("StreamBeginCapture_v2", "StreamBeginCapture"),
        );
        // 1 is the mode of the calling thread alone.
        ok!(self.library, begin, stream => Pointer, 1 => u32);
        work();
        ok!(self.library, self.same("StreamEndCapture"), stream => Pointer, &raw mut graph => *mut Pointer);
        if self.is_cuda {
            let name = "cuGraphInstantiateWithFlags";
            ok!(self.library, name, into => *mut Pointer, graph => Pointer, 0 => u64);
        } else {
            ok!(self.library, self.same("GraphInstantiate"),
                into => *mut Pointer, graph => Pointer, null_mut() => Pointer, null_mut() => Pointer, 0 => usize);
        }
        ok!(self.library, self.same("GraphDestroy"), graph => Pointer);
        executable
    }

    pub(crate) fn launch(&self, executable: Pointer, stream: Pointer) {
        ok!(self.library, self.same("GraphLaunch"), executable => Pointer, stream => Pointer);
    }
}

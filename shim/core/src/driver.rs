//! The GPU drivers: which functions put a kernel into a stream, and how a driver gets code.
//!
//! CUDA's driver API and HIP have the same functions with the same parameters here (cuda.h, hip_runtime_api.h).

mod compile;

use crate::loader::Handle;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

type Stream = *mut c_void;
type Place = unsafe extern "C" fn(*mut u64) -> c_int;
type Load = unsafe extern "C" fn(*mut *mut c_void, *const c_void) -> c_int;
type Find = unsafe extern "C" fn(*mut *mut c_void, *mut c_void, *const c_char) -> c_int;
type Launch = unsafe extern "C" fn(
    *mut c_void,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    Stream,
    *mut *mut c_void,
    *mut *mut c_void,
) -> c_int;
type Open = unsafe extern "C" fn(*mut *mut c_void, c_uint) -> c_int;
type Record = unsafe extern "C" fn(*mut c_void, Stream) -> c_int;
type Elapsed = unsafe extern "C" fn(*mut f32, *mut c_void, *mut c_void) -> c_int;
type OfStream = unsafe extern "C" fn(Stream) -> c_int;
type Capturing = unsafe extern "C" fn(Stream, *mut c_int) -> c_int;
type Exchange = unsafe extern "C" fn(*mut c_int) -> c_int;

/// What differs between the drivers.
#[derive(Debug)]
pub(crate) struct Table {
    interface: &'static str,
    /// Which of the two names of a function is its.
    column: usize,
    /// The names under which programs load it.
    files: &'static [&'static str],
    code: Code,
}

/// The names of a function by CUDA's driver and by HIP.
type Names = [&'static CStr; 2];

/// What a kernel is loaded for: the thread's context, or its device.
const PLACE: Names = [c"cuCtxGetCurrent", c"hipGetDevice"];
const LOAD: Names = [c"cuModuleLoadData", c"hipModuleLoadData"];
const FIND: Names = [c"cuModuleGetFunction", c"hipModuleGetFunction"];
const LAUNCH: Names = [c"cuLaunchKernel", c"hipModuleLaunchKernel"];
const OPEN_STREAM: Names = [c"cuStreamCreate", c"hipStreamCreateWithFlags"];
const OPEN_EVENT: Names = [c"cuEventCreate", c"hipEventCreateWithFlags"];
const RECORD: Names = [c"cuEventRecord", c"hipEventRecord"];
const ELAPSED: Names = [c"cuEventElapsedTime", c"hipEventElapsedTime"];
const SYNCHRONIZE: Names = [c"cuStreamSynchronize", c"hipStreamSynchronize"];
const CAPTURING: Names = [c"cuStreamIsCapturing", c"hipStreamIsCapturing"];
const EXCHANGE: Names = [
    c"cuThreadExchangeStreamCaptureMode",
    c"hipThreadExchangeStreamCaptureMode",
];

/// What the driver is given to load.
#[derive(Debug)]
enum Code {
    /// Text that it compiles itself.
    Ptx(&'static CStr),
    /// What its compiler makes of this source.
    Source(&'static CStr),
}

/// The kernel's name in its code.
const KERNEL: &CStr = c"tplens_spin";

/// A text with a NUL at its end and nowhere else; else this does not compile.
pub(crate) const fn text(with_nul: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(with_nul.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a NUL at the end and nowhere else"),
    }
}

/// NVIDIA's driver.
pub(crate) const CUDA: Table = Table {
    interface: "CUDA",
    column: 0,
    files: &["libcuda.so.1", "libcuda.so"],
    code: Code::Ptx(text(concat!(
        include_str!("../../../kernels/ptx/spin.ptx"),
        "\0"
    ))),
};

/// AMD's runtime.
pub(crate) const HIP: Table = Table {
    interface: "HIP",
    column: 1,
    files: &[
        "libamdhip64.so",
        "libamdhip64.so.7",
        "libamdhip64.so.6",
        "libamdhip64.so.5",
    ],
    code: Code::Source(text(concat!(
        include_str!("../../../kernels/cu/preludes/hip.h"),
        include_str!("../../../kernels/cu/spin.cu"),
        "\0"
    ))),
};

/// A driver that is in this process.
pub(crate) struct Driver {
    table: &'static Table,
    handle: Handle,
}

impl Driver {
    /// The driver that the real library works with; `None` where none is in the process, hence no GPU's stream.
    pub(crate) fn get(table: &'static Table, real: Handle) -> Option<&'static Self> {
        static DRIVER: OnceLock<Driver> = OnceLock::new();
        if let Some(driver) = DRIVER.get() {
            return Some(driver);
        }
        // A library that is linked with its driver leads to it, whatever its file's name.
        let loaded = table.files.iter().filter_map(|name| Handle::loaded(name));
        let mut handles = std::iter::once(real).chain(loaded);
        let handle = handles.find(|handle| handle.symbol(LAUNCH[table.column]).is_some())?;
        Some(DRIVER.get_or_init(|| Self { table, handle }))
    }

    /// Whether a stream captures. Where the driver does not say so, the launch will say what is wrong.
    pub(crate) fn is_capturing(&self, stream: Stream) -> bool {
        let Ok(call) = self.find::<Capturing>(CAPTURING) else {
            return false;
        };
        let mut status = 0;
        // SAFETY: cuda.h: `CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus *)` writes one int, HIP the same; a stream
        // that is none is refused, or is the caller's mistake that the real library would meet too.
        let code = unsafe { call(stream, &raw mut status) };
        code == 0 && status != 0
    }

    /// What the calling thread's kernels belong to.
    pub(crate) fn place(&self) -> Result<u64, String> {
        let call = self.find::<Place>(PLACE)?;
        let mut place = 0;
        // SAFETY: `cuCtxGetCurrent(CUcontext *)` writes a pointer and `hipGetDevice(int *)` an int, for which there is room.
        self.check(PLACE, unsafe { call(&raw mut place) })?;
        if place == 0 && matches!(self.table.code, Code::Ptx(_)) {
            return Err("the calling thread has no current CUDA context".to_owned());
        }
        Ok(place)
    }

    /// Loads the kernel for the calling thread's place; it is never unloaded, as graphs may hold it.
    pub(crate) fn load(&self) -> Result<*mut c_void, String> {
        let compiled;
        let image: *const c_void = match &self.table.code {
            Code::Ptx(text) => text.as_ptr().cast(),
            Code::Source(source) => {
                compiled = compile::compile(self, source)?;
                compiled.as_ptr().cast()
            }
        };
        let load = self.find::<Load>(LOAD)?;
        let find = self.find::<Find>(FIND)?;
        let mut module = null_mut();
        // SAFETY: cuda.h: `cuModuleLoadData(CUmodule *, const void *)` writes one handle and reads text that ends in NUL, or a code
        // object that holds its own length; HIP the same.
        self.check(LOAD, unsafe { load(&raw mut module, image) })?;
        let mut kernel = null_mut();
        // SAFETY: cuda.h: `cuModuleGetFunction(CUfunction *, CUmodule, const char *)` writes one handle; HIP the same.
        let code = unsafe { find(&raw mut kernel, module, KERNEL.as_ptr()) };
        self.check(FIND, code)?;
        Ok(kernel)
    }

    /// Puts the kernel into a stream.
    pub(crate) fn launch(
        &self,
        kernel: *mut c_void,
        stream: Stream,
        duration_ns: u64,
    ) -> Result<(), String> {
        let call = self.find::<Launch>(LAUNCH)?;
        let mut duration_ns = duration_ns;
        let mut arguments: [*mut c_void; 1] = [(&raw mut duration_ns).cast()];
        let (arguments, none) = (arguments.as_mut_ptr(), null_mut());
        // SAFETY: cuda.h: `cuLaunchKernel(CUfunction, grid x y z, block x y z, shared bytes, CUstream, void **params, void **extra)`
        // reads as many parameters as the kernel has during the call, here one of 64 bits; HIP the same. The kernel touches no
        // memory.
        let code = unsafe { call(kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, none) };
        self.check(LAUNCH, code)
    }

    /// A stream of its own that waits for no other, and two events. They stay for the life of the process.
    pub(crate) fn open(&self) -> Result<(Stream, [*mut c_void; 2]), String> {
        // CU_STREAM_NON_BLOCKING and CU_EVENT_DEFAULT, and the same of HIP.
        let stream = self.make(OPEN_STREAM, 1)?;
        let event = || self.make(OPEN_EVENT, 0);
        Ok((stream, [event()?, event()?]))
    }

    fn make(&self, names: Names, flags: c_uint) -> Result<*mut c_void, String> {
        let call = self.find::<Open>(names)?;
        let mut made = null_mut();
        // SAFETY: cuda.h: `cuStreamCreate(CUstream *, unsigned)` and `cuEventCreate(CUevent *, unsigned)` write one handle; HIP's
        // calls WithFlags the same.
        self.check(names, unsafe { call(&raw mut made, flags) })?;
        Ok(made)
    }

    /// Marks a place in a stream.
    pub(crate) fn record(&self, event: *mut c_void, stream: Stream) -> Result<(), String> {
        let call = self.find::<Record>(RECORD)?;
        // SAFETY: cuda.h: `cuEventRecord(CUevent, CUstream)`, both from `open`; HIP the same.
        self.check(RECORD, unsafe { call(event, stream) })
    }

    /// Waits for a stream, and answers the microseconds between two marks in it.
    pub(crate) fn elapsed_us(
        &self,
        stream: Stream,
        [from, to]: [*mut c_void; 2],
    ) -> Result<f64, String> {
        let call = self.find::<OfStream>(SYNCHRONIZE)?;
        // SAFETY: cuda.h: `cuStreamSynchronize(CUstream)`, from `open`; HIP the same.
        self.check(SYNCHRONIZE, unsafe { call(stream) })?;
        let call = self.find::<Elapsed>(ELAPSED)?;
        let mut milliseconds = 0.0;
        // SAFETY: cuda.h: `cuEventElapsedTime(float *, CUevent, CUevent)` writes one float; both from `open`; HIP the same.
        self.check(ELAPSED, unsafe { call(&raw mut milliseconds, from, to) })?;
        Ok(f64::from(milliseconds) * 1e3)
    }

    /// Does something that a capture of this thread or another one would else forbid; it touches no stream that captures.
    pub(crate) fn beside_captures<T>(&self, work: impl FnOnce() -> T) -> T {
        let call = self.find::<Exchange>(EXCHANGE).ok();
        // CU_STREAM_CAPTURE_MODE_RELAXED, and the same of HIP.
        let mut mode = 2;
        let mut exchange = || {
            // SAFETY: cuda.h: `CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *)` reads and writes one int; HIP the
            // same. Where it fails, the work's own calls say what is wrong.
            call.map(|call| unsafe { call(&raw mut mode) })
        };
        exchange();
        let done = work();
        // It gives back what was there.
        exchange();
        done
    }

    /// A function of the driver.
    fn find<F: Copy>(&self, names: Names) -> Result<F, String> {
        // SAFETY: the aliases above are the types that cuda.h and hip_runtime_api.h declare for these names.
        unsafe { self.handle.function(names[self.table.column]) }
    }

    fn check(&self, names: Names, code: c_int) -> Result<(), String> {
        let (name, interface) = (names[self.table.column], self.table.interface);
        match code {
            0 => Ok(()),
            _ => Err(format!(
                "{} returned {interface} error {code}",
                name.to_string_lossy()
            )),
        }
    }
}

//! Compiling the kernel on the user's machine by hiprtc (hiprtc.h), which ROCm has in the runtime's library or beside it.

use super::{Driver, PLACE, Place};
use crate::loader::Handle;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

type Program = *mut c_void;
type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Read = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
type Properties = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;

/// Where the compiler is, if not in the runtime, and how its files' names end, by ROCm's release.
const FILE: &str = "libhiprtc.so";
const RELEASES: [&str; 4] = ["", ".7", ".6", ".5"];

/// The bytes of `hipDeviceProp_tR0600`, with room for what later releases add, and where its `gcnArchName[256]` begins
/// (hip_runtime_api.h of ROCm 6.0 on, as compiled).
const PROPERTIES: usize = 4096;
const ARCHITECTURE_AT: usize = 1160;

/// Makes a code object for the calling thread's device.
pub(super) fn compile(driver: &Driver, source: &CStr) -> Result<Vec<u8>, String> {
    let option = format!("--offload-arch={}\0", architecture(driver)?);
    let compiler = compiler(driver)?;
    let create = function::<Create>(compiler, c"hiprtcCreateProgram")?;
    let mut program = null_mut();
    let (text, name) = (source.as_ptr(), c"spin.hip".as_ptr());
    // SAFETY: hiprtc.h: `hiprtcCreateProgram(hiprtcProgram *, const char *src, const char *name, int headers, const char **, const
    // char **)` writes one handle; the texts end in NUL; without headers both lists may be null.
    let code = unsafe { create(&raw mut program, text, name, 0, null(), null()) };
    check("hiprtcCreateProgram", code)?;
    let compile = function::<Compile>(compiler, c"hiprtcCompileProgram")?;
    let options = [option.as_ptr().cast()];
    // SAFETY: hiprtc.h: `hiprtcCompileProgram(hiprtcProgram, int, const char **)` reads one option, which is alive and ends in NUL.
    let code = unsafe { compile(program, 1, options.as_ptr()) };
    check("hiprtcCompileProgram", code)?;
    let size_of = function::<Size>(compiler, c"hiprtcGetCodeSize")?;
    let mut size = 0;
    // SAFETY: hiprtc.h: `hiprtcGetCodeSize(hiprtcProgram, size_t *)` writes one size.
    let code = unsafe { size_of(program, &raw mut size) };
    check("hiprtcGetCodeSize", code)?;
    let read = function::<Read>(compiler, c"hiprtcGetCode")?;
    let mut image = vec![0_u8; size];
    // SAFETY: hiprtc.h: `hiprtcGetCode(hiprtcProgram, char *)` writes as many bytes as it said. The program is not destroyed: there
    // is one for each device.
    let code = unsafe { read(program, image.as_mut_ptr().cast()) };
    check("hiprtcGetCode", code)?;
    Ok(image)
}

/// The architecture of the calling thread's device, such as `gfx1201`.
fn architecture(driver: &Driver) -> Result<String, String> {
    let call = driver.find::<Place>(PLACE)?;
    let mut device = 0;
    // SAFETY: `hipGetDevice(int *)` writes an int, for which there is room.
    driver.check(PLACE, unsafe { call(&raw mut device) })?;
    let name = [c"hipGetDevicePropertiesR0600"; 2];
    let call = driver.find::<Properties>(name)?;
    let mut properties = [0_u64; PROPERTIES / 8];
    // SAFETY: hip_runtime_api.h: `hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *, int)` writes one structure of 1472 bytes
    // aligned to 8; there is room for more than twice that.
    let code = unsafe { call(properties.as_mut_ptr().cast(), device as c_int) };
    driver.check(name, code)?;
    let words = properties.iter().flat_map(|word| word.to_ne_bytes());
    let bytes: Vec<u8> = words.skip(ARCHITECTURE_AT).take(256).collect();
    let name = CStr::from_bytes_until_nul(&bytes).unwrap_or_default();
    let name = name.to_string_lossy();
    match name.starts_with("gfx") {
        true => Ok(name.into_owned()),
        false => Err("the runtime names no architecture to compile for".to_owned()),
    }
}

/// The library with the compiler's functions.
fn compiler(driver: &Driver) -> Result<Handle, String> {
    let has = |handle: &Handle| handle.symbol(c"hiprtcCompileProgram").is_some();
    let open = |release| Handle::open(&format!("{FILE}{release}")).ok();
    let beside = RELEASES.iter().filter_map(open);
    let found = std::iter::once(driver.handle).chain(beside).find(has);
    found.ok_or_else(|| format!("{FILE} did not load, and compiles the delay"))
}

fn function<F: Copy>(compiler: Handle, name: &CStr) -> Result<F, String> {
    // SAFETY: the aliases above are the types that hiprtc.h declares for the names asked for here.
    unsafe { compiler.function(name) }
}

fn check(call: &str, code: c_int) -> Result<(), String> {
    match code {
        0 => Ok(()),
        _ => Err(format!("{call} returned HIPRTC error {code}")),
    }
}

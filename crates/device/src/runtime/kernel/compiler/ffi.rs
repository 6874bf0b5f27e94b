//! The calls of hiprtc (hiprtc.h), which ROCm 5 and 6 also have in the runtime's own library.
#![expect(unsafe_code, reason = "C ABI of hiprtc")]

use std::ffi::{CStr, CString, c_char};
use std::path::{Path, PathBuf};
use std::ptr;

use super::super::super::library::Library;
use super::super::super::places;
use super::super::super::symbols::{Code, CompilerFunctions, Handle};
use super::super::super::table::Compiler;
use crate::error::{DeviceError, Result};
use crate::library::{Function, first_of, text};

fn unsupported(why: String) -> DeviceError {
    DeviceError::Unsupported {
        what: "a kernel",
        why,
    }
}

/// Compiles a source for an architecture, such as `gfx1201`.
///
/// # Errors
/// `Unsupported` where no compiler is found; the compiler's log.
pub(in crate::runtime) fn compile(
    library: &Library,
    compiler: &Compiler,
    source: &CStr,
    architecture: &str,
) -> Result<Vec<u8>> {
    let functions = find(library, compiler)?;
    let call = need(&functions.create)?;
    let mut program = Program {
        raw: ptr::null_mut(),
        functions: &functions,
    };
    // SAFETY: hiprtc.h: `hiprtcCreateProgram(hiprtcProgram *, const char *src, const char *name, int headers, const char
    // **, const char **)` writes one handle, which `Program` destroys; source and name end in NUL; without headers both
    // lists may be null.
    let code = unsafe {
        call(
            &raw mut program.raw,
            source.as_ptr(),
            c"tplens.hip".as_ptr(),
            0,
            ptr::null(),
            ptr::null(),
        )
    };
    program.check(&functions.create, code, "")?;
    program.compile(architecture)?;
    program.read(&functions.code_size, &functions.code)
}

/// The functions: in the runtime's library, or else in the compiler's own, beside the runtime's first.
fn find(library: &Library, compiler: &Compiler) -> Result<CompilerFunctions> {
    // SAFETY: hiprtc.h declares the functions of these names with these types; the library is never unloaded.
    let own = unsafe { CompilerFunctions::of(&library.raw, &compiler.names) };
    if own.create.call.is_some() {
        return Ok(own);
    }
    let file = library.file();
    let beside = file.as_deref().and_then(Path::parent).map(PathBuf::from);
    let mut candidates = places::usual(&[], compiler.prefix, beside.as_slice());
    candidates.extend(compiler.files.iter().map(PathBuf::from));
    let loaded = first_of(&candidates).map_err(|said| {
        let said = said.join("; ");
        unsupported(format!(
            "its compiler {} did not load ({said}); install it beside {}",
            compiler.prefix, library.table.library
        ))
    })?;
    // SAFETY: as above; it is leaked below and so never unloaded.
    let functions = unsafe { CompilerFunctions::of(&loaded, &compiler.names) };
    // It has threads and memory of its own, and one is loaded for each kernel at most: the loader counts, and does not load
    // again.
    std::mem::forget(loaded);
    Ok(functions)
}

fn need<F: Copy>(function: &Function<F>) -> Result<F> {
    let missing = || unsupported(format!("its compiler has no symbol {}", function.name));
    function.call.ok_or_else(missing)
}

/// A program that is being compiled; null before it was made.
struct Program<'a> {
    raw: Handle,
    functions: &'a CompilerFunctions,
}

impl Program<'_> {
    fn compile(&self, architecture: &str) -> Result<()> {
        let function = &self.functions.compile;
        let call = need(function)?;
        let option = CString::new(format!("--offload-arch={architecture}"));
        let option = option.map_err(|_| unsupported("its architecture has a NUL".to_owned()))?;
        let options = [option.as_ptr()];
        // SAFETY: hiprtc.h: `hiprtcCompileProgram(hiprtcProgram, int, const char **)` reads one option, which ends in NUL
        // and is alive.
        let code = unsafe { call(self.raw, 1, options.as_ptr()) };
        if code == Code::SUCCESS {
            return Ok(());
        }
        let log = self.read(&self.functions.log_size, &self.functions.log);
        let log = String::from_utf8_lossy(&log.unwrap_or_default()).into_owned();
        self.check(function, code, log.trim_end_matches('\0').trim())
    }

    /// The code object, or the compiler's log: as many bytes as the one function says, written by the other.
    fn read(
        &self,
        size_of: &Function<unsafe extern "C" fn(Handle, *mut usize) -> Code>,
        read: &Function<unsafe extern "C" fn(Handle, *mut c_char) -> Code>,
    ) -> Result<Vec<u8>> {
        let call = need(size_of)?;
        let mut size = 0;
        // SAFETY: hiprtc.h: `hiprtcGetCodeSize(hiprtcProgram, size_t *)` and `hiprtcGetProgramLogSize` write one size.
        self.check(size_of, unsafe { call(self.raw, &raw mut size) }, "")?;
        let call = need(read)?;
        let mut bytes = vec![0u8; size];
        // SAFETY: hiprtc.h: `hiprtcGetCode(hiprtcProgram, char *)` and `hiprtcGetProgramLog` write as many bytes as was said.
        let code = unsafe { call(self.raw, bytes.as_mut_ptr().cast()) };
        self.check(read, code, "")?;
        Ok(bytes)
    }

    fn check<F>(&self, function: &Function<F>, code: Code, log: &str) -> Result<()> {
        if code == Code::SUCCESS {
            return Ok(());
        }
        let name = self.functions.error_string.call.and_then(|call| {
            // SAFETY: hiprtc.h: `hiprtcGetErrorString(hiprtcResult)` returns a constant.
            let name = unsafe { call(code) };
            // SAFETY: as it was returned.
            unsafe { text(name) }
        });
        let mut name = name.unwrap_or_else(|| "an unknown error".to_owned());
        if !log.is_empty() {
            name = format!("{name}: {log}");
        }
        Err(DeviceError::Vendor {
            call: function.name,
            code: i64::from(code.0),
            name,
        })
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        if let (Some(call), false) = (self.functions.destroy.call, self.raw.is_null()) {
            // SAFETY: hiprtc.h: `hiprtcDestroyProgram(hiprtcProgram *)`; from hiprtcCreateProgram in `compile`, destroyed
            // once.
            let _ = unsafe { call(&raw mut self.raw) };
        }
    }
}

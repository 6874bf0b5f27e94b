//! hiprtc, and the kernels that it compiles.

use crate::stage::{Clocked, Pointer, assert_microseconds, bytes_at, call, ok, on_box, plain};
use boxfile::BoxFile;
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

const SOURCE: &CStr = c"#define KERNEL extern \"C\" __attribute__((global))
KERNEL void tplens_copy(uint4 *to, const uint4 *from, unsigned long long vectors) { /* ... */ }
KERNEL void tplens_fill(unsigned long long *to, unsigned long long words, unsigned long long seed, unsigned long long inverted) {}
";

/// Compiles; answers the code, or the log where it failed.
fn compiled(library: &Library, source: &CStr, option: &CStr) -> Result<Vec<u8>, String> {
    let mut program = null_mut();
    ok!(library, "hiprtcCreateProgram",
        &raw mut program => *mut Pointer, source.as_ptr() => *const c_char, c"tplens.hip".as_ptr() => *const c_char,
        0 => c_int, null() => *const *const c_char, null() => *const *const c_char);
    let options = [option.as_ptr()];
    let code = call!(library, "hiprtcCompileProgram",
        program => Pointer, 1 => c_int, options.as_ptr() => *const *const c_char);
    let (size_of, read) = match code {
        0 => ("hiprtcGetCodeSize", "hiprtcGetCode"),
        _ => ("hiprtcGetProgramLogSize", "hiprtcGetProgramLog"),
    };
    let mut size = 0;
    ok!(library, size_of, program => Pointer, &raw mut size => *mut usize);
    let mut bytes = vec![0_u8; size];
    ok!(library, read, program => Pointer, bytes.as_mut_ptr().cast() => *mut c_char);
    ok!(library, "hiprtcDestroyProgram", &raw mut program => *mut Pointer);
    match code {
        0 => Ok(bytes),
        // HIPRTC_ERROR_COMPILATION
        6 => Err(String::from_utf8(bytes).expect("UTF-8")),
        code => panic!("hiprtc answered {code}"),
    }
}

/// A box whose devices run kernels, with round figures: a launch 5 us, 200 GB/s inside, 16 GB/s from the host.
fn with_kernels() -> BoxFile {
    let described = plain("r9700-x8");
    assert!(
        described
            .device
            .iter()
            .all(|device| device.kernels.is_some())
    );
    described
}

fn launch(library: &Library, function: Pointer, stream: Pointer, arguments: &[u64]) -> c_int {
    let pointers: Vec<*const u64> = arguments
        .iter()
        .map(|argument| &raw const *argument)
        .collect();
    call!(library, "hipModuleLaunchKernel",
        function => Pointer, 64 => u32, 1 => u32, 1 => u32, 256 => u32, 1 => u32, 1 => u32, 0 => u32, stream => Pointer,
        pointers.as_ptr().cast_mut() => *mut *const u64, null_mut() => *mut Pointer)
}

#[test]
fn kernels_run_in_the_time_of_the_box() {
    on_box(
        "compiler::kernels_run_in_the_time_of_the_box",
        Some(&with_kernels()),
        |library| {
            let code = compiled(library, SOURCE, c"--offload-arch=gfx1201").expect("compiles");
            let (mut module, mut near, mut host) = (null_mut(), null_mut(), null_mut());
            ok!(library, "hipModuleLoadData",
                &raw mut module => *mut Pointer, code.as_ptr().cast() => *const c_void);
            // The module has read it.
            drop(code);
            let function = |name: &CStr| {
                let mut function = null_mut();
                let code = call!(library, "hipModuleGetFunction",
                    &raw mut function => *mut Pointer, module => Pointer, name.as_ptr() => *const c_char);
                (code, function)
            };
            let (0, copy) = function(c"tplens_copy") else {
                panic!("no copy")
            };
            let (0, fill) = function(c"tplens_fill") else {
                panic!("no fill")
            };
            assert_eq!(function(c"tplens_gate").0, 500);
            const BYTES: usize = 8_000_000;
            ok!(library, "hipMalloc", &raw mut near => *mut Pointer, BYTES => usize);
            ok!(library, "hipHostMalloc", &raw mut host => *mut Pointer, BYTES => usize, 0 => u32);
            let mut clocked = Clocked::new(library, "hip");
            let stream = clocked.stream;
            let (device, vectors, words) = (near as u64, BYTES as u64 / 16, BYTES as u64 / 8);
            clocked.mark();
            assert_eq!(launch(library, fill, stream, &[device, words, 7, 0]), 0);
            clocked.mark();
            assert_eq!(
                launch(library, copy, stream, &[host as u64, device, vectors]),
                0
            );
            clocked.mark();
            // 5 us + 8 MB / 200 GB/s = 45; writing the host 5 + 8 MB / 8 GB/s = 1005.
            assert_microseconds(&clocked.microseconds(), &[45.0, 1005.0]);
            // Word 0 of seed 7: m = 7 * 0xd6e8feb86659fd93 = 0xe05ef70acc75ef05 in 64 bits; its lower half with the upper one
            // over it is 0xcc75ef05 ^ 0xe05ef70a = 0x2c2b180f.
            assert_eq!(bytes_at(host, 8), 0xe05e_f70a_2c2b_180f_u64.to_le_bytes());
            ok!(library, "hipModuleUnload", module => Pointer);
            assert_eq!(
                launch(library, copy, stream, &[host as u64, device, vectors]),
                400
            );
        },
    );
}

#[test]
fn code_for_another_chip_and_code_that_is_none_are_refused() {
    on_box(
        "compiler::code_for_another_chip_and_code_that_is_none_are_refused",
        Some(&with_kernels()),
        |library| {
            let load = |code: &[u8]| {
                let mut module = null_mut();
                call!(library, "hipModuleLoadData",
                    &raw mut module => *mut Pointer, code.as_ptr().cast() => *const c_void)
            };
            let other = compiled(library, SOURCE, c"--offload-arch=gfx942").expect("compiles");
            assert_eq!(load(&other), 209);
            assert_eq!(load(b".version 6.4\0"), 200);
        },
    );
}

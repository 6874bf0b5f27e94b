//! Exports: launching a kernel. Grids and blocks are looked at for sense and change nothing else; cooperative launches and
//! arguments in one buffer do not exist here.
#![expect(
    unsafe_code,
    reason = "exports C functions that read through their callers' pointers"
)]

use crate::abi::{Status, call, present, stream_id, with};
use crate::modules::{THREADS_PER_BLOCK, function_of};
use softbox::{Code, KernelName, Outcome};
use std::ffi::{c_uint, c_void};

/// The current context is the one that the function was loaded into, and so is the stream's.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuLaunchKernel(
    function: *mut c_void,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    _shared_bytes: c_uint,
    stream: *mut c_void,
    arguments: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Status {
    call(|| {
        let (ordinal, name) = function_of(function)?;
        let blocks = [grid_x, grid_y, grid_z].map(u64::from);
        let threads = [block_x, block_y, block_z].map(u64::from);
        let sensible = !blocks.contains(&0)
            && !threads.contains(&0)
            && threads.iter().all(|count| *count <= THREADS_PER_BLOCK)
            && threads.iter().product::<u64>() <= THREADS_PER_BLOCK;
        if !extra.is_null() || !sensible {
            return Err(Code::INVALID_VALUE.into());
        }
        let name = name.ok_or(Code::NOT_SUPPORTED)?;
        // SAFETY: cuda.h: a pointer to each argument, as many and as wide as the kernel has parameters.
        let kernel = name.decode(&unsafe { read(arguments, name) }?)?;
        with(|driver| {
            let stream = stream_id(driver, stream)?;
            if driver.device_of_stream(stream)? != ordinal {
                return Err(Code::INVALID_HANDLE.into());
            }
            driver.launch_kernel(kernel, stream)
        })
    })
}

/// The arguments of a kernel as numbers.
///
/// # Safety
/// `arguments` is null or holds one pointer for each parameter, which is null or valid for reading 64 bits.
unsafe fn read(arguments: *mut *mut c_void, name: KernelName) -> Outcome<Vec<u64>> {
    present(arguments)?;
    let mut values = Vec::new();
    for index in 0..name.parameters() {
        // SAFETY: the caller promises as many pointers as there are parameters.
        let place = unsafe { arguments.add(index) };
        // SAFETY: as above.
        let argument = unsafe { place.read() };
        present(argument)?;
        // SAFETY: the caller promises 64 bits, wherever they lie.
        values.push(unsafe { argument.cast::<u64>().read_unaligned() });
    }
    Ok(values)
}

//! The calls that load and launch kernels. What a kernel's arguments are is its author's matter.
#![expect(unsafe_code, reason = "C ABI of the CUDA driver")]

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use crate::cuda::raw as sys;

use super::refusal;
use crate::cuda::context::Context;
use crate::cuda::library::{check, has_symbol, require};
use crate::cuda::memory::address_on_device;
use crate::cuda::{DeviceBuffer, Stream};
use crate::error::{DeviceError, Result};
use crate::kernel::{ANSWER_AT, Argument, KernelCode, Launch};
use crate::memory::HostKind;
use crate::memory::{Access, Held, InFlight};

/// Functions that nothing but kernels needs.
const REQUIRED: [&str; 3] = [
    "cuModuleGetFunction",
    "cuLaunchKernel",
    "cuMemHostGetDevicePointer_v2",
];

/// A kernel of an NVIDIA device.
#[derive(Debug)]
pub struct Kernel(Arc<Module>);

/// A module with its one function; queued launches and graphs hold it.
#[derive(Debug)]
struct Module {
    raw: sys::CUmodule,
    function: sys::CUfunction,
    access: Access,
    context: Arc<Context>,
}

// SAFETY: a module and its functions belong to their context and not to a thread (CUDA driver API, module management).
unsafe impl Send for Module {}
// SAFETY: calls on one context are thread-safe, and neither handle is changed after `load`.
unsafe impl Sync for Module {}

/// Loads a kernel, and all of it: a first launch that had to load would wait for the device, and so for a kernel that holds
/// another stream (CUDA C++ programming guide, lazy loading, concurrent execution).
pub(in crate::cuda) fn load(context: &Arc<Context>, code: &KernelCode) -> Result<Kernel> {
    let Some(ptx) = code.ptx else {
        return Err(DeviceError::Unsupported {
            what: "a kernel",
            why: format!("{} has no form in PTX", code.name.to_string_lossy()),
        });
    };
    require(&REQUIRED)?;
    let mut module = Module {
        raw: context.load_module(ptx).map_err(refusal)?,
        function: ptr::null_mut(),
        access: Access::default(),
        context: Arc::clone(context),
    };
    // SAFETY: cuda.h: `cuModuleGetFunction(CUfunction *, CUmodule, const char *)` writes one handle, which lives as long as
    // the module; the module is alive and the name ends in NUL. With lazy loading this is what loads the function.
    let found = unsafe {
        sys::cuModuleGetFunction(&raw mut module.function, module.raw, code.name.as_ptr())
    };
    check("cuModuleGetFunction", found)?;
    if has_symbol("cuFuncLoad") {
        // SAFETY: cuda.h (12.4): `cuFuncLoad(CUfunction)` finishes loading; the handle was just given.
        let loaded = unsafe { sys::cuFuncLoad(module.function) };
        check("cuFuncLoad", loaded)?;
    }
    Ok(Kernel(Arc::new(module)))
}

impl Held for Module {
    fn access(&self) -> &Access {
        &self.access
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: cuda.h: `cuModuleUnload(CUmodule)`; loaded in `load`, unloaded once. Streams and graphs hold the
            // modules of what they launch, so nothing that is queued uses it.
            let _ = unsafe { sys::cuModuleUnload(self.raw) };
        }
    }
}

impl Launch for Stream {
    type Kernel = Kernel;
    type Memory = DeviceBuffer;

    unsafe fn launch_kernel(
        &self,
        kernel: &Kernel,
        blocks: u32,
        threads: u32,
        arguments: &[Argument<'_, DeviceBuffer>],
    ) -> Result<()> {
        let (module, stream) = (&kernel.0, self.raw());
        if !Arc::ptr_eq(&module.context, stream.context()) {
            return Err(DeviceError::Argument {
                what: "the kernel",
                why: "it was loaded on another device than the stream's".to_owned(),
            });
        }
        let mut held = vec![InFlight::begin(module)?];
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let (value, memory) = resolve(argument, &module.context)?;
            values.push(value);
            held.extend(memory);
        }
        let mut parameters: Vec<*mut c_void> = values
            .iter_mut()
            .map(|value| ptr::from_mut(value).cast())
            .collect();
        stream.queue(held, || {
            // SAFETY: cuda.h: `cuLaunchKernel(CUfunction, unsigned int x 6, unsigned int, CUstream, void **, void **)`; it
            // copies the parameters before it returns. Function and stream are alive and of one context, and `queue` keeps
            // the module and the memory until the stream was waited for. That the parameters are the kernel's, each of 64
            // bits, and that it stays inside the memory that they name is the caller's promise.
            let code = unsafe {
                sys::cuLaunchKernel(
                    module.function,
                    blocks,
                    1,
                    1,
                    threads,
                    1,
                    1,
                    0,
                    stream.raw(),
                    parameters.as_mut_ptr(),
                    ptr::null_mut(),
                )
            };
            check("cuLaunchKernel", code)
        })
    }
}

/// The value of a parameter, and the memory that it names, held.
fn resolve(
    argument: &Argument<'_, DeviceBuffer>,
    context: &Context,
) -> Result<(u64, Option<InFlight>)> {
    let (value, memory) = match argument {
        Argument::Long(number) => return Ok((*number, None)),
        Argument::Device(buffer, offset) => {
            (buffer.0.range(*offset, 0)?, InFlight::begin(&buffer.0)?)
        }
        Argument::Host(buffer, _) if buffer.kind() == HostKind::Pageable => {
            return Err(DeviceError::Argument {
                what: "pageable host memory",
                why: "no kernel reaches it; allocate it pinned".to_owned(),
            });
        }
        Argument::Host(buffer, offset) => (
            address_on_device(context, &buffer.memory, *offset)?,
            InFlight::begin(&buffer.memory)?,
        ),
        Argument::Flag(flag) => (
            address_on_device(context, flag.memory(), 0)?,
            InFlight::begin(flag.memory())?,
        ),
        Argument::FlagAnswer(flag) => (
            address_on_device(context, flag.memory(), ANSWER_AT)?,
            InFlight::begin(flag.memory())?,
        ),
    };
    Ok((value, Some(memory)))
}

//! Calls on modules and kernels. A module is code that `compiler` made, or PTX text; a kernel is run by what its name says it does.
#![expect(unsafe_code, reason = "exports C functions under their vendors' names")]
#![expect(
    clippy::too_many_arguments,
    reason = "the parameters of hipModuleLaunchKernel"
)]

use crate::abi::{Arguments, Image};
use crate::compiler::CodeObject;
use crate::devices::architecture;
use crate::vendor::{Runtime, calls};
use softbox::abi::{Handle, Out, Text};
use softbox::{Code, Kernel, Outcome, SoftDriver};
use std::collections::BTreeMap;
use std::ffi::c_uint;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A loaded module.
struct Module {
    /// The device that was current.
    ordinal: usize,
    kernels: Vec<String>,
}

/// Modules by handle, and how many there were.
static MODULES: Mutex<(usize, BTreeMap<usize, Module>)> = Mutex::new((0, BTreeMap::new()));

/// Module handles are these numbers as pointers; the handles of its functions lie behind.
const MODULE_HANDLES: usize = 0x6d00_0000_0000;
const MODULE_STRIDE: usize = 4096;
const FUNCTION_STRIDE: usize = 16;

/// `hipErrorInvalidConfiguration`.
const INVALID_CONFIGURATION: Code = Code(9);
/// `hipErrorNoBinaryForGpu`.
const NO_BINARY: Code = Code(209);

fn modules() -> MutexGuard<'static, (usize, BTreeMap<usize, Module>)> {
    MODULES.lock().unwrap_or_else(PoisonError::into_inner)
}

calls! {
    /// Takes what this library compiled, for the current device's architecture. A device without kernels takes nothing.
    [HIP "hipModuleLoadData", MACA "mcModuleLoadData"]
    fn load(runtime, module: Out<Handle>, image: Image) {
        let object = CodeObject::read(image)?;
        keep(runtime, module, |driver, ordinal| {
            let object = object.as_ref().ok_or(Code::INVALID_IMAGE)?;
            match architecture(driver, ordinal)? == Some(object.architecture.as_str()) {
                true => Ok(object.kernels.clone()),
                false => Err(NO_BINARY.into()),
            }
        })
    }

    /// Takes PTX text whose first directive is `.version`; none where the device takes no kernels.
    [CUDA "cuModuleLoadData"]
    fn load_text(runtime, module: Out<Handle>, image: Text) {
        let text = image.read()?;
        keep(runtime, module, |_, _| {
            let mut lines = text.lines().map(str::trim);
            match lines.find(|line| !line.is_empty() && !line.starts_with("//")) {
                Some(line) if line.starts_with(".version") => {}
                Some(_) => return Err(Code::INVALID_PTX.into()),
                None => return Err(Code::INVALID_IMAGE.into()),
            }
            let names = text.split(".entry").skip(1).map(str::trim_start);
            let ends = |next: char| next == '(' || next.is_whitespace();
            Ok(names.filter_map(|rest| Some(rest.split(ends).next()?.to_owned())).collect())
        })
    }

    [CUDA "cuModuleUnload", HIP "hipModuleUnload", MACA "mcModuleUnload"]
    fn unload(runtime, module: Handle) {
        // Kernels that were queued are known to the driver, which needs the module no more.
        runtime.with(|_| Ok(()))?;
        let removed = modules().1.remove(&module.number());
        removed.map(drop).ok_or(Code::INVALID_HANDLE.into())
    }

    [CUDA "cuModuleGetFunction", HIP "hipModuleGetFunction", MACA "mcModuleGetFunction"]
    fn function(runtime, function: Out<Handle>, module: Handle, name: Text) {
        let name = name.read()?;
        runtime.tell(function, |_| {
            let modules = modules();
            let found = modules.1.get(&module.number());
            let kernels = &found.ok_or(Code::INVALID_HANDLE)?.kernels;
            let index = kernels.iter().position(|kernel| *kernel == name);
            let index = index.ok_or(Code::NOT_FOUND)?;
            Ok(Handle::at(module.number() + (index + 1) * FUNCTION_STRIDE))
        })
    }

    /// Everything is loaded as soon as its module is; this only looks at the handle.
    [CUDA "cuFuncLoad"]
    fn load_function(_runtime, function: Handle) {
        kernel_of(function).map(drop)
    }

    /// The grid changes nothing, as long as there is one. Arguments come by pointers, not packed in a buffer (`extra`).
    [CUDA "cuLaunchKernel", HIP "hipModuleLaunchKernel", MACA "mcModuleLaunchKernel"]
    fn launch(
        runtime, function: Handle,
        blocks_x: c_uint, blocks_y: c_uint, blocks_z: c_uint,
        threads_x: c_uint, threads_y: c_uint, threads_z: c_uint,
        _shared_bytes: c_uint, stream: Handle, arguments: Arguments, extra: Handle
    ) {
        let (ordinal, name) = kernel_of(function)?;
        let (blocks, threads) = ([blocks_x, blocks_y, blocks_z], [threads_x, threads_y, threads_z]);
        // Work items of a work group: hipDeviceAttributeMaxThreadsPerBlock is 1024 on all of AMD's GPUs.
        if blocks.contains(&0) || !(1..=1024).contains(&threads.map(u64::from).iter().product::<u64>()) {
            return Err(if runtime.contexts { Code::INVALID_VALUE } else { INVALID_CONFIGURATION }.into());
        }
        if !extra.is_null() {
            return Err(Code::INVALID_VALUE.into());
        }
        // A code object can name a kernel that nobody here knows how to run.
        let parameters = Kernel::parameters(&name).ok_or(Code::NOT_SUPPORTED)?;
        let kernel = Kernel::decode(&name, &arguments.read(parameters)?)?;
        runtime.on_stream(stream, |driver, stream| match driver.device_of_stream(stream)? == ordinal {
            true => driver.launch_kernel(kernel, stream),
            false => Err(Code::INVALID_HANDLE.into()),
        })
    }
}

/// Loads the kernels that a module has for the current device, which must take some.
fn keep(
    runtime: &Runtime,
    module: Out<Handle>,
    mut kernels: impl FnMut(&SoftDriver, usize) -> Outcome<Vec<String>>,
) -> Outcome<()> {
    module.present()?;
    let loaded = runtime.on_current(|driver, ordinal| {
        driver.null_stream(ordinal)?;
        match driver.takes_kernels(ordinal)? {
            true => Ok(Module {
                ordinal,
                kernels: kernels(driver, ordinal)?,
            }),
            false => Err(Code::NOT_SUPPORTED.into()),
        }
    })?;
    let mut modules = modules();
    modules.0 += 1;
    let handle = MODULE_HANDLES + modules.0 * MODULE_STRIDE;
    modules.1.insert(handle, loaded);
    module.put(Handle::at(handle))
}

/// The device and the name behind a function's handle.
fn kernel_of(function: Handle) -> Outcome<(usize, String)> {
    let offset = function.number() % MODULE_STRIDE;
    let modules = modules();
    let found = modules.1.get(&(function.number() - offset));
    let module = found.ok_or(Code::INVALID_HANDLE)?;
    let index = (offset / FUNCTION_STRIDE).checked_sub(1);
    let name = index.and_then(|index| module.kernels.get(index));
    Ok((module.ordinal, name.ok_or(Code::INVALID_HANDLE)?.clone()))
}

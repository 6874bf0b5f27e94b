//! Calls on modules and kernels. A module is code that `compiler` made, or PTX text; a kernel is run by what its name says it does.

use crate::abi::{Arguments, Handle, Image, Out, Text};
use crate::compiler::CodeObject;
use crate::devices::described;
use crate::properties::architecture;
use crate::vendor::Runtime;
use softbox::{Code, Kernel, Outcome};
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

/// Takes what this library compiled, for the current device's architecture. A device without kernels takes nothing.
pub(crate) fn load(runtime: &Runtime, module: Out<Handle>, image: Image) -> Outcome<()> {
    module.present()?;
    let object = CodeObject::read(image)?;
    let loaded = runtime.on_current(|driver, ordinal| {
        if !driver.takes_kernels(ordinal)? {
            return Err(Code::NOT_SUPPORTED.into());
        }
        let object = object.as_ref().ok_or(Code::INVALID_IMAGE)?;
        let own = architecture(&described(driver, ordinal)?.pci_id);
        if own != Some(object.architecture.as_str()) {
            return Err(NO_BINARY.into());
        }
        let kernels = object.kernels.clone();
        Ok(Module { ordinal, kernels })
    })?;
    keep(module, loaded)
}

/// Takes PTX text whose first directive is `.version`; none where the device takes no kernels.
pub(crate) fn load_text(runtime: &Runtime, module: Out<Handle>, image: Text) -> Outcome<()> {
    module.present()?;
    let text = image.read()?;
    let takes = runtime.on_current(|driver, ordinal| {
        driver.null_stream(ordinal)?;
        Ok((ordinal, driver.takes_kernels(ordinal)?))
    })?;
    let (ordinal, true) = takes else {
        return Err(Code::NOT_SUPPORTED.into());
    };
    let mut lines = text.lines().map(str::trim);
    match lines.find(|line| !line.is_empty() && !line.starts_with("//")) {
        Some(line) if line.starts_with(".version") => {}
        Some(_) => return Err(Code::INVALID_PTX.into()),
        None => return Err(Code::INVALID_IMAGE.into()),
    }
    let names = text.split(".entry").skip(1).map(str::trim_start);
    let ends = |next: char| next == '(' || next.is_whitespace();
    let kernels = names.filter_map(|rest| Some(rest.split(ends).next()?.to_owned()));
    keep(
        module,
        Module {
            ordinal,
            kernels: kernels.collect(),
        },
    )
}

fn keep(module: Out<Handle>, loaded: Module) -> Outcome<()> {
    let mut modules = modules();
    modules.0 += 1;
    let handle = MODULE_HANDLES + modules.0 * MODULE_STRIDE;
    modules.1.insert(handle, loaded);
    module.put(Handle::at(handle))
}

/// Everything is loaded as soon as its module is; this only looks at the handle.
pub(crate) fn load_function(_runtime: &Runtime, function: Handle) -> Outcome<()> {
    kernel_of(function).map(drop)
}

pub(crate) fn unload(runtime: &Runtime, module: Handle) -> Outcome<()> {
    // Kernels that were queued are known to the driver, which needs the module no more.
    runtime.with(|_| Ok(()))?;
    let removed = modules().1.remove(&module.number());
    removed.map(drop).ok_or(Code::INVALID_HANDLE.into())
}

pub(crate) fn function(
    runtime: &Runtime,
    function: Out<Handle>,
    module: Handle,
    name: Text,
) -> Outcome<()> {
    function.present()?;
    runtime.with(|_| Ok(()))?;
    let name = name.read()?;
    let modules = modules();
    let found = modules.1.get(&module.number());
    let kernels = &found.ok_or(Code::INVALID_HANDLE)?.kernels;
    let index = kernels.iter().position(|kernel| *kernel == name);
    let index = index.ok_or(Code::NOT_FOUND)?;
    function.put(Handle::at(module.number() + (index + 1) * FUNCTION_STRIDE))
}

/// The device and the name behind a function's handle.
fn kernel_of(function: Handle) -> Outcome<(usize, String)> {
    let offset = function.number() % MODULE_STRIDE;
    let modules = modules();
    let found = modules.1.get(&(function.number() - offset));
    let module = found.ok_or(Code::INVALID_HANDLE)?;
    let index = (offset / FUNCTION_STRIDE).checked_sub(1);
    let name = index
        .filter(|_| offset.is_multiple_of(FUNCTION_STRIDE))
        .and_then(|index| module.kernels.get(index));
    Ok((module.ordinal, name.ok_or(Code::INVALID_HANDLE)?.clone()))
}

/// The grid changes nothing, as long as there is one. Arguments come by pointers, not packed in a buffer (`extra`).
#[expect(
    clippy::too_many_arguments,
    reason = "the parameters of hipModuleLaunchKernel"
)]
pub(crate) fn launch(
    runtime: &Runtime,
    function: Handle,
    blocks_x: c_uint,
    blocks_y: c_uint,
    blocks_z: c_uint,
    threads_x: c_uint,
    threads_y: c_uint,
    threads_z: c_uint,
    _shared_bytes: c_uint,
    stream: Handle,
    arguments: Arguments,
    extra: Handle,
) -> Outcome<()> {
    let (ordinal, name) = kernel_of(function)?;
    // Work items of a work group: hipDeviceAttributeMaxThreadsPerBlock is 1024 on all of AMD's GPUs.
    let threads = [threads_x, threads_y, threads_z].map(u64::from);
    let sizes = [
        blocks_x, blocks_y, blocks_z, threads_x, threads_y, threads_z,
    ];
    if sizes.contains(&0) || threads.iter().product::<u64>() > 1024 {
        let code = match runtime.contexts {
            true => Code::INVALID_VALUE,
            false => INVALID_CONFIGURATION,
        };
        return Err(code.into());
    }
    if !extra.is_null() {
        return Err(Code::INVALID_VALUE.into());
    }
    // A code object can name a kernel that nobody here knows how to run.
    let parameters = Kernel::parameters(&name).ok_or(Code::NOT_SUPPORTED)?;
    let kernel = Kernel::decode(&name, &arguments.read(parameters)?)?;
    runtime.on_stream(stream, |driver, stream| {
        if driver.device_of_stream(stream)? != ordinal {
            return Err(Code::INVALID_HANDLE.into());
        }
        driver.launch_kernel(kernel, stream)
    })
}

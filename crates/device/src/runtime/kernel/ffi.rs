//! The calls that load and launch kernels, and the one that says for which architecture they are compiled.
#![expect(unsafe_code, reason = "C ABI of a vendor's runtime")]

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use super::super::context::Context;
use super::super::memory::{DeviceBuffer, device_address};
use super::super::queue::Stream;
use super::super::symbols::Handle;
use super::super::table::Kernels;
use super::compiler::compile;
use super::refusal;
use crate::error::{DeviceError, Result};
use crate::kernel::{ANSWER_AT, Argument, KernelCode, Launch};
use crate::library::{Function, until_nul};
use crate::memory::{Access, Held, HostKind, InFlight};

/// A kernel of a device.
pub struct Kernel(Arc<Loaded>);

/// A module and the one function of it that is used; queued launches and graphs keep it alive.
struct Loaded {
    module: Handle,
    function: Handle,
    context: Arc<Context>,
    access: Access,
}

// SAFETY: a module belongs to its device and not to a thread; its handles are never changed after `load`.
unsafe impl Send for Loaded {}
// SAFETY: as above; launching a function from several threads is what the runtime is for, and unloading happens once, in
// Drop.
unsafe impl Sync for Loaded {}

impl Held for Loaded {
    fn access(&self) -> &Access {
        &self.access
    }
}

/// Loads a kernel, compiled for the device where the vendor's library does not do that, and all of it: a first launch that had
/// to load would wait for the device, and so for a kernel that holds another stream (CUDA C++ programming guide, lazy loading).
pub(in crate::runtime) fn load(context: &Arc<Context>, code: &KernelCode) -> Result<Kernel> {
    let library = context.library;
    let no_form = || DeviceError::Unsupported {
        what: "a kernel",
        why: format!(
            "{} has no form for {}",
            code.name.to_string_lossy(),
            library.table.interface
        ),
    };
    let image = match library.table.takes()? {
        Kernels::Ptx => code.ptx.ok_or_else(no_form)?.to_bytes_with_nul().to_vec(),
        Kernels::Compiled(compiler) => {
            let source = (compiler.source)(code).ok_or_else(no_form)?;
            compile(library, compiler, source, &architecture(context)?)?
        }
    };
    let find = library.need(&library.functions.module_function)?;
    let mut loaded = Loaded::of(context, &image)?;
    // SAFETY: hip_runtime_api.h: `hipModuleGetFunction(hipFunction_t *, hipModule_t, const char *)` writes one handle,
    // which lives as long as the module; the name ends in NUL.
    let found = unsafe { find(&raw mut loaded.function, loaded.module, code.name.as_ptr()) };
    library.check(library.functions.module_function.name, found)?;
    let driver = library.driver.as_ref();
    if let Some(Function {
        name,
        call: Some(call),
    }) = driver.map(|driver| &driver.load_function)
    {
        // SAFETY: cuda.h (12.4): `cuFuncLoad(CUfunction)` finishes loading; the handle was just given.
        library.check(name, unsafe { call(loaded.function) })?;
    }
    Ok(Kernel(Arc::new(loaded)))
}

impl Loaded {
    /// A module without a function yet; the image is a code object, which holds its own length, or text that ends in NUL.
    fn of(context: &Arc<Context>, image: &[u8]) -> Result<Self> {
        let (library, functions) = (context.library, &context.library.functions);
        let load = library.need(&functions.module_load)?;
        // What cannot be given back must not be taken.
        library.need(&functions.module_unload)?;
        context.bind()?;
        let mut loaded = Self {
            module: ptr::null_mut(),
            function: ptr::null_mut(),
            context: Arc::clone(context),
            access: Access::default(),
        };
        // SAFETY: hip_runtime_api.h: `hipModuleLoadData(hipModule_t *, const void *)` writes one handle, which Drop unloads,
        // and reads the image.
        let code = unsafe { load(&raw mut loaded.module, image.as_ptr().cast()) };
        let loading = library.check(functions.module_load.name, code);
        loading.map_err(refusal)?;
        Ok(loaded)
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let unload = self.context.library.functions.module_unload.call;
        if let (Some(call), false, Ok(())) = (unload, self.module.is_null(), self.context.bind()) {
            // SAFETY: hip_runtime_api.h: `hipModuleUnload(hipModule_t)`; from hipModuleLoadData in `load`, unloaded once.
            // Streams and graphs hold this value until their work is done.
            let _ = unsafe { call(self.module) };
        }
    }
}

/// The bytes of `hipDeviceProp_tR0600`, with room for what later releases add at its end: it has 1472 in ROCm 6.0 to 7.x.
const PROPERTIES: usize = 4096;
/// Where its `gcnArchName[256]` begins (hip_runtime_api.h of ROCm 6.0 on, as compiled).
const ARCHITECTURE_AT: usize = 1160;

/// The architecture that code is compiled for, such as `gfx1201` or `gfx90a:sramecc+:xnack-`.
///
/// No attribute has it. The structure of the device's properties has, whose layout changed between ROCm 5 and 6 while the
/// plain name kept the old one; the name with its revision gives this layout or is missing. The kernel's own description
/// (KFD) would have to be matched with the device and is hidden in some containers.
fn architecture(context: &Context) -> Result<String> {
    let library = context.library;
    let function = &library.functions.device_properties;
    let unknown = |why: String| DeviceError::Unsupported {
        what: "a kernel",
        why,
    };
    let call = function.call.ok_or_else(|| {
        unknown(format!(
            "{} has no symbol {}, which tells the architecture to compile for; ROCm 6 or newer has it",
            library.table.library, function.name
        ))
    })?;
    let mut properties = [0u64; PROPERTIES / 8];
    // SAFETY: hip_runtime_api.h: `hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *, int)` writes one structure of 1472
    // bytes aligned to 8; there is room for more than twice that.
    let code = unsafe { call(properties.as_mut_ptr().cast(), context.device) };
    library.check(function.name, code)?;
    let bytes: Vec<u8> = properties
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .collect();
    let name = until_nul(&bytes[ARCHITECTURE_AT..ARCHITECTURE_AT + 256]);
    if is_architecture(&name) {
        return Ok(name);
    }
    Err(unknown(format!(
        "the runtime names no architecture to compile for (`{}`)",
        name.escape_default()
    )))
}

/// Whether a text can be an architecture's name, and not bytes of something else.
fn is_architecture(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b":+-_".contains(&byte);
    name.strip_prefix("gfx")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(is_part))
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
        let loaded = &kernel.0;
        let context = self.context();
        if !context.is(&loaded.context) {
            return Err(DeviceError::Argument {
                what: "the kernel",
                why: "it was loaded on another device than the stream's".to_owned(),
            });
        }
        let (name, call) = context.ready(|all| &all.launch_kernel)?;
        let mut held = vec![InFlight::begin(loaded)?];
        let mut values = arguments
            .iter()
            .map(|argument| value(context, argument, &mut held))
            .collect::<Result<Vec<u64>>>()?;
        let mut parameters: Vec<*mut c_void> = values
            .iter_mut()
            .map(|value| ptr::from_mut(value).cast())
            .collect();
        self.queue(held, || {
            // SAFETY: hip_runtime_api.h: `hipModuleLaunchKernel(hipFunction_t, grid x y z, block x y z, shared bytes,
            // hipStream_t, void **params, void **extra)` reads as many parameters as the kernel has while it is called;
            // that they are the kernel's, and that it stays inside the buffers that `queue` keeps until the stream was
            // waited for, is the caller's word.
            let code = unsafe {
                call(
                    loaded.function,
                    blocks,
                    1,
                    1,
                    threads,
                    1,
                    1,
                    0,
                    self.raw(),
                    parameters.as_mut_ptr(),
                    ptr::null_mut(),
                )
            };
            context.library.check(name, code)
        })
    }
}

/// An argument's 8 bytes; what it names is held from here on.
fn value(
    context: &Context,
    argument: &Argument<'_, DeviceBuffer>,
    held: &mut Vec<InFlight>,
) -> Result<u64> {
    let host = |memory, offset| device_address(context, memory, offset);
    let address = match argument {
        Argument::Long(number) => return Ok(*number),
        Argument::Device(buffer, offset) => {
            let memory = &buffer.0;
            if !context.reaches(memory.context()) {
                return Err(DeviceError::Argument {
                    what: "the memory",
                    why: "it is another device's, and access to it was not enabled".to_owned(),
                });
            }
            held.push(InFlight::begin(memory)?);
            memory.range(*offset, 0)?
        }
        Argument::Host(buffer, offset) => {
            if buffer.kind() == HostKind::Pageable {
                return Err(DeviceError::Argument {
                    what: "the memory",
                    why: "a kernel does not reach pageable memory".to_owned(),
                });
            }
            held.push(InFlight::begin(&buffer.memory)?);
            host(&buffer.memory, *offset)?
        }
        Argument::Flag(flag) => {
            held.push(InFlight::begin(flag.memory())?);
            host(flag.memory(), 0)?
        }
        Argument::FlagAnswer(flag) => {
            held.push(InFlight::begin(flag.memory())?);
            host(flag.memory(), ANSWER_AT)?
        }
    };
    Ok(address as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_architecture_is_told_from_other_bytes() {
        for name in ["gfx1201", "gfx90a:sramecc+:xnack-", "gfx12-generic"] {
            assert!(is_architecture(name), "{name}");
        }
        for name in ["", "gfx", "AMD Radeon", "gfx1201\u{1}", "gfx 906"] {
            assert!(!is_architecture(name), "{name:?}");
        }
    }
}

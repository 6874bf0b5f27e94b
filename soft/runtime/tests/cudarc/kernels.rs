//! Modules, functions and launches, with arguments as a C caller passes them.

use crate::stage::{BYTES, Stage, assert_passed, is_child, ok, plain};
use boxfile::BoxFile;
use cudarc::driver::{result, sys};
use std::ffi::{CStr, c_void};

const PTX: &CStr = c".version 6.4\n.target sm_75\n.visible .entry tplens_copy()\n{ ret; }\n.visible .entry tplens_gate(\n)\n{ ret; }\n.visible .entry other()\n{ ret; }";

/// Initialises and makes device 0 current.
fn open() {
    result::init().expect("initialises");
    let mut context = std::ptr::null_mut();
    ok!(sys::cuDevicePrimaryCtxRetain(&mut context, 0));
    ok!(sys::cuCtxSetCurrent(context));
}

fn load() -> sys::CUmodule {
    let mut module = std::ptr::null_mut();
    ok!(sys::cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
    module
}

fn function(module: sys::CUmodule, name: &CStr) -> Result<sys::CUfunction, sys::CUresult> {
    let mut function = std::ptr::null_mut();
    // SAFETY: the module is the library's, the name ends in NUL.
    let code = unsafe { sys::cuModuleGetFunction(&mut function, module, name.as_ptr()) };
    match code {
        sys::CUresult::CUDA_SUCCESS => Ok(function),
        code => Err(code),
    }
}

fn launch(
    function: sys::CUfunction,
    blocks: u32,
    threads: u32,
    stream: sys::CUstream,
    arguments: &[u64],
) -> sys::CUresult {
    let mut places: Vec<*mut c_void> = arguments
        .iter()
        .map(|argument| std::ptr::from_ref(argument).cast_mut().cast())
        .collect();
    // SAFETY: a pointer to each argument, which are 64-bit numbers that outlive the call.
    unsafe {
        sys::cuLaunchKernel(
            function,
            blocks,
            1,
            1,
            threads,
            1,
            1,
            0,
            stream,
            places.as_mut_ptr(),
            std::ptr::null_mut(),
        )
    }
}

#[test]
fn a_gated_copy_kernel_takes_the_time_of_the_box() {
    if !is_child() {
        let stage = Stage::new("kernels", &plain());
        assert_passed(&stage.child(
            "kernels::a_gated_copy_kernel_takes_the_time_of_the_box",
            true,
        ));
        return;
    }
    open();
    let module = load();
    let copy = function(module, c"tplens_copy").expect("there");
    let gate = function(module, c"tplens_gate").expect("there");
    assert_ne!(copy, gate);
    assert_eq!(function(module, c"tplens_copy"), Ok(copy));
    ok!(sys::cuFuncLoad(copy));
    let mut device = 0;
    ok!(sys::cuMemAlloc_v2(&mut device, BYTES));
    let mut host = std::ptr::null_mut();
    // Portable, mapped, write-combined.
    ok!(sys::cuMemHostAlloc(&mut host, BYTES, 7));
    let mut from = 0;
    ok!(sys::cuMemHostGetDevicePointer_v2(&mut from, host, 0));
    let mut words = std::ptr::null_mut();
    ok!(sys::cuMemHostAlloc(&mut words, 256, 3));
    let flag = words as u64;
    let answer = flag + 128;
    // SAFETY: the library has just allocated these bytes, zeroed.
    let bytes = unsafe { std::slice::from_raw_parts_mut(host.cast::<u8>(), BYTES) };
    bytes
        .iter_mut()
        .enumerate()
        .for_each(|(at, byte)| *byte = (at % 241) as u8);
    let mut stream = std::ptr::null_mut();
    ok!(sys::cuStreamCreate(&mut stream, 1));
    let mut events = [std::ptr::null_mut(); 2];
    for event in &mut events {
        ok!(sys::cuEventCreate(event, 0));
    }
    let held = launch(gate, 1, 1, stream, &[flag, answer, 2_000_000_000]);
    assert_eq!(held, sys::CUresult::CUDA_SUCCESS);
    ok!(sys::cuEventRecord(events[0], stream));
    let copied = launch(copy, 568, 512, stream, &[device, from, BYTES as u64 / 16]);
    assert_eq!(copied, sys::CUresult::CUDA_SUCCESS);
    ok!(sys::cuEventRecord(events[1], stream));
    // SAFETY: pinned memory of this test; the library looks at it in calls of this thread only.
    unsafe { words.cast::<u32>().write_volatile(1) };
    ok!(sys::cuStreamSynchronize(stream));
    let mut elapsed = 0.0_f32;
    ok!(sys::cuEventElapsedTime_v2(
        &mut elapsed,
        events[0],
        events[1]
    ));
    // 5 us + 10 MB / 20 GB/s = 0.505 ms, and nothing for the gate.
    assert!((elapsed - 0.505).abs() < 1e-5, "{elapsed}");
    // SAFETY: as above; the gate has ended.
    let gave_up = unsafe { (answer as *const u32).read_volatile() };
    assert_eq!(gave_up, 0);
    let mut back = vec![0_u8; BYTES];
    ok!(sys::cuMemcpyDtoHAsync_v2(
        back.as_mut_ptr().cast(),
        device,
        BYTES,
        stream
    ));
    assert!(
        back.iter()
            .enumerate()
            .all(|(at, byte)| *byte == (at % 241) as u8)
    );
}

#[test]
fn what_cannot_be_launched_is_refused() {
    if !is_child() {
        let stage = Stage::new("refused", &plain());
        assert_passed(&stage.child("kernels::what_cannot_be_launched_is_refused", true));
        return;
    }
    open();
    let module = load();
    assert_eq!(
        function(module, c"tplens_fill"),
        Err(sys::CUresult::CUDA_ERROR_NOT_FOUND)
    );
    let copy = function(module, c"tplens_copy").expect("there");
    let other = function(module, c"other").expect("there");
    let mut device = 0;
    ok!(sys::cuMemAlloc_v2(&mut device, 64));
    let good = [device, device, 4];
    let null = std::ptr::null_mut();
    let (invalid, unknown) = (
        sys::CUresult::CUDA_ERROR_INVALID_VALUE,
        sys::CUresult::CUDA_ERROR_NOT_SUPPORTED,
    );
    assert_eq!(launch(copy, 0, 32, null, &good), invalid);
    assert_eq!(launch(copy, 1, 1025, null, &good), invalid);
    // Code that the simulated machine cannot run, as it knows kernels by name.
    assert_eq!(launch(other, 1, 1, null, &good), unknown);
    let mut count = 0;
    ok!(sys::cuDeviceGetAttribute(
        &mut count,
        sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
        0
    ));
    assert_eq!(count, 142);
    let unmapped = Box::new(0_u64);
    let mut address = 0;
    // SAFETY: only the pointer's value is looked at.
    let code = unsafe {
        sys::cuMemHostGetDevicePointer_v2(
            &mut address,
            std::ptr::from_ref(&*unmapped).cast_mut().cast(),
            0,
        )
    };
    assert_eq!(code, invalid);
    ok!(sys::cuModuleUnload(module));
    assert_eq!(
        launch(copy, 1, 32, null, &good),
        sys::CUresult::CUDA_ERROR_INVALID_HANDLE
    );
    let module = load();
    let copy = function(module, c"tplens_copy").expect("there");
    // Memory of nobody: the device is lost, and says so from then on.
    let illegal = sys::CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;
    assert_eq!(launch(copy, 1, 32, null, &[device, 4096, 4]), illegal);
    // SAFETY: no arguments.
    assert_eq!(unsafe { sys::cuCtxSynchronize() }, illegal);
}

#[test]
fn a_device_without_kernels_takes_no_code() {
    if !is_child() {
        let mut described: BoxFile = plain();
        described.device[0].kernels = None;
        let stage = Stage::new("nokernels", &described);
        assert_passed(&stage.child("kernels::a_device_without_kernels_takes_no_code", true));
        return;
    }
    open();
    let mut module = std::ptr::null_mut();
    // SAFETY: the text ends in NUL.
    let code = unsafe { sys::cuModuleLoadData(&mut module, PTX.as_ptr().cast()) };
    assert_eq!(code, sys::CUresult::CUDA_ERROR_NOT_SUPPORTED);
}

//! The library under the CUDA bindings that tplens uses, unmodified: the test starts itself again with the library as
//! `libcuda.so.1` in its loader path. Expected times are worked out from figures that the test itself puts into the box.
#![expect(unsafe_code, reason = "calls the CUDA driver API")]

mod stage;

use boxfile::{BoxFile, Fault};
use cudarc::driver::{result, sys};
use stage::{BYTES, Stage, assert_passed, is_child, ok, plain};

#[test]
fn a_measurement_through_cudarc_gives_the_box_figures() {
    if !is_child() {
        let stage = Stage::new("measure", &plain());
        assert_passed(&stage.child("a_measurement_through_cudarc_gives_the_box_figures", true));
        return;
    }
    // SAFETY: only looks whether the library can be loaded.
    assert!(unsafe { sys::is_culib_present() });
    result::init().expect("initialises");
    assert_eq!(result::device::get_count().expect("count"), 4);
    let mut version = 0;
    ok!(sys::cuDriverGetVersion(&mut version));
    assert_eq!(version, 12080);
    let mut bus = [0; 16];
    ok!(sys::cuDeviceGetPCIBusId(bus.as_mut_ptr(), 16, 3));
    let bus: String = bus
        .iter()
        .take_while(|byte| **byte != 0)
        .map(|byte| *byte as u8 as char)
        .collect();
    assert_eq!(bus, "0000:E1:00.0");
    assert_eq!(result::device::get_name(0).expect("name"), "NVIDIA L40");

    let mut contexts = [std::ptr::null_mut(); 2];
    for (device, context) in (0..).zip(&mut contexts) {
        ok!(sys::cuDevicePrimaryCtxRetain(context, device));
    }
    let mut pointers = [0; 2];
    for (context, pointer) in contexts.iter().zip(&mut pointers) {
        ok!(sys::cuCtxSetCurrent(*context));
        ok!(sys::cuMemAlloc_v2(pointer, BYTES));
    }
    ok!(sys::cuCtxSetCurrent(contexts[0]));
    let mut host = std::ptr::null_mut();
    ok!(sys::cuMemHostAlloc(&mut host, BYTES, 0));
    // SAFETY: the library has just allocated these bytes, zeroed.
    let bytes = unsafe { std::slice::from_raw_parts_mut(host.cast::<u8>(), BYTES) };
    bytes
        .iter_mut()
        .enumerate()
        .for_each(|(at, byte)| *byte = (at % 251) as u8);

    let mut stream = std::ptr::null_mut();
    ok!(sys::cuStreamCreate(&mut stream, 1));
    let mut events = [std::ptr::null_mut(); 3];
    for event in &mut events {
        ok!(sys::cuEventCreate(event, 0));
    }
    ok!(sys::cuCtxEnablePeerAccess(contexts[1], 0));
    // SAFETY: the context is one of the library's.
    let twice = unsafe { sys::cuCtxEnablePeerAccess(contexts[1], 0) };
    assert_eq!(twice, sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    ok!(sys::cuEventRecord(events[0], stream));
    ok!(sys::cuMemcpyHtoDAsync_v2(pointers[0], host, BYTES, stream));
    ok!(sys::cuEventRecord(events[1], stream));
    ok!(sys::cuMemcpyPeerAsync(
        pointers[1],
        contexts[1],
        pointers[0],
        contexts[0],
        BYTES,
        stream
    ));
    ok!(sys::cuEventRecord(events[2], stream));
    ok!(sys::cuStreamSynchronize(stream));
    let mut elapsed = [0.0_f32; 2];
    ok!(sys::cuEventElapsedTime_v2(
        &mut elapsed[0],
        events[0],
        events[1]
    ));
    ok!(sys::cuEventElapsedTime_v2(
        &mut elapsed[1],
        events[1],
        events[2]
    ));
    // 2 us + 10 MB / 25 GB/s = 0.402 ms; 3 us + 10 MB / 20 GB/s = 0.503 ms.
    assert!(
        (elapsed[0] - 0.402).abs() < 1e-5 && (elapsed[1] - 0.503).abs() < 1e-5,
        "{elapsed:?}"
    );

    let mut back = vec![0_u8; BYTES];
    ok!(sys::cuMemcpyDtoHAsync_v2(
        back.as_mut_ptr().cast(),
        pointers[1],
        BYTES,
        stream
    ));
    assert!(
        back.iter()
            .enumerate()
            .all(|(at, byte)| *byte == (at % 251) as u8)
    );

    let ptx = c"// comment\n.version 6.4\n.target sm_75\n.visible .entry noop()\n{ ret; }";
    let mut module = std::ptr::null_mut();
    ok!(sys::cuModuleLoadData(&mut module, ptx.as_ptr().cast()));
    let mut function = std::ptr::null_mut();
    ok!(sys::cuModuleGetFunction(
        &mut function,
        module,
        c"noop".as_ptr()
    ));
    // SAFETY: the text ends in NUL.
    let bad = unsafe { sys::cuModuleLoadData(&mut module, c"not ptx".as_ptr().cast()) };
    assert_eq!(bad, sys::CUresult::CUDA_ERROR_INVALID_PTX);
    for pointer in pointers {
        ok!(sys::cuMemFree_v2(pointer));
    }
    ok!(sys::cuMemFreeHost(host));
    ok!(sys::cuStreamDestroy_v2(stream));
    ok!(sys::cuDevicePrimaryCtxRelease_v2(0));
}

#[test]
fn every_symbol_that_tplens_needs_is_exported() {
    if !is_child() {
        let stage = Stage::new("symbols", &plain());
        assert_passed(&stage.child("every_symbol_that_tplens_needs_is_exported", true));
        return;
    }
    let names = "cuInit cuDeviceGetUuid_v2 cuMemHostGetDevicePointer_v2 cuGraphLaunch cuGetErrorName tplens_soft_box \
        tplens_soft_enqueue";
    // SAFETY: the library is the one of this test.
    let library = unsafe { sys::culib() };
    for name in names.split_whitespace() {
        // SAFETY: looks the symbol up without calling it.
        let symbol = unsafe { library.get::<*const ()>(name.as_bytes()) };
        assert!(symbol.is_ok(), "{name} is missing");
    }
    // SAFETY: the marker is `extern "C" fn() -> *const c_char`.
    let marker =
        unsafe { library.get::<extern "C" fn() -> *const std::ffi::c_char>(b"tplens_soft_box") }
            .expect("marker");
    // SAFETY: the marker answers a text that ends in NUL and lives as long as the library.
    assert_eq!(unsafe { std::ffi::CStr::from_ptr(marker()) }, c"l40x4");
}

#[test]
fn without_a_box_there_is_no_device() {
    if !is_child() {
        let stage = Stage::new("nobox", &plain());
        assert_passed(&stage.child("without_a_box_there_is_no_device", false));
        return;
    }
    assert_eq!(
        result::init().expect_err("no device").0,
        sys::CUresult::CUDA_ERROR_NO_DEVICE
    );
}

#[test]
fn a_box_of_another_vendor_has_no_cuda_device() {
    if !is_child() {
        let stage = Stage::new("amd", &BoxFile::builtin("r9700-x8").expect("built in"));
        assert_passed(&stage.child("a_box_of_another_vendor_has_no_cuda_device", true));
        return;
    }
    assert_eq!(
        result::init().expect_err("no device").0,
        sys::CUresult::CUDA_ERROR_NO_DEVICE
    );
}

#[test]
fn injected_faults_come_as_codes() {
    if !is_child() {
        let mut described = plain();
        described.fault = vec![
            Fault::PeerDenied { pair: [0, 1] },
            Fault::DeviceLost {
                device: 0,
                after_copies: 0,
                off_the_bus: None,
            },
        ];
        let stage = Stage::new("faults", &described);
        assert_passed(&stage.child("injected_faults_come_as_codes", true));
        return;
    }
    result::init().expect("initialises");
    let mut context = std::ptr::null_mut();
    let mut other = std::ptr::null_mut();
    ok!(sys::cuDevicePrimaryCtxRetain(&mut other, 1));
    ok!(sys::cuDevicePrimaryCtxRetain(&mut context, 0));
    ok!(sys::cuCtxSetCurrent(context));
    let mut can = 1;
    ok!(sys::cuDeviceCanAccessPeer(&mut can, 0, 1));
    assert_eq!(can, 0);
    let mut pointer = 0;
    ok!(sys::cuMemAlloc_v2(&mut pointer, 64));
    let source = [1_u8; 64];
    // SAFETY: the context is the library's.
    let enabling = unsafe { sys::cuCtxEnablePeerAccess(other, 0) };
    assert_eq!(enabling, sys::CUresult::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    // SAFETY: the source outlives the call, which is refused.
    let copy = unsafe {
        sys::cuMemcpyHtoDAsync_v2(pointer, source.as_ptr().cast(), 64, std::ptr::null_mut())
    };
    assert_eq!(copy, sys::CUresult::CUDA_ERROR_LAUNCH_FAILED);
}

#[test]
fn a_hanging_init_can_only_be_killed() {
    if !is_child() {
        let mut described = plain();
        described.fault = vec![Fault::Hang {
            op: boxfile::HangOp::Init,
            device: None,
            pair: None,
            after_copies: 0,
        }];
        let stage = Stage::new("hang", &described);
        let mut command = stage.command("a_hanging_init_can_only_be_killed", true);
        let mut child = command
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("the child starts");
        // The child says "calling" right before the call; reading it needs no clock.
        let mut lines =
            std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().expect("piped")));
        assert!(
            lines.any(|line| line.is_ok_and(|line| line.contains("calling"))),
            "the child never called"
        );
        assert!(
            child.try_wait().expect("asked").is_none(),
            "the call returned"
        );
        child.kill().expect("killed");
        let status = child.wait().expect("waited");
        assert!(!status.success());
        return;
    }
    println!("calling");
    let _ = result::init();
    println!("returned");
}

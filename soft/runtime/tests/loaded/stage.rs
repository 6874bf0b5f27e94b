//! A box file and the library, for a test that runs as a child; and one call of the C API.

use boxfile::{BoxFile, Figure, KernelFigures};
use libloading::Library;
use std::ffi::{c_char, c_int, c_void};
use std::path::PathBuf;
use std::process::Command;

const CHILD: &str = "SOFT_RUNTIME_TEST_CHILD";

/// Bytes of the copies whose times are looked at.
pub(crate) const BYTES: usize = 10_000_000;

/// A handle or an address of the library.
pub(crate) type Pointer = *mut c_void;

/// Calls a function of the library: its name, then each argument with its C type. Answers what it returns, an `int`.
macro_rules! call {
    ($library:expr, $name:expr $(, $argument:expr => $kind:ty)* $(,)?) => {{
        let name: String = $name.to_owned();
        // SAFETY: hip_runtime_api.h and hiprtc.h declare functions of these names with these types.
        let function = unsafe {
            $library.get::<unsafe extern "C" fn($($kind),*) -> std::ffi::c_int>(name.as_bytes())
        };
        let function = function.unwrap_or_else(|error| panic!("{name}: {error}"));
        // SAFETY: pointers are to locals of the right type; handles come from the library.
        unsafe { function($($argument),*) }
    }};
}

/// The same for a call that must succeed.
macro_rules! ok {
    ($library:expr, $name:expr $(, $argument:expr => $kind:ty)* $(,)?) => {
        assert_eq!(call!($library, $name $(, $argument => $kind)*), 0, "{}", $name)
    };
}

pub(crate) use {call, ok};

/// Runs `body` in a child of this test with the library, on a box where one is given; in the parent, sees that it passed.
pub(crate) fn on_box(test: &str, described: Option<&BoxFile>, body: fn(&Library)) {
    let own = std::env::current_exe().expect("own path");
    let library = own
        .parent()
        .map(|deps| deps.join("libsoft_runtime.so"))
        .expect("a folder above");
    assert!(library.exists(), "{} was not built", library.display());
    if std::env::var_os(CHILD).is_some() {
        // SAFETY: the library's initialisers do nothing.
        let library = unsafe { Library::new(&library) }.expect("the library loads");
        return body(&library);
    }
    let file = box_file(test);
    let mut command = Command::new(own);
    command
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, "1")
        .env_remove("CUDA_VISIBLE_DEVICES")
        .env_remove("TPLENS_SOFT_BOX")
        .env_remove("TPLENS_SOFT_SYSFS");
    if let Some(described) = described {
        std::fs::write(&file, described.to_toml().expect("TOML")).expect("written");
        command.env("TPLENS_SOFT_BOX", &file);
    }
    let output = command.output().expect("the child starts");
    let _ = std::fs::remove_file(&file);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(said.contains("1 passed"), "the child ran no test: {said}");
}

fn box_file(test: &str) -> PathBuf {
    let name = format!(
        "soft-runtime-{}-{}.toml",
        test.replace(':', "-"),
        std::process::id()
    );
    std::env::temp_dir().join(name)
}

/// A built-in box with round figures and no noise.
pub(crate) fn plain(name: &str) -> BoxFile {
    let figure = |value| Figure::assumed(value, "test");
    let mut described = BoxFile::builtin(name).expect("built in");
    described.noise = None;
    described.driver_staging_fraction = figure(0.4);
    described.driver_staging_latency_us = None;
    for device in &mut described.device {
        device.h2d_pinned = figure(25.0);
        device.d2h_pinned = figure(20.0);
        device.h2d_pageable = figure(10.0);
        device.d2h_pageable = figure(5.0);
        device.copy_latency_us = figure(2.0);
        device.kernels = device.kernels.as_ref().map(|_| KernelFigures {
            h2d: figure(16.0),
            d2h: figure(8.0),
            local: figure(200.0),
            launch_us: figure(5.0),
            host_chase_ns: figure(1000.0),
            local_chase_ns: figure(300.0),
            fp32_tflops: None,
        });
    }
    let peers = described.peer_default.as_mut().expect("peers");
    peers.same_node = Some(figure(20.0));
    peers.latency_us = Some(figure(3.0));
    described
}

/// What a function that fills in a text of at most `room` bytes answers.
pub(crate) fn text_of(library: &Library, name: &str, device: c_int, room: c_int) -> String {
    let mut text = [1 as c_char; 256];
    ok!(library, name, text.as_mut_ptr() => *mut c_char, room => c_int, device => c_int);
    text.iter()
        .take_while(|byte| **byte != 0)
        .map(|byte| *byte as u8 as char)
        .collect()
}

/// A stream and as many events, by the vendor's prefix.
pub(crate) struct Clocked<'a> {
    library: &'a Library,
    prefix: &'static str,
    pub(crate) stream: Pointer,
    events: Vec<Pointer>,
}

impl<'a> Clocked<'a> {
    pub(crate) fn new(library: &'a Library, prefix: &'static str) -> Self {
        let mut stream = std::ptr::null_mut();
        ok!(library, format!("{prefix}StreamCreateWithFlags"), &raw mut stream => *mut Pointer, 1 => u32);
        Self {
            library,
            prefix,
            stream,
            events: Vec::new(),
        }
    }

    /// Records an event.
    pub(crate) fn mark(&mut self) {
        let mut event = std::ptr::null_mut();
        let name = |what| format!("{}{what}", self.prefix);
        ok!(self.library, name("EventCreateWithFlags"), &raw mut event => *mut Pointer, 0 => u32);
        ok!(self.library, name("EventRecord"), event => Pointer, self.stream => Pointer);
        self.events.push(event);
    }

    /// Waits for all, and answers the microseconds from each event to the next.
    pub(crate) fn microseconds(&self) -> Vec<f64> {
        let name = |what| format!("{}{what}", self.prefix);
        ok!(self.library, name("StreamSynchronize"), self.stream => Pointer);
        let between = |pair: &[Pointer]| {
            let mut elapsed = 0.0_f32;
            ok!(self.library, name("EventElapsedTime"),
                &raw mut elapsed => *mut f32, pair[0] => Pointer, pair[1] => Pointer);
            f64::from(elapsed) * 1000.0
        };
        self.events.windows(2).map(between).collect()
    }
}

/// Sees that times are those, to a hundredth of a microsecond (a float of milliseconds has 7 digits).
pub(crate) fn assert_microseconds(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    let close = |(found, expected): (&f64, &f64)| (found - expected).abs() < 0.01;
    assert!(
        found.iter().zip(expected).all(close),
        "{found:?} and not {expected:?}"
    );
}

/// Bytes that tell where they are.
pub(crate) fn numbered(bytes: &mut [u8]) {
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = (at % 251) as u8;
    }
}

/// The bytes at an address of host memory of the library.
pub(crate) fn bytes_at(pointer: Pointer, length: usize) -> &'static mut [u8] {
    // SAFETY: the library has allocated these bytes, zeroed; the tests free them last and use one such slice at a time.
    unsafe { std::slice::from_raw_parts_mut(pointer.cast(), length) }
}

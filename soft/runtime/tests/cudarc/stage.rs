//! The library on a stage of its own, and the test that starts itself again there.

use boxfile::{BoxFile, Figure, KernelFigures};
use std::path::PathBuf;
use std::process::{Command, Output};

const CHILD: &str = "SOFT_CUDARC_CHILD";
pub(crate) const BYTES: usize = 10_000_000;

/// A folder with the library under its vendor's name, and a box file; removed when dropped.
pub(crate) struct Stage(PathBuf);

impl Stage {
    pub(crate) fn new(name: &str, described: &BoxFile) -> Self {
        let folder = std::env::temp_dir().join(format!("soft-cuda-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("folder");
        let test = std::env::current_exe().expect("own path");
        let built = test
            .parent()
            .map(|deps| deps.join("libsoft_runtime.so"))
            .expect("a folder above");
        assert!(built.exists(), "{} was not built", built.display());
        std::os::unix::fs::symlink(&built, folder.join("libcuda.so.1")).expect("link");
        std::fs::write(folder.join("box.toml"), described.to_toml().expect("TOML"))
            .expect("written");
        Self(folder)
    }

    /// One of these tests again as a child with the library in its loader path.
    pub(crate) fn command(&self, test: &str, with_box: bool) -> Command {
        let mut command = Command::new(std::env::current_exe().expect("own path"));
        command
            .args(["--exact", test, "--nocapture"])
            .env(CHILD, "1")
            .env("LD_LIBRARY_PATH", &self.0);
        command
            .env_remove("CUDA_VISIBLE_DEVICES")
            .env_remove("TPLENS_SOFT_BOX")
            .env_remove("TPLENS_SOFT_SYSFS");
        if with_box {
            command.env("TPLENS_SOFT_BOX", self.0.join("box.toml"));
        }
        command
    }

    /// Runs it.
    pub(crate) fn child(&self, test: &str, with_box: bool) -> Output {
        self.command(test, with_box)
            .output()
            .expect("the child starts")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn assert_passed(output: &Output) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{}\n{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    assert!(
        text(&output.stdout).contains("1 passed"),
        "the child ran no test: {}",
        text(&output.stdout)
    );
}

pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// The L40 box with round figures and no noise.
pub(crate) fn plain() -> BoxFile {
    let mut described = BoxFile::builtin("l40x4").expect("built in");
    described.noise = None;
    for device in &mut described.device {
        device.h2d_pinned = Figure::assumed(25.0, "test");
        device.copy_latency_us = Figure::assumed(2.0, "test");
        device.kernels = Some(KernelFigures {
            h2d: Figure::assumed(20.0, "test"),
            d2h: Figure::assumed(16.0, "test"),
            local: Figure::assumed(50.0, "test"),
            launch_us: Figure::assumed(5.0, "test"),
            host_chase_ns: Figure::assumed(1000.0, "test"),
            local_chase_ns: Figure::assumed(400.0, "test"),
            fp32_tflops: None,
        });
    }
    let peers = described.peer_default.as_mut().expect("peers");
    peers.same_node = Some(Figure::assumed(20.0, "test"));
    peers.latency_us = Some(Figure::assumed(3.0, "test"));
    described
}

/// One call of the C API that must succeed.
macro_rules! ok {
    ($call:expr) => {{
        // SAFETY: pointers are to locals of the right type; handles come from the library.
        let code = unsafe { $call };
        assert_eq!(code, sys::CUresult::CUDA_SUCCESS, "{}", stringify!($call));
    }};
}

pub(crate) use ok;

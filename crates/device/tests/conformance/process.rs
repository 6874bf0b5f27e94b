//! Where the facts run: in this process, or in a child that has the soft libraries in its loader path.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use boxfile::BoxFile;
use device::cuda::Cuda;
use device::{Backend, TimeSource};

/// Set for a child, to the name of its box.
const CHILD: &str = "TPLENS_CONFORMANCE_BOX";
const SMALL: &str = include_str!("boxes/small.toml");

/// Runs `body` in a child with the CUDA driver of a described box; `test` is the name of the calling test.
pub(crate) fn on_box(test: &str, described: &BoxFile, body: impl FnOnce(&Cuda)) {
    with_library(test, described, || {
        let cuda = Cuda::open().unwrap();
        assert_eq!(
            cuda.driver().soft_box.as_deref(),
            Some(described.name.as_str()),
            "another driver was found"
        );
        assert_eq!(cuda.time_source(), TimeSource::VirtualClock);
        body(&cuda);
    });
}

/// The same with the small box of these tests and some `[[fault]]` tables.
pub(crate) fn on_small_box(test: &str, faults: &str, body: impl FnOnce(&Cuda)) {
    let described = BoxFile::from_toml(&format!("{SMALL}\n{faults}"), "small.toml").unwrap();
    on_box(test, &described, body);
}

/// Runs `body` in a child that finds the soft libraries, whether or not they have a device.
pub(crate) fn with_library(test: &str, described: &BoxFile, body: impl FnOnce()) {
    match std::env::var(CHILD) {
        Ok(name) if name == described.name => body(),
        // This child is for another box of the same test.
        Ok(_) => {}
        Err(_) => Stage::new(test, described).run(test, &described.name),
    }
}

/// The real driver with at least so many devices; where there is none, the skip is noted and nothing is returned.
pub(crate) fn real_cuda(test: &str, devices: usize) -> Option<Cuda> {
    let reason = match Cuda::open() {
        Ok(cuda) if cuda.devices().len() >= devices => return Some(cuda),
        Ok(cuda) => format!("{} device, {devices} needed", cuda.devices().len()),
        Err(error) => error.to_string(),
    };
    skip(test, &reason);
    None
}

/// Notes that a test could not run here.
pub(crate) fn skip(test: &str, reason: &str) {
    if let Some(log) = std::env::var_os("TPLENS_SKIP_LOG") {
        let mut log = OpenOptions::new()
            .append(true)
            .create(true)
            .open(log)
            .unwrap();
        writeln!(log, "{test}: {reason}").unwrap();
    }
}

/// A folder with a box file and its sysfs tree; removed when dropped.
pub(crate) struct Stage(PathBuf);

impl Stage {
    pub(crate) fn new(test: &str, described: &BoxFile) -> Self {
        let name = format!("device-{test}-{}-{}", described.name, std::process::id());
        let stage = Self(std::env::temp_dir().join(name));
        fs::create_dir_all(&stage.0).unwrap();
        fs::write(stage.0.join("box.toml"), described.to_toml().unwrap()).unwrap();
        boxfile::sysfs::write_tree(described, &stage.0.join("tree")).unwrap();
        stage
    }

    /// This program again, on the box.
    pub(crate) fn program(&self) -> Command {
        let mut program = Command::new(std::env::current_exe().unwrap());
        program
            .env("LD_LIBRARY_PATH", soft_libraries())
            .env("TPLENS_SOFT_BOX", self.0.join("box.toml"))
            .env("TPLENS_SOFT_SYSFS", self.0.join("tree"))
            .env_remove("TPLENS_SKIP_LOG")
            .env_remove("TPLENS_NCCL")
            .env_remove("CUDA_VISIBLE_DEVICES");
        program
    }

    /// Starts this program again for one test and passes its failure on.
    fn run(&self, test: &str, name: &str) {
        let output = self
            .program()
            .args(["--exact", test, "--nocapture"])
            .env(CHILD, name)
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "on box {name}:\n{out}\n{err}");
        assert!(out.contains("1 passed"), "the child ran no test:\n{out}");
        // A thread that panicked beside the test would not fail it.
        assert!(!err.contains("panicked"), "on box {name}:\n{err}");
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What stays in the folder of temporary files harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// `target/soft`, which stands beside the folder of the profile that this program was built for.
pub(crate) fn soft_libraries() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let soft = program.ancestors().nth(3).map(|above| above.join("soft"));
    let found = soft.filter(|soft| Path::is_file(&soft.join("libcuda.so.1")));
    found.expect("the soft libraries are missing: run `cargo xtask soft` and then the test again")
}

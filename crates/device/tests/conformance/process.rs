//! Where the facts run: in this process, or in a child that has the simulated libraries in its loader path.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use boxfile::BoxFile;
use device::{Backend, Built, TimeSource, Visit};

/// Set for a child, to the name of its box.
const CHILD: &str = "TPLENS_CONFORMANCE_BOX";
const SMALL: &str = include_str!("boxes/small.toml");

/// Facts that whichever backend is at hand must hold; [`facts`] makes them of generic functions.
pub(crate) trait Facts {
    /// Panics where the backend does not hold them.
    fn hold<B: Backend>(&self, backend: &B);
}

/// A list of generic functions as [`Facts`].
macro_rules! facts {
    ($($fact:path),+ $(,)?) => {{
        struct These;
        impl $crate::process::Facts for These {
            fn hold<B: device::Backend>(&self, backend: &B) {
                $($fact(backend);)+
            }
        }
        These
    }};
}
pub(crate) use facts;

/// The backend that drives the devices of a box, by their vendor's number on the bus; `None` for a box without any.
pub(crate) fn backend_of(described: &BoxFile) -> Option<Built> {
    let (vendor, _) = described.device.first()?.pci_id.split_once(':')?;
    let vendor = u16::from_str_radix(vendor, 16).unwrap();
    Some(Built::of_vendor(vendor).expect("a row of the registry drives the devices of every box"))
}

/// Every built-in box with devices.
pub(crate) fn boxes() -> Vec<BoxFile> {
    let boxes = boxfile::builtin_names()
        .into_iter()
        .map(|name| BoxFile::builtin(name).unwrap());
    boxes
        .filter(|described| !described.device.is_empty())
        .collect()
}

/// The small box of these tests with some `[[fault]]` tables, once for each vendor that has a built-in box.
pub(crate) fn small_boxes(faults: &str) -> Vec<BoxFile> {
    let mut seen = Vec::new();
    let mut small = Vec::new();
    for template in boxes() {
        let built = backend_of(&template).unwrap();
        if seen.contains(&built) {
            continue;
        }
        seen.push(built);
        let mut described =
            BoxFile::from_toml(&format!("{SMALL}\n{faults}"), "small.toml").unwrap();
        described.name = format!("small-{}", built.name());
        described.vendor = template.vendor;
        described.driver.clone_from(&template.driver);
        described.driver_api = template.driver_api;
        for device in &mut described.device {
            device.pci_id.clone_from(&template.device[0].pci_id);
            device.class.clone_from(&template.device[0].class);
        }
        described.validate(&described.name).unwrap();
        small.push(described);
    }
    small
}

/// Shows that facts hold on each of these boxes, each in a child with the driver of its vendor; `test` is the name of the
/// calling test.
pub(crate) fn on_boxes(test: &str, boxes: &[BoxFile], facts: &impl Facts) {
    assert!(!boxes.is_empty(), "no box was asked about");
    for described in boxes {
        with_libraries(test, described, || {
            let opened = OnBox { described, facts };
            backend_of(described).unwrap().visit(opened);
        });
    }
}

/// The facts for the backend of a box.
struct OnBox<'a, F> {
    described: &'a BoxFile,
    facts: &'a F,
}

impl<F: Facts> Visit for OnBox<'_, F> {
    type Output = ();

    fn visit<B: Backend>(self) {
        let backend = B::open().unwrap();
        let found = backend.driver().soft_box.as_deref();
        assert_eq!(
            found,
            Some(self.described.name.as_str()),
            "another driver was found"
        );
        assert_eq!(backend.time_source(), TimeSource::Simulated);
        self.facts.hold(&backend);
    }
}

/// Runs `body` in a child that finds the simulated libraries, whether or not they have a device.
pub(crate) fn with_libraries(test: &str, described: &BoxFile, body: impl FnOnce()) {
    match std::env::var(CHILD) {
        Ok(name) if name == described.name => body(),
        // This child is for another box of the same test.
        Ok(_) => {}
        Err(_) => Stage::new(test, described).run(test, &described.name),
    }
}

/// This program again.
pub(crate) fn again() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

/// Shows that facts hold for every real driver that has at least so many devices; where there is none, the skip is noted.
pub(crate) fn on_real(test: &str, devices: usize, facts: &impl Facts) {
    let vendors = Built::ALL
        .iter()
        .filter(|built| built.pci_vendor().is_some());
    let missing: Vec<Option<String>> = vendors
        .map(|built| built.visit(OnReal { devices, facts }).err())
        .collect();
    if missing.iter().all(Option::is_some) {
        let reasons: Vec<String> = missing.into_iter().flatten().collect();
        skip(test, &reasons.join("; "));
    }
}

/// The facts for a real driver.
struct OnReal<'a, F> {
    devices: usize,
    facts: &'a F,
}

impl<F: Facts> Visit for OnReal<'_, F> {
    type Output = Result<(), String>;

    fn visit<B: Backend>(self) -> Result<(), String> {
        match B::open() {
            Ok(backend) if backend.devices().len() >= self.devices => {
                self.facts.hold(&backend);
                Ok(())
            }
            Ok(backend) => {
                let (found, needed) = (backend.devices().len(), self.devices);
                Err(format!("{}: {found} device, {needed} needed", B::NAME))
            }
            Err(error) => Err(format!("{}: {error}", B::NAME)),
        }
    }
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
        let mut program = again();
        program
            .env("LD_LIBRARY_PATH", soft_libraries())
            .env("TPLENS_SOFT_BOX", self.0.join("box.toml"))
            .env("TPLENS_SOFT_SYSFS", self.0.join("tree"))
            .env_remove("TPLENS_SKIP_LOG")
            .env_remove("TPLENS_NCCL")
            .env_remove("TPLENS_RCCL")
            .env_remove("TPLENS_MCCL")
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
    found.expect(
        "the simulated libraries are missing: run `cargo xtask soft` and then the test again",
    )
}

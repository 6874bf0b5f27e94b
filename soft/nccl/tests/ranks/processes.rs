//! The processes of a test: a folder with both libraries under their vendors' names and a box, and one child for each rank.

use boxfile::{BoxFile, Collective, CollectiveKind, CollectiveLibrary, Figure, Origin};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

const CHILD: &str = "SOFT_NCCL_TEST_CHILD";
pub(crate) const RANK: &str = "SOFT_NCCL_TEST_RANK";
pub(crate) const RANKS: &str = "SOFT_NCCL_TEST_RANKS";
pub(crate) const ID: &str = "SOFT_NCCL_TEST_ID";

/// Whether this process is a rank that a test has started. One that waits for ever is ended, so that the test fails.
pub(crate) fn is_child() -> bool {
    let child = std::env::var_os(CHILD).is_some();
    if child {
        // SAFETY: alarm(2) takes a number of seconds; its signal ends the process.
        unsafe { libc::alarm(60) };
    }
    child
}

/// The libraries and the box of a test; removed when dropped.
pub(crate) struct Stage(PathBuf);

impl Stage {
    pub(crate) fn new(test: &str, described: &BoxFile) -> Self {
        let name = format!(
            "soft-nccl-{}-{}",
            test.replace("::", "-"),
            std::process::id()
        );
        let folder = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("folder");
        for (built, name) in [
            ("libsoft_cuda.so", "libcuda.so.1"),
            ("libsoft_nccl.so", "libnccl.so.2"),
        ] {
            let target = built_here(built);
            std::os::unix::fs::symlink(target, folder.join(name)).expect("link");
        }
        let text = described.to_toml().expect("TOML");
        BoxFile::from_toml(&text, test).unwrap_or_else(|error| panic!("{error}"));
        std::fs::write(folder.join("box.toml"), text).expect("written");
        Self(folder)
    }

    /// The soft libnccl, for the process that makes the id.
    pub(crate) fn nccl(&self) -> PathBuf {
        self.0.join("libnccl.so.2")
    }

    /// A rank of a test, which runs that test again as a child.
    pub(crate) fn command(&self, test: &str, id: &str, ranks: usize, rank: usize) -> Command {
        let mut command = Command::new(std::env::current_exe().expect("own path"));
        command.args(["--exact", test, "--nocapture"]);
        for (name, value) in [
            (CHILD, "1".to_owned()),
            (RANK, rank.to_string()),
            (RANKS, ranks.to_string()),
            (ID, id.to_owned()),
        ] {
            command.env(name, value);
        }
        command
            .env("LD_LIBRARY_PATH", &self.0)
            .env("TPLENS_SOFT_BOX", self.0.join("box.toml"))
            .env_remove("CUDA_VISIBLE_DEVICES")
            .env_remove("TPLENS_SOFT_SYSFS")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts every rank.
    pub(crate) fn start(&self, test: &str, ranks: usize) -> Vec<Child> {
        let id = crate::rank::new_id(&self.nccl());
        let start = |rank| self.command(test, &id, ranks, rank).spawn();
        (0..ranks)
            .map(|rank| start(rank).expect("the child starts"))
            .collect()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn built_here(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("own path");
    let built = test.parent().map(|deps| deps.join(name));
    let built = built.expect("a folder above");
    assert!(built.exists(), "{} was not built", built.display());
    built
}

/// Runs a test again in this many ranks, all of which must pass; what each printed.
pub(crate) fn pass(test: &str, described: &BoxFile, ranks: usize) -> Vec<String> {
    let stage = Stage::new(test, described);
    let children = stage.start(test, ranks);
    let outputs: Vec<Output> = children
        .into_iter()
        .map(|child| child.wait_with_output().expect("waited"))
        .collect();
    outputs.iter().map(passed).collect()
}

/// What a child printed that passed.
pub(crate) fn passed(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (printed, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{printed}\n{errors}");
    assert!(
        printed.contains("1 passed"),
        "the child ran no test: {printed}"
    );
    printed
}

/// What stands behind a word in a line that a child printed; the test harness may have put its own words before.
pub(crate) fn after(printed: &str, word: &str) -> String {
    let found = printed.lines().find_map(|line| line.split_once(word));
    let (_, rest) = found.unwrap_or_else(|| panic!("no {word:?} in {printed}"));
    rest.trim().to_owned()
}

/// A table of NCCL for this many ranks: 10 us to 1 KiB, 40 us at 64 KiB, and 25 us to launch a call.
pub(crate) fn table(kind: CollectiveKind, ranks: u32) -> Collective {
    Collective {
        library: CollectiveLibrary::Nccl,
        kind,
        ranks,
        points: vec![(1024, 10.0), (65536, 40.0)],
        launch_us: Some(Figure::assumed(25.0, "test")),
        origin: Origin::Assumed("test".to_owned()),
    }
}

/// The L40 box without noise, with tables of the test for 2 ranks.
pub(crate) fn plain() -> BoxFile {
    let mut described = BoxFile::builtin("l40x4").expect("built in");
    described.noise = None;
    described.collective = vec![
        table(CollectiveKind::AllReduce, 2),
        table(CollectiveKind::AllGather, 2),
    ];
    described
}

//! The processes of a test: a folder with a library and its driver under their vendors' names and a box, and one child for each
//! rank.

use crate::libraries::{ALL, Tested};
use boxfile::{BoxFile, Collective, CollectiveKind, Figure};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const CHILD: &str = "SOFT_CCL_TEST_CHILD";
const LIBRARY: &str = "SOFT_CCL_TEST_LIBRARY";
pub(crate) const RANK: &str = "SOFT_CCL_TEST_RANK";
pub(crate) const RANKS: &str = "SOFT_CCL_TEST_RANKS";
pub(crate) const ID: &str = "SOFT_CCL_TEST_ID";

/// Whether this process is a rank that a test has started. One that waits for ever is ended, so that the test fails.
pub(crate) fn is_child() -> bool {
    let child = std::env::var_os(CHILD).is_some();
    if child {
        // SAFETY: alarm(2) takes a number of seconds; its signal ends the process.
        unsafe { libc::alarm(60) };
    }
    child
}

/// The library that a child was started for.
pub(crate) fn tested() -> Tested {
    let built = std::env::var(LIBRARY).expect("set by the test");
    let row = ALL.into_iter().find(|row| row.built == built);
    row.expect("a library under test")
}

/// The libraries and the box of a test; removed when dropped.
pub(crate) struct Stage {
    folder: PathBuf,
    tested: Tested,
    /// Further variables of the children.
    pub(crate) variables: Vec<(String, String)>,
}

impl Stage {
    pub(crate) fn new(test: &str, tested: Tested, described: &BoxFile) -> Self {
        let name = format!(
            "{}-{}-{}",
            tested.built,
            test.replace("::", "-"),
            std::process::id()
        );
        let folder = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("folder");
        for (built, name) in [
            (tested.driver_built, tested.driver_file),
            (tested.built, tested.file),
        ] {
            let target = built_here(built);
            std::os::unix::fs::symlink(target, folder.join(name)).expect("link");
        }
        let text = described.to_toml().expect("TOML");
        BoxFile::from_toml(&text, test).unwrap_or_else(|error| panic!("{error}"));
        std::fs::write(folder.join("box.toml"), text).expect("written");
        Self {
            folder,
            tested,
            variables: Vec::new(),
        }
    }

    /// The folder, where a test may let its children write.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A rank of a test, which runs that test again as a child.
    pub(crate) fn command(&self, test: &str, id: &str, ranks: usize, rank: usize) -> Command {
        let mut command = Command::new(std::env::current_exe().expect("own path"));
        command.args(["--exact", test, "--nocapture"]);
        for (name, value) in [
            (CHILD, "1".to_owned()),
            (LIBRARY, self.tested.built.to_owned()),
            (RANK, rank.to_string()),
            (RANKS, ranks.to_string()),
            (ID, id.to_owned()),
        ] {
            command.env(name, value);
        }
        command
            .env("LD_LIBRARY_PATH", &self.folder)
            .env("TPLENS_SOFT_BOX", self.folder.join("box.toml"))
            .env_remove("CUDA_VISIBLE_DEVICES")
            .env_remove("TPLENS_SOFT_SYSFS")
            .envs(self.variables.iter().cloned())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts every rank.
    pub(crate) fn start(&self, test: &str, ranks: usize) -> Vec<Child> {
        let id = crate::rank::new_id(&self.folder.join(self.tested.file), self.tested.prefix);
        let start = |rank| self.command(test, &id, ranks, rank).spawn();
        (0..ranks)
            .map(|rank| start(rank).expect("the child starts"))
            .collect()
    }

    /// Runs a test again in this many ranks, all of which must pass; what each printed.
    pub(crate) fn pass(&self, test: &str, ranks: usize) -> Vec<String> {
        let children = self.start(test, ranks);
        let outputs: Vec<Output> = children
            .into_iter()
            .map(|child| child.wait_with_output().expect("waited"))
            .collect();
        outputs.iter().map(passed).collect()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn built_here(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("own path");
    let built = test.parent().map(|deps| deps.join(name));
    let built = built.expect("a folder above");
    assert!(built.exists(), "{} was not built", built.display());
    built
}

/// Runs a test again in this many ranks of a library.
pub(crate) fn pass(test: &str, tested: Tested, described: &BoxFile, ranks: usize) -> Vec<String> {
    Stage::new(test, tested, described).pass(test, ranks)
}

/// Runs a test again in two ranks of every library, on its plain box.
pub(crate) fn pass_all(test: &str) {
    for tested in ALL {
        pass(test, tested, &plain(tested), 2);
    }
}

/// What a child printed that passed.
fn passed(output: &Output) -> String {
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

/// A table for this many ranks: 10 us to 1 KiB, 40 us at 64 KiB, and 25 us to launch a call.
pub(crate) fn table(tested: Tested, kind: CollectiveKind, ranks: u32) -> Collective {
    Collective {
        library: tested.tables,
        kind,
        ranks,
        protocol: None,
        transport: None,
        points: vec![(1024, 10.0), (65536, 40.0)],
        launch_us: Some(Figure::assumed(25.0, "test")),
        published: None,
        assumed: Some("test".to_owned()),
    }
}

/// A box of the library's vendor without noise and faults, with tables of the test for every operation of this many ranks.
pub(crate) fn of_ranks(tested: Tested, ranks: u32) -> BoxFile {
    use CollectiveKind::{AllGather, AllReduce, ReduceScatter};
    let mut described = BoxFile::builtin(tested.in_box).expect("built in");
    described.noise = None;
    described.fault = Vec::new();
    let kinds = [AllReduce, AllGather, ReduceScatter];
    described.collective = kinds.map(|kind| table(tested, kind, ranks)).to_vec();
    described
}

/// The same for 2 ranks.
pub(crate) fn plain(tested: Tested) -> BoxFile {
    of_ranks(tested, 2)
}

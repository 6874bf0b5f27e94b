//! The shim as a program loads it, before a library that this test writes and compiles: no GPU driver is in these processes.
//!
//! What is asked of the environment is read once, so each test runs itself again as a child and looks at what that says.
#![expect(
    unsafe_code,
    reason = "calls functions of a library whose source stands here"
)]

use libloading::Library;
use std::ffi::{CStr, c_char, c_int};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Names without prefix, of the list that the shim is made of.
const NAMES: &[&str] = shimcore::names! { nccl list! { } };

/// What libtorch_cuda.so of torch 2.13.0+cu130 takes from the library (`nm -D --undefined-only`), as far as it is not in the next.
const TORCH: &str = "AllGather AllReduce AlltoAll Bcast Broadcast CommAbort CommCount CommDeregister CommDestroy CommFinalize \
    CommGetAsyncError CommInitAll CommInitRank CommInitRankConfig CommInitRankScalable CommMemStats CommRegister CommResume \
    CommShrink CommSplit CommSuspend CommUserRank CommWindowDeregister CommWindowRegister DevCommCreate DevCommDestroy \
    GetErrorString GetLastError GetLsaMultimemDevicePointer GetPeerDevicePointer GetUniqueId GetVersion GroupEnd \
    GroupSimulateEnd GroupStart MemAlloc MemFree PutSignal Recv RedOpCreatePreMulSum RedOpDestroy Reduce ReduceScatter Send \
    Signal WaitSignal";

/// What the wrappers of vLLM and SGLang (pynccl_wrapper.py) and their allocators look up besides.
const ENGINES: &str = "CommQueryProperties MemAlloc MemFree CommWindowRegister CommWindowDeregister GetVersion GetUniqueId";

/// Set in a child.
const CHILD: &str = "SHIM_TEST_CHILD";

/// A call with eight words.
type Words = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize, usize, usize) -> usize;
type Text = unsafe extern "C" fn(usize) -> *const c_char;

/// Runs the test again with variables, or answers nothing where this is that run.
fn again(test: &str, variables: &[(&str, &str)]) -> Option<Output> {
    if std::env::var_os(CHILD).is_some() {
        return None;
    }
    let mut command = Command::new(std::env::current_exe().expect("own path"));
    command
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, "1");
    for name in ["US", "LIBRARY", "LOG"] {
        command.env_remove(format!("TPLENS_DELAY_{name}"));
    }
    let output = command.envs(variables.iter().copied()).output();
    let output = output.expect("the child starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    Some(output)
}

/// The shim as it was built with this test.
fn shim_file() -> PathBuf {
    let test = std::env::current_exe().expect("own path");
    test.parent().expect("a folder").join("libshim_nccl.so")
}

fn shim() -> Library {
    // SAFETY: the shim has no constructors that do anything.
    unsafe { Library::new(shim_file()) }.expect("the shim loads")
}

/// Calls a function of the shim with the words 1 to 8.
fn call(shim: &Library, name: &str) -> usize {
    // SAFETY: the functions of the library below take any words, and those of the shim that answer for it take none.
    let function = unsafe { shim.get::<Words>(name) };
    let function = function.unwrap_or_else(|error| panic!("{error}"));
    // SAFETY: as above.
    unsafe { function(1, 2, 3, 4, 5, 6, 7, 8) }
}

/// `ncclResult_t` is an int.
fn result(shim: &Library, name: &str) -> c_int {
    call(shim, name) as c_int
}

fn text(shim: &Library, name: &str) -> String {
    // SAFETY: nccl.h: `const char *ncclGetLastError(ncclComm_t)`, and the text of a code.
    let function = unsafe { shim.get::<Text>(name) }.expect("exported");
    // SAFETY: as above.
    let text = unsafe { function(0) };
    // SAFETY: not null here: the shim and the library below answer constants that end in NUL.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_string_lossy().into_owned()
}

/// A folder with a library that has these functions, removed when dropped.
struct Real(PathBuf);

impl Real {
    /// The function at place `i` answers 1000 i and the sum of its eight words, each times its number.
    fn with(test: &str, names: &[String]) -> Self {
        let folder = std::env::temp_dir().join(format!("shim-nccl-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut source = String::from(
            "#[unsafe(no_mangle)] pub unsafe extern \"C\" fn ncclGetVersion(v: *mut i32) -> i32 { unsafe { *v = 23203 }; 0 }\n\
             #[unsafe(no_mangle)] pub extern \"C\" fn ncclGetLastError(_: usize) -> *const u8 { c\"real\".as_ptr().cast() }\n",
        );
        for (at, name) in names.iter().enumerate() {
            source.push_str(&format!(
                "#[unsafe(no_mangle)] pub extern \"C\" fn {name}(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize, \
                 g: usize, h: usize) -> usize {{ {at}000 + a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h }}\n"
            ));
        }
        let real = Self(folder);
        std::fs::write(real.0.join("real.rs"), source).expect("written");
        let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let made = Command::new(compiler)
            .args(["--edition", "2024", "--crate-type", "cdylib", "-o"])
            .arg(real.file())
            .arg(real.0.join("real.rs"))
            .status();
        assert!(made.expect("rustc starts").success());
        real
    }

    fn file(&self) -> PathBuf {
        self.0.join("libnccl.so.2")
    }

    fn path(&self) -> String {
        self.file().to_str().expect("text").to_owned()
    }

    fn log(&self) -> PathBuf {
        self.0.join("log.jsonl")
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn all_names() -> Vec<String> {
    let own = ["GetVersion", "GetLastError"];
    let names = NAMES.iter().filter(|name| !own.contains(name));
    names
        .flat_map(|name| [format!("nccl{name}"), format!("pnccl{name}")])
        .collect()
}

fn last_line(log: &Path) -> String {
    let text = std::fs::read_to_string(log).expect("a log");
    text.lines().last().expect("a line").to_owned()
}

#[test]
fn every_name_reaches_the_real_library_with_all_its_arguments() {
    let names = all_names();
    // 98 names, each with its profiling name, less the two above.
    assert!(names.len() > 180, "{}", names.len());
    if std::env::var_os(CHILD).is_none() {
        let real = Real::with("names", &names);
        let variables = [("TPLENS_DELAY_LIBRARY", real.path())];
        let variables = variables.each_ref().map(|row| (row.0, row.1.as_str()));
        let test = "every_name_reaches_the_real_library_with_all_its_arguments";
        let output = again(test, &variables).expect("the parent");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("tplens delay shim"), "{said}");
        return;
    }
    let shim = shim();
    for (at, name) in names.iter().enumerate() {
        // 1 + 4 + 9 + 16 + 25 + 36 + 49 + 64 = 204. The second call goes another way than the first.
        assert_eq!(call(&shim, name), at * 1000 + 204, "{name}");
        assert_eq!(call(&shim, name), at * 1000 + 204, "{name}");
    }
    assert_eq!(text(&shim, "ncclGetLastError"), "real");
}

#[test]
fn what_torch_and_the_engines_look_up_is_there() {
    let shim = shim();
    for name in TORCH.split_whitespace().chain(ENGINES.split_whitespace()) {
        // SAFETY: the function is not called.
        let found = unsafe { shim.get::<Words>(format!("nccl{name}")) };
        assert!(found.is_ok(), "{name}");
    }
}

#[test]
fn only_all_reduces_are_delayed_and_the_log_counts_it() {
    let test = "only_all_reduces_are_delayed_and_the_log_counts_it";
    if std::env::var_os(CHILD).is_none() {
        let names = ["ncclAllReduce", "ncclAllGather"].map(str::to_owned);
        let real = Real::with("counts", &names);
        let log = real.log().to_str().expect("text").to_owned();
        let variables = [
            ("TPLENS_DELAY_LIBRARY", real.path()),
            ("TPLENS_DELAY_LOG", log),
            ("TPLENS_DELAY_US", "2000".to_owned()),
        ];
        let variables = variables.each_ref().map(|row| (row.0, row.1.as_str()));
        again(test, &variables).expect("the parent");
        let line = last_line(&real.log());
        for part in [
            r#""at":"exit""#,
            r#""calls":3,"calls_captured":0,"calls_refused":0,"delay_us":2000.0"#,
        ] {
            assert!(line.contains(part), "no {part} in {line}");
        }
        return;
    }
    let shim = shim();
    let begin = std::time::Instant::now();
    for _ in 0..3 {
        assert_eq!(call(&shim, "ncclAllReduce"), 204);
    }
    // A thread that spins leaves after the time, never before: 3 x 2 ms.
    assert!(begin.elapsed().as_micros() >= 6000);
    for _ in 0..2 {
        assert_eq!(call(&shim, "ncclAllGather"), 1204);
    }
}

#[test]
fn a_delay_that_cannot_be_read_fails_the_call_and_is_said() {
    let test = "a_delay_that_cannot_be_read_fails_the_call_and_is_said";
    if std::env::var_os(CHILD).is_none() {
        let real = Real::with("refuses", &["ncclAllReduce".to_owned()]);
        let variables = [
            ("TPLENS_DELAY_LIBRARY", real.path()),
            ("TPLENS_DELAY_US", "20us".to_owned()),
        ];
        let variables = variables.each_ref().map(|row| (row.0, row.1.as_str()));
        let output = again(test, &variables).expect("the parent");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("TPLENS_DELAY_US is \"20us\""), "{said}");
        return;
    }
    assert_eq!(result(&shim(), "ncclAllReduce"), 3);
}

#[test]
fn a_shim_does_not_forward_to_a_shim() {
    let test = "a_shim_does_not_forward_to_a_shim";
    if std::env::var_os(CHILD).is_none() {
        let own = shim_file().to_str().expect("text").to_owned();
        let output = again(test, &[("TPLENS_DELAY_LIBRARY", &own)]).expect("the parent");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("is a delay shim itself"), "{said}");
        return;
    }
    assert_eq!(result(&shim(), "ncclCommCount"), 3);
}

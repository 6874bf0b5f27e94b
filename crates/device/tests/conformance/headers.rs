//! What is declared here of cuda.h, nccl.h and nvml.h, against those headers: a C compiler reads each declaration beside the header's own,
//! with the sizes and the numbers that are used.
//!
//! `TPLENS_HEADERS` names a folder of Python packages that has NVIDIA's: `pip install --target FOLDER nvidia-cuda-runtime-cu12
//! nvidia-nccl-cu12 nvidia-nvml-dev-cu12`. Without it, or without `cc`, the test is a counted skip.
#![expect(clippy::unwrap_used, reason = "facts are tests")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::skip;

const PACKAGES: &str = "TPLENS_HEADERS";
/// The functions of cuda.h that are called, as C declares them; of addresses of memory the table has pointers.
const CUDA: &str = include_str!("cuda_functions.h");
const TABLE: &str = include_str!("../../src/vendors.rs");
const CCL: &str = include_str!("../../src/ccl/symbols/ffi.rs");

/// A type of the declarations here, as C spells it.
fn c_type(text: &str) -> String {
    let text = text.trim();
    if let Some(of) = text.strip_prefix("*mut ") {
        return format!("{} *", c_type(of));
    }
    if let Some(of) = text.strip_prefix("*const ") {
        return format!("{} const *", c_type(of));
    }
    match text {
        "c_int" => "int",
        "c_uint" | "u32" => "unsigned int",
        "c_char" => "char",
        "c_void" => "void",
        "usize" => "size_t",
        "Code" => "ncclResult_t",
        "Comm" => "ncclComm_t",
        "Id" => "ncclUniqueId",
        "Stream" => "cudaStream_t",
        other => other,
    }
    .to_owned()
}

/// The names of the CUDA driver's functions in the vendor's table that differ from those of a runtime.
fn named() -> impl Iterator<Item = &'static str> {
    let (_, table) = TABLE.split_once("names: Names {").unwrap();
    let (table, _) = table.split_once("..names!(\"cu\")").unwrap();
    table.split('"').filter(|word| word.starts_with("cu"))
}

/// Declarations of the collective library's functions, one a line in the table.
fn nccl() -> Vec<String> {
    let table = CCL.split_once("symbols! {").unwrap().1;
    let function = |line: &str| {
        let (suffix, rest) = line.split_once(": \"")?.1.split_once("\" => ")?;
        if rest == "OfComm;" {
            return Some(format!("ncclResult_t nccl{suffix}(ncclComm_t);"));
        }
        let (types, answer) = rest.split_once("fn(")?.1.split_once(") -> ")?;
        let types: Vec<String> = types.split(", ").map(c_type).collect();
        let answer = c_type(answer.strip_suffix(';')?);
        Some(format!("{answer} nccl{suffix}({});", types.join(", ")))
    };
    table.lines().filter_map(function).collect()
}

/// Compiles declarations and checks behind headers; the compiler's words where they do not agree.
fn agrees(folder: &Path, name: &str, includes: &[PathBuf], lines: &[String]) -> Result<(), String> {
    let file = folder.join(format!("{name}.c"));
    fs::write(&file, lines.join("\n") + "\n").unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-fsyntax-only", "-Wall", "-Werror"]);
    for include in includes {
        cc.arg("-isystem").arg(include);
    }
    let output = cc.arg(&file).output().unwrap();
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

fn is(what: &str, value: u64) -> String {
    format!(
        "_Static_assert(({what}) == {value}, \"{}\");",
        what.replace('"', "")
    )
}

#[test]
fn declarations_sizes_and_numbers_are_those_of_the_vendors_headers() {
    let test = "headers::declarations_sizes_and_numbers_are_those_of_the_vendors_headers";
    let Some(packages) = std::env::var_os(PACKAGES).map(PathBuf::from) else {
        return skip(
            test,
            &format!("{PACKAGES} names no folder with NVIDIA's packages"),
        );
    };
    if Command::new("cc").arg("--version").output().is_err() {
        return skip(test, "there is no C compiler");
    }
    let folder = std::env::temp_dir().join(format!("device-headers-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    // Of the runtime nccl.h needs the stream; its own headers need the compiler's.
    fs::write(
        folder.join("cuda_runtime.h"),
        "typedef struct CUstream_st *cudaStream_t;\ntypedef struct CUevent_st *cudaEvent_t;\n",
    )
    .unwrap();
    for empty in ["cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h"] {
        fs::write(folder.join(empty), "").unwrap();
    }
    let include = |package: &str| packages.join("nvidia").join(package).join("include");
    let functions: Vec<String> = CUDA.lines().map(str::to_owned).collect();
    let calls = nccl();
    for name in named() {
        assert!(CUDA.contains(&format!(" {name}(")), "{name}");
    }
    assert!(
        functions.len() > 40 && calls.len() > 8,
        "{functions:?} {calls:?}"
    );
    let head = |header: &str| {
        vec![
            "#include <stddef.h>".to_owned(),
            format!("#include <{header}>"),
        ]
    };
    let of_cuda = [
        head("cuda.h"),
        functions.clone(),
        vec![
            is("sizeof(CUdevice)", 4),
            is("sizeof(CUdeviceptr)", 8),
            is("sizeof(CUuuid)", 16),
            is("CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT", 16),
            is("CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE", 38),
            is("CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT", 40),
            is("CU_STREAM_CAPTURE_MODE_THREAD_LOCAL", 1),
            is("CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP", 3),
            is("CUDA_ERROR_NOT_FOUND", 500),
            is("CUDA_ERROR_SYSTEM_NOT_READY", 802),
        ],
    ]
    .concat();
    let of_nccl = [
        head("nccl.h"),
        calls.clone(),
        vec![
            is("sizeof(ncclUniqueId)", 128),
            is("ncclInProgress", 7),
            is("ncclSum", 0),
            is("ncclFloat16", 6),
            is("ncclFloat32", 7),
            is("ncclBfloat16", 9),
        ],
    ]
    .concat();
    let of_nvml = [
        head("nvml.h"),
        vec![
            is("sizeof(nvmlMarginTemperature_v1_t)", 8),
            is("sizeof(nvmlGpuFabricInfo_t)", 28),
            is("offsetof(nvmlGpuFabricInfo_t, state)", 24),
            is("sizeof(nvmlMemory_v2_t)", 40),
            is("offsetof(nvmlMemory_v2_t, reserved)", 16),
            is("NVML_GPU_FABRIC_STATE_NOT_STARTED", 1),
            is("NVML_GPU_FABRIC_STATE_COMPLETED", 3),
            is("NVML_NVLINK_MAX_LINKS", 18),
        ],
    ]
    .concat();
    let mut differ = String::new();
    for (name, package, lines) in [
        ("cuda", "cuda_runtime", of_cuda),
        ("nccl", "nccl", of_nccl),
        ("nvml", "nvml_dev", of_nvml),
    ] {
        let includes = [folder.clone(), include(package)];
        if let Err(words) = agrees(&folder, name, &includes, &lines) {
            write!(differ, "{name}: {words}").unwrap();
        }
    }
    fs::remove_dir_all(&folder).unwrap();
    assert!(differ.is_empty(), "{differ}");
    shown(&format!(
        "{} functions of cuda.h, {} of nccl.h",
        functions.len(),
        calls.len()
    ));
}

/// Shows a figure to whoever runs a test with `--nocapture`.
#[expect(clippy::print_stderr, reason = "a test's figures, shown on demand")]
fn shown(words: &str) {
    eprintln!("{words}");
}

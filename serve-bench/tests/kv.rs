//! `tplens kv` over the backends of this machine, and between two processes.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::io::{BufRead as _, BufReader};
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::study::common::skipped;

fn output(more: &[&str]) -> Output {
    built::named("tplens")
        .args(["kv", "--tokens=16,256", "--iters=3", "--json=-"])
        .args(more)
        .output()
        .unwrap()
}

fn measured(more: &[&str]) -> Value {
    let output = output(more);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Qwen3-30B-A3B in bf16 at TP8: a rank holds one of 4 heads, 48 layers * 2 * 128 * 2 bytes are 24,576 a token; a piece is 16 tokens of
/// keys or of values of a layer, 4,096 bytes.
fn check(report: &Value) {
    assert_eq!(report["is_right"], true);
    let lines = report["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 4);
    for (line, tokens) in lines.iter().zip([16, 16, 256, 256]) {
        assert_eq!(line["bytes"], 24_576 * tokens);
        assert_eq!(line["piece_bytes"], 4096);
        assert_eq!(line["pieces"], tokens / 16 * 96);
        assert_eq!(line["n"], 3);
        assert!(line["median_ms"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn content_arrives_over_tcp_and_shared_memory_in_the_models_own_pieces() {
    for backend in ["--backend=tcp", "--backend=shm"] {
        check(&measured(&[backend]));
    }
}

#[test]
fn content_arrives_by_nixl_where_it_is_installed() {
    let output = output(&["--backend=nixl"]);
    if output.status.code() == Some(3) {
        return skipped(String::from_utf8_lossy(&output.stderr).trim_end());
    }
    check(&serde_json::from_slice(&output.stdout).unwrap());
}

#[test]
fn a_nixl_that_is_not_there_or_is_another_library_is_inconclusive() {
    // The C library loads, and has no function of NIXL's.
    for library in ["/nowhere/libnixl_capi.so", "libc.so.6"] {
        let output = output(&["--backend=nixl", "--nixl", library]);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
    }
}

#[test]
fn the_other_end_may_be_another_process() {
    let mut listener = built::named("tplens")
        .args(["kv", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(listener.stdout.take().unwrap())
        .read_line(&mut first)
        .unwrap();
    let peer = first.trim_end().strip_prefix("listening on ").unwrap();
    check(&measured(&["--peer", peer]));
    listener.kill().unwrap();
    listener.wait().unwrap();
}

#[test]
fn what_another_tool_timed_is_shown() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../crates/import/tests/fixtures/transfers"
    );
    let file = format!("{folder}/ib_write_bw-gbits.txt");
    let run = |words: &[&str]| {
        let output = built::named("tplens").args(words).arg(&file).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let figures: Value = serde_json::from_str(&run(&["kv", "--json=-", "--from"])).unwrap();
    assert_eq!(figures["rows"][4]["bytes"], 1_048_576.0);
    // 391.8 Gbit/s are 98% of 400.
    let shown = run(&["show"]);
    assert!(
        shown.contains("98%") && shown.contains("--kv-link"),
        "{shown}"
    );
}

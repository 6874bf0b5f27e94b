//! `tplens kv` over the backends of this machine, and between two processes.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::study::common::{Scratch, skipped};

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

/// Writes a tool that keeps its words in a file and then does this.
fn stand_in(folder: &Scratch, name: &str, does: &str) {
    let words = folder.join("words");
    let script = format!("#!/bin/sh\necho \"$@\" >> '{}'\n{does}\n", words.display());
    let file = folder.join(name);
    std::fs::write(&file, script).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// What `tplens kv` does with a tool of this folder, and the words of each of the tool's runs.
fn with_tool(folder: &Scratch, name: &str, more: &[&str]) -> (Output, Vec<String>) {
    let path = format!("{}:/usr/bin:/bin", folder.join("").display());
    let output = built::named("tplens")
        .args(["kv", "--tokens=16,4096", "--backend", name])
        .args(more)
        .env("PATH", path)
        .current_dir(folder.join(""))
        .output()
        .unwrap();
    let words = std::fs::read_to_string(folder.join("words")).unwrap_or_default();
    (output, words.lines().map(str::to_owned).collect())
}

/// 4,096 tokens are 24,576 pieces of 4,096 bytes, or 1,536 of 16 blocks, or 96 of 256.
#[test]
fn ib_write_bw_is_started_at_both_ends_with_the_models_pieces() {
    let folder = Scratch::new();
    let row = "while [ $# -gt 0 ]; do case $1 in -s) s=$2 ;; -n) n=$2 ;; esac; shift; done\n\
        echo ' #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]'\n\
        echo \" $s $n 200.00 160.00 0.1\"";
    stand_in(&folder, "ib_write_bw", row);
    let runs = ["-s 4096 -n 10000", "-s 65536 -n 1536", "-s 1048576 -n 100"];
    let own = ["--", "-d", "mlx5_0"];
    let (listened, words) = with_tool(
        &folder,
        "ib_write_bw",
        &[&["--listen", "0.0.0.0:18515"], &own[..]].concat(),
    );
    assert_eq!(listened.status.code(), Some(0), "{listened:?}");
    let begin = "-F --report_gbits -p 18515";
    assert_eq!(words, runs.map(|run| format!("{begin} {run} -d mlx5_0")));

    let out = ["--json=-", "--out=kept", "--peer", "10.0.0.2:18515"];
    let (measured, words) = with_tool(&folder, "ib_write_bw", &[&out[..], &own[..]].concat());
    assert_eq!(measured.status.code(), Some(0), "{measured:?}");
    assert_eq!(
        words[3..],
        runs.map(|run| format!("10.0.0.2 {begin} {run} -d mlx5_0"))
    );
    let figures: Value = serde_json::from_slice(&measured.stdout).unwrap();
    assert_eq!(figures["rows"].as_array().unwrap().len(), 3);
    // 160 Gbit/s are 20 GB/s: 4,096 bytes take 204.8 ns.
    assert_eq!(figures["rows"][0]["seconds"], 204.8e-9);
    let kept = folder.join("kept/ib_write_bw.txt");
    assert_eq!(
        std::fs::read_to_string(kept).unwrap().matches('$').count(),
        3
    );
}

#[test]
fn ucx_perftest_and_transfer_engine_bench_have_words_of_their_own() {
    let folder = Scratch::new();
    let last = "echo 'Final: 1000 0.272 0.000 25.000 inf 40000.00 0 40000'";
    stand_in(&folder, "ucx_perftest", last);
    let (listened, _) = with_tool(&folder, "ucx_perftest", &["--listen=0.0.0.0:13337"]);
    assert_eq!(listened.status.code(), Some(0), "{listened:?}");
    let (measured, words) = with_tool(&folder, "ucx_perftest", &["--peer=node2:13337"]);
    assert_eq!(measured.status.code(), Some(0), "{measured:?}");
    assert_eq!(words[..4], ["-p 13337"; 4]);
    let tests = [
        "ucp_put_bw -s 4096 -n 10000 -w 1000",
        "ucp_put_bw -s 65536 -n 1536 -w 153",
        "ucp_put_bw -s 1048576 -n 100 -w 10",
        "ucp_get -s 4096 -n 10000 -w 1000",
    ];
    assert_eq!(
        words[4..],
        tests.map(|test| format!("node2 -p 13337 -t {test}"))
    );

    let folder = Scratch::new();
    let name = "transfer_engine_bench";
    let last =
        "echo 'x] Test completed: duration 2.00, batch count 500, throughput 25.17 GB/s' >&2";
    stand_in(&folder, name, last);
    let (listened, _) = with_tool(&folder, name, &["--listen=10.0.0.2:17001"]);
    assert_eq!(listened.status.code(), Some(0), "{listened:?}");
    let more = ["--json=-", "--peer=10.0.0.2:16706", "--", "-protocol=tcp"];
    let (measured, words) = with_tool(&folder, name, &more);
    assert_eq!(measured.status.code(), Some(0), "{measured:?}");
    let p2p = "-metadata_server=P2PHANDSHAKE";
    let target =
        format!("-mode=target {p2p} -local_server_name=10.0.0.2:17001 -auto_discovery=true");
    assert_eq!(words[0], target);
    let sizes = "-block_size=4096 -batch_size=24576 -threads=1 -duration=2 -protocol=tcp";
    let begin = format!("-mode=initiator {p2p} -segment_id=10.0.0.2:16706 -operation");
    assert_eq!(
        words[3..],
        ["read", "write"].map(|way| format!("{begin}={way} {sizes}"))
    );
}

#[test]
fn a_tool_that_is_missing_is_named_with_its_package_and_one_that_fails_is_quoted() {
    let folder = Scratch::new();
    let peer = ["--peer=127.0.0.1:1"];
    let (missing, _) = with_tool(&folder, "transfer_engine_bench", &peer);
    let words = String::from_utf8_lossy(&missing.stderr);
    assert_eq!(missing.status.code(), Some(2), "{words}");
    assert!(words.contains("mooncake-transfer-engine"), "{words}");
    stand_in(&folder, "ib_write_bw", "echo 'no IB devices' >&2; exit 1");
    let (failed, _) = with_tool(&folder, "ib_write_bw", &peer);
    let words = String::from_utf8_lossy(&failed.stderr);
    assert_eq!(failed.status.code(), Some(3), "{words}");
    assert!(words.contains("no IB devices"), "{words}");
    assert_eq!(words.matches("error: ").count(), 1, "{words}");
    let (failed, _) = with_tool(&folder, "ib_write_bw", &["--listen=0.0.0.0:1"]);
    assert_eq!(failed.status.code(), Some(3));
}

/// A limit on the size of files fails a write as a full disk does.
#[test]
fn a_tool_whose_output_the_disk_does_not_take_is_a_failure_of_the_program() {
    let folder = Scratch::new();
    stand_in(&folder, "ib_write_bw", "head -c 65536 /dev/zero || exit 1");
    let limited = "trap '' XFSZ; ulimit -f 1; PATH=\"$1:$PATH\" \"$0\" kv --backend=ib_write_bw --peer=::1:1 --out=\"$1\"";
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-c", limited])
        .arg(built::named("tplens").get_program());
    let failed = shell.arg(folder.join("")).output().unwrap();
    assert_eq!(failed.status.code(), Some(4), "{failed:?}");
}

//! What is read beside a load: the server's counters against a server that counts by itself, and a monitor that is a script.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use record::caveat::Caveat;
use record::{MonitorLine, ServeFinding};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::load::common::{Ran, Scratch};
use crate::load::mock::{Manner, Mock, Step, good, whole};

/// A server of completions of two tokens whose counters are such steps after so many requests.
fn counting(metrics: impl Fn(usize) -> Vec<Step> + Send + Sync + 'static) -> Mock {
    Mock::start(Manner {
        metrics: Box::new(metrics),
        ..Manner::of(|_| good())
    })
}

/// The counters of vLLM, a thousand requests after it began: each had 8 prompt tokens, 2 tokens, and 4 ms of queue.
fn page(asked: usize) -> Vec<Step> {
    let n = 1000 + asked;
    let rows = [
        ("num_requests_running", 2.0),
        ("num_requests_waiting", 1.0),
        ("kv_cache_usage_perc", 0.5),
        ("request_success_total", n as f64),
        ("prompt_tokens_total", 8.0 * n as f64),
        ("generation_tokens_total", 2.0 * n as f64),
        ("request_queue_time_seconds_count", n as f64),
        ("request_queue_time_seconds_sum", 0.004 * n as f64),
    ];
    let labels = "{engine=\"0\",model_name=\"co}unted\"}";
    let rows = rows.map(|(name, value)| format!("vllm:{name}{labels} {value:?}\n"));
    let page = format!("# HELP vllm:num_requests_running text\n{}", rows.concat());
    vec![whole("200 OK", &page)]
}

/// Four requests one after the other, and one before them.
fn run(server: &Mock, more: &[&str]) -> Ran {
    let few = ["--requests", "4", "--warmups", "1"];
    Scratch::new().run(&server.url, &[&few, more].concat())
}

/// The same with a script beside this program, which is started as a monitor.
fn monitored(scratch: &Scratch, url: &str, script: &str) -> Command {
    let program = scratch.join("serve-bench");
    let built = File::open(built::file()).unwrap();
    executable(&program, Stdio::from(built), &[]);
    executable(&scratch.join("tplens"), Stdio::piped(), script.as_bytes());
    let usual = scratch.load(url, &["--monitor", "--no-metrics"]);
    let mut command = Command::new(program);
    command
        .arg0("serve-bench")
        .args(usual.get_args())
        .current_dir(scratch.join(""))
        .stdin(Stdio::null())
        .env_remove("TPLENS_SIM_FOLDER");
    command
}

/// A pipe with a name: its reader sees its end when the last process that holds it has ended.
fn pipe(scratch: &Scratch) -> PathBuf {
    let path = scratch.join("alive");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    path
}

/// A monitor of one process that holds the pipe, writes what a monitor does, and stays until it is ended. All lines are one write,
/// because the load, which begins with the header and is short, ends it on a busy machine before it could write another.
fn monitor(pipe: &Path) -> String {
    let header = r#"{"line":"header","schema":1,"program":"p2p-bw","version":"9","started":"2026-01-02T03:04:05Z","started_unix_ns":1,"boot_id":"b00t","hz":2.0,"duration_s":null,"soft_box":null,"backend":{"name":"cuda","driver":null,"interface":null,"management":"nvml"},"devices":[{"label":"GPU0","name":"a GPU","uuid":null,"address":null,"node":0,"mig":null}],"processes":[{"pid":77,"command":"server"}],"values":[],"unavailable":[]}"#;
    let cpu = r#"{"line":"cpu","pid":77,"at_ns":1000,"over_ns":500000000,"threads":3,"by_node":[{"node":1,"cpus":1.5}],"unplaced":0.0}"#;
    format!(
        "#!/bin/sh\nexec 3>'{}'\nprintf '%s\\n' '{header}' '{cpu}' '{{\"line\":\"of a later version\"}}'\nexec sleep 1000\n",
        pipe.display()
    )
}

/// An executable file. Another process writes it: what this one has open for writing, a process that another test starts at
/// that moment holds open too, and until that one runs its program the file is refused as busy.
fn executable(path: &Path, from: Stdio, bytes: &[u8]) {
    let mut writer = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(path)
        .stdin(from)
        .spawn()
        .unwrap();
    if let Some(mut to) = writer.stdin.take() {
        to.write_all(bytes).unwrap();
    }
    assert!(writer.wait().unwrap().success());
}

/// Waits until nobody holds a pipe any more.
fn until_all_ended(mut pipe: File) {
    pipe.read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn what_the_server_counted_during_the_load_stands_beside_what_was_seen() {
    let ran = run(&counting(page), &[]);
    let serve = ran.expect(0).serve();
    let counters = serve.server.as_ref().unwrap().counters.as_ref().unwrap();
    // One before the first request, which is after the warm-up's, and one after the last.
    let (first, last) = (&counters.readings[0], counters.readings.last().unwrap());
    assert!(counters.readings.len() >= 2 && first.answered_ms <= 0.0);
    let ended = serve.requests.iter().map(|one| one.ended_ms);
    assert!(last.asked_ms >= ended.fold(0.0, f64::max));
    let change = counters.change.as_ref().unwrap();
    // 4 requests of 8 and 2 tokens, each 4 ms in the queue; the 1000 before and the warm-up's are not in it.
    assert_eq!(
        (change.requests, change.prompt_tokens),
        (Some(4.0), Some(32.0))
    );
    assert_eq!((change.generated_tokens, change.ttft), (Some(8.0), None));
    let queue = change.queue.unwrap();
    assert!((queue.mean_ms - 4.0).abs() < 1e-6 && queue.count == 4.0);
    assert_eq!(
        (change.running_most, change.kv_used_most),
        (Some(2.0), Some(0.5))
    );
    assert!(ran.stdout.contains("Means: "), "{}", ran.stdout);
}

#[test]
fn requests_of_somebody_else_are_a_caution_above_all_numbers() {
    // Two requests of somebody else come with each of the test's own.
    let ran = run(&counting(|asked| page(3 * asked)), &[]);
    // The numbers are there, and what they are of is said: 4 of ours and 8 of others.
    let shared = ServeFinding::ServerShared {
        theirs: 12.0,
        ours: 4.0,
        requests: true,
    };
    let caveats = &ran.expect(0).serve().caveats;
    assert!(caveats.contains(&Caveat::Serve { finding: shared }));
    assert!(ran.stdout.contains("[server-shared]"), "{}", ran.stdout);
}

#[test]
fn a_server_without_counters_is_said_and_holds_up_nothing() {
    let endless = whole("200 OK", &"a".repeat(9 << 20));
    for step in [whole("404 Not Found", ""), endless, Step::Stall] {
        let stalls = matches!(step, Step::Stall);
        let server = counting(move |_| vec![step.clone()]);
        let ran = run(&server, &[]);
        let serve = ran.expect(0).serve();
        let beside = serve.server.as_ref().unwrap();
        assert!(beside.no_counters.is_some() && beside.counters.is_none());
        assert_eq!(serve.requests.len(), 4);
        // What answers without counters is not asked again.
        assert!(stalls || server.scraped() == 1);
    }
}

#[test]
fn counters_are_not_asked_for_where_nobody_wants_them_and_elsewhere_where_they_are() {
    let (server, other) = (counting(page), counting(page));
    let ran = run(&server, &["--no-metrics"]);
    assert_eq!(ran.expect(0).serve().server, None);
    let url = format!("{}/metrics", other.url);
    let ran = run(&server, &["--metrics-url", &url]);
    let beside = ran.expect(0).serve().server.as_ref().unwrap();
    assert_eq!(server.scraped(), 0);
    // The other one counted nothing: these are not the requests that were asked here.
    assert_eq!(beside.counters.as_ref().unwrap().url, url);
    assert!(ran.stdout.contains("[several-servers]"), "{}", ran.stdout);
    run(&server, &["--metrics-url", &url, "--no-metrics"]).expect(2);
}

#[test]
fn a_monitor_that_cannot_work_says_why_and_is_no_failure() {
    let (server, scratch) = (counting(page), Scratch::new());
    let script = "#!/bin/sh\necho 'error: no driver' >&2\nexit 2\n";
    let output = monitored(&scratch, &server.url, script).output().unwrap();
    let ran = Ran::of(output, &scratch.join("out"));
    let beside = ran.expect(0).serve().server.as_ref().unwrap();
    let why = beside.no_machine.as_ref().unwrap();
    assert!(why.contains("no driver"), "{why}");
}

#[test]
fn a_monitor_is_kept_beside_the_load_and_ended_with_it() {
    let (server, scratch) = (counting(page), Scratch::new());
    let pipe = pipe(&scratch);
    let mut command = monitored(&scratch, &server.url, &monitor(&pipe));
    let reader = std::thread::spawn(move || until_all_ended(File::open(pipe).unwrap()));
    let ran = Ran::of(command.output().unwrap(), &scratch.join("out"));
    let beside = ran.expect(0).serve().server.as_ref().unwrap();
    reader.join().unwrap();
    let machine = beside.machine.as_ref().unwrap();
    assert_eq!(machine.header.devices[0].label, "GPU0");
    assert_eq!(machine.header.boot_id.as_deref(), Some("b00t"));
    let lines = &machine.lines[..];
    assert!(matches!(lines, [MonitorLine::Cpu(_)]), "{lines:?}");
    // It began before the load did, and its server is this test.
    assert!(machine.began_ms < 0.0);
    let by = &machine.processes;
    assert!(by.contains("who listens on port"), "{by}");
}

#[test]
fn a_monitor_does_not_outlive_a_run_that_is_killed() {
    let (server, scratch) = (Mock::playing(|_| vec![Step::Stall]), Scratch::new());
    let pipe = pipe(&scratch);
    let mut command = monitored(&scratch, &server.url, &monitor(&pipe));
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    // Opening waits until the monitor is there.
    let reader = File::open(pipe).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    until_all_ended(reader);
}

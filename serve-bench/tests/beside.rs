//! What is read beside a load: the server's counters against a server that counts by itself, and a monitor that is a script.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use record::caveat::Caveat;
use record::{MonitorLine, Payload, Serve, ServeFinding, load};
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// How a server answers `GET /metrics`.
#[derive(Clone, Copy, PartialEq)]
enum Metrics {
    /// With what it counted.
    Counted,
    /// With 404.
    None,
    /// With more than anybody reads.
    Endless,
    /// Not at all.
    Silent,
}

/// What a server counted. It had work before the test's own.
#[derive(Debug, Clone, Copy)]
struct Counts {
    requests: u64,
    /// Requests of somebody else that come with each of the test's own.
    others: u64,
    asked: u64,
}

/// A server of completions of three tokens that counts them under vLLM's names.
struct Counting {
    url: String,
    counts: Arc<Mutex<Counts>>,
}

impl Counting {
    fn start(metrics: Metrics, others: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let counts = Arc::new(Mutex::new(Counts {
            requests: 1000,
            others,
            asked: 0,
        }));
        let shared = Arc::clone(&counts);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (shared, stream) = (Arc::clone(&shared), stream.unwrap());
                // A client that goes away ends its thread, not the test.
                std::thread::spawn(move || drop(serve(&stream, metrics, &shared)));
            }
        });
        Self { url, counts }
    }

    fn asked(&self) -> u64 {
        self.counts.lock().unwrap().asked
    }
}

fn serve(mut stream: &TcpStream, metrics: Metrics, counts: &Mutex<Counts>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            if line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink())?;
        let (status, body) = match path.as_str() {
            "/v1/models" => ("200 OK", r#"{"data":[{"id":"counted"}]}"#.to_owned()),
            "/metrics" => {
                counts.lock().unwrap().asked += 1;
                match metrics {
                    Metrics::Counted => ("200 OK", page(*counts.lock().unwrap())),
                    Metrics::None => ("404 Not Found", String::new()),
                    Metrics::Endless => ("200 OK", "a".repeat(9 << 20)),
                    Metrics::Silent => {
                        // Until the client gives up.
                        drop(stream.read_to_end(&mut Vec::new()));
                        return Ok(());
                    }
                }
            }
            "/v1/completions" => {
                {
                    let mut counts = counts.lock().unwrap();
                    counts.requests += 1 + counts.others;
                }
                stream.write_all(&reply())?;
                continue;
            }
            _ => ("404 Not Found", String::new()),
        };
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}"
        )?;
    }
}

/// Each request that was counted had 8 prompt tokens, 3 tokens, and 4 ms of queue.
fn page(counts: Counts) -> String {
    let labels = "{engine=\"0\",model_name=\"co}unted\"}";
    let n = counts.requests;
    let mut page = String::from("# HELP vllm:num_requests_running text\n");
    let rows = [
        ("vllm:num_requests_running", "2.0".to_owned()),
        ("vllm:num_requests_waiting", "1.0".to_owned()),
        ("vllm:kv_cache_usage_perc", "0.5".to_owned()),
        ("vllm:request_success_total", format!("{n}.0")),
        ("vllm:prompt_tokens_total", format!("{}.0", 8 * n)),
        ("vllm:generation_tokens_total", format!("{}.0", 3 * n)),
        ("vllm:request_queue_time_seconds_count", format!("{n}.0")),
        (
            "vllm:request_queue_time_seconds_sum",
            format!("{}", 0.004 * n as f64),
        ),
    ];
    for (name, value) in rows {
        writeln!(page, "{name}{labels} {value}").unwrap();
    }
    page
}

fn reply() -> Vec<u8> {
    let token = "data: {\"choices\":[{\"index\":0,\"text\":\"a\",\"finish_reason\":null}]}\n\n";
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":8,\"completion_tokens\":3}}\n\ndata: [DONE]\n\n";
    let body = token.repeat(3) + usage;
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A folder for one test, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("serve-bench-beside-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A run of this program's file, four requests one after the other.
    fn command(&self, program: &Path, url: &str, more: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .arg0("serve-bench")
            .args([
                "run",
                "--base-url",
                url,
                "--out",
                "out",
                "--num-warmups",
                "1",
            ])
            .args(["--num-prompts", "4", "--max-concurrency", "1"])
            .args(["--random-input-len", "8", "--random-output-len", "3"])
            .args(more)
            .current_dir(&self.0)
            .stdin(Stdio::null())
            .env_remove("TPLENS_SIM_FOLDER");
        command
    }

    fn run(&self, url: &str, more: &[&str]) -> (i32, String, Serve) {
        let program = built::file();
        self.ran(self.command(&program, url, more))
    }

    fn ran(&self, mut command: Command) -> (i32, String, Serve) {
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let Payload::Serve(serve) = load(&self.0.join("out")).unwrap().payload else {
            panic!("{said}");
        };
        (output.status.code().unwrap(), stdout + &said, *serve)
    }

    /// This program in a folder of its own, with a script beside it that is started as a monitor.
    fn beside_a_script(&self, script: &str) -> PathBuf {
        let program = self.0.join("serve-bench");
        let built = fs::File::open(built::file()).unwrap();
        executable(&program, Stdio::from(built), &[]);
        executable(&self.0.join("tplens"), Stdio::piped(), script.as_bytes());
        program
    }

    /// A pipe with a name: its reader sees its end when the last process that holds it has ended.
    fn pipe(&self) -> PathBuf {
        let path = self.0.join("alive");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
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
fn until_all_ended(pipe: fs::File) {
    let mut pipe = pipe;
    pipe.read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn what_the_server_counted_during_the_load_stands_beside_what_was_seen() {
    let server = Counting::start(Metrics::Counted, 0);
    let scratch = Scratch::new();
    let (code, shown, serve) = scratch.run(&server.url, &[]);
    assert_eq!(code, 0, "{shown}");
    let beside = serve.server.unwrap();
    let counters = beside.counters.unwrap();
    // One before the first request, which is after the warm-up's, and one after the last.
    assert!(counters.readings.len() >= 2);
    assert!(counters.readings[0].answered_ms <= 0.0);
    let last_ended = serve
        .requests
        .iter()
        .map(|one| one.ended_ms)
        .fold(0.0, f64::max);
    assert!(counters.readings.last().unwrap().asked_ms >= last_ended);
    let change = counters.change.unwrap();
    // 4 requests of 8 and 3 tokens, each 4 ms in the queue; the 1000 before and the warm-up's are not in it.
    assert_eq!(
        (change.requests, change.prompt_tokens),
        (Some(4.0), Some(32.0))
    );
    assert_eq!((change.generated_tokens, change.ttft), (Some(12.0), None));
    let queue = change.queue.unwrap();
    assert!((queue.mean_ms - 4.0).abs() < 1e-6 && queue.count == 4.0);
    assert_eq!(
        (change.running_most, change.kv_used_most),
        (Some(2.0), Some(0.5))
    );
    assert!(shown.contains("Means: "), "{shown}");
}

#[test]
fn requests_of_somebody_else_are_a_caution_above_all_numbers() {
    let server = Counting::start(Metrics::Counted, 2);
    let scratch = Scratch::new();
    let (code, shown, serve) = scratch.run(&server.url, &[]);
    // The numbers are there, and what they are of is said.
    assert_eq!(code, 0, "{shown}");
    // 4 of ours and 8 of others.
    let shared = ServeFinding::ServerShared {
        theirs: 12.0,
        ours: 4.0,
        requests: true,
    };
    assert!(serve.caveats.contains(&Caveat::Serve { finding: shared }));
    assert!(shown.contains("[server-shared]"), "{shown}");
}

#[test]
fn a_server_without_counters_is_said_and_no_failure() {
    for metrics in [Metrics::None, Metrics::Endless] {
        let server = Counting::start(metrics, 0);
        let scratch = Scratch::new();
        let (code, shown, serve) = scratch.run(&server.url, &[]);
        assert_eq!(code, 0, "{shown}");
        let beside = serve.server.unwrap();
        assert!(beside.no_counters.is_some() && beside.counters.is_none());
        // It is not asked again.
        assert_eq!(server.asked(), 1);
    }
}

#[test]
fn a_server_that_does_not_answer_holds_up_nothing_for_long() {
    let server = Counting::start(Metrics::Silent, 0);
    let scratch = Scratch::new();
    let (code, shown, serve) = scratch.run(&server.url, &[]);
    assert_eq!((code, serve.requests.len()), (0, 4), "{shown}");
    assert!(serve.server.unwrap().no_counters.is_some());
}

#[test]
fn counters_are_not_asked_for_where_nobody_wants_them_and_elsewhere_where_they_are() {
    let (server, other) = (
        Counting::start(Metrics::Counted, 0),
        Counting::start(Metrics::Counted, 0),
    );
    let scratch = Scratch::new();
    let (code, _, serve) = scratch.run(&server.url, &["--no-metrics"]);
    assert_eq!((code, serve.server, server.asked()), (0, None, 0));
    let scratch = Scratch::new();
    let url = format!("{}/metrics", other.url);
    let (code, shown, serve) = scratch.run(&server.url, &["--metrics-url", &url]);
    assert_eq!((code, server.asked()), (0, 0));
    // The other one counted nothing: these are not the requests that were asked here.
    assert_eq!(serve.server.unwrap().counters.unwrap().url, url);
    assert!(shown.contains("[several-servers]"), "{shown}");
    let both = ["--metrics-url", &url, "--no-metrics"];
    let program = built::file();
    let refused = scratch
        .command(&program, &server.url, &both)
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn a_monitor_that_cannot_work_says_why_and_is_no_failure() {
    let server = Counting::start(Metrics::None, 0);
    let scratch = Scratch::new();
    let program = scratch.beside_a_script("#!/bin/sh\necho 'error: no driver' >&2\nexit 2\n");
    let (code, shown, serve) = scratch.ran(scratch.command(&program, &server.url, &["--monitor"]));
    assert_eq!(code, 0, "{shown}");
    let why = serve.server.unwrap().no_machine.unwrap();
    assert!(why.contains("no driver"), "{why}");
}

#[test]
fn a_monitor_is_kept_beside_the_load_and_ended_with_it() {
    let server = Counting::start(Metrics::None, 0);
    let scratch = Scratch::new();
    let pipe = scratch.pipe();
    let program = scratch.beside_a_script(&monitor(&pipe));
    let reader = std::thread::spawn(move || until_all_ended(fs::File::open(pipe).unwrap()));
    let (code, shown, serve) = scratch.ran(scratch.command(&program, &server.url, &["--monitor"]));
    assert_eq!(code, 0, "{shown}");
    reader.join().unwrap();
    let machine = serve.server.unwrap().machine.unwrap();
    assert_eq!(machine.header.devices[0].label, "GPU0");
    assert_eq!(machine.header.boot_id.as_deref(), Some("b00t"));
    assert!(
        matches!(machine.lines[..], [MonitorLine::Cpu(_)]),
        "{:?}",
        machine.lines
    );
    // It began before the load did, and its server is this test.
    assert!(machine.began_ms < 0.0);
    assert!(
        machine.processes.contains("who listens on port"),
        "{}",
        machine.processes
    );
}

#[test]
fn a_monitor_does_not_outlive_a_run_that_is_killed() {
    // No request is ever answered.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let models = "{\"data\":[{\"id\":\"m\"}]}";
    std::thread::spawn(move || {
        for stream in silent.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut line = String::new();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                drop(reader.read_line(&mut line));
                if line.starts_with("GET") {
                    drop(write!(
                        stream,
                        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{models}",
                        models.len()
                    ));
                    return;
                }
                drop(stream.read_to_end(&mut Vec::new()));
            });
        }
    });
    let scratch = Scratch::new();
    let pipe = scratch.pipe();
    let program = scratch.beside_a_script(&monitor(&pipe));
    let mut command = scratch.command(&program, &url, &["--monitor", "--no-metrics"]);
    let mut child: Child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Opening waits until the monitor is there.
    let reader = fs::File::open(pipe).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    until_all_ended(reader);
}

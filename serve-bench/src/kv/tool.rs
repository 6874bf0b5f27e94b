//! Tools of others that time a model's own pieces: how each is started at both ends, and where its words are kept.
//!
//! Flags are those of perftest's man page, of `ucx_perftest -h` and of Mooncake's transfer_engine_bench.cpp. What they print is read by
//! `import`, as a file that the user has is.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use program::outputs::{self, make_folder};
use program::show::Show;
use program::{Stop, result_folder, say};
use record::exit;
use runner::child::{PARENT_VARIABLE, TIED, last_line};

use super::args::{Args, Backend};
use super::report::of_tool;
use super::wire::Transfer;
use crate::study::subject::is_installed;

/// How long a run of the end that connects may take.
const LIMIT: Duration = Duration::from_secs(60);

/// How often it is begun, as the other end may not listen yet, and after which pause.
const TRIES: u32 = 6;
const PAUSE: Duration = Duration::from_millis(500);

/// How often is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Blocks in one message: as they are, and merged, which gives the law its sizes.
const MERGED: [u64; 3] = [1, 16, 256];

/// Without a server of metadata: Mooncake's ends find each other by address.
const P2P: &str = "-metadata_server=P2PHANDSHAKE";

/// All network cards. Without it there is the one of its authors.
const DISCOVERY: &str = "-auto_discovery=true";

/// A backend that is a tool of others: its name and what has it.
pub(super) fn of(backend: Backend) -> Option<(&'static str, &'static str)> {
    match backend {
        Backend::Tcp | Backend::Nixl | Backend::Shm => None,
        Backend::IbWriteBw => Some(("ib_write_bw", "the package perftest")),
        Backend::UcxPerftest => Some(("ucx_perftest", "the package ucx-utils or ucx")),
        Backend::TransferEngineBench => Some((
            "transfer_engine_bench",
            "pip's mooncake-transfer-engine, whose folder `mooncake` must be in PATH",
        )),
    }
}

/// Runs a tool as one end, and gives the exit code.
///
/// # Errors
/// It is not installed, no end is asked for, or the disk does not take what it prints.
pub(super) fn run(
    (program, package): (&str, &str),
    args: &Args,
    transfers: &[(u32, Transfer)],
    show: Show,
) -> Result<u8, Stop> {
    if !is_installed(program) {
        let why = format!("{program} is not installed here: it is in {package}");
        return Err(Stop::Usage(why));
    }
    let address = args.listen.as_deref().or(args.peer.as_deref());
    let runs = address.and_then(|address| runs(args, address, transfers));
    let runs = runs.ok_or_else(|| {
        let ends = "--listen HOST:PORT at one end, and then --peer HOST:PORT at the other";
        Stop::Usage(format!("{program} needs {ends}"))
    })?;
    if args.listen.is_some() {
        for words in runs {
            let status = ended(program, &words, None).context("starting it")?;
            if !status.is_some_and(|status| status.success()) {
                say!("error: {program} failed as the end that listens");
                return Ok(exit::INCONCLUSIVE);
            }
        }
        return Ok(exit::DONE);
    }
    let folder = result_folder(args.out.as_deref(), "kv");
    make_folder("--out", &folder)?;
    let log = folder.join(format!("{program}.txt"));
    let place = log.display();
    if log.exists() {
        let why = format!("--out: {place} is there; name another folder");
        return Err(Stop::Usage(why));
    }
    let mut codes = vec![exit::DONE];
    for words in &runs {
        let why = timed(program, words, &log);
        if let Some(why) = why.with_context(|| format!("keeping what {program} says"))? {
            say!("error: {program}: {why}");
            codes.push(exit::INCONCLUSIVE);
            break;
        }
    }
    say!("what {program} printed is in {place}");
    codes.push(match import::transfers::read(&log) {
        Ok(read) => outputs::with_json(show, &of_tool(&read), &read, args.json.as_deref()),
        // A tool that failed has said why.
        Err(_) if codes.len() > 1 => exit::INCONCLUSIVE,
        Err(error) => {
            say!("error: {error}");
            exit::INCONCLUSIVE
        }
    });
    Ok(exit::fold(codes))
}

/// The words of each run; `None` for what is no address.
fn runs(args: &Args, address: &str, transfers: &[(u32, Transfer)]) -> Option<Vec<Vec<String>>> {
    let (host, port) = address.rsplit_once(':')?;
    let host = host.trim_matches(['[', ']']);
    port.parse::<u16>().ok()?;
    let is_target = args.listen.is_some();
    let messages = messages(transfers);
    let runs: Vec<String> = match args.backend {
        Backend::IbWriteBw => {
            // Both ends need the same sizes.
            let to = if is_target { "" } else { host };
            let words = |(size, n)| format!("{to} -F --report_gbits -p {port} -s {size} -n {n}");
            messages.into_iter().map(words).collect()
        }
        Backend::UcxPerftest if is_target => vec![format!("-p {port}"); messages.len() + 1],
        Backend::UcxPerftest => {
            // Of reads one is under way at a time: a latency.
            let read = messages.iter().take(1).map(|message| ("ucp_get", message));
            let writes = messages.iter().map(|message| ("ucp_put_bw", message));
            let words = |(test, (size, n)): (&str, &(u64, u64))| {
                format!("{host} -p {port} -t {test} -s {size} -n {n} -w {}", n / 10)
            };
            writes.chain(read).map(words).collect()
        }
        _ if is_target => vec![format!(
            "-mode=target {P2P} -local_server_name={host}:{port}"
        )],
        _ => {
            let words = |(_, transfer): &(u32, Transfer)| {
                let way = if transfer.is_read { "read" } else { "write" };
                let (piece, pieces) = (transfer.piece, transfer.pieces);
                let sizes = format!("-block_size={piece} -batch_size={pieces} -threads=1");
                format!(
                    "-mode=initiator {P2P} -segment_id={host}:{port} -operation={way} {sizes} -duration=2"
                )
            };
            transfers.iter().map(words).collect()
        }
    };
    let mut more: Vec<&str> = args.words.iter().map(String::as_str).collect();
    if args.backend == Backend::TransferEngineBench && more.is_empty() {
        more.push(DISCOVERY);
    }
    let words = |run: &String| {
        let own = run.split_whitespace().chain(more.iter().copied());
        own.map(str::to_owned).collect()
    };
    Some(runs.iter().map(words).collect())
}

/// Bytes and number of messages: blocks of the longest prompt, and merged ones.
fn messages(transfers: &[(u32, Transfer)]) -> Vec<(u64, u64)> {
    let prompts = transfers.iter().map(|(_, transfer)| *transfer);
    let longest = prompts.max_by_key(|transfer| transfer.pieces);
    let sizes = longest.into_iter().flat_map(|prompt| {
        MERGED.map(|times| {
            let n = prompt.pieces / times;
            (prompt.piece * times, n.clamp(100, 10_000))
        })
    });
    sizes.collect()
}

/// Runs it as the end that connects, and gives why it failed; what it prints goes to the end of a file, between its command and how it
/// ended: where the disk took nothing of the one it takes nothing of the other.
///
/// # Errors
/// It cannot be started, or the disk is full.
fn timed(program: &str, words: &[String], log: &Path) -> io::Result<Option<String>> {
    let mut why = None;
    for tried in 0..TRIES {
        std::thread::sleep(PAUSE * tried.min(1));
        let mut file = record::private::append(log)?;
        writeln!(file, "$ {program} {}", words.join(" "))?;
        let Some(status) = ended(program, words, Some(log))? else {
            return Ok(Some(format!("no end after {} s", LIMIT.as_secs())));
        };
        if status.success() {
            return Ok(None);
        }
        let said = last_line(&bounded::text(log, bounded::TEXT)?).to_owned();
        writeln!(file, "{status}")?;
        why = Some(format!("{status}: {said}"));
    }
    Ok(why)
}

/// Runs it to its end, tied to this process. With a file for what it prints it has a limit; `None` where it was killed for that.
fn ended(program: &str, words: &[String], log: Option<&Path>) -> io::Result<Option<ExitStatus>> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .arg(TIED)
        .arg(program)
        .args(words)
        .env(PARENT_VARIABLE, std::process::id().to_string())
        .stdin(Stdio::null());
    if let Some(log) = log {
        let out = record::private::append(log)?;
        command.stderr(out.try_clone()?).stdout(out);
    }
    let mut child = command.spawn()?;
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if log.is_some() && begun.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}

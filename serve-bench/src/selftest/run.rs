//! `serve-bench selftest` from its command line to its exit code.

use std::path::{Path, PathBuf};

use measure::exit;
use measure::record::Stamps;
use program::outputs::{self, check_file};
use program::{Stop, say};
use supervisor::Interrupt;

use super::args::Args;
use super::bounds::{Verdict, judge};
use super::compare::compare;
use super::cpus::Cpus;
use super::modes::{FLOOD, MODES, Mode, PLAIN, STREAMS};
use super::processes::{Load, Ran, Server, client};
use super::report::{Flood, Line, Report, SCHEMA};
use super::text;

/// A line has no fewer requests than this; each goes on in rounds of its streams until it has.
const FEWEST: u32 = 20;

/// The same for the other forms of streams, which are there for gross errors.
const FEWEST_OF_A_FORM: u32 = 8;

/// Streams of the part without a schedule, and tokens of each of its requests at most.
const FLOOD_STREAMS: u32 = 64;
const FLOOD_TOKENS: u32 = 400;

/// CPU time has steps of 10 ms, so that of fewer tokens than this would be mostly rounding.
const TOKENS_FOR_CPU: u64 = 20_000;

/// Runs the selftest, prints it, and gives the exit code.
pub(crate) fn run(args: &Args) -> u8 {
    match Interrupt::install() {
        Ok(interrupt) => match measured(args, &interrupt) {
            Ok(report) => finish(args, &report),
            Err(stop) => outputs::stopped(&stop),
        },
        Err(error) => {
            say!("error: cannot catch signals: {error}");
            exit::INTERNAL
        }
    }
}

fn measured(args: &Args, interrupt: &Interrupt) -> Result<Report, Stop> {
    let file = args.json.as_deref().filter(|path| *path != Path::new("-"));
    if let Some(path) = file {
        check_file("--json", path).map_err(Stop::Usage)?;
    }
    let folder = Folder::make(args.out.as_deref())?;
    let mut report = Session {
        args,
        interrupt,
        cpus: Cpus::choose(),
        folder: &folder.path,
        start_cpu_s: None,
    }
    .run()?;
    report.exit_code = report.exit_code();
    Ok(report)
}

fn finish(args: &Args, report: &Report) -> u8 {
    let json = || {
        serde_json::to_string_pretty(report)
            .map(|text| text + "\n")
            .map_err(|error| error.to_string())
    };
    let is_stdout = args.json.as_deref() == Some(Path::new("-"));
    let written = match args.json.as_deref() {
        Some(path) if !is_stdout => outputs::write(path, json()),
        _ => exit::DONE,
    };
    let printed = match if is_stdout {
        json()
    } else {
        Ok(text::report(report))
    } {
        Ok(text) => outputs::print(&text),
        Err(error) => {
            say!("error: {error}");
            exit::INTERNAL
        }
    };
    exit::fold([written, printed, report.exit_code])
}

/// Where the client's results go.
struct Folder {
    path: PathBuf,
    is_kept: bool,
}

impl Folder {
    fn make(asked: Option<&Path>) -> Result<Self, Stop> {
        let path = asked.map_or_else(
            || std::env::temp_dir().join(format!("tplens-selftest-{}", std::process::id())),
            Path::to_path_buf,
        );
        measure::private::make_new_folder(&path).map_err(|error| {
            Stop::Usage(format!(
                "cannot make the folder {}: {error}; choose another with --out",
                path.display()
            ))
        })?;
        Ok(Self {
            path,
            is_kept: asked.is_some(),
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_kept {
            // What is left in the folder for temporary files does no harm.
            drop(std::fs::remove_dir_all(&self.path));
        }
    }
}

/// A selftest under way.
struct Session<'a> {
    args: &'a Args,
    interrupt: &'a Interrupt,
    cpus: Cpus,
    folder: &'a Path,
    /// CPU time of a client with next to nothing to do.
    start_cpu_s: Option<f64>,
}

impl Session<'_> {
    fn run(&mut self) -> Result<Report, Stop> {
        let own = self.args.base_url.is_none();
        let server = match &self.args.base_url {
            Some(url) => Server::elsewhere(url),
            None => self.start(&PLAIN)?,
        };
        let least = Load {
            mode: &PLAIN,
            streams: 1,
            requests: 1,
            tokens: 1,
        };
        self.start_cpu_s = self
            .client(&least, &server, "start")?
            .cpu
            .map(|cpu| cpu.as_secs_f64());
        let mut lines = Vec::new();
        for streams in &self.args.streams {
            lines.push(self.line(&PLAIN, &server, *streams, FEWEST)?);
        }
        drop(server);
        let mut flood = None;
        if own {
            for mode in &MODES {
                let server = self.start(mode)?;
                lines.push(self.line(mode, &server, STREAMS, FEWEST_OF_A_FORM)?);
            }
            flood = self.flood()?;
        }
        Ok(Report {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            server_cpu: self.cpus.server().filter(|_| own),
            client_cpu: self.cpus.client(),
            ttft_ms: own.then_some(self.args.ttft_ms),
            itl_ms: own.then_some(self.args.itl_ms),
            tokens: self.args.tokens,
            start_cpu_s: self.start_cpu_s,
            lines,
            flood,
            exit_code: exit::DONE,
        })
    }

    fn start(&self, mode: &Mode) -> Result<Server, Stop> {
        let mut words = (mode.server)(self.args.tokens);
        for (flag, ms) in [
            ("--ttft-ms", self.args.ttft_ms),
            ("--itl-ms", self.args.itl_ms),
        ] {
            words.extend([flag.to_owned(), ms.to_string()]);
        }
        Server::start(&words, self.cpus, self.interrupt)
    }

    fn client(&self, load: &Load<'_>, server: &Server, name: &str) -> Result<Ran, Stop> {
        let folder = self.folder.join(name);
        client(load, &server.url, &folder, self.cpus, self.interrupt)
    }

    /// One line of the table.
    fn line(&self, mode: &Mode, server: &Server, streams: u32, fewest: u32) -> Result<Line, Stop> {
        let requests = streams * fewest.div_ceil(streams);
        say!("  {}: {streams} streams, {requests} requests", mode.name);
        let load = Load {
            mode,
            streams,
            requests,
            tokens: self.args.tokens,
        };
        let earlier = server.truth()?.requests.len();
        let ran = self.client(
            &load,
            server,
            &format!("{}-{streams}", mode.name.replace([' ', ','], "-")),
        )?;
        let mut truth = server.truth()?;
        truth.requests.drain(..earlier.min(truth.requests.len()));
        let (compared, judged) = match compare(&ran.serve.requests, &truth) {
            Ok(compared) => {
                let judged = judge(streams, &compared);
                (Some(compared), judged)
            }
            Err(why) => (None, Verdict::NotJudged(why)),
        };
        let tokens = truth.requests.iter().map(|of| u64::from(of.tokens)).sum();
        let own = ran.serve.client.as_ref();
        Ok(Line {
            mode: mode.name.to_owned(),
            streams,
            requests,
            compared,
            stamps: own.map_or(Stamps::AtRead, |own| own.stamps),
            kernel_stamped: own.and_then(|own| own.kernel_stamped),
            cpu_s_per_million_tokens: self.per_million(&ran, tokens),
            client_says: own.map(|own| own.invalid.clone()).unwrap_or_default(),
            judged,
        })
    }

    /// How many tokens the client takes where nothing holds the server back.
    fn flood(&self) -> Result<Option<Flood>, Stop> {
        let asked = self.args.flood_tokens;
        if asked == 0 {
            return Ok(None);
        }
        let tokens = FLOOD_TOKENS.min(asked);
        let requests = asked.div_ceil(tokens);
        let streams = FLOOD_STREAMS.min(requests);
        say!("  {}: {streams} streams, {requests} requests", FLOOD.name);
        let server = self.start(&FLOOD)?;
        let load = Load {
            mode: &FLOOD,
            streams,
            requests,
            tokens,
        };
        let ran = self.client(&load, &server, FLOOD.name)?;
        let written = server
            .truth()?
            .requests
            .iter()
            .map(|of| u64::from(of.tokens))
            .sum();
        let summary = ran
            .serve
            .summary
            .as_ref()
            .filter(|summary| summary.failed == 0);
        Ok(Some(Flood {
            streams,
            tokens: written,
            tokens_per_s: summary.and_then(|summary| summary.output_tokens_per_s),
            cpu_s_per_million_tokens: self.per_million(&ran, written),
        }))
    }

    /// CPU time for a million tokens, s, without that of the start.
    fn per_million(&self, ran: &Ran, tokens: u64) -> Option<f64> {
        let cpu = ran.cpu?.as_secs_f64() - self.start_cpu_s?;
        (tokens >= TOKENS_FOR_CPU).then(|| cpu.max(0.0) / tokens as f64 * 1e6)
    }
}

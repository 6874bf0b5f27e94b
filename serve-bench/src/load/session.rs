//! One run: questions to the server, the loop on its thread, and what comes of each request kept as it ends.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use measure::caveat::Caveat;
use measure::exit;
use measure::record::{
    Header, RequestErrorKind, Serve, ServeEvent, ServeLoad, ServeTarget, summarise,
};
use program::{Break, Ended, Recorder, Stop, seed_of_now};
use supervisor::Interrupt;
use tokio::sync::oneshot;
use topology::{Machine, Sysfs};

use super::args::Args;
use super::caveats::caveats;
use super::closed_loop::{self, Told, Work};
use super::own::Own;
use super::progress::LoadProgress;
use super::read::{AskedFor, Read, read};
use super::request::{asked_for, bodies};
use super::slot::Destination;
use super::tally::Tally;
use super::target::{self, Answers, BaseUrl};

/// How often a signal is looked for while the server is asked.
const LOOK: Duration = Duration::from_millis(20);

/// What a header of the command line is replaced by in the record.
const REDACTED: &str = "<redacted>";

/// Runs what the command line asks for.
///
/// # Errors
/// What ended it before there was anything to keep.
pub(super) fn run(args: &Args, interrupt: &Interrupt, say: &dyn Fn(&str)) -> Result<Ended, Stop> {
    let base = BaseUrl::parse(&args.base_url).map_err(Stop::Usage)?;
    let headers = target::headers(args, &base).map_err(Stop::Usage)?;
    let machine = Machine::read(&Sysfs::real()).context("reading sysfs")?;
    let folder = program::result_folder(args.outputs.out.as_deref(), "serve");
    let answers = match ask(&base, &headers, interrupt)? {
        Ok(answers) => answers,
        Err(reason) => {
            let recorder = Recorder::<Serve>::begin(&folder, header(&machine, None))?;
            return Ok(recorder.refuse(reason));
        }
    };
    let model = model(args, &answers).map_err(Stop::Usage)?;
    let seed = args.seed.unwrap_or_else(seed_of_now);
    let bodies = bodies(args, &model, seed).map_err(Stop::Usage)?;
    let asked = asked_for(args, &model);
    let simulated = answers.soft_box.clone();
    let mut recorder = Recorder::<Serve>::begin(&folder, header(&machine, simulated.clone()))?;
    let begun = ServeEvent::Begun {
        target: ServeTarget {
            base_url: base.to_string(),
            model,
            endpoint: args.endpoint.path().to_owned(),
            streamed: !args.no_stream,
            server: answers.server,
            tp: args.tp,
        },
        load: load(args, seed),
    };
    if let Err(error) = recorder.add(begun) {
        return recorder.end(Err(error.into()), exit_code);
    }
    let work = Work {
        to: Destination {
            addresses: answers.address.into_iter().collect(),
            path: base.path(args.endpoint.path()).map_err(Stop::Usage)?,
            headers,
            timeout: args.timeout,
        },
        bodies,
        concurrency: args.concurrency,
    };
    let mut session = Session {
        args,
        asked,
        interrupt,
        say,
        simulated,
        recorder,
        tally: Tally::default(),
    };
    let outcome = session.measure(work);
    let Session { recorder, .. } = session;
    match outcome {
        Ok(Some(refusal)) => Ok(recorder.refuse(refusal)),
        Ok(None) => recorder.end(Ok(()), exit_code),
        Err(stopped) => recorder.end(Err(stopped), exit_code),
    }
}

/// Failed requests, or none that completed, leave a run inconclusive.
fn exit_code(serve: &Serve) -> u8 {
    let all_succeeded = serve.requests.iter().all(|request| request.error.is_none());
    if all_succeeded && serve.summary.is_some() {
        exit::DONE
    } else {
        exit::INCONCLUSIVE
    }
}

/// Asks the server what it is; a signal ends the wait.
fn ask(
    base: &BaseUrl,
    headers: &hyper::HeaderMap,
    interrupt: &Interrupt,
) -> Result<Result<Answers, String>, Stop> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("starting the network runtime")?;
    runtime.block_on(async {
        let signal = async {
            loop {
                match interrupt.signal() {
                    Some(signal) => return signal,
                    None => tokio::time::sleep(LOOK).await,
                }
            }
        };
        tokio::select! {
            answers = target::ask(base, headers) => Ok(answers),
            signal = signal => Err(Stop::Interrupted(signal)),
        }
    })
}

/// The model that requests carry.
fn model(args: &Args, answers: &Answers) -> Result<String, String> {
    let first = answers.models.first();
    args.model.as_ref().or(first).cloned().ok_or_else(|| {
        format!(
            "the server names no model at /v1/models ({}); give --model",
            answers.no_models.as_deref().unwrap_or("it lists none")
        )
    })
}

fn load(args: &Args, seed: u64) -> ServeLoad {
    ServeLoad {
        concurrency: args.concurrency,
        requests: args.measured(),
        warmups: args.warmups(),
        input_tokens: args.input_tokens,
        output_tokens: args.output_tokens,
        ignore_eos: !args.no_ignore_eos,
        seed,
    }
}

/// The record's header; values of `--header` may be secrets and are left out.
fn header(machine: &Machine, soft_box: Option<String>) -> Header {
    let (program, version) = (env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    let mut header = program::header(program, version, machine, soft_box);
    without_headers(&mut header.provenance.arguments);
    header
}

fn without_headers(arguments: &mut [String]) {
    let mut is_value = false;
    for argument in arguments {
        if std::mem::replace(&mut is_value, argument == "--header") {
            REDACTED.clone_into(argument);
        } else if argument.starts_with("--header=") {
            *argument = format!("--header={REDACTED}");
        }
    }
}

/// A run under way.
struct Session<'a> {
    args: &'a Args,
    asked: AskedFor,
    interrupt: &'a Interrupt,
    say: &'a dyn Fn(&str),
    simulated: Option<String>,
    recorder: Recorder<Serve>,
    tally: Tally,
}

impl Session<'_> {
    /// Runs the loop and keeps what it tells; gives the reason where nothing could be measured.
    fn measure(&mut self, work: Work) -> Result<Option<String>, Break> {
        let (tell, told) = mpsc::channel();
        let (go, leave) = oneshot::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let interrupt = self.interrupt.clone();
        let thread = {
            let stop = Arc::clone(&stop);
            std::thread::Builder::new()
                .name("load".to_owned())
                .spawn(move || closed_loop::run(work, &interrupt, &stop, leave, &tell))
                .context("starting the load's thread")
                .map_err(Stop::Internal)?
        };
        let heard = self.hear(&told, go);
        stop.store(true, Ordering::Relaxed);
        let ran = thread
            .join()
            .map_err(|_| Stop::Internal(anyhow!("the load's thread crashed")))?;
        ran.context("starting the network runtime")
            .map_err(Stop::Internal)?;
        match heard? {
            Heard::Refused(reason) => Ok(Some(reason)),
            Heard::Ended(own) => self.sum_up(&own).map(|()| None),
            Heard::Stopped => match self.interrupt.signal() {
                Some(signal) => Err(Break::Signal(signal)),
                None => Err(Stop::Internal(anyhow!("the load ended before its time")).into()),
            },
        }
    }

    /// Keeps each request as it ends, until the loop says no more.
    fn hear(&mut self, told: &Receiver<Told>, go: oneshot::Sender<()>) -> Result<Heard, Break> {
        let mut go = Some(go);
        let mut start = Instant::now();
        let mut warmups = Vec::new();
        (self.say)(&format!(
            "{} requests to warm up, then {} with {} in flight",
            self.args.warmups(),
            self.args.measured(),
            self.args.concurrency
        ));
        let mut progress = LoadProgress::new(self.args.measured() as usize, self.say);
        while let Ok(told) = told.recv() {
            match told {
                Told::Warmup(reply) => warmups.push(read(&reply, &self.asked, start)),
                Told::WarmedUp => {
                    let failed = failures(&warmups);
                    if let Some(reason) = refusal(&warmups) {
                        return Ok(Heard::Refused(reason));
                    }
                    if !failed.is_empty() {
                        let text = format!("warm-up: {failed}");
                        progress.note(&text);
                        self.note(text)?;
                    }
                    // That the loop has ended meanwhile shows in the channel.
                    let _ = go.take().map(|go| go.send(()));
                }
                Told::Began(instant) => start = instant,
                Told::Reply(reply) => {
                    let read = read(&reply, &self.asked, start);
                    self.tally.add(&reply, &read);
                    progress.add(&read.request);
                    self.recorder.add(ServeEvent::Request {
                        request: Box::new(read.request),
                    })?;
                }
                Told::Ended(own) => return Ok(Heard::Ended(own)),
            }
        }
        Ok(Heard::Stopped)
    }

    /// Adds summary and caveats.
    fn sum_up(&mut self, own: &Own) -> Result<(), Break> {
        let serve = &self.recorder.payload;
        let summary = summarise(&serve.requests, !self.args.no_stream);
        let caveats = caveats(serve, &self.tally, own, self.simulated.as_deref());
        if let Some(summary) = summary {
            self.recorder.add(ServeEvent::Summary {
                summary: Box::new(summary),
            })?;
        }
        for caveat in caveats {
            self.recorder.add(ServeEvent::Caveat { caveat })?;
        }
        (self.say)(&self.own_line(own));
        Ok(())
    }

    /// What the load generator took, for who watches.
    fn own_line(&self, own: &Own) -> String {
        let percent = |part: Option<f64>| {
            part.map_or_else(|| "—".to_owned(), |part| format!("{:.0}%", part * 100.0))
        };
        let largest = self.tally.turnarounds.iter().max();
        let largest = largest.map_or_else(
            || "—".to_owned(),
            |lag| format!("{:.3} ms", lag.as_secs_f64() * 1e3),
        );
        format!(
            "load generator: {} of a CPU, {} waiting for one; largest delay before a request {largest} (n={})",
            percent(own.busy),
            percent(own.starved),
            self.tally.turnarounds.len()
        )
    }

    fn note(&mut self, text: String) -> Result<(), Break> {
        let caveat = Caveat::Note { text };
        self.recorder.add(ServeEvent::Caveat { caveat })?;
        Ok(())
    }
}

/// How the loop ended.
enum Heard {
    /// All requests ended.
    Ended(Own),
    /// Nothing can be measured.
    Refused(String),
    /// It broke off.
    Stopped,
}

/// Why there is nothing to measure: not one warm-up request succeeded.
fn refusal(warmups: &[Read]) -> Option<String> {
    let failed = |read: &Read| read.request.error.is_some();
    (!warmups.is_empty() && warmups.iter().all(failed)).then(|| failures(warmups))
}

/// Failures by kind with the first words of each; empty for none.
fn failures(reads: &[Read]) -> String {
    let mut kinds: BTreeMap<RequestErrorKind, (u32, &str)> = BTreeMap::new();
    for error in reads.iter().filter_map(|read| read.request.error.as_ref()) {
        kinds.entry(error.kind).or_insert((0, &error.seen)).0 += 1;
    }
    let kinds: Vec<String> = kinds
        .into_iter()
        .map(|(kind, (count, seen))| {
            format!("{count} of {} requests: {kind} ({seen})", reads.len())
        })
        .collect();
    kinds.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_headers_are_not_recorded() {
        let mut arguments = [
            "run",
            "--header",
            "X-A: canary",
            "--header=B: canary",
            "--tp",
            "2",
        ]
        .map(str::to_owned);
        without_headers(&mut arguments);
        assert_eq!(
            arguments,
            [
                "run",
                "--header",
                REDACTED,
                "--header=<redacted>",
                "--tp",
                "2"
            ]
        );
    }
}

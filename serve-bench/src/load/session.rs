//! One run: the load on its thread, and what comes of each request kept as it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use program::{Break, Ended, Recorder, Stop, result_folder, seed_of_now};
use record::caveat::Caveat;
use record::exit;
use record::{
    FolderError, RequestErrorKind, Serve, ServeEvent, ServeFinding, ServeRequest, ServeServer,
    ServeSummary, ServeTarget, summarise,
};
use runner::Interrupt;
use tokio::sync::oneshot;
use topology::{Machine, Sysfs};

use super::args::Args;
use super::budget::{self, Budget};
use super::client;
use super::dispatch::{self, Sent, Told, Work};
use super::findings::findings;
use super::progress::{self, LoadProgress};
use super::reply::{Reply, read};
use super::secrets::{Secrets, without_headers};
use super::setup;
use super::tally::Tally;
use super::target;
use crate::address::Address;
use crate::beside::{self, Beside};

/// Why nothing was measured where the warm-up alone was more than a run takes in.
const FULL_BEFORE: &str =
    "the replies to warm up were more than a run takes in; ask for fewer --num-warmups or tokens";

/// Runs what the command line asks for, and takes in no more than the budget.
///
/// # Errors
/// What ended it before there was anything to keep.
pub(super) fn run(
    args: &Args,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
    budget: Budget,
) -> Result<Ended, Stop> {
    let folder = result_folder(args.results.outputs.out.as_deref(), "serve");
    // It ends with this function.
    let engine = args.sim.as_deref();
    let engine = engine.map(|sim| setup::simulated(args, sim, &folder, interrupt, say));
    let engine = engine.transpose()?;
    let url = engine.as_ref().map(|engine| engine.url().to_owned());
    let flag = ["--host", "--base-url"][usize::from(args.base_url.is_some())];
    let base = Address::parse(flag, &url.unwrap_or_else(|| args.url())).map_err(Stop::Usage)?;
    let mut to = target::destination(args, &base, budget).map_err(Stop::Usage)?;
    let secrets = Secrets::of(&to.headers, args.extra_body.as_ref());
    let machine = Machine::read(&Sysfs::real()).context("reading sysfs")?;
    let patience = Duration::from_secs(args.ready_check_timeout_sec.into());
    let answers = setup::ask(&base, &to, patience, interrupt)?;
    let mut answers = answers.map_err(|mut reason| {
        secrets.hide(&mut reason);
        if args.base_url.is_none() {
            reason += "; start a server there (such as vllm serve MODEL), name another one with --base-url, or load a simulated box \
                       with --sim BOX";
        }
        Stop::Refused(reason.into())
    })?;
    let said = [&mut answers.server, &mut answers.soft_box];
    secrets.hide_in(said.into_iter().flatten().chain(&mut answers.models));
    let model = setup::model(args, &answers).map_err(Stop::Usage)?;
    if !answers.models.is_empty() && !answers.models.contains(&model) {
        let names = openai::words(&answers.models.join(", "));
        say(&format!(
            "the server names {names} and not {model}; without --model the first of its own is asked"
        ));
    }
    let seed = args.data.seed.unwrap_or_else(seed_of_now);
    let plan = setup::plan(args, &model, seed).map_err(Stop::Usage)?;
    let (program, version) = (env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    let simulated = answers.soft_box;
    let mut header = program::header(program, version, &machine, simulated.clone());
    // Values of `--header` may be secrets.
    without_headers(&mut header.provenance.arguments);
    let url = base.to_string();
    let asked_beside = &args.results.beside;
    let beside = Beside::start(asked_beside, &base, answers.address, &to.headers);
    let beside = beside.map_err(Stop::Usage)?;
    let recorder = Recorder::begin(&folder, header)?;
    let begun = ServeEvent::Begun {
        target: ServeTarget {
            base_url: url,
            model,
            endpoint: <&str>::from(args.endpoint()).to_owned(),
            streamed: !args.no_stream,
            server: answers.server,
            tp: args.tp,
        },
        load: plan.load,
    };
    to.addresses = answers.address.into_iter().collect();
    let work = Work {
        to,
        bodies: plan.bodies,
        pace: plan.pace,
    };
    let mut session = Session {
        args,
        secrets,
        interrupt,
        say,
        simulated,
        recorder,
        tally: Tally::default(),
        beside,
        began: None,
        tokens: 0,
    };
    let outcome = session.measure(begun, work, plan.findings);
    let Session { recorder, .. } = session;
    match outcome {
        Ok(Some(refusal)) => Ok(recorder.refuse(refusal)),
        outcome => recorder.end(outcome.map(drop), exit_code),
    }
}

/// Failed requests, none that completed, or times that are the client's own leave a run inconclusive.
fn exit_code(serve: &Serve) -> u8 {
    let all_succeeded = serve.requests.iter().all(|request| request.error.is_none());
    let is_full = |caveat: &Caveat| matches!(caveat, Caveat::RecordFull { .. });
    let client = serve.client.as_ref();
    let is_valid = client.is_none_or(|client| client.invalid.is_empty());
    if all_succeeded && is_valid && serve.summary.is_some() && !serve.caveats.iter().any(is_full) {
        exit::DONE
    } else {
        exit::INCONCLUSIVE
    }
}

/// A run under way.
struct Session<'a> {
    args: &'a Args,
    /// What no words of the server may repeat.
    secrets: Secrets,
    interrupt: &'a Interrupt,
    say: &'a dyn Fn(&str),
    simulated: Option<String>,
    recorder: Recorder<Serve>,
    tally: Tally,
    /// What is read of the server meanwhile.
    beside: Beside,
    /// When the measured part began.
    began: Option<Instant>,
    /// Tokens that chunks are said to hold.
    tokens: u64,
}

impl Session<'_> {
    /// Runs the load and keeps what it tells; gives the reason where nothing could be measured.
    fn measure(
        &mut self,
        begun: ServeEvent,
        work: Work,
        known: Vec<ServeFinding>,
    ) -> Result<Option<String>, Break> {
        self.recorder.add(begun)?;
        if let Some(line) = self.args.foreign.unused() {
            (self.say)(&line);
        }
        if let Some(seed) = self.args.data.seed {
            (self.say)(&format!(
                "seed {seed}: the prompts of every run with it; a prefix cache may hold them"
            ));
        }
        known.into_iter().try_for_each(|one| self.found(one))?;
        let (tell, told) = mpsc::channel();
        let (go, leave) = oneshot::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let interrupt = self.interrupt.clone();
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("load".to_owned())
            .spawn(move || dispatch::run(work, &interrupt, &stopped, leave, &tell))
            .context("starting the load's thread")
            .map_err(Stop::Internal)?;
        let heard = self.hear(&told, go);
        stop.store(true, Ordering::Relaxed);
        let end = |began| std::mem::take(&mut self.beside).end(began);
        let server = self.began.and_then(end);
        let ran = thread.join();
        let ran = ran.map_err(|_| Stop::Internal(anyhow!("the load's thread crashed")))?;
        let is_spent = ran.context("starting the network runtime");
        let is_spent = is_spent.map_err(Stop::Internal)?;
        let heard = match heard? {
            Heard::Stopped if is_spent => Heard::Full,
            heard => heard,
        };
        match heard {
            Heard::Refused(reason) => Ok(Some(reason)),
            Heard::Ended(sent) => self.sum_up(&sent, server).map(|()| None),
            Heard::Full if self.began.is_none() => Ok(Some(FULL_BEFORE.to_owned())),
            Heard::Full => {
                let requests = self.recorder.payload.requests.len();
                let caveat = Caveat::RecordFull { requests };
                (self.say)(&caveat.to_string());
                self.recorder.add(ServeEvent::Caveat { caveat })?;
                self.sum_up(&Sent::default(), server).map(|()| None)
            }
            Heard::Stopped => {
                self.keep(server)?;
                self.judge_unfinished()?;
                match self.interrupt.signal() {
                    Some(signal) => Err(Break::Signal(signal)),
                    None => Err(Stop::Internal(anyhow!("the load ended before its time")).into()),
                }
            }
        }
    }

    /// Keeps each request as it ends, until the load says no more.
    fn hear(&mut self, told: &Receiver<Told>, go: oneshot::Sender<()>) -> Result<Heard, Break> {
        let mut go = Some(go);
        let mut start = Instant::now();
        let mut warmups = Vec::new();
        let load = self.recorder.payload.load.clone().unwrap_or_default();
        let given = |of: Option<String>| of.unwrap_or_default();
        let limit = load.concurrency;
        let limit = given(limit.map(|limit| format!(" with {limit} in flight")));
        let time = given(
            load.duration_s
                .map(|seconds| format!(" within {seconds} s")),
        );
        let asked = self.args.traffic.asked();
        let count = asked.map_or("as many".to_owned(), |_| load.requests.to_string());
        (self.say)(&format!(
            "{} requests to warm up, then {count}{time}{limit}",
            load.warmups
        ));
        let total = asked.map_or(0, |_| load.requests as usize);
        let is_quiet = self.args.results.disable_tqdm;
        let mut progress = LoadProgress::new(total, is_quiet, self.say);
        let mut rest = Duration::ZERO;
        loop {
            let told = match next(told, std::mem::take(&mut rest)) {
                Ok(told) => told,
                Err(RecvTimeoutError::Timeout) => {
                    progress.draw();
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            };
            match told {
                Told::Warmup(mut reply) => warmups.push(self.read(&mut reply, start)),
                Told::WarmedUp => {
                    let detail = failures(&warmups);
                    if !detail.is_empty() {
                        if warmups.iter().all(|one| one.error.is_some()) {
                            return Ok(Heard::Refused(detail));
                        }
                        self.found(ServeFinding::WarmupFailed { detail })?;
                    }
                    warmups = Vec::new();
                    self.beside.begin(|| self.interrupt.signal().is_some());
                    // That the load has ended meanwhile shows in the channel.
                    let _ = go.take().map(|go| go.send(()));
                }
                Told::Began(instant) => {
                    start = instant;
                    self.began = Some(instant);
                    progress.began = Some(instant);
                }
                Told::Reply(mut reply) => {
                    rest = KEPT;
                    let request = Box::new(self.read(&mut reply, start));
                    let tokens = request.chunk_tokens.iter().copied();
                    self.tokens += tokens.map(u64::from).sum::<u64>();
                    if budget::is_too_much(self.tokens) {
                        return Ok(Heard::Full);
                    }
                    match self.recorder.add_soon(ServeEvent::Request { request }) {
                        Err(FolderError::Full(_)) => return Ok(Heard::Full),
                        kept => kept?,
                    }
                    if let Some(request) = self.recorder.payload.requests.last() {
                        self.tally.add(&reply, request);
                        progress.add(request);
                    }
                }
                Told::Ended(sent) => return Ok(Heard::Ended(sent)),
            }
        }
        Ok(Heard::Stopped)
    }

    /// Reads a reply; no words of it repeat a secret.
    fn read(&self, reply: &mut Reply, start: Instant) -> ServeRequest {
        let mut request = read(reply, !self.args.no_stream, start);
        let error = request.error.as_mut().map(|error| &mut error.seen);
        // The model that was asked for is no secret, also where a header says it.
        let target = self.recorder.payload.target.as_ref();
        let asked = target.map(|target| target.model.as_str());
        let model = reply.content.model.as_mut();
        let names = [
            reply.soft_box.as_mut(),
            model.filter(|model| Some(model.as_str()) != asked),
        ];
        self.secrets
            .hide_in(names.into_iter().flatten().chain(error));
        request
    }

    fn summary(&self) -> Option<ServeSummary> {
        let serve = &self.recorder.payload;
        let goals = serve.load.as_ref().and_then(|load| load.goals.as_ref());
        summarise(&serve.requests, !self.args.no_stream, goals)
    }

    /// Adds summary, the client's own figures and caveats.
    fn sum_up(&mut self, sent: &Sent, server: Option<ServeServer>) -> Result<(), Break> {
        let mut summary = self.summary();
        let requests = &self.recorder.payload.requests;
        let others = beside::others_prompts(server.as_ref(), requests, summary.as_mut());
        let mut found = Vec::from_iter(others);
        if let Some(summary) = summary {
            self.recorder.add(ServeEvent::Summary {
                summary: Box::new(summary),
            })?;
        }
        if let Some(server) = &server {
            found.extend(beside::judge(server, &self.recorder.payload));
        }
        self.keep(server)?;
        let client = Box::new(client::figures(&self.recorder.payload, sent, &self.tally));
        self.recorder.add(ServeEvent::Client { client })?;
        found.extend(findings(
            &self.recorder.payload,
            &self.tally,
            self.simulated.as_deref(),
            self.args.data.expects_cache(),
        ));
        found.into_iter().try_for_each(|one| self.found(one))
    }

    /// Adds what the client says of itself where requests have ended before the run was broken off.
    fn judge_unfinished(&mut self) -> Result<(), Break> {
        let serve = Serve {
            summary: self.summary(),
            ..self.recorder.payload.clone()
        };
        if serve.summary.is_some() {
            let client = Box::new(client::figures(&serve, &Sent::default(), &self.tally));
            self.recorder.add(ServeEvent::Client { client })?;
        }
        Ok(())
    }

    /// Keeps what was read of the server.
    fn keep(&mut self, server: Option<ServeServer>) -> Result<(), Break> {
        let Some(server) = server.map(Box::new) else {
            return Ok(());
        };
        match self.recorder.add(ServeEvent::Server { server }) {
            Err(FolderError::Full(_)) => self.found(ServeFinding::CountersDropped),
            kept => Ok(kept?),
        }
    }

    fn found(&mut self, finding: ServeFinding) -> Result<(), Break> {
        let caveat = Caveat::Serve { finding };
        self.recorder.add(ServeEvent::Caveat { caveat })?;
        Ok(())
    }
}

/// After replies those of this time are kept together: a thread that is woken for each takes turns from the load.
const KEPT: Duration = Duration::from_millis(100);

/// The next thing that the load tells; looked for after a rest where nothing waits, and for so long as the display may stand still.
fn next(told: &Receiver<Told>, rest: Duration) -> Result<Told, RecvTimeoutError> {
    if let Ok(told) = told.try_recv() {
        return Ok(told);
    }
    std::thread::sleep(rest);
    told.recv_timeout(progress::REDRAW)
}

/// How the load ended.
enum Heard {
    /// All requests ended.
    Ended(Sent),
    /// Nothing can be measured.
    Refused(String),
    /// The record holds no more.
    Full,
    /// It broke off.
    Stopped,
}

/// Failures by kind with the first words of each; empty for none.
fn failures(requests: &[ServeRequest]) -> String {
    let errors = || requests.iter().filter_map(|one| one.error.as_ref());
    let of = requests.len();
    let words = |(kind, count): (RequestErrorKind, u32)| {
        let first = errors().find(|error| error.kind == kind);
        let seen = first.map_or("", |error| &error.seen);
        format!("{count} of {of} requests: {kind} ({seen})")
    };
    let kinds = record::failures(requests).into_iter().map(words);
    kinds.collect::<Vec<String>>().join("; ")
}

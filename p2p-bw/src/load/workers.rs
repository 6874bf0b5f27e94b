//! The children that load the devices, one each, so that a device that hangs or is lost ends alone.

use std::time::{Duration, Instant};

use program::Stop;
use program::child::last_line;
use supervisor::{Event, Interrupt, Ladder, Patience, Signal, WENT_ON, Worker};

use super::messages::{Load, LoadReply, LoadRequest, Loaded};
use crate::children::Child;

/// How long one child is looked at before the next.
const LOOK: Duration = Duration::from_millis(20);

/// How often it is said that the load goes on: who watches this program waits for its words.
const PROGRESS: Duration = Duration::from_secs(10);

/// Ends a child: it has nothing to write.
const LADDER: Ladder = Ladder {
    abort: Duration::from_millis(10),
    term: Duration::from_secs(3),
    kill: Duration::from_secs(10),
};

/// What became of the load of one device.
#[derive(Debug)]
pub(super) enum Came {
    Loaded(Box<Loaded>),
    Failed(String),
    /// What it did when it made no progress any more.
    Hung(String),
}

struct Loading {
    worker: Worker,
    /// Since it last said anything, and what that was.
    patience: Patience,
    doing: String,
    /// What was wrong, should it not come to its end.
    wrong: Vec<(Load, String)>,
    /// Whether it was stopped from outside and went on: its rates hold the time that it stood still.
    stood_still: bool,
    came: Option<Came>,
}

/// Loads all devices at once until each is done. A signal ends all of them early, with what they have until then, and is given back.
///
/// # Errors
/// A child cannot be started.
pub(super) fn load(
    requests: &[LoadRequest],
    deadline: Duration,
    interrupt: &Interrupt,
    say: &dyn Fn(usize, &str),
    goes_on: &dyn Fn(Duration),
) -> Result<(Vec<Came>, Option<Signal>), Stop> {
    let mut all = Vec::new();
    for request in requests {
        let mut worker = Child::Load.start()?;
        // A child that is gone is seen at the first look.
        let _ = worker.send(request);
        all.push(Loading {
            patience: Patience::new(deadline, [worker.id()]),
            worker,
            doing: "starting".to_owned(),
            wrong: Vec::new(),
            stood_still: false,
            came: None,
        });
    }
    let begun = Instant::now();
    let mut told = begun;
    let no_interrupt = Interrupt::none();
    let mut signal = None;
    while all.iter().any(|one| one.came.is_none()) {
        let heard = match signal {
            None => interrupt,
            Some(_) => &no_interrupt,
        };
        for (number, one) in all.iter_mut().enumerate() {
            if one.came.is_some() {
                continue;
            }
            match one.worker.next::<LoadReply>(LOOK, heard) {
                Event::Interrupted(came) => signal = Some(came),
                event => one.take(event, &|text| say(number, text)),
            }
        }
        if told.elapsed() >= PROGRESS {
            told = Instant::now();
            goes_on(begun.elapsed());
        }
        if signal.is_some() {
            all.iter_mut().for_each(|one| one.worker.abort());
        }
    }
    let came = all.into_iter().filter_map(|mut one| {
        one.worker.end(LADDER);
        one.came
    });
    Ok((came.collect(), signal))
}

impl Loading {
    fn take(&mut self, event: Event<LoadReply>, say: &dyn Fn(&str)) {
        match event {
            Event::Message(reply) => {
                self.patience.heard();
                // Asked at each, as it is told once.
                if self.worker.went_on() && !self.stood_still {
                    self.stood_still = true;
                    say(WENT_ON);
                }
                match reply {
                    LoadReply::Doing { doing } => self.doing = doing,
                    LoadReply::Wrong { of, seen } => {
                        say(&format!("{} wrong: {seen}", of.word()));
                        self.wrong.push((of, seen));
                    }
                    // What was wrong is wrong, however long its process stood still.
                    LoadReply::Done { .. } if self.stood_still && self.wrong.is_empty() => {
                        self.fail(WENT_ON.to_owned());
                    }
                    LoadReply::Done { loaded } => self.came = Some(Came::Loaded(loaded)),
                    LoadReply::Failed { reason } => self.fail(reason),
                }
            }
            Event::Exited(status) => {
                let said = last_line(&self.worker.tail());
                self.fail(format!("its process ended with {status}: {said}"));
            }
            Event::Garbled { error, .. } => {
                self.fail(format!("its answer was not understood: {error}"));
            }
            Event::Silent { .. } | Event::Interrupted(_) => {
                if let Some(silence) = self.patience.over() {
                    let silence = silence.or_stopped(self.worker.went_on());
                    self.worker.end(LADDER);
                    let what = format!("{}: {silence}", self.doing);
                    match silence.is_hang() {
                        true => self.came = Some(Came::Hung(self.with_wrong(what))),
                        false => self.fail(what),
                    }
                }
            }
        }
    }

    fn fail(&mut self, reason: String) {
        self.came = Some(Came::Failed(self.with_wrong(reason)));
    }

    /// What was wrong before it ended is not lost with it.
    fn with_wrong(&self, mut text: String) -> String {
        for (of, seen) in &self.wrong {
            text.push_str(&format!("; before that {} was wrong: {seen}", of.word()));
        }
        text
    }
}

impl Load {
    fn word(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Arithmetic => "arithmetic",
        }
    }
}

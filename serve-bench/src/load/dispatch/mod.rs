//! Sends the requests of a load: each at its instant, or each that ends followed by the next.
//!
//! It runs on a thread and a runtime of its own and does nothing but write and read sockets and note instants. Replies go to
//! another thread: journal and progress cost it nothing.

mod open;
mod schedule;
mod timer;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use runner::Interrupt;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::oneshot;
use tokio::task::spawn_local;

pub(super) use self::schedule::schedule;
use super::own::{Own, cpu_time};
use super::reply::Reply;
use super::request::{Bodies, Request, of};
use super::slot::{Destination, Slot};
use crate::listener::raise_open_files;

/// How often a signal is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// A thread that comes to look later than this stood still; one that reads replies of a thousand streams is late by less.
const STILL: Duration = Duration::from_millis(30);

/// Connections that are made beforehand at most where requests come at a rate and nothing limits those in flight; more are made
/// when they are needed, and counted.
const PREPARED_FOR_RATE: u32 = 1024;

/// What the load tells while it runs.
pub(super) enum Told {
    /// A warm-up request ended.
    Warmup(Reply),
    /// All warm-up requests ended; the load waits for leave to go on.
    WarmedUp,
    /// The measured part begins at this instant.
    Began(Instant),
    /// A measured request ended.
    Reply(Reply),
    /// All ended.
    Ended(Sent),
}

/// What the load itself took, and how its requests left.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Sent {
    /// What its thread took.
    pub(super) own: Own,
    /// Requests that were due and not yet sent, at most; `None` where none is due before its place is free.
    pub(super) backlog: Option<u32>,
    /// How long the thread did not come to look when it should have: it was stopped, or others had its CPU.
    pub(super) stood_still: Duration,
}

/// What the load is to do.
pub(super) struct Work {
    /// Where requests go.
    pub(super) to: Destination,
    /// The requests.
    pub(super) bodies: Bodies,
    /// When they are sent.
    pub(super) pace: Pace,
}

/// When requests are sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pace {
    /// Each at its instant after the start, ascending; `None` for a closed loop, in which each that ends is followed by the next.
    pub(super) instants: Option<Vec<Duration>>,
    /// Requests at most.
    pub(super) requests: u32,
    /// Requests in flight at most; of those with instants others wait.
    pub(super) limit: Option<u32>,
    /// No request of a closed loop is sent later than this.
    pub(super) duration: Option<Duration>,
    /// Whether the instants are those of a rate; all may also be the first.
    pub(super) is_paced: bool,
}

impl Pace {
    /// Connections that are made before the start.
    fn places(&self) -> u32 {
        let most = match (&self.instants, self.is_paced) {
            (None, _) => 1,
            (Some(_), true) => PREPARED_FOR_RATE,
            (Some(_), false) => u32::MAX,
        };
        self.requests.min(self.limit.unwrap_or(most))
    }
}

/// Runs the load to its end, or until a signal or `stop`, or until more came than a run takes in; then requests in flight are
/// dropped. Says whether that was more than a run takes in.
///
/// # Errors
/// The system refuses the runtime.
pub(super) fn run(
    work: Work,
    interrupt: &Interrupt,
    stop: &Arc<AtomicBool>,
    go: oneshot::Receiver<()>,
    tell: &Sender<Told>,
) -> std::io::Result<bool> {
    raise_open_files();
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())?;
    let still = Cell::new(Duration::ZERO);
    let to = Rc::new(work.to);
    let is_stopped = || interrupt.signal().is_some() || stop.load(Ordering::Relaxed);
    Ok(runtime.block_on(async {
        let stopped = async {
            while !is_stopped() && !to.budget.is_spent() {
                let slept = Instant::now();
                tokio::time::sleep(LOOK).await;
                let late = slept.elapsed().saturating_sub(LOOK);
                if late > STILL {
                    still.set(still.get() + late);
                }
            }
        };
        tokio::select! {
            () = phases(Rc::clone(&to), work.bodies, work.pace, go, tell, &still) => false,
            () = stopped => to.budget.is_spent() && !is_stopped(),
        }
    }))
}

async fn phases(
    to: Rc<Destination>,
    bodies: Bodies,
    pace: Pace,
    go: oneshot::Receiver<()>,
    tell: &Sender<Told>,
    still: &Cell<Duration>,
) {
    let mut slots: Vec<Slot> = (0..pace.places())
        .map(|_| Slot::new(Rc::clone(&to)))
        .collect();
    // As many as warm-up requests can use.
    let resting = slots.split_off(slots.len().min(bodies.warmups.len()));
    let warming = prepare(slots).await;
    let count = u32::try_from(bodies.warmups.len()).unwrap_or(u32::MAX);
    let warmups = (bodies.warmups.into(), count);
    let mut slots = ask_all(warming, warmups, None, tell, Told::Warmup).await;
    slots.extend(resting);
    // That nobody listens any more is seen by `stop`.
    drop(tell.send(Told::WarmedUp));
    if go.await.is_err() {
        return;
    }
    let slots = prepare(slots).await;
    to.budget.renew();
    let (cpu, still_before) = (cpu_time(), still.get());
    let start = Instant::now();
    drop(tell.send(Told::Began(start)));
    let backlog = match &pace.instants {
        None => {
            let until = pace.duration.map(|duration| start + duration);
            let requests = (bodies.measured.into(), pace.requests);
            ask_all(slots, requests, until, tell, Told::Reply).await;
            None
        }
        Some(instants) => {
            let pool = open::Pool::new(to, slots, pace.limit, bodies.measured, tell);
            let backlog = open::send_all(pool, start, instants).await;
            pace.is_paced.then_some(backlog)
        }
    };
    drop(tell.send(Told::Ended(Sent {
        own: Own::since(cpu, start),
        backlog,
        stood_still: still.get() - still_before,
    })));
}

/// A closed loop: as many requests in flight as there are slots, each that ends followed by the next.
///
/// Sends so many of these requests, none after `until`: every slot takes the next one when it is free, or the next turn of its
/// conversation.
async fn ask_all(
    slots: Vec<Slot>,
    (requests, count): (Rc<[Request]>, u32),
    until: Option<Instant>,
    tell: &Sender<Told>,
    as_told: fn(Reply) -> Told,
) -> Vec<Slot> {
    let next = Rc::new(Cell::new(0));
    let tasks = slots.into_iter().map(|mut slot| {
        let (requests, next, tell) = (Rc::clone(&requests), Rc::clone(&next), tell.clone());
        spawn_local(async move {
            // Turns behind a first one are of the slot that has that.
            let begins = |number: &u32| *number >= count || !of(&requests, *number).follows;
            let mut turn = count;
            while until.is_none_or(|until| Instant::now() < until) {
                let number = if begins(&turn) {
                    let number = (next.get()..count).find(begins).unwrap_or(count);
                    next.set(number + 1);
                    number
                } else {
                    turn
                };
                if number >= count {
                    break;
                }
                let reply = slot.ask(number, of(&requests, number)).await;
                drop(tell.send(as_told(reply)));
                turn = number + 1;
                // Before `until` is looked at: no turn leaves later.
                let time = of(&requests, turn).think_time;
                if let Some(time) = time.filter(|_| !begins(&turn)) {
                    slot.rest(time).await;
                }
            }
            slot
        })
    });
    join(tasks.collect()).await
}

/// Sees to it that every slot has a connection.
async fn prepare(slots: Vec<Slot>) -> Vec<Slot> {
    let tasks = slots.into_iter().map(|mut slot| {
        spawn_local(async move {
            slot.prepare().await;
            slot
        })
    });
    join(tasks.collect()).await
}

async fn join(tasks: Vec<tokio::task::JoinHandle<Slot>>) -> Vec<Slot> {
    let mut slots = Vec::with_capacity(tasks.len());
    for task in tasks {
        // A task that panicked is a slot fewer; the panic itself is told on standard error.
        slots.extend(task.await.ok());
    }
    slots
}

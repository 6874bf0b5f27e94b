//! The closed loop: as many requests in flight as asked for, each that ends followed by the next.
//!
//! It runs on a thread and a runtime of its own and does nothing but write and read sockets and note instants. Replies
//! go to another thread unread: parsing, journal and progress cost it nothing.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use bytes::Bytes;
use supervisor::Interrupt;
use tokio::sync::oneshot;
use tokio::task::{LocalSet, spawn_local};

use super::own::{CpuTime, Own};
use super::reply::Reply;
use super::request::Bodies;
use super::slot::{Destination, Slot};

/// How often a signal is looked for.
const LOOK: Duration = Duration::from_millis(20);

/// What the loop tells while it runs.
pub(super) enum Told {
    /// A warm-up request ended.
    Warmup(Reply),
    /// All warm-up requests ended; the loop waits for leave to go on.
    WarmedUp,
    /// The measured part begins at this instant.
    Began(Instant),
    /// A measured request ended.
    Reply(Reply),
    /// All ended; what the loop itself took.
    Ended(Own),
}

/// What the loop is to do.
pub(super) struct Work {
    /// Where requests go.
    pub(super) to: Destination,
    /// The requests.
    pub(super) bodies: Bodies,
    /// Requests in flight at once.
    pub(super) concurrency: u32,
}

/// Runs the loop to its end, or until a signal or `stop`; then requests in flight are dropped.
///
/// # Errors
/// The system refuses the runtime.
pub(super) fn run(
    work: Work,
    interrupt: &Interrupt,
    stop: &Arc<AtomicBool>,
    go: oneshot::Receiver<()>,
    tell: &Sender<Told>,
) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let local = LocalSet::new();
    local.block_on(&runtime, async {
        let stopped = async {
            while interrupt.signal().is_none() && !stop.load(Ordering::Relaxed) {
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::select! {
            () = phases(work, go, tell) => {}
            () = stopped => {}
        }
    });
    Ok(())
}

async fn phases(work: Work, go: oneshot::Receiver<()>, tell: &Sender<Told>) {
    let to = Rc::new(work.to);
    let places = work
        .concurrency
        .min(u32::try_from(work.bodies.measured.len()).unwrap_or(u32::MAX));
    let slots = (0..places).map(|_| Slot::new(Rc::clone(&to))).collect();
    // That nobody listens any more is seen by `stop`.
    let slots = prepare(slots).await;
    let slots = ask_all(slots, work.bodies.warmups, tell, Told::Warmup).await;
    drop(tell.send(Told::WarmedUp));
    if go.await.is_err() {
        return;
    }
    let slots = prepare(slots).await;
    let cpu = CpuTime::of_this_thread();
    let start = Instant::now();
    drop(tell.send(Told::Began(start)));
    ask_all(slots, work.bodies.measured, tell, Told::Reply).await;
    drop(tell.send(Told::Ended(Own::since(cpu, start))));
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

/// Sends all requests through the slots, the next one wherever one ends.
async fn ask_all(
    slots: Vec<Slot>,
    bodies: Vec<Bytes>,
    tell: &Sender<Told>,
    as_told: fn(Reply) -> Told,
) -> Vec<Slot> {
    let bodies = Rc::new(bodies);
    let next = Rc::new(Cell::new(0));
    let tasks = slots.into_iter().map(|mut slot| {
        let (bodies, next, tell) = (Rc::clone(&bodies), Rc::clone(&next), tell.clone());
        spawn_local(async move {
            while let Some(body) = bodies.get(next.get()) {
                let number = next.replace(next.get() + 1);
                let reply = slot
                    .ask(u32::try_from(number).unwrap_or(u32::MAX), body.clone())
                    .await;
                drop(tell.send(as_told(reply)));
            }
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

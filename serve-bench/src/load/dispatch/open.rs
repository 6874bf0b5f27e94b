//! The open loop: a request leaves at its instant whatever became of those before it, or waits in a queue that is counted.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use tokio::task::{JoinSet, yield_now};

use super::Told;
use super::timer::Timer;
use crate::load::request::{Request, of};
use crate::load::slot::{Destination, Slot};

/// Requests after which the replies that came meanwhile are looked at, where many are due at once.
const BURST: usize = 32;

/// A request that is due: its number, and its instant.
type Due = (u32, Instant);

/// The connections of an open loop and what waits for them.
pub(super) struct Pool {
    to: Rc<Destination>,
    requests: Vec<Request>,
    tell: Sender<Told>,
    /// Requests in flight at most.
    limit: Option<u32>,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    idle: Vec<Slot>,
    waiting: VecDeque<Due>,
    in_flight: u32,
}

impl Pool {
    /// A pool with connections that are made already.
    pub(super) fn new(
        to: Rc<Destination>,
        idle: Vec<Slot>,
        limit: Option<u32>,
        requests: Vec<Request>,
        tell: &Sender<Told>,
    ) -> Rc<Self> {
        Rc::new(Self {
            to,
            requests,
            tell: tell.clone(),
            limit,
            state: RefCell::new(State {
                idle,
                ..State::default()
            }),
        })
    }

    /// A slot for a request that is due; `None` where it has to wait, and then it is in the queue.
    fn slot_for(&self, due: Due) -> Option<Slot> {
        let mut state = self.state.borrow_mut();
        if self.limit.is_some_and(|limit| state.in_flight >= limit) {
            state.waiting.push_back(due);
            return None;
        }
        state.in_flight += 1;
        let new = || Slot::new(Rc::clone(&self.to));
        Some(state.idle.pop().unwrap_or_else(new))
    }

    /// Sends a request, and those that waited meanwhile.
    async fn serve(self: Rc<Self>, mut slot: Slot, mut due: Due) {
        loop {
            let (number, intended) = due;
            let mut reply = slot.ask(number, of(&self.requests, number)).await;
            reply.intended = Some(intended);
            // That nobody listens any more is seen elsewhere.
            drop(self.tell.send(Told::Reply(reply)));
            let next = self.state.borrow_mut().waiting.pop_front();
            let Some(next) = next else { break };
            due = next;
        }
        self.state.borrow_mut().in_flight -= 1;
        // Where the server closes connections, the next one is made before a request waits for it.
        slot.connect_ahead().await;
        self.state.borrow_mut().idle.push(slot);
    }

    fn waiting(&self) -> usize {
        self.state.borrow().waiting.len()
    }
}

/// Sends each request at its instant after the start; gives the most that were due and not sent.
pub(super) async fn send_all(pool: Rc<Pool>, start: Instant, instants: &[Duration]) -> u32 {
    let mut tasks = JoinSet::new();
    let mut timer = Timer::new();
    let (mut backlog, mut passed) = (0, 0);
    for (number, instant) in (0..).zip(instants) {
        let intended = start + *instant;
        let now = Instant::now();
        if intended > now {
            timer.until(intended).await;
        } else {
            // Those that are late stand in a queue, too, of which nobody else knows.
            let due = instants[passed..].partition_point(|instant| start + *instant <= now);
            backlog = backlog.max(due.saturating_sub(1) + pool.waiting());
            if passed % BURST == BURST - 1 {
                yield_now().await;
            }
        }
        passed += 1;
        let due = (number, intended);
        if let Some(slot) = pool.slot_for(due) {
            tasks.spawn_local(Rc::clone(&pool).serve(slot, due));
        }
        backlog = backlog.max(pool.waiting());
        // Tasks that ended are let go, so that a long run does not keep them all.
        while tasks.try_join_next().is_some() {}
    }
    while tasks.join_next().await.is_some() {}
    u32::try_from(backlog).unwrap_or(u32::MAX)
}

//! Wall time around the engine: a thread that ends each step when virtual time says so and hands out its tokens.
//!
//! It owns the engine and waits on one channel, so it needs no lock. It knows nothing of HTTP.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use engine::{Engine, Request, Step};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::counters::Counters;

/// A request as it came in.
#[derive(Debug, Clone)]
pub(super) struct Arrived {
    /// How long prompt and output are; its number is given here.
    pub(super) request: Request,
    /// Keys of the prompt's blocks.
    pub(super) keys: Vec<u64>,
    /// When all of it was there.
    pub(super) at: Instant,
    /// Whether its prompt's keys and values are here, of another engine.
    pub(super) is_loaded: bool,
}

/// One token of a reply.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    /// Whether it is the last.
    pub(super) last: bool,
    /// Prompt tokens of its request that came from the prefix cache.
    pub(super) cached: u32,
}

/// The tokens of one request as they come: none after the last, or earlier where the engine has stopped. Dropping it before the last
/// cancels the request.
pub(super) type Tokens = UnboundedReceiver<Token>;

type Order = (u64, Arrived, UnboundedSender<Token>);

/// The way to a pacer's thread, which ends with it.
#[derive(Debug)]
pub(super) struct Pacer {
    orders: Sender<Order>,
    next_id: AtomicU64,
}

impl Pacer {
    /// Starts the thread. `speed` is virtual seconds a second.
    pub(super) fn start(
        engine: Engine,
        speed: f64,
        counters: Arc<Counters>,
    ) -> std::io::Result<Self> {
        let (orders, received) = channel();
        let pace = Pace {
            engine,
            speed,
            counters,
            started: Instant::now(),
            replies: HashMap::new(),
        };
        let thread = std::thread::Builder::new().name("pacer".to_owned());
        thread.spawn(move || pace.run(&received))?;
        Ok(Self {
            orders,
            next_id: AtomicU64::new(0),
        })
    }

    /// Queues a request that the engine's limits allow.
    pub(super) fn submit(&self, arrived: Arrived) -> Tokens {
        let (sender, tokens) = unbounded_channel();
        let id = self.next_id.fetch_add(1, Relaxed);
        // Where the pacer is gone the sender is dropped with the order, and the reply ends without a last token.
        let _ = self.orders.send((id, arrived, sender));
        tokens
    }
}

/// A request that is with the engine.
struct Reply {
    tokens: UnboundedSender<Token>,
    arrived: Instant,
    /// Prompt tokens that came from the prefix cache.
    cached: u32,
    admitted: Option<Instant>,
    last: Option<Instant>,
}

impl Reply {
    /// Counts a token that is there, and hands it out.
    fn token(&mut self, last: bool, now: Instant, counters: &Counters) {
        let since = |then: Instant| now.saturating_duration_since(then);
        match self.last.replace(now) {
            Some(before) => counters.itl.add(since(before)),
            None => {
                counters.ttft.add(since(self.arrived));
                counters.prefill.add(since(self.admitted.unwrap_or(now)));
            }
        }
        // Counted first: who has the last token may ask for the counters at once.
        if last {
            counters.e2e.add(since(self.arrived));
            counters.finished.fetch_add(1, Relaxed);
        }
        let cached = self.cached;
        // Nobody reads where the client has gone.
        let _ = self.tokens.send(Token { last, cached });
    }
}

/// What the thread owns.
struct Pace {
    engine: Engine,
    speed: f64,
    counters: Arc<Counters>,
    started: Instant,
    replies: HashMap<u64, Reply>,
}

impl Pace {
    /// Runs until nobody can order any more, or until the engine knows no time for a step.
    fn run(mut self, orders: &Receiver<Order>) {
        let mut under_way: Option<Step> = None;
        loop {
            let due = under_way.as_ref().map(|step| self.due(step));
            let left = |due: Instant| due.saturating_duration_since(Instant::now());
            match orders.recv_timeout(due.map_or(Duration::MAX, left)) {
                Ok(order) => self.apply(order),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if due.is_some_and(|due| Instant::now() < due) {
                continue;
            }
            // What arrived while the step ran is known before the next one is formed.
            orders.try_iter().for_each(|order| self.apply(order));
            let earliest = under_way.take().map(|step| self.end(&step));
            self.cancel();
            match self.begin(earliest) {
                Ok(step) => under_way = step,
                // Every reply ends without its last token, which its connection reports; why is said here.
                Err(error) => {
                    program::say!("error: the engine stopped: {error}");
                    return;
                }
            }
        }
    }

    fn apply(&mut self, (id, arrived, tokens): Order) {
        let now = self.virtual_now();
        let request = Request {
            id,
            ..arrived.request
        };
        let is_taken = match arrived.is_loaded {
            true => self.engine.submit_loaded(request, now),
            false => self.engine.submit_with_prefix(request, arrived.keys, now),
        };
        if is_taken.is_ok() {
            let reply = Reply {
                tokens,
                arrived: arrived.at,
                cached: 0,
                admitted: None,
                last: None,
            };
            self.replies.insert(id, reply);
        }
        self.count_waiting();
    }

    /// Cancels what nobody waits for any more.
    fn cancel(&mut self) {
        self.replies.retain(|id, reply| {
            let is_left = reply.tokens.is_closed();
            if is_left {
                self.engine.cancel(*id);
            }
            !is_left
        });
    }

    fn count_waiting(&self) {
        let waiting = self.engine.waiting() as u64;
        self.counters.waiting.store(waiting, Relaxed);
    }

    /// Hands out a step's tokens and returns the virtual instant at which the next one begins.
    ///
    /// A step that ends a little late is made up for by the next one, so that the mean pace is the engine's. One that ends
    /// later than it lasted is not: a stalled machine must not be followed by a burst.
    fn end(&mut self, step: &Step) -> Duration {
        let lag = self.due(step).elapsed();
        let counters = &self.counters;
        counters.steps.fetch_add(1, Relaxed);
        let counted = step.emitted.len() as u64;
        counters.generated_tokens.fetch_add(counted, Relaxed);
        counters.running.store(0, Relaxed);
        let now = Instant::now();
        for emitted in &step.emitted {
            if let Some(reply) = self.replies.get_mut(&emitted.id) {
                reply.token(emitted.finished, now, counters);
            }
            if emitted.finished {
                self.replies.remove(&emitted.id);
            }
        }
        let lasted = Duration::from_secs_f64(step.duration_us * 1e-6 / self.speed);
        let is_in_time = lag <= lasted;
        let lost = if is_in_time { Duration::ZERO } else { lag };
        counters.lost.add(lost);
        match is_in_time {
            true => step.ends(),
            false => self.virtual_now(),
        }
    }

    /// Forms the next step; `None` where nothing has arrived.
    fn begin(&mut self, earliest: Option<Duration>) -> Result<Option<Step>, engine::EngineError> {
        let now = self.virtual_now();
        let mut step = self.engine.step(earliest.unwrap_or(now))?;
        if step.is_none() {
            // What is there arrived after the end of the last step.
            step = self.engine.step(now)?;
        }
        let counters = &self.counters;
        if let Some(step) = &step {
            let wall = Instant::now();
            for admitted in &step.admitted {
                if let Some(reply) = self.replies.get_mut(&admitted.id) {
                    reply.cached = admitted.cached_tokens;
                    reply.admitted = Some(wall);
                    let queued = wall.saturating_duration_since(reply.arrived);
                    counters.queued.add(queued);
                }
            }
            let prefix = self.engine.prefix_counts();
            let queried = &counters.prefix_queried;
            queried.store(prefix.queried_tokens, Relaxed);
            counters.prefix_hits.store(prefix.hit_tokens, Relaxed);
            let sequences = u64::from(step.load.sequences);
            counters.running.store(sequences, Relaxed);
            let tokens = u64::from(step.prompt_tokens);
            counters.prompt_tokens.fetch_add(tokens, Relaxed);
        }
        self.count_waiting();
        let kv_used_ppm = (self.engine.kv_used() * 1e6) as u64;
        counters.kv_used_ppm.store(kv_used_ppm, Relaxed);
        Ok(step)
    }

    fn due(&self, step: &Step) -> Instant {
        self.started + step.ends().div_f64(self.speed)
    }

    fn virtual_now(&self) -> Duration {
        self.started.elapsed().mul_f64(self.speed)
    }
}

//! Wall time around the engine: a thread that ends each step when virtual time says so and hands out its tokens.
//!
//! It owns the engine and waits on one channel, so it needs no lock. It knows nothing of HTTP.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use engine::{Admitted, Engine, Request, Step};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::counters::Counters;
use super::ledger::{Arrived, Ledger};

/// One token of a reply.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    /// Whether it is the last.
    pub(super) last: bool,
    /// Prompt tokens of its request that came from the prefix cache.
    pub(super) cached: u32,
}

/// The tokens of one request as they come. Dropping it before the last cancels the request.
#[derive(Debug)]
pub(super) struct Tokens {
    id: u64,
    tokens: UnboundedReceiver<Token>,
    orders: Sender<Order>,
    done: bool,
}

impl Tokens {
    /// The next token; `None` after the last, or earlier where the engine has stopped.
    pub(super) fn poll_next(
        &mut self,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Token>> {
        self.tokens.poll_recv(context).map(|token| {
            self.done |= token.is_none_or(|token| token.last);
            token
        })
    }

    /// As [`Tokens::poll_next`].
    pub(super) async fn next(&mut self) -> Option<Token> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }
}

impl Drop for Tokens {
    fn drop(&mut self) {
        if !self.done {
            // A pacer that is gone has nothing left to cancel.
            let _ = self.orders.send(Order::Cancel(self.id));
        }
    }
}

/// The way to a pacer's thread.
#[derive(Debug)]
pub(super) struct Pacer {
    orders: Sender<Order>,
    next_id: AtomicU64,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
enum Order {
    Submit {
        request: Request,
        /// Keys of the prompt's blocks.
        keys: Vec<u64>,
        arrived: Arrived,
        tokens: UnboundedSender<Token>,
    },
    Cancel(u64),
    Stop,
}

impl Pacer {
    /// Starts the thread. `speed` is virtual seconds a second.
    pub(super) fn start(
        engine: Engine,
        speed: f64,
        counters: Arc<Counters>,
    ) -> std::io::Result<Self> {
        let (orders, received) = channel();
        let thread = std::thread::Builder::new()
            .name("pacer".to_owned())
            .spawn(move || {
                Pace {
                    engine,
                    speed,
                    counters,
                    started: Instant::now(),
                    replies: HashMap::new(),
                    ledger: Ledger::default(),
                }
                .run(&received);
            })?;
        Ok(Self {
            orders,
            next_id: AtomicU64::new(0),
            thread: Some(thread),
        })
    }

    /// Queues a request that the engine's limits allow, with the keys of its prompt's blocks.
    pub(super) fn submit(&self, arrived: Arrived, keys: Vec<u64>) -> Tokens {
        let (sender, tokens) = unbounded_channel();
        let id = self.next_id.fetch_add(1, Relaxed);
        let request = Request {
            id,
            prompt_tokens: arrived.prompt_tokens,
            output_tokens: arrived.asked_tokens,
        };
        // Where the pacer is gone the sender is dropped with the order, and the reply ends without a last token.
        let _ = self.orders.send(Order::Submit {
            request,
            keys,
            arrived,
            tokens: sender,
        });
        Tokens {
            id,
            tokens,
            orders: self.orders.clone(),
            done: false,
        }
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        let _ = self.orders.send(Order::Stop);
        if let Some(thread) = self.thread.take() {
            // A panic there has been printed already.
            let _ = thread.join();
        }
    }
}

/// What the thread owns.
struct Pace {
    engine: Engine,
    speed: f64,
    counters: Arc<Counters>,
    started: Instant,
    replies: HashMap<u64, UnboundedSender<Token>>,
    ledger: Ledger,
}

impl Pace {
    /// Runs until it is told to stop, or until the engine knows no time for a step.
    fn run(mut self, orders: &Receiver<Order>) {
        let mut under_way: Option<Step> = None;
        loop {
            let due = under_way.as_ref().map(|step| self.due(step));
            match next_order(orders, due) {
                Next::Order(Order::Stop) | Next::Gone => return,
                Next::Order(order) => self.apply(order),
                Next::Due => {}
            }
            if due.is_some_and(|due| Instant::now() < due) {
                continue;
            }
            // What arrived while the step ran is known before the next one is formed.
            while let Ok(order) = orders.try_recv() {
                if matches!(order, Order::Stop) {
                    return;
                }
                self.apply(order);
            }
            let earliest = under_way.take().map(|step| self.end(&step));
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

    fn apply(&mut self, order: Order) {
        let now = self.virtual_now();
        match order {
            Order::Submit {
                request,
                keys,
                arrived,
                tokens,
            } => {
                let taken = match arrived.is_loaded {
                    true => self.engine.submit_loaded(request, now),
                    false => self.engine.submit_with_prefix(request, keys, now),
                };
                if taken.is_ok() {
                    self.replies.insert(request.id, tokens);
                    self.ledger.arrived(request.id, arrived);
                }
            }
            Order::Cancel(id) => {
                self.engine.cancel(id);
                self.replies.remove(&id);
                self.ledger.cancelled(id);
            }
            Order::Stop => {}
        }
        self.counters
            .waiting
            .store(self.engine.waiting() as u64, Relaxed);
    }

    /// Hands out a step's tokens and returns the virtual instant at which the next one begins.
    ///
    /// A step that ends a little late is made up for by the next one, so that the mean pace is the engine's. One that ends
    /// later than it lasted is not: a stalled machine must not be followed by a burst.
    fn end(&mut self, step: &Step) -> Duration {
        let due = self.due(step);
        // Counted first: who has the last token may ask for the counters at once.
        let lag = due.elapsed();
        self.counters.steps.fetch_add(1, Relaxed);
        let counted = step.emitted.len() as u64;
        self.counters.generated_tokens.fetch_add(counted, Relaxed);
        self.counters.running.store(0, Relaxed);
        let now = Instant::now();
        for emitted in &step.emitted {
            let token = Token {
                last: emitted.finished,
                cached: self.ledger.token(emitted, now, &self.counters),
            };
            if emitted.finished {
                self.counters.finished.fetch_add(1, Relaxed);
            }
            // Nobody reads where the request was cancelled during its last step.
            if let Some(reply) = self.replies.get(&emitted.id) {
                let _ = reply.send(token);
            }
            if emitted.finished {
                self.replies.remove(&emitted.id);
            }
        }
        let lasted = Duration::from_secs_f64(step.duration_us * 1e-6 / self.speed);
        let is_made_up = lag <= lasted;
        let lost = if is_made_up { Duration::ZERO } else { lag };
        self.counters.lost.add(lost);
        match is_made_up {
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
        if let Some(step) = &step {
            let counters = &self.counters;
            let wall = Instant::now();
            for Admitted { id, cached_tokens } in &step.admitted {
                self.ledger.admitted(*id, *cached_tokens, wall, counters);
            }
            let prefix = self.engine.prefix_counts();
            counters
                .prefix_queried
                .store(prefix.queried_tokens, Relaxed);
            counters.prefix_hits.store(prefix.hit_tokens, Relaxed);
            counters
                .running
                .store(u64::from(step.load.sequences), Relaxed);
            counters
                .prompt_tokens
                .fetch_add(u64::from(step.prompt_tokens), Relaxed);
        }
        self.counters
            .waiting
            .store(self.engine.waiting() as u64, Relaxed);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and a million"
        )]
        let kv_used_ppm = (self.engine.kv_used() * 1e6) as u64;
        self.counters.kv_used_ppm.store(kv_used_ppm, Relaxed);
        Ok(step)
    }

    fn due(&self, step: &Step) -> Instant {
        self.started + step.ends().div_f64(self.speed)
    }

    fn virtual_now(&self) -> Duration {
        self.started.elapsed().mul_f64(self.speed)
    }
}

enum Next {
    Order(Order),
    Due,
    Gone,
}

/// Waits for an order, at most until `due`; without one as long as it takes.
fn next_order(orders: &Receiver<Order>, due: Option<Instant>) -> Next {
    let received = match due {
        None => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
        Some(due) => orders.recv_timeout(due.saturating_duration_since(Instant::now())),
    };
    match received {
        Ok(order) => Next::Order(order),
        Err(RecvTimeoutError::Timeout) => Next::Due,
        Err(RecvTimeoutError::Disconnected) => Next::Gone,
    }
}

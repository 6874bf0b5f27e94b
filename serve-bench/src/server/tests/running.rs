//! A server in this process on a port of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use boxfile::BoxFile;
use clap::Parser;
use disagg::KvShape;
use engine::{Curve, Engine, Limits, Profile, StepTime};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tp_plan::{EngineFacts, ModelFacts};

use crate::listener::accept;
use crate::server::Args;
use crate::server::route::Shared;
use crate::server::setup::Setup;

/// A server of its own, ended with the value.
pub(super) struct Running {
    pub(super) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Serves `llama-3.1-8b` as `tiny` on `rtxpro6000-mig` with steps of exactly `step_us`, at most 64 tokens in one.
    pub(super) fn start(step_us: f64) -> Self {
        Self::of(setup(step_us))
    }

    /// Serves what is set up.
    pub(super) fn of((setup, engine): (Setup, Engine)) -> Self {
        let (told, address) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                told.send(listener.local_addr().unwrap()).unwrap();
                let shared = Shared::start(setup, engine, "").unwrap();
                let (_open, ending) = tokio::sync::watch::channel(false);
                let respond = move |request| Arc::clone(&shared).respond(request);
                tokio::select! {
                    () = accept(&listener, &ending, respond) => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            address: address.recv().unwrap(),
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            assert!(thread.join().is_ok(), "the server panicked");
        }
    }
}

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: Args,
}

/// An engine whose every step takes `step_us`.
pub(super) fn setup(step_us: f64) -> (Setup, Engine) {
    let described = BoxFile::builtin("rtxpro6000-mig").unwrap();
    let model = ModelFacts::builtin("llama-3.1-8b").unwrap();
    let around = engine::surroundings(&described, 1).unwrap();
    let facts = EngineFacts::vllm(1, &around)
        .with_max_num_seqs(64)
        .with_max_batched_tokens(64);
    // Rates so high that only the host's time is left.
    let profile = Profile {
        weight_gb_per_s: 1e15,
        kv_gb_per_s: 1e15,
        compute_tflop_per_s: 1e15,
        gemm_speedup_per_doubling: 2.0,
        attention_floor_us_per_layer: 0.0,
        elementwise_us_per_layer: 0.0,
        host_us: step_us,
        eager_host_us_per_layer: 0.0,
        all_reduce_us: None,
        all_gather_us: None,
        noise_cv: 0.0,
        noise_seed: 0,
    };
    let shape = KvShape::of(&model, 16);
    let limits = Limits {
        max_model_len: 100_000,
        block_tokens: 16,
        kv_blocks: 100_000,
    };
    let none = Curve::new(|_, _, _| None);
    let step_time = StepTime::new(model, facts, profile, none).unwrap();
    let line = [
        "engine",
        "--box",
        "rtxpro6000-mig",
        "--model",
        "llama-3.1-8b",
    ];
    let setup = Setup {
        args: Line::parse_from(line).args,
        model: "tiny".to_owned(),
        soft_box: "rtxpro6000-mig".to_owned(),
        shape,
    };
    (setup, Engine::new(step_time, limits).unwrap())
}

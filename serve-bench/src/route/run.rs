//! The router from its first line to the signal that ends it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use anyhow::Context;
use program::outputs::printed;
use program::say;
use record::exit;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use super::args::Args;
use super::engines;
use super::router::Router;
use super::serve::connection;
use super::{counters, detect};
use crate::open_files::raise_open_files;

/// How long nothing is accepted when the process has no file descriptor left.
const OUT_OF_FILES: Duration = Duration::from_millis(20);

/// How long engines' protocol and counters may take before the first request.
const COUNTERS: Duration = Duration::from_secs(2);

/// How often is looked whether no request is under way.
const IDLE: Duration = Duration::from_millis(100);

/// How often is looked whether all requests have ended.
const LOOK: Duration = Duration::from_millis(10);

/// The signals that end the router, with the exit codes of the house.
const ENDING: [(SignalKind, u8); 3] = [
    (SignalKind::interrupt(), exit::INTERRUPTED),
    (SignalKind::terminate(), exit::TERMINATED),
    (SignalKind::hangup(), exit::HUNG_UP),
];

/// Routes until SIGINT, SIGTERM or SIGHUP and returns the exit code: 130, 143 or 129 then, 2 for bad input, 4 for a journal that
/// could not be written.
pub(crate) fn run(args: &Args) -> u8 {
    let begun = engines::started(args).and_then(|(args, servers)| {
        let router = Router::of(&args)?;
        Ok((Arc::new(router), servers))
    });
    let (router, _servers) = match begun {
        Ok(begun) => begun,
        Err(error) => {
            say!("error: {error}");
            return exit::USAGE;
        }
    };
    raise_open_files();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            say!("error: cannot start the runtime: {error}");
            return exit::INTERNAL;
        }
    };
    let outcome = runtime.block_on(routed(args, &router));
    runtime.shutdown_background();
    let is_written = router.journal.flush();
    match outcome {
        Ok(code) if is_written => code,
        Ok(_) => exit::INTERNAL,
        Err(error) => {
            say!("error: {error:#}");
            exit::USAGE
        }
    }
}

async fn routed(args: &Args, router: &Arc<Router>) -> anyhow::Result<u8> {
    // Before the first line is printed, so that who reads it may send a signal.
    let mut caught = Vec::new();
    for (kind, code) in ENDING {
        caught.push((signal(kind).context("cannot catch signals")?, code));
    }
    let listener = TcpListener::bind((args.host.as_str(), args.port)).await;
    let listener =
        listener.with_context(|| format!("cannot listen on {}:{}", args.host, args.port))?;
    let address = listener.local_addr()?;
    // That nobody reads the line must not end the router.
    drop(printed(&format!("listening on http://{address}\n")));
    // What can be asked now no request waits for; an engine that does not answer yet is asked by the first.
    let asked = async {
        let _ = detect::dialect(router).await;
        if router.journal.is_kept() {
            counters::write(router, false).await;
        }
    };
    let _ = tokio::time::timeout(COUNTERS, asked).await;
    let (ending, heard) = watch::channel(false);
    let code = tokio::select! {
        code = first(&mut caught) => code,
        () = accept(&listener, router, &heard) => exit::INTERNAL,
        () = look_when_idle(router) => exit::INTERNAL,
    };
    drop(listener);
    router.is_ending.store(true, Relaxed);
    let _ = ending.send(true);
    let left = || router.metrics.in_flight.load(Relaxed);
    let drained = async {
        while left() > 0 {
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::select! {
        () = drained => {}
        () = tokio::time::sleep(args.grace) => say!("{} requests cut off after --grace", left()),
        _ = first(&mut caught) => say!("{} requests cut off by a second signal", left()),
    }
    if router.journal.is_kept() {
        counters::write(router, true).await;
    }
    Ok(code)
}

/// Writes engines' counters whenever all requests have ended: engines may end before the router. Ends only when it is dropped.
async fn look_when_idle(router: &Router) {
    let mut written = 0;
    loop {
        tokio::time::sleep(IDLE).await;
        let begun = router.turn.load(Relaxed);
        let is_new = begun != written && router.journal.is_kept();
        if is_new && router.metrics.in_flight.load(Relaxed) == 0 {
            written = begun;
            counters::write(router, true).await;
        }
    }
}

/// Waits for the first of the signals and gives its exit code.
async fn first(caught: &mut [(Signal, u8)]) -> u8 {
    std::future::poll_fn(move |context| {
        for (signal, code) in &mut *caught {
            if signal.poll_recv(context).is_ready() {
                return std::task::Poll::Ready(*code);
            }
        }
        std::task::Poll::Pending
    })
    .await
}

/// Accepts connections and serves each in a task of its own. Ends only when it is dropped.
async fn accept(listener: &TcpListener, router: &Arc<Router>, ending: &watch::Receiver<bool>) {
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            // The client gave up, or there are too many files: the listener stays usable.
            tokio::time::sleep(OUT_OF_FILES).await;
            continue;
        };
        // A token must not wait for the acknowledgement of the one before it.
        let _ = socket.set_nodelay(true);
        tokio::spawn(connection(socket, Arc::clone(router), ending.clone()));
    }
}

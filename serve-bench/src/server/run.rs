//! The server from its first line to the signal that ends it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use program::outputs::printed;
use program::provenance::is_clock_set;
use program::say;
use record::exit;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};

use super::Args;
use super::route::Shared;
use super::setup::Setup;
use crate::open_files::raise_open_files;

/// How long nothing is accepted when the process has no file descriptor left.
const OUT_OF_FILES: Duration = Duration::from_millis(20);

/// The signals that end the server, with the exit codes of the house.
const ENDING: [(SignalKind, u8); 3] = [
    (SignalKind::interrupt(), exit::INTERRUPTED),
    (SignalKind::terminate(), exit::TERMINATED),
    (SignalKind::hangup(), exit::HUNG_UP),
];

/// Serves until SIGINT, SIGTERM or SIGHUP and returns the exit code: 130, 143 or 129 then, 2 for bad input.
pub(crate) fn run(args: &Args) -> u8 {
    // A date that it cannot write is a panic to hyper.
    if !is_clock_set() {
        say!("error: this machine's clock is before 1970 or after 9999; set it");
        return exit::USAGE;
    }
    let setup = match Setup::of(args) {
        Ok(setup) => setup,
        Err(error) => {
            say!("error: {error:#}");
            return exit::USAGE;
        }
    };
    raise_open_files();
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            say!("error: cannot start the runtime: {error}");
            return exit::INTERNAL;
        }
    };
    let outcome = runtime.block_on(async {
        let listener = TcpListener::bind((args.host.as_str(), args.port))
            .await
            .with_context(|| format!("cannot listen on {}:{}", args.host, args.port));
        match listener {
            Ok(listener) => serve(setup, listener).await,
            Err(error) => {
                say!("error: {error:#}");
                Ok(exit::USAGE)
            }
        }
    });
    // Open connections end with the runtime; whoever still reads sees the stream cut short.
    runtime.shutdown_background();
    outcome.unwrap_or_else(|error| {
        say!("error: {error:#}");
        exit::INTERNAL
    })
}

async fn serve(mut setup: Setup, listener: TcpListener) -> anyhow::Result<u8> {
    // Before the first line is printed, so that who reads it may send a signal.
    let ended = ending()?;
    let address = listener.local_addr()?;
    let soft_box = setup.soft_box.clone();
    if let Some((_, at)) = &mut setup.remote {
        *at = address.to_string();
    }
    let shared = Arc::new(Shared::start(setup)?);
    say!(
        "simulated box {soft_box}: durations are computed and replies mean nothing; prompt tokens are words"
    );
    // That nobody reads the line must not end the server.
    drop(printed(&format!("listening on http://{address}\n")));
    let code = tokio::select! {
        code = ended => code,
        () = accept(listener, &shared) => exit::INTERNAL,
    };
    say!("{}", shared.counters().line());
    Ok(code)
}

/// Accepts connections and serves each in a task of its own. Ends only when it is dropped.
pub(super) async fn accept(listener: TcpListener, shared: &Arc<Shared>) {
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            // The client gave up, or there are too many files: the listener stays usable.
            tokio::time::sleep(OUT_OF_FILES).await;
            continue;
        };
        // A token must not wait for the acknowledgement of the one before it.
        let _ = socket.set_nodelay(true);
        tokio::spawn(connection(socket, Arc::clone(shared)));
    }
}

/// Serves one connection to its end.
async fn connection(socket: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(|request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(shared.respond(request).await) }
    });
    // A client that breaks off is no error of the server; its requests are cancelled with their bodies.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(socket), service)
        .await;
}

/// Waits for the first of the ending signals and gives its exit code; they are caught when this returns.
fn ending() -> anyhow::Result<impl Future<Output = u8>> {
    let mut caught = Vec::new();
    for (kind, code) in ENDING {
        caught.push((signal(kind).context("cannot catch signals")?, code));
    }
    Ok(std::future::poll_fn(move |context| {
        for (signal, code) in &mut caught {
            if signal.poll_recv(context).is_ready() {
                return std::task::Poll::Ready(*code);
            }
        }
        std::task::Poll::Pending
    }))
}

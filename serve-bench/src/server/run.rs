//! The server from its first line to the signal that ends it.

use std::sync::Arc;

use program::provenance::is_clock_set;
use program::say;
use record::exit;
use tokio::sync::watch;

use super::Args;
use super::route::Shared;
use super::setup::Setup;
use crate::listener::{self, Signals, accept, listening};

/// Serves until SIGINT, SIGTERM or SIGHUP and returns the exit code: 130, 143 or 129 then, 2 for bad input.
pub(crate) fn run(args: &Args) -> u8 {
    // A date that it cannot write is a panic to hyper.
    if !is_clock_set() {
        say!("error: this machine's clock is before 1970 or after 9999; set it");
        return exit::USAGE;
    }
    listener::run(serve(args))
}

async fn serve(args: &Args) -> anyhow::Result<u8> {
    let (setup, engine) = Setup::of(args)?;
    let mut signals = Signals::caught()?;
    say!(
        "simulated box {}: durations are computed and replies mean nothing; prompt tokens are words",
        setup.soft_box
    );
    let listener = listening(&args.host, args.port).await?;
    let shared = Shared::start(setup, engine, &listener.local_addr()?.to_string())?;
    let (_open, ending) = watch::channel(false);
    let counters = Arc::clone(&shared);
    let respond = move |request| Arc::clone(&shared).respond(request);
    let code = tokio::select! {
        code = signals.first() => code,
        () = accept(&listener, &ending, respond) => exit::INTERNAL,
    };
    say!("{}", counters.counters().line());
    Ok(code)
}

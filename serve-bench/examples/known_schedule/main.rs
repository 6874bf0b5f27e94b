//! A server whose tokens leave at instants that are known beforehand, and that keeps the true ones.
//!
//! It is what `bench/serve/peers.sh` measures load generators against: one thread, no model, an absolute schedule for each request,
//! and an instant right before each write. `GET /truth` gives what happened. It is no engine: nothing is computed and no request waits
//! for another; `tplens serve engine` simulates one.

mod args;
mod asked;
mod clock;
mod connection;
mod http;
mod manner;
mod socket;
mod truth;
mod turns;
mod words;

use std::net::TcpListener;
use std::num::NonZeroU64;

use anyhow::{Context, Result};
use clap::Parser;
use nix::sys::socket::{Backlog, listen};
use program::outputs::printed;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::set_current_timer_slack;

use crate::args::ServerArgs;
use crate::turns::Turns;

fn main() -> Result<()> {
    let args = ServerArgs::parse();
    raise_open_files();
    // A wait ends 50 us late otherwise (prctl(2), PR_SET_TIMERSLACK); where that is refused, lateness tells of it.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let listener = TcpListener::bind((args.host.as_str(), args.port))
        .with_context(|| format!("cannot listen on {}:{}", args.host, args.port))?;
    // All connections of a wide load are made at once; as many wait to be accepted as the system allows.
    listen(&listener, Backlog::MAXALLOWABLE)?;
    let url = format!("http://{}", listener.local_addr()?);
    let mut turns = Turns::new(listener, args.manner())?;
    // That nobody reads the line must not end the server.
    drop(printed(&format!("listening on {url}\n")));
    turns.run().context("waiting for sockets")
}

/// Raises the limit of open files to what the system allows: each connection is one.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    // Where it is refused, what is there must do.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
}

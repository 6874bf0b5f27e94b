//! The server from its command line to its end by a signal.

use std::net::TcpListener;
use std::num::NonZeroU64;

use anyhow::{Context, Result};
use measure::exit;
use nix::sys::socket::{Backlog, listen};
use program::outputs::printed;
use program::say;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::set_current_timer_slack;
use supervisor::child::{Outbox, die_with_parent, expected_parent};

use super::args::ServerArgs;
use super::turns::Turns;

/// Serves until a signal ends it and gives the exit code where it cannot.
pub(crate) fn run(args: &ServerArgs) -> u8 {
    match serve(args) {
        Ok(()) => exit::DONE,
        Err(error) => {
            say!("error: {error:#}");
            exit::INTERNAL
        }
    }
}

fn serve(args: &ServerArgs) -> Result<()> {
    let mut outbox = None;
    if args.tied {
        die_with_parent(expected_parent()?)?;
        outbox = Some(Outbox::claim()?);
    }
    raise_open_files();
    // A wait ends 50 us late otherwise (prctl(2), PR_SET_TIMERSLACK); where that is refused, lateness tells of it.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let listener = TcpListener::bind((args.host.as_str(), args.port))
        .with_context(|| format!("cannot listen on {}:{}", args.host, args.port))?;
    // All connections of a wide load are made at once; as many wait to be accepted as the system allows.
    listen(&listener, Backlog::MAXALLOWABLE)?;
    let url = format!("http://{}", listener.local_addr()?);
    let mut turns = Turns::new(listener, args.manner())?;
    match &mut outbox {
        Some(outbox) => outbox.send(&url)?,
        None => {
            // That nobody reads the line must not end the server.
            drop(printed(&format!("listening on {url}\n")));
        }
    }
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

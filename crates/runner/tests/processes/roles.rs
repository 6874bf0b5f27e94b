//! What the test program does when it is started as a worker or as a supervisor of its own.
//!
//! Each role is written for the test that names it; none asserts anything that a test should.

use std::io::Write;
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::channel;

use runner::{Ending, Event, Interrupt, Ladder, Signal, child};

use crate::{ADDRESS, LONG, SHORT, message, start};

/// Plays a role and returns the exit code it ends with.
pub(crate) fn play(role: &str) -> i32 {
    match role {
        "echo" => echo(),
        "noisy" => noisy(),
        "flood" => flood(),
        "until asked" => child::inbox::<()>().unwrap().map(|_| 0).last().unwrap_or(0),
        "deaf" => deaf(false),
        "deaf to sigterm" => deaf(true),
        "crash" => crash(),
        "leave a grandchild" => leave_a_grandchild(),
        "die with parent" => die_with_parent(),
        "parent" => parent(),
        "supervise" => supervise(),
        "ignore the first" => ignore_the_first(),
        "hang up" => hang_up(),
        other => panic!("no role {other}"),
    }
}

fn echo() -> i32 {
    let mut outbox = child::Outbox::claim().unwrap();
    for text in child::inbox::<String>().unwrap() {
        // What a library prints beside the messages, without a line end.
        print!("beside ");
        outbox.send(&text.unwrap().to_uppercase()).unwrap();
    }
    7
}

fn noisy() -> i32 {
    // Not claimed on purpose: the library's text and the message share the pipe.
    println!("NCCL INFO one");
    print!("NCCL INFO two \u{1e}\"message\"\n\u{1e}no json\n");
    eprintln!("warning three");
    0
}

fn flood() -> i32 {
    // 4 MiB on each stream, far more than the pipes hold.
    let line = "x".repeat(1023);
    for _ in 0..4096 {
        println!("{line}");
        eprintln!("{line}");
    }
    child::Outbox::claim().unwrap().send(&"done").unwrap();
    0
}

fn deaf(to_sigterm: bool) -> i32 {
    child::die_with_parent(child::expected_parent().unwrap()).unwrap();
    if to_sigterm {
        // A handler that only sets a flag nobody reads: SIGTERM does nothing.
        signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::default()).unwrap();
    }
    child::Outbox::claim().unwrap().send(&"ready").unwrap();
    park()
}

fn crash() -> i32 {
    child::Outbox::claim().unwrap().send(&"partial").unwrap();
    eprintln!("Xid 79: the device has fallen off the bus");
    std::process::abort()
}

#[expect(
    clippy::zombie_processes,
    reason = "the grandchild outlives this process on purpose"
)]
fn leave_a_grandchild() -> i32 {
    // It holds all three pipes and is in a group of its own, so only the end of its input ends it.
    Command::new("cat").process_group(0).spawn().unwrap();
    let mut outbox = child::Outbox::claim().unwrap();
    outbox.send(&"left").unwrap();
    3
}

fn die_with_parent() -> i32 {
    child::die_with_parent(child::expected_parent().unwrap()).unwrap();
    // The connection closes when this process ends and not before.
    let mut life = TcpStream::connect(std::env::var(ADDRESS).unwrap()).unwrap();
    life.write_all(b"!").unwrap();
    park()
}

fn parent() -> i32 {
    let _worker = start("die with parent");
    park()
}

fn supervise() -> i32 {
    let interrupt = Interrupt::install().unwrap();
    let mut worker = start("deaf");
    assert_eq!(message(&mut worker), "ready");
    let other = interrupt.clone();
    let (sender, receiver) = channel();
    // A second wait in another thread is woken by the same signal.
    std::thread::spawn(move || {
        let mut worker = start("until asked");
        sender
            .send(matches!(
                worker.next::<String>(LONG * 10, &other),
                Event::Interrupted(_)
            ))
            .unwrap();
    });
    println!("ready");
    let Event::Interrupted(signal) = worker.next::<String>(LONG * 10, &interrupt) else {
        return 1;
    };
    if !receiver.recv().unwrap()
        || worker.end(Ladder {
            abort: SHORT,
            term: LONG,
            kill: LONG,
        }) != Ending::Terminated
    {
        return 2;
    }
    i32::from(signal.exit_code())
}

fn ignore_the_first() -> i32 {
    let interrupt = Interrupt::install().unwrap();
    let mut worker = start("deaf");
    assert_eq!(message(&mut worker), "ready");
    println!("ready");
    let Event::Interrupted(Signal::Interrupt) = worker.next::<String>(LONG, &interrupt) else {
        return 1;
    };
    println!("first");
    park()
}

fn hang_up() -> i32 {
    let interrupt = Interrupt::install().unwrap();
    signal_hook::low_level::raise(signal_hook::consts::SIGHUP).unwrap();
    let seen = interrupt.signal().map(Signal::exit_code);
    seen.map_or(0, i32::from)
}

fn park() -> ! {
    loop {
        std::thread::park();
    }
}

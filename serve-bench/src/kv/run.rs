//! `tplens kv` from its command line to its exit code: transfers of each length and direction, over TCP, by NIXL or through a file in
//! /dev/shm.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use disagg::KvShape;
use program::outputs::{self, printed};
use program::show::Show;
use program::{Stop, say};
use record::exit;
use runner::child::{TIED, tplens};
use runner::{Worker, WorkerSpec};
use rustix::fs::{Mode, OFlags, open, unlink};
use tp_plan::ModelFacts;

use super::args::{Args, Backend};
use super::report::{Line, Report, document, laws, line, of_tool};
use super::tool;
use super::wire::{self, End, MOST, Transfer, fill, is_filled, serve};

/// What the other end prints before its address.
const LISTENING: &str = "listening on ";

/// How long it may take to listen.
const START: Duration = Duration::from_secs(10);

/// Measures or serves, and gives the exit code: 5 where content did not arrive.
///
/// # Errors
/// A model, file or address that cannot be used, or no way to the other end.
pub(crate) fn run(args: &Args, show: Show) -> Result<u8, Stop> {
    let json = args.json.as_deref();
    if let Some(file) = &args.from {
        let read = import::transfers::read(file);
        let read = read.map_err(|error| Stop::Usage(error.to_string()))?;
        return Ok(outputs::with_json(show, &of_tool(&read), &read, json));
    }
    let model = ModelFacts::resolve(&args.model);
    let model = model.map_err(|error| Stop::Usage(format!("--model: {error}")))?;
    let shape = KvShape::of(&model, args.block_size);
    let mut transfers = Vec::new();
    for tokens in &args.tokens {
        let transfer = of_rank(&shape, *tokens, args.tp);
        if transfer.bytes() > MOST {
            say!("{tokens} tokens are left out: one rank's share is above 1 GiB; raise --tp");
            continue;
        }
        transfers.extend([true, false].map(|is_read| {
            let transfer = Transfer {
                is_read,
                ..transfer
            };
            (*tokens, transfer)
        }));
    }
    if let Some(named) = tool::of(args.backend) {
        return tool::run(named, args, &transfers, show);
    }
    if args.out.is_some() || !args.words.is_empty() {
        let why = "--out and words after `--` are for tools of others; name one with --backend";
        return Err(Stop::Usage(why.to_owned()));
    }
    if let Some(address) = &args.listen {
        let refused = |error| Stop::Usage(format!("cannot listen on {address}: {error}"));
        let listener = TcpListener::bind(address).map_err(refused)?;
        let at = listener.local_addr().map_err(refused)?;
        drop(printed(&format!("{LISTENING}{at}\n")));
        serve(&listener, &args.libraries());
        return Ok(exit::INTERNAL);
    }
    let (lines, is_right) = measured(args, &transfers).map_err(|error| {
        Stop::Refused(format!("no way to the other end, or it broke: {error}").into())
    })?;
    let report = Report {
        schema: 1,
        backend: args.backend.into(),
        model: model.name,
        tp: args.tp,
        is_right,
        laws: laws(&lines),
        lines,
    };
    let shown = outputs::with_json(show, &document(&report), &report, json);
    let ended = match is_right {
        true if report.lines.is_empty() => exit::INCONCLUSIVE,
        true => exit::DONE,
        false => exit::WRONG_DATA,
    };
    Ok(exit::fold([shown, ended]))
}

/// A line of each transfer, and whether all content arrived.
fn measured(args: &Args, transfers: &[(u32, Transfer)]) -> io::Result<(Vec<Line>, bool)> {
    let most = transfers.iter().map(|(_, transfer)| transfer.bytes()).max();
    let (mut channel, _other) = Channel::open(args, most.unwrap_or(1))?;
    let (mut lines, mut is_right) = (Vec::new(), true);
    for (tokens, transfer) in transfers {
        let (seconds, are_right) = channel.timed(*transfer, args.iters)?;
        is_right &= are_right;
        lines.extend(line(*tokens, *transfer, &seconds));
    }
    Ok((lines, is_right))
}

/// What one rank sends of a prompt: its share of each block of each layer, keys and values apart.
fn of_rank(shape: &KvShape, tokens: u32, tp: u32) -> Transfer {
    let pieces = shape.descriptors(tokens, true).max(1);
    let bytes = shape.sent_bytes(tokens, tp) / f64::from(tp);
    Transfer {
        is_read: true,
        piece: ((bytes / pieces as f64) as u64).max(1),
        pieces,
        seed: u64::from(tokens),
    }
}

/// The way to the other end, and what is copied into and out of.
enum Channel {
    Stream(TcpStream, End),
    Shm(File, Vec<u8>),
}

/// Starts the other end in a process of its own, which ends with the worker, and gives its address.
fn other(nixl: Option<&Path>) -> io::Result<(Worker, String)> {
    let own = tplens().map_err(io::Error::other)?;
    let mut words: Vec<OsString> = vec![TIED.into(), own.into(), "kv".into()];
    words.extend(["--listen", "127.0.0.1:0"].map(OsString::from));
    words.extend(
        nixl.into_iter()
            .flat_map(|file| ["--nixl".into(), file.into()]),
    );
    let mut spec = WorkerSpec::this_program("kv", words)?;
    let (tell, told) = mpsc::channel();
    spec.noise = Some(Arc::new(move |line: &str| {
        match line.strip_prefix(LISTENING) {
            Some(address) => drop(tell.send(address.to_owned())),
            None => say!("{line}"),
        }
    }));
    let worker = Worker::spawn(spec).map_err(io::Error::other)?;
    let address = told.recv_timeout(START);
    let address = address.map_err(|_| io::Error::other("it did not start"))?;
    Ok((worker, address))
}

impl Channel {
    /// Connects, or starts the other end, which ends with what is given beside; by NIXL up to so many bytes.
    ///
    /// # Errors
    /// Nobody listens there, NIXL is not to be had, or there is no /dev/shm.
    fn open(args: &Args, most: u64) -> io::Result<(Self, Option<Worker>)> {
        if args.backend == Backend::Shm {
            let path = format!("/dev/shm/tplens-kv-{}", std::process::id());
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let file = open(path.as_str(), flags, Mode::RUSR | Mode::WUSR)?;
            // Nothing is left behind, however this ends.
            unlink(path.as_str())?;
            return Ok((Self::Shm(File::from(file), Vec::new()), None));
        }
        let (worker, peer) = match &args.peer {
            Some(peer) => (None, peer.clone()),
            None => {
                let (worker, address) = other(args.nixl.as_deref())?;
                (Some(worker), address)
            }
        };
        let mut stream = TcpStream::connect(peer)?;
        stream.set_nodelay(true)?;
        let end = match args.backend {
            Backend::Nixl => wire::over_nixl(&mut stream, most, &args.libraries())?,
            _ => End::default(),
        };
        Ok((Self::Stream(stream, end), worker))
    }

    /// Seconds of transfers of one length in one direction, of which the first is not counted, and whether all content arrived.
    ///
    /// # Errors
    /// The other end broke off, or /dev/shm is full.
    fn timed(&mut self, transfer: Transfer, iters: u32) -> io::Result<(Vec<f64>, bool)> {
        let (mut all, mut are_right) = (Vec::new(), true);
        for turn in 0..=iters {
            let transfer = Transfer {
                seed: transfer.seed + u64::from(turn),
                ..transfer
            };
            let (seconds, is_right) = match self {
                Self::Stream(stream, end) => wire::transfer(stream, end, transfer)?,
                Self::Shm(file, buffer) => through(file, buffer, transfer)?,
            };
            are_right &= is_right;
            all.push(seconds);
        }
        all.remove(0);
        Ok((all, are_right))
    }
}

/// Reads or writes a file piece by piece.
fn through(file: &File, buffer: &mut Vec<u8>, transfer: Transfer) -> io::Result<(f64, bool)> {
    let length = usize::try_from(transfer.bytes()).map_err(io::Error::other)?;
    let piece = usize::try_from(transfer.piece).map_err(io::Error::other)?;
    buffer.resize(length, 0);
    fill(buffer, transfer.seed);
    if transfer.is_read {
        file.write_all_at(buffer, 0)?;
        buffer.fill(0);
    }
    let begun = Instant::now();
    for (index, piece) in buffer.chunks_mut(piece).enumerate() {
        let at = index as u64 * transfer.piece;
        match transfer.is_read {
            true => file.read_exact_at(piece, at)?,
            false => file.write_all_at(piece, at)?,
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    if !transfer.is_read {
        buffer.fill(0);
        file.read_exact_at(buffer, 0)?;
    }
    Ok((seconds, is_filled(buffer, transfer.seed)))
}

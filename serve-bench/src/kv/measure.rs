//! Transfers of each length and direction, over TCP, by NIXL or through a file in /dev/shm.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::net::TcpStream;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use runner::child::{PARENT_VARIABLE, TIED, tplens};
use rustix::fs::{Mode, OFlags, open, unlink};

use super::args::{Args, Backend};
use super::wire::{self, End, Transfer, fill, is_filled};

/// What the other end prints before its address.
pub(super) const LISTENING: &str = "listening on ";

/// The way to the other end, and what is copied into and out of.
pub(super) enum Channel {
    Stream(TcpStream, End),
    Shm(File, Vec<u8>),
}

/// The other end in a process of its own, which dies with this one.
pub(super) struct Other(Child);

impl Drop for Other {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Other {
    /// Starts it, and gives its address.
    fn start(nixl: Option<&Path>) -> io::Result<(Self, String)> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .arg(TIED)
            .arg(tplens().map_err(io::Error::other)?)
            .args(["kv", "--listen", "127.0.0.1:0"])
            .env(PARENT_VARIABLE, std::process::id().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        if let Some(nixl) = nixl {
            command.arg("--nixl").arg(nixl);
        }
        let mut other = Self(command.spawn()?);
        let mut line = String::new();
        if let Some(out) = other.0.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        let address = line.trim_end().strip_prefix(LISTENING);
        let address = address.ok_or_else(|| io::Error::other("it did not start"))?;
        Ok((other, address.to_owned()))
    }
}

impl Channel {
    /// Connects, or starts the other end, which ends with what is given beside; by NIXL up to so many bytes.
    ///
    /// # Errors
    /// Nobody listens there, NIXL is not to be had, or there is no /dev/shm.
    pub(super) fn open(args: &Args, most: u64) -> io::Result<(Self, Option<Other>)> {
        if args.backend == Backend::Shm {
            let path = format!("/dev/shm/tplens-kv-{}", std::process::id());
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let file = open(path.as_str(), flags, Mode::RUSR | Mode::WUSR)?;
            // Nothing is left behind, however this ends.
            unlink(path.as_str())?;
            return Ok((Self::Shm(File::from(file), Vec::new()), None));
        }
        let (other, peer) = match &args.peer {
            Some(peer) => (None, peer.clone()),
            None => {
                let (other, address) = Other::start(args.nixl.as_deref())?;
                (Some(other), address)
            }
        };
        let mut stream = TcpStream::connect(peer)?;
        stream.set_nodelay(true)?;
        let end = match args.backend {
            Backend::Nixl => wire::over_nixl(&mut stream, most, &args.libraries())?,
            _ => End::default(),
        };
        Ok((Self::Stream(stream, end), other))
    }

    /// Seconds of transfers of one length in one direction, of which the first is not counted, and whether all content arrived.
    ///
    /// # Errors
    /// The other end broke off, or /dev/shm is full.
    pub(super) fn timed(&mut self, transfer: Transfer, iters: u32) -> io::Result<(Vec<f64>, bool)> {
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

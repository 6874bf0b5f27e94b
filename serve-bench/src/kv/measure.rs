//! Transfers of each length and direction, over TCP or through a file in /dev/shm.

use std::fs::File;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt as _;
use std::time::Instant;

use rustix::fs::{Mode, OFlags, open, unlink};

use super::args::Backend;
use super::wire::{self, Transfer, fill, is_filled};

/// One length in one direction.
#[derive(Debug, Clone)]
pub(super) struct Timed {
    pub(super) tokens: u32,
    pub(super) transfer: Transfer,
    /// Seconds, one a transfer.
    pub(super) seconds: Vec<f64>,
    /// Whether all content arrived.
    pub(super) is_right: bool,
}

/// The other end, and what is copied into and out of.
pub(super) enum Channel {
    Tcp(TcpStream),
    Shm(File),
}

impl Channel {
    /// Connects, or starts the other end in this program.
    ///
    /// # Errors
    /// Nobody listens there, or there is no /dev/shm.
    pub(super) fn open(backend: Backend, peer: Option<&str>) -> io::Result<Self> {
        if backend == Backend::Shm {
            let path = format!("/dev/shm/tplens-kv-{}", std::process::id());
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let file = open(path.as_str(), flags, Mode::RUSR | Mode::WUSR)?;
            // Nothing is left behind, however this ends.
            unlink(path.as_str())?;
            return Ok(Self::Shm(File::from(file)));
        }
        let stream = match peer {
            Some(peer) => TcpStream::connect(peer)?,
            None => {
                let listener = TcpListener::bind("127.0.0.1:0")?;
                let address = listener.local_addr()?;
                std::thread::spawn(move || wire::serve(&listener));
                TcpStream::connect(address)?
            }
        };
        stream.set_nodelay(true)?;
        Ok(Self::Tcp(stream))
    }

    /// Times transfers of one length in one direction; the first is not counted.
    ///
    /// # Errors
    /// The other end broke off, or /dev/shm is full.
    pub(super) fn timed(
        &mut self,
        tokens: u32,
        transfer: Transfer,
        iters: u32,
        buffer: &mut Vec<u8>,
    ) -> io::Result<Timed> {
        let mut timed = Timed {
            tokens,
            transfer,
            seconds: Vec::new(),
            is_right: true,
        };
        for turn in 0..=iters {
            let transfer = Transfer {
                seed: transfer.seed + u64::from(turn),
                ..transfer
            };
            let (seconds, is_right) = match self {
                Self::Tcp(stream) => wire::transfer(stream, buffer, transfer)?,
                Self::Shm(file) => through(file, buffer, transfer)?,
            };
            timed.is_right &= is_right;
            if turn > 0 {
                timed.seconds.push(seconds);
            }
        }
        Ok(timed)
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

//! Both ends of a transfer over TCP, and the content that tells whether it arrived.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

/// Bytes of one transfer at most.
pub(super) const MOST: u64 = 1 << 30;

/// Bytes of a request: what to do, bytes of a piece, pieces, seed.
const REQUEST: usize = 25;

/// An odd number with bits all over (golden ratio of 2^64).
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// What a decode engine asks of a prefill engine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer {
    /// Whether the other end sends.
    pub(super) is_read: bool,
    /// Bytes of a piece: a block of a layer.
    pub(super) piece: u64,
    /// Pieces.
    pub(super) pieces: u64,
    /// Decides the content.
    pub(super) seed: u64,
}

impl Transfer {
    /// All bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.piece * self.pieces
    }

    fn to_bytes(self) -> [u8; REQUEST] {
        let mut bytes = [0; REQUEST];
        bytes[0] = u8::from(self.is_read);
        for (index, number) in [self.piece, self.pieces, self.seed].into_iter().enumerate() {
            let at = 1 + index * 8;
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn of_bytes(bytes: &[u8; REQUEST]) -> io::Result<Self> {
        let number = |index: usize| {
            let at = 1 + index * 8;
            let mut eight = [0; 8];
            eight.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(eight)
        };
        let (piece, pieces) = (number(0), number(1));
        let is_possible = piece > 0 && piece.checked_mul(pieces).is_some_and(|all| all <= MOST);
        if !is_possible {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Self {
            is_read: bytes[0] == 1,
            piece,
            pieces,
            seed: number(2),
        })
    }
}

/// Fills a buffer with content that no other seed has.
pub(super) fn fill(buffer: &mut [u8], seed: u64) {
    let mut value = seed.wrapping_mul(STEP);
    for chunk in buffer.chunks_mut(8) {
        value = value.wrapping_add(STEP);
        let bytes = (value ^ (value >> 29)).to_le_bytes();
        chunk.copy_from_slice(&bytes[..chunk.len()]);
    }
}

/// Whether a buffer has that content.
pub(super) fn is_filled(buffer: &[u8], seed: u64) -> bool {
    let mut expected = vec![0; buffer.len()];
    fill(&mut expected, seed);
    expected == buffer
}

/// Serves transfers to whoever connects; ends only with the listener.
pub(super) fn serve(listener: &TcpListener) {
    for stream in listener.incoming().flatten() {
        // A peer that breaks off ends its own connection.
        std::thread::spawn(move || drop(serve_one(stream)));
    }
}

fn serve_one(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    loop {
        let mut request = [0; REQUEST];
        stream.read_exact(&mut request)?;
        let transfer = Transfer::of_bytes(&request)?;
        let length = usize::try_from(transfer.bytes()).map_err(io::Error::other)?;
        buffer.resize(length, 0);
        if transfer.is_read {
            fill(&mut buffer, transfer.seed);
        }
        // Ready: what follows is timed.
        stream.write_all(&[1])?;
        if transfer.is_read {
            let mut go = [0; 1];
            stream.read_exact(&mut go)?;
            send(&mut stream, &buffer, transfer.piece)?;
        } else {
            receive(&mut stream, &mut buffer, transfer.piece)?;
            stream.write_all(&[1])?;
            stream.write_all(&[u8::from(is_filled(&buffer, transfer.seed))])?;
        }
    }
}

fn send(stream: &mut TcpStream, buffer: &[u8], piece: u64) -> io::Result<()> {
    let piece = usize::try_from(piece).map_err(io::Error::other)?;
    buffer
        .chunks(piece)
        .try_for_each(|piece| stream.write_all(piece))
}

fn receive(stream: &mut TcpStream, buffer: &mut [u8], piece: u64) -> io::Result<()> {
    let piece = usize::try_from(piece).map_err(io::Error::other)?;
    buffer
        .chunks_mut(piece)
        .try_for_each(|piece| stream.read_exact(piece))
}

/// Carries out a transfer: seconds from asking until all is there, and whether the content is right.
pub(super) fn transfer(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
    transfer: Transfer,
) -> io::Result<(f64, bool)> {
    let length = usize::try_from(transfer.bytes()).map_err(io::Error::other)?;
    buffer.resize(length, 0);
    match transfer.is_read {
        true => buffer.fill(0),
        false => fill(buffer, transfer.seed),
    }
    stream.write_all(&transfer.to_bytes())?;
    let mut one = [0; 1];
    stream.read_exact(&mut one)?;
    let begun = std::time::Instant::now();
    if transfer.is_read {
        stream.write_all(&[1])?;
        receive(stream, buffer, transfer.piece)?;
        let seconds = begun.elapsed().as_secs_f64();
        return Ok((seconds, is_filled(buffer, transfer.seed)));
    }
    send(stream, buffer, transfer.piece)?;
    stream.read_exact(&mut one)?;
    let seconds = begun.elapsed().as_secs_f64();
    stream.read_exact(&mut one)?;
    Ok((seconds, one == [1]))
}

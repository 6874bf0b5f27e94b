//! Both ends of a transfer over TCP or by NIXL, whose ends agree over TCP, and the content that tells whether it arrived.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::Instant;

use super::ffi::Agent;

/// Bytes of one transfer at most.
pub(super) const MOST: u64 = 1 << 30;

/// What a request asks for: a write, a read, or to register as many bytes with NIXL.
const WRITE: u64 = 0;
const READ: u64 = 1;
const REGISTER: u64 = 2;

/// Metadata of an agent at most.
const METADATA: u64 = 1 << 20;

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

    /// What a request asks for, where it is possible.
    fn of([asked, piece, pieces, seed]: [u64; 4]) -> io::Result<Self> {
        let is_possible = piece > 0 && piece.checked_mul(pieces).is_some_and(|all| all <= MOST);
        if !is_possible {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Self {
            is_read: asked == READ,
            piece,
            pieces,
            seed,
        })
    }
}

fn write_numbers(stream: &mut TcpStream, numbers: &[u64]) -> io::Result<()> {
    let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
    stream.write_all(&bytes.collect::<Vec<u8>>())
}

fn read_numbers<const N: usize>(stream: &mut TcpStream) -> io::Result<[u64; N]> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        let mut eight = [0; 8];
        stream.read_exact(&mut eight)?;
        *number = u64::from_le_bytes(eight);
    }
    Ok(numbers)
}

/// Fills a buffer with content that no other seed has.
pub(super) fn fill(buffer: &mut [u8], seed: u64) {
    let mut value = seed.wrapping_mul(STEP);
    let mut next = || {
        value = value.wrapping_add(STEP);
        (value ^ (value >> 29)).to_le_bytes()
    };
    let (words, rest) = buffer.as_chunks_mut();
    for word in words {
        *word = next();
    }
    rest.copy_from_slice(&next()[..rest.len()]);
}

/// Whether a buffer has that content.
pub(super) fn is_filled(buffer: &[u8], seed: u64) -> bool {
    let mut expected = vec![0; buffer.len()];
    fill(&mut expected, seed);
    expected == buffer
}

/// What an end copies out of and into: its own buffer, or what is registered with NIXL.
#[derive(Default)]
pub(super) struct End {
    buffer: Vec<u8>,
    agent: Option<Box<Agent>>,
}

impl End {
    fn memory(&mut self, transfer: Transfer) -> io::Result<&mut [u8]> {
        let length = whole(transfer.bytes())?;
        let Some(agent) = &mut self.agent else {
            self.buffer.resize(length, 0);
            return Ok(&mut self.buffer);
        };
        let memory = agent.memory().get_mut(..length);
        memory.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// Serves transfers to whoever connects; ends only with the listener.
pub(super) fn serve(listener: &TcpListener, nixl: &[PathBuf]) {
    for stream in listener.incoming().flatten() {
        let nixl = nixl.to_vec();
        // A peer that breaks off ends its own connection.
        std::thread::spawn(move || drop(serve_one(stream, &nixl)));
    }
}

fn serve_one(mut stream: TcpStream, nixl: &[PathBuf]) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut end = End::default();
    loop {
        let request = read_numbers(&mut stream)?;
        let transfer = Transfer::of(request)?;
        if request[0] == REGISTER {
            end.agent = register(&mut stream, transfer.bytes(), nixl).ok();
            continue;
        }
        let is_nixl = end.agent.is_some();
        match transfer.is_read {
            true => fill(end.memory(transfer)?, transfer.seed),
            false => end.memory(transfer)?.fill(0),
        }
        // Ready: what follows is timed.
        stream.write_all(&[1])?;
        if is_nixl || transfer.is_read {
            // Go, or with NIXL that the other end is done.
            stream.read_exact(&mut [0; 1])?;
        }
        let memory = end.memory(transfer)?;
        if !is_nixl && transfer.is_read {
            send(&mut stream, memory, transfer.piece)?;
        } else if !is_nixl {
            receive(&mut stream, memory, transfer.piece)?;
            stream.write_all(&[1])?;
        }
        if !transfer.is_read {
            stream.write_all(&[u8::from(is_filled(memory, transfer.seed))])?;
        }
    }
}

/// Registers memory and tells the other end how to reach it; no metadata where NIXL is not to be had.
fn register(stream: &mut TcpStream, bytes: u64, nixl: &[PathBuf]) -> io::Result<Box<Agent>> {
    let bytes = whole(bytes)?;
    let name = format!("tplens-{}", stream.local_addr()?);
    let agent = Agent::open(nixl, &name, bytes);
    let metadata = agent.as_ref().map(Agent::metadata);
    let (address, metadata) = metadata.ok().and_then(Result::ok).unwrap_or_default();
    write_numbers(stream, &[address as u64, metadata.len() as u64])?;
    stream.write_all(&metadata)?;
    agent.map(Box::new)
}

/// An end that reaches the other's memory by NIXL, as many bytes of it.
///
/// # Errors
/// NIXL is not to be had here or there.
pub(super) fn over_nixl(stream: &mut TcpStream, bytes: u64, nixl: &[PathBuf]) -> io::Result<End> {
    let own = whole(bytes)?;
    let mut agent = Agent::open(nixl, &format!("tplens-{}", stream.local_addr()?), own)?;
    // One piece of so many bytes.
    write_numbers(stream, &[REGISTER, bytes, 1, 0])?;
    let [address, length] = read_numbers(stream)?;
    if length == 0 || length > METADATA {
        return Err(io::Error::other(
            "the other end has no NIXL; see its --nixl",
        ));
    }
    let mut metadata = Vec::new();
    stream.take(length).read_to_end(&mut metadata)?;
    agent.meet(whole(address)?, &metadata)?;
    Ok(End {
        buffer: Vec::new(),
        agent: Some(Box::new(agent)),
    })
}

fn whole(number: u64) -> io::Result<usize> {
    usize::try_from(number).map_err(io::Error::other)
}

fn send(stream: &mut TcpStream, buffer: &[u8], piece: u64) -> io::Result<()> {
    let mut pieces = buffer.chunks(whole(piece)?);
    pieces.try_for_each(|piece| stream.write_all(piece))
}

fn receive(stream: &mut TcpStream, buffer: &mut [u8], piece: u64) -> io::Result<()> {
    let mut pieces = buffer.chunks_mut(whole(piece)?);
    pieces.try_for_each(|piece| stream.read_exact(piece))
}

/// Carries out a transfer: seconds from asking until all is there, and whether the content is right.
pub(super) fn transfer(
    stream: &mut TcpStream,
    end: &mut End,
    transfer: Transfer,
) -> io::Result<(f64, bool)> {
    let memory = end.memory(transfer)?;
    match transfer.is_read {
        true => memory.fill(0),
        false => fill(memory, transfer.seed),
    }
    let asked = if transfer.is_read { READ } else { WRITE };
    let request = [asked, transfer.piece, transfer.pieces, transfer.seed];
    write_numbers(stream, &request)?;
    let mut one = [0; 1];
    stream.read_exact(&mut one)?;
    let seconds = if let Some(agent) = &mut end.agent {
        let (piece, pieces) = (whole(transfer.piece)?, whole(transfer.pieces)?);
        let seconds = agent.transfer(transfer.is_read, piece, pieces)?;
        stream.write_all(&[1])?;
        seconds
    } else {
        let begun = Instant::now();
        if transfer.is_read {
            stream.write_all(&[1])?;
            receive(stream, &mut end.buffer, transfer.piece)?;
        } else {
            send(stream, &end.buffer, transfer.piece)?;
            stream.read_exact(&mut one)?;
        }
        begun.elapsed().as_secs_f64()
    };
    if transfer.is_read {
        return Ok((seconds, is_filled(end.memory(transfer)?, transfer.seed)));
    }
    stream.read_exact(&mut one)?;
    Ok((seconds, one == [1]))
}

//! Memory that kernels write and compare, word by word: all pieces are written before the first is compared, so that nothing is
//! answered by a cache.

use std::rc::Rc;

use device::pattern::Pattern;
use device::{Device, Event, HostBuffer, HostKind, Result, Stream};
use kernels::{Kernels, Place};

use super::pieces::{Pass, Pieces};

/// Bytes of an answer.
const ANSWER: usize = 8;

pub(super) struct ByKernels<D: Device> {
    device: D,
    kernels: Rc<Kernels<D>>,
    stream: D::Stream,
    marks: [D::Event; 3],
    pieces: Pieces<D>,
    /// The index of the first wrong word of each piece.
    answers: D::DeviceBuffer,
    /// What they are before, and after.
    host: HostBuffer,
    ordinal: usize,
}

impl<D: Device> ByKernels<D> {
    pub(super) fn new(
        device: &D,
        kernels: Rc<Kernels<D>>,
        pieces: Pieces<D>,
        ordinal: usize,
    ) -> Result<Self> {
        let bytes = pieces.all.len() * ANSWER;
        Ok(Self {
            stream: device.stream()?,
            marks: [device.event()?, device.event()?, device.event()?],
            answers: device.alloc(bytes)?,
            host: device.alloc_host(HostKind::Pinned, bytes, None)?,
            device: device.clone(),
            kernels,
            pieces,
            ordinal,
        })
    }

    /// Writes all pieces, each with words of its own in each pass, and compares them.
    pub(super) fn pass(&mut self, pass: u64) -> Result<Pass> {
        let Self {
            stream, kernels, ..
        } = self;
        let bytes = self.pieces.bytes;
        let pattern = |number: usize| pattern(self.ordinal, pass, number, bytes);
        self.host.with_bytes(|bytes| bytes.fill(0xff))?;
        let answers = self.host.len();
        stream.host_to_device((&self.answers, 0), (&self.host, 0), answers)?;
        stream.record(&self.marks[0])?;
        for (number, piece) in self.pieces.all.iter().enumerate() {
            let to = Place::Device(piece, 0);
            kernels.fill(stream, to, bytes, pattern(number), false)?;
        }
        stream.record(&self.marks[1])?;
        for (number, piece) in self.pieces.all.iter().enumerate() {
            let (data, told) = (
                Place::Device(piece, 0),
                Place::Device(&self.answers, number * ANSWER),
            );
            kernels.check(stream, data, bytes, pattern(number), told)?;
        }
        stream.record(&self.marks[2])?;
        stream.device_to_host((&self.host, 0), (&self.answers, 0), answers)?;
        stream.synchronize()?;
        let first_wrong = |bytes: &mut [u8]| {
            let mut answers = bytes.chunks_exact(ANSWER).map(|answer| {
                answer
                    .iter()
                    .rev()
                    .fold(0, |all, one| (all << 8) | u64::from(*one))
            });
            answers.position(|answer| answer != u64::MAX)
        };
        let wrong = match self.host.with_bytes(first_wrong)? {
            Some(number) => Some(self.second_look(number, pattern(number))?),
            None => None,
        };
        Ok(Pass {
            written_ns: self.marks[1].nanoseconds_since(&self.marks[0])?,
            checked_ns: Some(self.marks[2].nanoseconds_since(&self.marks[1])?),
            wrong,
        })
    }

    /// What the host finds wrong in a piece that a kernel found wrong.
    fn second_look(&self, number: usize, pattern: Pattern) -> Result<String> {
        let bytes = self.pieces.bytes;
        let host = self.device.alloc_host(HostKind::Pageable, bytes, None)?;
        let piece = &self.pieces.all[number];
        self.stream.device_to_host((&host, 0), (piece, 0), bytes)?;
        self.stream.synchronize()?;
        let told = host.with_bytes(|found| differences(found, pattern))?;
        Ok(format!("piece {number}: {told}"))
    }
}

/// The words of a piece in a pass: no piece has another one's, and none what it had before.
pub(super) fn pattern(ordinal: usize, pass: u64, number: usize, bytes: usize) -> Pattern {
    Pattern::of(ordinal as u64, (pass << 20) | number as u64, bytes as u64)
}

/// How many words differ from a pattern, and where the first does.
pub(super) fn differences(found: &[u8], pattern: Pattern) -> String {
    let mut expected = vec![0; found.len()];
    pattern.fill(&mut expected);
    let words = found.chunks(8).zip(expected.chunks(8));
    let count = words.filter(|(found, expected)| found != expected).count();
    match pattern.first_difference(found) {
        Some(first) => format!(
            "{count} of {} words are wrong, the first: {first}",
            found.len() / 8
        ),
        None => {
            "a comparison on the device found a word wrong that the host finds right".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_pass_are_those_of_no_other_pass_piece_or_device() {
        let all = [
            pattern(0, 0, 0, 64),
            pattern(1, 0, 0, 64),
            pattern(0, 1, 0, 64),
            pattern(0, 0, 1, 64),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(all[..at].iter().all(|other| other != one), "{at}");
        }
    }

    #[test]
    fn what_differs_is_counted_in_words() {
        let pattern = pattern(0, 3, 2, 64);
        let mut found = vec![0; 64];
        pattern.fill(&mut found);
        assert!(differences(&found, pattern).contains("finds right"));
        // Bytes 17 and 19 are of word 2, byte 40 is of word 5: two words of 64 / 8.
        for at in [17, 19, 40] {
            found[at] ^= 1;
        }
        let told = differences(&found, pattern);
        assert!(
            told.starts_with("2 of 8 words are wrong, the first: byte 17 is"),
            "{told}"
        );
    }
}

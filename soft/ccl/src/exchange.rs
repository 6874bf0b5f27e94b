//! Sends and receives: pieces go through a mailbox for each ordered pair of ranks, which holds one.
#![expect(unsafe_code, reason = "reads and writes device memory")]

use crate::communicator::Progress;
use crate::operation::{Message, Operation};
use crate::segment::Place;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Words of a mailbox: pieces that were put into it, pieces that were taken out, and the bytes of the last one.
const PUT: usize = 0;
const TAKEN: usize = 1;
const BYTES: usize = 2;

impl Operation {
    /// Moves what the mailboxes let through, and waits a little for more; whether all is done.
    ///
    /// Messages to one rank go in their order, and so do messages from one; a piece that has other bytes than the receiver
    /// expects is never taken.
    pub(crate) fn deliver(&self, progress: &mut Progress, stays_away: bool, wait: bool) -> bool {
        let (own, done) = (&self.communicator, &mut progress.exchanged);
        done.resize(self.messages.len(), 0);
        loop {
            if own.is_aborted() || self.is_over(done) {
                done.clear();
                return true;
            }
            let moving = |number: &usize| !stays_away && self.can_move(done, *number);
            let ready: Vec<usize> = (0..self.messages.len()).filter(moving).collect();
            for number in &ready {
                done[*number] += self.move_piece(self.messages[*number], done[*number]);
            }
            if !ready.is_empty() {
                own.segment.ring();
                continue;
            }
            let some = || {
                !stays_away && (0..self.messages.len()).any(|number| self.can_move(done, number))
            };
            // One that is aborted meanwhile is done at the next look.
            if !wait || !(own.wait(some) || own.is_aborted()) {
                return false;
            }
        }
    }

    fn is_over(&self, done: &[usize]) -> bool {
        let mut pairs = self.messages.iter().zip(done);
        pairs.all(|(message, done)| *done == message.bytes)
    }

    /// Whether the next piece of a message can go now.
    fn can_move(&self, done: &[usize], number: usize) -> bool {
        let message = self.messages[number];
        let is_earlier = |other: &usize| {
            let one = self.messages[*other];
            (one.is_send, one.peer) == (message.is_send, message.peer) && done[*other] < one.bytes
        };
        if done[number] == message.bytes || (0..number).any(|other| is_earlier(&other)) {
            return false;
        }
        let word = |number| {
            let (from, to) = self.ends(message);
            self.communicator
                .segment
                .of_mail(from, to, number)
                .load(Acquire)
        };
        let is_full = word(PUT) != word(TAKEN);
        match message.is_send {
            true => !is_full,
            false => is_full && word(BYTES) == self.piece(message, done[number]) as u64,
        }
    }

    /// Moves one piece, for which there is room or which is there; its bytes.
    fn move_piece(&self, message: Message, done: usize) -> usize {
        let segment = &self.communicator.segment;
        let (from, to) = self.ends(message);
        let (place, bytes) = (Place::Mail { from, to }, self.piece(message, done));
        let at = message.at + done;
        let word = |number| segment.of_mail(from, to, number);
        if message.is_send {
            // SAFETY: the driver has checked that the source is allocated; the receiver reads when `PUT` has grown.
            unsafe { segment.fill(place, at as *const u8, bytes) };
            word(BYTES).store(bytes as u64, Release);
        } else {
            // SAFETY: the driver has checked that the target is allocated; the sender writes when `TAKEN` has grown.
            unsafe { segment.take((place, bytes), 0, at as *mut u8, bytes) };
        }
        let count = word(if message.is_send { PUT } else { TAKEN });
        count.store(count.load(Acquire) + 1, Release);
        bytes
    }

    /// Sender and receiver.
    fn ends(&self, message: Message) -> (usize, usize) {
        match message.is_send {
            true => (self.communicator.rank, message.peer),
            false => (message.peer, self.communicator.rank),
        }
    }

    /// Bytes of the next piece.
    fn piece(&self, message: Message, done: usize) -> usize {
        (message.bytes - done).min(self.communicator.segment.mail_bytes())
    }
}

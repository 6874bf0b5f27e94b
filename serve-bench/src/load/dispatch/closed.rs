//! The closed loop: as many requests in flight as there are slots, each that ends followed by the next.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::mpsc::Sender;
use std::time::Instant;

use tokio::task::spawn_local;

use super::{Told, join};
use crate::load::reply::Reply;
use crate::load::request::{Request, of};
use crate::load::slot::Slot;

/// Sends so many of these requests, none after `until`: every slot takes the next one when it is free, or the next turn of its
/// conversation.
pub(super) async fn ask_all(
    slots: Vec<Slot>,
    (requests, count): (Rc<[Request]>, u32),
    until: Option<Instant>,
    tell: &Sender<Told>,
    as_told: fn(Reply) -> Told,
) -> Vec<Slot> {
    let next = Rc::new(Cell::new(0));
    let tasks = slots.into_iter().map(|mut slot| {
        let (requests, next, tell) = (Rc::clone(&requests), Rc::clone(&next), tell.clone());
        spawn_local(async move {
            // Turns behind a first one are of the slot that has that.
            let begins = |number: &u32| *number >= count || !of(&requests, *number).follows;
            let mut turn = count;
            while until.is_none_or(|until| Instant::now() < until) {
                let number = if begins(&turn) {
                    let number = (next.get()..count).find(begins).unwrap_or(count);
                    next.set(number + 1);
                    number
                } else {
                    turn
                };
                if number >= count {
                    break;
                }
                let reply = slot.ask(number, of(&requests, number)).await;
                drop(tell.send(as_told(reply)));
                turn = number + 1;
            }
            slot
        })
    });
    join(tasks.collect()).await
}

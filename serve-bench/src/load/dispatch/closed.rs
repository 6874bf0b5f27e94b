//! The closed loop: as many requests in flight as there are slots, each that ends followed by the next.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::mpsc::Sender;
use std::time::Instant;

use tokio::task::spawn_local;

use super::{Numbered, Told, join};
use crate::load::reply::Reply;
use crate::load::request::{Bodies, Request};
use crate::load::slot::Slot;

/// Sends the warm-up requests.
pub(super) async fn warm_up(
    slots: Vec<Slot>,
    requests: Vec<Request>,
    tell: &Sender<Told>,
) -> Vec<Slot> {
    let next = Cell::new(0);
    let take = move |_| {
        let number = next.replace(next.get() + 1);
        let request = requests.get(number)?.clone();
        Some((u32::try_from(number).ok()?, request))
    };
    loops(slots, Rc::new(take), tell, Told::Warmup).await
}

/// Sends the measured requests, none after `until`.
pub(super) async fn ask_all(
    slots: Vec<Slot>,
    bodies: Rc<Bodies>,
    requests: u32,
    until: Option<Instant>,
    tell: &Sender<Told>,
) {
    let next = Cell::new(0);
    let take = move |before: Option<u32>| {
        let is_over = until.is_some_and(|until| Instant::now() >= until);
        let turn = before.map(|before| before + 1);
        let follows = |number: u32| bodies.measured(number).follows;
        let turn = turn.filter(|turn| *turn < requests && follows(*turn));
        let number = turn.unwrap_or_else(|| {
            // Turns behind a first one are of the slot that has that.
            let begins = |number: &u32| *number >= requests || !follows(*number);
            let number = (next.get()..=requests).find(begins).unwrap_or(requests);
            next.set(number + 1);
            number
        });
        (!is_over && number < requests).then(|| (number, bodies.measured(number).clone()))
    };
    loops(slots, Rc::new(take), tell, Told::Reply).await;
}

/// Every slot takes the next request when it is free.
async fn loops(
    slots: Vec<Slot>,
    take: Rc<dyn Fn(Option<u32>) -> Option<Numbered>>,
    tell: &Sender<Told>,
    as_told: fn(Reply) -> Told,
) -> Vec<Slot> {
    let tasks = slots.into_iter().map(|mut slot| {
        let (take, tell) = (Rc::clone(&take), tell.clone());
        spawn_local(async move {
            let mut before = None;
            while let Some((number, request)) = take(before) {
                if let Some(time) = request.think_time {
                    slot.rest(time).await;
                }
                let reply = slot.ask(number, &request).await;
                drop(tell.send(as_told(reply)));
                before = Some(number);
            }
            slot
        })
    });
    join(tasks.collect()).await
}

//! The check of each server of a plan: what it needs of a GPU, what there is, and which of its cells cannot run.

use std::collections::BTreeMap;

use boxfile::BoxFile;
use tp_plan::ModelFacts;

use super::flags::{Told, told};
use super::size::{bytes, gib};
use crate::sweep::command::{longest, unbound};
use crate::sweep::expand::{Cell, Group, groups};
use crate::sweep::plan::Plan;

/// What an engine is assumed to take on each GPU beside weights and cache, where the plan does not say: activations of the
/// largest step, the runtime and the collective library, captured graphs. vLLM measures it when it starts; 1 GiB is our guess
/// for cards of 24 to 48 GB.
const RESERVE: u64 = 1 << 30;

/// What was found of all servers.
pub(in crate::sweep) struct Checked {
    /// Of each server, in the plan's order.
    pub(super) servers: Vec<Server>,
    /// What was taken for known, a sentence each.
    pub(super) assumed: Vec<String>,
    /// Why a cell cannot run, by its name.
    pub(in crate::sweep) never: BTreeMap<String, String>,
}

/// A server and what it needs.
pub(super) struct Server {
    pub(super) name: String,
    /// What it needs and has; `None` where its model's shape is not known.
    pub(super) room: Option<Room>,
    pub(super) verdict: Verdict,
}

/// What each GPU of a server holds, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    /// What the engine uses of the memory.
    pub(super) usable: u64,
    pub(super) weights: u64,
    pub(super) reserve: u64,
    /// Cache of one token.
    pub(super) token: u64,
    /// Tokens of the longest sequence that the engine must hold.
    pub(super) max_len: u32,
    /// Tokens of the longest cell.
    pub(super) longest: u32,
}

/// What that comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It fits.
    Fits,
    /// It may not, with the reason.
    Close(String),
    /// It cannot run, with the reason.
    Never(String),
    /// Nothing can be said, with the reason.
    Unknown(String),
}

impl Room {
    /// What is left for the cache.
    pub(super) fn left(&self) -> u64 {
        self.usable
            .saturating_sub(self.weights)
            .saturating_sub(self.reserve)
    }

    /// Requests of the longest cell that are held at once.
    pub(super) fn at_once(&self) -> u64 {
        let each = self.token * u64::from(self.longest);
        self.left().checked_div(each).unwrap_or(0)
    }
}

/// Checks every server of a plan; `None` where the plan does not tell the memory.
///
/// # Errors
/// In words: an amount that is none, or a box that is not there or has no GPU.
pub(in crate::sweep) fn checked(plan: &Plan, cells: &[Cell]) -> Result<Option<Checked>, String> {
    let Some((memory, of)) = memory(plan)? else {
        return Ok(None);
    };
    let reserve = match &plan.server.reserve {
        Some(text) => bytes(text).map_err(|error| format!("server.reserve: {error}"))?,
        None => RESERVE,
    };
    let mut assumed = vec![format!("each GPU has {} ({of})", gib(memory))];
    assumed.push(match plan.server.reserve {
        Some(_) => format!("beside weights and cache the engine takes {} (server.reserve)", gib(reserve)),
        None => format!(
            "beside weights and cache the engine takes {}: activations, runtime, captured graphs (assumed; server.reserve says otherwise)",
            gib(reserve)
        ),
    });
    let (mut servers, mut never) = (Vec::new(), BTreeMap::new());
    for group in groups(cells) {
        let longest = longest(cells, &group);
        let told = told(&unbound(plan, &group, longest, None));
        if !told.utilization_told {
            let words = format!(
                "the engine uses {} of a GPU's memory, vLLM's default",
                told.utilization
            );
            if !assumed.contains(&words) {
                assumed.push(words);
            }
        }
        let server = server(plan, &group, &told, memory, reserve, longest);
        for cell in cells.iter().filter(|cell| cell.group == group) {
            let tokens = cell.input.saturating_add(cell.output);
            let too_long = told.max_len.filter(|most| tokens > *most);
            if let Verdict::Never(reason) = &server.verdict {
                never.insert(cell.name.clone(), reason.clone());
            } else if let Some(most) = too_long {
                never.insert(
                    cell.name.clone(),
                    format!("prompt and reply have {tokens} tokens and the server takes {most} (write {{max_len}} in its command)"),
                );
            }
        }
        servers.push(server);
    }
    Ok(Some(Checked {
        servers,
        assumed,
        never,
    }))
}

/// Memory of one GPU, and whose word that is.
fn memory(plan: &Plan) -> Result<Option<(u64, String)>, String> {
    match (&plan.server.memory, &plan.server.described) {
        (Some(_), Some(_)) => {
            Err("server.memory and server.box say the same thing; leave one out".to_owned())
        }
        (Some(text), None) => {
            let memory = bytes(text).map_err(|error| format!("server.memory: {error}"))?;
            Ok(Some((memory, "server.memory".to_owned())))
        }
        (None, Some(name)) => {
            let described =
                BoxFile::resolve(name).map_err(|error| format!("server.box: {error}"))?;
            let seen = |device: &boxfile::Device| {
                let instance = device.mig.first();
                instance.map_or(device.memory_mib, |instance| instance.memory_mib)
            };
            let least = described.device.iter().map(seen).min();
            let least = least.ok_or_else(|| format!("server.box: {name} has no GPU"))?;
            Ok(Some((least << 20, format!("box {}", described.name))))
        }
        (None, None) => Ok(None),
    }
}

fn server(
    plan: &Plan,
    group: &Group,
    told: &Told,
    memory: u64,
    reserve: u64,
    longest: u32,
) -> Server {
    let name = group.name();
    let found =
        ModelFacts::resolve(plan.path(&group.model)).or_else(|_| ModelFacts::resolve(&group.model));
    let mut facts = match found {
        Ok(facts) => facts,
        Err(error) => {
            return Server {
                name,
                room: None,
                verdict: Verdict::Unknown(format!(
                    "the shape of {} is not known here: {error}; a folder with its config.json under [paths] tells it",
                    group.model
                )),
            };
        }
    };
    if let Err(error) = facts.check_tp(group.tp) {
        return Server {
            name,
            room: None,
            verdict: Verdict::Never(error.to_string()),
        };
    }
    if let Some(bytes) = told.cache_bytes {
        facts.kv_cache_bytes = bytes;
    }
    let room = Room {
        usable: part(memory, told.utilization),
        weights: facts.weight_bytes.div_ceil(u64::from(group.tp)),
        reserve,
        token: facts.kv_bytes_per_token_on_rank(group.tp),
        max_len: told.max_len.unwrap_or(longest),
        longest,
    };
    let verdict = verdict(&room, &facts, told);
    Server {
        name,
        room: Some(room),
        verdict,
    }
}

/// What the figures come to. Only what holds whatever the engine takes beside weights and cache is certain.
fn verdict(room: &Room, facts: &ModelFacts, told: &Told) -> Verdict {
    let certain = |reason: String, is_sure: bool| match (&told.unsure, is_sure) {
        (None, true) => Verdict::Never(reason),
        (Some(unsure), _) => Verdict::Close(format!("{reason}, as far as is known: {unsure}")),
        (None, false) => Verdict::Close(format!(
            "{reason}, unless its layers keep less than every token's keys and values ({})",
            facts.family
        )),
    };
    if room.weights >= room.usable {
        return certain(
            format!(
                "weights of {} on each GPU are more than the {} that the engine uses",
                gib(room.weights),
                gib(room.usable)
            ),
            true,
        );
    }
    let one = room.token * u64::from(room.max_len);
    let without = room.usable - room.weights;
    if without < one {
        return certain(
            format!(
                "weights leave {} and one sequence of {} tokens needs {}",
                gib(without),
                room.max_len,
                gib(one)
            ),
            facts.keeps_every_token(),
        );
    }
    if room.left() < one {
        return Verdict::Close(format!(
            "weights leave {}; a sequence of {} tokens needs {} of it, so that it fits only where the engine takes less than {} beside",
            gib(without),
            room.max_len,
            gib(one),
            gib(without - one)
        ));
    }
    // Twice the assumption would leave no room.
    if room.left() < one + room.reserve {
        return Verdict::Close(format!(
            "{} are left for keys and values, of which twice the assumed {} would take nearly all",
            gib(room.left()),
            gib(room.reserve)
        ));
    }
    if told.max_len.is_none() {
        return Verdict::Close(
            "its command tells no --max-model-len, or none that is understood, and without one the engine must have room for the model's \
             own longest sequence, which is not looked at here: write {max_len}"
                .to_owned(),
        );
    }
    Verdict::Fits
}

/// A part of an amount.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bytes below 2^53 times at most 1"
)]
fn part(bytes: u64, part: f64) -> u64 {
    (bytes as f64 * part) as u64
}

#[cfg(test)]
mod tests;

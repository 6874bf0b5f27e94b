//! Which sizes of a study have room for the model's weights, and whether the cache of its requests in flight has room beside them,
//! as far as the memory of the GPUs is known.
//!
//! A size is left out only where the weights alone do not fit: engines queue the requests whose cache does not, and layers with
//! sliding windows keep less than is counted here. Where the memory, or how the engine keeps either, is not known, nothing is left out.

use boxfile::BoxFile;
use explain::Room;
use measure::record::Payload;
use program::Stop;
use tp_plan::{ModelFacts, Surroundings, Vendor};

use super::engines::ServerCommand;
use super::serving::serve;
use super::{LINKS, Study, step};
use crate::explain::boxes;

/// Bytes of a GiB.
const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// Less of the memory to spare than this part may not be enough for what is not counted.
const SPARE: f64 = 0.1;

/// The sizes of a study by what their GPUs hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Those that are measured, ascending.
    pub(super) fit: Vec<u32>,
    /// Why each of the others is left out.
    pub(super) left_out: Vec<String>,
    /// What each of the measured ones needs and has, as far as that is known.
    pub(super) told: Vec<String>,
    /// What may go wrong with those that are measured.
    pub(super) warnings: Vec<String>,
}

impl Sizes {
    /// A line for each size that is left out.
    pub(super) fn left_out(&self) -> impl Iterator<Item = String> {
        self.left_out.iter().map(|why| format!("left out: {why}"))
    }

    /// A line for each size that is left out, and for each warning.
    pub(super) fn remarks(&self) -> impl Iterator<Item = String> {
        let warnings = self.warnings.iter();
        self.left_out()
            .chain(warnings.map(|why| format!("warning: {why}")))
    }
}

impl Study<'_> {
    /// The sizes that have room for the weights; one that was served before has.
    ///
    /// # Errors
    /// None has, or the soft box cannot be used.
    pub(super) fn fitting(&self) -> Result<Sizes, Stop> {
        let mut sizes = Sizes {
            warnings: self.other_weights().into_iter().collect(),
            ..Sizes::default()
        };
        let batch = self.at_once();
        for tp in self.settings.tp.iter().copied() {
            let was_served = step::complete(&self.folder.join(serve(tp))).is_some();
            let room = self.room(tp)?.filter(|_| !was_served);
            match room.map(|room| (room, room.holds_weights(), room.holds(batch))) {
                Some((room, Some(false), _)) => {
                    sizes.left_out.push(without_room(tp, &room));
                    continue;
                }
                Some((room, _, Some(false))) => {
                    sizes.warnings.push(self.waits(tp, &room, batch));
                }
                Some((room, _, _)) => sizes.told.push(self.words(tp, &room, batch)),
                None => {}
            }
            sizes.fit.push(tp);
        }
        match sizes.fit.is_empty() {
            true => Err(Stop::Usage(format!(
                "no size of --tp fits: {}; take more GPUs or a smaller model; --model is what is served: where the server keeps other weights, \
                 such as a quantised checkpoint, give that one's name or config.json; or start the servers yourself and give --base-url, then \
                 no size is left out",
                sizes.left_out.join("; ")
            ))),
            false => Ok(sizes),
        }
    }

    /// That the server is told to serve another model than the planned one, whose weights are not known.
    fn other_weights(&self) -> Option<String> {
        let command = self.command.as_ref().filter(|command| command.is_known())?;
        let planned = &self.settings.model;
        let served = match command.model() {
            Some(served) if is_same(&self.model, planned, served) => return None,
            Some(served) => format!("serves {served}"),
            None => "does not say which model it serves".to_owned(),
        };
        Some(format!(
            "the server command {served} and --model is {planned}: whether its weights fit is not known, so no size is left out, and the page takes \
             the weights of --model; give it the name or the config.json of what is served"
        ))
    }

    /// Requests that a server decodes at once.
    fn at_once(&self) -> u32 {
        let limit = self.engine_flags().max_num_seqs;
        limit.map_or(self.settings.concurrency, |limit| {
            limit.min(self.settings.concurrency)
        })
    }

    /// What a size needs and has; `None` where how its server keeps weights and cache is not known, or it runs on no GPUs.
    fn room(&self, tp: u32) -> Result<Option<Room>, Stop> {
        let told =
            |command: &&super::ServerCommand| command.is_known() && !command.keeps_otherwise();
        let command = self.command.as_ref().filter(told);
        let Some(command) = command.filter(|_| self.other_weights().is_none()) else {
            return Ok(None);
        };
        let (vendor, memory) = self.memory(tp)?;
        if vendor == Some(Vendor::Host) {
            return Ok(None);
        }
        let settings = &self.settings;
        let tokens = f64::from(settings.input_tokens) + f64::from(settings.output_tokens);
        let share = command.memory_share();
        Ok(Some(Room::new(&self.model, tp, tokens, memory, share)))
    }

    /// Whose GPUs these are, and the bytes of the smallest of them: by the box file, else by the links that were measured.
    fn memory(&self, tp: u32) -> Result<(Option<Vendor>, Option<u64>), Stop> {
        if let Some(sim) = &self.settings.sim {
            let usage = |error: &dyn std::fmt::Display| Stop::Usage(format!("--sim: {error}"));
            let described = BoxFile::resolve(sim).map_err(|error| usage(&error))?;
            let around = engine::surroundings(&described, tp).map_err(|error| usage(&error))?;
            return Ok((Some(around.vendor), around.memory_bytes));
        }
        let on_cpus = Vendor::of(&self.settings.backend) == Vendor::Host;
        let unknown = (on_cpus.then_some(Vendor::Host), None);
        let folder = self.folder.join(LINKS);
        let Some(Payload::Links(links)) = step::complete(&folder).map(|record| record.payload)
        else {
            return Ok(unknown);
        };
        let origin = folder.display().to_string();
        // A record that does not say whose driver it is of is refused where it is explained.
        let around = boxes::measured(&links, tp, None, "measured".to_owned(), origin);
        Ok(around.map_or(unknown, |(around, _)| {
            (Some(around.vendor), around.memory_bytes)
        }))
    }

    /// What a GPU of a size needs and has, in words.
    fn words(&self, tp: u32, room: &Room, batch: u32) -> String {
        let needs = self.needs(room, batch);
        let Some(filled) = room.filled else {
            return format!(
                "TP{tp}: {needs}; whether it has that is known when the links are measured"
            );
        };
        let spare = filled - room.needs(batch);
        let close = match spare < SPARE * filled {
            true => format!(
                "; the {:.1} GiB left may not be enough for activations, captured graphs and the runtime",
                spare / GIB
            ),
            false => String::new(),
        };
        format!(
            "TP{tp}: weights and cache alone fit: {needs}, and the engine fills {:.1} GiB of it{close}",
            filled / GIB
        )
    }

    /// That the cache of so many requests has no room beside the weights.
    fn waits(&self, tp: u32, room: &Room, batch: u32) -> String {
        let (most, unless) = match self.model.keeps_every_token() {
            true => ("", ""),
            false => (
                " at most",
                ", unless layers with sliding windows keep less than every token",
            ),
        };
        format!(
            "TP{tp}: the weights fit, and the cache of so many requests does not{unless}: {}{most}, and the engine fills {:.1} GiB of it; it is \
             measured all the same: the engine lets requests wait, or says that its longest sequence does not fit",
            self.needs(room, batch),
            room.filled.unwrap_or_default() / GIB
        )
    }

    /// What a GPU needs, by its parts.
    fn needs(&self, room: &Room, batch: u32) -> String {
        let settings = &self.settings;
        let tokens = u64::from(settings.input_tokens) + u64::from(settings.output_tokens);
        format!(
            "a GPU needs {:.1} GiB, weights {:.1} and the cache of {} of {tokens} tokens {:.1}",
            room.needs(batch) / GIB,
            room.weights / GIB,
            explain::number_of(batch.into(), "request"),
            (room.needs(batch) - room.weights) / GIB
        )
    }
}

/// Why the weights of the planned model do not go into so many GPUs of these, as far as that is known; `None` where they may. No
/// command means the embedded engine.
pub(crate) fn no_room(
    model: &ModelFacts,
    planned: &str,
    tp: u32,
    around: &Surroundings,
    command: Option<&ServerCommand>,
) -> Option<String> {
    let is_of_plan = |command: &ServerCommand| {
        let served = command.model();
        let same = served.is_some_and(|served| is_same(model, planned, served));
        command.is_known() && !command.keeps_otherwise() && same
    };
    if around.vendor == Vendor::Host || !command.is_none_or(is_of_plan) {
        return None;
    }
    let share = command.and_then(ServerCommand::memory_share);
    let room = Room::new(model, tp, 0.0, around.memory_bytes, share);
    (room.holds_weights() == Some(false)).then(|| without_room(tp, &room))
}

/// That the weights alone do not fit.
fn without_room(tp: u32, room: &Room) -> String {
    format!(
        "TP{tp} does not fit: weights alone take {:.1} GiB of a GPU, and the engine fills {:.1} GiB of it",
        room.weights / GIB,
        room.filled.unwrap_or_default() / GIB
    )
}

/// Whether what is served has the weights of the planned model, by its name or its configuration.
fn is_same(model: &ModelFacts, planned: &str, served: &str) -> bool {
    let last = |name: &str| {
        let name = name.trim_end_matches('/').trim_end_matches("/config.json");
        let last = name.rsplit('/').next().unwrap_or(name);
        last.to_ascii_lowercase()
    };
    // A folder on another machine may have the name of a known model.
    let facts = ModelFacts::resolve(served).ok();
    match facts.or_else(|| ModelFacts::builtin(&last(served))) {
        Some(facts) => {
            facts.weight_bytes == model.weight_bytes
                && facts.layers == model.layers
                && facts.hidden == model.hidden
        }
        None => [last(planned), last(&model.name)].contains(&last(served)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_another_checkpoint_has_weights_that_are_not_known() {
        let planned = "qwen2.5-72b";
        let model = ModelFacts::resolve(planned).unwrap();
        for served in [
            "qwen2.5-72b",
            "Qwen/Qwen2.5-72B-Instruct",
            "/models/Qwen2.5-72B-Instruct/",
        ] {
            assert!(is_same(&model, planned, served), "{served}");
        }
        for served in [
            "Qwen/Qwen2.5-72B-Instruct-AWQ",
            "/models/qwen2.5-72b-w4a16",
            "RedHatAI/Qwen2.5-72B-Instruct-FP8-dynamic",
            "me/tuned",
        ] {
            assert!(!is_same(&model, planned, served), "{served}");
        }
        // A folder's name is all that is known of one that is not here.
        let here = "/models/Own-7B/config.json";
        assert!(is_same(&model, here, "/other/own-7b"));
    }
}

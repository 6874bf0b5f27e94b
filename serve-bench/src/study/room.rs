//! Which sizes of a study have room for the model's weights, as far as the memory of the GPUs is known. A size is left out only where
//! the weights alone do not fit: engines queue the requests whose cache does not.

use explain::Room;
use program::Stop;
use record::Payload;
use tp_plan::{ModelFacts, Vendor};

use runner::run::complete;

use super::Study;
use super::engines::ServerCommand;
use super::steps::{LINKS, serve};
use crate::explain::boxes;

/// Bytes of a GiB.
const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// The sizes of a study by what their GPUs hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Sizes {
    /// Those that are measured, ascending.
    pub(super) fit: Vec<u32>,
    /// Those without room for the weights.
    pub(super) left_out: Vec<OfSize>,
    /// What each of the measured ones needs and has, as far as that is known.
    pub(super) rooms: Vec<OfSize>,
}

/// What a GPU of a size needs and has.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OfSize {
    pub(super) tp: u32,
    room: Room,
    /// Requests at once.
    batch: u32,
}

impl OfSize {
    /// One line: whether it fits, of what.
    pub(super) fn line(&self) -> String {
        let Self { tp, room, batch } = self;
        let needs = room.needs(*batch) / GIB;
        match (room.filled, room.holds_weights(), room.holds(*batch)) {
            (Some(filled), Some(false), _) => {
                let (weights, filled) = (room.weights / GIB, filled / GIB);
                format!("TP{tp} does not fit: weights take {weights:.1} of {filled:.1} GiB")
            }
            (Some(filled), _, Some(false)) => {
                format!(
                    "TP{tp}: requests may wait for cache: {needs:.1} of {:.1} GiB",
                    filled / GIB
                )
            }
            (Some(filled), ..) => format!("TP{tp} fits: {needs:.1} of {:.1} GiB", filled / GIB),
            (None, ..) => format!("TP{tp} needs {needs:.1} GiB; the GPU's memory is not known yet"),
        }
    }
}

impl Sizes {
    /// A line for each size that is left out, or whose requests may wait.
    pub(super) fn remarks(&self) -> impl Iterator<Item = String> {
        let waits = |of: &&OfSize| of.room.holds(of.batch) == Some(false);
        self.left_out
            .iter()
            .chain(self.rooms.iter().filter(waits))
            .map(OfSize::line)
    }
}

impl Study<'_> {
    /// The sizes that have room for the weights; one that was served before has.
    ///
    /// # Errors
    /// None has, or the machine cannot be used.
    pub(super) fn fitting(&self) -> Result<Sizes, Stop> {
        let mut sizes = Sizes::default();
        let limit = self.engine_flags().max_num_seqs.unwrap_or(u32::MAX);
        let batch = self.args.load.concurrency.min(limit);
        for tp in self.args.tp.iter().copied() {
            let was_served = complete(&self.folder.join(serve(tp))).is_some();
            let room = self.room(tp)?.filter(|_| !was_served);
            let of_size = room.map(|room| OfSize { tp, room, batch });
            match of_size {
                Some(of) if of.room.holds_weights() == Some(false) => sizes.left_out.push(of),
                of => {
                    sizes.fit.push(tp);
                    sizes.rooms.extend(of);
                }
            }
        }
        match (sizes.fit.is_empty(), sizes.left_out.last()) {
            (true, Some(last)) => Err(Stop::Usage(format!(
                "no size of --tp fits: {}; take more GPUs or a smaller model",
                last.line()
            ))),
            _ => Ok(sizes),
        }
    }

    /// What a size needs and has; `None` where how its server keeps weights and cache is not known, or it runs on no GPUs.
    fn room(&self, tp: u32) -> Result<Option<Room>, Stop> {
        let load = &self.args.load;
        if !is_of_plan(&self.command, &self.model) {
            return Ok(None);
        }
        let (vendor, memory) = self.memory(tp)?;
        if vendor == Some(Vendor::Host) {
            return Ok(None);
        }
        let tokens = f64::from(load.input_tokens) + f64::from(load.output_tokens);
        Ok(Some(Room::new(
            &self.model,
            tp,
            tokens,
            memory,
            self.command.memory_share(),
        )))
    }

    /// Whose GPUs these are, and the bytes of the smallest of them: by the machine file, else by the links that were measured.
    fn memory(&self, tp: u32) -> Result<(Option<Vendor>, Option<u64>), Stop> {
        if let Some(described) = &self.simulated {
            let around = engine::surroundings(described, tp)
                .map_err(|error| Stop::Usage(format!("--sim: {error}")))?;
            return Ok((Some(around.vendor), around.memory_bytes));
        }
        let on_cpus = Vendor::of(&self.args.backend) == Vendor::Host;
        let unknown = (on_cpus.then_some(Vendor::Host), None);
        let folder = self.folder.join(LINKS);
        let Some(Payload::Links(links)) = complete(&folder).map(|record| record.payload) else {
            return Ok(unknown);
        };
        let origin = folder.display().to_string();
        // A record that does not say whose driver it is of is refused where it is explained.
        let around = boxes::measured(&links, tp, None, "measured".to_owned(), origin);
        Ok(around.map_or(unknown, |(around, _)| {
            (Some(around.vendor), around.memory_bytes)
        }))
    }
}

/// Whether a command serves the planned model, kept as its own files say.
fn is_of_plan(command: &ServerCommand, model: &ModelFacts) -> bool {
    let served = command.model().unwrap_or_default();
    let last = served
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default();
    let facts = ModelFacts::resolve(served).ok();
    let facts = facts.or_else(|| ModelFacts::builtin(&last.to_ascii_lowercase()));
    let is_same = facts.is_some_and(|facts| facts.weight_bytes == model.weight_bytes);
    command.is_known() && !command.keeps_otherwise() && is_same
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_another_checkpoint_has_weights_that_are_not_known() {
        let model = ModelFacts::resolve("qwen2.5-72b").unwrap();
        let is_of_plan = |served: &str| {
            let words = ["vllm", "serve", served].map(str::to_owned).to_vec();
            is_of_plan(&ServerCommand::new(words, &[1]).unwrap(), &model)
        };
        for served in [
            "qwen2.5-72b",
            "Qwen/Qwen2.5-72B-Instruct",
            "/models/Qwen2.5-72B-Instruct/",
        ] {
            assert!(is_of_plan(served), "{served}");
        }
        for served in [
            "Qwen/Qwen2.5-72B-Instruct-AWQ",
            "/models/qwen2.5-72b-w4a16",
            "me/tuned",
        ] {
            assert!(!is_of_plan(served), "{served}");
        }
    }
}

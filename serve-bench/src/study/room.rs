//! Which sizes of a study have room for the model and for its requests in flight, as far as the memory of the GPUs is known.
//!
//! It counts weights and cache alone. Where the memory, or how the engine keeps either, is not known, nothing is left out.

use boxfile::BoxFile;
use explain::Room;
use measure::record::Payload;
use program::Stop;
use tp_plan::Vendor;

use super::serving::serve;
use super::{LINKS, Study, step};
use crate::explain::boxes;

/// Bytes of a GiB.
const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// The sizes of a study by what their GPUs hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Those that are measured, ascending.
    pub(super) fit: Vec<u32>,
    /// Why each of the others is left out.
    pub(super) left_out: Vec<String>,
    /// What each of the measured ones needs and has, as far as that is known.
    pub(super) told: Vec<String>,
}

impl Sizes {
    /// A line for each size that is left out.
    pub(super) fn left_out(&self) -> impl Iterator<Item = String> {
        self.left_out.iter().map(|why| format!("left out: {why}"))
    }
}

impl Study<'_> {
    /// The sizes that have room; one that was served before has.
    ///
    /// # Errors
    /// None has, or the soft box cannot be used.
    pub(super) fn fitting(&self) -> Result<Sizes, Stop> {
        let mut sizes = Sizes::default();
        for tp in self.settings.tp.iter().copied() {
            let room = self.room(tp)?;
            let batch = self.at_once();
            let was_served = step::complete(&self.folder.join(serve(tp))).is_some();
            let words = room.map(|room| self.words(tp, &room, batch));
            match room.and_then(|room| room.holds(batch)) {
                Some(false) if !was_served => sizes.left_out.extend(words),
                _ => {
                    sizes.fit.push(tp);
                    sizes.told.extend(words.filter(|_| !was_served));
                }
            }
        }
        match sizes.fit.is_empty() {
            true => Err(Stop::Usage(format!(
                "no size of --tp fits: {}; take more GPUs, a smaller model, a lower --concurrency or shorter requests",
                sizes.left_out.join("; ")
            ))),
            false => Ok(sizes),
        }
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
        let Some(command) = self.command.as_ref().filter(told) else {
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
        let settings = &self.settings;
        let tokens = u64::from(settings.input_tokens) + u64::from(settings.output_tokens);
        let needs = format!(
            "a GPU needs {:.1} GiB, weights {:.1} and the cache of {} of {tokens} tokens {:.1}",
            room.needs(batch) / GIB,
            room.weights / GIB,
            explain::number_of(batch.into(), "request"),
            (room.needs(batch) - room.weights) / GIB
        );
        match (room.filled, room.holds(batch)) {
            (Some(filled), holds) => {
                let fits = match holds {
                    Some(true) => "fits",
                    _ => "does not fit",
                };
                let has = filled / GIB;
                format!("TP{tp} {fits}: {needs}, and the engine fills {has:.1} GiB of it")
            }
            (None, _) => {
                format!("TP{tp}: {needs}; whether it has that is known when the links are measured")
            }
        }
    }
}

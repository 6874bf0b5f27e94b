//! What a study explains of each size: its own results beside those of one GPU, its server's log, and its ablation.

use std::path::{Path, PathBuf};

use super::engines::ServerCommand;
use super::room::Sizes;
use super::{Extras, Study};
use crate::explain::{EvidenceFiles, OfSize, Sources};

impl Study<'_> {
    /// What is explained of each size: its own runs beside that of one GPU.
    pub(super) fn sizes(
        &self,
        links: &Path,
        collectives: &[(u32, PathBuf)],
        serving: &[(u32, PathBuf)],
        sizes: &Sizes,
        extras: &Extras,
    ) -> Vec<OfSize> {
        let is_shown = |tp: &&u32| **tp > 1 || sizes.fit.len() == 1;
        let remarks = sizes.remarks().map(|line| format!("{line}."));
        let notes: Vec<String> = extras.note.iter().cloned().chain(remarks).collect();
        let note = (!notes.is_empty()).then(|| notes.join(" "));
        let of_size = |tp: &u32| {
            let tp = *tp;
            let of = |all: &[(u32, PathBuf)]| -> Vec<(u32, PathBuf)> {
                let wanted = all.iter().filter(|(of, _)| *of == 1 || *of == tp);
                wanted.cloned().collect()
            };
            let serving = of(serving);
            let logs = serving.iter().filter_map(|(tp, _)| self.server_log(*tp));
            OfSize {
                tp,
                logs: logs.collect(),
                sources: Sources {
                    model: self.settings.model.clone(),
                    collectives: of(collectives).into_iter().map(|(_, file)| file).collect(),
                    links: Some(links.to_owned()),
                    evidence: EvidenceFiles::default(),
                    box_name: None,
                    engine: self.engine_flags(),
                    what_if: Vec::new(),
                    engine_logs: Vec::new(),
                    note: note.clone(),
                    sim: self.settings.sim.clone(),
                    off_by_us: extras.off_by_us,
                    serving,
                },
                ablation: self.kept_ablation(tp),
            }
        };
        sizes.fit.iter().filter(is_shown).map(of_size).collect()
    }

    /// What a server of a size said, where it is an engine whose log is read.
    fn server_log(&self, tp: u32) -> Option<PathBuf> {
        let file = self.folder.join(server_log(tp));
        let is_read = self
            .command
            .as_ref()
            .is_some_and(ServerCommand::logs_are_read);
        (is_read && file.exists()).then_some(file)
    }
}

/// The name of what a server of a size says, in the study's folder.
pub(super) fn server_log(tp: u32) -> String {
    format!("server-tp{tp}.log")
}

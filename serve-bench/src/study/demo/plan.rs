//! A demonstration before it is run: box, model, sizes, and what does not apply. How long it takes is in [`super::times`].

use std::path::Path;
use std::time::{Duration, Instant};

use boxfile::BoxFile;
use engine::surroundings;
use program::Stop;
use supervisor::Interrupt;
use tp_plan::{CustomAllReduce, EngineFacts};

use super::ALL;
use super::load::{self, LAUNCH, LOAD};
use super::times::{BUDGET_S, LAUNCH_BUDGET_S, Part, kept_to, stated};
use crate::ablate::foretold;
use crate::study::engines::NO_OWN_ALL_REDUCE;
use crate::study::{Extras, StudyArgs, embedded, run_in, settings, words};

/// Sizes, where the box has so many GPUs.
const SIZES: [u32; 3] = [1, 2, 4];

/// What the demonstration leaves out, in words.
const SAYS: &str = "This is a demonstration: 32 requests of 64 output tokens for each size, where the case that it follows had 64 requests of 256.";

/// Launches of each arm of an ablation, and the delays of two arms, us: so long that a few launches tell the slope.
const LAUNCHES: &str = "3";
const DELAYS: &str = "100,300";

/// A demonstration on one box, before it is run.
pub(super) struct Plan {
    pub(super) described: BoxFile,
    /// The box as it was named.
    named: String,
    pub(super) model: String,
    pub(super) sizes: Vec<u32>,
    /// What does not apply to this box.
    pub(super) remarks: Vec<String>,
    /// The same of ablations.
    pub(super) left_out: Vec<String>,
    /// Whether the engine would do all-reduces itself, which no soft box can time.
    has_own: bool,
    /// Its parts with their seconds.
    parts: Vec<Part>,
    /// An ablation of each size, where there is one.
    ablations: Vec<OfSize>,
}

/// An ablation before it is run.
struct OfSize {
    tp: u32,
    /// The words after `ablate`.
    words: Vec<String>,
    launches: usize,
    seconds: f64,
}

impl Plan {
    pub(super) fn new(named: &str, model: Option<&str>) -> Result<Self, Stop> {
        let described = BoxFile::resolve(named)
            .map_err(|error| Stop::Usage(format!("--box: {error}; or give --box {ALL}")))?;
        let (name, model) = load::choose(&described, model)?;
        let devices = u32::try_from(described.device.len()).unwrap_or(u32::MAX);
        let mut plan = Self {
            described,
            named: named.to_owned(),
            model: name,
            sizes: Vec::new(),
            remarks: Vec::new(),
            left_out: Vec::new(),
            has_own: false,
            parts: Vec::new(),
            ablations: Vec::new(),
        };
        let mut serving = Vec::new();
        for tp in SIZES.into_iter().filter(|tp| *tp <= devices) {
            match load::seconds(&plan.described, &model, tp) {
                Ok(seconds) => {
                    plan.sizes.push(tp);
                    serving.push(Part::serving(tp, seconds));
                }
                Err(reason) if tp == 1 => {
                    return Err(Stop::Usage(format!(
                        "{named}: {reason}; name another model with --model"
                    )));
                }
                Err(reason) => plan
                    .remarks
                    .push(format!("{tp} GPUs are left out: {reason}")),
            }
        }
        plan.foretell(serving)?;
        Ok(plan)
    }

    /// What will be said of the box, and how long each part takes.
    fn foretell(&mut self, serving: Vec<Part>) -> Result<(), Stop> {
        let most = self.sizes.last().copied().unwrap_or(1);
        let several: Vec<u32> = self.sizes.iter().copied().filter(|tp| *tp > 1).collect();
        self.parts.push(Part::links(most));
        self.parts.extend(
            several
                .iter()
                .map(|tp| Part::collectives(*tp, BUDGET_S.into())),
        );
        self.parts.extend(serving);
        self.parts.push(Part::explanation(several.len()));
        self.remark(most)?;
        for tp in several {
            let words = self.ablate_words(tp);
            match foretold(&words) {
                Ok(foretold) => {
                    for (arm, reason) in foretold.left_out {
                        let line = format!("no arm {arm}: {reason}");
                        if !self.left_out.contains(&line) {
                            self.left_out.push(line);
                        }
                    }
                    self.ablations.push(OfSize {
                        tp,
                        words,
                        launches: foretold.launches,
                        seconds: foretold.seconds,
                    });
                }
                Err(Stop::Usage(reason) | Stop::Refused(reason)) => {
                    self.left_out
                        .push(format!("no ablation on {tp} GPUs: {reason}"));
                }
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }

    /// What does not apply to the box with so many of its GPUs.
    fn remark(&mut self, most: u32) -> Result<(), Stop> {
        if most == 1 {
            self.remarks.push(
                "one GPU: nothing is compared, its links and its server are measured".to_owned(),
            );
            return Ok(());
        }
        let around = |tp: u32| {
            let around = surroundings(&self.described, tp);
            around.map_err(|error| Stop::Usage(format!("{}: {error}", self.named)))
        };
        let of_most = around(most)?;
        let mut has_own = false;
        for tp in self.sizes.iter().filter(|tp| **tp > 1) {
            let facts = EngineFacts::vllm(*tp, &around(*tp)?);
            has_own |= facts.custom_all_reduce == CustomAllReduce::Active;
        }
        if of_most.peer_access == Some(false) {
            let why = match of_most.no_peer_reason.as_str() {
                "" => String::new(),
                why => format!(" ({why})"),
            };
            self.remarks.push(format!(
                "no peer access between all of its GPUs{why}: what needs it is left out, and collectives go through host memory"
            ));
        }
        if has_own {
            self.remarks.push(format!(
                "the server runs with {NO_OWN_ALL_REDUCE}: the time of the engine's own all-reduce cannot be measured on a soft box"
            ));
        }
        self.has_own = has_own;
        Ok(())
    }

    /// The server's words, where they are not the study's own.
    fn server(&self) -> Result<Vec<String>, Stop> {
        if !self.has_own {
            return Ok(Vec::new());
        }
        let mut all = embedded(&self.named, &self.model)?;
        all.push(NO_OWN_ALL_REDUCE.to_owned());
        Ok(all)
    }

    /// The words after `ablate`.
    fn ablate_words(&self, tp: u32) -> Vec<String> {
        words(&[
            "--sim",
            &self.named,
            "--model",
            &self.model,
            "--tp",
            &tp.to_string(),
            "--concurrency",
            &LAUNCH.concurrency.to_string(),
            "--requests",
            &LAUNCH.requests.to_string(),
            "--input-tokens",
            &LAUNCH.input_tokens.to_string(),
            "--output-tokens",
            &LAUNCH.output_tokens.to_string(),
            "--launches",
            LAUNCHES,
            "--delays",
            DELAYS,
            "--budget",
            &LAUNCH_BUDGET_S.to_string(),
        ])
    }

    /// The study that it is.
    fn study(&self, folder: &Path) -> Result<StudyArgs, Stop> {
        Ok(StudyArgs {
            model: self.model.clone(),
            gpus: None,
            backend: "auto".to_owned(),
            tp: self.sizes.clone(),
            concurrency: LOAD.concurrency,
            requests: Some(LOAD.requests),
            input_tokens: LOAD.input_tokens,
            output_tokens: LOAD.output_tokens,
            budget: Duration::from_secs(BUDGET_S.into()),
            base_url: Vec::new(),
            ready_timeout: Duration::from_secs(60),
            sim: Some(self.named.clone()),
            out: Some(folder.to_owned()),
            plan: false,
            server: self.server()?,
        })
    }

    /// The parts that are run.
    fn counted(&self, full: bool) -> Vec<Part> {
        let ablations = self.ablations.iter().filter(|_| full);
        let ablations = ablations.map(|of| Part::ablation(of.tp, of.launches, of.seconds));
        self.parts.iter().cloned().chain(ablations).collect()
    }

    /// The seconds that are stated.
    pub(super) fn stated(&self, full: bool) -> u32 {
        stated(&self.counted(full))
    }

    /// What a reader of the page must know.
    fn note(&self) -> String {
        match self.remarks.as_slice() {
            [] => SAYS.to_owned(),
            remarks => format!("{SAYS} On this box: {}.", remarks.join("; ")),
        }
    }

    pub(super) fn run(
        &self,
        folder: &Path,
        full: bool,
        interrupt: &Interrupt,
        say: &dyn Fn(&str),
    ) -> Result<u8, Stop> {
        let sizes: Vec<String> = self.sizes.iter().map(u32::to_string).collect();
        say(&format!(
            "{}: {}; {} on {} GPU(s)",
            self.described.name,
            self.described.title,
            self.model,
            sizes.join(", ")
        ));
        for line in self.left_out.iter().filter(|_| full) {
            say(&format!("  {line}"));
        }
        let parts: Vec<String> = self.counted(full).iter().map(ToString::to_string).collect();
        let stated = self.stated(full);
        say(&format!(
            "stated: {stated} s ({}, and a quarter more)",
            parts.join(", ")
        ));
        let extras = Extras {
            note: Some(self.note()),
            ablations: match full {
                true => self
                    .ablations
                    .iter()
                    .map(|of| (of.tp, of.words.clone()))
                    .collect(),
                false => Vec::new(),
            },
            off_by_us: self.has_own,
        };
        let began_before = folder.join(settings::FILE).exists();
        let begun = Instant::now();
        let code = run_in(folder, &self.study(folder)?, &extras, interrupt, say)?;
        say(&kept_to(
            stated,
            begun.elapsed().as_secs_f64(),
            began_before,
        ));
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use boxfile::builtin_names;

    use super::*;

    #[test]
    fn every_built_in_box_has_a_demonstration_of_its_sizes() {
        for name in builtin_names() {
            let plan = Plan::new(name, None);
            let plan = plan.unwrap_or_else(|error| panic!("{name}: {error:?}"));
            let sizes = match plan.described.device.len() {
                4.. => vec![1, 2, 4],
                _ => vec![1, 2],
            };
            assert_eq!(plan.sizes, sizes, "{name}");
            // An ablation of each size but the first.
            assert_eq!(plan.ablations.len(), sizes.len() - 1, "{name}");
            assert!(plan.stated(true) > plan.stated(false), "{name}");
        }
    }

    #[test]
    fn what_does_not_apply_to_a_box_is_said() {
        let mig = Plan::new("rtxpro6000-mig", None).unwrap();
        assert!(
            mig.remarks
                .iter()
                .any(|remark| remark.starts_with("no peer access between all of its GPUs (MIG)")),
            "{:?}",
            mig.remarks
        );
        assert!(mig.left_out.iter().any(|line| line.contains("p2p-off")));
        assert!(mig.server().unwrap().is_empty());
        // Two bare GPUs reach each other, so vLLM would reduce by code of its own.
        let bare = Plan::new("rtxpro6000-bare", None).unwrap();
        assert!(
            bare.remarks[0].contains(NO_OWN_ALL_REDUCE),
            "{:?}",
            bare.remarks
        );
        // The model of 73 GB has no room on a GPU of 48 GiB.
        let l40 = Plan::new("l40x4", None).unwrap();
        assert_eq!(l40.model, "qwen3-14b");
    }

    #[test]
    fn a_box_with_one_gpu_has_nothing_to_compare_and_says_so() {
        let mut one = BoxFile::builtin("rtxpro6000-mig").unwrap();
        one.device.truncate(1);
        one.collective.clear();
        let file = std::env::temp_dir().join(format!("tplens-demo-{}.toml", std::process::id()));
        std::fs::write(&file, one.to_toml().unwrap()).unwrap();
        let plan = Plan::new(&file.display().to_string(), None).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(plan.sizes, [1]);
        assert!(plan.remarks[0].starts_with("one GPU: "));
        assert!(plan.ablations.is_empty());
    }

    #[test]
    fn a_model_that_does_not_fit_is_refused_with_the_next_step() {
        let Err(Stop::Usage(reason)) = Plan::new("r9700-x8", Some("qwen2.5-72b")) else {
            panic!("145 GB fit on 32 GiB");
        };
        assert!(reason.contains("--model"), "{reason}");
    }
}

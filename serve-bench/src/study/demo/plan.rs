//! A demonstration before it is run: box, model, sizes, what does not apply, and how long each part takes.

use std::path::Path;
use std::time::{Duration, Instant};

use boxfile::BoxFile;
use engine::surroundings;
use program::Stop;
use supervisor::Interrupt;
use tp_plan::{CustomAllReduce, EngineFacts};

use super::ALL;
use super::load::{self, LAUNCH, LOAD};
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

/// Seconds for the collectives of a size, and of a launch of an ablation.
const BUDGET_S: u32 = 10;
const LAUNCH_BUDGET_S: u32 = 2;

/// Seconds beside what is counted, as two cores need them: the links of a pair of GPUs and those of one, the start of the
/// collectives' processes for each rank, server and client of a size, and an explanation with its page.
const PAIR_S: f64 = 0.5;
const GPU_S: f64 = 1.5;
const RANK_S: f64 = 1.5;
const SERVER_S: f64 = 2.0;
const PAGE_S: f64 = 1.5;

/// What is stated is so much more than what is counted, because machines are not idle.
const ROOM: f64 = 1.25;

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
    parts: Vec<(String, f64)>,
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
                    serving.push((format!("load on {tp} GPU(s)"), SERVER_S + seconds));
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
    fn foretell(&mut self, serving: Vec<(String, f64)>) -> Result<(), Stop> {
        let most = self.sizes.last().copied().unwrap_or(1);
        let gpus = f64::from(most);
        let links = gpus * GPU_S + gpus * (gpus - 1.0) * PAIR_S;
        self.parts.push(("links".to_owned(), links));
        let several: Vec<u32> = self.sizes.iter().copied().filter(|tp| *tp > 1).collect();
        for tp in &several {
            let seconds = f64::from(BUDGET_S) + f64::from(*tp) * RANK_S;
            self.parts.push((format!("collectives of {tp}"), seconds));
        }
        self.parts.extend(serving);
        let pages = 2 * several.len().max(1) - 1;
        let pages = f64::from(u32::try_from(pages).unwrap_or(u32::MAX));
        self.parts.push(("explanation".to_owned(), pages * PAGE_S));
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
            server: self.server()?,
        })
    }

    /// The parts that are run, with their seconds.
    fn counted(&self, full: bool) -> Vec<(String, f64)> {
        let ablations = self.ablations.iter().filter(|_| full);
        let ablations = ablations.map(|of| {
            let name = format!("ablation of {} in {} launches", of.tp, of.launches);
            (name, of.seconds)
        });
        self.parts.iter().cloned().chain(ablations).collect()
    }

    /// The seconds that are stated: what is counted with some room, in whole fives.
    pub(super) fn stated(&self, full: bool) -> u32 {
        let counted: f64 = self.counted(full).iter().map(|(_, seconds)| seconds).sum();
        in_fives(counted * ROOM)
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
        let parts: Vec<String> = self
            .counted(full)
            .iter()
            .map(|(name, seconds)| format!("{name} {seconds:.0}"))
            .collect();
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

/// The next multiple of five.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "some minutes in seconds"
)]
fn in_fives(seconds: f64) -> u32 {
    5 * (seconds / 5.0).ceil() as u32
}

/// The stated time against the clock.
fn kept_to(stated: u32, took_s: f64, began_before: bool) -> String {
    let why = match (began_before, took_s > f64::from(stated)) {
        (true, _) => "; some of it was measured before",
        (false, true) => "; longer than stated: this machine was busy, or is slower than two cores",
        (false, false) => "",
    };
    format!("stated {stated} s, took {took_s:.0} s{why}")
}

#[cfg(test)]
mod tests {
    use boxfile::builtin_names;

    use super::*;

    #[test]
    fn stated_seconds_are_whole_fives_and_are_held_against_the_clock() {
        assert_eq!((in_fives(80.0), in_fives(80.1)), (80, 85));
        assert_eq!(kept_to(95, 88.2, false), "stated 95 s, took 88 s");
        assert!(kept_to(95, 101.0, false).contains("longer than stated"));
        assert!(kept_to(95, 10.0, true).contains("measured before"));
    }

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

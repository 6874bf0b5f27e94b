//! What a study will run: its steps in order, each with its command and about how long it takes, and what this machine lacks.
//!
//! It starts no server and measures nothing; GPUs' drivers are asked whether they answer.

use boxfile::BoxFile;
use measure::record::redacted_arguments;
use program::Stop;
use program::command_line::quoted;

use super::demo::times::Part;
use super::serving::{about_serving, assumed, serve};
use super::shell::{missing, shell};
use super::{ABOUT_COLLECTIVES, ABOUT_LINKS, LINKS, Study, allreduce, settings, step};
use crate::ablate::{PORT, minutes, soft_step_ms};

/// The seconds that p2p-bw aims at where nobody tells it others.
const LINKS_S: f64 = 30.0;

/// A step before it is run.
struct Planned {
    name: String,
    about: String,
    commands: Vec<String>,
    seconds: f64,
    is_done: bool,
}

impl Study<'_> {
    /// The whole plan as text.
    ///
    /// # Errors
    /// The folder holds another study, the box or a device cannot be used, or a signal came.
    pub(super) fn plan(&self) -> Result<String, Stop> {
        if self.folder.join(settings::FILE).exists() {
            self.settings.keep(&self.folder)?;
        }
        let sizes = self.fitting()?;
        let steps = self.planned(&sizes.fit)?;
        let settings = &self.settings;
        let asked: Vec<String> = settings.tp.iter().map(|tp| format!("TP{tp}")).collect();
        let mut text = match &settings.sim {
            Some(sim) => {
                format!("SIMULATED on the soft box {sim}: nothing of it is real hardware\n")
            }
            None => String::new(),
        };
        text.push_str(&format!(
            "study of {} at {}: {} in flight, {} requests of {} tokens in and {} out; nothing is run now\n",
            settings.model,
            asked.join(", "),
            settings.concurrency,
            settings.requests,
            settings.input_tokens,
            settings.output_tokens
        ));
        for line in sizes.remarks().chain(sizes.told.iter().cloned()) {
            text.push_str(&format!("{line}\n"));
        }
        let lacks = self.lacks()?;
        for why in &lacks {
            text.push_str(&format!("not on this machine as it is: {why}\n"));
        }
        if !lacks.is_empty() {
            text.push_str("the plan takes it that this is there\n");
        }
        let left = steps.iter().filter(|step| !step.is_done);
        let seconds: f64 = left.map(|step| step.seconds).sum();
        let by = match settings.sim {
            Some(_) => "by the box file, on two cores that do little else".to_owned(),
            None => assumed(),
        };
        text.push_str(&format!("about {} in all, {by}\n", minutes(seconds)));
        for (number, step) in steps.iter().enumerate() {
            let time = match step.is_done {
                true => "measured before, not done again".to_owned(),
                false => format!("about {}", minutes(step.seconds)),
            };
            text.push_str(&format!(
                "\n{}. {}: {}, {time}\n",
                number + 1,
                step.name,
                step.about
            ));
            for command in &step.commands {
                text.push_str(&format!("    {command}\n"));
            }
        }
        Ok(text)
    }

    /// What the study needs and this machine has not, a sentence each.
    fn lacks(&self) -> Result<Vec<String>, Stop> {
        let mut lacks: Vec<String> = missing(&self.args.server).into_iter().collect();
        if self.settings.sim.is_some() {
            return Ok(lacks);
        }
        match self.check_driver() {
            Err(Stop::Refused(why)) => lacks.push(why),
            other => other?,
        }
        Ok(lacks)
    }

    fn planned(&self, sizes: &[u32]) -> Result<Vec<Planned>, Stop> {
        let program = |program: &str, words: Vec<String>, folder: &str| {
            let out = self.folder.join(folder).display().to_string();
            let all = [
                vec![program.to_owned()],
                words,
                vec!["--out".to_owned(), out],
            ];
            shell(&all.concat())
        };
        let links = match self.settings.sim {
            Some(_) => Part::links(u32::try_from(self.largest()).unwrap_or(u32::MAX)).seconds,
            None => LINKS_S,
        };
        let mut steps = vec![self.step_of(
            LINKS,
            ABOUT_LINKS,
            vec![program("p2p-bw", self.links_words()?, LINKS)],
            links,
        )];
        for tp in sizes.iter().copied().filter(|tp| *tp > 1) {
            let name = allreduce(tp);
            let command = program("allreduce-bench", self.collectives_words(tp)?, &name);
            let part = Part::collectives(tp, self.args.budget.as_secs_f64());
            steps.push(self.step_of(&name, ABOUT_COLLECTIVES, vec![command], part.seconds));
        }
        for tp in sizes.iter().copied() {
            let name = serve(tp);
            let (server, url) = self.server_of(tp)?;
            let load = program("serve-bench", self.load().words(&url, tp), &name);
            let commands = server.into_iter().chain([load]).collect();
            let seconds = self.serving_seconds(tp)?;
            steps.push(self.step_of(&name, &about_serving(tp), commands, seconds));
        }
        let against = match sizes.first() {
            Some(first) if *first > 1 && sizes.len() > 1 => "the size before it",
            _ => "one GPU",
        };
        let several = sizes.iter().filter(|tp| **tp > 1).count();
        steps.push(Planned {
            name: "explanation".to_owned(),
            about: format!("of each size against {against}, from the files above"),
            commands: Vec::new(),
            seconds: Part::explanation(several).seconds,
            is_done: false,
        });
        Ok(steps)
    }

    fn step_of(&self, name: &str, about: &str, commands: Vec<String>, seconds: f64) -> Planned {
        Planned {
            name: name.to_owned(),
            about: about.to_owned(),
            commands,
            seconds,
            is_done: step::complete(&self.folder.join(name)).is_some(),
        }
    }

    /// The server's command, where the study starts it, and its address.
    fn server_of(&self, tp: u32) -> Result<(Option<String>, String), Stop> {
        let Some(command) = &self.command else {
            let url = self.args.url(tp).unwrap_or_default().to_owned();
            let words = format!("(the server for TP{tp}, which you run, at {url})");
            return Ok((Some(words), url));
        };
        let port = command.port().unwrap_or(PORT);
        let variables = self.environment(tp)?;
        let before: String = variables
            .iter()
            .map(|(name, value)| format!("{}={} ", name.display(), quoted(value)))
            .collect();
        let words = redacted_arguments(command.for_size(tp, port));
        Ok((
            Some(format!("{before}{}", shell(&words))),
            format!("http://127.0.0.1:{port}"),
        ))
    }

    /// Seconds of a server and the load on it: by the box file, where it tells, else as assumed.
    fn serving_seconds(&self, tp: u32) -> Result<f64, Stop> {
        let load = self.load();
        let Some(sim) = &self.settings.sim else {
            return Ok(load.assumed_seconds());
        };
        let usage = |error: &dyn std::fmt::Display| Stop::Usage(format!("--sim: {error}"));
        let described = BoxFile::resolve(sim).map_err(|error| usage(&error))?;
        let around = engine::surroundings(&described, tp).map_err(|error| usage(&error))?;
        let facts = self.engine_flags().facts(tp, &around);
        let step_ms = soft_step_ms(&described, &self.model, facts, &load);
        Ok(step_ms.map_or_else(
            || load.assumed_seconds(),
            |ms| Part::serving(tp, load.seconds(ms)).seconds,
        ))
    }
}

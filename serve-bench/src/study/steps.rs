//! The steps of a study: links, collectives of each size, and the load on the server of each size.

use std::ffi::OsString;
use std::time::Duration;

use program::Stop;
use runner::run::{Leaves, Needs, Step};
use runner::server::ServerSpec;

use super::Study;
use crate::explain::EngineFlags;

/// The folder of a study's links.
pub(crate) const LINKS: &str = "links";

/// Without a line or a row for so long a step that measures links or collectives is ended: its own deadlines are far shorter.
const DEADLINE: Duration = Duration::from_secs(600);

/// What tplens p2p aims at on real devices, what a simulated GPU and pair add, and the start of a rank, s, on two cores.
const LINKS_S: f64 = 30.0;
const GPU_S: f64 = 1.5;
const PAIR_S: f64 = 0.5;
const RANK_S: f64 = 1.5;

/// The folder of a size's collectives.
pub(super) fn allreduce(tp: u32) -> String {
    format!("allreduce-tp{tp}")
}

/// The folder of a size's load.
pub(super) fn serve(tp: u32) -> String {
    format!("serve-tp{tp}")
}

/// The name of what a server of a size prints, in the study's folder.
pub(super) fn server_log(tp: u32) -> String {
    format!("server-tp{tp}.log")
}

/// A step that measures this machine.
pub(crate) fn measured(
    name: String,
    about: &str,
    command: &'static str,
    arguments: Vec<String>,
    seconds: f64,
) -> Step {
    Step {
        name,
        about: about.to_owned(),
        command,
        arguments,
        environment: Vec::new(),
        needs: None,
        leaves: Leaves::Record,
        seconds,
        deadline: DEADLINE,
    }
}

/// The flags of tplens allreduce for the collectives of a model as an engine sends them.
pub(crate) fn collectives(
    gpus: String,
    model: &str,
    tp: u32,
    batches: String,
    budget: Duration,
    engine: EngineFlags,
) -> Vec<String> {
    let flags = [
        ("--gpus", gpus),
        ("--model", model.to_owned()),
        ("--tp", tp.to_string()),
        ("--batches", batches),
        ("--budget", budget.as_secs_f64().to_string()),
    ];
    let flags = flags.into_iter();
    let mut words: Vec<String> = flags
        .flat_map(|(flag, value)| [flag.to_owned(), value])
        .collect();
    if engine.eager {
        words.push("--eager".to_owned());
    }
    if engine.engine == Some(tp_plan::Engine::Sglang) {
        words.extend(["--engine", "sglang"].map(str::to_owned));
    }
    words
}

impl Study<'_> {
    /// All steps for these sizes, in their order.
    ///
    /// # Errors
    /// Devices that do not suffice, or that a server cannot be shown.
    pub(super) fn steps(&self, sizes: &[u32]) -> Result<Vec<Step>, Stop> {
        let mut steps = vec![self.links()?];
        for tp in sizes.iter().copied().filter(|tp| *tp > 1) {
            steps.push(self.collectives(tp)?);
        }
        for tp in sizes {
            steps.push(self.serving(*tp)?);
        }
        Ok(steps)
    }

    fn links(&self) -> Result<Step, Stop> {
        let largest = self.args.tp.last().copied().unwrap_or(1);
        let gpus = f64::from(largest);
        let seconds = match &self.simulated {
            Some(_) => gpus * GPU_S + gpus * (gpus - 1.0) * PAIR_S,
            None => LINKS_S,
        };
        let arguments = vec!["--gpus".to_owned(), self.devices(largest)?];
        let about = "links between host and devices";
        Ok(self.measured(LINKS.to_owned(), about, "p2p", arguments, seconds))
    }

    fn collectives(&self, tp: u32) -> Result<Step, Stop> {
        let batches = batches(self.args.load.concurrency);
        let (model, budget) = (&self.args.model, self.args.budget);
        let engine = self.engine_flags();
        let arguments = collectives(self.devices(tp)?, model, tp, batches, budget, engine);
        let about = "collectives at the sizes that the model sends";
        let seconds = budget.as_secs_f64() + f64::from(tp) * RANK_S;
        Ok(self.measured(allreduce(tp), about, "allreduce", arguments, seconds))
    }

    fn measured(
        &self,
        name: String,
        about: &str,
        command: &'static str,
        mut arguments: Vec<String>,
        seconds: f64,
    ) -> Step {
        arguments.extend(match &self.args.sim {
            Some(sim) => ["--sim".to_owned(), sim.clone()],
            None => ["--backend".to_owned(), self.args.backend.clone()],
        });
        measured(name, about, command, arguments, seconds)
    }

    fn serving(&self, tp: u32) -> Result<Step, Stop> {
        let load = &self.args.load;
        let needs = Needs::Started(ServerSpec {
            name: format!("server tp{tp}"),
            words: self.command.for_size(tp),
            environment: self.environment(tp)?,
            port: self.command.port(),
            log: self.folder.join(server_log(tp)),
            ready: load.ready_timeout,
        });
        let simulated = self.simulated.as_ref().and_then(|described| {
            let around = engine::surroundings(described, tp).ok()?;
            let facts = self.engine_flags().facts(tp, &around);
            load.simulated_seconds(described, &self.model, facts)
        });
        let named = (serve(tp), format!("load on the server with {tp} GPU(s)"));
        Ok(load.step(named, (self.model.vocab, tp), needs, simulated))
    }

    /// Devices for a size: the first of `--gpus`, or of the machine.
    fn devices(&self, tp: u32) -> Result<String, Stop> {
        let Some(list) = &self.args.gpus else {
            return Ok(first(tp));
        };
        let names: Vec<&str> = list.split(',').map(str::trim).collect();
        match names.get(..tp as usize) {
            Some(names) => Ok(names.join(",")),
            None => Err(Stop::Usage(format!(
                "--gpus {list} names {} device(s) and --tp {tp} needs {tp}",
                names.len()
            ))),
        }
    }

    /// What a server sees of the devices: those of its size, where they were named. Numbers count within what this process
    /// sees itself, as they do for the other programs.
    fn environment(&self, tp: u32) -> Result<Vec<(OsString, OsString)>, Stop> {
        const VARIABLE: &str = "CUDA_VISIBLE_DEVICES";
        if self.args.gpus.is_none() || self.args.sim.is_some() {
            return Ok(Vec::new());
        }
        let seen = std::env::var(VARIABLE).ok();
        let visible = visible(&self.devices(tp)?, VARIABLE, seen.as_deref());
        Ok(vec![(
            VARIABLE.into(),
            visible.map_err(Stop::Usage)?.into(),
        )])
    }
}

/// The first devices, by number.
pub(crate) fn first(count: u32) -> String {
    let numbers: Vec<String> = (0..count).map(|index| index.to_string()).collect();
    numbers.join(",")
}

/// The devices of a list, in the words of a variable such as CUDA_VISIBLE_DEVICES, `seen` being what it holds now.
///
/// # Errors
/// A device that the variable cannot name, or that it hides.
pub(crate) fn visible(devices: &str, variable: &str, seen: Option<&str>) -> Result<String, String> {
    let seen: Option<Vec<&str>> = seen.map(|seen| seen.split(',').map(str::trim).collect());
    let one = |name: &str| -> Result<String, String> {
        let is_uuid = ["GPU-", "MIG-"].iter().any(|kind| name.starts_with(kind));
        match (name.parse::<usize>(), &seen) {
            (Ok(number), None) => Ok(number.to_string()),
            (Ok(number), Some(seen)) => seen
                .get(number)
                .map(|name| (*name).to_owned())
                .ok_or_else(|| format!("--gpus {name}: {variable} shows {} device(s)", seen.len())),
            (Err(_), _) if is_uuid => Ok(name.to_owned()),
            (Err(_), _) => Err(format!(
                "--gpus {name}: the server can be given devices by number or UUID; name them so"
            )),
        }
    };
    let names: Result<Vec<String>, String> = devices.split(',').map(str::trim).map(one).collect();
    Ok(names?.join(","))
}

/// Batches whose message sizes are measured: powers of two on both sides of the one that is served, so that there is a curve.
fn batches(concurrency: u32) -> String {
    let most = concurrency.saturating_mul(2).max(64);
    let mut batches: Vec<u32> = std::iter::successors(Some(1u32), |batch| batch.checked_mul(2))
        .take_while(|batch| *batch <= most)
        .chain([concurrency])
        .collect();
    batches.sort_unstable();
    batches.dedup();
    let words: Vec<String> = batches.iter().map(u32::to_string).collect();
    words.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_batch_that_is_served_is_among_those_that_are_measured() {
        assert_eq!(batches(16), "1,2,4,8,16,32,64");
        // Twice 100 is 200; powers of two up to it, and 100 itself.
        assert_eq!(batches(100), "1,2,4,8,16,32,64,100,128");
    }

    #[test]
    fn a_server_sees_the_devices_that_were_measured() {
        let visible = |devices, seen| visible(devices, "CUDA_VISIBLE_DEVICES", seen);
        assert_eq!(visible("2,3", None).unwrap(), "2,3");
        // Of 4 to 7 the numbers 2 and 3 are 6 and 7.
        assert_eq!(visible("2,3", Some("4,5,6,7")).unwrap(), "6,7");
        assert_eq!(visible("MIG-a", Some("0")).unwrap(), "MIG-a");
        assert!(visible("2", Some("0,1")).unwrap_err().contains("shows 2"));
        assert!(visible("0000:21:00.0", None).unwrap_err().contains("UUID"));
    }
}

//! The serving step of a study: the server of one size is started or found, and a load is put on it.

use std::ffi::OsString;
use std::time::Instant;

use measure::record::redacted_arguments;
use program::Stop;

use super::explained::server_log;
use super::server::{self, Failed, Server};
use super::step::Step;
use super::{Study, no_answer, words};

/// Seed of the prompts: the same prompts for every size, each server being started afresh.
const SEED: &str = "1";

/// A closed loop of requests of equal length.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// Requests in flight at once.
    pub(crate) concurrency: u32,
    /// Measured requests.
    pub(crate) requests: u32,
    /// Prompt tokens of each.
    pub(crate) input_tokens: u32,
    /// Output tokens of each.
    pub(crate) output_tokens: u32,
    /// Token ids that the model has.
    pub(crate) vocab: u32,
}

/// What a decode step and a server's start are taken to take where nothing is known yet, ms and s: only the time that is told
/// before the first load rests on it.
const STEP_MS: f64 = 30.0;
const START_S: f64 = 60.0;

/// What is told of the assumptions of [`Load::assumed_seconds`].
pub(crate) fn assumed() -> String {
    format!(
        "with {START_S} s for a start and {STEP_MS} ms for a step, which nothing tells before the first load"
    )
}

impl Load {
    /// Seconds of its decode steps, each of so many ms; the warm-up has one more request for each in flight.
    pub(crate) fn seconds(&self, step_ms: f64) -> f64 {
        let waves = f64::from(self.requests.div_ceil(self.concurrency) + 1);
        waves * f64::from(self.output_tokens) * step_ms / 1e3
    }

    /// Seconds of a server's start and the load on it where nothing of them is known.
    pub(crate) fn assumed_seconds(&self) -> f64 {
        START_S + self.seconds(STEP_MS)
    }

    /// The arguments of `serve-bench` that put it on a server.
    pub(crate) fn words(&self, url: &str, tp: u32) -> Vec<String> {
        // The special tokens of most vocabularies stand at the end; an image token without an image is refused.
        let ids = self.vocab - self.vocab / 10;
        words(&[
            "run",
            "--base-url",
            url,
            "--tp",
            &tp.to_string(),
            "--concurrency",
            &self.concurrency.to_string(),
            "--requests",
            &self.requests.to_string(),
            "--input-tokens",
            &self.input_tokens.to_string(),
            "--output-tokens",
            &self.output_tokens.to_string(),
            "--prompt",
            "token-ids",
            "--vocab",
            &ids.to_string(),
            "--seed",
            SEED,
        ])
    }
}

/// The folder of a size's load.
pub(super) fn serve(tp: u32) -> String {
    format!("serve-tp{tp}")
}

/// What that step is, in words.
pub(super) fn about_serving(tp: u32) -> String {
    format!("load on the server with {tp} GPU(s)")
}

impl Study<'_> {
    /// What is put on every server.
    pub(super) fn load(&self) -> Load {
        let settings = &self.settings;
        Load {
            concurrency: settings.concurrency,
            requests: settings.requests,
            input_tokens: settings.input_tokens,
            output_tokens: settings.output_tokens,
            vocab: self.model.vocab,
        }
    }

    pub(super) fn serving(&self, tp: u32) -> Result<Step, Stop> {
        let mut running = None;
        let step = self.step(&serve(tp), "serve-bench", &about_serving(tp), |study| {
            let (server, url) = study.server(tp)?;
            running = server;
            Ok(study.load().words(&url, tp))
        });
        // Ends the server.
        drop(running);
        step
    }

    /// Starts the server for a size, or finds the one that the user runs.
    fn server(&self, tp: u32) -> Result<(Option<Server>, String), Stop> {
        let Some(command) = &self.command else {
            let url = self.args.url(tp).unwrap_or_default().to_owned();
            if !server::answers(&url)? {
                return Err(no_answer(&url, tp));
            }
            return Ok((None, url));
        };
        let port = match command.port() {
            Some(port) => port,
            None if command.takes_a_port() => server::free_port()?,
            None => {
                return Err(Stop::Usage(
                    "on which port the server listens is not known: write --port N or {port} in its command, or run it yourself and give --base-url".to_owned(),
                ));
            }
        };
        let url = format!("http://127.0.0.1:{port}");
        server::check_port(port).map_err(Stop::Usage)?;
        let words = command.for_size(tp, port);
        let shown = redacted_arguments(words.iter().cloned());
        (self.say)(&format!("  starting: {}", shown.join(" ")));
        let begun = Instant::now();
        let started = Server::start(
            &format!("server tp{tp}"),
            &words,
            self.environment(tp)?,
            &url,
            &self.folder.join(server_log(tp)),
            self.args.ready_timeout,
            self.interrupt,
        );
        match started {
            Ok(server) => {
                (self.say)(&format!(
                    "  it answers after {:.1} s",
                    begun.elapsed().as_secs_f64()
                ));
                Ok((Some(server), url))
            }
            Err(Failed::Interrupted(signal)) => Err(Stop::Interrupted(signal)),
            Err(Failed::Reason(error)) => Err(Stop::Refused(program::outputs::told(&error))),
        }
    }

    /// What a server sees of the devices: those of its size, where they were named. Numbers count within what this process
    /// sees itself, as they do for the other programs.
    pub(super) fn environment(&self, tp: u32) -> Result<Vec<(OsString, OsString)>, Stop> {
        const VARIABLE: &str = "CUDA_VISIBLE_DEVICES";
        if self.settings.gpus.is_none() || self.settings.sim.is_some() {
            return Ok(Vec::new());
        }
        let devices = self.devices(tp as usize)?;
        let seen = std::env::var(VARIABLE).ok();
        let visible = visible(&devices, VARIABLE, seen.as_deref()).map_err(Stop::Usage)?;
        Ok(vec![(VARIABLE.into(), visible.into())])
    }
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

#[cfg(test)]
mod tests {
    use super::*;

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

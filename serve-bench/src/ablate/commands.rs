//! The environment and the commands of an arm: the same variables for the benchmark and for the server.

use std::path::Path;
use tp_plan::Engine;

use program::Stop;

use super::arm::Arm;
use super::launch::SHIM_LOG;
use super::plan::Plan;
use crate::explain::NO_OWN_ALL_REDUCE;
use crate::study::embedded;
use crate::study::engines::ServerCommand;
use crate::study::steps::{collectives, first, visible};

impl Plan<'_> {
    /// The variables of an arm, which benchmark and server both get; `folder` is the launch's.
    ///
    /// # Errors
    /// Devices that the variable cannot name.
    pub(super) fn environment(
        &self,
        arm: &Arm,
        folder: &Path,
    ) -> Result<Vec<(String, String)>, String> {
        let (args, soft) = (self.args, self.place.soft.is_some());
        let Some(names) = self.place.names else {
            return Ok(Vec::new());
        };
        let mut all: Vec<(String, String)> = arm
            .row
            .variable
            .iter()
            .map(|(name, value)| (format!("{}_{name}", names.collectives), (*value).to_owned()))
            .collect();
        if soft {
            return Ok(all);
        }
        if let Some(devices) = &args.gpus {
            let seen = std::env::var(names.visible).ok();
            let shown = visible(devices, names.visible, seen.as_deref())?;
            all.push((names.visible.to_owned(), shown));
        }
        let is_sglang = self.place.engine.engine == Some(Engine::Sglang);
        if let Some(variable) = names.no_symmetric.filter(|_| !is_sglang) {
            all.push((variable.to_owned(), "0".to_owned()));
        }
        if let (Some(us), Some(shim)) = (arm.delay_us, &args.shim) {
            let text = |path: &Path| path.display().to_string();
            all.push(("TPLENS_DELAY_US".to_owned(), us.to_string()));
            all.push(("TPLENS_DELAY_LOG".to_owned(), text(&folder.join(SHIM_LOG))));
            if let Some(real) = &args.ccl {
                all.push(("TPLENS_DELAY_LIBRARY".to_owned(), text(real)));
            }
            let by_name = self.command.as_ref().is_some_and(ServerCommand::is_known);
            match names.library(is_sglang).filter(|_| by_name) {
                Some(variable) => all.push((variable.to_owned(), text(shim))),
                // Found by its name before any other.
                None => {
                    let folder = shim.parent().unwrap_or(Path::new("."));
                    // An empty part would stand for the folder that the server is started in.
                    let after = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
                    let parts = [folder.display().to_string(), after];
                    let path = parts.join(":").trim_end_matches(':').to_owned();
                    all.push(("LD_LIBRARY_PATH".to_owned(), path));
                }
            }
        }
        Ok(all)
    }

    /// The arguments of tplens allreduce; `soft` is the box file of the launch.
    pub(super) fn bench(&self, arm: &Arm, soft: Option<&Path>) -> Vec<String> {
        let args = self.args;
        let devices = match (&args.gpus, soft) {
            (Some(devices), Some(_)) => devices.clone(),
            // Those that the variable shows.
            _ => first(args.tp),
        };
        let (batch, engine) = (args.load.concurrency.to_string(), self.place.engine);
        let mut all = collectives(devices, &args.model, args.tp, batch, args.budget, engine);
        // As --modes takes it.
        let mode = self.mode.to_string().replace('_', "-");
        all.extend(["--modes".to_owned(), mode]);
        let shim = args.shim.as_ref().filter(|_| arm.delay_us.is_some());
        if let Some(library) = shim.or(args.ccl.as_ref()) {
            all.extend(["--ccl".to_owned(), library.display().to_string()]);
        }
        all.extend(match soft {
            Some(file) => ["--sim".to_owned(), file.display().to_string()],
            None => ["--backend".to_owned(), args.backend.clone()],
        });
        all
    }

    /// The server's words, `{port}` where a port is to be chosen; `soft` is the box file of the engine.
    ///
    /// # Errors
    /// This program's own file is not found.
    pub(super) fn server(&self, soft: Option<&Path>) -> Result<Vec<String>, Stop> {
        let command = match (&self.command, soft) {
            (Some(command), _) => command.clone(),
            (None, file) => {
                let file = file.unwrap_or(Path::new("")).display().to_string();
                let own = embedded(&file, &self.args.model)?;
                ServerCommand::new(own, &[self.args.tp]).map_err(Stop::Usage)?
            }
        };
        let mut all = command.for_size(self.args.tp);
        if self.is_told_to_leave() && !command.says(NO_OWN_ALL_REDUCE) {
            all.push(NO_OWN_ALL_REDUCE.to_owned());
        }
        Ok(all)
    }

    /// Whether the server is told to leave every all-reduce to the library: by the user, or here. The embedded engine knows the flag.
    pub(super) fn is_told_to_leave(&self) -> bool {
        let knows = |command: &ServerCommand| command.is_known() || command.says(NO_OWN_ALL_REDUCE);
        self.command.as_ref().is_none_or(knows)
    }

    /// What an arm is, in words: its variables, flags, devices and binding.
    pub(super) fn how(&self, arm: &Arm) -> String {
        let mut parts: Vec<String> = Vec::new();
        // What cannot be named stops the first launch.
        let variables = self.environment(arm, Path::new(".")).unwrap_or_default();
        parts.extend(
            variables
                .iter()
                .map(|(name, value)| format!("{name}={value}")),
        );
        if self.is_told_to_leave() {
            parts.push(NO_OWN_ALL_REDUCE.to_owned());
        }
        parts.extend(
            arm.delay_us
                .map(|us| format!("{us} us added to each all-reduce")),
        );
        match parts.is_empty() {
            true => "as it is".to_owned(),
            false => parts.join(", "),
        }
    }
}

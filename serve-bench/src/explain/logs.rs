//! Logs of the servers that were measured: which run each is of, and what it says against the command line.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ::explain::ServerLog;
use tp_plan::{CustomAllReduce, Engine, EngineFacts, EngineLog, OffCause, Surroundings};

use super::case::{EngineFlags, cache_bytes};
use crate::engine_log;

/// A server's log.
#[derive(Debug, Clone)]
pub(crate) struct EngineLogFile {
    file: PathBuf,
    /// The engine that it is of.
    engine: Engine,
    /// The tensor parallel size that it is of.
    pub(super) tp: u32,
    log: EngineLog,
}

impl EngineLogFile {
    /// Reads a log that says its engine and its size.
    ///
    /// # Errors
    /// It cannot be read, does not say them, or is of another engine than `asked`; in words.
    pub(super) fn read(file: &Path, asked: Option<Engine>) -> Result<Self, String> {
        let name = file.display();
        let log = engine_log::read(file).map_err(|error| format!("--engine-log {error}"))?;
        let (Some(engine), Some(tp)) = (&log.engine, &log.tp) else {
            return Err(format!(
                "--engine-log {name}: no line says its tensor parallel size; give the server's output from its first line on"
            ));
        };
        if let Some(asked) = asked.filter(|asked| *asked != engine.value) {
            let (line, own, asked) = (engine.line, engine.value.name(), asked.name());
            return Err(format!(
                "--engine-log {name}: line {line} says that this is {own}, but --engine says {asked}"
            ));
        }
        Ok(Self {
            file: file.to_path_buf(),
            engine: engine.value,
            tp: tp.value,
            log,
        })
    }

    /// Bytes of an element of the cache; `None` where the log does not say, or leaves it to the model.
    pub(super) fn cache_bytes(&self) -> Option<u32> {
        cache_bytes(&self.log.kv_cache_dtype.as_ref()?.value)
            .ok()
            .filter(|bytes| *bytes > 0)
    }

    /// What it says beside what decides the plan.
    pub(super) fn said(&self) -> ServerLog {
        let log = &self.log;
        let ways = log.transports.iter().map(|way| way.name.as_str());
        let ways: BTreeSet<&str> = ways.collect();
        let own = log.custom_all_reduce.as_ref().map(|said| &said.value);
        let own = own.filter(|_| self.tp > 1);
        let reduces_itself = own == Some(&CustomAllReduce::Active);
        let version = log.version.as_ref().map(|said| said.value.as_str());
        let by_way = ways.iter().any(|way| way.starts_with("P2P"));
        let is_denied = own.is_some_and(|own| own.is_off_by(OffCause::NoPeers));
        let ways: Vec<&str> = ways.into_iter().collect();
        ServerLog {
            origin: self.file.display().to_string(),
            tp: self.tp,
            peers: match by_way || reduces_itself {
                true => Some(true),
                false => is_denied.then_some(false),
            },
            reduces_itself,
            transport: (!ways.is_empty()).then(|| ways.join(" and ")),
            engine: format!("{} {}", self.engine.name(), version.unwrap_or_default()),
        }
    }
}

/// What the engine found of its GPUs' reach, where nobody probed it.
pub(super) fn peers(logs: &[ServerLog], around: &mut Surroundings) {
    let found = logs.iter().find_map(|log| Some((log.peers?, log)));
    if let (None, Some((reach, log))) = (around.peer_access, found) {
        around.peer_access = Some(reach);
        if !reach {
            around.no_peer_reason = format!("the engine found none ({})", log.origin);
        }
    }
}

/// The engine of each size: as its log says, and for a size without one as the command line and the defaults say.
///
/// # Errors
/// Logs are of two engines; in words.
pub(super) fn engines(
    logs: &[EngineLogFile],
    mut flags: EngineFlags,
    sizes: &[u32],
    around: &Surroundings,
) -> Result<Vec<EngineFacts>, String> {
    // A size without a log ran on the engine of the others.
    if let Some(first) = logs.first() {
        flags.engine = Some(first.engine);
        if let Some(other) = logs.iter().find(|log| log.engine != first.engine) {
            let [(a, one), (b, two)] =
                [other, first].map(|of| (of.file.display(), of.engine.name()));
            return Err(format!(
                "--engine-log {a}: this is {one}, and {b} is {two}; compare servers of one engine"
            ));
        }
    }
    let facts = |tp: &u32| {
        let said = flags.facts(*tp, around);
        match logs.iter().find(|one| one.tp == *tp) {
            Some(one) => said.with_log(&one.log),
            None => said,
        }
    };
    Ok(sizes.iter().map(facts).collect())
}

#[cfg(test)]
mod tests {
    use tp_plan::{CustomAllReduce, Execution, Vendor};

    use super::*;

    /// A log in a file of its own, as vLLM 0.13's `v1/engine/core.py` and `custom_all_reduce.py` write it.
    fn log(name: &str, tp: u32) -> EngineLogFile {
        let text = format!(
            "INFO [core.py:93] Initializing a V1 LLM engine (v0.13.0) with config: model='m', tensor_parallel_size={tp}, kv_cache_dtype=fp8_e4m3, enforce_eager=True\n\
             WARNING Custom allreduce is disabled because your platform lacks GPU P2P capability or P2P test failed. To silence this warning, x\n"
        );
        let file = std::env::temp_dir().join(format!("tplens-log-{name}-{}", std::process::id()));
        std::fs::write(&file, text).unwrap();
        let read = EngineLogFile::read(&file, None).unwrap();
        assert!(
            EngineLogFile::read(&file, Some(Engine::Sglang))
                .unwrap_err()
                .contains("--engine says SGLang")
        );
        std::fs::remove_file(&file).unwrap();
        read
    }

    #[test]
    fn a_log_is_of_the_run_of_its_size() {
        let around = Surroundings::of_gpus(Vendor::Nvidia, &[], None, false, None);
        let flags = EngineFlags::default();
        let logs = [log("two", 2)];
        let engines = engines(&logs, flags, &[1, 2], &around).unwrap();
        assert!(matches!(
            engines[1].custom_all_reduce,
            CustomAllReduce::Off { .. }
        ));
        assert_eq!(engines[1].execution, Execution::Eager);
        assert_eq!(logs[0].cache_bytes(), Some(1));
        assert!(matches!(engines[0].execution, Execution::Graph { .. }));
    }

    #[test]
    fn what_the_engine_found_of_its_gpus_takes_the_place_of_a_probe_and_not_of_one_that_was_made() {
        let said = [log("peers", 2).said()];
        assert_eq!(said[0].peers, Some(false));
        assert_eq!(said[0].engine, "vLLM 0.13.0");
        let of = |probed| {
            let mut around = Surroundings::of_gpus(Vendor::Nvidia, &[], None, false, probed);
            peers(&said, &mut around);
            around.peer_access
        };
        assert_eq!((of(None), of(Some(true))), (Some(false), Some(true)));
        // One GPU has nothing to reach.
        assert_eq!(log("alone", 1).said().peers, None);
    }
}

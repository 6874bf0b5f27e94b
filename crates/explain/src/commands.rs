//! Commands that run as they are printed: with the case's own model, engine, lengths and requests in flight.
//!
//! Nothing is run here. Figures of a simulated machine get commands on that simulated machine.

use tp_plan::{Engine, EngineFacts, Execution, HalfError, OffCause, builtin_names, hub_id};

use crate::inputs::Inputs;
use crate::run_shape::RunShape;

/// The flag by which engines leave all-reduces to the library.
const NO_OWN_ALL_REDUCE: &str = "--disable-custom-all-reduce";

/// Tokens that a chat's template may add to a prompt.
const TEMPLATE: f64 = 64.0;

/// Where a server of these commands listens.
const URL: &str = "http://127.0.0.1:8000";

/// Commands of a case.
#[derive(Clone, Copy)]
pub(crate) struct Commands<'a> {
    inputs: &'a Inputs,
}

impl<'a> Commands<'a> {
    pub(crate) fn new(inputs: &'a Inputs) -> Self {
        Self { inputs }
    }

    /// The simulated machine as a command names it; `None` where all is measured.
    fn soft(&self) -> Option<String> {
        let name = self.inputs.simulated()?;
        Some(word(
            self.inputs.seen.soft_given.as_deref().unwrap_or(&name),
        ))
    }

    /// Whether these commands run on a simulated machine, with the embedded engine.
    pub(crate) fn is_soft(&self) -> bool {
        self.inputs.simulated().is_some()
    }

    /// The model as our programs take it: as it was given, else a shipped name, else as the server had it.
    fn model(&self) -> String {
        let name = &self.inputs.model.name;
        if let Some(given) = &self.inputs.seen.model_given {
            return word(given);
        }
        match builtin_names().contains(&name.as_str()) {
            true => name.clone(),
            false => self.served(),
        }
    }

    /// The model as an engine takes it: the path or id that the runs name, else the id of a shipped one.
    fn served(&self) -> String {
        let runs = self.inputs.serve.iter();
        let mut named = runs.filter_map(|(_, run)| run.model.as_deref());
        let name = &self.inputs.model.name;
        let given = self.inputs.seen.model_given.as_deref();
        let path = named
            .find(|name| name.contains('/'))
            .or_else(|| hub_id(name))
            .or(given)
            .unwrap_or(name);
        word(path.strip_suffix("/config.json").unwrap_or(path))
    }

    fn is_sglang(&self) -> bool {
        let engine = self.inputs.engine(self.inputs.tp);
        engine.is_some_and(|engine| engine.engine == Engine::Sglang)
    }

    /// The same commands for a server with graphs.
    pub(crate) fn served_with_graphs(&self, tp: u32, concurrency: u32) -> Vec<String> {
        let mut inputs = self.inputs.clone();
        for engine in &mut inputs.engines {
            if engine.execution == Execution::Eager {
                let own = EngineFacts::of(engine.engine, engine.tp, &inputs.around);
                engine.execution = own.execution;
            }
        }
        Commands::new(&inputs).served_with(tp, concurrency, "")
    }

    /// The length that the load needs, where it is vLLM's and real: a model's own may leave no room for its cache.
    fn length(&self) -> String {
        let run = self.inputs.runs(self.inputs.tp).next();
        let shape = run.map(RunShape::new);
        let tokens = shape.and_then(|shape| Some(shape.input()? + shape.output()?));
        match (tokens, self.is_sglang() || self.is_soft()) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "tokens of a request, held between 1 and ten million"
            )]
            (Some(tokens), false) => {
                // A chat's template adds some.
                let needed = (tokens + TEMPLATE).ceil().clamp(1.0, 1e7) as u32;
                format!(" --max-model-len {}", needed.next_power_of_two())
            }
            _ => String::new(),
        }
    }

    /// Flags of the engine that decide which messages are sent, as far as they are known, for so many in flight.
    fn flags(&self, concurrency: u32) -> String {
        let Some(engine) = self.inputs.engine(self.inputs.tp) else {
            return String::new();
        };
        let around = &self.inputs.around;
        let own = EngineFacts::of(engine.engine, engine.tp, around);
        let names = match engine.engine {
            Engine::Vllm | Engine::Trtllm => [
                "--enforce-eager",
                "--max-num-seqs",
                "--max-num-batched-tokens",
            ],
            Engine::Sglang => [
                "--disable-cuda-graph",
                "--max-running-requests",
                "--chunked-prefill-size",
            ],
        };
        let [eager, sequences, tokens] = names;
        let mut flags = String::new();
        if engine.execution == Execution::Eager {
            flags.push_str(&format!(" {eager}"));
        }
        if engine.custom_all_reduce.is_off_by(OffCause::Flag) {
            flags.push_str(&format!(" {NO_OWN_ALL_REDUCE}"));
        }
        // What the engine does by itself needs no flag.
        let most = engine
            .max_num_seqs
            .filter(|_| engine.max_num_seqs != own.max_num_seqs);
        // A limit of the runs would hold a larger load back, and so would the engine's own.
        let held = own.max_num_seqs.filter(|own| *own < concurrency);
        if let Some(most) = most.or(held).map(|most| most.max(concurrency)) {
            flags.push_str(&format!(" {sequences} {most}"));
        }
        if engine.max_batched_tokens != own.max_batched_tokens {
            flags.push_str(&format!(" {tokens} {}", engine.max_batched_tokens));
        }
        flags
    }

    /// The engine with a model; its size and port are added by what starts it.
    fn engine(&self, model: &str, concurrency: u32) -> String {
        let flags = self.flags(concurrency);
        match self.is_sglang() {
            true => format!("python3 -m sglang.launch_server --model-path {model}{flags}"),
            false => format!("vllm serve {model}{flags}"),
        }
    }

    /// A server of a size, and a load on it with so many in flight.
    pub(crate) fn served_with(&self, tp: u32, concurrency: u32, more: &str) -> Vec<String> {
        let size = match self.is_sglang() && !self.is_soft() {
            true => "--tp-size",
            false => "--tensor-parallel-size",
        };
        self.served_as(&format!("{size} {tp}"), Some(tp), concurrency, more)
    }

    /// A server whose layers are split over so many GPUs, one after the other, and a load on it. No size of tensor parallelism is
    /// recorded: it is neither that of one GPU nor that of several.
    pub(crate) fn served_in_stages(&self, stages: u32, concurrency: u32) -> Vec<String> {
        let size = match self.is_sglang() {
            true => "--pp-size",
            false => "--pipeline-parallel-size",
        };
        self.served_as(&format!("{size} {stages}"), None, concurrency, "")
    }

    fn served_as(&self, size: &str, tp: Option<u32>, concurrency: u32, more: &str) -> Vec<String> {
        let server = match self.soft() {
            Some(name) => {
                let flags = match self.is_sglang() {
                    true => String::new(),
                    false => self.flags(concurrency),
                };
                format!(
                    "tplens serve engine --box {name} --model {}{flags}",
                    self.model()
                )
            }
            None => self.engine(&self.served(), concurrency),
        };
        let server = format!("{server} {size} --port 8000{}{more}", self.length());
        vec![server, self.load(tp, concurrency)]
    }

    /// The engine's flag against reuse of prompts; nothing for the embedded engine, which has none.
    pub(crate) fn no_prefix_cache(&self) -> &'static str {
        match (self.inputs.simulated().is_some(), self.is_sglang()) {
            (true, _) => "",
            (false, true) => " --disable-radix-cache",
            (false, false) => " --no-enable-prefix-caching",
        }
    }

    /// The load of the runs with so many in flight, as many requests for each.
    fn load(&self, tp: Option<u32>, concurrency: u32) -> String {
        // As studies do: special tokens stand at the end of most vocabularies.
        let vocab = self.inputs.model.vocab - self.inputs.model.vocab / 10;
        let tp = tp.map_or_else(String::new, |tp| format!("--tp {tp} "));
        format!(
            "tplens serve run --base-url {URL} {tp}{} --prompt token-ids --vocab {vocab}",
            self.lengths(concurrency)
        )
    }

    /// Flags of the runs' load: what is not known is left to the program's own.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "tokens and requests, held between 1 and ten million"
    )]
    fn lengths(&self, concurrency: u32) -> String {
        let inputs = self.inputs;
        let run = inputs.runs(inputs.tp).next();
        let shape = run.map(RunShape::new);
        let whole = |value: f64| value.round().clamp(1.0, 1e7) as u32;
        let waves = run.zip(inputs.batch()).map(|(run, batch)| {
            #[expect(clippy::cast_precision_loss, reason = "requests of a run")]
            let completed = run.completed as f64;
            (completed / f64::from(batch.max(1))).ceil()
        });
        let requests = waves.map(|waves| whole(waves * f64::from(concurrency)));
        let input = shape.and_then(|shape| shape.input()).map(whole);
        let output = shape.and_then(|shape| shape.output()).map(whole);
        let flags = [
            ("requests", requests),
            ("input-tokens", input),
            ("output-tokens", output),
        ];
        let mut text = format!("--concurrency {concurrency}");
        for (name, value) in flags {
            if let Some(value) = value {
                text.push_str(&format!(" --{name} {value}"));
            }
        }
        text
    }

    /// Arms of an ablation at this batch; `more` are flags such as ` --gpus 0,2`.
    pub(crate) fn ablate(&self, batch: u32, more: &str) -> String {
        let begin = format!(
            "tplens ablate --model {} --tp {} {}{more}",
            self.model(),
            self.inputs.tp,
            self.lengths(batch)
        );
        match self.soft() {
            Some(name) => format!("{begin} --sim {name}"),
            None => format!(
                "{begin} -- {}{}",
                self.engine(&self.served(), batch),
                self.length()
            ),
        }
    }

    /// The model at a rank's width under the load of the runs.
    ///
    /// # Errors
    /// It cannot be run as a model of its own.
    pub(crate) fn half_model(&self, batch: u32) -> Result<String, HalfError> {
        let (model, tp) = (&self.inputs.model, self.inputs.tp);
        let engine = match self.is_sglang() {
            true => Engine::Sglang,
            false => Engine::Vllm,
        };
        let is_written = tp_plan::must_be_written(model, engine)?;
        tp_plan::half(model, tp)?;
        let mut command = format!(
            "tplens half --model {} --tp {tp} --run {}",
            self.model(),
            self.lengths(batch)
        );
        if let Some(name) = self.soft() {
            command.push_str(&format!(" --sim {name}"));
            return Ok(command);
        }
        if is_written {
            command.push_str(" --write half-width");
        }
        if self.is_sglang() {
            command.push_str(" --engine sglang");
        }
        if !self.flags(batch).is_empty() {
            command.push_str(&format!(" -- {}", self.engine("{model}", batch)));
        }
        Ok(command)
    }

    /// The collectives of steps of these batches, by tplens allreduce.
    pub(crate) fn collectives(&self, batches: &str) -> String {
        let inputs = self.inputs;
        let mut command = format!(
            "tplens allreduce --model {} --tp {} --batches {batches}",
            self.model(),
            inputs.tp
        );
        if self.is_sglang() {
            command.push_str(" --engine sglang");
        }
        let engine = inputs.engine(inputs.tp);
        if engine.is_some_and(|engine| engine.execution == Execution::Eager) {
            command.push_str(" --eager");
        }
        self.on_the_box(command)
    }

    /// The links of the GPUs that ran, by tplens p2p.
    pub(crate) fn links(&self) -> String {
        self.on_the_box(format!("tplens p2p --gpus {}", self.gpus()))
    }

    /// What is wrong with the box, by tplens p2p.
    pub(crate) fn doctor(&self) -> String {
        self.on_the_box("tplens doctor".to_owned())
    }

    /// The same commands on a box with the same GPUs that are not cut into instances; `None` where no shipped simulated machine is one.
    pub(crate) fn on_whole_gpus(&self, batch: u32) -> Option<Vec<String>> {
        let mut inputs = self.inputs.clone();
        if self.is_soft() {
            inputs.seen.soft_given = Some(self.inputs.seen.whole_gpus.clone()?);
        }
        let whole = Commands::new(&inputs);
        Some(vec![whole.links(), whole.collectives(&batch.to_string())])
    }

    /// The ordinals of the GPUs that ran, as a command line lists them; the first ones where nobody measured links.
    pub(crate) fn gpus(&self) -> String {
        let tp = self.inputs.tp;
        let used = self.inputs.seen.used(tp);
        let ordinals: Vec<String> = match used.is_empty() {
            true => (0..tp).map(|gpu| gpu.to_string()).collect(),
            false => used.iter().map(|gpu| gpu.ordinal.to_string()).collect(),
        };
        ordinals.join(",")
    }

    fn on_the_box(&self, command: String) -> String {
        match self.soft() {
            Some(name) => format!("{command} --sim {name}"),
            None => command,
        }
    }
}

/// A word as a POSIX shell takes it.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

//! Commands that run as they are printed: with the case's own model, engine, lengths and requests in flight.
//!
//! Nothing is run here. Figures of a simulated machine get commands on that simulated machine.

use tp_plan::{Engine, EngineFacts, Execution, HalfError, OffCause, builtin_names, hub_id};

use crate::inputs::Inputs;
use crate::range::{count, whole};
use crate::run_shape::RunShape;

/// Tokens that a chat's template may add to a prompt.
const TEMPLATE: f64 = 64.0;

/// A command as its words, printed as a POSIX shell takes them.
#[derive(Debug, Clone)]
pub(crate) struct Command(Vec<String>);

impl Command {
    fn of(words: &str) -> Self {
        Self(words.split_whitespace().map(str::to_owned).collect())
    }

    /// With more words, split at blanks.
    pub(crate) fn and(mut self, words: &str) -> Self {
        self.0.extend(Self::of(words).0);
        self
    }

    /// With an option and its value.
    pub(crate) fn with(mut self, option: &str, value: impl ToString) -> Self {
        self.0.extend([option.to_owned(), value.to_string()]);
        self
    }

    fn all(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// As a shell takes it; `None` where a word cannot be given to one.
    pub(crate) fn quoted(&self) -> Option<String> {
        // A list such as `0,1` needs no quotes.
        let is_list = |word: &str| word.chars().all(|one| one.is_ascii_digit() || one == ',');
        let word = |word: &String| match is_list(word) {
            true => Some(word.clone()),
            false => Some(shlex::try_quote(word).ok()?.into_owned()),
        };
        let words: Option<Vec<String>> = self.0.iter().map(word).collect();
        Some(words?.join(" "))
    }
}

/// Commands of a case.
pub(crate) struct Commands<'a> {
    inputs: &'a Inputs,
    /// The simulated machine that the figures are of, as it was given, with its embedded engine.
    soft: Option<String>,
    is_sglang: bool,
}

impl<'a> Commands<'a> {
    pub(crate) fn new(inputs: &'a Inputs) -> Self {
        let given = || inputs.seen.soft_given.clone();
        let engine = inputs.engine(inputs.tp);
        Self {
            inputs,
            soft: inputs.simulated().map(|name| given().unwrap_or(name)),
            is_sglang: engine.is_some_and(|engine| engine.engine == Engine::Sglang),
        }
    }

    /// Whether these commands run on a simulated machine.
    pub(crate) fn is_soft(&self) -> bool {
        self.soft.is_some()
    }

    /// With the simulated machine, where the figures are of one.
    fn on_the_box(&self, command: Command) -> Command {
        match &self.soft {
            Some(name) => command.with("--sim", name),
            None => command,
        }
    }

    /// One of our programs with the model: as it was given, else a shipped name, else as the server had it.
    fn ours(&self, program: &str) -> Command {
        let (name, given) = (&self.inputs.model.name, &self.inputs.seen.model_given);
        let is_shipped = builtin_names().contains(&name.as_str());
        let own = given.as_deref().or(is_shipped.then_some(name));
        let command = Command::of(program);
        command.with("--model", own.unwrap_or_else(|| self.served()))
    }

    /// The model as an engine takes it: the path or id that the runs name, else the id of a shipped one.
    fn served(&self) -> &str {
        let runs = self.inputs.serve.iter();
        let mut named = runs.filter_map(|(_, run)| run.model.as_deref());
        let name = &self.inputs.model.name;
        let path = named
            .find(|name| name.contains('/'))
            .or_else(|| hub_id(name))
            .or(self.inputs.seen.model_given.as_deref())
            .unwrap_or(name);
        path.strip_suffix("/config.json").unwrap_or(path)
    }

    /// Flags of the engine that decide which messages are sent, as far as they are known.
    fn flags(&self) -> Command {
        let mut flags = Command(Vec::new());
        let Some(engine) = self.inputs.engine(self.inputs.tp) else {
            return flags;
        };
        let own = EngineFacts::of(engine.engine, engine.tp, &self.inputs.around);
        let [eager, sequences, tokens] = match engine.engine {
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
        if engine.execution == Execution::Eager {
            flags = flags.and(eager);
        }
        if engine.custom_all_reduce.is_off_by(OffCause::Flag) {
            flags = flags.and("--disable-custom-all-reduce");
        }
        // What the engine does by itself needs no flag.
        let most = engine.max_num_seqs;
        if let Some(most) = most.filter(|_| most != own.max_num_seqs) {
            flags = flags.with(sequences, most);
        }
        if engine.max_batched_tokens != own.max_batched_tokens {
            flags = flags.with(tokens, engine.max_batched_tokens);
        }
        flags
    }

    /// A real engine with a model; vLLM's with the length that the load needs: a model's own may leave no room for its cache.
    fn engine(&self, model: &str) -> Command {
        let begin = match self.is_sglang {
            true => Command::of("python3 -m sglang.launch_server").with("--model-path", model),
            false => Command::of("vllm serve").all(Command(vec![model.to_owned()])),
        };
        let engine = begin.all(self.flags());
        let run = self.inputs.runs(self.inputs.tp).next().map(RunShape::new);
        let tokens = run.and_then(|run| Some(run.input()? + run.output()?));
        match tokens.filter(|_| !self.is_sglang) {
            Some(tokens) => {
                let needed = whole((tokens + TEMPLATE).ceil());
                engine.with("--max-model-len", needed.next_power_of_two())
            }
            None => engine,
        }
    }

    /// Flags of the runs' load: what is not known is left to the program's own.
    fn lengths(&self, concurrency: u32) -> Command {
        let run = self.inputs.runs(self.inputs.tp).next();
        let shape = run.map(RunShape::new);
        let waves = run.zip(self.inputs.batch());
        let waves = waves.map(|(run, batch)| (count(run.completed) / f64::from(batch)).ceil());
        let flags = [
            ("--requests", waves.map(|all| all * f64::from(concurrency))),
            ("--input-tokens", shape.and_then(|shape| shape.input())),
            ("--output-tokens", shape.and_then(|shape| shape.output())),
        ];
        let known = flags.into_iter().filter_map(|(name, of)| Some((name, of?)));
        known.fold(
            Command::of("").with("--concurrency", concurrency),
            |all, (name, value)| all.with(name, whole(value.max(1.0))),
        )
    }

    /// Arms of an ablation at this batch; `arms` are words such as `--arms numa`.
    pub(crate) fn ablate(&self, batch: u32, arms: &str) -> Command {
        let begin = self.ours("tplens ablate").with("--tp", self.inputs.tp);
        let begin = begin.all(self.lengths(batch)).and(arms);
        match self.is_soft() {
            true => self.on_the_box(begin),
            false => begin.and("--").all(self.engine(self.served())),
        }
    }

    /// The model at a rank's width under the load of the runs.
    ///
    /// # Errors
    /// It cannot be run as a model of its own.
    pub(crate) fn half_model(&self, batch: u32) -> Result<Command, HalfError> {
        let (model, tp) = (&self.inputs.model, self.inputs.tp);
        let engine = match self.is_sglang {
            true => Engine::Sglang,
            false => Engine::Vllm,
        };
        let is_written = tp_plan::must_be_written(model, engine)?;
        tp_plan::half(model, tp)?;
        let command = self.ours("tplens half").with("--tp", tp).and("--run");
        let mut command = command.all(self.lengths(batch));
        if self.is_soft() {
            return Ok(self.on_the_box(command));
        }
        if is_written {
            command = command.and("--write half-width");
        }
        if self.is_sglang {
            command = command.and("--engine sglang");
        }
        if !self.flags().0.is_empty() {
            command = command.and("--").all(self.engine("{model}"));
        }
        Ok(command)
    }

    /// The collectives of a step of this batch, by tplens allreduce.
    pub(crate) fn collectives(&self, batch: u32) -> Command {
        let command = self.ours("tplens allreduce").with("--tp", self.inputs.tp);
        let mut command = command.with("--batches", batch);
        if self.is_sglang {
            command = command.and("--engine sglang");
        }
        let engine = self.inputs.engine(self.inputs.tp);
        if engine.is_some_and(|engine| engine.execution == Execution::Eager) {
            command = command.and("--eager");
        }
        self.on_the_box(command)
    }

    /// The links of the GPUs that ran, by tplens p2p.
    pub(crate) fn links(&self) -> Command {
        // The first ones where nobody measured links.
        let tp = self.inputs.tp;
        let used = self.inputs.seen.used(tp);
        let ordinals: Vec<String> = match used.is_empty() {
            true => (0..tp).map(|gpu| gpu.to_string()).collect(),
            false => used.iter().map(|gpu| gpu.ordinal.to_string()).collect(),
        };
        self.on_the_box(Command::of("tplens p2p").with("--gpus", ordinals.join(",")))
    }

    /// What is wrong with the machine.
    pub(crate) fn doctor(&self) -> Command {
        self.on_the_box(Command::of("tplens doctor"))
    }
}

//! `tplens study --prefill --decode`: prefill and decode engines behind the router, the prefill engine alone, and an aggregated engine
//! under the same load; whether to split, and who limits.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use disagg::{Arm, Slo, Verdict, judge};
use import::ServeRun;
use import::serve::{self, Spread};
use program::Stop;
use program::command_line::time;
use record::exit;
use runner::run::{Needs, Step, StepEnd, set_aside};
use runner::server::ServerSpec;
use serde::Serialize;
use tp_plan::ModelFacts;

use crate::explain::PAGE;
use crate::json;
use crate::planner::Asker;
use crate::route::{self, PORT, Parts, ROUTED_PORT, is_address, spec};
use crate::study::load::LoadArgs;

/// The settings, the router's lines and the answer, in the folder.
const SETTINGS: &str = "study.json";
const JOURNAL: &str = "route.jsonl";
const ANSWER: &str = "apart.json";

/// The part of its own rate from which on an engine or a link is what limits.
const FULL: f64 = 0.8;

/// Flags by which an engine's command says its GPUs.
const GPUS: [&str; 4] = ["--tensor-parallel-size", "--tp-size", "--tp", "-tp"];

/// A flag by which a decode engine is told whose keys and values it takes, and the word behind its command (the last of a flag holds)
/// with which it makes them up and so needs no prefill engine: vLLM's decode_bench_connector.py, SGLang's disaggregation/fake.
const MADE_UP: [(&str, &str); 2] = [
    (
        "--kv-transfer-config",
        r#"--kv-transfer-config={"kv_connector":"DecodeBenchConnector","kv_role":"kv_both"}"#,
    ),
    (
        "--disaggregation-mode",
        "--disaggregation-transfer-backend=fake",
    ),
];

/// Engines that are studied apart.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ApartArgs {
    /// A prefill engine of its own: an address, or a command with `{port}` where its port belongs; several times for several. Studies
    /// prefill and decode apart behind `tplens serve route`, in place of tensor parallel sizes.
    #[arg(long, value_name = "URL|CMD", requires = "decode", conflicts_with_all = ["server", "sim", "tp", "gpus", "backend", "budget"])]
    pub(crate) prefill: Vec<String>,
    /// A decode engine, as --prefill.
    #[arg(long, value_name = "URL|CMD", requires = "prefill")]
    pub(crate) decode: Vec<String>,
    /// An engine that does both, to compare with: each of its GPUs gets as many requests in flight.
    #[arg(long, value_name = "URL|CMD", requires = "prefill")]
    pub(crate) aggregated: Option<String>,
    /// GPUs of each prefill, decode and aggregated engine [default: as their commands say, else 1].
    #[arg(
        long,
        value_name = "P,D,A",
        value_delimiter = ',',
        requires = "prefill"
    )]
    pub(crate) engine_gpus: Vec<u32>,
    /// Limit of the 99th percentile of TTFT; of the mean below 200 requests.
    #[arg(long, value_name = "TIME", requires = "prefill", value_parser = time)]
    pub(crate) ttft: Option<Duration>,
    /// Limit of the 99th percentile of the time between tokens; of the mean below 200 of these.
    #[arg(long, value_name = "TIME", requires = "prefill", value_parser = time)]
    pub(crate) itl: Option<Duration>,
}

/// A study of engines apart.
pub(crate) struct ApartStudy<'a> {
    pub(crate) args: &'a ApartArgs,
    pub(crate) model: &'a str,
    pub(crate) load: &'a LoadArgs,
    pub(crate) folder: &'a Path,
}

/// What a load on one arrangement showed.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Measured {
    pub(super) name: &'static str,
    pub(super) gpus: u32,
    pub(super) run: ServeRun,
}

/// The answer.
#[derive(Debug, Serialize)]
pub(super) struct Apart {
    pub(super) schema: u32,
    pub(super) simulated: Option<String>,
    pub(super) model: String,
    pub(super) prefill: usize,
    pub(super) decode: usize,
    pub(super) split: Measured,
    pub(super) prefill_alone: Measured,
    /// Where it is a command that says where keys and values come from.
    pub(super) decode_alone: Option<Measured>,
    pub(super) aggregated: Option<Measured>,
    pub(super) parts: Parts,
    /// Parts of the time in which prefill engines and a link work.
    pub(super) prefill_busy: f64,
    pub(super) link_busy: Option<f64>,
    pub(super) limit: &'static str,
    pub(super) verdict: &'static str,
    /// Requests a second and GPU over those of the aggregated engine, where both keep the limits.
    pub(super) over_aggregated: Option<f64>,
    #[serde(skip)]
    pub(super) decided: Option<Verdict>,
    /// Metrics with a limit that are judged by their mean, because there are too few values for a 99th percentile.
    pub(super) by_mean: Vec<&'static str>,
    /// Loads that did not end well for another reason than the client.
    pub(super) doubted: Vec<String>,
    /// Loads whose client was the limit.
    pub(super) limited: Vec<String>,
}

impl ApartStudy<'_> {
    /// Measures what is not measured yet, and prints the answer.
    ///
    /// # Errors
    /// What ended it.
    pub(crate) fn run(&self, asker: &Asker<'_>) -> Result<u8, Stop> {
        let steps = self.steps().map_err(Stop::Usage)?;
        let args = self.args;
        let engines = args.prefill.iter().chain(&args.decode);
        let engines: Vec<String> = engines.chain(&args.aggregated).cloned().collect();
        let settings = (self.load).settings(serde_json::json!({"model": self.model}), &engines);
        let mut run = asker.open(self.folder, ("a study", SETTINGS), &settings)?;
        if steps[1].done(self.folder).is_none() {
            // Of a load that was broken off; engines that are started anew are cold.
            let _ = std::fs::remove_file(self.folder.join(JOURNAL));
            set_aside(&self.folder.join(&steps[0].name))?;
        }
        run.expect(&steps);
        let ends = run.all(&steps)?;
        // Nothing rests on the warm-up.
        let of_ends = steps.iter().zip(&ends).skip(1);
        let of_ends = of_ends.filter(|(_, end)| end.code != exit::DONE);
        let is_limited = |end: &StepEnd| {
            let read = serve::read_one(&end.folder);
            let is_it = read.is_ok_and(|(result, _)| {
                result.invalid().next().is_some() && result.run.failed.unwrap_or(0) == 0
            });
            is_it && end.code == exit::INCONCLUSIVE
        };
        let (limited, doubted): (Vec<_>, Vec<_>) = of_ends.partition(|(_, end)| is_limited(end));
        let [limited, doubted] = [limited, doubted].map(|steps| {
            let names = steps.into_iter().map(|(step, _)| step.name.clone());
            names.collect()
        });
        let apart = self.answer(doubted, limited).map_err(Stop::Usage)?;
        json::write(&self.folder.join(ANSWER), &apart)?;
        let document = apart.document(self.folder);
        let shown = asker.deliver(&document, self.folder, PAGE);
        let of_steps = ends.iter().skip(1).map(|end| end.code);
        Ok(exit::fold(of_steps.chain([shown]).collect::<Vec<u8>>()))
    }

    /// GPUs of an engine of a kind: as the flag says, else as its command does.
    fn gpus(&self, kind: usize, engine: &str) -> u32 {
        let words = shlex::split(engine).unwrap_or_default();
        let told = crate::flags::value(&words, &GPUS).and_then(|value| value.parse().ok());
        let given = self.args.engine_gpus.get(kind).copied();
        given.or(told).unwrap_or(1).max(1)
    }

    /// GPUs of all prefill and decode engines.
    fn split_gpus(&self) -> u32 {
        let prefill = self.args.prefill.iter().map(|engine| self.gpus(0, engine));
        let decode = self.args.decode.iter().map(|engine| self.gpus(1, engine));
        prefill.chain(decode).sum()
    }

    /// The load of an engine of so many GPUs of all.
    fn part(&self, own: u32, all: u32) -> LoadArgs {
        let each = |count: u32| (count * own).div_ceil(all).max(1);
        LoadArgs {
            concurrency: each(self.load.concurrency),
            requests: Some(each(self.load.requests())),
            ..self.load.clone()
        }
    }

    /// The first decode engine's command, which makes up keys and values.
    fn decode_alone(&self) -> Result<Option<Needs>, String> {
        let Needs::Started(mut spec) = self.needs("decode", &self.args.decode[0])? else {
            return Ok(None);
        };
        let is_said = |(flag, _): &&(&str, _)| crate::flags::says(&spec.words, &[flag]);
        let word = MADE_UP.iter().find(is_said).map(|(_, word)| *word);
        spec.words.extend(word.map(str::to_owned));
        Ok(word.map(|_| Needs::Started(spec)))
    }

    /// A warm-up and the load behind the router, loads on a prefill and a decode engine alone, and one on an aggregated engine.
    pub(crate) fn steps(&self) -> Result<Vec<Step>, String> {
        let args = self.args;
        let own = runner::child::tplens().map_err(|error| error.to_string())?;
        let mut words = vec![own.display().to_string()];
        words.extend(["serve", "route", "--port", "{port}", "--journal"].map(str::to_owned));
        words.push(self.folder.join(JOURNAL).display().to_string());
        for (flag, engines) in [("--prefill", &args.prefill), ("--decode", &args.decode)] {
            for engine in engines {
                self.needs(flag, engine)?;
                words.extend([flag.to_owned(), engine.replace(PORT, ROUTED_PORT)]);
            }
        }
        let engines = args.prefill.len() + args.decode.len();
        let router = ServerSpec {
            name: "router".to_owned(),
            words,
            environment: Vec::new(),
            port: None,
            log: self.log("router"),
            // Engines load their models one after the other.
            ready: self.load.ready_timeout * u32::try_from(engines).unwrap_or(2),
        };
        let prompts = LoadArgs {
            output_tokens: 1,
            ..self.load.clone()
        };
        let router = Needs::Started(router);
        let first = LoadArgs {
            requests: Some(self.load.concurrency),
            ..self.load.clone()
        };
        let alone = self.needs("prefill", &args.prefill[0])?;
        let decode = self.gpus(1, &args.decode[0]);
        let mut steps = vec![
            self.step(
                ("warm-up", "every pair of engines meets"),
                &first,
                router.clone(),
                decode,
            )?,
            self.step(
                ("split", "prefill and decode apart"),
                self.load,
                router,
                decode,
            )?,
            self.step(
                ("prefill", "a prefill engine alone"),
                &prompts,
                alone,
                self.gpus(0, &args.prefill[0]),
            )?,
        ];
        // Of requests that the router served at once, so that its parts are of those that are measured.
        steps[1]
            .arguments
            .extend(["--num-warmups", "0"].map(str::to_owned));
        if let Some(needs) = self.decode_alone()? {
            let all = u32::try_from(args.decode.len()).unwrap_or(1);
            let about = ("decode", "a decode engine alone");
            steps.push(self.step(about, &self.part(1, all), needs, decode)?);
        }
        if let Some(engine) = &args.aggregated {
            let (needs, own) = (self.needs("aggregated", engine)?, self.gpus(2, engine));
            let load = self.part(own, self.split_gpus());
            let about = ("aggregated", "an aggregated engine");
            steps.push(self.step(about, &load, needs, own)?);
        }
        // Prompts of its own for each, so that none is in an engine's cache.
        for (seed, step) in steps.iter_mut().enumerate() {
            let at = step.arguments.iter().position(|word| word == "--seed");
            if let Some(value) = at.and_then(|at| step.arguments.get_mut(at + 1)) {
                *value = (seed + 1).to_string();
            }
        }
        Ok(steps)
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("server-{name}.log"))
    }

    fn needs(&self, name: &str, engine: &str) -> Result<Needs, String> {
        let address = engine.split('#').next().unwrap_or_default();
        if is_address(engine) {
            return Ok(Needs::Running {
                url: address.to_owned(),
                what: name.to_owned(),
            });
        }
        spec(engine, name, self.log(name), self.load.ready_timeout).map(Needs::Started)
    }

    fn step(
        &self,
        (name, about): (&str, &str),
        load: &LoadArgs,
        needs: Needs,
        gpus: u32,
    ) -> Result<Step, String> {
        let model = ModelFacts::resolve(self.model).map_err(|error| format!("--model: {error}"))?;
        let named = (name.to_owned(), about.to_owned());
        Ok(load.step(named, (model.vocab, gpus), needs))
    }

    fn answer(&self, doubted: Vec<String>, limited: Vec<String>) -> Result<Apart, String> {
        let args = self.args;
        let read = |name: &'static str, gpus: u32| {
            let run = serve::read(&self.folder.join(name)).map_err(|error| error.to_string())?;
            Ok::<_, String>(Measured { name, gpus, run })
        };
        let gpus = self.split_gpus();
        let split = read("split", gpus)?;
        let prefill_alone = read("prefill", self.gpus(0, &args.prefill[0]))?;
        let decode_alone = self.decode_alone()?;
        let decode_alone = decode_alone.map(|_| read("decode", self.gpus(1, &args.decode[0])));
        let decode_alone = decode_alone.transpose()?;
        let aggregated = args.aggregated.as_ref();
        let aggregated = aggregated.map(|engine| read("aggregated", self.gpus(2, engine)));
        let aggregated = aggregated.transpose()?;
        let journal: PathBuf = self.folder.join(JOURNAL);
        // Behind those of the warm-up.
        let requests = split.run.completed + split.run.failed.unwrap_or(0);
        let parts = route::read(&journal, usize::try_from(requests).ok())
            .map_err(|error| format!("{}: {error}", journal.display()))?;
        let parts = parts.ok_or("the router served nothing")?;
        let engines = |of: &[String]| u32::try_from(of.len()).unwrap_or(1);
        let (x, y) = (engines(&args.prefill), engines(&args.decode));
        let prefill_busy =
            split.run.requests_per_s / (f64::from(x) * prefill_alone.run.requests_per_s);
        let sent_s = parts.mean_ms("kv-transfer").map(|ms| ms * 1e-3);
        let link_busy =
            sent_s.map(|seconds| split.run.requests_per_s * seconds / f64::from(x.min(y)));
        let limit = match (prefill_busy, link_busy.unwrap_or(0.0)) {
            (prefill, link) if prefill >= FULL && prefill >= link => "prefill",
            (_, link) if link >= FULL => "link",
            _ => "decode",
        };
        let high = |of: Option<Spread>| of.map_or(0.0, |of| of.p99.unwrap_or(of.mean) * 1e-3);
        let arm = |of: &Measured| Arm {
            per_s: of.run.requests_per_s,
            gpus: of.gpus,
            ttft_s: high(of.run.ttft_ms),
            itl_p99_s: high(of.run.itl_ms),
        };
        let arms = || [Some(&split), aggregated.as_ref()].into_iter().flatten();
        let lacks = |limit: Option<Duration>, of: fn(&ServeRun) -> Option<Spread>| {
            let has_none = |arm: &Measured| of(&arm.run).is_none_or(|of| of.p99.is_none());
            limit.is_some() && arms().any(has_none)
        };
        let by_mean = [
            ("TTFT", lacks(args.ttft, |run| run.ttft_ms)),
            ("ITL", lacks(args.itl, |run| run.itl_ms)),
        ];
        let by_mean = by_mean.into_iter().filter(|(_, lacks)| *lacks);
        let by_mean = by_mean.map(|(metric, _)| metric).collect();
        let limit_of =
            |limit: Option<Duration>| limit.map_or(f64::INFINITY, |limit| limit.as_secs_f64());
        let slo = Slo {
            ttft_s: limit_of(args.ttft),
            tpot_s: f64::INFINITY,
            itl_p99_s: limit_of(args.itl),
        };
        let decided = aggregated
            .as_ref()
            .map(|of| judge(&arm(&split), &arm(of), &slo));
        Ok(Apart {
            schema: 1,
            simulated: split.run.simulated.clone(),
            model: self.model.to_owned(),
            prefill: args.prefill.len(),
            decode: args.decode.len(),
            split,
            prefill_alone,
            decode_alone,
            aggregated,
            parts,
            prefill_busy,
            link_busy,
            limit,
            verdict: decided.map_or("not-compared", Verdict::code),
            over_aggregated: decided.and_then(Verdict::gain),
            decided,
            by_mean,
            doubted,
            limited,
        })
    }
}

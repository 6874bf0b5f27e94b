//! `tplens study --prefill --decode`: prefill and decode engines behind the router, the prefill engine alone, and an aggregated engine
//! under the same load; whether to split, and who limits.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use disagg::{Arm, Verdict, judge};
use import::ServeRun;
use import::serve::{self, Spread};
use program::Stop;
use program::command_line::time;
use record::exit;
use runner::run::{Needs, Step, set_aside};
use serde::Serialize;
use serde_json::{Value, json};
use tp_plan::ModelFacts;
use view::serve::{maybe, significant};
use view::{Document, Item, Next, Section, Tone};

use super::paper::slo;
use super::words;
use crate::explain::PAGE;
use crate::json;
use crate::planner::{self, Asker, table};
use crate::route::{self, PORT, ROUTED_PORT, is_address, spec};
use crate::study::engines::TP_FLAGS;
use crate::study::subject::LoadArgs;

/// The settings, the router's lines and the answer, in the folder.
const SETTINGS: &str = "study.json";
const JOURNAL: &str = "route.jsonl";
const ANSWER: &str = "apart.json";

/// The part of its own rate from which on an engine or a link is what limits.
const FULL: f64 = 0.8;

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

/// A load on one arrangement, and the GPUs that it uses.
type Part = (Step, u32);

/// What a load on one arrangement showed.
#[derive(Debug, Clone, Serialize)]
struct Measured {
    name: String,
    gpus: u32,
    run: ServeRun,
}

impl ApartStudy<'_> {
    /// Measures what is not measured yet, and prints the answer.
    ///
    /// # Errors
    /// What ended it.
    pub(crate) fn run(&self, asker: &Asker<'_>) -> Result<u8, Stop> {
        let parts = self.parts().map_err(Stop::Usage)?;
        let steps: Vec<Step> = parts.iter().map(|(step, _)| step.clone()).collect();
        let args = self.args;
        let engines = args.prefill.iter().chain(&args.decode);
        let engines: Vec<String> = engines.chain(&args.aggregated).cloned().collect();
        let settings = (self.load).settings(json!({"model": self.model}), &engines);
        let mut run = asker.open(self.folder, ("a study", SETTINGS), &settings)?;
        if steps[1].done(self.folder).is_none() {
            // Of a load that was broken off; engines that are started anew are cold.
            let _ = std::fs::remove_file(self.folder.join(JOURNAL));
            set_aside(&self.folder.join(&steps[0].name))?;
        }
        asker.expect(&mut run, &steps);
        let ends = run.all(&steps)?;
        let (mut limited, mut doubted) = (Vec::new(), Vec::new());
        // Nothing rests on the warm-up.
        for (step, end) in steps.iter().zip(&ends).skip(1) {
            let is_limited = serve::read_one(&end.folder).is_ok_and(|(result, _)| {
                result.invalid().next().is_some() && result.run.failed.unwrap_or(0) == 0
            });
            match end.code {
                exit::DONE => {}
                exit::INCONCLUSIVE if is_limited => limited.push(step.name.clone()),
                _ => doubted.push(step.name.clone()),
            }
        }
        let answer = self.answer(&parts, &doubted, &limited);
        let (answer, document) = answer.map_err(Stop::Usage)?;
        json::write(&self.folder.join(ANSWER), &answer)?;
        let shown = asker.deliver(&document, self.folder, PAGE);
        let codes = ends.iter().skip(1).map(|end| end.code);
        Ok(exit::fold(codes.chain([shown]).collect::<Vec<u8>>()))
    }

    /// GPUs of an engine of a kind: as the flag says, else as its command does.
    fn gpus(&self, kind: usize, engine: &str) -> u32 {
        let words = shlex::split(engine).unwrap_or_default();
        let told = crate::flags::value(&words, &TP_FLAGS).and_then(|value| value.parse().ok());
        let given = self.args.engine_gpus.get(kind).copied();
        given.or(told).unwrap_or(1).max(1)
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

    /// A warm-up and the load behind the router, loads on a prefill and a decode engine alone, and one on an aggregated engine; each
    /// with prompts of its own, so that none is in an engine's cache.
    ///
    /// # Errors
    /// An engine that cannot be had, or a model that is not known.
    fn parts(&self) -> Result<Vec<Part>, String> {
        let args = self.args;
        let own = runner::child::tplens().map_err(|error| error.to_string())?;
        let mut words = vec![own.display().to_string()];
        words.extend(["serve", "route", "--port", PORT, "--journal"].map(str::to_owned));
        words.push(self.folder.join(JOURNAL).display().to_string());
        let mut all = 0;
        for (kind, flag) in ["--prefill", "--decode"].into_iter().enumerate() {
            for engine in [&args.prefill, &args.decode][kind] {
                self.needs(flag, engine)?;
                words.extend([flag.to_owned(), engine.replace(PORT, ROUTED_PORT)]);
                all += self.gpus(kind, engine);
            }
        }
        let engines = args.prefill.len() + args.decode.len();
        // Engines load their models one after the other.
        let ready = self.load.ready_timeout * u32::try_from(engines).unwrap_or(2);
        let router = planner::server("router", words, vec![], self.log("router"), ready);
        let router = Needs::Started(router);
        let (prefill, decode) = (&args.prefill[0], &args.decode[0]);
        let (x, y) = (self.gpus(0, prefill), self.gpus(1, decode));
        let model = ModelFacts::resolve(self.model).map_err(|error| format!("--model: {error}"))?;
        let mut seed = 0;
        let mut part = |(name, about): (&str, &str), load, needs, (tp, gpus)| {
            seed += 1;
            let load = LoadArgs { seed, ..load };
            let named = (name.to_owned(), about.to_owned());
            (load.step(named, (model.vocab, tp), needs), gpus)
        };
        let first = LoadArgs {
            requests: Some(self.load.concurrency),
            ..self.load.clone()
        };
        let prompts = LoadArgs {
            output_tokens: 1,
            ..self.load.clone()
        };
        let meets = ("warm-up", "every pair of engines meets");
        let apart = ("split", "prefill and decode apart");
        let alone = ("prefill", "a prefill engine alone");
        let mut parts = vec![
            part(meets, first, router.clone(), (y, all)),
            part(apart, self.load.clone(), router, (y, all)),
            part(alone, prompts, self.needs("prefill", prefill)?, (x, x)),
        ];
        // Of requests that the router served at once, so that its parts are of those that are measured.
        let warm = ["--num-warmups", "0"].map(str::to_owned);
        parts[1].0.arguments.extend(warm);
        if let Needs::Started(mut spec) = self.needs("decode", decode)? {
            let is_said = |(flag, _): &&(&str, _)| crate::flags::says(&spec.words, &[flag]);
            if let Some((_, word)) = MADE_UP.iter().find(is_said) {
                spec.words.push((*word).to_owned());
                let of = u32::try_from(args.decode.len()).unwrap_or(1);
                let alone = ("decode", "a decode engine alone");
                parts.push(part(alone, self.part(1, of), Needs::Started(spec), (y, y)));
            }
        }
        if let Some(engine) = &args.aggregated {
            let (needs, own) = (self.needs("aggregated", engine)?, self.gpus(2, engine));
            let both = ("aggregated", "an aggregated engine");
            parts.push(part(both, self.part(own, all), needs, (own, own)));
        }
        Ok(parts)
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("server-{name}.log"))
    }

    fn needs(&self, name: &str, engine: &str) -> Result<Needs, String> {
        if is_address(engine) {
            return Ok(Needs::Running {
                url: engine.split('#').next().unwrap_or_default().to_owned(),
                what: name.to_owned(),
            });
        }
        spec(engine, name, self.log(name), self.load.ready_timeout).map(Needs::Started)
    }

    /// The answer as data and as a document; `doubted` are loads that did not end well for another reason than the client, which was
    /// the limit of `limited`.
    fn answer(
        &self,
        parts: &[Part],
        doubted: &[String],
        limited: &[String],
    ) -> Result<(Value, Document), String> {
        let args = self.args;
        let read = |(step, gpus): &Part| {
            let (name, gpus) = (step.name.clone(), *gpus);
            let run = serve::read(&self.folder.join(&name)).map_err(|error| error.to_string())?;
            Ok::<_, String>((name.clone(), Measured { name, gpus, run }))
        };
        let measured = parts.iter().skip(1).map(read);
        let measured = measured.collect::<Result<BTreeMap<_, _>, String>>()?;
        let (split, prefill_alone) = (&measured["split"], &measured["prefill"]);
        let (decode_alone, aggregated) = (measured.get("decode"), measured.get("aggregated"));
        let journal = self.folder.join(JOURNAL);
        // Behind those of the warm-up.
        let requests = split.run.completed + split.run.failed.unwrap_or(0);
        let parts = route::read(&journal, usize::try_from(requests).ok())
            .map_err(|error| format!("{}: {error}", journal.display()))?;
        let parts = parts.ok_or("the router served nothing")?;
        let (x, y) = (args.prefill.len() as f64, args.decode.len() as f64);
        let rate = split.run.requests_per_s;
        let prefill_busy = rate / (x * prefill_alone.run.requests_per_s);
        let sent_ms = parts.mean_ms("kv-transfer");
        let link_busy = sent_ms.map(|ms| rate * ms * 1e-3 / x.min(y));
        // Parts of the time in which prefill engines and a link work.
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
        let slo = slo(args.ttft, None, args.itl);
        let decided = aggregated.map(|of| judge(&arm(split), &arm(of), &slo));
        // Of requests a second and GPU, where both keep the limits.
        let gain = decided.and_then(Verdict::gain);
        let answer = json!({
            "schema": 1,
            "simulated": split.run.simulated,
            "model": self.model,
            "prefill": args.prefill.len(),
            "decode": args.decode.len(),
            "split": split,
            "prefill_alone": prefill_alone,
            "decode_alone": decode_alone,
            "aggregated": aggregated,
            "parts": parts,
            "prefill_busy": prefill_busy,
            "link_busy": link_busy,
            "limit": limit,
            "verdict": decided.map_or("not-compared", Verdict::code),
            "over_aggregated": gain,
            "doubted": doubted,
            "limited": limited,
        });

        let name = format!("{x}P{y}D");
        let (tone, code, verdict) = match (doubted.first(), decided) {
            (Some(part), _) => {
                let (all, part) = (doubted.join(", "), self.folder.join(part));
                let open = format!(
                    "Whether to split stays open: `tplens show {}` says why {all} cannot count.",
                    part.display()
                );
                (Tone::Open, None, open)
            }
            (None, Some(decided)) => {
                words::verdict(decided, &gain.map_or_else(String::new, significant))
            }
            (None, None) => {
                let beside = format!("{name} beside nothing: --aggregated says whether to split.");
                (Tone::Open, None, beside)
            }
        };
        let of_parts = route::document(&parts);
        let limits = words::limit(limit);
        let serves = format!("{name}: {} req/s; limited by {limits}.", significant(rate));
        let mut findings = of_parts.findings;
        findings.extend(code.map(|code| {
            let busy = format!(
                "Prefill works {:.0}% of the time, the link {}%.",
                prefill_busy * 100.0,
                link_busy.map_or_else(|| "—".to_owned(), |busy| format!("{:.0}", busy * 100.0))
            );
            Item::of(tone, busy).coded(code)
        }));
        let lacks = |of: fn(&ServeRun) -> Option<Spread>| {
            let mut arms = [Some(split), aggregated].into_iter().flatten();
            arms.any(|arm| of(&arm.run).is_none_or(|of| of.p99.is_none()))
        };
        let is_by_mean = (args.ttft.is_some() && lacks(|run| run.ttft_ms))
            || (args.itl.is_some() && lacks(|run| run.itl_ms));
        if is_by_mean {
            let text = "Judged by the mean where the table has no p99: too few values.";
            findings.push(Item::of(Tone::Warning, text.to_owned()));
        }
        if !limited.is_empty() {
            let text = format!("The load generator was the limit: {}", limited.join(", "));
            findings.push(Item::of(Tone::Warning, text).coded("client-limited"));
        }
        let again = "run the same command again on a quiet machine, into another folder.";
        let next = (!limited.is_empty()).then(|| Next::plain(again));
        let heads =
            "engines, GPUs, in flight, req/s, req/s and GPU, TTFT ms, p99, TPOT ms, ITL p99, n";
        let mean = |of: Option<Spread>| maybe(of.map(|of| of.mean));
        let p99 = |of: Option<Spread>| maybe(of.and_then(|of| of.p99));
        let row = |of: &Measured| {
            let Measured { gpus, run, .. } = of;
            [
                if of.name == "split" { &name } else { &of.name }.clone(),
                gpus.to_string(),
                maybe(run.concurrency_asked),
                significant(run.requests_per_s),
                significant(run.requests_per_s / f64::from(*gpus)),
                mean(run.ttft_ms),
                p99(run.ttft_ms),
                mean(run.tpot_ms),
                p99(run.itl_ms),
                run.completed.to_string(),
            ]
        };
        let rows = [Some(split), aggregated, Some(prefill_alone), decode_alone];
        let loads = table(heads, rows.into_iter().flatten().map(row));
        let same = Section::new("Under the same load a GPU", loads);
        let document = Document {
            title: format!("Prefill and decode apart, {}", self.model),
            simulated: split.run.simulated.clone(),
            tone,
            answer: [vec![verdict, serves], of_parts.answer].concat(),
            findings,
            next: next.into_iter().collect(),
            sections: [vec![same], of_parts.sections].concat(),
            made_by: format!("tplens study {}", env!("CARGO_PKG_VERSION")),
        };
        Ok((answer, document))
    }
}

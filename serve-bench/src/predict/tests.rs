//! What the command line predicts of 667 published pairs of TP1 and TPn, beside constants: the tables of docs/validation.md.
//!
//! It parses a command line as a user types it, reads files as the program does, and judges what the program would print. Nothing
//! that a user's program lacks goes in. `PAIRS=FILE` writes every row with its parts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ::explain::{Cause, Explanation, Outcome, Prediction, Range, explain, predict};
use clap::Parser;
use sha2::{Digest, Sha256};

use super::args::PredictArgs;
use super::{SEED, sources};
use crate::explain::{CaseArgs, EngineFlags, Sources};

const PAIRS: &str = include_str!("../../data/tp_pairs.csv");
const PAGE: &str = include_str!("../../../docs/validation.md");

/// Fewer than the program's, for time; medians and ends of intervals move by less than 0.5%.
const DRAWS: u32 = 1000;

/// Tensor parallel sizes behind the last columns of the table.
const SIZES: [u32; 4] = [1, 2, 4, 8];

/// Models by the table's name and precision: a shipped one, or a configuration beside the table.
const MODELS: [(&str, &str, &str); 7] = [
    ("meta-llama/Llama-3.1-70B", "fp4", "llama-3.1-70b-fp4.json"),
    ("meta-llama/Llama-3.1-70B", "fp8", "llama-3.1-70b-fp8.json"),
    ("meta-llama/Llama-3.1-8B-Instruct", "", "llama-3.1-8b"),
    ("Qwen/Qwen3-32B", "fp8", "qwen3-32b-fp8.json"),
    ("openai/gpt-oss-120b", "fp4", "gpt-oss-120b"),
    ("MiniMaxAI/MiniMax-M2.5", "fp4", "minimax-m2.5-fp4.json"),
    ("MiniMaxAI/MiniMax-M2.5", "fp8", "minimax-m2.5-fp8.json"),
];

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: PredictArgs,
}

/// A load of the table.
struct Load {
    cluster: String,
    gpu: String,
    engine: String,
    model: String,
    input: u32,
    output: u32,
    batch: u32,
    ttft_of_one: f64,
    /// TPOT of each of [`SIZES`], ms.
    tpot: [Option<f64>; 4],
}

/// A pair, judged.
struct Judged {
    cluster: String,
    tp: u32,
    measured: f64,
    one: f64,
    links: Option<Range>,
    from_one: Option<Range>,
}

fn loads() -> Vec<Load> {
    let rows = PAIRS.lines().filter(|line| !line.starts_with('#')).skip(1);
    let load = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let [
            system,
            engine,
            model,
            precision,
            isl,
            osl,
            random,
            batch,
            ttft,
            tpot @ ..,
        ] = cells.as_slice()
        else {
            panic!("{line}");
        };
        let (_, _, file) = MODELS
            .iter()
            .find(|(name, of, _)| (name, of) == (model, precision))
            .unwrap();
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/models");
        let model = match file.ends_with(".json") {
            true => data.join(file).display().to_string(),
            false => (*file).to_owned(),
        };
        let mean = |tokens: &str| {
            let tokens: u32 = tokens.parse().unwrap();
            // 0.8 to 1 of the tokens, 0.9 in the mean.
            if *random == "1" {
                tokens * 9 / 10
            } else {
                tokens
            }
        };
        Load {
            cluster: format!("{system}|{engine}|{}|{precision}", cells[2]),
            gpu: system.split('_').next().unwrap().to_uppercase(),
            engine: (*engine).to_owned(),
            model,
            input: mean(isl),
            output: mean(osl),
            batch: batch.parse().unwrap(),
            ttft_of_one: ttft.parse().unwrap(),
            tpot: [0, 1, 2, 3].map(|index| tpot[index].parse().ok()),
        }
    };
    rows.map(load).collect()
}

impl Load {
    /// The measured run on one GPU as a client's file.
    fn file_of_one(&self, folder: &Path, index: usize) -> PathBuf {
        self.file(folder, &index.to_string(), self.tpot[0].unwrap())
    }

    /// A run of this load as a client's file. The table has the TTFT of one GPU only, which stands for every size.
    fn file(&self, folder: &Path, name: &str, tpot: f64) -> PathBuf {
        let (batch, output) = (f64::from(self.batch), f64::from(self.output));
        let latency = self.ttft_of_one + tpot * (output - 1.0);
        let requests = batch * 10.0;
        let seconds = 10.0 * latency / 1e3;
        let run = serde_json::json!({
            "concurrency": self.batch, "num_requests": requests, "completed": requests, "failed": 0, "duration_s": seconds,
            "max_tokens": self.output, "requests_per_s": requests / seconds,
            "total_input_tokens": requests * f64::from(self.input), "total_output_tokens": requests * output,
            "mean_ttft_ms": self.ttft_of_one, "mean_tpot_ms": tpot, "mean_e2el_ms": latency,
        });
        let file = folder.join(format!("{name}.json"));
        std::fs::write(&file, run.to_string()).unwrap();
        file
    }

    /// What the program says where it is asked about these sizes.
    fn predicted(&self, one: Option<&Path>) -> Prediction {
        let asked = SIZES.iter().zip(self.tpot);
        let asked: Vec<String> = asked
            .filter_map(|(tp, tpot)| tpot.map(|_| tp.to_string()))
            .collect();
        let mut words: Vec<String> = [
            "predict",
            "--gpu",
            &self.gpu,
            "--engine",
            &self.engine,
            "--model",
            &self.model,
            "--tp",
            &asked.join(","),
            "--batch",
            &self.batch.to_string(),
            "--input-tokens",
            &self.input.to_string(),
            "--output-tokens",
            &self.output.to_string(),
        ]
        .map(str::to_owned)
        .to_vec();
        if let Some(file) = one {
            words.extend(["--tp1".to_owned(), file.display().to_string()]);
        }
        let line = Line::try_parse_from(words).unwrap();
        let inputs = sources::read(&line.args).unwrap();
        predict(&inputs, SEED, DRAWS).unwrap()
    }
}

/// What `explain` makes of a published pair with its GPU and engine named, and nothing measured beside it.
struct Explained {
    refused: Option<&'static str>,
    /// Whether communication is the main cause by evidence that was measured, which is all that the screen calls so.
    is_firm: bool,
    /// Whether communication is the largest bar beyond the others' intervals.
    leads: bool,
    /// What the curve of the kernel in use takes, over what the step lost.
    of_excess: f64,
}

impl Load {
    fn explained(&self, folder: &Path, index: usize, tp: u32, tpot: f64) -> Explained {
        let one = self.tpot[0].unwrap();
        let prediction = self.predicted(None);
        let mut sizes = prediction.sizes.iter();
        let costs = sizes
            .find(|size| size.tp == tp)
            .map(|size| &size.collectives);
        let us = |cost: &::explain::CollectiveCost| cost.us * f64::from(cost.count);
        let sent: f64 = costs.into_iter().flatten().map(us).sum();
        let name = |tp: u32| format!("{index}-{tp}");
        let flags = prediction_flags(&self.engine);
        let sources = Sources {
            model: Some(self.model.clone()),
            serving: vec![
                (Some(1), self.file(folder, &name(1), one)),
                (Some(tp), self.file(folder, &name(tp), tpot)),
            ],
            case: CaseArgs {
                gpu: Some(self.gpu.clone()),
                engine: flags,
                ..CaseArgs::default()
            },
            ..Sources::default()
        };
        let (inputs, ..) = sources.read().unwrap();
        let Explanation { outcome, .. } = explain(&inputs, &[], SEED, DRAWS);
        let of_excess = sent / 1e3 / (tpot - one / f64::from(tp));
        match outcome {
            Outcome::Refused { refusal } => Explained {
                refused: refusal.reasons.first().map(::explain::Finding::code),
                is_firm: false,
                leads: false,
                of_excess,
            },
            Outcome::Attributed { attribution, .. } => {
                let bar = attribution.leading();
                let leads = bar.is_some_and(|bar| bar.cause == Cause::Communication);
                Explained {
                    refused: None,
                    is_firm: leads && attribution.is_measured(),
                    leads,
                    of_excess,
                }
            }
        }
    }
}

fn prediction_flags(engine: &str) -> EngineFlags {
    let line = Line::try_parse_from([
        "predict", "--gpu", "H100", "--model", "x", "--engine", engine,
    ]);
    line.unwrap().args.case.engine
}

#[test]
fn few_of_667_published_pairs_are_refused_and_none_is_blamed_on_communication_that_is_not_there() {
    let folder = std::env::temp_dir().join(format!("tplens-explained-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let loads = loads();
    let mut all = Vec::new();
    for (index, load) in loads.iter().enumerate() {
        for (tp, tpot) in SIZES.into_iter().zip(load.tpot).skip(1) {
            all.extend(tpot.map(|tpot| load.explained(&folder, index, tp, tpot)));
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    let mut refused: BTreeMap<&str, u32> = BTreeMap::new();
    for code in all.iter().filter_map(|of| of.refused) {
        *refused.entry(code).or_default() += 1;
    }
    let small = |of: &&Explained| of.of_excess < 0.2;
    let firm = all.iter().filter(|of| of.is_firm).filter(small).count();
    let leads = all.iter().filter(|of| of.leads).count();
    let wrong = all.iter().filter(|of| of.leads).filter(small).count();
    println!(
        "refused {refused:?} of {}; leads {leads}, wrongly {wrong}, firmly wrong {firm}",
        all.len()
    );
    assert_eq!((all.len(), firm), (667, 0));
    let of_refused: u32 = refused.values().sum();
    // At most 5%.
    assert!(of_refused <= 33, "{refused:?}");
}

fn judged(folder: &Path) -> (Vec<Judged>, String) {
    let loads = loads();
    let indexed: Vec<(usize, &Load)> = loads.iter().enumerate().collect();
    let both: Vec<(Prediction, Prediction)> = std::thread::scope(|scope| {
        let parts: Vec<_> = indexed
            .chunks(indexed.len().div_ceil(2))
            .map(|part| {
                scope.spawn(move || -> Vec<_> {
                    let each = |(index, load): &(usize, &Load)| {
                        let file = load.file_of_one(folder, *index);
                        (load.predicted(None), load.predicted(Some(&file)))
                    };
                    part.iter().map(each).collect()
                })
            })
            .collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().unwrap())
            .collect()
    });
    let (mut judged, mut dump) = (Vec::new(), String::new());
    for (load, (links, from_one)) in loads.iter().zip(&both) {
        for (tp, measured) in SIZES.into_iter().zip(load.tpot) {
            let Some(measured) = measured else { continue };
            let of = |prediction: &Prediction| {
                let mut sizes = prediction.sizes.iter();
                sizes.find(|size| size.tp == tp).cloned()
            };
            for (name, prediction) in [("links", links), ("one", from_one)] {
                let Some(size) = of(prediction) else { continue };
                dump.push_str(&format!(
                    "{name},{},{},{},{},{tp},{measured},{:.4},{:.4},{:.4},{:.4},{:.4}",
                    load.cluster,
                    load.input,
                    load.output,
                    load.batch,
                    size.serving.tpot.low,
                    size.serving.tpot.mid,
                    size.serving.tpot.high,
                    size.step.mid,
                    size.serving.ttft_alone.mid
                ));
                for part in &size.parts {
                    dump.push_str(&format!(",{:?}={:.4}", part.cause, part.ms.mid));
                }
                dump.push('\n');
            }
            if tp > 1 {
                judged.push(Judged {
                    cluster: load.cluster.clone(),
                    tp,
                    measured,
                    one: load.tpot[0].unwrap(),
                    links: of(links).map(|size| size.serving.tpot),
                    from_one: of(from_one).map(|size| size.serving.tpot),
                });
            }
        }
    }
    (judged, dump)
}

/// Whether a cluster is of the half that assumed ranges were fitted to: by the first digit of its SHA-256.
fn is_fitted(cluster: &str) -> bool {
    Sha256::digest(cluster.as_bytes())[0] >> 4 < 8
}

fn quantile(values: &[f64], at: f64) -> f64 {
    stats::percentile_of_any(&stats::sorted(values), at).unwrap()
}

/// Errors without sign of what a method says; `None` of a pair that it says nothing of.
fn errors(rows: &[&Judged], says: &dyn Fn(&Judged) -> Option<f64>) -> Vec<f64> {
    let error = |row: &&Judged| Some((says(row)? / row.measured - 1.0).abs());
    rows.iter().filter_map(error).collect()
}

fn holds(row: &Judged, range: Option<Range>) -> Option<bool> {
    range.map(|range| range.low <= row.measured && row.measured <= range.high)
}

/// The share of pairs that an interval holds, and its 90% interval by a bootstrap over clusters.
fn coverage(rows: &[&Judged], of: &dyn Fn(&Judged) -> Option<Range>) -> String {
    let mut clusters: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for row in rows {
        if let Some(held) = holds(row, of(row)) {
            let entry = clusters.entry(&row.cluster).or_default();
            entry.0 += f64::from(u8::from(held));
            entry.1 += 1.0;
        }
    }
    let clusters: Vec<(f64, f64)> = clusters.into_values().collect();
    let whole = |all: &[(f64, f64)]| {
        let (held, n) = all.iter().fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        held / n
    };
    let mut random = stats::SplitMix::new(1);
    let drawn: Vec<f64> = (0..2000)
        .map(|_| {
            let sample = clusters
                .iter()
                .map(|_| clusters[random.below(clusters.len())]);
            whole(&sample.collect::<Vec<_>>())
        })
        .collect();
    format!(
        "{:.0}% [{:.0}, {:.0}]",
        100.0 * whole(&clusters),
        100.0 * quantile(&drawn, 0.05),
        100.0 * quantile(&drawn, 0.95)
    )
}

fn both(errors: &[f64]) -> String {
    format!(
        "{:.1}% / {:.1}%",
        100.0 * quantile(errors, 0.5),
        100.0 * quantile(errors, 0.9)
    )
}

/// The gain at each size that the fitted half gives, in the median.
fn constants(all: &[Judged]) -> BTreeMap<u32, f64> {
    let of = |tp: u32| {
        let rows = all
            .iter()
            .filter(|row| row.tp == tp && is_fitted(&row.cluster));
        let gains: Vec<f64> = rows.map(|row| row.one / row.measured).collect();
        (tp, quantile(&gains, 0.5))
    };
    [2, 4, 8].map(of).into()
}

fn table(all: &[Judged]) -> String {
    let constants = constants(all);
    let mut text = String::from(
        "| Pairs | n | Links only | holds | From TP1 | holds | Fitted constant | TP1 / 1.6 per doubling | TP1 / TP |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for half in [false, true] {
        for tp in [None, Some(2), Some(4), Some(8)] {
            let rows: Vec<&Judged> = all
                .iter()
                .filter(|row| is_fitted(&row.cluster) == half)
                .filter(|row| tp.is_none_or(|tp| row.tp == tp))
                .collect();
            let name = if half { "fitted" } else { "judged" };
            let size = tp.map_or_else(|| ", all".to_owned(), |tp| format!(", TP{tp}"));
            let links = errors(&rows, &|row| Some(row.links?.mid));
            let from_one = errors(&rows, &|row| Some(row.from_one?.mid));
            let fitted = errors(&rows, &|row| Some(row.one / constants[&row.tp]));
            let doubled = errors(&rows, &|row| {
                Some(row.one / 1.6f64.powf(f64::from(row.tp).log2()))
            });
            let ideal = errors(&rows, &|row| Some(row.one / f64::from(row.tp)));
            text.push_str(&format!(
                "| {name}{size} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
                rows.len(),
                both(&links),
                coverage(&rows, &|row| row.links),
                both(&from_one),
                coverage(&rows, &|row| row.from_one),
                both(&fitted),
                both(&doubled),
                both(&ideal)
            ));
        }
    }
    text
}

fn by_cluster(all: &[Judged]) -> String {
    let mut clusters: BTreeMap<&str, Vec<&Judged>> = BTreeMap::new();
    for row in all {
        clusters.entry(&row.cluster).or_default().push(row);
    }
    let mut text =
        String::from("| Server | half | n | Links only | From TP1 |\n|---|---|--:|--:|--:|\n");
    for (cluster, rows) in clusters {
        let half = if is_fitted(cluster) {
            "fitted"
        } else {
            "judged"
        };
        text.push_str(&format!(
            "| {} | {half} | {} | {} | {} |\n",
            cluster.replace('|', ", ").trim_end_matches([',', ' ']),
            rows.len(),
            both(&errors(&rows, &|row| Some(row.links?.mid))),
            both(&errors(&rows, &|row| Some(row.from_one?.mid)))
        ));
    }
    text
}

#[test]
fn the_page_states_what_the_command_line_predicts_of_667_published_pairs() {
    let folder = std::env::temp_dir().join(format!("tplens-published-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (all, dump) = judged(&folder);
    std::fs::remove_dir_all(&folder).unwrap();
    if let Some(file) = std::env::var_os("PAIRS") {
        std::fs::write(file, dump).unwrap();
    }
    assert_eq!(all.len(), 667);
    let refused =
        |of: &dyn Fn(&Judged) -> Option<Range>| all.iter().filter(|row| of(row).is_none()).count();
    let refused = format!(
        "Refused: {} pairs from links, {} from TP1.",
        refused(&|row| row.links),
        refused(&|row| row.from_one)
    );
    let text = format!("{}\n{refused}\n\n{}", table(&all), by_cluster(&all));
    println!("{text}");
    let differ: Vec<&str> = text.lines().filter(|line| !PAGE.contains(line)).collect();
    assert!(differ.is_empty(), "docs/validation.md lacks: {differ:#?}");
}

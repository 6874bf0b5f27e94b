//! `tplens predict --split`: prefill and decode engines on paper, beside aggregated engines on as many GPUs.

use std::fmt;
use std::time::Duration;

use ::explain::{PredictError, PredictInputs, Range, predict};
use disagg::{Figures, KvShape, Limit, LinkLaw, Paper, Plan, Slo, StepAt, Verdict};
use program::command_line::time;
use serde::Serialize;
use serde_json::{Value, json};
use view::serve::significant;
use view::{Document, Item, Section};

use super::words;
use crate::explain::range as shown;
use crate::planner::table;

/// Draws of each batch: the ends of intervals move by less than they differ from measurements.
const DRAWS: u32 = 2000;

/// Sequences where an engine has no limit of its own.
const SEQUENCES: u32 = 1024;

/// Tokens of a block of keys and values.
const BLOCK_TOKENS: u32 = 16;

/// What `--split` takes.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct PaperArgs {
    /// Prefill and decode engines of their own, such as 1P1D, beside aggregated engines on as many GPUs; --tp is the size of each, or
    /// of prefill and of decode engines.
    #[arg(long, value_name = "xPyD", requires = "tp", conflicts_with_all = ["batch", "tp1"], value_parser = engines)]
    pub(crate) split: Option<(u32, u32)>,
    /// With --split: limit of the 99th percentile of TTFT, such as 5s.
    #[arg(long, value_name = "TIME", requires = "split", value_parser = time)]
    pub(crate) ttft: Option<Duration>,
    /// With --split: limit of TPOT.
    #[arg(long, value_name = "TIME", requires = "split", value_parser = time)]
    pub(crate) tpot: Option<Duration>,
    /// With --split: limit of the 99th percentile of the time between tokens.
    #[arg(long, value_name = "TIME", requires = "split", value_parser = time)]
    pub(crate) itl: Option<Duration>,
    /// With --split: an engine's link, as bandwidth, start and, where pieces take longer, time per piece. The default is fitted to
    /// Mooncake's published times on 8 ConnectX-7.
    #[arg(long, value_name = "GB/s,TIME[,TIME]", default_value = "171GB/s,1.8ms", requires = "split", value_parser = kv_link)]
    pub(crate) kv_link: LinkLaw,
}

/// A link such as `171GB/s,1.8ms`, or `inf`.
pub(crate) fn kv_link(text: &str) -> Result<LinkLaw, String> {
    let wrong = || "must look like 171GB/s,1.8ms or 171GB/s,1.8ms,2us".to_owned();
    let mut words = text.split(',').map(str::trim);
    let rate = words.next().ok_or_else(wrong)?;
    let rate: f64 = match rate.strip_suffix("GB/s") {
        Some(number) => number.trim().parse().map_err(|_| wrong())?,
        None if rate == "inf" => f64::INFINITY,
        None => return Err(wrong()),
    };
    let mut next = || words.next().map(time).transpose();
    let (start, post) = (next()?.unwrap_or_default(), next()?.unwrap_or_default());
    if rate.is_nan() || rate <= 0.0 || words.next().is_some() {
        return Err(wrong());
    }
    Ok(LinkLaw {
        start_s: start.as_secs_f64(),
        bytes_per_s: rate * 1e9,
        post_s: post.as_secs_f64(),
    })
}

/// Numbers such as `2P1D`.
fn engines(text: &str) -> Result<(u32, u32), String> {
    let text = text.to_ascii_uppercase();
    let both = text.strip_suffix('D').and_then(|text| text.split_once('P'));
    let both = both.and_then(|(p, d)| Some((p.parse().ok()?, d.parse().ok()?)));
    both.filter(|(p, d)| (1..=512).contains(p) && (1..=512).contains(d))
        .ok_or_else(|| format!("`{text}` is not of the form 1P1D"))
}

/// An arrangement at its largest load within the limits.
#[derive(Debug, Clone, Copy, Serialize)]
struct Arrangement {
    /// Prefill engines; `None` of aggregated ones.
    prefill: Option<u32>,
    /// Decode engines, or aggregated ones.
    decode: u32,
    gpus: u32,
    limit: &'static str,
    /// Requests a second, with their interval.
    requests_per_s: Range,
    ttft_s: f64,
    ttft_p99_s: f64,
    figures: Figures,
}

impl fmt::Display for Arrangement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.prefill {
            Some(prefill) => write!(f, "{prefill}P{}D", self.decode),
            None => write!(f, "{} aggregated", self.decode),
        }
    }
}

/// Predicts prefill engines of the first size and decode engines of the last.
///
/// # Errors
/// As [`predict`].
pub(crate) fn on_paper(
    args: &PaperArgs,
    (x, y): (u32, u32),
    sizes: [u32; 2],
    inputs: &PredictInputs,
    seed: u64,
) -> Result<(Value, Document), PredictError> {
    let (papers, simulated) = papers(args.kv_link, sizes, inputs, seed)?;
    let slo = slo(args.ttft, args.tpot, args.itl);
    let gpus = x * sizes[0] + y * sizes[1];
    let row = |prefill: Option<u32>, decode, limit, rates, figures: Figures| Arrangement {
        prefill,
        decode,
        gpus: prefill.unwrap_or(0) * sizes[0] + decode * sizes[1],
        limit,
        requests_per_s: range(rates),
        ttft_s: figures.ttft_s(),
        ttft_p99_s: figures.ttft_p99_s(),
        figures,
    };
    let rates = |(x, y)| {
        let papers = papers.each_ref();
        papers.map(|paper| paper.split(&slo, x, y).0.per_s)
    };
    let apart = |(plan, figures): (Plan, Figures)| {
        let (x, y) = (plan.prefill, plan.decode);
        row(Some(x), y, plan.limit.code(), rates((x, y)), figures)
    };
    let asked = papers[1].split(&slo, x, y);
    // The numbers of engines that serve most on these GPUs.
    let best = papers[1].best(&slo, gpus).unwrap_or(asked);
    let (asked, best) = (apart(asked), apart(best));
    let engines = gpus / sizes[1];
    let papers = papers.each_ref();
    let together = papers.map(|paper| paper.aggregated(&slo, engines));
    let of_aggregated = together.map(|figures| figures.requests_per_s);
    let aggregated = row(None, engines, "", of_aggregated, together[1]);
    // Engines of one size may leave GPUs over that the others need: what counts is a GPU.
    let of_split = rates((x, y)).map(|rate| rate / f64::from(gpus));
    let of_aggregated = of_aggregated.map(|rate| rate / f64::from(aggregated.gpus));
    let mut all = of_split.iter().chain(&of_aggregated);
    let over_aggregated = all
        .all(|rate| *rate > 0.0)
        .then(|| range([0, 1, 2].map(|of| of_split[of] / of_aggregated[of])));
    let decided = Verdict::of(of_split[1], of_aggregated[1]);
    let (model, gpu) = (&inputs.base.model.name, &inputs.base.known.gpu);
    let sequences = papers[1].most();
    // Without a limit largest loads differ in latency, too.
    let has_limits = [args.ttft, args.tpot, args.itl].iter().any(Option::is_some);
    let json = json!({
        "schema": 1,
        "simulated": simulated,
        "model": model,
        "gpu": gpu,
        "tp": sizes,
        "input_tokens": inputs.input_tokens,
        "output_tokens": inputs.output_tokens,
        "sequences": sequences,
        "has_limits": has_limits,
        "asked": asked,
        "best": best,
        "aggregated": aggregated,
        "verdict": decided.code(),
        "over_aggregated": over_aggregated,
        "draws": DRAWS,
    });

    let gain = over_aggregated.map_or_else(String::new, |gain| {
        let is_doubtful = gain.low < 1.0 && gain.high > 1.0;
        let doubt = if is_doubtful { "probably " } else { "" };
        format!("{doubt}{}", shown(&gain, 2))
    });
    let (tone, code, verdict) = words::verdict(decided, &gain);
    let is_best = (best.prefill, best.decode) == (asked.prefill, asked.decode);
    let rate = |row: &Arrangement| shown(&row.requests_per_s, 1);
    let (serves, limit) = (rate(&asked), words::limit(asked.limit));
    let mut predicted = "Predicted, not measured.".to_owned();
    let mut rows = vec![&asked, &aggregated];
    if !is_best {
        predicted += &format!(" Best on these GPUs: {best}, {} req/s.", rate(&best));
        rows.insert(1, &best);
    }
    let heads = "engines, GPUs, req/s, TTFT ms, p99, TPOT ms, ITL p99, in flight, limited by";
    let ms = |seconds: f64| significant(seconds * 1e3);
    let cells = |row: &Arrangement| {
        [
            row.to_string(),
            row.gpus.to_string(),
            rate(row),
            ms(row.ttft_s),
            ms(row.ttft_p99_s),
            ms(row.figures.tpot_s),
            ms(row.figures.itl_p99_s),
            format!("{:.0}", row.figures.batch),
            words::limit(row.limit).to_owned(),
        ]
    };
    let loads = table(heads, rows.into_iter().map(cells));
    let figures = &asked.figures;
    let parts = [
        ("wait for other prompts", figures.wait_s),
        ("prefill", figures.prefill_s),
        ("keys and values on the link", figures.transfer_s),
        ("first decode step", figures.first_step_s),
    ];
    let parts = parts.map(|(part, seconds)| {
        let share = format!("{:.0}", seconds / asked.ttft_s * 100.0);
        [part.to_owned(), ms(seconds), share]
    });
    let busy = format!(
        "Prefill works {:.0}% of the time, decode engines hold {:.0} of {sequences:.0} sequences.",
        figures.prefill_busy * 100.0,
        figures.batch
    );
    let heading = match has_limits {
        true => "Largest loads within the limits",
        false => "Largest loads at any latency: --ttft, --tpot and --itl set limits",
    };
    let document = Document {
        title: format!(
            "{model} on {}, {} in and {} out: {asked} of TP{} and TP{} on paper",
            gpu.as_deref().unwrap_or("unnamed GPUs"),
            inputs.input_tokens,
            inputs.output_tokens,
            sizes[0],
            sizes[1]
        ),
        simulated,
        tone,
        answer: vec![
            verdict,
            format!("{asked} serves {serves} req/s on {gpus} GPUs; limited by {limit}."),
            predicted,
        ],
        findings: vec![Item {
            code,
            ..Item::of(tone, busy)
        }],
        sections: vec![
            Section::new(heading, loads),
            Section::new("", table("part of TTFT, mean ms, %", parts)),
        ],
        made_by: format!("tplens predict {}", env!("CARGO_PKG_VERSION")),
        ..Document::default()
    };
    Ok((json, document))
}

/// Limits of latencies, where they are given.
pub(super) fn slo(ttft: Option<Duration>, tpot: Option<Duration>, itl: Option<Duration>) -> Slo {
    let limit = |limit: Option<Duration>| limit.map_or(f64::INFINITY, |limit| limit.as_secs_f64());
    Slo {
        ttft_s: limit(ttft),
        tpot_s: limit(tpot),
        itl_p99_s: limit(itl),
    }
}

/// Of three values that fast, middling and slow steps give.
fn range(of: [f64; 3]) -> Range {
    Range {
        low: of[0].min(of[1]).min(of[2]),
        mid: of[1],
        high: of[0].max(of[1]).max(of[2]),
    }
}

/// What requests take with fast, middling and slow steps, and the simulated machine.
fn papers(
    link: LinkLaw,
    [prefill_gpus, decode_gpus]: [u32; 2],
    inputs: &PredictInputs,
    seed: u64,
) -> Result<([Paper; 3], Option<String>), PredictError> {
    let at = |tp: u32, batch: u32| {
        let inputs = PredictInputs {
            sizes: vec![tp],
            batch,
            ..inputs.clone()
        };
        let mut prediction = predict(&inputs, seed, DRAWS)?;
        let size = prediction.sizes.pop();
        let size = size.ok_or_else(|| PredictError::Lacks(format!("a prediction of TP{tp}")))?;
        Ok::<_, PredictError>((prediction.simulated, size))
    };
    let (simulated, prefill) = at(prefill_gpus, 1)?;
    let (_, one) = at(decode_gpus, 1)?;
    let engine = inputs.base.engines.iter().find(|of| of.tp == decode_gpus);
    let engine = engine.ok_or_else(|| PredictError::Lacks("the engine".to_owned()))?;
    let slots = engine.max_num_seqs.unwrap_or(SEQUENCES);
    let holds = one.cache_holds.unwrap_or(slots);
    let most = slots.min(holds).max(1);
    let mut decode = vec![(1, one)];
    let batches = std::iter::successors(Some(2_u32), |batch| Some(batch * 2));
    let batches = batches.take_while(|batch| *batch < most).chain([most]);
    for batch in batches.filter(|batch| *batch > 1) {
        decode.push((batch, at(decode_gpus, batch)?.1));
    }
    let shape = KvShape::of(&inputs.base.model, BLOCK_TOKENS);
    let tokens = inputs.input_tokens.ceil() as u32;
    let pieces = shape.descriptors(tokens, true) as f64;
    let bytes = shape.sent_bytes(tokens, prefill_gpus.max(decode_gpus));
    let full = match holds < slots {
        true => Limit::DecodeKv,
        false => Limit::DecodeSlots,
    };
    let paper = |of: fn(&Range) -> f64| {
        let steps = decode.iter().map(|(batch, size)| StepAt {
            batch: f64::from(*batch),
            alone_s: of(&size.step) * 1e-3,
            mixed_s: of(&size.serving.tpot) * 1e-3,
        });
        Paper {
            output_tokens: inputs.output_tokens,
            prefill_s: of(&prefill.serving.ttft_alone) * 1e-3,
            beside_s: of(&decode[0].1.serving.ttft_alone) * 1e-3,
            chunks: (inputs.input_tokens / f64::from(engine.max_batched_tokens)).ceil(),
            transfer_s: link.seconds(bytes, pieces),
            steps: steps.collect(),
            full,
            prefill_gpus,
            decode_gpus,
        }
    };
    let papers = [
        paper(|range| range.low),
        paper(|range| range.mid),
        paper(|range| range.high),
    ];
    Ok((papers, simulated))
}

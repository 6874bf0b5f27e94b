//! Measured sizes beside what is said of each: predictions, and two constants.

use crate::reality::fits::median;
use crate::reality::pairs::{Case, Gpu, SIZES, held, hockney, predicted, run_of_one};
use crate::reality::rows::Row;
use explain::{Predicted, Range};

/// One size of one load.
pub(super) struct Judged {
    /// GPU, engine and model.
    pub(super) set: String,
    pub(super) load: String,
    pub(super) tp: u32,
    pub(super) measured: f64,
    pub(super) roofline: Range,
    pub(super) from_one: Option<Range>,
    /// The measured time on one GPU, where there is one of the same load.
    pub(super) one: Option<f64>,
    /// The measured time on one GPU over 1.6 for each doubling.
    pub(super) constant: Option<f64>,
    /// The same over what the other sets gain at this size, in the median.
    pub(super) fitted: Option<f64>,
    pub(super) hockney: Option<f64>,
}

pub(super) fn error(read: f64, measured: f64) -> f64 {
    read / measured - 1.0
}

pub(super) fn holds(range: &Range, measured: f64) -> bool {
    range.low <= measured && measured <= range.high
}

fn by_constant(one: f64, tp: u32) -> f64 {
    one / 1.6f64.powf(f64::from(tp).log2())
}

/// Every pair of a published table.
pub(super) fn silicon(rows: &[Row]) -> Vec<Judged> {
    let mut judged = Vec::new();
    for row in rows {
        let set = format!("{:?}, {}, {}", row.gpu, row.engine, row.model);
        let load = format!("{} x {:.0}/{:.0}", row.batch, row.input, row.output);
        // Where the cache does not hold the load, fewer sequences decode than were in flight: not judged, nor judged from.
        let one = held(&row.case(1), None);
        let one_holds = one.is_some();
        if let Some(one) = one {
            judged.push(Judged {
                set: set.clone(),
                load: load.clone(),
                tp: 1,
                measured: row.one[1],
                roofline: one.serving.tpot,
                from_one: None,
                one: None,
                constant: None,
                fitted: None,
                hockney: None,
            });
        }
        for (tp, measured) in SIZES.into_iter().zip(row.several) {
            let Some(measured) = measured else { continue };
            let case = row.case(tp);
            let Some(roofline) = held(&case, None) else {
                continue;
            };
            let from_one = one_holds.then(|| predicted(&case, Some(row.run_of_one())));
            judged.push(Judged {
                set: set.clone(),
                load: load.clone(),
                tp,
                measured,
                roofline: roofline.serving.tpot,
                one: one_holds.then_some(row.one[1]),
                constant: one_holds.then(|| by_constant(row.one[1], tp)),
                fitted: None,
                hockney: from_one
                    .as_ref()
                    .and_then(|from_one| hockney(&case, from_one)),
                from_one: from_one.map(|from_one| from_one.serving.tpot),
            });
        }
    }
    judged
}

/// Latency over output tokens of a wave whose prompts come together: its time to first token, and a token each for the rest.
fn latency_per_token(case: &Case, of: &Predicted) -> Range {
    let all_prompts = Case {
        batch: 1,
        input: case.input * f64::from(case.batch),
        ..case.clone()
    };
    let first = predicted(&all_prompts, None).serving.ttft_alone;
    let tpot = of.serving.tpot;
    let each = |first: f64, tpot: f64| (first + (case.output - 1.0) * tpot) / case.output;
    Range {
        low: each(first.low, tpot.low),
        mid: each(first.mid, tpot.mid),
        high: each(first.high, tpot.high),
    }
}

/// Two RTX PRO 6000 under MIG, Qwen2.5-VL-72B in FP8: 64 requests, 16 in flight, 89 in and 256 out. What is known is a latency
/// over its tokens, which is what is predicted here too; that no prompt was in the cache is assumed.
pub(super) fn rtx_pro_6000() -> Vec<Judged> {
    let (one, two) = (61.42, 45.95);
    let case = |tp| Case::new(Gpu::RtxPro6000, "qwen2.5-vl-72b-fp8", tp, 16, 89.0, 256.0);
    let run = run_of_one(16, 256.0, None, None, one * 256.0);
    let from_one = predicted(&case(2), Some(run));
    let latency = latency_per_token(&case(2), &from_one);
    let prompts = latency.mid - from_one.serving.tpot.mid;
    let of = |tp, measured| Judged {
        set: "RTX PRO 6000 under MIG, vLLM, qwen2.5-vl-72b-fp8".to_owned(),
        load: "16 x 89/256".to_owned(),
        tp,
        measured,
        roofline: latency_per_token(&case(tp), &predicted(&case(tp), None)),
        from_one: None,
        one: None,
        constant: None,
        fitted: None,
        hockney: None,
    };
    vec![
        of(1, one),
        Judged {
            one: Some(one),
            from_one: Some(latency),
            constant: Some(by_constant(one, 2)),
            hockney: hockney(&case(2), &from_one).map(|tpot| tpot + prompts),
            ..of(2, two)
        },
    ]
}

/// github.com/kyuz0/amd-r9700-vllm-toolboxes, benchmarks/: Llama-3.1-8B in bf16, ShareGPT at one request a second, the mean in
/// flight by Little's law; about 210 tokens in and 215 out. The batches of one and of two GPUs differ.
pub(super) fn r9700() -> Vec<Judged> {
    let mut judged = Vec::new();
    for (set, cells) in [
        ("R9700, vLLM, llama-3.1-8b", [(1, 7, 37.10), (2, 4, 21.86)]),
        (
            "R9700, vLLM with rocm_attn, llama-3.1-8b",
            [(1, 6, 30.85), (2, 4, 19.52)],
        ),
    ] {
        for (tp, batch, measured) in cells {
            let case = Case::new(Gpu::R9700, "llama-3.1-8b", tp, batch, 210.0, 215.0);
            judged.push(Judged {
                set: set.to_owned(),
                load: format!("{batch} x 210/215"),
                tp,
                measured,
                roofline: predicted(&case, None).serving.tpot,
                from_one: None,
                one: None,
                constant: (tp > 1).then(|| by_constant(cells[0].2, tp)),
                fitted: None,
                hockney: None,
            });
        }
    }
    judged
}

/// Puts in what a table of the other sets would say: one ratio for each size, the median of what they gain. `known` are the
/// rows that such a table is made of.
pub(super) fn fit_ratios(judged: &mut [Judged], known: &[(String, u32, f64)]) {
    for row in judged.iter_mut() {
        let of_others = known
            .iter()
            .filter(|(set, tp, _)| *set != row.set && *tp == row.tp);
        let gains: Vec<f64> = of_others.map(|(_, _, gain)| *gain).collect();
        if let Some(one) = row.one.filter(|_| !gains.is_empty()) {
            row.fitted = Some(one / median(&gains));
        }
    }
}

/// Set, size and gain of every row that has a time on one GPU beside it.
pub(super) fn gains(judged: &[Judged]) -> Vec<(String, u32, f64)> {
    let gain = |row: &Judged| Some((row.set.clone(), row.tp, row.one? / row.measured));
    judged.iter().filter_map(gain).collect()
}

#[test]
fn a_fitted_ratio_knows_nothing_of_its_own_set() {
    let row = |set: &str, one: f64, measured: f64| Judged {
        set: set.to_owned(),
        load: String::new(),
        tp: 2,
        measured,
        roofline: Range {
            low: 1.0,
            mid: 1.0,
            high: 1.0,
        },
        from_one: None,
        one: Some(one),
        constant: None,
        fitted: None,
        hockney: None,
    };
    // Gains of 2, 1.5 and 1.25; without its own the first is told (1.5 + 1.25) / 2 = 1.375, so 20 / 1.375 = 14.5.
    let mut rows = [
        row("a", 20.0, 10.0),
        row("b", 15.0, 10.0),
        row("c", 12.5, 10.0),
    ];
    let known = gains(&rows);
    fit_ratios(&mut rows, &known);
    assert!((rows[0].fitted.unwrap() - 14.545).abs() < 0.001);
    // (2 + 1.25) / 2 = 1.625 for the second.
    assert!((rows[1].fitted.unwrap() - 15.0 / 1.625).abs() < 1e-9);
}

//! The table of pairs, and what can be said of all of them together.

use crate::fits::median;
use crate::pairs::{Case, Gpu, ROWS, SIZES, hockney, predicted, run_of_one};
use explain::{Predicted, Range};

/// One size of one load.
struct Judged {
    set: String,
    load: String,
    tp: u32,
    measured: f64,
    roofline: Range,
    from_one: Option<Range>,
    /// The measured step on one GPU over 1.6 for each doubling.
    constant: Option<f64>,
    hockney: Option<f64>,
}

fn error(read: f64, measured: f64) -> f64 {
    read / measured - 1.0
}

impl Judged {
    fn line(&self) -> String {
        let range = |range: Option<Range>| match range {
            Some(range) => format!(
                "{} | {:+.0}%",
                range.with_decimals(1),
                100.0 * error(range.mid, self.measured)
            ),
            None => "— | —".to_owned(),
        };
        let other = |read: Option<f64>| {
            read.map_or("—".to_owned(), |read| {
                format!("{:+.0}%", 100.0 * error(read, self.measured))
            })
        };
        format!(
            "| {} | {} | {} | {:.2} | {} | {} | {} | {} |",
            self.set,
            self.load,
            self.tp,
            self.measured,
            range(Some(self.roofline)),
            range(self.from_one),
            other(self.constant),
            other(self.hockney)
        )
    }
}

/// Every pair of the published table.
fn silicon() -> Vec<Judged> {
    let mut judged = Vec::new();
    for row in &ROWS {
        let set = format!("{:?}, {}, {}", row.gpu, row.engine, row.model);
        let load = format!("{} x {:.0}/{:.0}", row.batch, row.input, row.output);
        // Where the cache does not hold the load, fewer sequences decode than were in flight: not judged, nor judged from.
        let holds = |predicted: &Predicted| predicted.cache_holds.unwrap() >= row.batch;
        let one = predicted(&row.case(1), None);
        let one_holds = holds(&one);
        if one_holds {
            judged.push(Judged {
                set: set.clone(),
                load: load.clone(),
                tp: 1,
                measured: row.one[1],
                roofline: one.serving.tpot,
                from_one: None,
                constant: None,
                hockney: None,
            });
        }
        for (tp, measured) in SIZES.into_iter().zip(row.several) {
            let Some(measured) = measured else { continue };
            let case = row.case(tp);
            let roofline = predicted(&case, None);
            if !holds(&roofline) {
                continue;
            }
            let from_one = one_holds.then(|| predicted(&case, Some(row.run_of_one())));
            judged.push(Judged {
                set: set.clone(),
                load: load.clone(),
                tp,
                measured,
                roofline: roofline.serving.tpot,
                constant: one_holds.then(|| row.one[1] / 1.6f64.powf(f64::from(tp).log2())),
                hockney: from_one
                    .as_ref()
                    .and_then(|from_one| hockney(&case, from_one)),
                from_one: from_one.map(|from_one| from_one.serving.tpot),
            });
        }
    }
    judged
}

/// Two RTX PRO 6000 under MIG, Qwen2.5-VL-72B in FP8: 64 requests, 16 in flight, 89 in and 256 out, latency over tokens.
fn rtx_pro_6000() -> Vec<Judged> {
    let (one, two) = (61.42, 45.95);
    let case = |tp| Case::new(Gpu::RtxPro6000, "qwen2.5-vl-72b-fp8", tp, 16, 89.0, 256.0);
    let run = run_of_one(16, 256.0, None, None, one * 256.0);
    let from_one = predicted(&case(2), Some(run));
    let of = |tp, measured, from_one, constant, hockney| Judged {
        set: "RTX PRO 6000 under MIG, vLLM, qwen2.5-vl-72b-fp8".to_owned(),
        load: "16 x 89/256".to_owned(),
        tp,
        measured,
        roofline: predicted(&case(tp), None).step,
        from_one,
        constant,
        hockney,
    };
    vec![
        of(1, one, None, None, None),
        of(
            2,
            two,
            Some(from_one.step),
            Some(one / 1.6),
            hockney(&case(2), &from_one),
        ),
    ]
}

/// github.com/kyuz0/amd-r9700-vllm-toolboxes, benchmarks/: Llama-3.1-8B in bf16, ShareGPT at one request a second, the mean in
/// flight by Little's law; about 210 tokens in and 215 out. The batches of one and of two GPUs differ.
fn r9700() -> Vec<Judged> {
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
                constant: (tp > 1).then(|| cells[0].2 / 1.6),
                hockney: None,
            });
        }
    }
    judged
}

/// What is said of a column: number of values, median error without sign, and the share within the interval where there is one.
fn summary(name: &str, values: &[(f64, f64)], inside: Option<usize>) -> f64 {
    let errors: Vec<f64> = values
        .iter()
        .map(|(read, measured)| error(*read, *measured).abs())
        .collect();
    let median = median(&errors);
    let worst = errors.iter().copied().fold(0.0, f64::max);
    let inside = inside.map_or(String::new(), |n| {
        format!(", {n} of {} within [5%, 95%]", values.len())
    });
    println!(
        "{name}: n = {}, median error {:.1}%, largest {:.0}%{inside}",
        values.len(),
        median * 100.0,
        worst * 100.0
    );
    median
}

fn holds(range: &Range, measured: f64) -> bool {
    range.low <= measured && measured <= range.high
}

#[test]
fn published_pairs_are_predicted_better_than_by_a_constant() {
    let mut judged = silicon();
    judged.extend(rtx_pro_6000());
    judged.extend(r9700());
    println!(
        "| set | load | TP | measured ms | links and roofline | error | from TP1 | error | TP1 / 1.6 per doubling | Hockney |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for one in &judged {
        println!("{}", one.line());
    }
    let several = || judged.iter().filter(|one| one.tp > 1);
    let roofline: Vec<(f64, f64)> = judged
        .iter()
        .map(|j| (j.roofline.mid, j.measured))
        .collect();
    let inside = judged.iter().filter(|j| holds(&j.roofline, j.measured));
    summary("links and roofline, all", &roofline, Some(inside.count()));
    let of: Vec<(f64, f64)> = several().map(|j| (j.roofline.mid, j.measured)).collect();
    let inside = several().filter(|j| holds(&j.roofline, j.measured));
    let roofline = summary("links and roofline, TP > 1", &of, Some(inside.count()));
    let both = || several().filter_map(|j| Some((j, j.from_one?, j.constant?)));
    let of: Vec<(f64, f64)> = both().map(|(j, from, _)| (from.mid, j.measured)).collect();
    let inside = both().filter(|(j, from, _)| holds(from, j.measured));
    let from_one = summary("from TP1", &of, Some(inside.count()));
    let of: Vec<(f64, f64)> = both()
        .map(|(j, _, constant)| (constant, j.measured))
        .collect();
    let constant = summary("TP1 / 1.6 per doubling", &of, None);
    let of: Vec<(f64, f64)> = both()
        .filter_map(|(j, _, _)| Some((j.hockney?, j.measured)))
        .collect();
    let hockney = summary("from TP1, Hockney", &of, None);
    let two = || both().filter(|(j, _, _)| j.tp == 2);
    let of: Vec<(f64, f64)> = two().map(|(j, from, _)| (from.mid, j.measured)).collect();
    let from_one_two = summary("TP2 from TP1", &of, None);
    let of: Vec<(f64, f64)> = two()
        .map(|(j, _, constant)| (constant, j.measured))
        .collect();
    let constant_two = summary("TP2 = 1.6 x TP1", &of, None);
    let nearer = both().filter(|(j, from, constant)| {
        error(from.mid, j.measured).abs() <= error(*constant, j.measured).abs()
    });
    println!("from TP1 nearer than the constant: {}", nearer.count());
    assert!(from_one < constant && from_one_two < constant_two);
    assert!(from_one < 0.08, "{from_one}");
    // FIXME: the aim from links and roofline alone is 8%; docs/validation.md says where it is missed.
    assert!((0.08..0.10).contains(&roofline), "{roofline}");
    // FIXME: lines of latency and bandwidth do as well here, since NVLink's collectives are a small part of these steps.
    assert!((hockney - from_one).abs() < 0.01, "{hockney}");
}

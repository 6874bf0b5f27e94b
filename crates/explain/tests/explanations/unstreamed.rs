//! Latencies whose prompts hold all-reduces that no curve tells: they are taken out all the same, within what the runs leave room for.

use crate::explanations::boxes::{mean, rtxpro6000_mig};
use explain::{Attribution, Inputs, Override, attribute};
use import::{ServeFormat, ServeRun};
use topology::PcieLink;

const DRAWS: u32 = 4000;

/// Steps of 60 ms on one GPU and 44.4 on two, 1.351 times as fast; 16 prompts of 1024 tokens start together, 256 tokens out.
///
/// 72.7e9 weights * 2 * 16384 tokens = 2.382e15 operations: 5.955 s on one GPU at 400 TFLOP/s, 2.978 s on two. 161 all-reduces of
/// 16384 tokens * 8192 * 2 bytes are 43.2 GB over each link: 2.161 s at 20 GB/s.
fn planted() -> Inputs {
    let latencies = [
        (1, 5955.0 + 255.0 * 60.0),
        (2, 2978.0 + 2161.0 + 255.0 * 44.4),
    ];
    let mut inputs = rtxpro6000_mig();
    // A GPU for which nothing was published.
    inputs.known.gpu = None;
    let runs = latencies.into_iter().zip(inputs.serve.clone());
    inputs.serve = runs
        .map(|((tp, latency), (_, run))| {
            let duration_s = 4.0 * latency / 1e3;
            let run = ServeRun {
                format: ServeFormat::Tplens,
                input_tokens: Some(64 * 1024),
                e2el_ms: Some(mean(latency)),
                duration_s,
                requests_per_s: 64.0 / duration_s,
                ..run
            };
            (tp, run)
        })
        .collect();
    set(&mut inputs, "prefill_tflops", 395.0, 405.0);
    inputs
}

fn set(inputs: &mut Inputs, name: &str, low: f64, high: f64) {
    let given = Override {
        name: name.to_owned(),
        low,
        high,
    };
    inputs.priors.set(given).unwrap();
}

fn rate_of(got: &Attribution) -> Option<(f64, f64)> {
    let mut priors = got.priors.iter();
    let rate = priors.find(|prior| prior.name == "prompt_gb_per_s")?;
    Some((rate.low, rate.high))
}

#[test]
fn a_rate_that_is_given_leaves_the_step_that_was_planted() {
    let mut inputs = planted();
    set(&mut inputs, "prompt_gb_per_s", 19.9, 20.1);
    let got = attribute(&inputs, 1, DRAWS).unwrap();
    assert!(
        (got.speed_up.mid - 1.351).abs() < 0.01,
        "{:?}",
        got.speed_up
    );
    assert!(
        (got.step_of_several.mid - 44.4).abs() < 0.4,
        "{:?}",
        got.step_of_several
    );
}

#[test]
fn a_link_that_is_known_bounds_the_rate() {
    let mut inputs = planted();
    inputs.seen.described_link = Some(PcieLink::new(4, 16).unwrap());
    let got = attribute(&inputs, 1, DRAWS).unwrap();
    // 16 lanes of 16 GT/s * 128 / 130 over 8 bits are 31.5 GB/s, of which 0.2 to 0.92: 6.3 to 29.
    let (low, high) = rate_of(&got).unwrap();
    assert!((low - 6.30).abs() < 0.01 && (high - 28.99).abs() < 0.01);
    let times = got.speed_up;
    assert!(times.low < 1.351 && 1.351 < times.high, "{times:?}");
}

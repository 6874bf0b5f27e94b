//! What a prediction says of the size that was measured. Other sizes are judged against published servers.

use crate::boxes::{mean, rtxpro6000_mig};
use explain::{DRAWS, PredictInputs, predict};
use measure::import::Spread;
use measure::stats::Interval;

/// A mean over so many that is known to 0.1 ms.
fn known(ms: f64, n: u64) -> Option<Spread> {
    Some(Spread {
        n: Some(n),
        mean_interval: Some(Interval {
            low: ms - 0.1,
            high: ms + 0.1,
            level: 0.95,
        }),
        ..mean(ms)
    })
}

#[test]
fn the_measured_size_is_told_with_the_time_per_token_that_its_result_states() {
    let mut base = rtxpro6000_mig();
    base.serve.truncate(1);
    // A decode step of 60.6 ms, and the prompts of others in the time per token of 61.4.
    let run = &mut base.serve[0].1;
    run.streamed = true;
    run.decode_gap_ms = known(60.6, 2000);
    run.tpot_ms = known(61.4, 64);
    let prediction = predict(
        &PredictInputs {
            base,
            sizes: vec![1],
            batch: 16,
            input_tokens: 89.0,
            output_tokens: 256.0,
            half: Vec::new(),
            link: None,
        },
        1,
        DRAWS,
    )
    .unwrap();
    let of_one = &prediction.sizes[0];
    assert!((of_one.step.mid - 60.6).abs() < 0.1, "{:?}", of_one.step);
    let serving = &of_one.serving;
    assert!((serving.tpot.mid - 61.4).abs() < 0.1, "{serving:?}");
    // 16 x 1000 / 61.4 = 260.6, where the step alone would be 264.0.
    assert!(
        (serving.tokens_per_s.mid - 260.6).abs() < 0.5,
        "{serving:?}"
    );
}

//! What a prediction says of the size that was measured. Other sizes are judged against published servers.

use crate::explanations::boxes::{mean, rtxpro6000_mig};
use explain::{Cause, DRAWS, Level, Link, PredictError, PredictInputs, predict};
use import::Spread;
use stats::Interval;
use tp_plan::EngineFacts;

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

/// A box of so many GB a GPU that nobody measured, and nothing but the model's 75.2 GB of FP8 weights to go into it.
fn of_memory(gb: u64, sizes: &[u32], batch: u32, input_tokens: f64) -> PredictInputs {
    let mut base = rtxpro6000_mig();
    base.serve.clear();
    base.around.memory_bytes = Some(gb * 1_000_000_000);
    base.known.gpu = Some("NVIDIA RTX Pro 6000".to_owned());
    let engines = sizes.iter();
    base.engines = engines
        .map(|tp| EngineFacts::vllm(*tp, &base.around))
        .collect();
    PredictInputs {
        base,
        sizes: sizes.to_vec(),
        batch,
        input_tokens,
        output_tokens: 256.0,
        link: Some(Link {
            gbps: 25.0,
            fabric: false,
            source: "a test".to_owned(),
        }),
    }
}

#[test]
fn a_cache_that_does_not_hold_the_sequences_is_said_with_how_many_it_holds_and_nothing_is_predicted()
 {
    // 90% of 100 GB less 75.2 are 14.8 GB. A token takes 80 layers x 2 x 8 heads x 128 values of 2 bytes: 327680 bytes, and
    // 10000 + 256 of them 3.36 GB: 4 sequences.
    let inputs = of_memory(100, &[1], 16, 10_000.0);
    let error = predict(&inputs, 1, DRAWS).unwrap_err();
    let PredictError::NoRoom(of) = error else {
        panic!("{error}");
    };
    assert_eq!((of.tp, of.holds), (1, Some(4)));
    // At 4 it is reported.
    let inputs = of_memory(100, &[1], 4, 10_000.0);
    let prediction = predict(&inputs, 1, DRAWS).unwrap();
    assert_eq!(prediction.sizes[0].cache_holds, Some(4));
}

#[test]
fn the_time_to_first_token_has_an_interval_even_where_the_step_is_measured() {
    let mut base = rtxpro6000_mig();
    base.serve.truncate(1);
    let run = &mut base.serve[0].1;
    run.streamed = true;
    run.decode_gap_ms = known(60.6, 2000);
    let inputs = PredictInputs {
        base,
        sizes: vec![1],
        batch: 16,
        input_tokens: 89.0,
        output_tokens: 256.0,
        link: None,
    };
    let prediction = predict(&inputs, 1, DRAWS).unwrap();
    let first = prediction.sizes[0].serving.ttft_alone;
    // A prompt of 89 tokens takes the reading of all weights, which a step of 60.6 ms does too; how far it lies from that is
    // assumed, 0.9 to 1.1 of it: 90% of that width are 0.18 of the middle.
    assert!(first.mid > 55.0 && first.mid < 66.0, "{first:?}");
    let width = (first.high - first.low) / first.mid;
    assert!(width > 0.17 && width < 0.27, "{first:?}");
    let mut priors = prediction.priors.iter();
    assert!(priors.any(|prior| prior.name == "left_out"));
}

#[test]
fn gemms_of_one_gpu_hold_what_published_kernels_take() {
    // Qwen2.5-72B in FP8 on an RTX PRO 6000, 16 sequences: 58.5 ms of GEMMs by the tables of vLLM 0.19 and 49.2 ms by those of 0.24
    // (aiconfigurator rtx_pro_6000_server), and 1.6 ms of the output head.
    let one = predict(&of_memory(96, &[1], 16, 89.0), 1, DRAWS).unwrap();
    let one = &one.sizes[0];
    assert_eq!(one.level, Level::Roofline);
    let gemm = one.parts.iter().find(|part| part.cause == Cause::Gemm);
    let gemm = gemm.unwrap().ms;
    assert!(gemm.low < 49.2 + 1.6 && gemm.high > 58.5 + 1.6, "{gemm:?}");
    // 72.7 GB of weights at 1792 GB/s are 40.6 ms: no draw is below.
    assert!(gemm.low > 40.6, "{gemm:?}");
}

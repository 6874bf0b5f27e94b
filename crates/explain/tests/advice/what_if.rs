//! What-ifs against arithmetic by hand.

use crate::advice::boxes::{GRAPH_ALL_GATHER, mean, nvidia, point, rtxpro6000_mig};
use explain::{CommunicationFrom, DRAWS, Inputs, Substituted, attribute, what_if};
use record::{CollectiveKind, PeerVerdict};
use tp_plan::EngineFacts;

fn predicted(inputs: &Inputs, text: &str) -> Substituted {
    let attribution = attribute(inputs, 1, DRAWS).unwrap();
    what_if(inputs, &attribution, &text.parse().unwrap()).unwrap()
}

/// A box with a curve of its own: 60 us at 256 KiB and 400 us for the logits, and larger ones at 24 GB/s.
fn with_curve() -> Inputs {
    let mut inputs = rtxpro6000_mig();
    inputs.curve = vec![
        point(CollectiveKind::AllReduce, 8 << 10, 20.0),
        point(CollectiveKind::AllReduce, 256 << 10, 60.0),
        point(CollectiveKind::AllReduce, 4 << 20, 480.0),
        point(CollectiveKind::AllGather, GRAPH_ALL_GATHER, 400.0),
    ];
    // Nothing is hidden, so that the factor from the curve is all that is drawn.
    inputs.priors.set("exposed=1".parse().unwrap()).unwrap();
    inputs
}

#[test]
fn what_a_half_width_model_leaves_is_taken_out_whole() {
    let mut inputs = rtxpro6000_mig();
    let mut half = inputs.serve[0].1.clone();
    half.model = Some("half-tp2".to_owned());
    // 33.3 ms a token, latency over tokens as in the others.
    half.e2el_ms = Some(mean(33.3 * 256.0));
    half.duration_s = 4.0 * 33.3 * 0.256;
    half.requests_per_s = 64.0 / half.duration_s;
    inputs.evidence.half = vec![half];
    let got = predicted(&inputs, "link=gen4x8:gen5x16");
    assert_eq!(got.taken_out, CommunicationFrom::HalfModel);
    // 45.9 to 33.3 ms, less prefill that all have alike, go at most.
    assert!(
        got.change_ms.mid < 0.0 && got.change_ms.low > -13.0,
        "{got:?}"
    );
}

#[test]
fn a_slower_link_has_one_answer_whatever_the_rest_of_the_step_is() {
    // Two whole GPUs on bare metal by published times: 161 * 11.1 us explain 1.8 ms of some 11 that are left. On a quarter of the
    // link at most all of that, 1.8 ms * 3 * 1.25 = 7 ms, comes on top; were all that is left communication, in part or whole of
    // bytes, more. The two readings must not exclude each other.
    let mut inputs = rtxpro6000_mig();
    inputs.around = nvidia(Some(true), "", 96);
    inputs.engines = vec![
        EngineFacts::vllm(1, &inputs.around),
        EngineFacts::vllm(2, &inputs.around),
    ];
    inputs.known.mig = false;
    inputs.known.peers = vec![PeerVerdict::Direct; 2];
    let got = predicted(&inputs, "link=gen5x16:gen4x8");
    assert_eq!(got.taken_out, CommunicationFrom::Curve);
    assert!(
        got.change_ms.low > 0.0 && got.change_ms.high < 10.0,
        "{got:?}"
    );
    // A faster link likewise, and never below nothing.
    let back = predicted(&inputs, "link=gen4x8:gen5x16");
    assert!(back.change_ms.high < 0.0, "{back:?}");
}

#[test]
fn half_the_lanes_double_only_what_grows_with_the_bytes() {
    let inputs = with_curve();
    let got = predicted(&inputs, "link=gen5x16:gen5x8");
    // At 256 KiB 60 us, of which the bytes take between 262144 / 4194304 * 480 = 30 us and 60 - 20 = 40 us; doubled within
    // 0.8 to 1.25 the call takes 60 + (30..40) * (0.6..1.5) = 78 to 120 us. 161 of them are 2.9 to 9.7 ms more, times 0.9 to 1.3
    // for the engine, and the gather's 0.4 ms at most doubles and a half.
    assert!(
        got.change_ms.low > 2.6 && got.change_ms.high < 13.0,
        "{got:?}"
    );
    // In the middle: 35 us * (2 * 1 - 1) = 35 us * 161 * 1.1 = 6.2 ms.
    assert!((got.change_ms.mid - 6.2).abs() < 1.0, "{got:?}");
    // Back to twice the lanes: 60 - 35 / 2 us, -3.1 ms.
    let back = predicted(&inputs, "link=gen5x8:gen5x16");
    assert!((back.change_ms.mid + 3.1).abs() < 0.6, "{back:?}");
}

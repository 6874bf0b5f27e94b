//! What-ifs against arithmetic by hand.

use crate::advice::boxes::{GRAPH_ALL_GATHER, mean, nvidia, point, rtxpro6000_mig};
use explain::{
    Answer, By, Cause, CommunicationFrom, DRAWS, Inputs, Range, Substituted, Substitution, WhatIf,
    attribute, explain_if, text, what_if,
};
use measure::record::{CollectiveKind, PeerVerdict};
use tp_plan::EngineFacts;

pub(super) fn ask(inputs: &Inputs, text: &str) -> WhatIf {
    let asked = [Substitution {
        asked: text.to_owned(),
        by: text.parse().unwrap(),
    }];
    let attribution = attribute(inputs, 1, DRAWS).unwrap();
    what_if(inputs, &attribution, &asked).remove(0)
}

fn predicted(inputs: &Inputs, text: &str) -> Substituted {
    let answer = ask(inputs, text);
    answer
        .predicted()
        .unwrap_or_else(|| panic!("{answer}"))
        .clone()
}

fn is_near(range: Range, low: f64, mid: f64, high: f64, tolerance: f64) -> bool {
    let pairs = [(range.low, low), (range.mid, mid), (range.high, high)];
    pairs
        .iter()
        .all(|(got, wanted)| (got - wanted).abs() <= tolerance)
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
fn case_2_with_other_all_reduces_is_as_by_hand() {
    // By hand, all that is left taken for communication: speed-ups without communication, with 39 us as published staged, and
    // with 18.5 and 11 us as published with peer access by the library and by the engine's kernel.
    let inputs = rtxpro6000_mig();
    for (asked, low, mid, high) in [
        ("comm=x0", 1.66, 1.76, 1.85),
        ("allreduce=39us", 1.41, 1.48, 1.54),
        ("allreduce=18.5us", 1.53, 1.61, 1.69),
        ("allreduce=11us", 1.58, 1.66, 1.75),
    ] {
        let got = predicted(&inputs, asked);
        let all = got.if_all_is_communication.unwrap();
        assert!(is_near(all, low, mid, high, 0.025), "{asked}: {all:?}");
        // First is what the published curve gives, and it says which; what that does not explain may be no communication at all.
        assert_eq!(got.taken_out, CommunicationFrom::AnotherCurve);
        assert!(got.speed_up.mid <= all.mid + 0.01, "{asked}: {got:?}");
        let from = got.taken_from.clone().unwrap();
        assert!(
            from.contains("aiconfigurator rtx_pro_6000_server"),
            "{from}"
        );
        // 16 sequences in flight get a token each a step.
        let rate = 16e3 / got.step_ms.mid;
        assert!((got.tokens_per_s.mid - rate).abs() < 1.0);
        // Today's by the same definition, times the gain, is that rate.
        let today = got.today_tokens_per_s.unwrap().mid;
        assert!((today * got.gain.mid / rate - 1.0).abs() < 0.03, "{got:?}");
        let told = got.to_string();
        assert!(
            told.contains(&format!("{rate:.0} [")) && told.contains("x the steps of today, "),
            "{told}"
        );
        assert!(
            told.contains(&format!("tokens/s while decoding (today {today:.0} [")),
            "{told}"
        );
    }
}

#[test]
fn without_communication_the_step_is_at_most_what_free_links_bound() {
    let inputs = rtxpro6000_mig();
    let attribution = attribute(&inputs, 1, DRAWS).unwrap();
    let got = predicted(&inputs, "comm=x0");
    assert!(
        is_near(
            got.if_all_is_communication.unwrap(),
            attribution.free_links.low,
            attribution.free_links.mid,
            attribution.free_links.high,
            0.005
        ),
        "{got:?}"
    );
    assert!(got.communication_ms.high.abs() < 1e-9);
    // What goes is the bar of communication.
    let bar = attribution.bar(Cause::Communication).unwrap();
    assert!((got.change_ms.mid + bar.ms.mid).abs() < 0.1, "{got:?}");
}

#[test]
fn every_figure_of_a_what_if_has_its_unit() {
    let words = predicted(&rtxpro6000_mig(), "comm=x0").to_string();
    let change = words.split("(change ").nth(1).unwrap();
    let (figure, _) = change.split_once(')').unwrap();
    assert!(figure.ends_with("] ms"), "{words}");
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
    let got = predicted(&inputs, "comm=x0");
    assert_eq!(got.taken_out, CommunicationFrom::HalfModel);
    assert_eq!(
        (got.if_all_is_communication, got.taken_from.clone()),
        (None, None)
    );
    // 45.9 to 33.3 ms, less prefill that all have alike, and up to 0.3 ms of the executor stay.
    assert!(
        got.change_ms.mid < -11.5 && got.change_ms.mid > -13.0,
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
    let all = got.if_all_is_communication.unwrap();
    assert_eq!(got.taken_out, CommunicationFrom::AnotherCurve);
    assert!(
        got.change_ms.low > 0.0 && got.change_ms.high < 10.0,
        "{got:?}"
    );
    assert!(
        all.low < got.speed_up.mid && got.speed_up.mid < all.high + 0.02,
        "{all:?} against {:?}",
        got.speed_up
    );
    // A faster link likewise, and never below nothing.
    let back = predicted(&inputs, "link=gen4x8:gen5x16");
    let all = back.if_all_is_communication.unwrap();
    assert!(all.high >= back.speed_up.mid && back.communication_ms.low >= 0.0);
}

#[test]
fn calls_of_one_size_are_told_in_one_line() {
    let notes = predicted(&rtxpro6000_mig(), "p2p=on").notes;
    let reduces = notes
        .iter()
        .filter(|note| note.contains("all_reduce of 256 KiB"));
    assert_eq!(reduces.count(), 1, "{notes:?}");
    // One after the embedding and two in each of 80 layers.
    let together = notes
        .iter()
        .any(|note| note.contains("161 x 11.1 us for all_reduce of 256 KiB"));
    assert!(together, "{notes:?}");
}

#[test]
fn with_a_curve_of_the_box_what_is_unexplained_stays_and_the_change_is_that_of_the_curve() {
    let inputs = with_curve();
    let attribution = attribute(&inputs, 1, DRAWS).unwrap();
    let got = predicted(&inputs, "allreduce=x0.5");
    assert_eq!(got.taken_out, CommunicationFrom::OwnCurve);
    // Half of 161 * 60 us = 4.83 ms, times 0.9 to 1.3 for the engine: -4.35 to -6.28 ms whatever the GEMMs and the prefill do.
    assert!(
        got.change_ms.low > -6.4 && got.change_ms.high < -4.2,
        "{got:?}"
    );
    // The draws are common: the change is told far better than the step itself would be from two attributions.
    let before = attribution.step_of_several.mid;
    assert!((got.step_ms.mid - (before + got.change_ms.mid)).abs() < 0.2);
    assert_eq!(got.if_all_is_communication, None);
    assert!(got.taken_from.unwrap().starts_with("this box"));
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
    assert!(back.communication_ms.low > 0.0);
}

#[test]
fn peer_access_is_by_published_times_and_says_that_mig_has_none() {
    let got = predicted(&rtxpro6000_mig(), "p2p=on");
    // The engine's own kernel with peer access: 161 * 11.12 us = 1.8 ms times 0.6 to 1.8; about as with 11 us by hand, wider, if all
    // that is left is communication.
    let all = got.if_all_is_communication.unwrap();
    assert!(all.mid > 1.58 && all.mid < 1.72, "{got:?}");
    // By the published staged curve, 7.4 ms of 45.6 as in the bar: 60.5 / (45.6 - 7.4 + 2.1) = 1.50, of which the bar is known to 5.
    assert!(
        got.speed_up.mid > 1.42 && got.speed_up.mid < all.mid,
        "{got:?}"
    );
    let notes = got.notes.join("; ");
    assert!(
        notes.contains("MIG") && notes.contains("another box's curve"),
        "{notes}"
    );
    assert!(
        got.assumed
            .iter()
            .any(|prior| prior.starts_with("transfer_peer"))
    );
}

#[test]
fn another_boxs_curve_widens_and_the_boxs_own_under_another_setting_does_not() {
    let inputs = with_curve();
    let points = vec![
        point(CollectiveKind::AllReduce, 256 << 10, 20.0),
        point(CollectiveKind::AllGather, GRAPH_ALL_GATHER, 100.0),
    ];
    let of = |here| {
        let asked = [Substitution {
            asked: "curve".to_owned(),
            by: By::Curve {
                points: points.clone(),
                here,
            },
        }];
        let attribution = attribute(&inputs, 1, DRAWS).unwrap();
        what_if(&inputs, &attribution, &asked).remove(0)
    };
    let (other, own) = (of(false), of(true));
    let width = |of: &WhatIf| {
        let range = of.predicted().unwrap().communication_ms;
        range.high - range.low
    };
    // 161 * 20 us + 100 us = 3.32 ms, times 0.9 to 1.3: 90% of a width of 1.33 ms; times 0.6 to 1.8 as well, more than twice that.
    assert!(width(&own) > 0.9 && width(&own) < 1.4, "{own}");
    assert!(width(&other) > 2.0 * width(&own), "{other}");
    assert!(other.to_string().contains("transfer_peer"), "{other}");
    assert!(!own.to_string().contains("transfer_peer"), "{own}");
}

#[test]
fn what_no_input_tells_is_not_told() {
    let not_told = |inputs: &Inputs, text: &str| match ask(inputs, text).answer {
        Answer::NotTold { reason } => reason,
        Answer::Predicted { predicted } => panic!("{predicted}"),
    };
    // Which link the GPUs have is not known, and of this curve nothing shows what the bytes take.
    let mut inputs = with_curve();
    assert!(not_told(&inputs, "link=gen4x8").contains("link=gen4x16:gen4x8"));
    // GPUs on NVLink are not asked for what was given: no file says of which generation theirs is.
    let mut nvlink = inputs.clone();
    nvlink.around.full_nvlink = true;
    let reason = not_told(&nvlink, "link=gen5x16");
    assert!(
        reason.contains("NVLink") && reason.contains("link=nvlink4:gen5x16"),
        "{reason}"
    );
    assert!(not_told(&inputs, "link=gen4x8:gen4x8").contains("is the link that these GPUs have"));
    // A GPU that nobody published anything of.
    inputs.known.gpu = None;
    assert!(not_told(&inputs, "p2p=on").contains("no curve is known"));
    // A curve of four ranks tells nothing of two, and no published one takes its place.
    let mut four = point(CollectiveKind::AllReduce, 256 << 10, 20.0);
    four.ranks = 4;
    let inputs = rtxpro6000_mig();
    let attribution = attribute(&inputs, 1, 2000).unwrap();
    let asked = [Substitution {
        asked: "curve=four.csv".to_owned(),
        by: By::Curve {
            points: vec![four],
            here: false,
        },
    }];
    let answer = &what_if(&inputs, &attribution, &asked)[0];
    assert!(answer.to_string().contains("of 2 GPUs"), "{answer}");
}

#[test]
fn what_ifs_stand_in_the_text_and_in_the_json_and_old_json_has_none() {
    let inputs = rtxpro6000_mig();
    let asked = [Substitution {
        asked: "allreduce=39us".to_owned(),
        by: By::AllReduceMicros(39.0),
    }];
    let explanation = explain_if(&inputs, &asked, 1, 2000);
    let words = text(&explanation);
    // 61.2 / 1.48 = 41.4 ms by hand if all is communication, and up to the 45.9 of today if little is.
    assert!(
        words.contains("\nwhat if\n - allreduce=39us: a step of 4")
            && words.contains("a curve gives (another box's curve: aiconf"),
        "{words}"
    );
    let mut json = serde_json::to_value(&explanation).unwrap();
    let back: explain::Explanation = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(back, explanation);
    // A file from before has no such key.
    let outcome = json["outcome"].as_object_mut().unwrap();
    assert!(outcome.remove("what_if").is_some());
    assert!(serde_json::from_value::<explain::Explanation>(json).is_ok());
}

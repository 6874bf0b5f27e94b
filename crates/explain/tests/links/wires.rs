//! Without curves: what bytes over x8 and x16 can differ by, and what that shows in.

use crate::links::cases::{figures, inputs, near, nvidia, run, side};
use explain::{
    LinkSide, LinkVerdict, ServerLog, TimeOf, Variable, WireDifference, compare_links,
    links_answer, links_text,
};

/// Nominal rates of the two slots of the field case, GB/s.
const X16: (&str, f64) = ("nominal x16", 32.0);
const X8: (&str, f64) = ("nominal x8", 16.0);

/// Rates of Gen4 after line encoding: 16 GT/s * 128/130 / 8 for each lane.
const GEN4_X16: (&str, f64) = ("Gen4 x16", 31.508);
const GEN4_X8: (&str, f64) = ("Gen4 x8", 15.754);

/// Llama-3.1-8B at TP2 without graphs, one request after the other, prompts of 1024 tokens.
fn r9700(name: &str, link: (&str, f64), ttft_ms: f64, tpot_ms: f64, requests: u64) -> LinkSide {
    let mut run = run(&format!("{name}.json"), 2, 1, 1024, ttft_ms, tpot_ms);
    let times = requests as f64 / run.completed as f64;
    run.input_tokens = Some(requests * 1024);
    run.output_tokens = Some(requests * 128);
    run.duration_s *= times;
    run.completed = requests;
    let mut inputs = inputs("llama-3.1-8b", 2, nvidia(None), vec![run], vec![]);
    inputs.engines = vec![inputs.engines[0].clone().with_eager()];
    side(name, inputs, Some(link))
}

fn of(wires: &[WireDifference], what: TimeOf) -> &WireDifference {
    let mut found = wires.iter().filter(|wire| wire.of == what);
    let first = found.next().unwrap();
    assert!(found.next().is_none(), "{what:?} twice");
    first
}

#[test]
fn x8_against_x16_cannot_show_in_a_decode_step_of_one_prompt() {
    let comparison = compare_links(
        &r9700("x16", X16, 60.0, 20.0, 200),
        &r9700("x8", X8, 60.0, 20.01, 200),
        1,
        4_000,
    );
    let figures = figures(&comparison.outcome);
    let step = of(&figures.wire, TimeOf::DecodeStep);
    // One sequence: 1 * 4096 * 2 bytes = 8 KiB, over each link once with two ranks; 8192 / 32e3 = 0.256 us, 8192 / 16e3 = 0.512.
    assert_eq!((step.count, step.bytes_per_rank), (65, 8192));
    near(step.a.least_us, 0.256, 0.001);
    near(step.b.least_us, 0.512, 0.001);
    // 65 * 0.256 us = 17 us more at the raw rate, 22 at 0.75 of it, and the logits' 125 KiB once: 5 us. Below 0.1 of 20 ms.
    assert!(
        step.difference_ms.low > 0.017 && step.difference_ms.high < 0.1,
        "{step:?}"
    );
    let verdict = &figures.decode.as_ref().unwrap().verdict;
    assert!(
        matches!(verdict, LinkVerdict::CannotShow { most_ms, seen_from_ms } if most_ms < seen_from_ms && *most_ms < 0.1),
        "{verdict:?}"
    );
    assert!(links_answer(&comparison)[0].contains("cannot differ visibly"));
}

#[test]
fn it_shows_in_the_first_token_and_in_the_whole_run() {
    // A prompt of 1024 tokens: 65 all-reduces of 1024 * 4096 * 2 = 8.39 MB are 545 MB: 42 ms at 13 GB/s and 21 ms at 26.
    let comparison = compare_links(
        &r9700("x16", GEN4_X16, 60.0, 20.0, 200),
        &r9700("x8", GEN4_X8, 81.0, 20.02, 200),
        1,
        4_000,
    );
    let figures = figures(&comparison.outcome);
    let prompt = of(&figures.wire, TimeOf::FirstToken);
    assert_eq!((prompt.count, prompt.bytes_per_rank), (65, 8_388_608));
    let holds = |range: explain::Range, value: f64| {
        assert!(range.low < value && value < range.high, "{value} {range:?}");
        // Not so wide that anything would fit.
        assert!(range.high < 1.3 * range.low, "{range:?}");
    };
    holds(prompt.b.all_ms, 42.0);
    holds(prompt.a.all_ms, 21.0);
    // 200 prompts: 8.4 s and 4.2 s.
    let all = of(&figures.wire, TimeOf::WholeRun);
    holds(all.b.all_ms, 8_400.0);
    holds(all.a.all_ms, 4_200.0);
    let first = figures.first_token.as_ref().unwrap();
    near(first.measured.mid, 21.0, 0.5);
    assert_eq!(first.verdict, LinkVerdict::LinkCould { doubt: None });
    // 21 ms over 65 all-reduces are 323 us each.
    near(first.needed.as_ref().unwrap().us.mid, 323.0, 8.0);
}

#[test]
fn a_step_that_differs_by_more_than_bytes_can_is_not_put_on_the_link() {
    // 2 ms of 20 where bytes make 0.03 ms at most.
    let comparison = compare_links(
        &r9700("x16", GEN4_X16, 60.0, 20.0, 40),
        &r9700("x8", GEN4_X8, 81.0, 22.0, 40),
        1,
        4_000,
    );
    let decode = figures(&comparison.outcome).decode.as_ref().unwrap();
    assert!(
        matches!(decode.verdict, LinkVerdict::MoreThanBytes { most_ms } if most_ms < 0.1),
        "{:?}",
        decode.verdict
    );
    // 2 ms / 65 = 30.8 us more for 8 KiB, which bytes alone take 0.26 us of: as if the link carried 8192 / 31.0 us = 0.26 GB/s.
    near(
        decode.needed.as_ref().unwrap().gb_per_s.unwrap(),
        0.264,
        0.02,
    );
}

#[test]
fn a_slower_first_token_over_the_wider_link_is_not_put_on_bytes() {
    let comparison = compare_links(
        &r9700("x16", GEN4_X16, 81.0, 20.0, 40),
        &r9700("x8", GEN4_X8, 60.0, 20.0, 40),
        1,
        4_000,
    );
    let first = figures(&comparison.outcome).first_token.as_ref().unwrap();
    assert_eq!(first.verdict, LinkVerdict::AgainstLink);
    let text = links_text(&comparison);
    // 21 ms over 65 all-reduces are 323 us more on x16: as if it carried 8.39 MB in 323 us and the 532 us that x8 needs: 9.8 GB/s.
    assert!(
        text.contains("as if the link of x16 carried that message at 9.8 GB/s"),
        "{text}"
    );
}

/// Qwen2.5-72B at TP2, 16 in flight, 89 tokens in and 128 out, replies not streamed.
fn unstreamed(name: &str, link: (&str, f64), step_ms: f64) -> LinkSide {
    let mut run = run(&format!("{name}.json"), 2, 16, 89, 300.0, step_ms);
    run.streamed = false;
    (run.ttft_ms, run.tpot_ms) = (None, None);
    side(
        name,
        inputs("qwen2.5-72b", 2, nvidia(Some(false)), vec![run], vec![]),
        Some(link),
    )
}

#[test]
fn an_unstreamed_token_is_worked_out_and_its_bound_holds_the_prompts() {
    let comparison = compare_links(
        &unstreamed("A", GEN4_X16, 40.0),
        &unstreamed("B", GEN4_X8, 48.0),
        1,
        4_000,
    );
    let decode = figures(&comparison.outcome).decode.as_ref().unwrap();
    assert_eq!(decode.how(), "worked out");
    // 161 all-reduces of 256 KiB and 2.3 MiB of logits are 44.6 MB: times 1/15.754 - 1/31.508 is 1.42 ms, over 0.75 to 0.92 of the
    // raw rate 1.54 to 1.89. The prompts of 16 requests are 161 * 1424 * 16384 B = 3.756 GB: 119.2 ms, 158.9 at 0.75, over 128 tokens
    // 1.24 at most, and none where a cache holds them.
    let step = of(&figures(&comparison.outcome).wire, TimeOf::DecodeStep);
    near(step.difference_ms.low, 1.54, 0.02);
    near(step.difference_ms.high, 1.89 + 1.24, 0.05);
    // Nobody says which protocol the library takes: LL sends a flag of four bytes beside every four, twice 3.13. 8 ms are more.
    let LinkVerdict::MoreThanBytes { most_ms } = decode.verdict else {
        panic!("{:?}", decode.verdict);
    };
    near(most_ms, 2.0 * (1.89 + 1.24), 0.1);
    let text = links_text(&comparison);
    assert!(
        text.contains(": an output token, prompts included, takes "),
        "{text}"
    );
    assert!(text.contains("worked out, n = 1 run"), "{text}");
    assert!(!text.contains("measured, n ="), "{text}");
}

#[test]
fn flags_of_the_librarys_protocol_are_bytes_too_unless_it_is_known() {
    // Bytes alone make 3.13 ms at most and with LL's flags 6.26: 5 ms are no proof of anything beside the link.
    let with = |protocol: Option<&str>| {
        let sides = [("A", GEN4_X16, 40.0), ("B", GEN4_X8, 45.0)];
        let [a, b] = sides.map(|(name, link, step_ms)| {
            let mut side = unstreamed(name, link, step_ms);
            side.inputs.seen.variables = protocol
                .map(|value| Variable {
                    name: "NCCL_PROTO".to_owned(),
                    value: value.to_owned(),
                    origin: "record.json".to_owned(),
                })
                .into_iter()
                .collect();
            side
        });
        let comparison = compare_links(&a, &b, 1, 4_000);
        let figures = figures(&comparison.outcome);
        let most = of(&figures.wire, TimeOf::DecodeStep).most_ms.unwrap();
        (figures.decode.clone().unwrap().verdict, most)
    };
    let (verdict, most) = with(None);
    assert_eq!(verdict, LinkVerdict::LinkCould { doubt: None });
    near(most, 6.26, 0.1);
    let (verdict, most) = with(Some("Simple"));
    assert!(
        matches!(verdict, LinkVerdict::MoreThanBytes { .. }),
        "{verdict:?}"
    );
    near(most, 3.13, 0.05);
    // 128 bytes for every 120: 3.34.
    let (verdict, most) = with(Some("^LL"));
    assert!(
        matches!(verdict, LinkVerdict::MoreThanBytes { .. }),
        "{verdict:?}"
    );
    near(most, 3.34, 0.05);
}

#[test]
fn without_curves_and_links_nothing_is_claimed() {
    let mut sides = [
        r9700("A", X16, 60.0, 20.0, 40),
        r9700("B", X8, 81.0, 22.0, 40),
    ];
    for side in &mut sides {
        side.link = None;
    }
    let [a, b] = &sides;
    let comparison = compare_links(a, b, 1, 1_000);
    let decode = figures(&comparison.outcome).decode.as_ref().unwrap();
    assert!(
        matches!(&decode.verdict, LinkVerdict::NotTold { reason } if reason.contains("--link-a")),
        "{:?}",
        decode.verdict
    );
    assert!(figures(&comparison.outcome).wire.is_empty());
}

/// Llama-3.1-8B at TP2 with 16 in flight and prompts of 128 tokens.
fn llama_of_16(name: &str, link: (&str, f64), tpot_ms: f64, log: Option<ServerLog>) -> LinkSide {
    let run = run(&format!("{name}.json"), 2, 16, 128, 150.0, tpot_ms);
    let mut inputs = inputs("llama-3.1-8b", 2, nvidia(None), vec![run], vec![]);
    inputs.evidence.logs = log.into_iter().collect();
    side(name, inputs, Some(link))
}

#[test]
fn a_kernel_of_the_engine_that_nobody_saw_does_not_rule_the_library_out() {
    // 65 all-reduces of 16 * 4096 * 2 B = 8.52 MB, and the logits' 16 * 64128 * 2 B = 2.05 MB: 10.57 MB a step over each link once.
    // Times 1/15.754 - 1/31.508 = 31.74 us a MB, over 0.75 of the raw rate: 0.447 ms, and twice that with LL's flags, 0.895.
    let with = |log: Option<ServerLog>| {
        let a = llama_of_16("A", GEN4_X16, 8.0, log.clone());
        let b = llama_of_16("B", GEN4_X8, 8.85, log);
        let comparison = compare_links(&a, &b, 1, 4_000);
        let figures = figures(&comparison.outcome);
        let most = of(&figures.wire, TimeOf::DecodeStep).most_ms.unwrap();
        (figures.decode.clone().unwrap().verdict, most)
    };
    let (verdict, most) = with(None);
    near(most, 0.895, 0.005);
    assert_eq!(verdict, LinkVerdict::LinkCould { doubt: None });
    // The log shows the kernel, which carries no flags; the library still gathers the logits: 8.52 + 2 * 2.05 = 12.62 MB, 0.534 ms.
    let (verdict, most) = with(Some(ServerLog {
        origin: "server.log".to_owned(),
        tp: 2,
        transport: None,
        reduces_itself: true,
        peers: Some(true),
        taken: "its all-reduce".to_owned(),
    }));
    near(most, 0.534, 0.005);
    assert!(
        matches!(verdict, LinkVerdict::MoreThanBytes { .. }),
        "{verdict:?}"
    );
}

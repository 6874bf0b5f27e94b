//! Runs that differ in what they were made with: refused where that is an engine or a machine, else told first and at the cost of a
//! grade.

use crate::explanations::boxes::rtxpro6000_mig;
use crate::explanations::planted::{half, streamed};
use crate::explanations::said::gate;
use explain::{
    Cause, Explanation, Gate, Grade, Inputs, Outcome, Verdict, attribute, explain, gates, text,
};
use measure::import::serve::{Conditions, Host};

/// TP1 60.9 ms and TP2 45.3 ms a token, with what each was made with.
fn pair(one: Conditions, several: Conditions) -> Inputs {
    let mut inputs = rtxpro6000_mig();
    inputs.serve = vec![streamed(1, 60.9, 0.0), streamed(2, 45.3, 0.0)];
    inputs.serve[0].1.conditions = one;
    inputs.serve[1].1.conditions = several;
    inputs
}

fn engine(name: &str, version: &str) -> Conditions {
    Conditions {
        engine: Some(name.to_owned()),
        version: Some(version.to_owned()),
        ..Conditions::default()
    }
}

fn host(name: &str, boot: Option<&str>) -> Conditions {
    Conditions {
        host: Some(Host {
            name: name.to_owned(),
            boot: boot.map(str::to_owned),
            in_url: false,
        }),
        ..Conditions::default()
    }
}

fn data(name: &str, seed: Option<u64>) -> Conditions {
    Conditions {
        dataset: Some(name.to_owned()),
        is_seeded: seed.is_some(),
        seed,
        ..Conditions::default()
    }
}

/// The reason of a refusal.
#[track_caller]
fn refused(inputs: &Inputs) -> String {
    match attribute(inputs, 1, 200) {
        Ok(_) => panic!("not refused"),
        Err(refusal) => refusal.to_string(),
    }
}

#[test]
fn two_engines_machines_or_gpus_are_refused_with_both_values() {
    let gpus = |name: &str| Conditions {
        gpus: vec![name.to_owned()],
        ..Conditions::default()
    };
    let stored = |name: &str| Conditions {
        quantisation: Some(name.to_owned()),
        ..Conditions::default()
    };
    for (one, several, says) in [
        (
            engine("vllm", "0.13.0"),
            engine("sglang", "0.5.6"),
            "same engine: vllm in tp1.json and sglang in tp2.json",
        ),
        (
            host("node1", Some("a")),
            host("node2", Some("b")),
            "same host: node1 in tp1.json and node2 in tp2.json",
        ),
        (
            gpus("NVIDIA L40"),
            gpus("NVIDIA H200"),
            "same GPUs: NVIDIA L40 in tp1.json and NVIDIA H200 in tp2.json",
        ),
        (
            stored("fp8"),
            stored("awq"),
            "same quantisation: fp8 in tp1.json and awq in tp2.json",
        ),
    ] {
        let inputs = pair(one, several);
        assert!(refused(&inputs).contains(says), "{}", refused(&inputs));
        let words = text(&explain(&inputs, 1, 200));
        assert!(
            words.starts_with("Nothing can be explained yet: "),
            "{words}"
        );
        // Files of two machines tell nothing together, not even a bound.
        assert!(!words.contains("what this case still tells"), "{words}");
    }
    // All of one engine, and the rules of another.
    let sglang = pair(engine("sglang", "0.5.6"), engine("sglang", "0.5.6"));
    assert!(
        refused(&sglang).contains("the rules of vLLM are taken, and tp1.json is of sglang"),
        "{}",
        refused(&sglang)
    );
    let asked = gate(&sglang, "the engine asked about");
    assert!(
        asked
            .what_to_run
            .unwrap()
            .starts_with("give --engine sglang")
    );
    // Two containers of one boot, and an address beside a name.
    let one = pair(host("3f2a9c0d11ee", Some("a")), host("node2", Some("a")));
    assert_eq!(gate(&one, "same host").verdict, Verdict::Passed);
    let address = pair(host("10.0.0.1", None), host("node2", None));
    assert!(attribute(&address, 1, 200).is_ok());
}

/// The gate that these two give.
fn between(name: &str, one: Conditions, several: Conditions) -> Gate {
    gate(&pair(one, several), name)
}

#[test]
fn what_may_be_one_under_two_names_is_a_reservation_with_both() {
    let in_url = |url: &str| Conditions {
        host: Host::named(url),
        ..Conditions::default()
    };
    let gpus = |name: &str| Conditions {
        gpus: vec![name.to_owned()],
        ..Conditions::default()
    };
    let stored = |name: &str| Conditions {
        quantisation: Some(name.to_owned()),
        ..Conditions::default()
    };
    for (name, one, several, says) in [
        (
            "same host",
            in_url("http://vllm-tp1:8000"),
            in_url("http://vllm-tp2:8000"),
            "vllm-tp1 in tp1.json and vllm-tp2 in tp2.json: one machine may have",
        ),
        (
            "same host",
            in_url("http://10.244.1.7:8000"),
            in_url("http://10.244.2.9:8000"),
            "10.244.1.7 in tp1.json and 10.244.2.9 in tp2.json: one machine may have",
        ),
        (
            "same GPUs",
            gpus("AMD Instinct MI300X"),
            gpus("gfx942"),
            "AMD Instinct MI300X in tp1.json and gfx942 in tp2.json: the names do not tell",
        ),
        (
            "same quantisation",
            stored("compressed-tensors"),
            stored("fp8"),
            "compressed-tensors in tp1.json and fp8 in tp2.json: that is a container",
        ),
    ] {
        let gate = between(name, one, several);
        assert_eq!(gate.verdict, Verdict::Unknown, "{gate:?}");
        assert!(gate.seen.starts_with(says), "{gate:?}");
    }
    for (name, one, several, verdict) in [
        (
            "same GPUs",
            gpus("1x NVIDIA L40"),
            gpus("2x NVIDIA L40"),
            Verdict::Passed,
        ),
        (
            "same GPUs",
            gpus("1x NVIDIA L40"),
            gpus("2x NVIDIA L40S"),
            Verdict::Failed,
        ),
        (
            "same quantisation",
            stored("FP8"),
            stored("fp8"),
            Verdict::Passed,
        ),
        (
            "same data",
            data("ShareGPT", None),
            data("sharegpt", None),
            Verdict::Passed,
        ),
        (
            "same data",
            data("/data/ShareGPT_V3.json", None),
            data("ShareGPT_V3.json", None),
            Verdict::Passed,
        ),
        (
            "same data",
            data("a/one.json", None),
            data("a/two.json", None),
            Verdict::Warned,
        ),
    ] {
        let gate = between(name, one, several);
        assert_eq!(gate.verdict, verdict, "{gate:?}");
    }
}

#[test]
fn a_clients_way_of_asking_is_a_weaker_witness_than_a_field_and_a_stated_engine_is_taken() {
    let asked = |name: &str| Conditions {
        engine_by_client: true,
        ..engine(name, "0.13.0")
    };
    let mixed = between("same engine", asked("vllm"), engine("sglang", "0.13.0"));
    assert_eq!(mixed.verdict, Verdict::Warned, "{mixed:?}");
    assert!(
        mixed
            .seen
            .starts_with("vllm in tp1.json and sglang in tp2.json: a client's way"),
        "{mixed:?}"
    );
    let rules = |inputs: &Inputs| gate(inputs, "the engine asked about");
    let by_client = rules(&pair(asked("sglang"), asked("sglang")));
    assert_eq!(by_client.verdict, Verdict::Warned);
    assert!(
        by_client
            .seen
            .contains("rules of vLLM are taken, and the client of tp1.json asks as sglang"),
        "{by_client:?}"
    );
    let mut stated = pair(engine("sglang", "0.5.6"), engine("sglang", "0.5.6"));
    assert_eq!(rules(&stated).verdict, Verdict::Failed);
    stated.evidence.engine_stated = true;
    assert_eq!(rules(&stated).verdict, Verdict::Warned);
    assert_eq!(
        rules(&stated).seen,
        "--engine says vLLM, and tp1.json says sglang"
    );
    // The server's own words of one side stand above the client's of the other.
    let own = rules(&pair(asked("sglang"), engine("vllm", "0.13.0")));
    assert_eq!(own.verdict, Verdict::Passed);
}

#[test]
fn an_engine_without_rules_here_is_warned_of_with_both_names_and_costs_the_grade() {
    let other = || engine("tensorrt-llm", "1.0.0");
    let mut inputs = pair(other(), other());
    let mut run = half(33.0);
    run.conditions = other();
    inputs.evidence.half = vec![run];
    let found = gate(&inputs, "the engine asked about");
    assert_eq!(found.verdict, Verdict::Warned);
    assert!(
        found
            .seen
            .starts_with("the rules of vLLM are taken for tensorrt-llm, which tp1.json is of"),
        "{found:?}"
    );
    let attribution = attribute(&inputs, 1, 500).unwrap();
    assert_eq!(
        attribution.bar(Cause::Communication).unwrap().grade,
        Some(Grade::C)
    );
}

#[test]
fn another_version_is_told_first_and_costs_the_grade_of_a_half_width_model() {
    let inputs = |several: &str| {
        let mut inputs = pair(engine("vllm", "0.13.0"), engine("vllm", several));
        let mut half = half(33.0);
        half.conditions = engine("vllm", "0.13.0");
        inputs.evidence.half = vec![half];
        inputs
    };
    let grade = |explanation: &Explanation, cause| match &explanation.outcome {
        Outcome::Attributed { attribution, .. } => attribution.bar(cause).unwrap().grade,
        Outcome::Refused { refusal } => panic!("{refusal}"),
    };
    let same = explain(&inputs("0.13.0"), 1, 500);
    assert_eq!(grade(&same, Cause::Communication), Some(Grade::A));
    assert!(!text(&same).contains("WARNING"), "{}", text(&same));
    let other = explain(&inputs("0.10.2"), 1, 500);
    assert_eq!(grade(&other, Cause::Communication), Some(Grade::C));
    let words = text(&other);
    let warning = words.lines().nth(2).unwrap();
    assert!(
        warning.starts_with(
            "WARNING: not the same engine version (0.13.0 in tp1.json and 0.10.2 in tp2.json), so that the evidence of "
        ) && warning.contains("communication"),
        "{words}"
    );
    assert!(warning.ends_with(" is no better than C."), "{warning}");
    assert!(words.contains("1 WARNING, 0 failed"), "{words}");
    assert!(words.contains("WARNING: same engine version ("), "{words}");
    // What measured it is still named.
    assert!(words.contains("by the half-width model"), "{words}");
}

#[test]
fn where_no_grade_is_left_to_lose_that_is_said() {
    let inputs = pair(data("random", None), data("sharegpt", None));
    let words = text(&explain(&inputs, 1, 200));
    assert!(
        words.contains(
            "WARNING: not the same data (random in tp1.json and sharegpt in tp2.json), which costs no grade, since none is better than C."
        ),
        "{words}"
    );
    let caveats = attribute(&inputs, 1, 200).unwrap().caveats;
    let said = |caveat: &String| caveat.starts_with("same data: random in tp1.json");
    assert!(caveats.iter().any(said), "{caveats:?}");
}

#[test]
fn seeds_are_compared_where_they_draw_more_than_words_and_repeats_have_their_own() {
    let of = |one: &[u64], several: &[u64]| {
        let mut inputs = rtxpro6000_mig();
        inputs.serve.clear();
        for (tp, step, seeds) in [(1, 60.9, one), (2, 45.3, several)] {
            for seed in seeds {
                let (tp, mut run) = streamed(tp, step, 0.0);
                run.conditions = data("sharegpt", Some(*seed));
                inputs.serve.push((tp, run));
            }
        }
        gate(&inputs, "same seed").verdict
    };
    assert_eq!(of(&[7], &[7]), Verdict::Passed);
    assert_eq!(of(&[7], &[8]), Verdict::Warned);
    assert_eq!(of(&[1, 2], &[1, 2]), Verdict::Passed);
    assert_eq!(of(&[1, 2], &[1]), Verdict::Passed);
    assert_eq!(of(&[1, 2], &[2, 3]), Verdict::Warned);
    // Random words of one length differ by seed in nothing that takes time.
    let mut words = pair(data("random words", None), data("random words", None));
    words.serve[0].1.conditions.seed = Some(1);
    words.serve[1].1.conditions.seed = Some(2);
    assert!(gates(&words).iter().all(|gate| gate.name != "same seed"));
}

#[test]
fn flags_that_both_sides_tell_are_compared_and_only_those_that_differ_are_shown() {
    let flags = |graph: &str, more: &[(&str, &str)]| Conditions {
        flags: [("disable_cuda_graph", graph), ("dtype", "bfloat16")]
            .iter()
            .chain(more)
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        ..Conditions::default()
    };
    let other = pair(flags("true", &[]), flags("false", &[]));
    let seen = gate(&other, "same launch flags");
    assert_eq!(seen.verdict, Verdict::Warned);
    assert_eq!(
        seen.seen,
        "disable_cuda_graph=true in tp1.json and disable_cuda_graph=false in tp2.json"
    );
    let more = pair(
        flags("true", &[]),
        flags("true", &[("schedule_policy", "lpm")]),
    );
    let seen = gate(&more, "same launch flags");
    assert_eq!(seen.verdict, Verdict::Passed);
    assert_eq!(seen.seen, "disable_cuda_graph=true, dtype=bfloat16");
}

#[test]
fn what_a_side_does_not_say_is_told_once_and_not_judged() {
    let inputs = pair(engine("vllm", "0.13.0"), Conditions::default());
    let all = gates(&inputs);
    let silent: Vec<_> = all
        .iter()
        .filter(|gate| gate.name == "same conditions")
        .collect();
    assert_eq!(silent.len(), 1);
    assert_eq!(silent[0].verdict, Verdict::NotJudged);
    assert_eq!(
        silent[0].seen,
        "not every file says the engine, the host, the GPUs, how weights are stored, the engine's version, what prompts are made of and launch flags"
    );
    assert!(all.iter().all(|gate| gate.name != "same engine"));
}

#[test]
fn runs_of_another_product_than_the_virtual_gpus_of_the_box_are_a_reservation_with_both_names() {
    let of = |edition: &str| {
        let gpus = vec![format!("NVIDIA RTX PRO 6000 Blackwell {edition}")];
        let both = Conditions {
            gpus,
            ..Conditions::default()
        };
        let mut inputs = pair(both.clone(), both);
        inputs.known.name = Some("a-box".to_owned());
        inputs.known.gpu = Some("NVIDIA RTX Pro 6000 Blackwell DC-4-96Q".to_owned());
        gate(&inputs, "same GPUs")
    };
    let other = of("Workstation Edition");
    assert_eq!(other.verdict, Verdict::Unknown, "{other:?}");
    assert!(
        other.seen.starts_with(
            "NVIDIA RTX PRO 6000 Blackwell Workstation Edition in tp1.json and NVIDIA RTX Pro 6000 Blackwell DC-4-96Q of the box a-box"
        ),
        "{other:?}"
    );
    // Virtual GPUs of that name are made of this one.
    assert_eq!(of("Server Edition").verdict, Verdict::Passed);
}

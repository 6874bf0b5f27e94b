//! Plans of boxes: which arms, in which order, by which commands.

use std::path::Path;

use clap::Parser;
use runner::run::Needs;
use tp_plan::{Surroundings, Vendor};

use super::arm::Arm;
use super::plan::{AblateArgs, Launched, Plan, all_reduces};
use crate::study::subject::Subject;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    args: AblateArgs,
}

fn args(text: &str) -> AblateArgs {
    let words = ["ablate"].into_iter().chain(text.split_whitespace());
    Line::try_parse_from(words).unwrap().args
}

fn subject(args: &AblateArgs) -> Subject<'_> {
    let subject = Subject::new(&args.subject, &[args.tp]);
    subject.unwrap_or_else(|stop| panic!("{stop:?}"))
}

/// The plan on a built-in box, or the words that refuse it.
fn soft(args: &AblateArgs) -> Result<Plan<'_>, String> {
    let subject = subject(args);
    let described = subject.simulated.as_ref().unwrap();
    let around = engine::surroundings(described, args.tp).unwrap();
    Plan::new(args, subject, &around).map_err(|stop| format!("{stop:?}"))
}

/// The plan on a box of such GPUs.
fn real<'a>(
    args: &'a AblateArgs,
    vendor: Vendor,
    gpu: &str,
    peers: bool,
) -> Result<Plan<'a>, String> {
    let around = Surroundings::of_gpus(vendor, &[gpu], Some(48 << 30), false, Some(peers));
    Plan::new(args, subject(args), &around).map_err(|stop| format!("{stop:?}"))
}

fn names(plan: &Plan<'_>) -> Vec<String> {
    plan.arms.iter().map(|arm| arm.name.clone()).collect()
}

fn why(plan: &Plan<'_>, name: &str) -> String {
    let row = plan.refused.iter().find(|(refused, _)| *refused == name);
    row.unwrap_or_else(|| panic!("{name} is not refused: {:?}", plan.refused))
        .1
        .to_owned()
}

fn arm<'a>(plan: &'a Plan<'_>, name: &str) -> &'a Arm {
    let found = plan.arms.iter().find(|arm| arm.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", names(plan)))
}

/// The variables of an arm as a shell writes them.
fn variables(plan: &Plan<'_>, name: &str) -> Vec<String> {
    let all = arm(plan, name).variables.iter();
    all.map(|(name, value)| format!("{name}={value}")).collect()
}

#[test]
fn each_soft_box_runs_what_its_tables_tell_apart() {
    let with_delays = |first: &[&str]| {
        let all = ["baseline"]
            .iter()
            .chain(first)
            .chain(&["delay-20", "delay-50"]);
        all.map(|name| (*name).to_owned()).collect::<Vec<_>>()
    };
    for (sim, own, refused) in [
        // It has tables through host memory beside the direct ones.
        (
            "l40x4",
            &["p2p-off"][..],
            ("proto-simple", "changes nothing"),
        ),
        // It has tables by protocol, and Simple is slower at 128 KiB and below.
        (
            "r9700-x16",
            &["proto-simple"],
            ("p2p-off", "changes nothing"),
        ),
        // MIG has no peers to switch off.
        ("rtxpro6000-mig", &[], ("p2p-off", "host memory already")),
        ("mxc500x4", &[], ("p2p-off", "changes nothing")),
        ("h200x8", &[], ("p2p-off", "changes nothing")),
    ] {
        let args = args(&format!("--model llama-3.1-8b --sim {sim}"));
        let plan = soft(&args).unwrap();
        assert_eq!(names(&plan), with_delays(own), "{sim}");
        assert!(
            why(&plan, refused.0).contains(refused.1),
            "{sim}: {}",
            why(&plan, refused.0)
        );
        // One embedding and two in each of 32 layers, by the library in every arm.
        assert_eq!(all_reduces(&plan.step), 65, "{sim}");
    }
}

#[test]
fn nvidia_arms_have_the_variables_and_flags_of_the_engine() {
    let args = args(
        "--model qwen2.5-72b --gpus 0,1 --shim s/libnccl.so.2 --ccl /env/libnccl.so.2 --delays 20 -- vllm serve m",
    );
    let plan = real(&args, Vendor::Nvidia, "NVIDIA L40", true).unwrap();
    assert_eq!(
        names(&plan),
        ["baseline", "p2p-off", "proto-simple", "delay-20"]
    );
    let own = ["CUDA_VISIBLE_DEVICES=0,1", "VLLM_ALLREDUCE_USE_SYMM_MEM=0"];
    assert_eq!(variables(&plan, "baseline"), own);
    assert_eq!(
        variables(&plan, "p2p-off"),
        [&["NCCL_P2P_DISABLE=1"], &own[..]].concat()
    );
    assert_eq!(
        variables(&plan, "delay-20")[2..],
        [
            "TPLENS_DELAY_US=20",
            "TPLENS_DELAY_LIBRARY=/env/libnccl.so.2",
            "VLLM_NCCL_SO_PATH=s/libnccl.so.2",
        ]
    );
    let launch = Launched {
        order: 3,
        name: "launches/003-delay-20".to_owned(),
        arm: 3,
    };
    let [timed, served] = plan.steps(&launch, Path::new("a")).ok().unwrap();
    let Some(Needs::Started(server)) = served.needs else {
        panic!("no server");
    };
    let says = "vllm serve m --tensor-parallel-size 2 --port {port} --disable-custom-all-reduce";
    assert_eq!(server.words.join(" "), says);
    let log = (
        "TPLENS_DELAY_LOG".into(),
        "a/launches/003-delay-20/shim.jsonl".into(),
    );
    assert!(server.environment.contains(&log));
    assert_eq!(
        timed.arguments.join(" "),
        "--gpus 0,1 --model qwen2.5-72b --tp 2 --batches 16 --budget 10 --backend auto --modes graph --ccl s/libnccl.so.2"
    );
}

#[test]
fn other_vendors_have_names_of_their_own() {
    let args =
        args("--model qwen2.5-72b --gpus 2,3 --shim s/libmccl.so --delays 20 -- vllm serve m");
    let plan = real(&args, Vendor::Metax, "MXC500", true).unwrap();
    assert_eq!(
        variables(&plan, "p2p-off"),
        ["MCCL_P2P_DISABLE=1", "MACA_VISIBLE_DEVICES=2,3"]
    );
    assert!(why(&plan, "delay").contains("NCCL or RCCL"));
    let amd = self::args(
        "--model qwen2.5-72b --gpus 2,3 -- python3 -m sglang.launch_server --model-path m",
    );
    let plan = real(&amd, Vendor::Amd, "AMD Radeon AI PRO R9700", true).unwrap();
    assert_eq!(
        variables(&plan, "p2p-off"),
        ["NCCL_P2P_DISABLE=1", "HIP_VISIBLE_DEVICES=2,3"]
    );
    assert!(why(&plan, "delay").contains("--shim"));
    let host = real(&amd, Vendor::Host, "CPU", false).unwrap();
    assert_eq!(names(&host), ["baseline"]);
    assert!(why(&host, "p2p-off").contains("no collective library"));
}

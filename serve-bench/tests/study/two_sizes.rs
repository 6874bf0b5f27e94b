//! TP4 against TP2 from files, and what only one GPU against several uses.

use crate::study::common::Scratch;

/// All-reduces on `ranks` GPUs: `us` at 256 KiB, and as much bandwidth beyond.
fn curve(scratch: &Scratch, name: &str, of: &[(u32, f64)]) -> String {
    let mut text = String::from("op,ranks,bytes,us,mode\n");
    for (ranks, us) in of {
        for times in [1_u32, 16] {
            let (bytes, us) = (times * 262_144, us * f64::from(times));
            text.push_str(&format!("all_reduce,{ranks},{bytes},{us},graph\n"));
        }
    }
    scratch.write(name, &text)
}

#[test]
fn four_against_two_is_explained_without_a_run_of_one() {
    let scratch = Scratch::new();
    let (two, four) = (
        scratch.vllm("tp2.json", 36.0),
        scratch.vllm("tp4.json", 26.7),
    );
    let curves = curve(&scratch, "curves.csv", &[(2, 20.0), (4, 50.0)]);
    let arguments = [
        "explain",
        "--tp2",
        &two,
        "--tp4",
        &four,
        "--model",
        "qwen2.5-72b",
        "--out",
        "out",
    ];
    let ran = scratch.run(&[&arguments[..], &["--allreduce", &curves]].concat());
    ran.expect(0);
    let json = scratch.json("out/explanation.json");
    assert_eq!(
        (&json["outcome"]["attribution"]["from"], &json["tp"]),
        (&2.into(), &4.into())
    );
    let without = scratch.run(&arguments);
    without.expect(3);
    let sizes = ["--tp2", &two, "--tp4", &four].map(|of: &str| of);
    // What only one GPU against several uses is refused with what it needs, and not dropped.
    let other = format!("curve={curves}");
    let given = ["explain", "--model", "qwen2.5-72b", "--what-if", &other];
    let ran = scratch.run(&[&given[..], &sizes].concat());
    ran.expect(2);
    let instead = "--what-if is used where several GPUs are explained against one, and not for TP4 against TP2: give a result of one GPU";
    assert!(ran.stderr.contains(instead), "{}", ran.stderr);
}

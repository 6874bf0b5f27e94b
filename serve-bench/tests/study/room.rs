//! Sizes of a study that the GPUs' memory does not hold: told by figures, left out, and refused where none is left.

use crate::common::Scratch;

/// 16 requests of 512 tokens on GPUs of 46068 MiB.
const LINE: &str =
    "study --plan --sim l40x4 --model qwen2.5-72b-fp8 --input-tokens 384 --out planned";

#[test]
fn a_size_without_room_is_left_out_of_the_plan_with_its_figures() {
    let scratch = Scratch::new();
    let plan = |more: &str| {
        let line = format!("{LINE} {more}");
        scratch.run(&line.split(' ').collect::<Vec<_>>())
    };
    let ran = plan("--tp 1,2,4");
    ran.expect(0);
    // 80 layers of keys and values of 8 heads of 128 numbers of 2 B are 320 KiB a token: times 512 x 16 2.5 GiB. 90% of 44.99 GiB
    // are 40.5.
    for says in [
        "left out: TP1 does not fit: a GPU needs",
        "the cache of 16 requests of 512 tokens 2.5, and the engine fills 40.5 GiB of it\n",
        "\nTP2 fits: ",
        "1. links: ",
        "2. allreduce-tp2: ",
        "4. serve-tp2: ",
        "6. explanation: of each size against the size before it",
    ] {
        assert!(ran.stdout.contains(says), "{says}: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains("serve-tp1"), "{}", ran.stdout);
    let ran = plan("--tp 1");
    ran.expect(2);
    assert!(
        ran.stderr
            .contains("no size of --tp fits: TP1 does not fit: a GPU needs"),
        "{}",
        ran.stderr
    );
    // Without the plan it is the same, before anything is measured.
    let run = format!("{LINE} --tp 1").replace("--plan ", "");
    scratch.run(&run.split(' ').collect::<Vec<_>>()).expect(2);
    assert!(!scratch.join("planned").exists());
}

#[test]
fn nothing_is_left_out_where_how_the_engine_keeps_its_weights_is_not_known() {
    let scratch = Scratch::new();
    for server in [
        "vllm serve m --quantization fp8",
        "/no/such/server {tp} {port}",
    ] {
        let line = format!("{LINE} --tp 1 -- {server}");
        let ran = scratch.run(&line.split(' ').collect::<Vec<_>>());
        ran.expect(0);
        assert!(ran.stdout.contains("serve-tp1"), "{}", ran.stdout);
        assert!(!ran.stdout.contains("a GPU needs"), "{}", ran.stdout);
    }
}

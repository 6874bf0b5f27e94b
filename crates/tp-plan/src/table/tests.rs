//! Tests of the text and of the steps that it shows.

use crate::{EngineFacts, ModelFacts, Surroundings, Vendor, plan, table};

fn pcie() -> Surroundings {
    Surroundings {
        vendor: Vendor::Nvidia,
        architecture: Some("sm_89".to_owned()),
        peer_access: Some(true),
        no_peer_reason: String::new(),
        full_nvlink: false,
        memory_bytes: Some(48_000_000_000),
    }
}

#[test]
fn steps_of_one_engine_share_a_table() {
    let model = ModelFacts::builtin("gpt-oss-120b").unwrap();
    let engine = EngineFacts::vllm(2, &pcie());
    let steps = [
        plan(&model, &engine, 3, None),
        plan(&model, &engine, 16, Some(4096)),
    ];
    insta::assert_snapshot!(table(&steps), @r"
    gpt-oss-120b, TP2, vLLM (rules of 0.13.0), graphs up to 512
      batch  padded  prefill  collective  for               count  bytes each  bytes a step  path     rule
          3       4        —  all_reduce  embedding             1       23040     22.50 KiB  custom   [1]
          3       4        —  all_reduce  attention output     36       23040       810 KiB  custom   [1]
          3       4        —  all_reduce  moe output           36       24576       864 KiB  custom   [2]
          3       4        —  all_gather  logits                1      603264    589.12 KiB  library  [3]
         16      16     2032  all_reduce  embedding             1    11796480     11.25 MiB  library  [4]
         16      16     2032  all_reduce  attention output     36    11796480       405 MiB  library  [4]
         16      16     2032  all_reduce  moe output           36    12582912       432 MiB  library  [5]
         16      16     2032  all_gather  logits                1     3418496      3.26 MiB  library  [6]

    bytes are those of one rank; rules that decided the path:
     [1] below custom all-reduce's limit of 8 MiB
     [2] below custom all-reduce's limit of 8 MiB; the kernel for MXFP4 experts pads 2880 to 3072, a multiple of 256, before the reduce (Marlin, which is for all but sm_90 and sm_10x)
     [3] the logits' all-gather is always the library's; one row a sequence, not padded: outside the captured graph
     [4] 11.25 MiB is not below custom all-reduce's limit of 8 MiB
     [5] 12 MiB is not below custom all-reduce's limit of 8 MiB; the kernel for MXFP4 experts pads 2880 to 3072, a multiple of 256, before the reduce (Marlin, which is for all but sm_90 and sm_10x)
     [6] the logits' all-gather is always the library's; one row a sequence, the chunk's prompt counted as one
    ");
}

#[test]
fn one_rank_shows_that_there_is_nothing() {
    let model = ModelFacts::builtin("llama-3.1-8b").unwrap();
    let steps = [plan(&model, &EngineFacts::vllm(1, &pcie()), 16, None)];
    insta::assert_snapshot!(table(&steps), @r"
    llama-3.1-8b, TP1, vLLM (rules of 0.13.0), graphs up to 512
      batch  padded  prefill  collective  for  count  bytes each  bytes a step  path  rule
         16      16        —  none        —        —           —             —  —
    ");
}

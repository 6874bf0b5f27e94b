//! Logs of SGLang.

use super::{around, value};
use crate::engine::{CustomAllReduce, Engine, EngineFacts};
use crate::log::{EngineLog, Graphs};

/// SGLang of spring 2026: `srt/server_args.py` (by `srt/entrypoints/engine.py`), `srt/distributed/parallel_state.py`,
/// `srt/mem_cache/memory_pool.py`, `srt/model_executor/cuda_graph_runner.py`, `srt/managers/scheduler.py`.
pub(super) const SGLANG: &str = "\
[2026-04-14 16:08:19] INFO server_args.py:1830: Attention backend not specified. Use flashinfer backend by default.
[2026-04-14 16:08:20] INFO engine.py:156: server_args=ServerArgs(model_path='m', skip_tokenizer_init=False, dtype='auto', quantization=None, kv_cache_dtype='auto', max_running_requests=None, chunked_prefill_size=2048, tp_size=2, pp_size=1, dp_size=1, attention_backend='flashinfer', decode_attention_backend=None, disable_radix_cache=False, cuda_graph_max_bs=24, cuda_graph_bs=[1, 2, 4, 8], disable_cuda_graph=False, disable_custom_all_reduce=False, enable_dp_attention=False)
[2026-04-14 16:08:43 TP0] sglang is using nccl==2.27.5
[2026-04-14 16:08:44 TP1] Setup Custom allreduce failed with CUDART error: peer access is not supported between these two devices. To silence this warning, specify --disable-custom-all-reduce explicitly.
[2026-04-14 16:08:44 TP0] Multimodal attention backend not set. Use triton_attn.
[2026-04-14 16:08:49 TP0] Load weight end. type=Qwen2ForCausalLM, dtype=torch.bfloat16, avail mem=6.09 GB, mem usage=15.54 GB.
[2026-04-14 16:08:49 TP0] KV Cache is allocated. #tokens: 327310, K size: 2.50 GB, V size: 2.50 GB
[2026-04-14 16:08:50 TP0] Capture cuda graph bs [1, 2, 4, 8, 12, 16, 24]
Capturing batches (bs=24 avail_mem=4.00 GB):   0%|          | 0/7 [00:00<?, ?it/s]
Capturing batches (bs=1 avail_mem=3.80 GB): 100%|██████████| 7/7 [00:04<00:00,  3.31it/s]
Capturing batches (bs=1 avail_mem=3.80 GB): 100%|██████████| 7/7 [00:04<00:00,  1.72it/s]
[2026-04-14 16:09:08 TP0] max_total_num_tokens=327310, chunked_prefill_size=2048, max_prefill_tokens=16384, max_running_requests=62, context_len=262144, available_gpu_mem=3.79 GB
";

#[test]
fn a_log_of_sglang_says_it_too() {
    let log = EngineLog::read(SGLANG);
    assert_eq!(value(&log.engine), Some((Engine::Sglang, 2)));
    assert_eq!(log.version, None, "SGLang does not say it");
    assert_eq!(value(&log.tp), Some((2, 2)));
    assert_eq!(value(&log.prefix_cache), Some((true, 2)));
    assert_eq!(value(&log.max_batched_tokens), Some((2048, 2)));
    assert_eq!(value(&log.max_num_seqs), Some((62, 12)));
    // The list of the arguments is not what was captured.
    let sizes = Some(vec![1, 2, 4, 8, 12, 16, 24]);
    assert_eq!(value(&log.graphs), Some((Graphs::Captured { sizes }, 8)));
    let Some((CustomAllReduce::Off { reason, .. }, 4)) = value(&log.custom_all_reduce) else {
        panic!("{:?}", log.custom_all_reduce);
    };
    assert_eq!(
        reason,
        "CUDART error: peer access is not supported between these two devices"
    );
    assert!(log.notes.is_empty(), "{:?}", log.notes);
    let facts = EngineFacts::sglang(2, &around()).with_log(&log);
    assert_eq!(facts.padded(17), 24);
    assert_eq!(facts.padded(25), 25);
    assert_eq!(facts.max_num_seqs, Some(62));
}

/// Later SGLang prints its arguments as a dictionary; `srt/managers/tp_worker.py`.
#[test]
fn arguments_as_a_dictionary_are_read_as_well() {
    let log = EngineLog::read(
        "[t] server_args={'tp_size': 4, 'disable_custom_all_reduce': True, 'disable_cuda_graph': True, 'chunked_prefill_size': -1, 'enable_dp_attention': True}\n\
         [t TP0] [AR] All-reduce call path: NCCL (custom AR disabled)\n",
    );
    assert_eq!(value(&log.tp), Some((4, 1)));
    assert_eq!(log.max_batched_tokens, None);
    assert!(matches!(
        value(&log.graphs),
        Some((Graphs::Eager { .. }, 1))
    ));
    assert!(matches!(
        value(&log.custom_all_reduce),
        Some((CustomAllReduce::Off { .. }, 1))
    ));
    assert!(log.warnings[0].meaning.contains("data parallel"));
}

/// On AMD the first line is of other groups; the second is of the tensor parallel one.
#[test]
fn a_kernel_that_is_used_outweighs_the_other_groups() {
    let log = EngineLog::read(
        "[t DP0 TP0] [AR] All-reduce call path: NCCL (custom AR disabled)\n[t DP0 TP0] [AR] Using AiterCustomAllreduce (AMD default)\n",
    );
    assert_eq!(
        value(&log.custom_all_reduce),
        Some((CustomAllReduce::Active, 2))
    );
}

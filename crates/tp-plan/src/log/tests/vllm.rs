//! Logs of vLLM, from 0.6 to 0.32.

use record::CollectivePath;

use super::{around, value};
use crate::engine::{CustomAllReduce, Engine, EngineFacts, Execution};
use crate::log::{EngineLog, Graphs};

/// vLLM 0.13.0 on two GPUs without peer access, behind docker-compose: `v1/engine/core.py`, `custom_all_reduce.py`, `pynccl.py`,
/// `platforms/cuda.py`, `v1/core/kv_cache_utils.py`, `v1/worker/gpu_model_runner.py`.
pub(super) const VLLM_0_13: &str = "\
m | (APIServer pid=1) INFO 02-12 19:46:23 [api_server.py:1351] vLLM API server version 0.13.0
m | (APIServer pid=1) INFO 02-12 19:46:23 [utils.py:253] non-default args: {'model_tag': '/models', 'tensor_parallel_size': 2, 'max_num_batched_tokens': 4096, 'max_num_seqs': 8}
m | (APIServer pid=1) INFO 02-12 19:46:30 [scheduler.py:230] Chunked prefill is enabled with max_num_batched_tokens=4096.
m | (EngineCore_DP0 pid=241) INFO 02-12 19:46:37 [core.py:93] Initializing a V1 LLM engine (v0.13.0) with config: model='/models', speculative_config=None, dtype=torch.bfloat16, max_seq_len=32768, load_format=auto, tensor_parallel_size=2, pipeline_parallel_size=1, data_parallel_size=1, disable_custom_all_reduce=False, quantization=compressed-tensors, enforce_eager=False, kv_cache_dtype=fp8, device_config=cuda, enable_prefix_caching=True, enable_chunked_prefill=True, pooler_config=None, compilation_config={'level': None, 'mode': <CompilationMode.VLLM_COMPILE: 3>, 'cudagraph_mode': <CUDAGraphMode.FULL_AND_PIECEWISE: (2, 1)>, 'cudagraph_capture_sizes': [1, 2, 4, 8, 16], 'max_cudagraph_capture_size': 16}
m | INFO 02-12 19:46:44 [pynccl.py:111] vLLM is using nccl==2.27.5
m | (Worker_TP0 pid=306) WARNING 02-12 19:46:44 [symm_mem.py:67] SymmMemCommunicator: Device capability 8.9 not supported, communicator is not available.
m | (Worker_TP1 pid=307) (Worker_TP0 pid=306) WARNING 02-12 19:46:45 [custom_all_reduce.py:165] Custom allreduce is disabled because your platform lacks GPU P2P capability or P2P test failed. To silence this warning, specify disable_custom_all_reduce=True explicitly.
WARNING 02-12 19:46:45 [custom_all_reduce.py:165] Custom allreduce is disabled because your platform lacks GPU P2P capability or P2P test failed. To silence this warning, specify disable_custom_all_reduce=True explicitly.
m | (Worker_TP0 pid=306) INFO 02-12 19:47:04 [cuda.py:351] Using FLASHINFER attention backend out of potential backends: ('FLASHINFER', 'TRITON_ATTN')
host:306:306 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to SYS
host:306:306 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct
host:307:307 [1] NCCL INFO Channel 00 : 1[1] -> 0[0] via SHM/direct/direct
host:306:306 [0] NCCL INFO 2 coll channels, 2 collnet channels, 0 nvls channels, 2 p2p channels, 2 p2p channels per peer
m | (EngineCore_DP0 pid=241) INFO 02-12 19:50:09 [kv_cache_utils.py:1291] GPU KV cache size: 767,552 tokens
Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):   0%|          | 0/5 [00:00<?, ?it/s]\rCapturing CUDA graphs (mixed prefill-decode, PIECEWISE): 100%|██████████| 5/5 [00:00<00:00,  8.53it/s]
Capturing CUDA graphs (decode, FULL): 100%|██████████| 4/4 [00:01<00:00,  2.09it/s]
m | (Worker_TP0 pid=306) INFO 02-12 19:50:13 [gpu_model_runner.py:4587] Graph capturing finished in 4 secs, took 0.79 GiB
";

#[test]
fn a_log_of_vllm_0_13_says_all_of_it_with_the_lines() {
    let log = EngineLog::read(VLLM_0_13);
    assert_eq!(value(&log.engine), Some((Engine::Vllm, 1)));
    assert_eq!(value(&log.version), Some(("0.13.0".to_owned(), 1)));
    // Arguments say it first; the configuration says the same.
    assert_eq!(value(&log.tp), Some((2, 2)));
    assert_eq!(value(&log.pp), Some((1, 4)));
    assert_eq!(value(&log.max_batched_tokens), Some((4096, 2)));
    assert_eq!(value(&log.max_num_seqs), Some((8, 2)));
    let sizes = Some(vec![1, 2, 4, 8, 16]);
    assert_eq!(value(&log.graphs), Some((Graphs::Captured { sizes }, 4)));
    assert_eq!(value(&log.prefix_cache), Some((true, 4)));
    assert_eq!(value(&log.kv_cache_dtype), Some(("fp8".to_owned(), 4)));
    let library = log.library.as_ref().unwrap();
    assert_eq!(
        (
            library.value.name.as_str(),
            library.value.version.as_str(),
            library.line
        ),
        ("NCCL", "2.27.5", 5)
    );
    let Some((CustomAllReduce::Off { reason, .. }, 7)) = value(&log.custom_all_reduce) else {
        panic!("{:?}", log.custom_all_reduce);
    };
    assert_eq!(
        reason,
        "your platform lacks GPU P2P capability or P2P test failed"
    );
    assert_eq!(log.environment[0].value, "NCCL_P2P_LEVEL=SYS");
    let [way] = log.transports.as_slice() else {
        panic!("{:?}", log.transports);
    };
    assert_eq!(
        (way.name.as_str(), way.count, way.line),
        ("SHM/direct/direct", 2, 11)
    );
    assert!(log.warnings[0].meaning.contains("symmetric memory"));
    assert_eq!((log.starts, log.lines), (1, 17));
    assert!(log.notes.is_empty(), "{:?}", log.notes);
    let rows = log.rows();
    let has = |value: &str| rows.iter().any(|row| row[1].contains(value));
    assert!(has("off: your platform lacks GPU P2P"), "{rows:?}");
    assert!(has("SHM/direct/direct (2 lines)"), "{rows:?}");
}

#[test]
fn what_the_log_says_is_no_longer_assumed() {
    let log = EngineLog::read(VLLM_0_13);
    let before = EngineFacts::vllm(2, &around());
    assert_eq!(before.custom_all_reduce, CustomAllReduce::Active);
    assert_eq!(before.assumed.len(), 2, "{:?}", before.assumed);
    let facts = before.with_log(&log);
    // 16 tokens of 8192 * 2 bytes are below the limit of 8 MiB, but there are no peers.
    let (path, rule) = facts.all_reduce_path(16 * 8192 * 2);
    assert_eq!(path, CollectivePath::Library);
    assert!(rule.contains("lacks GPU P2P"), "{rule}");
    assert_eq!(
        facts.execution,
        Execution::Graph {
            capture_sizes: vec![1, 2, 4, 8, 16]
        }
    );
    assert_eq!(
        (facts.max_batched_tokens, facts.max_num_seqs),
        (4096, Some(8))
    );
    assert_eq!(facts.version.as_deref(), Some("0.13.0"));
    assert!(facts.assumed.is_empty(), "{:?}", facts.assumed);
}

/// vLLM 0.6.4 with Ray: `engine/llm_engine.py`, `worker/model_runner.py`, `custom_all_reduce.py`. A model of 80 layers issues
/// 1 + 2 * 80 = 161 all-reduces, and 35 sizes were captured: 161 * 35 = 5635 buffers, as public logs of Llama-3-70B show.
pub(super) const VLLM_0_6: &str = "\
INFO 03-19 08:08:54 config.py:1136] Chunked prefill is enabled with max_num_batched_tokens=512.
INFO 03-19 08:09:00 config.py:1136] Chunked prefill is enabled with max_num_batched_tokens=512.
INFO 03-19 08:09:00 llm_engine.py:249] Initializing an LLM engine (v0.6.4.post1) with config: model='m', dtype=torch.float16, load_format=LoadFormat.AUTO, tensor_parallel_size=4, pipeline_parallel_size=1, disable_custom_all_reduce=False, quantization=None, enforce_eager=False, kv_cache_dtype=auto, num_scheduler_steps=1, chunked_prefill_enabled=True multi_step_stream_outputs=True, enable_prefix_caching=False
(VllmWorkerProcess pid=180) INFO 03-19 08:09:01 selector.py:135] Using Flash Attention backend.
INFO 03-19 08:09:02 pynccl.py:69] vLLM is using nccl==2.21.5
h:1:1 [0] NCCL INFO NCCL version 2.21.5+cuda12.4
Capturing CUDA graph shapes: 100%|██████████| 35/35 [00:06<00:00,  5.00it/s]
INFO 03-19 08:23:55 custom_all_reduce.py:224] Registering 5635 cuda graph addresses
(RayWorkerWrapper pid=83185) INFO 03-19 08:23:55 custom_all_reduce.py:224] Registering 5635 cuda graph addresses
";

#[test]
fn registered_buffers_show_that_the_engine_reduces() {
    let log = EngineLog::read(VLLM_0_6);
    assert_eq!(
        value(&log.custom_all_reduce),
        Some((CustomAllReduce::Active, 8))
    );
    assert_eq!(value(&log.max_batched_tokens), Some((512, 1)));
    assert_eq!(log.graphs, None, "sizes are not said before 0.6.5");
    assert!(log.notes.is_empty(), "{:?}", log.notes);
    // Peers are proven, so they are not assumed; the sizes still are.
    let facts = EngineFacts::vllm(4, &around()).with_log(&log);
    assert_eq!(facts.custom_all_reduce, CustomAllReduce::Active);
    assert_eq!(facts.version.as_deref(), Some("0.6.4.post1"));
    assert!(
        facts
            .assumed
            .iter()
            .any(|sentence| sentence.contains("memory is not known"))
    );
    assert!(
        !facts
            .assumed
            .iter()
            .any(|sentence| sentence.contains("not probed"))
    );
}

/// Two engines in one log, as a notebook makes them: `entrypoints/llm.py` of vLLM 0.8.4.
#[test]
fn of_two_starts_the_last_counts_and_that_is_said() {
    let start = |tp: u32, tokens: u32| {
        format!(
            "INFO [config.py:1901] Chunked prefill is enabled with max_num_batched_tokens={tokens}.\n\
             INFO [core.py:61] Initializing a V1 LLM engine (v0.8.4) with config: model='m', tensor_parallel_size={tp}, enforce_eager=False, compilation_config={{\"level\":3,\"cudagraph_capture_sizes\":[4,2,1],\"max_capture_size\":4}}\n\
             INFO [kv_cache_utils.py:634] GPU KV cache size: 97,680 tokens\n"
        )
    };
    let log = EngineLog::read(&(start(1, 2048) + &start(2, 8192)));
    assert_eq!(log.tp.as_ref().map(|said| said.value), Some(2));
    assert_eq!(value(&log.max_batched_tokens), Some((8192, 4)));
    assert_eq!(log.starts, 2);
    assert_eq!(log.start_line, 5);
    assert_eq!(
        log.notes,
        ["the log holds 2 starts of an engine; all is said of the last, from line 5"]
    );
}

#[test]
fn lines_of_one_start_that_differ_are_noted_and_the_later_holds() {
    let log = EngineLog::read("vLLM is using nccl==2.21.5\nvLLM is using nccl==2.27.3\n");
    assert_eq!(log.library.unwrap().value.version, "2.27.3");
    assert_eq!(
        log.notes,
        [
            "library: line 1 says `vLLM is using nccl==2.21.5`, line 2 says `vLLM is using nccl==2.27.3`; the later holds"
        ]
    );
}

/// vLLM from 0.2x: `cuda_communicator.py` names the ways of each group.
#[test]
fn the_ways_of_the_tensor_parallel_group_decide() {
    let way = |names: &str, group: &str| {
        EngineLog::read(&format!(
            "(Worker pid=42) INFO [cuda_communicator.py:264] Using {names} all-reduce backends (in dispatch order) for group '{group}' out of potential backends: ['NCCL_SYMM_MEM', 'CUSTOM', 'PYNCCL'].\n"
        ))
        .custom_all_reduce
        .map(|said| said.value)
    };
    assert_eq!(
        way("['CUSTOM', 'PYNCCL']", "tp:0"),
        Some(CustomAllReduce::Active)
    );
    assert!(matches!(
        way("['PYNCCL']", "tp:0"),
        Some(CustomAllReduce::Off { .. })
    ));
    assert_eq!(way("['PYNCCL']", "pp:0"), None);
}

/// Genuine, of vLLM 0.32.0 on CPU with two ranks, shortened: `cpu_communicator.py`, `v1/engine/core.py`, `v1/core/kv_cache_utils.py`.
pub(super) const VLLM_CPU: &str = "\
(APIServer pid=10724) INFO 11-22 13:47:30 [api_utils.py:347]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.32.0
(APIServer pid=10724) INFO 11-22 13:47:30 [api_utils.py:286] non-default args: {'model_tag': 'llama', 'host': '127.0.0.1', 'port': 18701, 'model': 'llama', 'dtype': 'bfloat16', 'max_model_len': 2048, 'enforce_eager': True, 'skip_tokenizer_init': True, 'served_model_name': ['tiny'], 'load_format': 'dummy', 'tensor_parallel_size': 2, 'max_num_seqs': 16}
(APIServer pid=10724) INFO 11-22 13:48:00 [scheduler.py:307] Chunked prefill is enabled with max_num_batched_tokens=4096.
(APIServer pid=10724) WARNING 11-22 13:48:00 [vllm.py:1703] Enforce eager set, disabling torch.compile, CUDAGraphs, and JIT kernel warmup. This is equivalent to setting -cc.mode=none -cc.cudagraph_mode=none and --kernel_config.enable_jit_warmup=False
(EngineCore pid=10950) INFO 11-22 13:48:28 [core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: model='llama', speculative_config=None, tokenizer='llama', skip_tokenizer_init=True, tokenizer_mode=auto, revision=None, tokenizer_revision=None, trust_remote_code=False, dtype=torch.bfloat16, max_seq_len=2048, download_dir=None, load_format=dummy, tensor_parallel_size=2, pipeline_parallel_size=1, data_parallel_size=1, decode_context_parallel_size=1, dcp_comm_backend=ag_rs, disable_custom_all_reduce=True, quantization=None, quantization_config=None, enforce_eager=True
(Worker pid=11245) INFO 11-22 13:49:03 [cpu_communicator.py:47] CPU SHM communicator disabled for group tp:0: ranks do not share the same SHM group name, falling back to torch.distributed.
(EngineCore pid=10950) INFO 11-22 13:49:04 [kv_cache_utils.py:2327] CPU KV cache size: 1,048,576 tokens, Maximum concurrency for 2,048 tokens per request: 512.00x
";

#[test]
fn a_genuine_log_of_a_cpu_says_that_its_collectives_go_over_gloo() {
    let log = EngineLog::read(VLLM_CPU);
    assert_eq!(value(&log.tp), Some((2, 2)));
    assert_eq!(value(&log.version), Some(("0.32.0".to_owned(), 5)));
    assert_eq!(value(&log.max_num_seqs), Some((16, 2)));
    assert_eq!(value(&log.max_batched_tokens), Some((4096, 3)));
    assert!(matches!(
        value(&log.graphs),
        Some((Graphs::Eager { .. }, _))
    ));
    assert!(matches!(
        value(&log.custom_all_reduce),
        Some((CustomAllReduce::Off { .. }, 5))
    ));
    assert!(
        log.warnings
            .iter()
            .any(|warned| warned.line == 6 && warned.meaning.contains("gloo"))
    );
    assert_eq!(log.starts, 1);
}

// A terminal of 80 columns wraps the line of configuration in the middle of a key.
#[test]
fn a_configuration_without_brackets_is_read_over_wrapped_lines() {
    let old = "INFO 06-07 10:19:32 llm_engine.py:79] Initializing an LLM engine with config: model='m', dt\n\
               ype=torch.bfloat16, tensor_parallel_si\nze=4, disable_custom_all_reduce=True, seed=0)\n\
               Special tokens have been added\n";
    let log = EngineLog::read(old);
    assert_eq!(log.tp.map(|said| said.value), Some(4));
    let new = "(EngineCore_0 pid=1) INFO 09-04 01:02:54 [core.py:74] Initializing a V1 LLM engine (v0.10.1.1) with config: model='m'\n\
               , tensor_parallel_si\nze=2, pooler_config\n=None\n\
               (EngineCore_0 pid=1) INFO 09-04 01:02:57 [x.py:1] rank 0\n";
    assert_eq!(EngineLog::read(new).tp.map(|said| said.value), Some(2));
}

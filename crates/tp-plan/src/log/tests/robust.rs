//! The collective library's own lines, and logs that are empty, cut, garbled or endless.

use super::around;
use super::sglang::SGLANG;
use super::vllm::{VLLM_0_6, VLLM_0_13, VLLM_CPU};
use crate::engine::EngineFacts;
use crate::log::EngineLog;

/// NCCL's and RCCL's own words, as their sources print them (`transport/p2p.cc`, `shm.cc`, `net.cc`).
#[test]
fn transports_lose_the_numbers_of_devices() {
    let lines = [
        (
            "Channel 00/0 : 0[0] -> 1[1] via P2P/direct pointer",
            "P2P/direct pointer",
        ),
        (
            "Channel 00/0 : 2[2] -> 3[3] via P2P/CUMEM/read",
            "P2P/CUMEM/read",
        ),
        (
            "Channel 00/0 : 0[0] -> 1[1] via P2P/indirect/2[2]",
            "P2P/indirect",
        ),
        (
            "Channel 00/0 : 0[3000] -> 1[c000] via P2P/IPC comm 0x55d0c8f0 nRanks 02",
            "P2P/IPC",
        ),
        (
            "Channel 00/0 : 7[7] -> 8[0] [receive] via NET/IB/0/GDRDMA",
            "NET/IB/GDRDMA",
        ),
        (
            "Channel 00/0 : 0[0] -> 15[7] [send] via NET/IB/7(6)/GDRDMA",
            "NET/IB/GDRDMA",
        ),
        ("Channel 00/02 : 0 -> 1 via NET/Socket/0", "NET/Socket"),
    ];
    for (line, name) in lines {
        let log = EngineLog::read(&format!("h:1:2 [0] NCCL INFO {line}\n"));
        assert_eq!(log.transports[0].name, name, "{line}");
    }
    // An order of ranks is no transport.
    let log = EngineLog::read("h [0] NCCL INFO Channel 00/24 :    0   1\n");
    assert!(log.transports.is_empty());
}

#[test]
fn a_log_that_says_nothing_is_empty_and_absent_is_shown() {
    let log = EngineLog::read("INFO:     127.0.0.1:45016 - \"GET /health HTTP/1.1\" 200 OK\n\n");
    assert!(log.is_empty());
    assert_eq!(log.lines, 2);
    assert_eq!(log.rows()[1][1], "—");
    let json = serde_json::to_string(&EngineLog::read(VLLM_0_13)).unwrap();
    let back: EngineLog = serde_json::from_str(&json).unwrap();
    assert_eq!(back, EngineLog::read(VLLM_0_13));
}

/// 64-bit linear congruential numbers (Knuth's constants), so that a failure can be had again.
fn random(state: &mut u64) -> usize {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*state >> 33).unwrap()
}

#[test]
fn no_bytes_make_it_panic() {
    let whole = [VLLM_0_13, VLLM_0_6, VLLM_CPU, SGLANG]
        .concat()
        .into_bytes();
    let mut state = 8;
    for _ in 0..150 {
        let mut bytes = whole.clone();
        // Cut at both ends, then bytes changed, doubled and taken out.
        bytes.truncate(random(&mut state) % bytes.len() + 1);
        bytes.drain(..random(&mut state) % bytes.len());
        for _ in 0..random(&mut state) % 40 {
            if bytes.is_empty() {
                break;
            }
            let at = random(&mut state) % bytes.len();
            match random(&mut state) % 4 {
                0 => bytes[at] = u8::try_from(random(&mut state) % 256).unwrap(),
                1 => {
                    bytes.remove(at);
                }
                2 => bytes.insert(at, [b'\n', b'\r', 0x1b, 0][random(&mut state) % 4]),
                _ => bytes.swap(at, 0),
            }
        }
        let log = EngineLog::read_from(bytes.as_slice()).unwrap();
        drop(log.rows());
        drop(EngineFacts::vllm(2, &around()).with_log(&log));
    }
    for _ in 0..50 {
        let noise: Vec<u8> = (0..2000)
            .map(|_| u8::try_from(random(&mut state) % 256).unwrap())
            .collect();
        drop(EngineLog::read_from(noise.as_slice()).unwrap());
    }
}

#[test]
fn lists_stay_bounded_however_long_the_log_is() {
    let mut text = String::new();
    for index in 0..5000 {
        text.push_str(&format!(
            "h [0] NCCL INFO NCCL_X{index} set by environment to {index}\nh [0] NCCL INFO Channel 00 : 0 -> 1 via P{index}x/IPC\nvLLM is using nccl=={index}.0\n"
        ));
    }
    let log = EngineLog::read(&text);
    assert!(log.environment.len() <= 64 && log.transports.len() <= 64 && log.notes.len() <= 64);
    assert_eq!(log.lines, 15_000);
}

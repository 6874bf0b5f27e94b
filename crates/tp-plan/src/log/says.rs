//! The lines that an engine and its library write while they come up: graphs, backends, all-reduces, caches, transports.

use super::facts::{Graphs, Library};
use super::pairs::{number, small};
use super::reading::{Hit, Reading, count, set_variable, shown};
use super::rule::Rule;
use crate::engine::{CustomAllReduce, OffCause};

pub(super) fn eager(reading: &mut Reading, _: &Rule, hit: Hit<'_>) {
    let eager = matches!(
        reading.log.graphs.as_ref().map(|said| &said.value),
        Some(Graphs::Eager { .. })
    );
    if !eager {
        let reason = "eager mode".to_owned();
        reading.say(
            "graphs",
            |log| &mut log.graphs,
            hit.said(Graphs::Eager { reason }),
        );
    }
}

/// `NAME: 100%|███| 35/35 [00:06<00:00, 5.00it/s]`, where it is full.
pub(super) fn progress(reading: &mut Reading, _: &Rule, hit: Hit<'_>) {
    let Some((name, bar)) = hit.found.split_once(": 100%") else {
        return;
    };
    let Some((_, count_of)) = bar.rsplit_once("| ") else {
        return;
    };
    let Some((done, of)) = count_of.split_once('/') else {
        return;
    };
    let (Some(done), Some(of)) = (small(done), small(of)) else {
        return;
    };
    // SGLang's names end with the batch that is captured: `(bs=1 avail_mem=68.16 GB)`. A bar that is drawn over an earlier one
    // repeats the name; the last counts.
    let name = name.rsplit("Capturing ").next().unwrap_or(name);
    let name = name.split(" (bs=").next().unwrap_or(name);
    let bars = &mut reading.log.captured;
    if done == of && of > 0 && name.len() < 100 && !bars.iter().any(|bar| bar.name == name) {
        count(bars, name, of, hit);
    }
}

/// `Using Flash Attention backend.` and its like, and the all-reduce's backends of vLLM's `cuda_communicator.py` from 0.2x.
pub(super) fn attention(reading: &mut Reading, _: &Rule, hit: Hit<'_>) {
    if hit.rest.starts_with('[') {
        return all_reduce_backends(reading, hit);
    }
    let Some((name, after)) = hit.rest.split_once(" backend") else {
        return;
    };
    // A backend of a vision tower, of sampling, or of something else entirely.
    let other = [
        "vit",
        "ViT",
        "MMEncoder",
        "multimodal",
        "ampling",
        "rammar",
        "all-reduce",
        "MoE",
        "compil",
    ];
    let said = shown(after);
    if name.len() > 40
        || other
            .iter()
            .any(|word| name.contains(word) || said.contains(word))
    {
        return;
    }
    let plain = name.trim_start_matches("AttentionBackendEnum.");
    let known = [
        "XFormers",
        "FlashInfer",
        "FLASHINFER",
        "FLASH_ATTN",
        "TRITON_ATTN",
        "ROCM_ATTN",
        "FlashMLA",
        "Triton MLA",
        "Torch SDPA",
        "CPU_ATTN",
    ];
    if name.contains("ttention")
        || name.starts_with("AttentionBackendEnum")
        || known.iter().any(|word| plain.contains(word))
    {
        say_attention(reading, hit, plain.trim_end_matches(" attention"));
    }
}

pub(super) fn say_attention(reading: &mut Reading, hit: Hit<'_>, name: &str) {
    if !name.is_empty() && name.len() < 60 {
        let said = hit.keyed("attention backend", name, name.to_owned());
        reading.say(
            "attention's backend",
            |log| &mut log.attention_backend,
            said,
        );
    }
}

pub(super) fn say_dtype(reading: &mut Reading, hit: Hit<'_>, word: &str) {
    let plain = word.trim_start_matches("torch.");
    if plain != "auto" && !plain.is_empty() {
        let said = hit.keyed("dtype", word, plain.to_owned());
        reading.say("type of activations", |log| &mut log.dtype, said);
    }
}

pub(super) fn custom_off(reading: &mut Reading, _: &Rule, hit: Hit<'_>) {
    let reason = hit.rest.split(". To silence").next().unwrap_or(hit.rest);
    let reason = shown(
        reason
            .trim()
            .trim_start_matches("of ")
            .trim_end_matches('.'),
    );
    reading.say(
        "custom all-reduce",
        |log| &mut log.custom_all_reduce,
        hit.said(CustomAllReduce::Off {
            cause: cause(&reason),
            reason,
        }),
    );
}

/// The cause by the engines' words for it.
fn cause(reason: &str) -> OffCause {
    let reason = reason.to_ascii_lowercase().replace('-', "_");
    if reason.contains("p2p") || reason.contains("peer access is not supported") {
        OffCause::NoPeers
    } else if reason.contains("disable_custom_all_reduce") {
        OffCause::Flag
    } else {
        OffCause::Rule
    }
}

pub(super) fn custom_on(reading: &mut Reading, hit: Hit<'_>) {
    reading.say(
        "custom all-reduce",
        |log| &mut log.custom_all_reduce,
        hit.said(CustomAllReduce::Active),
    );
}

/// `['CUSTOM', 'PYNCCL'] all-reduce backends (in dispatch order) for group 'tp:0' out of potential backends: ..`.
fn all_reduce_backends(reading: &mut Reading, hit: Hit<'_>) {
    let Some((list, after)) = hit.rest.split_once(" all-reduce backends") else {
        return;
    };
    let group = after
        .split_once(" out of ")
        .map_or(after, |(group, _)| group);
    if list.len() > 200 || (group.contains('\'') && !group.contains("'tp:")) {
        return;
    }
    let names: Vec<&str> = list.split('\'').skip(1).step_by(2).collect();
    // All but the library's own way are kernels of the engine.
    if names.iter().any(|name| *name != "PYNCCL") {
        custom_on(reading, hit);
    } else if names == ["PYNCCL"] {
        let off = CustomAllReduce::off("the engine names the library alone");
        // A line that says why came before.
        if reading.log.custom_all_reduce.is_none() {
            reading.log.custom_all_reduce = Some(hit.said(off));
        }
    }
}

pub(super) fn registered(reading: &mut Reading, _: &Rule, hit: Hit<'_>) {
    if let Some((buffers, after)) = hit.rest.split_once(" cuda graph addresses")
        && after.len() < 100
        && let Some(buffers) = small(buffers)
    {
        reading.say(
            "registered buffers",
            |log| &mut log.registered_addresses,
            hit.said(buffers),
        );
        custom_on(reading, hit);
    }
}

/// The smallest counts: ranks may differ by a few blocks, and the engine takes the smallest.
pub(super) fn cache_tokens(reading: &mut Reading, hit: Hit<'_>, text: &str) {
    if let Some(tokens) = number(text).filter(|tokens| *tokens > 0)
        && reading
            .log
            .kv_cache_tokens
            .as_ref()
            .is_none_or(|held| tokens < held.value)
    {
        reading.log.kv_cache_tokens = Some(hit.said(tokens));
    }
}

pub(super) fn library(reading: &mut Reading, name: &str, hit: Hit<'_>) {
    let version = hit.rest.trim_start_matches([':', ' ']);
    let version = version.split([' ', ',']).next().unwrap_or_default();
    if !version.starts_with(|sign: char| sign.is_ascii_digit()) || version.len() > 60 {
        return;
    }
    // The library itself says `2.21.5+cuda12.4`, the engine `2.21.5`.
    let same = reading.log.library.as_ref().is_some_and(|held| {
        let (held, said) = (&held.value.version, version);
        held.starts_with(said) || said.starts_with(held.as_str())
    });
    if !same {
        let library = Library {
            name: name.to_owned(),
            version: version.to_owned(),
        };
        reading.say("library", |log| &mut log.library, hit.said(library));
    }
}

/// What NCCL, RCCL or MCCL says with NCCL_DEBUG=INFO.
pub(super) fn library_says(reading: &mut Reading, _: &Rule, hit: Hit<'_>) {
    if let Some((_, way)) = hit.rest.split_once(" via ")
        && hit.rest.starts_with("Channel ")
    {
        count(&mut reading.log.transports, &transport(way), 1, hit);
    } else if let Some((name, set)) = hit.rest.split_once(" set by environment to ") {
        let name = name.rsplit(' ').next().unwrap_or(name);
        let set = set.trim_end().trim_end_matches('.');
        set_variable(
            &mut reading.log.environment,
            hit.said(shown(&format!("{name}={set}"))),
        );
    } else if let Some((channels, _)) = hit.rest.split_once(" coll channels")
        && let Some(channels) = small(channels)
    {
        reading.say("channels", |log| &mut log.channels, hit.said(channels));
    }
}

/// `P2P/IPC`, `P2P/direct pointer`, `SHM/direct/direct`, `NET/IB/GDRDMA`: without numbers of devices and what follows.
fn transport(way: &str) -> String {
    let way = way.split(" comm ").next().unwrap_or(way).trim();
    if way.starts_with("P2P/direct pointer") {
        return "P2P/direct pointer".to_owned();
    }
    let way = way.split_whitespace().next().unwrap_or_default();
    let named = way
        .split('/')
        .filter(|part| !part.starts_with(|sign: char| sign.is_ascii_digit()));
    shown(&named.collect::<Vec<_>>().join("/"))
}

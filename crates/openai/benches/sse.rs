//! What a streamed token costs to read: events and chunks as they are read here, and the way that owns every line and every object.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use openai::{Carries, Reader, look};

/// Chunks in a stream.
const CHUNKS: usize = 100;

/// A stream in the shape of vLLM's.
fn stream() -> Vec<u8> {
    (0..CHUNKS)
        .flat_map(|index| {
            let chunk = format!(
                "data: {{\"id\":\"cmpl-8f293cb47992c1fe\",\"object\":\"text_completion\",\"created\":1795206320,\"model\":\"meta-llama/Llama-3.1-8B\",\"choices\":[{{\"index\":0,\"text\":\" word{index}\",\"logprobs\":null,\"finish_reason\":null,\"stop_reason\":null,\"prompt_token_ids\":null,\"token_ids\":null}}]}}\n\n"
            );
            chunk.into_bytes()
        })
        .collect()
}

/// Chunks with tokens in a stream whose bytes came at once.
fn tokens(bytes: &[u8], carries: impl Fn(&[u8]) -> Carries) -> usize {
    let mut reader = Reader::default();
    let mut rest = bytes;
    let mut tokens = 0;
    while let Ok(Some(event)) = reader.next(&mut rest) {
        tokens += usize::from(carries(event.data) == Carries::Tokens);
    }
    tokens
}

/// The same with a string for each line and a map for each chunk.
fn tokens_owned(bytes: &[u8]) -> usize {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let data = lines.iter().filter_map(|line| line.strip_prefix("data: "));
    data.filter_map(|data| serde_json::from_str::<serde_json::Value>(data).ok())
        .filter(|chunk| chunk["choices"][0]["text"].is_string())
        .count()
}

fn sse(criterion: &mut Criterion) {
    let stream = stream();
    let mut group = criterion.benchmark_group("100 chunks");
    group.throughput(Throughput::Elements(CHUNKS as u64));
    group.bench_function("look", |b| {
        b.iter(|| {
            tokens(black_box(&stream), |data| {
                look(data).map_or(Carries::Nothing, |seen| seen.carries)
            })
        })
    });
    group.bench_function("owned lines and values", |b| {
        b.iter(|| tokens_owned(black_box(&stream)))
    });
    group.finish();
}

criterion_group!(benches, sse);
criterion_main!(benches);

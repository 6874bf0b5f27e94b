//! Prompts that look like a task over the lines of a poem: the same beginning for all, then lines at random.
//!
//! As vLLM's sonnet data, whose poem is not shipped here: lines come from --dataset-path, or are made of random words.

use super::count::Counter;
use super::words::{Purpose, random, words};
use super::{Item, Prompt};
use crate::load::args::DataArgs;

/// What stands before the lines.
const TASK: &str = "Pick as many lines as you can from these poem lines:\n";

/// Words of a line that is made up.
const LINE: u32 = 8;

/// Lines that are made up.
const LINES: u64 = 512;

/// Prompts that are made; a run of more begins anew.
const PROMPTS: u64 = 4096;

/// The prompts of a seed.
pub(super) fn lines(args: &DataArgs, counter: &Counter, seed: u64) -> Result<Vec<Item>, String> {
    let input = args.sonnet_input_len.or(args.input_len).unwrap_or(550);
    let output_tokens = args.sonnet_output_len.or(args.output_len).unwrap_or(150);
    let shared = args.sonnet_prefix_len.unwrap_or(200).min(input);
    let poem = poem(args)?;
    let counts: Vec<u32> = poem.iter().map(|line| counter.count(line).max(1)).collect();
    // Whole lines up to a number of tokens, chosen by `next`.
    let fill = |text: &mut String, mut tokens: u32, limit: u32, next: &mut dyn FnMut() -> usize| {
        loop {
            let line = next();
            if tokens + counts[line] > limit {
                return tokens;
            }
            tokens += counts[line];
            text.push_str(&poem[line]);
            text.push('\n');
        }
    };
    let mut beginning = TASK.to_owned();
    let mut order = 0;
    let begun = fill(&mut beginning, counter.count(TASK), shared, &mut || {
        order += 1;
        (order - 1) % poem.len()
    });
    let prompt = |number: u64| {
        let mut text = beginning.clone();
        let mut random = random(seed, Purpose::Prompt, number);
        fill(&mut text, begun, input, &mut || random.below(poem.len()));
        Item {
            prompt: Prompt::Text(text),
            output_tokens,
        }
    };
    Ok((0..PROMPTS).map(prompt).collect())
}

/// The lines of the file that was named, or made up; always the same.
fn poem(args: &DataArgs) -> Result<Vec<String>, String> {
    let Some(path) = &args.dataset_path else {
        let line = |number| words(&mut random(0, Purpose::Prefix, number), LINE);
        return Ok((1..=LINES).map(line).collect());
    };
    let text = bounded::text(path, bounded::TEXT)
        .map_err(|error| format!("--dataset-path: cannot read {}: {error}", path.display()))?;
    let lines: Vec<String> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(str::to_owned)
        .collect();
    if lines.is_empty() {
        return Err(format!(
            "{} holds no line; name another --dataset-path",
            path.display()
        ));
    }
    Ok(lines)
}

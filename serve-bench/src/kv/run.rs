//! `tplens kv` from its command line to its exit code.

use std::net::TcpListener;

use disagg::KvShape;
use program::outputs::{self, printed};
use program::say;
use program::show::Show;
use record::exit;
use tp_plan::ModelFacts;

use super::args::Args;
use super::measure::{Channel, LISTENING};
use super::report::{Report, document, laws, line};
use super::wire::{MOST, Transfer, serve};

/// Measures or serves, and gives the exit code: 5 where content did not arrive.
pub(crate) fn run(args: &Args, show: Show) -> u8 {
    if let Some(address) = &args.listen {
        let listener = match TcpListener::bind(address) {
            Ok(listener) => listener,
            Err(error) => {
                say!("error: cannot listen on {address}: {error}");
                return exit::USAGE;
            }
        };
        let at = listener.local_addr().map(|at| at.to_string());
        drop(printed(&format!("{LISTENING}{}\n", at.unwrap_or_default())));
        serve(&listener, &args.libraries());
        return exit::INTERNAL;
    }
    let model = match ModelFacts::resolve(&args.model) {
        Ok(model) => model,
        Err(error) => {
            say!("error: --model: {error}");
            return exit::USAGE;
        }
    };
    let shape = KvShape::of(&model, args.block_size);
    let transfers = args
        .tokens
        .iter()
        .map(|tokens| of_rank(&shape, *tokens, args.tp));
    let most = transfers
        .map(|of| of.bytes())
        .filter(|bytes| *bytes <= MOST);
    let (mut channel, _other) = match Channel::open(args, most.max().unwrap_or(1)) {
        Ok(channel) => channel,
        Err(error) => {
            say!("error: no way to the other end: {error}");
            return exit::INCONCLUSIVE;
        }
    };
    let (mut lines, mut is_right) = (Vec::new(), true);
    for tokens in &args.tokens {
        let transfer = of_rank(&shape, *tokens, args.tp);
        if transfer.bytes() > MOST {
            say!("{tokens} tokens are left out: one rank's share is above 1 GiB; raise --tp");
            continue;
        }
        for is_read in [true, false] {
            let transfer = Transfer {
                is_read,
                ..transfer
            };
            match channel.timed(transfer, args.iters) {
                Ok((seconds, are_right)) => {
                    is_right &= are_right;
                    lines.extend(line(*tokens, transfer, &seconds));
                }
                Err(error) => {
                    say!("error: a transfer of {tokens} tokens broke: {error}");
                    return exit::INCONCLUSIVE;
                }
            }
        }
    }
    let report = Report {
        schema: 1,
        backend: args.backend.into(),
        model: model.name,
        tp: args.tp,
        is_right,
        laws: laws(&lines),
        lines,
    };
    let shown = outputs::with_json(show, &document(&report), &report, args.json.as_deref());
    let ended = match is_right {
        true if report.lines.is_empty() => exit::INCONCLUSIVE,
        true => exit::DONE,
        false => exit::WRONG_DATA,
    };
    exit::fold([shown, ended])
}

/// What one rank sends of a prompt: its share of each block of each layer, keys and values apart.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "bytes of a prompt"
)]
fn of_rank(shape: &KvShape, tokens: u32, tp: u32) -> Transfer {
    let pieces = shape.descriptors(tokens, true).max(1);
    let bytes = shape.sent_bytes(tokens, tp) / f64::from(tp);
    Transfer {
        is_read: true,
        piece: ((bytes / pieces as f64) as u64).max(1),
        pieces,
        seed: u64::from(tokens),
    }
}

//! `tplens kv` from its command line to its exit code.

use std::io;
use std::net::TcpListener;

use disagg::KvShape;
use program::outputs::{self, printed};
use program::say;
use program::show::Show;
use record::exit;
use tp_plan::ModelFacts;

use super::args::Args;
use super::measure::{Channel, LISTENING};
use super::report::{Line, Report, document, laws, line, of_tool};
use super::tool;
use super::wire::{MOST, Transfer, serve};

/// Measures or serves, and gives the exit code: 5 where content did not arrive.
pub(crate) fn run(args: &Args, show: Show) -> u8 {
    if let Some(file) = &args.from {
        return match import::transfers::read(file) {
            Ok(read) => outputs::with_json(show, &of_tool(&read), &read, args.json.as_deref()),
            Err(error) => {
                say!("error: {error}");
                exit::USAGE
            }
        };
    }
    let model = match ModelFacts::resolve(&args.model) {
        Ok(model) => model,
        Err(error) => {
            say!("error: --model: {error}");
            return exit::USAGE;
        }
    };
    let shape = KvShape::of(&model, args.block_size);
    let mut transfers = Vec::new();
    for tokens in &args.tokens {
        let transfer = of_rank(&shape, *tokens, args.tp);
        if transfer.bytes() > MOST {
            say!("{tokens} tokens are left out: one rank's share is above 1 GiB; raise --tp");
            continue;
        }
        transfers.extend([true, false].map(|is_read| {
            let transfer = Transfer {
                is_read,
                ..transfer
            };
            (*tokens, transfer)
        }));
    }
    if let Some(named) = tool::of(args.backend) {
        let ended = tool::run(named, args, &transfers, show);
        return ended.unwrap_or_else(|stop| outputs::stopped(&stop));
    }
    if args.out.is_some() || !args.words.is_empty() {
        say!("error: --out and words after `--` are for tools of others; name one with --backend");
        return exit::USAGE;
    }
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
    let most = transfers.iter().map(|(_, transfer)| transfer.bytes()).max();
    let measured = measured(args, &transfers, most.unwrap_or(1));
    let (lines, is_right) = match measured {
        Ok(measured) => measured,
        Err(error) => {
            say!("error: no way to the other end, or it broke: {error}");
            return exit::INCONCLUSIVE;
        }
    };
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

/// A line of each transfer, and whether all content arrived.
fn measured(
    args: &Args,
    transfers: &[(u32, Transfer)],
    most: u64,
) -> io::Result<(Vec<Line>, bool)> {
    let (mut channel, _other) = Channel::open(args, most)?;
    let (mut lines, mut is_right) = (Vec::new(), true);
    for (tokens, transfer) in transfers {
        let (seconds, are_right) = channel.timed(*transfer, args.iters)?;
        is_right &= are_right;
        lines.extend(line(*tokens, *transfer, &seconds));
    }
    Ok((lines, is_right))
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

//! `tplens kv` from its command line to its exit code.

use std::io;
use std::net::TcpListener;

use disagg::KvShape;
use program::Stop;
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
///
/// # Errors
/// A model, file or address that cannot be used, or no way to the other end.
pub(crate) fn run(args: &Args, show: Show) -> Result<u8, Stop> {
    let json = args.json.as_deref();
    if let Some(file) = &args.from {
        let read = import::transfers::read(file);
        let read = read.map_err(|error| Stop::Usage(error.to_string()))?;
        return Ok(outputs::with_json(show, &of_tool(&read), &read, json));
    }
    let model = ModelFacts::resolve(&args.model);
    let model = model.map_err(|error| Stop::Usage(format!("--model: {error}")))?;
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
        return tool::run(named, args, &transfers, show);
    }
    if args.out.is_some() || !args.words.is_empty() {
        let why = "--out and words after `--` are for tools of others; name one with --backend";
        return Err(Stop::Usage(why.to_owned()));
    }
    if let Some(address) = &args.listen {
        let refused = |error| Stop::Usage(format!("cannot listen on {address}: {error}"));
        let listener = TcpListener::bind(address).map_err(refused)?;
        let at = listener.local_addr().map_err(refused)?;
        drop(printed(&format!("{LISTENING}{at}\n")));
        serve(&listener, &args.libraries());
        return Ok(exit::INTERNAL);
    }
    let (lines, is_right) = measured(args, &transfers).map_err(|error| {
        Stop::Refused(format!("no way to the other end, or it broke: {error}").into())
    })?;
    let report = Report {
        schema: 1,
        backend: args.backend.into(),
        model: model.name,
        tp: args.tp,
        is_right,
        laws: laws(&lines),
        lines,
    };
    let shown = outputs::with_json(show, &document(&report), &report, json);
    let ended = match is_right {
        true if report.lines.is_empty() => exit::INCONCLUSIVE,
        true => exit::DONE,
        false => exit::WRONG_DATA,
    };
    Ok(exit::fold([shown, ended]))
}

/// A line of each transfer, and whether all content arrived.
fn measured(args: &Args, transfers: &[(u32, Transfer)]) -> io::Result<(Vec<Line>, bool)> {
    let most = transfers.iter().map(|(_, transfer)| transfer.bytes()).max();
    let (mut channel, _other) = Channel::open(args, most.unwrap_or(1))?;
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

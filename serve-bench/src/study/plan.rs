//! What a study will run, as a document: its steps in order with their commands and times, and what this machine lacks.

use program::command_line::quoted;
use program::{Stop, minutes};
use record::redacted_arguments;
use runner::run::{Needs, Step};
use view::{Block, Document, Item, Section, Table, Tone};

use super::Study;
use super::room::OfSize;
use super::shell::{missing, shell};

/// What is printed for a port that is chosen when the server is started, so that commands run as they are printed.
pub(crate) const PORT: u16 = 8000;

/// The steps of a study, what this machine lacks, and how long it takes. It starts no server and measures nothing.
///
/// # Errors
/// No size fits, or devices cannot be named.
pub(super) fn document(study: &Study<'_>) -> Result<Document, Stop> {
    let (args, sizes) = (study.args, study.fitting()?);
    let steps = study.steps(&sizes.fit)?;
    let mut table = Table::under(["step", "what", "time"]);
    let mut seconds = 0.0;
    let mut commands = Vec::new();
    for step in &steps {
        let is_done = step.done(&study.folder).is_some();
        let time = match is_done {
            true => "done".to_owned(),
            false => minutes(step.seconds),
        };
        seconds += if is_done { 0.0 } else { step.seconds };
        table.row([step.name.clone(), step.about.clone(), time]);
        add_commands(&mut commands, step, study);
    }
    let lacks = missing(&args.server).map(|why| Item::of(Tone::Bad, why).coded("missing-here"));
    let rooms = sizes.left_out.iter().chain(&sizes.rooms);
    let asked: Vec<String> = args.tp.iter().map(|tp| format!("TP{tp}")).collect();
    Ok(Document {
        title: format!("Study of {}", args.model),
        simulated: args.sim.clone(),
        tone: Tone::Open,
        answer: vec![
            format!(
                "{} at {}: {} requests of {} in and {} out, {} in flight.",
                args.model,
                asked.join(", "),
                args.load.requests(),
                args.load.input_tokens,
                args.load.output_tokens,
                args.load.concurrency
            ),
            format!("About {} in all; nothing was run.", minutes(seconds)),
        ],
        findings: lacks.into_iter().collect(),
        sections: vec![
            Section::new("Steps", vec![Block::Table(table)]),
            Section::new(
                "Memory of a GPU",
                vec![Block::list(rooms.map(OfSize::line))],
            ),
            Section::detail("Commands", vec![Block::Code(commands)]),
        ],
        ..Document::default()
    })
}

/// The command of a step's server, where the study starts it, and its own.
fn add_commands(lines: &mut Vec<String>, step: &Step, study: &Study<'_>) {
    let url = match &step.needs {
        None => String::new(),
        Some(Needs::Running { url, .. }) => url.clone(),
        Some(Needs::Started(server)) => {
            let port = server.port.unwrap_or(PORT);
            let variables = server.environment.iter();
            let before: String = variables
                .map(|(name, value)| format!("{}={} ", name.display(), quoted(value)))
                .collect();
            let words: Vec<String> = redacted_arguments(server.words_with(port));
            lines.push(format!("{before}{}", shell(&words)));
            format!("http://127.0.0.1:{port}")
        }
    };
    let words = step.words(&url, &study.folder);
    lines.push(format!("tplens {}", shell(&words)));
}

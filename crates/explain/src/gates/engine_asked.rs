//! The gate on the engine whose rules say what is sent, against the one that the files name. It holds no two files against each other.

use measure::import::ServeRun;
use tp_plan::Engine;

use super::compared::compared;
use super::gate::{Gate, Verdict};
use super::open::Open;
use crate::inputs::Inputs;

/// Name of the gate on the engine whose rules are taken.
pub(crate) const ENGINE_ASKED: &str = "the engine asked about";

/// Our own server, which plays the engine that it is asked to.
const OURS: &str = "tplens";

/// Whether there are rules of an engine here.
fn has_rules(served: &str) -> bool {
    let rules = [Engine::Vllm, Engine::Sglang];
    rules.iter().any(|one| lower(*one) == served)
}

fn lower(engine: Engine) -> String {
    engine.name().to_lowercase()
}

/// The engine that all files name, with the first file that does; `None` where they name none, or several. Fields of their own and
/// servers' words stand above a client's way of asking.
fn served(inputs: &Inputs) -> Option<(&ServeRun, &String)> {
    let named = compared(inputs).filter_map(|run| Some((run, run.conditions.engine.as_ref()?)));
    let mut named: Vec<(&ServeRun, &String)> =
        named.filter(|(_, served)| *served != OURS).collect();
    if named
        .iter()
        .any(|(run, _)| !run.conditions.engine_by_client)
    {
        named.retain(|(run, _)| !run.conditions.engine_by_client);
    }
    let (first, served) = *named.first()?;
    let is_one = named.iter().all(|(_, other)| *other == served);
    is_one.then_some((first, served))
}

/// The engine that the files name, where none of the rules here are its own: how many collectives it sends, and how large, is then
/// a guess.
pub(crate) fn without_rules(inputs: &Inputs) -> Option<&str> {
    let (_, served) = served(inputs)?;
    (!has_rules(served)).then_some(served.as_str())
}

/// The engine whose rules are taken against the one that all files name; `None` where they name none, or several.
pub(super) fn engine_asked(inputs: &Inputs) -> Option<Gate> {
    let taken = inputs.engines.first()?.engine;
    let (first, served) = served(inputs)?;
    let has_rules = has_rules(served);
    let next = match has_rules {
        true => format!("give --engine {served}, or the server's log with --engine-log"),
        false => {
            "serve with an engine whose rules are known here, vLLM or SGLang, and run again".into()
        }
    };
    let open = Open::new(
        ENGINE_ASKED,
        "the files' engine is the one whose rules say what is sent",
        next,
    );
    let (rules, file) = (taken.name(), &first.origin);
    if lower(taken) == *served {
        return Some(open.is(Some(true), rules));
    }
    let (verdict, seen) = if !has_rules {
        let seen = format!(
            "the rules of {rules} are taken for {served}, which {file} is of and which has none here"
        );
        (Verdict::Warned, seen)
    } else if first.conditions.engine_by_client {
        let seen = format!(
            "the rules of {rules} are taken, and the client of {file} asks as {served} is asked"
        );
        (Verdict::Warned, seen)
    } else if inputs.evidence.engine_stated {
        let seen = format!("--engine says {rules}, and {file} says {served}");
        (Verdict::Warned, seen)
    } else {
        let seen = format!("the rules of {rules} are taken, and {file} is of {served}");
        (Verdict::Failed, seen)
    };
    Some(open.with(verdict, seen))
}

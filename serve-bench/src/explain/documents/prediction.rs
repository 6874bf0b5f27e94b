//! A prediction as a document.

use ::explain::{Predicted, Prediction};
use view::{Block, Document, Section};

use super::bars::{ABSENT, detail, frame, inputs, parts, priors, range, table, times, told};
use super::finding::grouped;

/// The document of a prediction.
pub(crate) fn prediction(of: &Prediction) -> Document {
    let gpu = of.gpu.as_deref().unwrap_or("unnamed GPUs");
    let title = format!("{} on {gpu}, {} in flight: predicted", of.model, of.batch);
    let mut document = frame(title, of.simulated.clone(), "tplens predict");
    document.answer = of.sizes.iter().map(|size| sentence(of, size)).collect();
    document.answer.extend(best(of));
    let left_out = of.not_predicted.iter();
    document
        .answer
        .extend(left_out.map(|why| format!("{why}.")));
    document.answer.push(format!(
        "Predicted, not measured, for {} in flight, {:.0} tokens in and {:.0} out a request.",
        of.batch, of.input_tokens, of.output_tokens
    ));
    let (findings, notes) = grouped(&of.caveats);
    document.findings = findings;
    document
        .sections
        .push(Section::new("Sizes", vec![sizes(of)]));
    let parts = of.sizes.iter().filter_map(|size| {
        detail(
            &format!("Parts of a step at TP{}", size.tp),
            vec![parts(size.parts.iter(), size.step.mid)],
        )
    });
    document.sections.extend(parts);
    let rest = [notes, priors(&of.priors), inputs(&of.inputs)];
    document.sections.extend(rest.into_iter().flatten());
    document
}

fn sentence(of: &Prediction, size: &Predicted) -> String {
    let over = of.speed_up_over.unwrap_or(1);
    let speed_up = size.serving.speed_up.as_ref();
    let speed_up = speed_up.map_or_else(String::new, |of| format!(", {} TP{over}", times(of)));
    format!(
        "TP{}: {} ms per token{speed_up}.",
        size.tp,
        range(&size.serving.tpot, 1)
    )
}

/// The size with the most tokens/s, and those that its interval does not tell it from.
fn best(of: &Prediction) -> Option<String> {
    let rate = |size: &Predicted| size.serving.tokens_per_s;
    let others = of.sizes.iter();
    let best = others.max_by(|a, b| rate(a).mid.total_cmp(&rate(b).mid))?;
    let others = of.sizes.iter().filter(|size| size.tp != best.tp);
    let near = others
        .clone()
        .filter(|size| rate(size).high > rate(best).low);
    let near: Vec<String> = near.map(|size| format!("TP{}", size.tp)).collect();
    let tied = match near.is_empty() {
        true => String::new(),
        false => format!("; the intervals do not tell it from {}", near.join(", ")),
    };
    (others.count() > 0).then(|| format!("Most tokens/s: TP{}{tied}.", best.tp))
}

fn sizes(of: &Prediction) -> Block {
    let rows = of.sizes.iter().map(|size| {
        let serving = &size.serving;
        // So that an interval is never rounded to nothing.
        let digits = usize::from(serving.ttft_alone.high < 100.0);
        let speed_up = serving.speed_up.as_ref();
        [
            format!("TP{}", size.tp),
            range(&size.step, 2),
            range(&serving.tpot, 2),
            range(&serving.tokens_per_s, 0),
            range(&serving.ttft_alone, digits),
            speed_up.map_or_else(|| ABSENT.to_owned(), |times| range(times, 2)),
            told(&size.level),
        ]
    });
    let heads = "size | step ms | TPOT ms | tok/s | TTFT alone ms | speed-up | from";
    table(heads, rows)
}

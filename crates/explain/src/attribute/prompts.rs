//! What the prompts' own all-reduces take in a latency: by the curve of this box, by a published one, or where there is neither, by a
//! rate that is assumed for the link.
//!
//! It does not say what prompts compute; that is drawn with the step.

use record::{CollectiveKind, PlannedCollective};

use super::cost::{Curves, Term};
use super::deck::{Deck, Knob};
use crate::finding::Finding;
use crate::first_token::prefill_plan;
use crate::inputs::Inputs;
use crate::priors::Prior;

/// Collectives of the prompts of one wave, none of which a cache holds.
#[derive(Debug, Clone, Default)]
pub(super) struct Prompts {
    /// With times.
    pub(super) terms: Vec<Term>,
    /// Gigabytes that cross each rank's link, where a rate is assumed for them; 0 where curves give times.
    link_gb: f64,
}

impl Prompts {
    /// Milliseconds of all of them in a hand.
    pub(super) fn ms(&self, hand: &super::deck::Hand) -> f64 {
        let by_curve: f64 = self.terms.iter().map(|term| term.us(hand)).sum();
        match self.link_gb > 0.0 {
            true => self.link_gb / hand.get(Knob::PromptRate) * 1e3,
            false => by_curve / 1e3,
        }
    }

    /// Whether no curve tells them.
    pub(super) fn are_by_rate(&self) -> bool {
        self.link_gb > 0.0
    }
}

/// Those of `tokens` prompt tokens, with what there is to say of them. `curves` are those of the step; `beyond` those that do not reach
/// the step's own sizes, and may reach these.
pub(super) fn prompts(
    inputs: &Inputs,
    curves: Option<&Curves>,
    beyond: Option<&Curves>,
    tokens: f64,
    deck: &mut Deck,
    caveats: &mut Vec<Finding>,
) -> Option<Prompts> {
    let (model, tp) = (&inputs.model, inputs.tp);
    let engine = inputs.engine(tp)?;
    let row = u64::from(model.hidden) * u64::from(model.activation_bytes);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "tokens of a wave, held below a billion"
    )]
    let largest = (tokens.clamp(0.0, 1e9) as u64)
        .min(u64::from(engine.max_batched_tokens))
        .saturating_mul(row);
    let assumed = Finding::PromptCollectivesAssumed {
        largest_bytes: largest,
    };
    let reaches = |curves: &&Curves| curves.show_bandwidth(largest);
    let by = |curves: &Curves| Prompts {
        terms: prefill(inputs, curves, tokens),
        link_gb: 0.0,
    };
    if let Some(curves) = curves.or(beyond).filter(reaches) {
        return Some(by(curves));
    }
    if let Some(published) = Curves::of_prefill(inputs, deck) {
        caveats.push(assumed);
        return Some(by(&published));
    }
    if let Some(curves) = curves {
        caveats.push(assumed);
        return Some(by(curves));
    }
    let rate = rate(inputs)?;
    let link_gb = link_gb(inputs, tokens);
    if link_gb > 0.0 {
        caveats.push(assumed);
        deck.add(Knob::PromptRate, rate);
    }
    Some(Prompts {
        terms: Vec::new(),
        link_gb,
    })
}

/// The rate that is assumed for the link: a share of the raw one, where that is known, else any.
fn rate(inputs: &Inputs) -> Option<Prior> {
    let any = inputs.prior("prompt_gb_per_s")?;
    let Some(link) = inputs.seen.link(inputs.tp) else {
        return Some(any);
    };
    let share = inputs.prior("prompt_share_of_raw")?;
    Some(Prior {
        low: share.low * link.raw_gb_per_s(),
        high: share.high * link.raw_gb_per_s(),
        source: format!(
            "{} of the {:.1} GB/s of {link}: {}",
            share.name,
            link.raw_gb_per_s(),
            share.source
        ),
        basis: share.basis,
        ..any
    })
}

/// Gigabytes of all-reduces over each rank's link in one direction: 2 (n - 1) / n of each message.
fn link_gb(inputs: &Inputs, tokens: f64) -> f64 {
    let ranks = f64::from(inputs.tp);
    let reduces = planned(inputs, tokens).into_iter();
    let reduces = reduces.filter(|of| of.kind == CollectiveKind::AllReduce);
    #[expect(
        clippy::cast_precision_loss,
        reason = "messages are far below 2^53 bytes"
    )]
    let bytes = reduces.map(|of| f64::from(of.count) * of.bytes_per_rank as f64);
    bytes.sum::<f64>() * 2.0 * (ranks - 1.0) / ranks / 1e9
}

/// Collectives of one wave's prefill with their times.
pub(crate) fn prefill(inputs: &Inputs, curves: &Curves, tokens: f64) -> Vec<Term> {
    let all = planned(inputs, tokens).into_iter();
    all.map(|collective| curves.term(&collective).0).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "tokens of a wave, held below a billion"
)]
fn planned(inputs: &Inputs, tokens: f64) -> Vec<PlannedCollective> {
    let tokens = tokens.round().clamp(0.0, 1e9) as u32;
    let engine = inputs.engine(inputs.tp);
    engine.map_or_else(Vec::new, |engine| {
        prefill_plan(&inputs.model, engine, tokens)
    })
}

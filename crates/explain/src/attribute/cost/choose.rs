//! Which curves a step's collectives are read from: this box's in the mode that is nearest to the engine's, else what was published for
//! its GPU. Nothing is read off them here.

use measure::record::{CallMode, CollectiveKind, PlannedCollective};

use super::super::deck::{Deck, Knob};
use super::super::result::{ELSEWHERE, Lack};
use super::Curves;
use crate::curve::Curve;
use crate::inputs::{Inputs, PeerState};
use crate::priors::{PublishedCurve, PublishedPath};

/// From a curve's mode to what happens between GEMMs.
fn in_situ(mode: Option<CallMode>) -> &'static str {
    match mode {
        Some(CallMode::Interleaved) => "in_situ_interleaved",
        _ => "in_situ",
    }
}

impl Curves {
    /// The best there is, its priors put into the deck; `None` where there is none.
    pub(crate) fn choose(
        inputs: &Inputs,
        eager: bool,
        planned: &[PlannedCollective],
        deck: &mut Deck,
    ) -> Option<Self> {
        Self::own(inputs, eager, planned, deck)
            .or_else(|| Self::published(inputs, eager, deck, Knob::Transfer))
    }

    /// What was published for the messages of a prefill, where this box's curve is too short for them; `None` where nothing was.
    /// They are so large that the mode of a call does not matter.
    pub(crate) fn of_prefill(inputs: &Inputs, deck: &mut Deck) -> Option<Self> {
        let published = Self::published(inputs, false, deck, Knob::TransferOfPrefill)?;
        Some(Self {
            mode: None,
            ..published
        })
    }

    fn own(
        inputs: &Inputs,
        eager: bool,
        planned: &[PlannedCollective],
        deck: &mut Deck,
    ) -> Option<Self> {
        // Engines replay graphs with work between the calls, which interleaved calls have too.
        let fitting: &[CallMode] = match (inputs.is_on_cpus(), eager) {
            // No calls are launched there ahead, so work between them makes them no other calls.
            (true, _) => &[CallMode::Interleaved, CallMode::BackToBack],
            (false, true) => &[CallMode::BackToBack],
            (false, false) => &[CallMode::Interleaved, CallMode::Graph],
        };
        let others = [
            Some(CallMode::Graph),
            Some(CallMode::BackToBack),
            Some(CallMode::Interleaved),
            None,
            Some(CallMode::HostSynced),
        ];
        let modes = fitting.iter().copied().map(Some).chain(others);
        let fits = |mode: Option<CallMode>| mode.is_some_and(|mode| fitting.contains(&mode));
        let points = inputs.usable_curve();
        let of = |kind, mode| Curve::of_points(&points, kind, inputs.tp, mode);
        // The best mode that tells the sizes asked for, else the best that tells any.
        let known: Vec<(Option<CallMode>, Curve)> = modes
            .clone()
            .filter_map(|mode| Some((mode, of(CollectiveKind::AllReduce, mode)?)))
            .collect();
        let told = |(_, curve): &&(Option<CallMode>, Curve)| {
            let mut reduces = planned
                .iter()
                .filter(|of| of.kind == CollectiveKind::AllReduce);
            reduces.all(|of| curve.reaches(of.bytes_per_rank))
        };
        let (mode, all_reduce) = known.iter().find(told).or(known.first())?.clone();
        let factor = match mode {
            _ if inputs.is_on_cpus() => None,
            Some(CallMode::HostSynced) => Some("host_synced_over_graph"),
            Some(CallMode::Graph | CallMode::Interleaved) if eager => Some("graph_over_eager"),
            Some(CallMode::BackToBack) | None if !eager => Some("back_to_back_over_graph"),
            _ => None,
        };
        if let Some(name) = factor {
            deck.add(Knob::Mode, inputs.prior(name)?);
        }
        deck.add(Knob::Transfer, inputs.prior(in_situ(mode))?);
        deck.add(
            Knob::CustomOverLibrary,
            inputs.prior("custom_over_library")?,
        );
        let mut caveats: Vec<String> = Vec::new();
        let words = mode.map_or("a mode that the file does not state".to_owned(), |mode| {
            mode.to_string()
        });
        if !fits(mode) {
            let wanted: Vec<String> = fitting.iter().map(CallMode::to_string).collect();
            let wanted = wanted.join(" or ");
            caveats.push(match mode {
                Some(_) => format!(
                    "the curve of this box was timed in {words}, the engine runs as {wanted}, so its evidence is D: measure with allreduce-bench in that mode"
                ),
                None => format!(
                    "the curve of this box was timed in {words}, the engine runs as {wanted}, so its evidence is D: add a column `mode` with graph, interleaved, back_to_back or host_synced, or measure with allreduce-bench"
                ),
            });
        }
        let taken = points.iter().find(|p| {
            let its = (p.kind, p.ranks, p.mode, p.engine.is_none());
            its == (CollectiveKind::AllReduce, inputs.tp, mode, true)
        });
        let origin = taken.map_or("—", |point| point.origin.as_str());
        // A file that names no library names nothing that it was timed on: a bare table of sizes and times.
        let names_nothing = !inputs.is_on_cpus() && taken.is_some_and(|of| of.library.is_none());
        let of_mode = match mode {
            mode if fits(mode) => None,
            Some(_) => Some(Lack::Mode),
            None => Some(Lack::ModeStated),
        };
        let lacks = names_nothing.then_some(Lack::Box).into_iter();
        // What the engine's own code did here, in a mode that is the engine's; the factors of other modes are the library's.
        let engine = modes.filter(|mode| fits(*mode)).find_map(|mode| {
            let kind = CollectiveKind::AllReduce;
            Some((mode?, Curve::of_engine(&points, kind, inputs.tp, mode)?))
        });
        let modes = (mode, engine.as_ref().map(|(own, _)| *own));
        let custom_transfer = match &engine {
            Some((own, _)) if in_situ(Some(*own)) != in_situ(mode) => {
                deck.add(Knob::TransferOfEngine, inputs.prior(in_situ(Some(*own)))?);
                caveats.push(format!(
                    "the library's collectives are read from a curve that was timed in {words}, and the engine's own all-reduce from one in {own}: of these two only the interleaved one has work between the calls, so that they are not to be compared with each other"
                ));
                Knob::TransferOfEngine
            }
            _ => Knob::Transfer,
        };
        let custom_source = engine.as_ref().map_or_else(
            || {
                format!(
                    "the library's curve of this box, {words} ({origin}), an upper figure for the engine's own kernel"
                )
            },
            |(mode, _)| format!("this box, the engine's own code, {mode}"),
        );
        Some(Self {
            all_reduce,
            custom_is_own: engine.is_some(),
            custom_transfer,
            custom: engine.map(|(_, curve)| curve),
            all_gather: of(CollectiveKind::AllGather, mode).filter(|curve| {
                let gathers = planned
                    .iter()
                    .filter(|of| of.kind == CollectiveKind::AllGather);
                gathers
                    .into_iter()
                    .all(|of| curve.reaches(of.bytes_per_rank))
            }),
            is_own: true,
            modes,
            fits: fits(mode),
            transfer: Knob::Transfer,
            mode: Some(Knob::Mode),
            source: format!("this box, {words} ({origin})"),
            lacks: lacks.chain(of_mode).collect(),
            timed_in: words,
            custom_source,
            caveats,
        })
    }

    /// `knob` is that of the factor from that box to this one.
    fn published(inputs: &Inputs, eager: bool, deck: &mut Deck, knob: Knob) -> Option<Self> {
        let curves = inputs.priors.curves(inputs.known.gpu.as_deref(), inputs.tp);
        let of = |path| curves.iter().copied().find(|curve| curve.path == path);
        let state = inputs.peer_state();
        let staged = matches!(state, PeerState::Denied | PeerState::Staged);
        let library: &PublishedCurve = match of(PublishedPath::Staged) {
            Some(curve) if staged => curve,
            _ => of(PublishedPath::Peer)?,
        };
        let transfer = match (state, library.path) {
            (PeerState::Direct, _) => "transfer_peer",
            (_, PublishedPath::Staged) => "transfer_staged",
            _ => "transfer_unprobed",
        };
        deck.add(knob, inputs.prior(transfer)?);
        let custom = of(PublishedPath::Custom).filter(|_| !staged);
        if custom.is_none() {
            deck.add(
                Knob::CustomOverLibrary,
                inputs.prior("custom_over_library")?,
            );
        } else if eager {
            deck.add(Knob::Mode, inputs.prior("graph_over_eager")?);
        }
        let source = format!("{ELSEWHERE}: {}", library.source);
        Some(Self {
            all_reduce: Curve::of_published(library),
            custom: custom.map(Curve::of_published),
            custom_is_own: false,
            custom_transfer: knob,
            all_gather: None,
            is_own: false,
            modes: (None, None),
            fits: false,
            transfer: knob,
            mode: Some(Knob::Mode),
            custom_source: custom.map_or_else(
                || source.clone(),
                |curve| format!("{ELSEWHERE}: {}", curve.source),
            ),
            source,
            lacks: Vec::new(),
            timed_in: "published times".to_owned(),
            caveats: vec![
                "there is no curve of this box that can be used: published times of the same GPU elsewhere stand in, times a wide factor; run allreduce-bench".to_owned(),
            ],
        })
    }
}

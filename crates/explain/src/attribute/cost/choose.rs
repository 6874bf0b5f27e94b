//! Which curves a step's collectives are read from: this box's in the mode that is nearest to the engine's, else what was published for
//! its GPU. Nothing is read off them here.

use record::{CallMode, CollectiveKind, PlannedCollective};
use tp_plan::Engine;

use super::super::deck::{Deck, Knob};
use super::super::result::TimeSource;
use super::{Curves, Source};
use crate::curve::Curve;
use crate::finding::Finding;
use crate::inputs::{Inputs, PeerState};
use crate::priors::{PublishedCurve, PublishedPath};

/// The kernel that TensorRT-LLM and FlashInfer share.
const FUSED: &str = "trtllm";

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
        let of = |kind, mode| Curve::of_points(&points, kind, inputs.tp, mode, false);
        // The best mode that tells the sizes asked for, else the best that tells any.
        let known: Vec<(Option<CallMode>, Curve)> = modes
            .clone()
            .filter_map(|mode| Some((mode, of(CollectiveKind::AllReduce, mode)?)))
            .collect();
        let reaches = |curve: &Curve| {
            let mut of_kind = planned.iter().filter(|of| of.kind == curve.kind);
            of_kind.all(|of| curve.reaches(of.bytes_per_rank))
        };
        let told = known.iter().find(|(_, curve)| reaches(curve));
        let (mode, all_reduce) = told.or(known.first())?.clone();
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
        let other_mode = (!fits(mode)).then(|| Finding::CurveMode {
            timed: mode,
            wanted: fitting.to_vec(),
        });
        // What the engine's own code did here, in a mode that is the engine's; the factors of other modes are the library's.
        let engine = modes.filter(|mode| fits(*mode)).find_map(|mode| {
            let kind = CollectiveKind::AllReduce;
            let own = Curve::of_points(&points, kind, inputs.tp, mode, true)?;
            Some((mode?, own))
        });
        let source = |curve: &Curve, mode, by_engine| TimeSource::Measured {
            origin: curve.origin.clone(),
            mode,
            by_engine,
        };
        let mut custom = None;
        if let Some((own, curve)) = engine {
            let mut transfer = Knob::Transfer;
            if in_situ(Some(own)) != in_situ(mode) {
                transfer = Knob::TransferOfEngine;
                deck.add(transfer, inputs.prior(in_situ(Some(own)))?);
            }
            custom = Some(Source {
                source: source(&curve, Some(own), true),
                curve,
                fits: true,
                transfer,
            });
        }
        Some(Self {
            library: Source {
                source: source(&all_reduce, mode, false),
                curve: all_reduce,
                fits: fits(mode),
                transfer: Knob::Transfer,
            },
            custom,
            all_gather: of(CollectiveKind::AllGather, mode).filter(reaches),
            is_own: true,
            mode: Some(Knob::Mode),
            caveats: other_mode.into_iter().collect(),
        })
    }

    /// `knob` is that of the factor from that box to this one.
    pub(super) fn published(
        inputs: &Inputs,
        eager: bool,
        deck: &mut Deck,
        knob: Knob,
    ) -> Option<Self> {
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
        let custom = of_engine(inputs, &curves).filter(|_| !staged);
        if custom.is_none() {
            deck.add(
                Knob::CustomOverLibrary,
                inputs.prior("custom_over_library")?,
            );
        } else if eager {
            deck.add(Knob::Mode, inputs.prior("graph_over_eager")?);
        }
        let source = |curve: &PublishedCurve| Source {
            curve: Curve::of_published(curve),
            fits: false,
            transfer: knob,
            source: TimeSource::Published {
                source: curve.source.clone(),
            },
        };
        Some(Self {
            library: source(library),
            custom: custom.as_ref().map(source),
            all_gather: None,
            is_own: false,
            mode: Some(Knob::Mode),
            caveats: vec![Finding::CurvePublished],
        })
    }
}

/// The published curve of the kernel that the engine reduces with: where it fuses small all-reduces with the norm behind them, the
/// fused kernel's up to its limit and its own beyond.
fn of_engine(inputs: &Inputs, curves: &[&PublishedCurve]) -> Option<PublishedCurve> {
    let engine = inputs.engine(inputs.tp)?;
    let own_kernels = curves.iter().copied();
    let own_kernels = own_kernels.filter(|curve| curve.path == PublishedPath::Custom);
    let of = |kernel: &str| own_kernels.clone().find(|curve| curve.kernel == kernel);
    let own = match engine.engine {
        Engine::Trtllm => of(FUSED),
        Engine::Vllm | Engine::Sglang => of("vllm"),
    };
    let (Some(limit), Some(fused)) = (engine.fuses_up_to(), of(FUSED)) else {
        return own.cloned();
    };
    let mut merged = fused.clone();
    merged.points.retain(|(bytes, _)| *bytes <= limit);
    let beyond = own.map_or(&[][..], |own| &own.points);
    let last = merged.points.last().map_or(0, |(bytes, _)| *bytes);
    merged
        .points
        .extend(beyond.iter().filter(|(bytes, _)| *bytes > last));
    Some(merged)
}

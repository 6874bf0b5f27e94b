//! What a serving result says of one request, worked out where the file only gives totals.

use import::{ServeRun, Spread};

use crate::range::count;

/// More tokens than this in a chunk are several a step.
pub(crate) const SEVERAL: f64 = 1.2;

/// Fewer gaps than this do not stand for the decode step.
const LEAST_GAPS: u64 = 100;

/// Steps with prompts may make up this part of a mean time per token at most before they are left out of it by the median gap.
pub(crate) const MAY_BE_MIXED: f64 = 0.05;

/// A median gap between tokens may lie above their mean by this part, with rounding.
const ABOVE_MEAN: f64 = 0.055;

/// What other requests' prompts make of a mean time per token, as a part of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum MixedIn {
    /// By how far the mean lies above the median gap between tokens.
    ByGaps(f64),
    /// At most so much, by the time to first token of those that start meanwhile.
    AtMost(f64),
}

/// One request of a serving result, on average.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunShape<'a> {
    run: &'a ServeRun,
}

impl<'a> RunShape<'a> {
    pub(crate) fn new(run: &'a ServeRun) -> Self {
        Self { run }
    }

    /// Output tokens of a request; those asked for, where nobody counted them.
    pub(crate) fn output(&self) -> Option<f64> {
        let counted = self.run.output_tokens.and_then(|all| self.each(all));
        counted.or_else(|| self.run.output_tokens_asked.map(count))
    }

    /// Prompt tokens of a request.
    pub(crate) fn input(&self) -> Option<f64> {
        self.run.input_tokens.and_then(|all| self.each(all))
    }

    /// Tokens that a sequence has in the cache, half way through its output; what nobody says counts for nothing.
    pub(crate) fn context(&self) -> f64 {
        self.input().unwrap_or(0.0) + self.output().unwrap_or(0.0) / 2.0
    }

    /// Gaps between tokens while every slot decodes, where there are enough of them to stand for the decode step.
    pub(crate) fn decode_gap(&self) -> Option<Spread> {
        self.run
            .decode_gap_ms
            .filter(|gap| gap.n.is_some_and(|n| n >= LEAST_GAPS) && gap.mean_interval.is_some())
    }

    fn each(&self, all: u64) -> Option<f64> {
        (self.run.completed > 0).then(|| count(all) / count(self.run.completed))
    }

    /// Mean end-to-end latency, ms.
    pub(crate) fn latency_ms(&self) -> Option<f64> {
        if let Some(latency) = &self.run.e2el_ms {
            return Some(latency.mean);
        }
        // By the definition of TPOT: (e2el - ttft) / (output tokens - 1).
        let (first, each) = (self.run.ttft_ms.as_ref()?, self.run.tpot_ms.as_ref()?);
        Some(first.mean + each.mean * (self.output()? - 1.0))
    }

    /// Mean requests in flight by Little's law: requests per second times mean latency.
    pub(crate) fn in_flight(&self) -> Option<f64> {
        Some(self.run.requests_per_s * self.latency_ms()? / 1e3)
    }

    /// What prompts make of the time per token; `None` where the result tells neither gaps nor a time to first token, or no time
    /// per token.
    pub(crate) fn mixed_in(&self) -> Option<MixedIn> {
        let each = self.run.tpot_ms?.mean;
        let median = self.run.itl_ms.and_then(|itl| itl.median);
        if let Some(median) = median.filter(|_| !self.gap_doubt()) {
            return Some(MixedIn::ByGaps((1.0 - median / each).max(0.0)));
        }
        self.by_first_token().map(MixedIn::AtMost)
    }

    /// The part of the time per token by which steps with prompts certainly lie in it: what its median gap leaves, less what may be
    /// chance; 0 where no median shows it.
    pub(crate) fn left_out(&self) -> f64 {
        match self.mixed_in() {
            Some(MixedIn::ByGaps(slowed)) => (slowed - MAY_BE_MIXED).max(0.0),
            _ => 0.0,
        }
    }

    /// Whether the gaps between tokens cannot be what they are called: far shorter than the time per token, or a median far above their mean.
    pub(crate) fn gap_doubt(&self) -> bool {
        let median = self
            .run
            .itl_ms
            .and_then(|gaps| Some((gaps.median?, gaps.mean)));
        let above = median.is_some_and(|(median, mean)| median > mean * (1.0 + ABOVE_MEAN));
        median.is_some() && (above || self.has_other_gaps())
    }

    /// Whether gaps make less than the time per token, which those of no stream do.
    pub(crate) fn has_other_gaps(&self) -> bool {
        let tokens = self.tokens_in_a_chunk();
        self.fixed_output() == Some(true) && tokens.is_some_and(|tokens| tokens * SEVERAL < 1.0)
    }

    /// Tokens that a chunk held in the mean, where gaps and time per token are reported: all gaps of a request are as long as all its
    /// tokens after the first.
    pub(crate) fn tokens_in_a_chunk(&self) -> Option<f64> {
        let gap = self.run.itl_ms?.mean;
        Some(gap / self.run.tpot_ms?.mean).filter(|tokens| tokens.is_finite())
    }

    /// The part of the time per token that other requests' prompts may take at most by the time to first token, 0 to 1, whatever gaps
    /// between tokens show; `None` where nobody timed a first token, or there is no time per token.
    fn by_first_token(&self) -> Option<f64> {
        let each = self.run.tpot_ms?.mean;
        // What a start adds to the steps of those that decode is its time to first token less the step that they do all the same,
        // or less where it waits or where several start together.
        let added = (self.first_ms()? - each).max(0.0);
        let steps = (self.output()? - 1.0).max(1.0);
        let starts = self.starts_seen()? / steps;
        // The time per token from which that step is taken holds prompts itself: with a share s of it, s * each = starts * (added +
        // s * each). Where as many start as there are steps, nothing bounds it.
        let share = match starts < 1.0 {
            true => starts * added / each / (1.0 - starts),
            false => 1.0,
        };
        Some(share.min(1.0))
    }

    /// How many others start while a request decodes, on average and at most: each of the other slots is filled again once, but not
    /// in the last wave. Those that start together, as all do at first, wait for each other in their times to first token, which
    /// holds about as much as their decoding sees of each other.
    fn starts_seen(&self) -> Option<f64> {
        let slots = self.in_flight()?;
        let others = (slots - 1.0).max(0.0);
        let first_wave = (slots / count(self.run.completed.max(1))).min(1.0);
        Some(others * (1.0 - first_wave) + others.min(1.0) * first_wave)
    }

    /// Mean time to first token, ms; as latency and time per token leave it where nobody timed it.
    fn first_ms(&self) -> Option<f64> {
        let stated = self.run.ttft_ms.map(|first| first.mean);
        stated.or_else(|| {
            let (whole, each) = (self.run.e2el_ms?.mean, self.run.tpot_ms?.mean);
            Some((whole - each * (self.output()? - 1.0)).max(0.0))
        })
    }

    /// What [`RunShape::in_flight`] can be at least where `asked` requests were kept in flight: the last requests leave slots
    /// empty, which a short run shows.
    pub(crate) fn least_in_flight(&self, asked: f64) -> f64 {
        let requests = count(self.run.completed);
        if self.fixed_output() == Some(true) {
            // Requests of equal length go in waves, of which the last may be smaller.
            return requests / (requests / asked).ceil().max(1.0);
        }
        // At worst one more mean latency passes while the slots run empty.
        requests * asked / (requests + asked)
    }

    /// Whether every request gave as many output tokens as every other; the totals show it where all gave what was asked.
    pub(crate) fn fixed_output(&self) -> Option<bool> {
        if self.run.fixed_output.is_some() {
            return self.run.fixed_output;
        }
        let (all, asked) = (self.run.output_tokens?, self.run.output_tokens_asked?);
        // No request gives more than was asked, so a full total leaves none short; a total that was worked out from a rate is
        // rounded.
        Some(count(all) >= 0.999 * count(asked) * count(self.run.completed))
    }

    /// Time of one step, ms, as the stream shows it, or the latency shared out over the tokens.
    pub(crate) fn rough_step_ms(&self) -> Option<f64> {
        let gap = self.run.itl_ms.and_then(|itl| itl.median);
        let gap = gap.filter(|_| !self.has_other_gaps());
        let token = self
            .run
            .tpot_ms
            .map(|tpot| tpot.median.unwrap_or(tpot.mean));
        gap.or(token)
            .or_else(|| Some(self.latency_ms()? / self.output()?))
            .filter(|step| *step > 0.0)
    }
}

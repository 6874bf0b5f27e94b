//! A serving result with what its file says beside it: each request where it has them, and what contradicts what.

use serde::Serialize;

use super::run::{ServeRun, Spread};
use crate::control;
use crate::metric::{e2el, itl, little, tpot, ttft};
use crate::record::{Distribution, ServeRequest};
use crate::stats::{distribution, distribution_pooled};

/// How far the mean over requests may lie from the mean that a file gives, to count as the same thing.
pub(super) const SAME: f64 = 0.005;

/// A serving result as a file tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct ServeResult {
    /// The result in this project's terms.
    pub run: ServeRun,
    /// What was asked for, as far as the file tells.
    pub asked: Asked,
    /// Figures that the file states of itself.
    pub said: Said,
    /// Each request that succeeded, where the file has them; of our own records each that was sent.
    pub requests: Vec<ServeRequest>,
    /// Whether the instants of the requests share one clock; else each request begins at zero.
    pub clocked: bool,
    /// Whether this project measured it, in whatever form it was kept.
    pub ours: bool,
    /// How far the duration may be off by the digits that its file prints of it, s.
    pub duration_off_s: f64,
    /// What contradicts what, and what a number does not mean.
    pub findings: Vec<Finding>,
}

/// What a client was asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// Requests.
    pub requests: Option<u64>,
    /// Prompt tokens, each request.
    pub input_tokens: Option<u64>,
    /// Output tokens, each request.
    pub output_tokens: Option<u64>,
}

/// Figures that a file states of itself, whether or not they are what their names say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Said {
    /// Time to first token, mean, ms.
    pub ttft_ms: Option<f64>,
    /// Time per output token, mean, ms.
    pub tpot_ms: Option<f64>,
    /// Output tokens per second.
    pub output_tokens_per_s: Option<f64>,
    /// Prompt and output tokens per second.
    pub total_tokens_per_s: Option<f64>,
    /// Most output tokens within a second.
    pub peak_output_tokens_per_s: Option<f64>,
    /// Most requests at once.
    pub peak_in_flight: Option<f64>,
    /// 90th percentiles, ms, in the order of [`Latency::ALL`].
    pub p90_ms: [Option<f64>; 4],
}

/// What is wrong with a result, or what one of its numbers does not mean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The kind.
    pub kind: FindingKind,
    /// What was found, with its figures.
    pub words: String,
}

/// Kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The load generator was the limit: its times are its own and not the server's.
    ClientLimit,
    /// Throughput times latency is not the number in flight that was asked for.
    InFlight,
    /// Times per token are of steps that prefilled, too.
    MixedSteps,
    /// Some waited for slots: mean and median lie far apart.
    SecondWave,
    /// Far fewer requests completed per second than were offered.
    BurstNotRate,
    /// The latency stands under the name of TTFT.
    LatencyAsTtft,
    /// One over the throughput stands under the name of TPOT.
    InverseThroughput,
    /// The whole latency over the tokens stands under the name of TPOT.
    LatencyPerToken,
    /// TTFT and TPOT do not make the latency.
    Parts,
    /// A time per output token that leaves most of the latency to a first token whose time is not given.
    Pace,
    /// A total of tokens that is not prompt and output together.
    TotalTokens,
    /// Of several results: those with more failures have shorter replies.
    Survivors,
    /// Of several results: more in flight give no more requests per second.
    Saturated,
    /// Failed requests are in no average.
    FailuresDropped,
    /// Requests that were asked for are in no count.
    RequestsMissing,
    /// Fewer output tokens came than were asked for.
    FewerOutputTokens,
    /// Prompts are not as long as asked for, or not all of one length.
    PromptLengths,
    /// Output tokens are those asked for and not those that came.
    TokensAsAsked,
    /// The file's totals do not give its rates.
    Totals,
    /// A statistic is not that of the file's own lists.
    Lists,
    /// Requests or tokens of the file's own lists are not as many as it says.
    Counts,
    /// A peak that its own lists or its own mean rule out.
    Peak,
    /// Figures that no run can have together.
    Impossible,
    /// A median ITL that is not taken, since its mean is not there.
    MedianAlone,
    /// A time that is not taken, since it is no number, not above zero or without a unit.
    NotTaken,
}

impl Finding {
    pub(super) fn new(kind: FindingKind, words: String) -> Self {
        Self { kind, words }
    }

    /// What the load generator said of itself, in a record or in a file that we exported.
    pub(super) fn client_limit(reason: &str) -> Self {
        let reason = control::replaced(reason);
        Self::new(
            FindingKind::ClientLimit,
            format!("INVALID, the load generator was the limit: {reason}"),
        )
    }
}

/// A latency metric, by its name in the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Latency {
    /// Time to first token.
    Ttft,
    /// Time per output token after the first.
    Tpot,
    /// Gap between chunks that carry tokens.
    Itl,
    /// End-to-end latency.
    E2el,
}

impl Latency {
    /// All, in the order of vLLM's block.
    pub const ALL: [Self; 4] = [Self::Ttft, Self::Tpot, Self::Itl, Self::E2el];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ttft => "TTFT",
            Self::Tpot => "TPOT",
            Self::Itl => "ITL",
            Self::E2el => "E2EL",
        }
    }

    /// Its name within vLLM's keys.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Ttft => "ttft",
            Self::Tpot => "tpot",
            Self::Itl => "itl",
            Self::E2el => "e2el",
        }
    }

    /// The values of one request, ms: one, or for ITL one a gap.
    pub(super) fn of(self, request: &ServeRequest) -> Vec<f64> {
        let one = |value: Option<f64>| value.into_iter().collect();
        match self {
            Self::Ttft => one(ttft::of(request)),
            Self::Tpot => one(tpot::of(request)),
            Self::Itl => itl::of(request),
            Self::E2el => vec![e2el::of(request)],
        }
    }

    /// The distribution over requests; `None` where they have no such value.
    pub(super) fn over(self, requests: &[ServeRequest]) -> Option<Distribution> {
        let groups: Vec<Vec<f64>> = requests
            .iter()
            .filter(|request| request.error.is_none())
            .map(|request| self.of(request))
            .collect();
        match self {
            Self::Itl => distribution_pooled(&groups),
            _ => distribution(&groups.concat()),
        }
    }
}

impl ServeResult {
    /// A result of which only the summary is known.
    pub(super) fn of(run: ServeRun) -> Self {
        let output_tokens = run.output_tokens_asked;
        Self {
            run,
            asked: Asked {
                output_tokens,
                ..Asked::default()
            },
            said: Said::default(),
            requests: Vec::new(),
            clocked: false,
            ours: false,
            duration_off_s: 0.0,
            findings: Vec::new(),
        }
    }

    /// A metric as the file tells it.
    #[must_use]
    pub fn spread(&self, latency: Latency) -> Option<&Spread> {
        match latency {
            Latency::Ttft => self.run.ttft_ms.as_ref(),
            Latency::Tpot => self.run.tpot_ms.as_ref(),
            Latency::Itl => self.run.itl_ms.as_ref(),
            Latency::E2el => self.run.e2el_ms.as_ref(),
        }
    }

    /// The 90th percentile that the file gives, ms.
    #[must_use]
    pub fn p90(&self, latency: Latency) -> Option<f64> {
        self.said.p90_ms[latency as usize]
    }

    /// The raw values, ms, in one group for each request that has some; empty where the file has none, or has some that are not
    /// what its own mean is of.
    #[must_use]
    pub fn values(&self, latency: Latency) -> Vec<Vec<f64>> {
        let Some(spread) = self.spread(latency) else {
            return Vec::new();
        };
        let groups: Vec<Vec<f64>> = self
            .requests
            .iter()
            .filter(|request| request.error.is_none())
            .map(|request| latency.of(request))
            .filter(|values| !values.is_empty())
            .collect();
        let n: usize = groups.iter().map(Vec::len).sum();
        let sum: f64 = groups.iter().flatten().sum();
        if n > 0 && (sum / float(n as u64) - spread.mean).abs() <= SAME * spread.mean {
            groups
        } else {
            Vec::new()
        }
    }

    /// Prompt tokens of a request in the mean.
    #[must_use]
    pub fn input_each(&self) -> Option<f64> {
        self.each(self.run.input_tokens)
    }

    /// Output tokens of a request in the mean.
    #[must_use]
    pub fn output_each(&self) -> Option<f64> {
        self.each(self.run.output_tokens)
    }

    fn each(&self, all: Option<u64>) -> Option<f64> {
        all.filter(|_| self.run.completed > 0)
            .map(|all| float(all) / float(self.run.completed))
    }

    /// Mean end-to-end latency, ms; from TTFT and TPOT by the definition of TPOT, where the file does not give it.
    #[must_use]
    pub fn latency_ms(&self) -> Option<f64> {
        if let Some(latency) = &self.run.e2el_ms {
            return Some(latency.mean);
        }
        let first = self.run.ttft_ms.as_ref()?.mean;
        match self.output_each()? {
            each if each <= 1.0 => Some(first),
            each => Some(first + self.run.tpot_ms.as_ref()?.mean * (each - 1.0)),
        }
    }

    /// Why its times are the load generator's own and not the server's; empty where they are the server's.
    pub fn invalid(&self) -> impl Iterator<Item = &str> {
        let of_client = |one: &&Finding| one.kind == FindingKind::ClientLimit;
        let found = self.findings.iter().filter(of_client);
        found.map(|one| one.words.as_str())
    }

    /// Requests in flight in the mean, by Little's law.
    #[must_use]
    pub fn in_flight(&self) -> Option<f64> {
        Some(little::of(self.run.requests_per_s, self.latency_ms()?))
    }

    /// The part of its duration by which it may be off by its digits.
    pub(super) fn duration_off(&self) -> f64 {
        self.duration_off_s / self.run.duration_s
    }

    /// Output tokens per second: total over duration.
    #[must_use]
    pub fn output_tokens_per_s(&self) -> Option<f64> {
        self.run
            .output_tokens
            .map(|tokens| float(tokens) / self.run.duration_s)
            .or(self.said.output_tokens_per_s)
    }

    /// Prompt and output tokens per second.
    #[must_use]
    pub fn total_tokens_per_s(&self) -> Option<f64> {
        let totals = self.run.input_tokens.zip(self.run.output_tokens);
        totals
            .map(|(input, output)| float(input + output) / self.run.duration_s)
            .or(self.said.total_tokens_per_s)
    }
}

/// A count as a number.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

//! What in a serving result contradicts what, what one of its numbers does not mean, and what of its file was not taken: data, whose
//! words are made elsewhere.

use serde::Serialize;

/// What is wrong with a result, or what one of its numbers does not mean.
#[derive(Debug, Clone, PartialEq, Serialize, strum::IntoStaticStr)]
#[serde(tag = "code", rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Finding {
    /// The load generator was the limit: its times are its own and not the server's.
    ClientLimit {
        /// What it said of itself.
        detail: String,
    },
    /// Throughput times latency is not the number in flight that was asked for (Little's law).
    InFlightDiffers {
        /// Requests asked to be in flight.
        asked: f64,
        /// Requests in flight by the law.
        seen: f64,
    },
    /// Times per token are of steps that prefilled, too.
    MixedSteps {
        /// Mean time per output token, or gap between tokens, ms.
        step_ms: f64,
        /// The part of all tokens after the first that came while another request prefilled; `None` where requests are not in the file.
        mixed_part: Option<f64>,
    },
    /// Mean and median of TTFT lie far apart, or TTFT takes much of a run that sent all at once: requests waited for others, for a
    /// slot or for their prefill.
    SecondWave {
        /// Mean, ms.
        mean_ms: f64,
        /// Median, ms; `None` where the file has none.
        median_ms: Option<f64>,
    },
    /// Far fewer requests completed per second than were offered.
    BurstNotRate {
        /// Requests per second that were offered.
        offered: f64,
        /// Requests per second that completed.
        completed: f64,
    },
    /// The latency stands under the name of TTFT.
    LatencyAsTtft {
        /// What is called TTFT, ms.
        ttft_ms: f64,
    },
    /// One over the throughput of all requests stands under the name of TPOT.
    InverseThroughput {
        /// What is called TPOT, ms.
        tpot_ms: f64,
    },
    /// The whole latency over the tokens stands under the name of TPOT.
    LatencyPerToken {
        /// What is called TPOT, ms.
        tpot_ms: f64,
    },
    /// TTFT, TPOT and the number of tokens do not make the latency: one has another unit or is another thing.
    TimesDisagree {
        /// What they make, ms.
        parts_ms: f64,
        /// The latency, ms.
        latency_ms: f64,
    },
    /// A time that cannot be beside another one.
    ImpossibleTime {
        /// Its name, such as `ttft`.
        time: &'static str,
        /// The time, ms.
        ms: f64,
        /// The time that rules it out, such as `run`.
        beside: &'static str,
        /// The other one, ms.
        other_ms: f64,
    },
    /// Of several results: more in flight give no more requests per second.
    Saturated {
        /// Requests in flight from which on that is so.
        from: f64,
        /// Requests per second at best.
        best: f64,
    },
    /// Failed requests are in no average.
    RequestsFailed {
        /// How many failed.
        failed: u64,
        /// How many were sent.
        sent: u64,
    },
    /// Requests that were asked for neither succeeded nor failed.
    RequestsMissing {
        /// Requests asked for.
        asked: u64,
        /// Requests counted.
        counted: u64,
    },
    /// Fewer output tokens came than were asked for.
    FewerOutputTokens {
        /// Tokens asked for.
        asked: u64,
        /// Tokens that came.
        came: u64,
    },
    /// Output tokens are those asked for and not those that came.
    TokensAsAsked {
        /// Tokens that the file counts.
        said: u64,
        /// Tokens that the text re-encodes to.
        retokenized: u64,
    },
    /// A figure is not what other figures or lists of the file make it.
    FiguresDiffer {
        /// Its key, or what it is.
        figure: String,
        /// As the file says.
        said: f64,
        /// As the others make it; that is taken where both tell the same thing.
        own: f64,
    },
    /// A time that is zero or negative, or whose value is no number, and is not taken.
    ValueNotTaken {
        /// Its key.
        key: String,
        /// What stands there.
        value: String,
    },
    /// The printed block ends before its last line.
    BlockCut,
}

impl Finding {
    /// Its stable name.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.into()
    }

    /// Whether figures of the file contradict each other, so that nobody can say which of them hold.
    #[must_use]
    pub fn is_contradiction(&self) -> bool {
        matches!(
            self,
            Self::TimesDisagree { .. } | Self::ImpossibleTime { .. } | Self::FiguresDiffer { .. }
        )
    }
}

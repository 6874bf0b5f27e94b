//! How many tokens all requests of a flat summary had, from whichever of its numbers tell it.

use super::aliases::{
    Alias, INPUT_TOKENS, INPUT_TOKENS_EACH, INPUT_TOKENS_EITHER, INPUT_TOKENS_PER_S, OUTPUT_TOKENS,
    OUTPUT_TOKENS_EACH, OUTPUT_TOKENS_EITHER, OUTPUT_TOKENS_PER_S,
};
use super::summary::{Found, TOLERANCE};
use crate::import::error::ImportError;

/// What may tell how many tokens all requests had.
pub(super) struct Tokens {
    total: Alias,
    each: Alias,
    /// The total or one request's.
    either: Alias,
    rate: Alias,
}

pub(super) const INPUT: Tokens = Tokens {
    total: INPUT_TOKENS,
    each: INPUT_TOKENS_EACH,
    either: INPUT_TOKENS_EITHER,
    rate: INPUT_TOKENS_PER_S,
};

pub(super) const OUTPUT: Tokens = Tokens {
    total: OUTPUT_TOKENS,
    each: OUTPUT_TOKENS_EACH,
    either: OUTPUT_TOKENS_EITHER,
    rate: OUTPUT_TOKENS_PER_S,
};

fn agree(one: f64, other: f64, tolerance: f64) -> bool {
    (one - other).abs() <= tolerance * other
}

impl Found<'_> {
    /// Tokens of all successful requests: the total, or one request's times their number, or the rate times the duration,
    /// right to the digits of the rate. Those that are there must agree.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "rounded products of numbers above zero; counts are far below 2^53"
    )]
    pub(super) fn tokens(
        &self,
        names: &Tokens,
        completed: u64,
        duration_s: f64,
    ) -> Result<Option<u64>, ImportError> {
        let requests = completed as f64;
        let of_rate = self.one(&names.rate)?.map(|rate| rate * duration_s);
        let total = self.count(&names.total)?.map(|total| total as f64);
        let each = self.one(&names.each)?.map(|each| each * requests);
        // By the rate they are as sure as the duration.
        let tolerance = match of_rate {
            Some(_) => TOLERANCE + self.duration_off() / duration_s,
            None => TOLERANCE,
        };
        let known = of_rate.or(total).or(each);
        let either = match self.one(&names.either)? {
            None => None,
            Some(either) => Some(self.reading(names, either, requests, known, tolerance)?),
        };
        let found = [
            (&names.total, total),
            (&names.either, either),
            (&names.each, each),
            (&names.rate, of_rate),
        ];
        let mut found = found
            .into_iter()
            .filter_map(|(alias, tokens)| Some((alias, tokens?)));
        let Some((first, tokens)) = found.next() else {
            return Ok(None);
        };
        if let Some((other, seen)) = found.find(|(_, other)| !agree(*other, tokens, tolerance)) {
            let want = format!(
                "to agree with {}: it makes {seen:.0} tokens of all {completed} requests, and that {tokens:.0}",
                self.key(first)
            );
            return Err(self.nonsense(other, &want));
        }
        Ok(Some(tokens.round() as u64))
    }

    /// What a name says that can mean the total or one request's tokens, as the total.
    fn reading(
        &self,
        names: &Tokens,
        either: f64,
        requests: f64,
        known: Option<f64>,
        tolerance: f64,
    ) -> Result<f64, ImportError> {
        let readings = [either, either * requests];
        if let [total, each] = readings
            && agree(total, each, TOLERANCE)
        {
            return Ok(total);
        }
        let agreeing = known.and_then(|known| {
            readings
                .into_iter()
                .find(|total| agree(*total, known, tolerance))
        });
        agreeing.ok_or_else(|| {
            let because = known.map_or_else(
                || "nothing else in the file tells which".to_owned(),
                |known| format!("neither agrees with the {known:.0} tokens that the file's other numbers make"),
            );
            let want = format!(
                "a name with one meaning: rename it {} if it is the total of all requests, or {} if it is one request's; {because}",
                names.total.keys[0], names.each.keys[0]
            );
            self.nonsense(&names.either, &want)
        })
    }
}

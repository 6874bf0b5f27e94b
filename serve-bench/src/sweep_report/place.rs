//! Where a result belongs, by the name of its file: `{CONFIG}_{MODEL}_{TP}{INPUT}_np{N}_{TIMESTAMP}`.
//!
//! TP and input were seen as `TP2_1k`, and may be `TP2_1024` or, run together, `21024`. Which split of digits is meant is reported by the
//! prompt tokens that the file has.

/// Where a result belongs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Label of the configuration.
    pub(super) config: String,
    /// Name of the model.
    pub(super) model: String,
    /// Tensor parallel size.
    pub(super) tp: u32,
    /// Prompt tokens.
    pub(super) input: u32,
    /// What else is of the load and not of its size, such as `8 in flight`; nothing where all came at once.
    pub(super) load: String,
    /// Requests.
    pub(super) num_prompts: u32,
}

/// How far prompts may lie from the name's length: clients that encode them again lose or gain some tokens.
const NEAR: f64 = 0.1;

/// The place that a name tells; `each` are the prompt tokens of a request, where the file has them, `requests` those that were sent.
///
/// # Errors
/// In words: why it tells none.
pub(super) fn place(stem: &str, each: Option<f64>, requests: u64) -> Result<Place, String> {
    let parts: Vec<&str> = stem.split('_').collect();
    let number = |part: &&str| part.strip_prefix("np").and_then(whole);
    let at = parts.iter().rposition(|part| number(part).is_some());
    let (Some(at), Some(num_prompts)) = (at, at.and_then(|at| number(&parts[at]))) else {
        return Err("its name has no part such as np8".to_owned());
    };
    let [config, middle @ ..] = &parts[..at] else {
        return Err("its name begins with np".to_owned());
    };
    let (model, tp, input) = sizes(middle, each)?;
    if config.is_empty() || model.is_empty() {
        return Err("its name has no configuration and model before TP and input".to_owned());
    }
    if requests != u64::from(num_prompts) {
        return Err(format!(
            "its name says {num_prompts} prompts and it holds {requests}"
        ));
    }
    Ok(Place {
        config: (*config).to_owned(),
        model,
        tp,
        input,
        load: String::new(),
        num_prompts,
    })
}

/// Model, TP and input of the parts between configuration and number.
fn sizes(middle: &[&str], each: Option<f64>) -> Result<(String, u32, u32), String> {
    let none = || "its name has no TP and input length before np".to_owned();
    let (last, before) = middle.split_last().ok_or_else(none)?;
    if let Some((tp, model)) = before.split_last()
        && let (Some(tp), Some(input)) = (tp_of(tp), length(last))
    {
        return fitting(vec![(tp, input)], each).map(|(tp, input)| (model.join("_"), tp, input));
    }
    let digits = last
        .strip_prefix("TP")
        .or_else(|| last.strip_prefix("tp"))
        .unwrap_or(last);
    // Sizes are powers of two, of one digit or two.
    let splits = (1..=2).filter_map(|at| {
        let (tp, input) = digits.split_at_checked(at)?;
        let tp = whole(tp).filter(|tp| tp.is_power_of_two())?;
        Some((tp, length(input)?))
    });
    fitting(splits.collect(), each).map(|(tp, input)| (before.join("_"), tp, input))
}

/// The one reading that the file's own prompts allow.
fn fitting(readings: Vec<(u32, u32)>, each: Option<f64>) -> Result<(u32, u32), String> {
    let Some((tp, input)) = readings.first().copied() else {
        return Err("its name has no TP and input length before np".to_owned());
    };
    let Some(each) = each else {
        return if readings.len() == 1 {
            Ok((tp, input))
        } else {
            Err(
                "its name can be read in two ways, and it does not tell its prompt tokens"
                    .to_owned(),
            )
        };
    };
    let is_near = |input: u32| (each - f64::from(input)).abs() <= NEAR * f64::from(input);
    readings
        .into_iter()
        .find(|(_, input)| is_near(*input))
        .ok_or_else(|| format!("its name says prompts of {input} tokens and it has {each:.0} each"))
}

fn tp_of(part: &str) -> Option<u32> {
    let digits = part
        .strip_prefix("TP")
        .or_else(|| part.strip_prefix("tp"))?;
    whole(digits)
}

/// A length such as 1024 or 1k.
fn length(part: &str) -> Option<u32> {
    match part.strip_suffix(['k', 'K']) {
        Some(thousands) => whole(thousands)?.checked_mul(1024),
        None => whole(part),
    }
}

/// A whole number above zero without a leading zero.
fn whole(text: &str) -> Option<u32> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    is_plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(stem: &str, each: Option<f64>, requests: u64) -> Result<(String, u32, u32), String> {
        place(stem, each, requests).map(|place| (place.model, place.tp, place.input))
    }

    #[test]
    fn names_are_read_as_they_were_written() {
        for (stem, each, expected) in [
            (
                "C_7B_TP1_1k_np1_20251030_101500",
                Some(1024.0),
                ("7B", 1, 1024),
            ),
            (
                "1C_8B_21024_np1_20251030-101500",
                Some(1022.6),
                ("8B", 2, 1024),
            ),
            // 1 and 6128, or 16 and 128: the prompts tell.
            ("1C_8B_16128_np1", Some(128.0), ("8B", 16, 128)),
            ("1C_8B_16128_np1", Some(6128.0), ("8B", 1, 6128)),
            ("B_gemma_3_27b_TP2_2048_np1", None, ("gemma_3_27b", 2, 2048)),
            ("B_8B_TP21024_np1", Some(1024.0), ("8B", 2, 1024)),
        ] {
            let (model, tp, input) = expected;
            assert_eq!(
                told(stem, each, 1),
                Ok((model.to_owned(), tp, input)),
                "{stem}"
            );
        }
        let place = place("1C_8B_11024_np200_x", Some(1024.0), 200).unwrap();
        assert_eq!((place.config.as_str(), place.num_prompts), ("1C", 200));
    }

    #[test]
    fn a_name_that_tells_nothing_or_another_thing_is_refused_with_the_reason() {
        for (stem, each, requests, says) in [
            (
                "infqps-concurrency8-model-2025",
                None,
                1,
                "no part such as np8",
            ),
            ("np8", None, 8, "begins with np"),
            ("1C_np8", None, 8, "no TP and input"),
            ("1C_8B_31024_np8", Some(1024.0), 8, "no TP and input"),
            (
                "1C_8B_11024_np8",
                Some(512.0),
                8,
                "prompts of 1024 tokens and it has 512",
            ),
            (
                "1C_8B_11024_np8",
                Some(1024.0),
                9,
                "8 prompts and it holds 9",
            ),
            ("1C_8B_16128_np1", None, 1, "two ways"),
            (
                "1C_11024_np1",
                Some(1024.0),
                1,
                "no configuration and model",
            ),
        ] {
            let error = told(stem, each, requests).unwrap_err();
            assert!(error.contains(says), "{stem}: {error}");
        }
    }
}

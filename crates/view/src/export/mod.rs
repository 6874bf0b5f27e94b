//! A serving benchmark in the words of `vllm bench serve` (0.33): its JSON, its file's name, and the block that it prints.
//!
//! What a record does not have is `null`: vLLM writes 0 there. `date` is UTC, where vLLM writes local time. Events of a ramp and
//! figures of speculative decoding, which vLLM reads from the server's /metrics, are not there.

mod form;
mod json;
mod name;
mod text;

pub use form::{ExportError, VllmForm, VllmMetric};
pub use json::vllm_json;
pub use name::vllm_file_name;
pub use text::vllm_text;

/// `20260102-030405` of `2026-01-02T03:04:05Z`.
fn date(started: &str) -> Option<String> {
    let (day, time) = started.split_once('T')?;
    let digits = |text: &str| -> String { text.chars().filter(char::is_ascii_digit).collect() };
    let (day, time) = (digits(day), digits(time.get(..8)?));
    (day.len() == 8 && time.len() == 6).then(|| format!("{day}-{time}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_the_one_of_the_start() {
        assert_eq!(
            date("2026-01-02T03:04:05Z").as_deref(),
            Some("20260102-030405")
        );
        assert_eq!(date("2026-01-02"), None);
        assert_eq!(date(""), None);
    }
}

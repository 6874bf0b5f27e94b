//! The name that `vllm bench serve --save-result` gives its file.

use super::form::{VllmForm, begun};
use super::{ExportError, date};
use record::control::file_word;
use record::{Arrivals, Record};

/// The most bytes of a label or a model in a name.
const WORD: usize = 90;

/// `{label or backend}-{rate}qps[-concurrency{N}]-{model's last part}-{date}.json`, and for a ramp both its rates.
///
/// # Errors
/// The record is no serving benchmark, or ended before its first request.
pub fn vllm_file_name(record: &Record, form: &VllmForm) -> Result<String, ExportError> {
    let (_, target, load) = begun(record)?;
    let label = form.label.clone().unwrap_or_else(|| form.backend(target));
    let rate = match &load.arrivals {
        Arrivals::Ramp {
            from,
            to,
            exponential,
        } => {
            let strategy = match exponential {
                true => "exponential",
                false => "linear",
            };
            format!("ramp-up-{strategy}-{from}qps-{to}qps")
        }
        // Python writes a whole number with `.0`.
        other => other
            .rate()
            .map_or_else(|| "infqps".to_owned(), |rate| format!("{rate:?}qps")),
    };
    let limit = load
        .concurrency
        .map_or_else(String::new, |limit| format!("-concurrency{limit}"));
    let model = form.model(target);
    let model = model.rsplit('/').next().unwrap_or(model);
    let date = date(&record.header.provenance.started).unwrap_or_default();
    // A label and a model may be called anything; a file is made in the folder that was named.
    let (label, model) = (file_word(&label, WORD), file_word(model, WORD));
    Ok(format!("{label}-{rate}{limit}-{model}-{date}.json"))
}

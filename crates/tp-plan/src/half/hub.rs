//! Under which id an engine gets the weights of a shipped model: engines know no short names.

/// Shipped names with their Hugging Face id. Where a model has several weights of the same shape, those of the tuned one.
const IDS: &[(&str, &str)] = &[
    ("qwen2.5-72b", "Qwen/Qwen2.5-72B-Instruct"),
    (
        "qwen2.5-72b-fp8",
        "RedHatAI/Qwen2.5-72B-Instruct-FP8-dynamic",
    ),
    ("qwen2.5-vl-72b", "Qwen/Qwen2.5-VL-72B-Instruct"),
    (
        "qwen2.5-vl-72b-fp8",
        "RedHatAI/Qwen2.5-VL-72B-Instruct-FP8-Dynamic",
    ),
    ("gpt-oss-120b", "openai/gpt-oss-120b"),
    ("gpt-oss-20b", "openai/gpt-oss-20b"),
    ("llama-3.1-8b", "meta-llama/Llama-3.1-8B-Instruct"),
    ("llama-3.3-70b", "meta-llama/Llama-3.3-70B-Instruct"),
    ("qwen3-14b", "Qwen/Qwen3-14B"),
    ("qwen3-30b-a3b", "Qwen/Qwen3-30B-A3B"),
    ("gemma-3-27b", "google/gemma-3-27b-it"),
    (
        "r1-distill-qwen-32b",
        "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B",
    ),
];

/// The Hugging Face id of a shipped model; `None` for any other name.
#[must_use]
pub fn hub_id(name: &str) -> Option<&'static str> {
    let found = IDS
        .iter()
        .find(|(shipped, _)| shipped.eq_ignore_ascii_case(name));
    found.map(|(_, id)| *id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ModelFacts, builtin_names};

    #[test]
    fn every_shipped_model_has_an_id_that_leads_back_to_it() {
        for name in builtin_names() {
            let id = hub_id(name).unwrap_or_else(|| panic!("{name} has no id"));
            let facts = ModelFacts::builtin(id).unwrap_or_else(|| panic!("{id} is not known"));
            assert_eq!(facts.name, name);
        }
        assert_eq!(IDS.len(), builtin_names().len());
        assert_eq!(hub_id("/models/llama-3.1-8b"), None);
    }
}

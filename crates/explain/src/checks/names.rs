//! Whether two names are of different models: by the facts behind them where they are known, else by the sizes that they say.

use std::collections::BTreeSet;

use tp_plan::ModelFacts;

/// Whether two names are of models of different shape or weights; a name that says nothing is no other.
pub(super) fn differ(a: &str, b: &str) -> bool {
    match (known(a), known(b)) {
        (Some(a), Some(b)) => {
            let of = |facts: &ModelFacts| (facts.hidden, facts.layers, facts.weights);
            of(&a) != of(&b)
        }
        _ => sizes_differ(a, b),
    }
}

/// Whether a name is of a model of another shape than these facts; weights may be stored otherwise by a flag of the server.
pub(super) fn differs_from(facts: &ModelFacts, name: &str) -> bool {
    match known(name) {
        Some(other) => (other.hidden, other.layers) != (facts.hidden, facts.layers),
        None => sizes_differ(&facts.name, name),
    }
}

fn known(name: &str) -> Option<ModelFacts> {
    ModelFacts::builtin(name).or_else(|| ModelFacts::builtin(last_part(name)))
}

fn last_part(name: &str) -> &str {
    let name = name.trim_end_matches('/');
    name.rsplit('/').next().unwrap_or(name)
}

fn sizes_differ(a: &str, b: &str) -> bool {
    let (a, b) = (sizes(a), sizes(b));
    !a.is_empty() && !b.is_empty() && a != b
}

/// The words of a name that count parameters, such as `72b` or `0.5b`.
fn sizes(name: &str) -> BTreeSet<String> {
    let is_size = |word: &&str| {
        let number = word.strip_suffix('b').or_else(|| word.strip_suffix('m'));
        number.is_some_and(|number| number.parse::<f64>().is_ok())
    };
    let name = last_part(name).to_ascii_lowercase();
    let words = name.split(|c: char| !c.is_alphanumeric() && c != '.');
    words.filter(is_size).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_model_has_many_spellings() {
        for (a, b) in [
            ("Qwen/Qwen2.5-72B-Instruct", "/models/qwen2.5-72b-instruct/"),
            ("Qwen2.5-72B-Instruct-FP8", "qwen2.5-72b-fp8"),
            ("acme/Nova-7B-Chat", "nova-7b"),
            ("my-model", "qwen2.5-72b"),
        ] {
            assert!(!differ(a, b), "{a} {b}");
        }
    }

    #[test]
    fn other_shapes_types_and_sizes_are_other_models() {
        for (a, b) in [
            ("qwen2.5-72b", "qwen2.5-72b-fp8"),
            ("gpt-oss-20b", "openai/gpt-oss-120b"),
            ("acme/nova-7b", "acme/nova-13b"),
        ] {
            assert!(differ(a, b), "{a} {b}");
        }
        let facts = ModelFacts::builtin("qwen2.5-72b-fp8").unwrap();
        let others = [
            "my-model",
            "Qwen/Qwen2.5-72B-Instruct",
            "llama-3.1-8b",
            "my-qwen-7b",
        ];
        assert_eq!(
            others.map(|name| differs_from(&facts, name)),
            [false, false, true, true]
        );
    }
}

//! Whether two names are of one model: by the facts behind them where they are known, else by their words.

use std::collections::BTreeSet;

use tp_plan::ModelFacts;

/// Words of a model's name that change neither its shape nor its weights' type.
const OF_NO_SHAPE: [&str; 6] = ["instruct", "chat", "it", "hf", "dynamic", "base"];

/// Words that say that a model reads images.
const OF_IMAGES: [&str; 3] = ["vl", "vision", "omni"];

/// How two names stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kin {
    /// They are of one model.
    Same,
    /// They are of two.
    Other,
    /// The names do not tell.
    Unknown,
}

impl Kin {
    /// The same where both names or neither say that the model reads images: its language part alone may be that of the other.
    fn of_images(self, a: &str, b: &str) -> Self {
        match self == Self::Same && reads_images(a) != reads_images(b) {
            true => Self::Unknown,
            false => self,
        }
    }
}

/// Whether two names are of one model.
pub(super) fn kin(a: &str, b: &str) -> Kin {
    let kin = match (known(a), known(b)) {
        (Some(a), Some(b)) => {
            let of = |facts: &ModelFacts| (facts.hidden, facts.layers, facts.weights);
            when(of(&a) == of(&b))
        }
        _ => by_words(a, b),
    };
    kin.of_images(a, b)
}

/// Whether a name is of the model of these facts, however its weights are stored: that may have been a flag.
pub(super) fn kin_of_facts(facts: &ModelFacts, name: &str) -> Kin {
    let kin = match known(name) {
        Some(other) => when((other.hidden, other.layers) == (facts.hidden, facts.layers)),
        None => by_words(&facts.name, name),
    };
    kin.of_images(&facts.name, name)
}

/// Whether a name says that the model reads images, too: its language part may be that of another one, and it is another model.
fn reads_images(name: &str) -> bool {
    words(name)
        .iter()
        .any(|word| OF_IMAGES.contains(&word.as_str()))
}

fn when(same: bool) -> Kin {
    if same { Kin::Same } else { Kin::Other }
}

/// A shipped model, also by its name in a folder of models.
fn known(name: &str) -> Option<ModelFacts> {
    ModelFacts::builtin(name).or_else(|| ModelFacts::builtin(last_part(name)))
}

/// `Org/Model` and `/models/Model` are one model.
fn last_part(name: &str) -> &str {
    let name = name.trim_end_matches('/');
    name.rsplit('/').next().unwrap_or(name)
}

fn by_words(a: &str, b: &str) -> Kin {
    let (a, b) = (words(a), words(b));
    let sizes = |words: &BTreeSet<String>| -> Vec<String> {
        words.iter().filter(|word| is_size(word)).cloned().collect()
    };
    let (of_a, of_b) = (sizes(&a), sizes(&b));
    if a == b {
        Kin::Same
    } else if !of_a.is_empty() && !of_b.is_empty() && of_a != of_b {
        Kin::Other
    } else {
        Kin::Unknown
    }
}

fn words(name: &str) -> BTreeSet<String> {
    let name = last_part(name).to_ascii_lowercase();
    name.split(|c: char| !c.is_alphanumeric() && c != '.')
        .filter(|word| !word.is_empty() && !OF_NO_SHAPE.contains(word))
        .map(str::to_owned)
        .collect()
}

/// Whether a word counts parameters, such as `72b` or `0.5b`.
fn is_size(word: &str) -> bool {
    let number = word.strip_suffix('b').or_else(|| word.strip_suffix('m'));
    number.is_some_and(|number| number.parse::<f64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_model_has_many_spellings() {
        for (a, b) in [
            ("Qwen/Qwen2.5-72B-Instruct", "/models/qwen2.5-72b-instruct/"),
            ("Qwen2.5-72B-Instruct-FP8", "qwen2.5-72b-fp8"),
            (
                "/models/Qwen2.5-72B-Instruct-FP8-dynamic",
                "Qwen2.5-72B-Instruct-FP8",
            ),
            ("acme/Nova-7B-Chat", "nova-7b"),
        ] {
            assert_eq!(kin(a, b), Kin::Same, "{a} {b}");
        }
    }

    #[test]
    fn other_shapes_types_and_sizes_are_other_models() {
        for (a, b) in [
            ("qwen2.5-72b", "qwen2.5-72b-fp8"),
            ("gpt-oss-20b", "openai/gpt-oss-120b"),
            ("acme/nova-7b", "acme/nova-13b"),
        ] {
            assert_eq!(kin(a, b), Kin::Other, "{a} {b}");
        }
    }

    #[test]
    fn a_model_that_reads_images_is_not_taken_for_the_one_that_does_not() {
        let (text, images) = ("qwen2.5-72b-fp8", "Qwen/Qwen2.5-VL-72B-Instruct-FP8");
        assert_eq!(kin(text, images), Kin::Unknown);
        assert_eq!(kin("qwen2.5-vl-72b-fp8", images), Kin::Same);
        let of = |name| kin_of_facts(&ModelFacts::builtin(name).unwrap(), images);
        assert_eq!(of(text), Kin::Unknown);
        assert_eq!(of("qwen2.5-vl-72b-fp8"), Kin::Same);
    }

    #[test]
    fn a_name_of_ones_own_tells_nothing() {
        assert_eq!(kin("my-model", "qwen2.5-72b"), Kin::Unknown);
        let facts = ModelFacts::builtin("qwen2.5-72b-fp8").unwrap();
        assert_eq!(kin_of_facts(&facts, "my-model"), Kin::Unknown);
        // Weights may be stored otherwise by a flag of the server.
        assert_eq!(kin_of_facts(&facts, "Qwen/Qwen2.5-72B-Instruct"), Kin::Same);
        assert_eq!(kin_of_facts(&facts, "llama-3.1-8b"), Kin::Other);
        assert_eq!(kin_of_facts(&facts, "my-qwen-7b"), Kin::Other);
    }
}

//! Whether two names are of one kind of GPU: drivers, engines, vendors and users spell them in their own ways.
//!
//! It knows no list of GPUs: a name is its first word with a digit, and what stands around that.

/// Words before a GPU's name that say whose it is.
const VENDORS: [&str; 7] = [
    "nvidia", "geforce", "tesla", "amd", "radeon", "instinct", "metax",
];

/// Words behind the number that make it another GPU.
const KINDS: [&str; 9] = [
    "d", "dd", "ti", "super", "xt", "xtx", "gre", "laptop", "mobile",
];

/// What stands before a number in one spelling and not in another: `RTX4090` is a 4090, `MXC500` a C500.
const BEFORE: [&str; 6] = ["rtx", "gtx", "rx", "mx", "nvidia", "amd"];

/// How a GPU is built in, where the name says.
const FORMS: [&str; 3] = ["pcie", "sxm", "nvl"];

/// Generations that names state: one number stands for GPUs of several.
const GENERATIONS: [&str; 5] = ["turing", "ampere", "ada", "hopper", "blackwell"];

/// Products of one chip, by their power and cooling: `Max-Q Workstation Edition` is another one than `Workstation Edition`. A virtual
/// GPU says `DC`.
const EDITIONS: [&str; 4] = ["max", "workstation", "server", "dc"];

/// What a virtual GPU says.
const VIRTUAL: &str = "dc";

/// The edition that virtual GPUs are made of.
const OF_VIRTUAL: &str = "server";

/// Memory that two names state may lie this far apart: 79.1 GB of 80.
const SAME_MEMORY: f64 = 1.2;

/// A name in its parts.
struct Parts {
    /// Its first word with a digit, and what makes it another GPU behind that.
    number: Option<String>,
    /// The compiler's name of its kind, such as `gfx942`.
    compiled_for: Option<String>,
    form: Option<&'static str>,
    generation: Option<&'static str>,
    edition: Option<&'static str>,
    /// Whether it is of the line `RTX PRO`, whose numbers an earlier line has, too.
    is_pro: bool,
    memory_gb: Option<f64>,
}

/// A name up to its first word with a digit, without how many they are and whose: `RTX PRO 6000 Blackwell Server Edition` and
/// `NVIDIA RTX Pro 6000 Blackwell DC-4-96Q` are one GPU, `L40` and `L40S` are two.
pub(crate) fn gpu_key(name: &str) -> Vec<String> {
    let mut key = Vec::new();
    for word in words(name) {
        let is_number = word.contains(|c: char| c.is_ascii_digit());
        key.push(word);
        if is_number {
            break;
        }
    }
    key
}

/// Whether two names are surely of two kinds of GPU.
#[must_use]
pub fn is_another_gpu(a: &str, b: &str) -> bool {
    differ(a, b) == Some(true)
}

/// Whether two names are of two kinds of GPU: their numbers differ, or the form or memory that both state; `None` where the names do
/// not tell, as a marketing name beside a compiler's.
pub(crate) fn differ(a: &str, b: &str) -> Option<bool> {
    let (a, b) = (Parts::of(a), Parts::of(b));
    if let (Some(a), Some(b)) = (&a.compiled_for, &b.compiled_for) {
        return Some(a != b);
    }
    let (of_a, of_b) = (a.number.as_ref()?, b.number.as_ref()?);
    if a.compiled_for.as_ref() == Some(of_a) || b.compiled_for.as_ref() == Some(of_b) {
        return None;
    }
    if of_a != of_b {
        let is_longer = |long: &str, short: &str| {
            let before = long.strip_suffix(short);
            before.is_some_and(|before| BEFORE.contains(&before))
        };
        if is_longer(of_a, of_b) || is_longer(of_b, of_a) {
            return Some(false);
        }
        // `A6000` may be what somebody calls a 6000.
        let is_told = !of_a.ends_with(of_b.as_str()) && !of_b.ends_with(of_a.as_str());
        return is_told.then_some(true);
    }
    let generations = a.generation.zip(b.generation);
    if generations.is_some_and(|(a, b)| a != b) {
        return Some(true);
    }
    if a.is_pro != b.is_pro && generations.is_none() {
        return None;
    }
    let forms = a.form.zip(b.form);
    let memory = a.memory_gb.zip(b.memory_gb);
    let is_far = |(a, b): (f64, f64)| a.max(b) > SAME_MEMORY * a.min(b);
    if forms.is_some_and(|(a, b)| a != b) || memory.is_some_and(is_far) {
        return Some(true);
    }
    match a.edition.zip(b.edition) {
        Some((a, b)) if a == b || [(a, b), (b, a)].contains(&(VIRTUAL, OF_VIRTUAL)) => Some(false),
        Some((VIRTUAL, _) | (_, VIRTUAL)) => None,
        Some(_) => Some(true),
        None => Some(false),
    }
}

impl Parts {
    fn of(name: &str) -> Self {
        let words: Vec<String> = words(name).collect();
        let has_digit = |word: &&String| word.contains(|c: char| c.is_ascii_digit());
        let at = words.iter().position(|word| has_digit(&word));
        let behind = at.map_or(&[][..], |at| words.get(at + 1..).unwrap_or_default());
        let number = at.and_then(|at| words.get(at)).map(|number| {
            let kinds = behind
                .iter()
                .take_while(|word| KINDS.contains(&word.as_str()));
            let kinds: Vec<&str> = kinds.map(String::as_str).collect();
            format!("{number}{}", kinds.concat())
        });
        let is_compiled = |word: &&String| {
            let of = word.strip_prefix("gfx");
            of.is_some_and(|of| of.starts_with(|c: char| c.is_ascii_digit()))
        };
        let stated = FORMS
            .into_iter()
            .find(|form| behind.iter().any(|word| word.starts_with(form)));
        let is_pro = words.windows(2).any(|pair| pair == ["rtx", "pro"]);
        let told = GENERATIONS
            .into_iter()
            .find(|generation| words.iter().any(|word| word == generation));
        // The driver names an H100 in an SXM socket by its memory.
        let by_memory =
            number.as_deref() == Some("h100") && behind.iter().any(|word| word == "hbm3");
        let memory = behind.iter().enumerate().find_map(|(index, word)| {
            let joined = word.strip_suffix("gb");
            let apart = || {
                behind
                    .get(index + 1)
                    .filter(|next| *next == "gb")
                    .map(|_| word.as_str())
            };
            joined.or_else(apart)?.parse::<f64>().ok()
        });
        let edition = EDITIONS
            .into_iter()
            .find(|edition| behind.iter().any(|word| word == edition));
        Self {
            edition,
            compiled_for: words.iter().find(is_compiled).cloned(),
            form: stated.or(by_memory.then_some("sxm")),
            // The first of that line are of this generation.
            generation: told.or(is_pro.then_some("blackwell")),
            is_pro,
            memory_gb: memory.filter(|gb| *gb > 0.0),
            number,
        }
    }
}

/// The words of a name in lower case, without how many there are and whose they are.
fn words(name: &str) -> impl Iterator<Item = String> {
    let name = name.trim().to_lowercase();
    let name = without_count(&name);
    // A point is part of `79.1gb`, and of `4g.96gb`, which is no GPU's memory.
    let words = name.split(|c: char| !c.is_alphanumeric() && c != '.');
    let words = words.filter(|word| !word.is_empty() && !VENDORS.contains(word));
    words.map(str::to_owned).collect::<Vec<_>>().into_iter()
}

/// Without `8x `, `8 x ` or `8×` before it.
fn without_count(name: &str) -> &str {
    let rest = name.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == name.len() {
        return name;
    }
    let rest = rest.trim_start().strip_prefix(['x', '×', '*']);
    rest.map_or(name, str::trim_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_told_apart_by_number_form_and_memory() {
        for (a, b) in [
            ("NVIDIA L40", "NVIDIA RTX Pro 6000 Blackwell DC-4-96Q"),
            ("NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3"),
            ("NVIDIA L40", "NVIDIA L40S"),
            ("RTX 4090", "NVIDIA GeForce RTX 4090 D"),
            ("NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB"),
            ("A100 40 GB", "A100 80GB"),
            ("NVIDIA H100 PCIe", "NVIDIA H100 80GB HBM3"),
            ("H100 PCIe", "H100 SXM"),
            ("NVIDIA A100 80GB PCIe", "NVIDIA A100-SXM4-80GB"),
            ("2x L40", "2x L40S"),
            ("gfx942", "gfx1201"),
            ("RTX 6000 Ada", "RTX PRO 6000 Blackwell"),
            (
                "NVIDIA RTX 6000 Ada Generation",
                "NVIDIA RTX Pro 6000 Blackwell DC-4-96Q",
            ),
            ("RTX 6000 Ada Generation", "RTX PRO 6000"),
            ("RTX 5000 Ada Generation", "RTX PRO 5000 Blackwell"),
            (
                "RTX PRO 6000 Blackwell Workstation Edition",
                "RTX PRO 6000 Blackwell Server Edition",
            ),
            (
                "RTX PRO 6000 Blackwell Workstation Edition",
                "RTX PRO 6000 Blackwell Max-Q Workstation Edition",
            ),
        ] {
            assert_eq!(differ(a, b), Some(true), "{a} and {b}");
            assert_eq!(differ(b, a), Some(true), "{b} and {a}");
        }
    }

    #[test]
    fn one_gpu_has_many_spellings() {
        for (a, b) in [
            ("MXC500", "MetaX C500"),
            (
                "NVIDIA RTX PRO 6000 Blackwell Server Edition 96GB",
                "NVIDIA RTX Pro 6000 Blackwell DC-4-96Q MIG 4g.96gb",
            ),
            ("1x NVIDIA L40", "2 x L40"),
            ("8×H100", "NVIDIA H100 80GB HBM3"),
            ("H100 SXM5 79.1 GB", "NVIDIA H100 80GB HBM3"),
            ("RTX4090", "NVIDIA GeForce RTX 4090"),
            ("4090D", "RTX 4090 D"),
            ("RTX PRO 6000", "RTX PRO 6000 Blackwell Server Edition"),
            ("RTX 6000 Ada", "NVIDIA RTX 6000 Ada Generation"),
            ("AMD Instinct MI300X (gfx942)", "gfx942:sramecc+:xnack-"),
        ] {
            assert_eq!(differ(a, b), Some(false), "{a} and {b}");
            assert_eq!(differ(b, a), Some(false), "{b} and {a}");
        }
    }

    #[test]
    fn names_of_two_kinds_tell_nothing() {
        for (a, b) in [
            ("AMD Radeon Graphics", "AMD Radeon AI PRO R9700"),
            ("gfx1201", "AMD Radeon AI PRO R9700"),
            ("2x gfx942", "AMD Instinct MI300X"),
            ("RTX A6000", "RTX 6000 Ada Generation"),
            ("RTX 6000", "RTX PRO 6000 Blackwell"),
            (
                "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
                "NVIDIA RTX Pro 6000 Blackwell DC-4-96Q",
            ),
        ] {
            assert_eq!(differ(a, b), None, "{a} and {b}");
            assert!(!is_another_gpu(b, a), "{b} and {a}");
        }
    }

    #[test]
    fn a_gpu_is_known_by_its_name_up_to_the_number() {
        let same = |a, b| gpu_key(a) == gpu_key(b);
        assert!(same(
            "NVIDIA RTX Pro 6000 Blackwell DC-4-96Q",
            "2x RTX PRO 6000 Blackwell Server Edition"
        ));
        assert!(same("NVIDIA A100-SXM4-80GB", "a100"));
        assert!(!same("NVIDIA L40", "NVIDIA L40S"));
        assert!(!same("NVIDIA RTX 6000 Ada Generation", "RTX PRO 6000"));
    }
}

//! Whether two names are of one kind of GPU: a name is its words up to the first number, whoever writes it.

/// Words before a GPU's name that say whose it is.
const VENDORS: [&str; 7] = [
    "nvidia", "geforce", "tesla", "amd", "radeon", "instinct", "metax",
];

/// A name up to its first word with a digit, without whose it is: `RTX PRO 6000 Blackwell Server Edition` and
/// `NVIDIA RTX Pro 6000 Blackwell DC-4-96Q` are one GPU, `L40` and `L40S` are two. `None` without such a word.
pub(crate) fn gpu_key(name: &str) -> Option<String> {
    let name = name.to_lowercase();
    // `8x `, `8 x ` and `8×` count GPUs.
    let rest = name.trim_start_matches(|c: char| c.is_ascii_digit());
    let counted = rest.trim_start().strip_prefix(['x', '×']);
    let name = counted.filter(|_| rest.len() < name.len()).unwrap_or(&name);
    let mut key = String::new();
    for word in name.split(|c: char| !c.is_alphanumeric()) {
        if VENDORS.contains(&word) {
            continue;
        }
        key.push_str(word);
        if word.contains(|c: char| c.is_ascii_digit()) {
            return Some(key);
        }
    }
    None
}

/// Whether two names are surely of two kinds of GPU; a marketing name beside a compiler's, such as `gfx1201`, tells nothing.
pub(crate) fn differ(a: &str, b: &str) -> bool {
    let Some((a, b)) = gpu_key(a).zip(gpu_key(b)) else {
        return false;
    };
    let is_one_naming = a.starts_with("gfx") == b.starts_with("gfx");
    is_one_naming && !a.ends_with(&b) && !b.ends_with(&a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_told_apart_up_to_their_number() {
        for (a, b) in [
            ("NVIDIA L40", "NVIDIA RTX Pro 6000 Blackwell DC-4-96Q"),
            ("NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3"),
            ("2x NVIDIA L40", "2x L40S"),
            ("gfx942", "gfx1201"),
            ("NVIDIA RTX 6000 Ada Generation", "RTX PRO 6000"),
        ] {
            assert!(differ(a, b) && differ(b, a), "{a} and {b}");
        }
        for (a, b) in [
            ("MXC500", "MetaX C500"),
            ("1x NVIDIA L40", "2 x L40"),
            ("8×H100", "NVIDIA H100 80GB HBM3"),
            ("RTX4090", "NVIDIA GeForce RTX 4090"),
            ("RTX PRO 6000", "NVIDIA RTX Pro 6000 Blackwell DC-4-96Q"),
            ("gfx1201", "AMD Radeon AI PRO R9700"),
            ("AMD Radeon Graphics", "AMD Radeon AI PRO R9700"),
        ] {
            assert!(!differ(a, b) && !differ(b, a), "{a} and {b}");
        }
    }
}

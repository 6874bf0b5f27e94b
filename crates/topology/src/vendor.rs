//! PCI numbers of GPU vendors, and what a device number or a name tells of NVLink, which no file of sysfs shows.

/// NVIDIA's PCI vendor number.
pub const NVIDIA: u16 = 0x10de;

/// The PCI vendor number of AMD's graphics; its host bridges and ports have another one, 0x1022.
pub const AMD: u16 = 0x1002;

/// MetaX's PCI vendor number.
pub const METAX: u16 = 0x9999;

/// Names of NVIDIA's cards, in words, and whether they have NVLink, built in or by a bridge; the first row that fits counts. A `?` stands for
/// a letter or a digit.
///
/// Cards of HGX are from NVIDIA's page on NVSwitch with vGPU; those that take a bridge up to RTX 3090 and RTX A6000 from Puget Systems' charts
/// (articles 1330 of 2019 and 2074 of 2021); RTX 2070 SUPER from a list of PC Pro's, and that TU106 has none from TechPowerUp. For the other
/// rows no source was opened. A card that can take a bridge may have none.
const NVLINK: &[(&str, bool)] = &[
    ("SXM", true),
    ("SXM?", true),
    ("HGX", true),
    // Pascal and Volta.
    ("GP100", true),
    ("P100", true),
    ("GV100", true),
    ("V100", true),
    ("V100S", true),
    // Turing: TU102, and those of TU104 with a connector.
    ("QUADRO RTX 5000", true),
    ("QUADRO RTX 6000", true),
    ("QUADRO RTX 8000", true),
    ("TITAN RTX", true),
    ("RTX 2080", true),
    ("RTX 2070 SUPER", true),
    // Ampere: GA100, and of GA102 those with a connector.
    ("A100", true),
    ("A100?", true),
    ("A800", true),
    ("A30", true),
    ("A40", true),
    ("RTX A4500", true),
    ("RTX A5000", true),
    ("RTX A5500", true),
    ("RTX A6000", true),
    ("RTX 3090", true),
    // Hopper and Blackwell of the data centre.
    ("H100", true),
    ("H200", true),
    ("H20", true),
    ("H800", true),
    ("GH200", true),
    ("B100", true),
    ("B200", true),
    ("B300", true),
    ("GB200", true),
    ("GB300", true),
    // Without.
    ("ADA GENERATION", false),
    ("RTX PRO", false),
    ("RTX 20??", false),
    ("RTX 30??", false),
    ("RTX 40??", false),
    ("RTX 50??", false),
    ("RTX A2000", false),
    ("RTX A4000", false),
    ("L4", false),
    ("L20", false),
    ("L40", false),
    ("L40S", false),
    ("A2", false),
    ("A10", false),
    ("A10G", false),
    ("A16", false),
    ("T4", false),
    ("P4", false),
    ("P40", false),
];

/// Whether a card of NVIDIA's with this name, as its driver gives it, has NVLink or takes a bridge; `None` where the name is not known.
#[must_use]
pub fn nvlink_by_name(name: &str) -> Option<bool> {
    let upper = name.to_ascii_uppercase();
    let words: Vec<&str> = upper
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let fits = |word: &str, pattern: &str| {
        word.len() == pattern.len()
            && word
                .bytes()
                .zip(pattern.bytes())
                .all(|(letter, wanted)| wanted == b'?' || letter == wanted)
    };
    let has = |row: &str| {
        let row: Vec<&str> = row.split(' ').collect();
        words.windows(row.len()).any(|part| {
            part.iter()
                .zip(&row)
                .all(|(word, pattern)| fits(word, pattern))
        })
    };
    let row = NVLINK.iter().find(|(row, _)| has(row));
    row.map(|(_, has_nvlink)| *has_nvlink)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_told_by_whole_words_of_their_names() {
        for (name, expected) in [
            // With a connector or on a board that links them.
            ("NVIDIA H200", Some(true)),
            ("NVIDIA H100 80GB HBM3", Some(true)),
            ("NVIDIA H20-3e", Some(true)),
            ("NVIDIA GH200 480GB", Some(true)),
            ("NVIDIA GB200", Some(true)),
            ("NVIDIA A100-SXM4-80GB", Some(true)),
            ("NVIDIA A100 80GB PCIe", Some(true)),
            ("NVIDIA A800 40GB Active", Some(true)),
            ("NVIDIA A40", Some(true)),
            ("NVIDIA RTX A6000", Some(true)),
            ("NVIDIA RTX A4500", Some(true)),
            ("NVIDIA GeForce RTX 3090 Ti", Some(true)),
            ("Tesla P100-SXM2-16GB", Some(true)),
            ("Tesla V100S-PCIE-32GB", Some(true)),
            ("Quadro GP100", Some(true)),
            ("Quadro GV100", Some(true)),
            ("Quadro RTX 5000", Some(true)),
            ("Quadro RTX 8000", Some(true)),
            ("NVIDIA TITAN RTX", Some(true)),
            ("NVIDIA GeForce RTX 2080 Ti", Some(true)),
            ("NVIDIA GeForce RTX 2070 SUPER", Some(true)),
            // Without.
            ("NVIDIA L40", Some(false)),
            ("NVIDIA L40S", Some(false)),
            ("NVIDIA A10", Some(false)),
            ("Tesla T4", Some(false)),
            ("NVIDIA RTX A4000", Some(false)),
            ("NVIDIA RTX 5000 Ada Generation", Some(false)),
            ("NVIDIA RTX 6000 Ada Generation", Some(false)),
            ("NVIDIA RTX PRO 6000 Blackwell Server Edition", Some(false)),
            ("Quadro RTX 4000", Some(false)),
            ("NVIDIA GeForce RTX 2070", Some(false)),
            ("NVIDIA GeForce RTX 3080", Some(false)),
            ("NVIDIA GeForce RTX 4090", Some(false)),
            ("NVIDIA GeForce RTX 5090", Some(false)),
            // Not known, which is no answer.
            ("NVIDIA XYZ9000", None),
            ("", None),
        ] {
            assert_eq!(nvlink_by_name(name), expected, "{name}");
        }
    }
}

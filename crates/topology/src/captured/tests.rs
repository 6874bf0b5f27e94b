//! All readers of foreign text and bytes, given mutated samples: none panics, every error is one line, what is read is whole.
//!
//! A test run takes 2,000 inputs and, with `TPLENS_FULL=1`, 20,000; `TPLENS_FUZZ=10000000` takes that many, `TPLENS_FUZZ_SEED` others.

use super::read;
use crate::{CpuSet, PathType, PciAddress, PcieLink};

/// Inputs of a test run, and of one with `TPLENS_FULL=1`.
const INPUTS: [u64; 2] = [2_000, 20_000];

const SAMPLES: [&str; 13] = [
    include_str!("../../tests/captured/texts/amd-smi-topology.2xrdna-pcie-p2p-disabled.txt"),
    include_str!("../../tests/captured/texts/mx-smi-L.line-format.txt"),
    include_str!("../../tests/captured/texts/mx-smi-topo-m.c500x8-node.txt"),
    include_str!("../../tests/captured/texts/mx-smi-topo-m.mxc500x4.txt"),
    include_str!("../../tests/captured/texts/mx-smi-topo-n.c500x8-nic6.txt"),
    include_str!("../../tests/captured/texts/numactl-H.a.txt"),
    include_str!("../../tests/captured/texts/numactl-H.b.txt"),
    include_str!("../../tests/captured/texts/nvidia-smi-L.mig.txt"),
    include_str!("../../tests/captured/texts/nvidia-smi-topo-m.2gpu-phb.txt"),
    include_str!("../../tests/captured/texts/nvidia-smi-topo-m.l40x4-2nic.txt"),
    include_str!("../../tests/captured/texts/nvidia-smi-topo-m.nv18-partial.txt"),
    include_str!("../../tests/captured/texts/nvidia-smi-topo-p2p-rw.2gpu.txt"),
    include_str!("../../tests/captured/texts/rocm-smi-showtopo.pcie4.txt"),
];

/// What the short readers are given to start from.
const SHORT: [&str; 12] = [
    "0000:21:00.0",
    "10000:e1:1f.7",
    "00000000:C1:00.0",
    "0-127,256-383",
    "0,2,4-6",
    "16.0 GT/s PCIe",
    "2.5 GT/s",
    "Unknown speed",
    "16",
    "NV18",
    "UNKNOWN",
    "XGMI",
];

/// Words and signs that the tools print, put where they do not belong.
const PIECES: [&str; 32] = [
    "\n",
    "\t",
    "\r\n",
    " ",
    ":",
    "[",
    "]",
    "\u{1b}[4m",
    "[0m",
    "\u{feff}",
    "GPU0",
    "GPU255",
    "GPU4294967296",
    "NIC0:",
    "X",
    "NV0",
    "NV256",
    "SYS",
    "N/A",
    "0-65535",
    "18446744073709551616",
    "-1",
    "65536-0",
    "(UUID: GPU-",
    " TABLE:",
    "Weight between two GPUs",
    "available: 1 nodes (0-4294967295)",
    "node distances:",
    "Attached GPUs : 0",
    "Device link type matrix",
    "\u{0}",
    "\u{fffd}",
];

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below this one, which is above 0.
    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % count as u64).unwrap()
    }

    fn one_of<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// Where a text may be cut.
    fn place(&mut self, text: &str) -> usize {
        let at = self.below(text.len() + 1);
        (0..=at)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap()
    }

    /// From one place to another, at most so far.
    fn range(&mut self, text: &str, most: usize) -> (usize, usize) {
        let from = self.place(text);
        let to = (from + self.below(most)).min(text.len());
        let to = (to..=text.len()).find(|at| text.is_char_boundary(*at));
        (from, to.unwrap())
    }

    fn mutate(&mut self, text: &mut String, other: &str) {
        match self.below(8) {
            0 => {
                let at = self.place(text);
                text.truncate(at);
            }
            1 => {
                let at = self.place(text);
                text.insert_str(at, self.one_of(&PIECES));
            }
            2 => {
                let (from, to) = self.range(text, 40);
                text.replace_range(from..to, "");
            }
            3 => {
                let (from, to) = self.range(text, 2);
                let byte = char::from(u8::try_from(self.below(128)).unwrap());
                text.replace_range(from..to, byte.encode_utf8(&mut [0; 4]));
            }
            4 => {
                let (from, to) = self.range(text, 8);
                text.replace_range(from..to, self.one_of(&PIECES));
            }
            5 => {
                let (from, to) = self.range(text, 400);
                let again = text[from..to].to_owned();
                let at = self.place(text);
                text.insert_str(at, &again);
            }
            6 => {
                let (from, to) = self.range(other, 400);
                let at = self.place(text);
                text.insert_str(at, &other[from..to]);
            }
            _ => {
                let mut lines: Vec<&str> = text.lines().collect();
                if lines.len() > 1 {
                    let (a, b) = (self.below(lines.len()), self.below(lines.len()));
                    lines.swap(a, b);
                    *text = lines.join("\n");
                }
            }
        }
    }

    fn text(&mut self, of: &[&str]) -> String {
        let mut text = self.one_of(of).to_owned();
        for _ in 0..=self.below(4) {
            let other = self.one_of(of);
            self.mutate(&mut text, other);
        }
        text
    }
}

/// What was read or why not; whatever the text was, it is of a sound form.
fn check_captured(text: &str) -> bool {
    let captured = match read(text) {
        Ok(captured) => captured,
        Err(error) => {
            let error = error.to_string();
            assert!(!error.contains(char::is_control), "{error:?}");
            assert!(error.len() < 500, "{error}");
            return false;
        }
    };
    if let Some(matrix) = &captured.matrix {
        let count = matrix.ends.len();
        assert!((1..=256).contains(&count) && matrix.classes.len() == count);
        for (a, row) in matrix.classes.iter().enumerate() {
            assert_eq!(row.len(), count);
            for (b, class) in row.iter().enumerate() {
                assert_eq!(*class, matrix.classes[b][a]);
                assert_eq!(*class == PathType::Same, a == b);
            }
        }
    }
    for table in &captured.tables {
        assert_eq!(table.cells.len(), table.ends.len());
        assert!(table.cells.iter().all(|row| row.len() == table.ends.len()));
    }
    assert!(captured.gpus.is_sorted_by(|a, b| a.number < b.number));
    assert!(captured.gpus.len() <= 512 && captured.nodes.len() <= 256);
    assert!(!captured.sources.is_empty());
    true
}

/// The readers of one word: what is read is read again from what it is shown as.
fn check_short(text: &str, second: &str) {
    if let Ok(address) = text.parse::<PciAddress>() {
        assert_eq!(address.to_string().parse(), Ok(address));
    }
    if let Ok(cpus) = text.parse::<CpuSet>() {
        assert_eq!(cpus.to_string().parse(), Ok(cpus));
    }
    if let Ok(class) = text.parse::<PathType>() {
        assert_eq!(class.name().parse(), Ok(class));
    }
    if let Some(link) = PcieLink::parse(text, second) {
        assert!(link.raw_gb_per_s() > 0.0);
    }
}

/// Configuration spaces: a list of capabilities that leads anywhere, cut anywhere.
fn check_config(dice: &mut Dice) {
    let mut config = vec![0; dice.below(4097)];
    for _ in 0..dice.below(64) {
        if !config.is_empty() {
            let at = dice.below(config.len());
            config[at] = u8::try_from(dice.below(256)).unwrap();
        }
    }
    // The pointer to the list, an entry in it, and the first extended capability are hit more often than by chance.
    let words = [(0x34, 0x40), (0x40, 0x10), (0x100, 0x0d), (0x102, 0x01)];
    for (at, value) in words {
        if let Some(byte) = config.get_mut(at).filter(|_| dice.below(2) == 0) {
            *byte = value;
        }
    }
    let _ = crate::acs::control_of(Some(&config));
    let _ = crate::express::settings(Some(&config));
    let _ = crate::express::payload(&config);
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn no_input_breaks_a_reader() {
    let inputs =
        number("TPLENS_FUZZ").unwrap_or(INPUTS[usize::from(number("TPLENS_FULL") == Some(1))]);
    let seed = number("TPLENS_FUZZ_SEED").unwrap_or(6);
    let mut dice = Dice(seed);
    let mut read = 0_u64;
    // Of ten inputs seven are captured texts, two words and one a configuration space.
    for input in 0..inputs {
        match input % 10 {
            0..7 => read += u64::from(check_captured(&dice.text(&SAMPLES))),
            7 | 8 => {
                let (text, second) = (dice.text(&SHORT), dice.text(&SHORT));
                check_short(&text, &second);
            }
            _ => check_config(&mut dice),
        }
    }
    println!(
        "{inputs} inputs from seed {seed}: {read} captured texts were read, the others refused"
    );
    // Mutations are small, so that both happen all the time.
    assert!(read > inputs / 20, "{read}");
}

//! [`read`]: which tools a text is of, and what each says.

use super::lists::{self, METAX, NUMACTL, NVIDIA, ROCM};
use super::matrix::{self, class, has_affinity, header};
use super::model::{Captured, CapturedError, CapturedFinding, PairTable, malformed};
use super::text::{Lines, Table, first, is_end, numbered, shown, words};
use crate::EndKind;

/// The commands that print tables of pairs, beside [`ROCM`].
const NVIDIA_TOPO: &str = "nvidia-smi topo -m";
const NVIDIA_P2P: &str = "nvidia-smi topo -p2p";
const METAX_TOPO: &str = "mx-smi topo";
const AMD: &str = "amd-smi topology";

/// Every tool that is known.
const TOOLS: [&str; 8] = [
    NUMACTL,
    METAX_TOPO,
    METAX,
    ROCM,
    AMD,
    NVIDIA,
    NVIDIA_P2P,
    NVIDIA_TOPO,
];

/// The word that no tool but `mx-smi` has.
const METAXLINK: &str = "MX";

/// The words of `nvidia-smi topo -p2p`, and what its legend says of them.
const STATUS: [&str; 9] = ["X", "OK", "CNS", "GNS", "TNS", "NS", "DR", "U", "N/A"];

/// What `-p2p` can be asked for.
const QUESTIONS: [(&str, &str); 6] = [
    ("r", "read"),
    ("w", "write"),
    ("rw", "read and write"),
    ("n", "NVLink"),
    ("a", "atomics"),
    ("p", "PCIe"),
];

/// The most tables of words; the tool with the most prints nine.
const MOST_TABLES: usize = 32;

/// What lines above an output said about it.
#[derive(Debug, Default)]
struct Heading {
    /// The last line that names a tool, as a shell's prompt shows it.
    command: String,
    /// Whether `mx-smi` printed what follows.
    is_metax: bool,
}

impl Heading {
    fn note(&mut self, line: &str) {
        const PROGRAMS: [&str; 5] = ["nvidia-smi", "mx-smi", "rocm-smi", "amd-smi", "numactl"];
        if PROGRAMS.iter().any(|program| line.contains(program)) {
            line.clone_into(&mut self.command);
        }
        self.is_metax |= line == "Device link type matrix" || line.starts_with("Attached GPUs");
    }
}

/// Reads a text that holds the output of one or more tools, whatever else stands around it.
///
/// Known are `nvidia-smi topo -m`, `topo -p2p` and `-L`, `rocm-smi --showtopo`, `amd-smi topology`, `mx-smi topo -m`, `topo -n` and `-L`,
/// and `numactl -H`. A matrix whose last rows are not in the text is read, and [`Captured::open`] says so.
///
/// # Errors
/// Names the first thing that is not as the tool prints it, or says that no known tool printed this.
pub fn read(text: &str) -> Result<Captured, CapturedError> {
    let mut lines = Lines::of(text);
    let mut captured = Captured::default();
    let mut seen = Heading::default();
    while !lines.is_over() {
        seen.note(lines.ahead(0));
        let Some(tool) = next(&mut lines, &seen, &mut captured)? else {
            lines.advance();
            continue;
        };
        seen = Heading::default();
        if !captured.sources.iter().any(|known| known == tool) {
            captured.sources.push(tool.to_owned());
        }
        if lines.ended() && !text.ends_with('\n') {
            let tool = tool.to_owned();
            captured.open.push(CapturedFinding::EndMissing { tool });
        }
    }
    if captured.sources.is_empty() {
        let tools = TOOLS.join(", ");
        return Err(CapturedError::Unknown { tools });
    }
    captured.class_link_types();
    captured.name_ends();
    Ok(captured)
}

/// Reads what begins at the next line, where something does; gives the tool that printed it.
fn next(
    lines: &mut Lines,
    seen: &Heading,
    captured: &mut Captured,
) -> Result<Option<&'static str>, CapturedError> {
    for list in [
        lists::numactl,
        lists::metax,
        lists::rocm_node,
        lists::nvidia,
    ] {
        if let Some(tool) = list(lines, captured)? {
            return Ok(Some(tool));
        }
    }
    let line = lines.ahead(0);
    if let Some((tool, about)) = title(line) {
        lines.advance_to_text();
        titled(lines, tool, about, captured)?;
        return Ok(Some(tool));
    }
    if let Some((name, label)) = legend(line) {
        let named = captured.nic(name).filter(|end| end.label.is_none());
        let named = named.filter(|_| !label.is_empty());
        let end = named.ok_or_else(|| {
            let what = format!(
                "{} of the legend is no column of a matrix above",
                shown(name)
            );
            malformed(NVIDIA_TOPO, lines.number(), what)
        })?;
        end.label = Some(label.to_owned());
        lines.advance();
        return Ok(Some(NVIDIA_TOPO));
    }
    if !is_header(lines) {
        let Some(header) = lacking_header(lines) else {
            return Ok(None);
        };
        lines.put(header);
    }
    let row = words(lines.below());
    let is_metax = seen.is_metax || row.iter().any(|word| word == METAXLINK);
    let has_class = row.iter().any(|word| word != "X" && class(word).is_some());
    let tool = match has_affinity(lines.ahead(0)) || has_class {
        _ if is_metax => METAX_TOPO,
        false if !seen.command.contains("topo -m") => NVIDIA_P2P,
        _ => NVIDIA_TOPO,
    };
    let here = lines.number();
    let (ends, titles) = header(lines.ahead(0)).map_err(|what| malformed(tool, here, what))?;
    let table = Table::read(lines, tool, ends)?;
    if tool == NVIDIA_P2P {
        captured.add_status(table, &seen.command)?;
        return Ok(Some(tool));
    }
    if captured.matrix.is_some() {
        let what = "a matrix stands in the text twice";
        return Err(malformed(tool, here, what));
    }
    let mut matrix = matrix::classes(&table)?;
    captured.open.extend(table.lacks());
    let unclear = matrix::affinities(&table, &titles, &mut matrix)?;
    captured.open.extend(unclear);
    captured.matrix = Some(matrix);
    Ok(Some(tool))
}

/// Whether the next line is a header of ends that no title stands above, with a row or nothing below it.
fn is_header(lines: &Lines) -> bool {
    let line = lines.ahead(0);
    let below = first(lines.below());
    let has_row = match below {
        "" => header(line).is_ok(),
        below => line.split_whitespace().any(|word| word == below),
    };
    let second = line.split_whitespace().nth(1);
    let is_gpu = line.starts_with("GPU") && numbered(first(line)).is_some();
    is_gpu && (has_affinity(line) || (second.is_none_or(is_end) && has_row))
}

/// The header of a matrix whose paste begins with its first row: GPUs in their order, then network cards, then the affinities that are
/// there.
fn lacking_header(lines: &Lines) -> Option<String> {
    let row = |ahead: usize| {
        let mut words = lines.ahead(ahead).split_whitespace();
        let is_own = words.next() == Some(format!("GPU{ahead}").as_str());
        is_own.then(|| words.collect::<Vec<&str>>())
    };
    let rows: Vec<Vec<&str>> = (0..).map_while(row).collect();
    let classes = |row: &Vec<&str>| row.iter().take_while(|cell| class(cell).is_some()).count();
    let columns = rows.iter().map(classes).min()?;
    // The columns of MetaX's affinities are in another order.
    if columns < 2 || rows[0][0] != "X" || rows[0].contains(&METAXLINK) {
        return None;
    }
    let gpus = (0..rows.len()).map(|number| format!("GPU{number}"));
    let nics = (0..columns.saturating_sub(rows.len())).map(|number| format!("NIC{number}"));
    let titles = ["CPU Affinity", "NUMA Affinity", "GPU NUMA ID"].map(str::to_owned);
    let beside = rows.iter().map(|row| row.len() - columns).max();
    let titles = titles.into_iter().take(beside.unwrap_or_default());
    let header: Vec<String> = gpus.chain(nics).chain(titles).collect();
    Some(header.join("\t"))
}

/// A network card's name in the matrix and in the system, of a line `NIC0: mlx5_0`.
fn legend(line: &str) -> Option<(&str, &str)> {
    let (name, label) = line.split_once(':')?;
    let is_nic = name.starts_with("NIC") && numbered(name).is_some();
    is_nic.then_some((name, label.trim()))
}

/// The tool and the words of a title: around those of `rocm-smi` `=` fills the line, those of `amd-smi` are capital letters.
fn title(line: &str) -> Option<(&'static str, String)> {
    let rocm = line
        .trim_matches(['=', ' '])
        .strip_suffix(" between two GPUs");
    let amd = line.strip_suffix(" TABLE:");
    let amd = amd.filter(|about| !about.contains(|c: char| c.is_ascii_lowercase()));
    let (tool, about) = rocm
        .map(|about| (ROCM, about))
        .or(amd.map(|about| (AMD, about)))?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == ' ' || c == '-';
    let is_title = (1..=64).contains(&about.len()) && about.chars().all(is_plain);
    is_title.then(|| (tool, about.to_lowercase()))
}

/// The table below a title; that of `amd-smi` is over the addresses of the GPUs.
fn titled(
    lines: &mut Lines,
    tool: &'static str,
    about: String,
    captured: &mut Captured,
) -> Result<(), CapturedError> {
    let table = Table::read(lines, tool, words(lines.ahead(0)))?;
    if tool == AMD {
        for (number, end) in (0..).zip(&table.ends) {
            let address = end.parse().ok();
            let gpu = captured.gpu(number);
            if address.is_none() || gpu.address.is_some_and(|known| Some(known) != address) {
                let what = format!("{} is not the address of GPU {number}", shown(end));
                return Err(malformed(tool, table.line, what));
            }
            gpu.address = address;
        }
    }
    captured.add_table(table, about)
}

impl Captured {
    /// A network card of the matrix.
    fn nic(&mut self, name: &str) -> Option<&mut crate::End> {
        let mut ends = self.matrix.as_mut()?.ends.iter_mut();
        ends.find(|end| end.kind == EndKind::Nic && end.name == name)
    }

    /// Takes a table of peer status, with what was asked for where the command stands above the output.
    fn add_status(&mut self, table: Table, command: &str) -> Result<(), CapturedError> {
        for row in table.rows.iter().flatten() {
            if let Some(word) = row
                .cells
                .iter()
                .find(|word| !STATUS.contains(&word.as_str()))
            {
                let what = format!("{} is no peer status", shown(word));
                return Err(malformed(NVIDIA_P2P, row.line, what));
            }
        }
        let mut asked = command
            .split_whitespace()
            .skip_while(|word| *word != "-p2p");
        let asked = asked.nth(1);
        let asked = QUESTIONS.iter().find(|(letter, _)| Some(*letter) == asked);
        self.add_table(
            table,
            match asked {
                Some((_, asked)) => format!("peer status ({asked})"),
                None => "peer status".to_owned(),
            },
        )
    }

    /// Takes a table of words.
    fn add_table(&mut self, table: Table, about: String) -> Result<(), CapturedError> {
        let same = |known: &PairTable| known.source == table.tool && known.about == about;
        if self.tables.iter().any(same) || self.tables.len() >= MOST_TABLES {
            let what =
                format!("the table of {about} stands in the text twice, or is one of too many");
            return Err(malformed(table.tool, table.line, what));
        }
        self.open.extend(table.lacks());
        self.tables.push(table.into_words(about)?);
        Ok(())
    }

    /// Makes the matrix from the link types of AMD's tools where no tool printed classes.
    fn class_link_types(&mut self) {
        if self.matrix.is_none() {
            let made = |tool| matrix::of_link_types(self, tool);
            self.matrix = [ROCM, AMD].into_iter().find_map(made);
            let is_coarse = |matrix: &&mut crate::Matrix| {
                let mut classes = matrix.classes.iter().flatten();
                classes.any(|class| *class == crate::PathType::Unknown)
            };
            if let Some(matrix) = self.matrix.as_mut().filter(is_coarse) {
                let tool = matrix.source.clone();
                self.open.push(CapturedFinding::ClassesCoarse { tool });
            }
        }
    }

    /// Gives the ends of the matrix what the lists say of them.
    fn name_ends(&mut self) {
        let Some(matrix) = &mut self.matrix else {
            return;
        };
        for gpu in &self.gpus {
            let name = format!("GPU{}", gpu.number);
            if let Some(end) = matrix.ends.iter_mut().find(|end| end.name == name) {
                end.label = end.label.take().or_else(|| gpu.name.clone());
                end.address = end.address.or(gpu.address);
                end.node = end.node.or(gpu.node);
            }
        }
    }
}

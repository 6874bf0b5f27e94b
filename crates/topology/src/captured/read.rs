//! [`read`]: which tools a text is of, and what each says.

use super::heading::Heading;
use super::lines::Lines;
use super::{
    Captured, CapturedError, CapturedFinding, amd_smi, classes, metax, numactl, nvidia_list,
    nvidia_p2p, nvidia_topo, rocm_smi,
};

/// The most bytes that are read; the outputs of all tools on the largest boxes are far shorter.
const MOST_BYTES: usize = 1 << 20;

/// A tool's output: how it begins, and what reads it from that line on.
struct Reader {
    tool: &'static str,
    begins: fn(&Lines, &Heading) -> bool,
    read: fn(&mut Lines, &Heading, &mut Captured) -> Result<(), CapturedError>,
}

/// Each kind of output; where a line begins several, the first one counts.
const READERS: [Reader; 10] = [
    Reader {
        tool: numactl::TOOL,
        begins: numactl::begins,
        read: numactl::read,
    },
    Reader {
        tool: metax::TOPO,
        begins: metax::begins_matrix,
        read: metax::read_matrix,
    },
    Reader {
        tool: metax::LIST,
        begins: metax::begins_list,
        read: metax::read_list,
    },
    Reader {
        tool: rocm_smi::TOOL,
        begins: rocm_smi::begins,
        read: rocm_smi::read,
    },
    Reader {
        tool: amd_smi::TOOL,
        begins: amd_smi::begins,
        read: amd_smi::read,
    },
    Reader {
        tool: nvidia_list::TOOL,
        begins: nvidia_list::begins,
        read: nvidia_list::read,
    },
    Reader {
        tool: nvidia_p2p::TOOL,
        begins: nvidia_p2p::begins,
        read: nvidia_p2p::read,
    },
    Reader {
        tool: nvidia_topo::TOOL,
        begins: nvidia_topo::begins,
        read: nvidia_topo::read,
    },
    Reader {
        tool: nvidia_topo::TOOL,
        begins: nvidia_topo::begins_without_header,
        read: nvidia_topo::read_without_header,
    },
    Reader {
        tool: nvidia_topo::TOOL,
        begins: nvidia_topo::begins_legend,
        read: nvidia_topo::read_legend,
    },
];

/// Reads a text that holds the output of one or more tools, whatever else stands around it.
///
/// Known are `nvidia-smi topo -m`, `topo -p2p` and `-L`, `rocm-smi --showtopo`, `amd-smi topology`, `mx-smi topo -m`, `topo -n` and `-L`,
/// and `numactl -H`. A matrix whose last rows are not in the text is read, and [`Captured::open`] says so.
///
/// # Errors
/// Names the first thing that is not as the tool prints it, or says that no known tool printed this.
pub fn read(text: &str) -> Result<Captured, CapturedError> {
    if text.len() > MOST_BYTES {
        return Err(CapturedError::TooLong {
            bytes: text.len(),
            most: MOST_BYTES,
        });
    }
    let mut lines = Lines::of(text);
    let mut captured = Captured::default();
    let mut seen = Heading::default();
    while let Some(line) = lines.peek() {
        seen.note(line);
        match READERS.iter().find(|reader| (reader.begins)(&lines, &seen)) {
            None => lines.advance(),
            Some(reader) => {
                let began = lines.number();
                if !captured.sources.iter().any(|known| known == reader.tool) {
                    captured.sources.push(reader.tool.to_owned());
                }
                (reader.read)(&mut lines, &seen, &mut captured)?;
                seen = Heading::default();
                if lines.number() == began {
                    lines.advance();
                }
                if lines.ended() && !text.ends_with('\n') {
                    let tool = reader.tool.to_owned();
                    captured.open.push(CapturedFinding::EndMissing { tool });
                }
            }
        }
    }
    if captured.sources.is_empty() {
        let mut tools: Vec<&str> = READERS.iter().map(|reader| reader.tool).collect();
        tools.dedup();
        return Err(CapturedError::Unknown {
            tools: tools.join(", "),
        });
    }
    classes::from_link_types(&mut captured, &[rocm_smi::TOOL, amd_smi::TOOL]);
    captured.name_ends();
    Ok(captured)
}

impl Captured {
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

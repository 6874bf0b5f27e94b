//! [`Heading`]: what stands above an output and says which tool it is of.

/// What lines above an output said about it.
#[derive(Debug, Default)]
pub(super) struct Heading {
    /// The last line that names a tool, as a shell's prompt shows it.
    pub(super) command: String,
    /// `Attached GPUs` of `mx-smi`.
    pub(super) attached: Option<usize>,
}

impl Heading {
    pub(super) fn note(&mut self, line: &str) {
        const PROGRAMS: [&str; 5] = ["nvidia-smi", "mx-smi", "rocm-smi", "amd-smi", "numactl"];
        if PROGRAMS.iter().any(|program| line.contains(program)) {
            line.clone_into(&mut self.command);
        }
        self.attached = attached(line).or(self.attached);
    }
}

/// How many GPUs the line `Attached GPUs` says.
fn attached(line: &str) -> Option<usize> {
    let rest = line.strip_prefix("Attached GPUs")?.trim_start();
    rest.strip_prefix(':')?.trim().parse().ok()
}

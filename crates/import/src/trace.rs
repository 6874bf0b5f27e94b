//! Kernel sums of a traced engine: which of them are collectives, how often they ran and how long.
//!
//! Two forms are read. NVIDIA's `nsys stats --report cuda_gpu_kern_sum --format csv` has the columns `Time (%)`,
//! `Total Time (ns)`, `Instances`, `Avg (ns)`, `Med (ns)`, `Min (ns)`, `Max (ns)`, `StdDev (ns)`, `Name` (Nsight Systems,
//! Post-Collection Analysis Guide, `cuda_gpu_kern_sum`; `--timeunit` changes the unit in the heads). AMD's
//! `rocprofv3 --kernel-trace --stats` writes `*_kernel_stats.csv` with `Name`, `Calls`, `TotalDurationNs`, `AverageNs`,
//! `Percentage`, `MinNs`, `MaxNs`, `StdDev` (rocprofiler-sdk, Using rocprofv3). No timeline is read: what overlaps is not seen.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::ImportError;
use super::number::float;
use super::row::{Row, cells};
use record::{CollectiveKind, CollectivePath, control, read_text};

/// The kernels of a trace, summed by name over all steps and GPUs that it holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// The file it came from.
    pub origin: String,
    /// The kernels in the order of the file.
    pub kernels: Vec<TraceKernel>,
}

/// One kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceKernel {
    /// Its name as the tracer writes it.
    pub name: String,
    /// How often it ran.
    pub calls: u64,
    /// Time of all of them, us.
    pub total_us: f64,
    /// Median of one call's time, us; `None` where the file has none, as rocprofv3's.
    pub median_us: Option<f64>,
    /// Standard deviation of one call's time, us; `None` where the file has none.
    pub deviation_us: Option<f64>,
    /// What it does between GPUs; `None` where it is no collective that is known here.
    pub collective: Option<TracedCollective>,
}

/// A collective by its kernel's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedCollective {
    /// The operation; `None` where one kernel does them all.
    pub kind: Option<CollectiveKind>,
    /// Who does it.
    pub path: CollectivePath,
}

/// How libraries' kernels begin; the operation follows. NCCL's `src/device/generate.py` from 2.19 on, and before that
/// `collectives.h`; RCCL is built from the same source. MCCL's are taken to be named as its functions are, after NCCL's; no
/// trace of it was seen.
#[rustfmt::skip]
const LIBRARIES: [&str; 4] = [
    "ncclDevKernel_", "ncclKernel_", "mcclDevKernel_", "mcclKernel_",
];

/// Operations in the names of libraries' kernels. RCCL has one kernel for all, `ncclDevKernel_Generic_1`.
#[rustfmt::skip]
const OPERATIONS: [(&str, Option<CollectiveKind>); 6] = [
    ("AllReduce", Some(CollectiveKind::AllReduce)), ("AllGather", Some(CollectiveKind::AllGather)),
    ("ReduceScatter", Some(CollectiveKind::ReduceScatter)), ("Broadcast", Some(CollectiveKind::Broadcast)),
    ("SendRecv", Some(CollectiveKind::SendRecv)), ("Generic", None),
];

/// All-reduces of engines by a part of their kernels' names, with where that is written.
#[rustfmt::skip]
const OF_ENGINES: [(&str, &str); 6] = [
    ("cross_device_reduce_", "vLLM and SGLang, custom_all_reduce.cuh"), ("allreduce_prototype", "vLLM, csrc/quickreduce"),
    ("allreduce_fusion_kernel", "FlashInfer, trtllm_allreduce_fusion.cuh"),
    ("one_shot_all_reduce", "PyTorch, CUDASymmetricMemoryOps.cu"), ("two_shot_all_reduce", "PyTorch, CUDASymmetricMemoryOps.cu"),
    ("multimem_all_reduce", "PyTorch, CUDASymmetricMemoryOps.cu"),
];

/// The forms, for a file that has neither.
const LOOKED_FOR: &str = "the CSV of `nsys stats --report cuda_gpu_kern_sum --format csv` (Total Time (ns), Instances, Name) or \
                          rocprofv3's *_kernel_stats.csv (Name, Calls, TotalDurationNs)";

/// Reads the kernel sums of a trace.
///
/// # Errors
/// The file cannot be read, has neither form, holds a number that cannot be, or no kernel at all.
pub fn read(path: &Path) -> Result<Trace, ImportError> {
    let origin = control::replaced(&path.display().to_string());
    of_text(&read_text(path, bounded::TEXT)?, &origin)
}

/// The kernel sums in a text.
///
/// # Errors
/// As [`read`].
pub fn of_text(text: &str, origin: &str) -> Result<Trace, ImportError> {
    let mut lines = text.lines().enumerate();
    // Both tools may print what they do before the table.
    let columns = lines.find_map(|(_, line)| Columns::of(&cells(line)));
    let columns = columns.ok_or_else(|| ImportError::unknown(origin, LOOKED_FOR))?;
    let mut kernels = Vec::new();
    for (index, line) in lines {
        // An empty line ends the table; reports of another kind may follow.
        if line.trim().is_empty() {
            break;
        }
        kernels.push(columns.kernel(&Row::of(origin, index + 1, line, columns.count)?)?);
    }
    if kernels.is_empty() {
        let why = "holds no kernel; trace some decode steps, with nsys under graphs with --cuda-graph-trace=node";
        return Err(ImportError::unusable(origin, why));
    }
    Ok(Trace {
        origin: origin.to_owned(),
        kernels,
    })
}

/// Where what stands in a line.
struct Columns {
    count: usize,
    name: usize,
    calls: usize,
    total: usize,
    median: Option<usize>,
    deviation: Option<usize>,
    /// Microseconds in one unit of time.
    us: f64,
}

impl Columns {
    fn of(heads: &[String]) -> Option<Self> {
        let at = |wanted: &str| heads.iter().position(|head| head.trim() == wanted);
        let begins = |wanted: &str| {
            heads
                .iter()
                .position(|head| head.trim().starts_with(wanted))
        };
        let (calls, total, us) = match (at("Calls"), at("TotalDurationNs")) {
            (Some(calls), Some(total)) => (calls, total, 1e-3),
            _ => {
                let (calls, total) = (at("Instances")?, begins("Total Time (")?);
                let us = match heads[total].split(['(', ')']).nth(1)? {
                    "ns" | "nsec" => 1e-3,
                    "us" | "usec" | "μs" => 1.0,
                    "ms" | "msec" => 1e3,
                    "s" | "sec" => 1e6,
                    _ => return None,
                };
                (calls, total, us)
            }
        };
        Some(Self {
            count: heads.len(),
            name: at("Name")?,
            calls,
            total,
            median: begins("Med ("),
            deviation: begins("StdDev"),
            us,
        })
    }

    fn kernel(&self, row: &Row<'_>) -> Result<TraceKernel, ImportError> {
        let is_time = |value: &f64| value.is_finite() && *value >= 0.0;
        let name = control::replaced(row.text(self.name));
        let optional = |index: Option<usize>| {
            let value = row.text(index?).parse::<f64>().ok().filter(is_time);
            value.map(|value| value * self.us)
        };
        let want = "a whole number above zero";
        Ok(TraceKernel {
            calls: row.number(self.calls, "the number of calls", want, |calls: &u64| {
                *calls > 0
            })?,
            total_us: self.us * row.number(self.total, "the total time", "a time", is_time)?,
            median_us: optional(self.median).filter(|median| *median > 0.0),
            // Some versions leave the cell of a single call empty.
            deviation_us: optional(self.deviation),
            collective: collective(&name),
            name,
        })
    }
}

/// What a kernel does between GPUs, by its name.
fn collective(name: &str) -> Option<TracedCollective> {
    let of_library = LIBRARIES.iter().find_map(|prefix| {
        let (_, rest) = name.split_once(prefix)?;
        OPERATIONS.iter().find(|(word, _)| rest.starts_with(word))
    });
    if let Some((_, kind)) = of_library {
        return Some(TracedCollective {
            kind: *kind,
            path: CollectivePath::Library,
        });
    }
    let of_engine = OF_ENGINES.iter().any(|(part, _)| name.contains(part));
    of_engine.then_some(TracedCollective {
        kind: Some(CollectiveKind::AllReduce),
        path: CollectivePath::Custom,
    })
}

impl TraceKernel {
    /// Mean time of one call, us.
    #[must_use]
    pub fn mean_us(&self) -> f64 {
        self.total_us / float(self.calls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand in the form of Nsight Systems 2024: 322 calls of 60 us are 19,320,000 ns.
    const NSYS: &str = "Generating SQLite file trace.sqlite from trace.nsys-rep\n\
        \n\
        Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n\
        70.1,61182000,640,95596.9,90000.0,40000,230000,1000.0,\"void cutlass::Kernel2<cutlass_80_tensorop<int, 4>>(T1::Params)\"\n\
        29.0,19320000,322,60000.0,59000.0,41000,90000,9000.0,\"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)\"\n\
        0.9,560000,2,280000.0,280000.0,270000,290000,14142.1,ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)\n";

    #[test]
    fn nsys_kernels_are_read_behind_what_it_prints_first() {
        let trace = of_text(NSYS, "t.csv").unwrap();
        assert_eq!(trace.kernels.len(), 3);
        assert_eq!(trace.kernels[0].collective, None);
        let reduce = &trace.kernels[1];
        assert_eq!((reduce.calls, reduce.total_us), (322, 19320.0));
        assert_eq!((reduce.mean_us(), reduce.deviation_us), (60.0, Some(9.0)));
        assert_eq!(reduce.median_us, Some(59.0));
        let found = |kind, path| Some(TracedCollective { kind, path });
        let (reduces, gathers) = (CollectiveKind::AllReduce, CollectiveKind::AllGather);
        assert_eq!(
            reduce.collective,
            found(Some(reduces), CollectivePath::Library)
        );
        assert_eq!(
            trace.kernels[2].collective,
            found(Some(gathers), CollectivePath::Library)
        );
    }

    #[test]
    fn rocprofv3_kernels_are_read_and_one_kernel_for_all_says_no_operation() {
        let text = "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\",\"MinNs\",\"MaxNs\",\"StdDev\"\n\
            \"ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)\",162,9720000,60000.000000,12.5,41000,90000,2907.325924\n\
            \"void vllm::cross_device_reduce_1stage<__hip_bfloat16, 2>(vllm::RankData*, vllm::RankSignals)\",161,1610000,10000.0,2.0,9000,11000,500.0\n";
        let trace = of_text(text, "k.csv").unwrap();
        let of = |index: usize| trace.kernels[index].collective.unwrap();
        assert_eq!((of(0).kind, of(0).path), (None, CollectivePath::Library));
        assert_eq!(of(1).path, CollectivePath::Custom);
        assert_eq!(trace.kernels[1].mean_us(), 10.0);
        assert_eq!(trace.kernels[1].median_us, None);
    }

    #[test]
    fn the_unit_is_the_heads() {
        let text = NSYS.replace("(ns)", "(us)").replace("19320000", "19320.0");
        assert_eq!(
            of_text(&text, "t.csv").unwrap().kernels[1].total_us,
            19320.0
        );
    }

    #[test]
    fn what_is_no_such_table_or_is_cut_is_named() {
        let other = "Time (%),Total Time (ns),Num Calls,Avg (ns),Name\n1,2,3,4,cudaMalloc\n";
        let error = of_text(other, "api.csv").unwrap_err().to_string();
        assert!(
            error.contains("api.csv") && error.contains("cuda_gpu_kern_sum"),
            "{error}"
        );
        let cut = &NSYS[..NSYS.len() - 90];
        let error = of_text(cut, "t.csv").unwrap_err().to_string();
        assert!(error.contains("line 6"), "{error}");
        let negative = NSYS.replace("19320000", "-1");
        assert!(
            of_text(&negative, "t.csv")
                .unwrap_err()
                .to_string()
                .contains("total time")
        );
        let head = NSYS.lines().nth(2).unwrap();
        assert!(
            of_text(head, "t.csv")
                .unwrap_err()
                .to_string()
                .contains("no kernel")
        );
    }
}

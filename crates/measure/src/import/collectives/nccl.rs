//! What text and JSON of nccl-tests share: the operation's name, sizes, and whether ranks and bandwidths agree.
//!
//! Times are those of the out-of-place columns, as serving engines call all-reduce; in nccl-tests one time is the mean over
//! the calls of one loop. Source: nccl-tests 2.19.6, src/common.cu, src/util.cu, doc/PERFORMANCE.md.

use super::curve::CurvePoint;
use crate::import::error::ImportError;
use crate::record::{CallMode, CollectiveKind, CollectivePoint};

/// A test as far as its head tells it.
pub(super) struct Test<'a> {
    pub(super) origin: &'a str,
    pub(super) kind: Option<CollectiveKind>,
    pub(super) ranks: u32,
    pub(super) mode: CallMode,
}

/// A row: bytes as nccl-tests counts them, time in us, bandwidths in GB/s, number of wrong elements.
pub(super) struct Row {
    /// Where it stands, such as `line 15`.
    pub(super) place: String,
    pub(super) size: u64,
    pub(super) us: f64,
    pub(super) bandwidths: Option<(f64, f64)>,
    pub(super) wrong: f64,
}

/// The operation that a program's name stands for, such as `./build/all_reduce_perf`; `None` for one that no engine's
/// step is compared with here.
pub(super) fn kind(program: &str) -> Option<CollectiveKind> {
    let name = program.rsplit('/').next().unwrap_or(program);
    match name.strip_suffix("_perf").unwrap_or(name) {
        "all_reduce" => Some(CollectiveKind::AllReduce),
        "all_gather" => Some(CollectiveKind::AllGather),
        _ => None,
    }
}

impl Test<'_> {
    /// The point of a row; `None` where no time was taken, as for a size of 0 bytes.
    pub(super) fn point(&self, row: &Row) -> Result<Option<CurvePoint>, ImportError> {
        let key = format!("the row of {} bytes", row.size);
        let nonsense = |seen: String, want: &str| ImportError::Nonsense {
            origin: self.origin.to_owned(),
            key: key.clone(),
            seen,
            want: want.to_owned(),
        };
        let Some(kind) = self.kind else {
            return Err(ImportError::Missing {
                origin: self.origin.to_owned(),
                what: "an operation that is known here".to_owned(),
                next: "give a run of all_reduce_perf or all_gather_perf with its whole output"
                    .to_owned(),
            });
        };
        if self.ranks < 2 {
            return Err(ImportError::Missing {
                origin: self.origin.to_owned(),
                what: "two ranks or more".to_owned(),
                next: "give the whole output, with its list of devices, of a run with two ranks or more".to_owned(),
            });
        }
        if row.wrong > 0.0 {
            return Err(nonsense(
                format!("{} wrong elements", row.wrong),
                "none: times of wrong data stand for nothing; mend the box and measure again",
            ));
        }
        if row.size == 0 {
            return Ok(None);
        }
        if !row.us.is_finite() || row.us <= 0.0 {
            return Err(nonsense(format!("{} us", row.us), "a time above zero"));
        }
        // All-gather's size is the gathered whole there, and what each rank contributes here.
        let bytes_per_rank = match kind {
            CollectiveKind::AllReduce => row.size,
            CollectiveKind::AllGather if row.size.is_multiple_of(u64::from(self.ranks)) => {
                row.size / u64::from(self.ranks)
            }
            CollectiveKind::AllGather => {
                let want = format!("a multiple of {} ranks", self.ranks);
                return Err(nonsense(format!("{} bytes", row.size), &want));
            }
        };
        self.check_ranks(kind, row)?;
        let point = CurvePoint {
            kind,
            ranks: self.ranks,
            bytes_per_rank,
            us: row.us,
            low: None,
            high: None,
            n: Some(1),
            mode: Some(self.mode),
            library: Some("nccl".to_owned()),
            origin: self.origin.to_owned(),
            simulated: None,
        };
        let key = format!("the time of {}, {} bytes,", row.place, row.size);
        point.plausible(&key).map(Some)
    }

    /// Bus over algorithm bandwidth depends on the number of ranks alone, so it shows a list of devices that is not whole.
    fn check_ranks(&self, kind: CollectiveKind, row: &Row) -> Result<(), ImportError> {
        // Below 1 GB/s the printed decimals say too little.
        let Some((algorithm, bus)) = row.bandwidths.filter(|(algorithm, _)| *algorithm >= 1.0)
        else {
            return Ok(());
        };
        let expected = CollectivePoint::bus_factor(kind, self.ranks);
        let seen = bus / algorithm;
        if (seen - expected).abs() <= 0.02 * expected {
            return Ok(());
        }
        Err(ImportError::Nonsense {
            origin: self.origin.to_owned(),
            key: format!("busbw / algbw of the row of {} bytes", row.size),
            seen: format!("{seen:.3}"),
            want: format!(
                "{expected:.3} for the {} ranks that the file lists; is its list of devices whole?",
                self.ranks
            ),
        })
    }
}

//! Times of matrix products over their shape, as CSV: what a model's GEMMs take at full and at a rank's width.
//!
//! Columns are found by name: `m`, `n` and `k`; the time as `us`, or as `latency` or `ms` in milliseconds, as aiconfigurator's
//! `gemm_perf` tables have it (`framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency`;
//! github.com/ai-dynamo/aiconfigurator, systems/data); perhaps a type of the weights, the GPU's name and the engine's version.
//! These and all other columns tell series apart.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::ImportError;
use super::row::{Row, cells};
use super::source::table;
use record::control;

/// GEMM times of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GemmTimes {
    /// The file it came from.
    pub origin: String,
    /// What was timed alike, in the order of the file.
    pub series: Vec<GemmSeries>,
}

/// Shapes that were timed alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GemmSeries {
    /// The cells of the columns that are no shape, time or type, such as `0.19.0`; empty where there are none.
    pub label: String,
    /// Type of the weights as the file names it; `None` where it has no such column.
    pub dtype: Option<String>,
    /// The GPU as the file names it; `None` where it has no such column, or nothing in it.
    pub gpu: Option<String>,
    /// Version of the engine as the file names it; `None` where it has no such column, or nothing in it.
    pub version: Option<String>,
    /// The shapes with their times.
    pub points: Vec<GemmPoint>,
}

/// One product of an m x k by a k x n matrix.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GemmPoint {
    /// Rows of the activations: tokens.
    pub m: u32,
    /// Columns of the weights.
    pub n: u32,
    /// Rows of the weights.
    pub k: u32,
    /// Time, us.
    pub us: f64,
}

/// Names of the time's column with the microseconds in its unit; lower case.
#[rustfmt::skip]
const TIMES: [(&str, f64); 7] = [
    ("us", 1.0), ("time_us", 1.0), ("latency_us", 1.0), ("ms", 1e3), ("time_ms", 1e3), ("latency_ms", 1e3), ("latency", 1e3),
];

/// Names of the column with the weights' type; lower case.
const TYPES: [&str; 3] = ["gemm_dtype", "dtype", "quant"];

/// Names of the column with the GPU; lower case.
const GPUS: [&str; 2] = ["device", "gpu"];

/// Names of the column with the engine's version; lower case.
const VERSIONS: [&str; 2] = ["version", "engine_version"];

/// The form, for a file that does not have it.
const LOOKED_FOR: &str =
    "CSV with the columns m, n, k and us (or latency, in ms), and perhaps dtype, gpu and version";

/// Reads GEMM times.
///
/// # Errors
/// The file cannot be read, lacks a column, holds a number that cannot be, or no row at all.
pub fn read(path: &Path) -> Result<GemmTimes, ImportError> {
    let origin = control::replaced(&path.display().to_string());
    of_text(&table(path)?, &origin)
}

/// The GEMM times in a text.
///
/// # Errors
/// As [`read`].
pub fn of_text(text: &str, origin: &str) -> Result<GemmTimes, ImportError> {
    let lines = text.lines().enumerate();
    let mut lines = lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let heads = lines.next().map(|(_, line)| cells(line));
    let columns = heads.as_deref().and_then(Columns::of);
    let columns = columns.ok_or_else(|| ImportError::Unknown {
        origin: origin.to_owned(),
        looked_for: LOOKED_FOR,
    })?;
    let mut series: Vec<GemmSeries> = Vec::new();
    let mut known: HashMap<(String, Option<String>), usize> = HashMap::new();
    for (index, line) in lines {
        let mut row = columns.row(&Row::of(origin, index + 1, line, columns.count)?)?;
        // The label holds what the GPU's and the version's columns say, too.
        let index = *known
            .entry((row.label.clone(), row.dtype.clone()))
            .or_insert(series.len());
        match series.get_mut(index) {
            Some(one) => one.points.append(&mut row.points),
            None => series.push(row),
        }
    }
    if series.is_empty() {
        return Err(ImportError::Unusable {
            origin: origin.to_owned(),
            why: "holds no time of a product; measure again".to_owned(),
        });
    }
    Ok(GemmTimes {
        origin: origin.to_owned(),
        series,
    })
}

/// Where what stands in a line.
struct Columns {
    count: usize,
    shape: [usize; 3],
    time: usize,
    us: f64,
    dtype: Option<usize>,
    gpu: Option<usize>,
    version: Option<usize>,
    others: Vec<usize>,
}

impl Columns {
    fn of(heads: &[String]) -> Option<Self> {
        let names: Vec<String> = heads
            .iter()
            .map(|head| head.trim().to_lowercase())
            .collect();
        let at = |wanted: &str| names.iter().position(|name| name == wanted);
        let shape = [at("m")?, at("n")?, at("k")?];
        let (time, us) = TIMES.iter().find_map(|(name, us)| Some((at(name)?, *us)))?;
        let any = |of: &[&str]| of.iter().find_map(|name| at(name));
        let dtype = any(&TYPES);
        let taken =
            |index: &usize| shape.contains(index) || *index == time || Some(*index) == dtype;
        let is_time = |index: &usize| TIMES.iter().any(|(name, _)| names[*index] == *name);
        let others = (0..names.len()).filter(|index| !taken(index) && !is_time(index));
        Some(Self {
            count: names.len(),
            shape,
            time,
            us,
            dtype,
            gpu: any(&GPUS),
            version: any(&VERSIONS),
            others: others.collect(),
        })
    }

    /// A row as a series of one product.
    fn row(&self, row: &Row<'_>) -> Result<GemmSeries, ImportError> {
        let cell = |index: usize| row.text(index);
        let size = |which: usize, name: &str| {
            let want = "a whole number above zero";
            row.number(self.shape[which], name, want, |value: &u32| *value > 0)
        };
        let us = row.number(self.time, "the time", "a time above zero", |us: &f64| {
            us.is_finite() && *us > 0.0
        })?;
        let label: Vec<&str> = self.others.iter().map(|index| cell(*index)).collect();
        let words = |index: Option<usize>| index.map(|index| control::replaced(cell(index)));
        let said = |index| words(index).filter(|word| !word.is_empty());
        Ok(GemmSeries {
            label: control::replaced(&label.join(" ")),
            dtype: words(self.dtype),
            gpu: said(self.gpu),
            version: said(self.version),
            points: vec![GemmPoint {
                m: size(0, "m")?,
                n: size(1, "n")?,
                k: size(2, "k")?,
                us: us * self.us,
            }],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name_and_others_tell_series_apart() {
        let text = "version,gemm_dtype,M,n,k,latency\n0.19.0,fp8,16,64,32,0.5\n0.24.0,fp8,16,64,32,0.25\n0.19.0,fp8,16,32,32,0.3\n";
        let got = of_text(text, "g.csv").unwrap();
        // 0.5 ms are 500 us.
        let point = |n, us| GemmPoint {
            m: 16,
            n,
            k: 32,
            us,
        };
        assert_eq!(got.series.len(), 2);
        assert_eq!(got.series[0].label, "0.19.0");
        assert_eq!(got.series[0].dtype.as_deref(), Some("fp8"));
        assert_eq!(got.series[0].version.as_deref(), Some("0.19.0"));
        assert_eq!(got.series[0].gpu, None);
        assert_eq!(got.series[0].points, [point(64, 500.0), point(32, 300.0)]);
        assert_eq!(got.series[1].points, [point(64, 250.0)]);
        let plain = of_text("# by hand\nm,n,k,us\n16,64,32,7.5\n", "g.csv").unwrap();
        assert_eq!(
            (plain.series[0].dtype.as_ref(), plain.series[0].points[0].us),
            (None, 7.5)
        );
    }

    #[test]
    fn times_of_two_gpus_are_two_series_and_an_empty_cell_says_nothing() {
        let text = "device,m,n,k,us\nNVIDIA H200,16,64,32,5\nNVIDIA L40,16,64,32,9\n,16,64,32,7\n";
        let got = of_text(text, "g.csv").unwrap();
        let gpus: Vec<Option<&str>> = got.series.iter().map(|one| one.gpu.as_deref()).collect();
        assert_eq!(gpus, [Some("NVIDIA H200"), Some("NVIDIA L40"), None]);
    }

    #[test]
    fn what_cannot_be_is_named_with_its_line() {
        for (text, part) in [
            ("a,b\n1,2\n", "no format"),
            ("m,n,k,us\n", "no time of a product"),
            ("m,n,k,us\n16,64,32,0\n", "the time of line 2"),
            ("m,n,k,us\n16,64,x,1\n", "k of line 2"),
            ("m,n,k,us\n16,64,32\n", "the row of line 2"),
        ] {
            let error = of_text(text, "g.csv").unwrap_err().to_string();
            assert!(error.contains("g.csv") && error.contains(part), "{error}");
        }
    }
}

//! What predictions are compared with: a line of latency and bandwidth (Hockney, 1994), and two such lines.

/// Sizes in bytes and times in us.
pub(super) type Points<'a> = &'a [(u64, f64)];

/// Time = start + bytes * slope.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    start: f64,
    slope: f64,
}

impl Line {
    /// Least squares of the relative error, which is kinder to small messages than that of the absolute one.
    pub(super) fn of(points: Points) -> Self {
        let (mut w, mut wx, mut wxx, mut wy, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (bytes, us) in points {
            let (x, weight) = (*bytes as f64, 1.0 / (us * us));
            w += weight;
            wx += weight * x;
            wxx += weight * x * x;
            wy += weight * us;
            wxy += weight * x * us;
        }
        let determinant = w * wxx - wx * wx;
        Self {
            start: (wy * wxx - wxy * wx) / determinant,
            slope: (w * wxy - wx * wy) / determinant,
        }
    }

    pub(super) fn at(&self, bytes: u64) -> f64 {
        self.start + self.slope * bytes as f64
    }
}

/// The lower of two lines, as a library that chooses the faster of two protocols gives: split where both fit best.
pub(super) fn two_protocols(points: Points, bytes: u64) -> f64 {
    let fitted = (2..points.len() - 1).map(|split| {
        let (low, high) = points.split_at(split);
        let (low, high) = (Line::of(low), Line::of(high));
        let at = move |bytes: u64| low.at(bytes).min(high.at(bytes));
        let miss: f64 = points
            .iter()
            .map(|(bytes, us)| (at(*bytes) / us - 1.0).powi(2))
            .sum();
        (miss, at(bytes))
    });
    fitted
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map_or(f64::NAN, |(_, us)| us)
}

pub(super) fn median(values: &[f64]) -> f64 {
    let mut ascending = values.to_vec();
    ascending.sort_by(f64::total_cmp);
    let n = ascending.len();
    (ascending[(n - 1) / 2] + ascending[n / 2]) / 2.0
}

#[test]
fn a_line_is_found_again() {
    // 10 us and 1 us for each 1000 bytes.
    let points = [(1000, 11.0), (5000, 15.0), (90_000, 100.0)];
    let line = Line::of(&points);
    assert!((line.at(20_000) - 30.0).abs() < 1e-6);
    assert_eq!(median(&[3.0, 1.0, 2.0, 10.0]), 2.5);
}

#[test]
fn two_lines_are_found_again() {
    // 10 us + bytes / 1000, and 40 us + bytes / 4000: they meet at 40000 bytes.
    let of = |bytes: u64| (10.0 + bytes as f64 / 1e3).min(40.0 + bytes as f64 / 4e3);
    let points: Vec<(u64, f64)> = (10..22).map(|p| (1 << p, of(1 << p))).collect();
    assert!((two_protocols(&points, 20_000) - 30.0).abs() < 0.1);
    assert!((two_protocols(&points, 400_000) - 140.0).abs() < 0.1);
}

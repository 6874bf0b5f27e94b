//! The time that keys and values take on their way: a start and a bandwidth, or a time for each piece where there are many.

/// The law of a link between a prefill and a decode engine: `max(start + bytes / bandwidth, pieces * post)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkLaw {
    /// Seconds before the first byte.
    pub start_s: f64,
    /// Bytes a second; infinite for a link that costs nothing.
    pub bytes_per_s: f64,
    /// Seconds that each piece (descriptor) takes to post.
    pub post_s: f64,
}

/// One transfer that was timed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transfer {
    /// Bytes.
    pub bytes: f64,
    /// Seconds.
    pub seconds: f64,
}

impl LinkLaw {
    /// Seconds of a transfer of so many bytes in so many pieces.
    #[must_use]
    pub fn seconds(&self, bytes: f64, pieces: f64) -> f64 {
        (self.start_s + bytes / self.bytes_per_s).max(pieces * self.post_s)
    }

    /// The start and bandwidth whose largest relative error over these transfers is smallest, and that error. `None` below two sizes
    /// or where no positive bandwidth fits.
    #[must_use]
    pub fn fit(transfers: &[Transfer]) -> Option<(Self, f64)> {
        let first = transfers.first()?;
        let usable = |t: &Transfer| t.bytes > 0.0 && t.seconds > 0.0;
        let one_size = transfers.iter().all(|t| t.bytes == first.bytes);
        if one_size || !transfers.iter().all(usable) {
            return None;
        }
        // Lawson's weights: from least squares of the relative error to its smallest maximum.
        let mut weights = vec![1.0; transfers.len()];
        let mut best: Option<(Self, f64)> = None;
        for _ in 0..200 {
            let law = weighted(transfers, &weights)?;
            let errors: Vec<f64> = transfers.iter().map(|t| law.error(t).abs()).collect();
            let largest = errors.iter().copied().fold(0.0, f64::max);
            let is_possible = law.bytes_per_s > 0.0 && law.start_s >= 0.0;
            if is_possible && best.is_none_or(|(_, least)| largest < least) {
                best = Some((law, largest));
            }
            let total: f64 = weights.iter().zip(&errors).map(|(w, e)| w * e).sum();
            if total <= f64::EPSILON {
                break;
            }
            for (weight, error) in weights.iter_mut().zip(&errors) {
                *weight *= error / total;
            }
        }
        best
    }

    /// By how much the law is beyond a transfer, relative to it.
    #[must_use]
    pub fn error(&self, transfer: &Transfer) -> f64 {
        self.seconds(transfer.bytes, 0.0) / transfer.seconds - 1.0
    }
}

/// Least squares of `(start + slope * bytes) / seconds = 1` with weights.
fn weighted(transfers: &[Transfer], weights: &[f64]) -> Option<LinkLaw> {
    let (mut uu, mut uv, mut vv, mut u, mut v) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (transfer, weight) in transfers.iter().zip(weights) {
        let (x, y) = (1.0 / transfer.seconds, transfer.bytes / transfer.seconds);
        uu += weight * x * x;
        uv += weight * x * y;
        vv += weight * y * y;
        u += weight * x;
        v += weight * y;
    }
    let determinant = uu * vv - uv * uv;
    if determinant <= 0.0 {
        return None;
    }
    let start_s = (u * vv - v * uv) / determinant;
    let slope = (v * uu - u * uv) / determinant;
    Some(LinkLaw {
        start_s,
        bytes_per_s: 1.0 / slope,
        post_s: 0.0,
    })
}

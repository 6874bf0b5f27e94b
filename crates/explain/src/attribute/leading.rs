//! Which cause takes most of the time above the ideal, where its bar stands apart from all others. What that bar rests on is not judged.

use super::result::{Attribution, Bar, Cause};

/// Causes that are apart from each other: parts of communication are not told beside the whole.
const CAUSES: [Cause; 5] = [
    Cause::Communication,
    Cause::NarrowGemm,
    Cause::Unsharded,
    Cause::Host,
    Cause::Unexplained,
];

/// The bar that leads.
pub(crate) struct Leading<'a> {
    pub(crate) bar: &'a Bar,
    /// Wherever in their intervals all causes lie; else by its median alone, which no other's interval reaches.
    pub(crate) is_sure: bool,
}

impl Attribution {
    /// The bar whose median no other's interval reaches; `None` where there is none.
    pub(crate) fn leading(&self) -> Option<Leading<'_>> {
        self.leading_beside(None)
    }

    /// The same beside communication that an ablation's arms alone time: it leads where it lies wholly above all others. Since it is a lower figure, up to what is
    /// left of the step, another leads only beyond that. Beside a half-width model that is contradicted none leads.
    pub(crate) fn leading_beside<'a>(&'a self, timed: Option<&'a Bar>) -> Option<Leading<'a>> {
        if self.is_half_contradicted() {
            return None;
        }
        // What is unexplained holds it, too.
        let is_own = |cause: &Cause| {
            timed.is_none() || !matches!(cause, Cause::Communication | Cause::Unexplained)
        };
        let own = CAUSES.into_iter().filter(is_own);
        let bars: Vec<&Bar> = own
            .filter_map(|cause| self.bar(cause))
            .chain(timed)
            .collect();
        let first = *bars.iter().max_by(|a, b| a.ms.mid.total_cmp(&b.ms.mid))?;
        let high = |bar: &Bar| match timed.is_some() && bar.cause == Cause::Communication {
            true => bar.ms.high.max(self.remainder.high),
            false => bar.ms.high,
        };
        let others = bars.iter().filter(|bar| bar.cause != first.cause);
        let next = others.map(|bar| high(bar)).fold(0.0, f64::max);
        let is_sure = first.ms.low > next;
        let is_timed = timed.is_some() && first.cause == Cause::Communication;
        let leads = first.ms.mid > next && first.ms.low > 0.0 && (is_sure || !is_timed);
        leads.then_some(Leading {
            bar: first,
            is_sure,
        })
    }

    /// What this box's curve or a trace gives all collectives of a step as it is, ms; 0 where there is none. A curve of another box
    /// says less of this one than the steps do.
    pub(crate) fn collectives_ms(&self) -> f64 {
        let is_own = !self.is_by_published();
        let each = self.collectives.iter().filter(|_| is_own);
        let us: f64 = each.map(|cost| f64::from(cost.count) * cost.us).sum();
        us / 1e3
    }
}

//! How the time that was asked for is shared out among the points that are left.

use std::time::Duration;

/// Shares a budget evenly among points; what one leaves over goes to those after it.
#[derive(Debug)]
pub struct Budget {
    left: Duration,
    points: u32,
}

impl Budget {
    /// Shares `total` among so many points.
    #[must_use]
    pub fn new(total: Duration, points: usize) -> Self {
        Self {
            left: total,
            points: u32::try_from(points).unwrap_or(u32::MAX),
        }
    }

    /// What the next point may take.
    #[must_use]
    pub fn share(&self) -> Duration {
        self.left / self.points.max(1)
    }

    /// A point took this long.
    pub fn spend(&mut self, took: Duration) {
        self.left = self.left.saturating_sub(took);
        self.points = self.points.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_point_leaves_over_goes_to_the_others() {
        let mut budget = Budget::new(Duration::from_secs(10), 5);
        assert_eq!(budget.share(), Duration::from_secs(2));
        budget.spend(Duration::from_secs(0));
        // 10 s among 4 points.
        assert_eq!(budget.share(), Duration::from_millis(2500));
        budget.spend(Duration::from_secs(30));
        assert_eq!(budget.share(), Duration::ZERO);
    }
}

//! Arms of a record beside each other: each size of an arm against the same size of the first.

use crate::Collectives;
use stats::{OverLaunches, ratio_by_launch};

use super::rows::Row;
use super::series::Series;

/// A size in an arm beside the same size in the first arm.
#[derive(Debug, Clone)]
pub struct ArmRow {
    /// What is compared, without arms.
    pub series: Series,
    /// As [`CollectivePoint::bytes_per_rank`].
    pub bytes_per_rank: u64,
    /// The arm.
    pub arm: String,
    /// The arm that it is compared with.
    pub base: String,
    /// The arm's time over the base's, by launch; `None` where no launch has both, or one of them is not to be judged.
    pub ratio: Option<OverLaunches>,
}

/// Every arm beside the record's first one, in the order of the rows.
#[must_use]
pub fn arm_rows(collectives: &Collectives, rows: &[Row<'_>]) -> Vec<ArmRow> {
    let Some(base) = collectives.arms.first() else {
        return Vec::new();
    };
    let by_launch = |row: &Row<'_>| -> Vec<(u32, f64)> {
        let times = row.times().into_iter();
        times.map(|(launch, time)| (launch, time.value)).collect()
    };
    rows.iter()
        .filter_map(|row| {
            let arm = row.series.arm.as_ref().filter(|arm| **arm != base.name)?;
            let series = row.series.across_arms();
            let first = rows.iter().find(|other| {
                other.series.arm.as_ref() == Some(&base.name)
                    && other.bytes_per_rank == row.bytes_per_rank
                    && other.series.across_arms() == series
            })?;
            Some(ArmRow {
                series,
                bytes_per_rank: row.bytes_per_rank,
                arm: arm.clone(),
                base: base.name.clone(),
                ratio: ratio_by_launch(&by_launch(row), &by_launch(first)),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::rows::rows;
    use super::super::rows::tests::{of, point};
    use super::*;

    #[test]
    fn arms_stand_in_the_order_given_and_are_compared_by_launch() {
        // ABBA: 30 / 10 = 3 and 80 / 20 = 4, median 3.5.
        let record = of(vec![
            point(8, 0, Some("off"), &[30.0; 6]),
            point(8, 0, Some("on"), &[10.0; 6]),
            point(8, 1, Some("on"), &[20.0; 6]),
            point(8, 1, Some("off"), &[80.0; 6]),
        ]);
        let all = rows(&record);
        let names: Vec<_> = all.iter().map(|row| row.series.arm.clone()).collect();
        assert_eq!(names, [Some("on".to_owned()), Some("off".to_owned())]);
        let compared = arm_rows(&record, &all);
        assert_eq!(compared.len(), 1);
        let ratio = compared[0].ratio.unwrap();
        assert_eq!((ratio.value, ratio.n, ratio.interval), (3.5, 2, None));
    }
}

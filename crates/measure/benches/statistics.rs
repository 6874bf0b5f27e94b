//! What the statistics of one number cost: they run after every sample, outside the timed region.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use measure::stats::{median_interval, outliers, ratio_of_medians};

/// Values without ties, in no order.
fn samples(n: u32) -> Vec<f64> {
    (0..n)
        .map(|i| f64::from(i.wrapping_mul(2_654_435_761) >> 8))
        .collect()
}

fn statistics(criterion: &mut Criterion) {
    let (few, many) = (samples(20), samples(2000));
    criterion.bench_function("median_interval of 20", |b| {
        b.iter(|| median_interval(black_box(&few)))
    });
    criterion.bench_function("median_interval of 2000", |b| {
        b.iter(|| median_interval(black_box(&many)))
    });
    criterion.bench_function("outliers of 2000", |b| {
        b.iter(|| outliers(black_box(&many)))
    });
    criterion.bench_function("ratio_of_medians of 20 and 20", |b| {
        b.iter(|| ratio_of_medians(black_box(&few), black_box(&few)))
    });
}

criterion_group!(benches, statistics);
criterion_main!(benches);

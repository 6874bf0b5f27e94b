//! What statistics cost: those of one number run after every sample, those of a serving benchmark once at its end; both
//! outside the timed region.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use stats::{distribution, distribution_pooled, median_interval, outliers, ratio_of_medians};

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
    let requests = samples(1000);
    criterion.bench_function("distribution of 1000 requests", |b| {
        b.iter(|| distribution(black_box(&requests)))
    });
    let gaps: Vec<Vec<f64>> = samples(1_000_000)
        .chunks(250)
        .map(<[f64]>::to_vec)
        .collect();
    let mut slow = criterion.benchmark_group("a million gaps");
    slow.sample_size(10);
    slow.bench_function("distribution_pooled of 4000 requests", |b| {
        b.iter(|| distribution_pooled(black_box(&gaps)))
    });
    slow.finish();
}

criterion_group!(benches, statistics);
criterion_main!(benches);

//! The load from which on latency grows faster than throughput.

use import::serve::ServeResult;

use super::expand::Cell;

/// A cell with what it measured.
pub(super) type Measured = (Cell, ServeResult);

/// The cells of one curve, which differ by their load alone, by ascending load.
pub(super) fn curves(cells: &[Measured]) -> Vec<Vec<&Measured>> {
    let mut curves: Vec<Vec<&Measured>> = Vec::new();
    for cell in cells {
        let fits = |curve: &&mut Vec<&Measured>| curve[0].0.is_on_curve_of(&cell.0);
        match curves.iter_mut().find(fits) {
            Some(curve) => curve.push(cell),
            None => curves.push(vec![cell]),
        }
    }
    for curve in &mut curves {
        curve.sort_by(|one, other| one.0.load().total_cmp(&other.0.load()));
    }
    curves
}

/// The index of the knee among results of ascending load: the most output tokens/s for their mean latency (Kleinrock 1979, "Power
/// and deterministic rules of thumb"). `None` below three loads, or without a latency.
pub(super) fn knee(results: &[&ServeResult]) -> Option<usize> {
    let power = |one: &&ServeResult| Some(one.output_tokens_per_s()? / one.latency_ms()?);
    let powers: Vec<f64> = results.iter().map(power).collect::<Option<_>>()?;
    knee_of(&powers)
}

fn knee_of(powers: &[f64]) -> Option<usize> {
    let by_power = powers.iter().enumerate();
    let best = by_power.max_by(|one, other| one.1.total_cmp(other.1))?.0;
    (powers.len() > 2).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knee_is_where_throughput_over_latency_is_largest() {
        // 1, 2, 4, 8 in flight: 100, 190, 300, 330 tok/s at 10, 10.5, 13.3, 24 ms: powers 10, 18.1, 22.6, 13.8.
        assert_eq!(knee_of(&[10.0, 18.1, 22.6, 13.8]), Some(2));
        assert_eq!(knee_of(&[10.0, 18.1]), None);
    }
}

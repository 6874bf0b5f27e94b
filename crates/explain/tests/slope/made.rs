//! Ablations made by arithmetic: a step that is a constant plus so many collectives, with noise from launch to launch.

use explain::{Ablation, Arm, Change, Launch, Range};

/// All-reduces of a step of Qwen2.5-72B: 1 + 2 * 80.
pub(super) const PLANNED: u32 = 161;

/// Collective times of five arms, us: from peer access to staging.
pub(super) const FIVE: [f64; 5] = [18.0, 31.0, 45.0, 60.0, 75.0];

/// A generator of its own, so that truth and draws share nothing: a counter through MurmurHash3's finaliser (Appleby, 2011).
pub(super) struct Truth(u64);

impl Truth {
    pub(super) fn of(seed: u64) -> Self {
        Self(seed << 32)
    }

    pub(super) fn uniform(&mut self) -> f64 {
        self.0 += 1;
        let mut h = self.0;
        h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        h ^= h >> 33;
        (h >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The sum of twelve uniform numbers less 6 has mean 0 and standard deviation sqrt(12 * 1/12) = 1.
    pub(super) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// What launches differ by and how many there are.
#[derive(Clone, Copy)]
pub(super) struct Design {
    /// Coefficient of variation of the step.
    pub(super) step: f64,
    /// Of the collective time.
    pub(super) collective: f64,
    pub(super) launches: u32,
}

pub(super) const USUAL: Design = Design {
    step: 0.01,
    collective: 0.05,
    launches: 5,
};

/// An interval as wide as a launch's own noise, which is a fifth of what launches differ by.
fn around(value: f64, cv: f64) -> Range {
    // 1.645 standard deviations to each side hold 90%.
    let half = 1.645 * 0.2 * cv * value;
    Range {
        low: value - half,
        mid: value,
        high: value + half,
    }
}

/// An arm whose collectives take `us` and whose step takes `ms`.
pub(super) fn arm(
    truth: &mut Truth,
    design: Design,
    (name, change): (&str, Change),
    us: Option<f64>,
    ms: f64,
) -> Arm {
    let launches = (0..design.launches).map(|order| {
        let us = us.map(|us| us * (1.0 + design.collective * truth.normal()));
        let ms = ms * (1.0 + design.step * truth.normal());
        Launch {
            order,
            collective_us: us.map(|us| around(us, design.collective)),
            step_ms: around(ms, design.step),
            steps: 1000,
            folder: None,
            late_ms: None,
            limited: None,
        }
    });
    Arm {
        name: name.to_owned(),
        change,
        how: String::new(),
        launches: launches.collect(),
    }
}

pub(super) fn ablation(arms: Vec<Arm>) -> Ablation {
    Ablation {
        schema: 1,
        simulated: None,
        model: "qwen2.5-72b-fp8".to_owned(),
        tp: 2,
        batch: 16,
        engine: None,
        planned: PLANNED,
        step_from: None,
        arms,
    }
}

/// A step of 34 ms without collectives, and `count` collectives of each arm's time.
pub(super) fn step(us: f64, count: f64) -> f64 {
    34.0 + count * us / 1e3
}

/// Arms at these collective times, the first being the box as it is.
pub(super) fn links(seed: u64, design: Design, times: &[f64], count: f64) -> Ablation {
    let mut truth = Truth::of(seed);
    let arms = times.iter().enumerate().map(|(index, us)| {
        let change = if index == 0 {
            Change::Baseline
        } else {
            Change::Link
        };
        let name = format!("arm-{index}");
        arm(
            &mut truth,
            design,
            (&name, change),
            Some(*us),
            step(*us, count),
        )
    });
    ablation(arms.collect())
}

#[track_caller]
pub(super) fn near(got: f64, is: f64, by: f64) {
    assert!((got - is).abs() < by, "{got} is not {is}");
}

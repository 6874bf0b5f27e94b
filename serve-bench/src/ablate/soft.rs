//! The simulated machine of an arm: the box file with what the arm changes, which the embedded engine reads.
//!
//! The simulated libraries are told of limits by the same variables as real ones and choose among the tables of the whole box, so
//! that engine and benchmark come to an arm's times by ways of their own. A delay is planted in both.

use boxfile::{BoxFile, CollectiveKind, CollectiveLibrary, Limits};
use engine::Curve;
use record::PlannedStep;

/// The box with so much more time in each of the library's all-reduces, and other draws of its noise.
pub(super) fn delayed(described: &BoxFile, delay_us: u32, launch: u32) -> BoxFile {
    let mut described = described.clone();
    for table in &mut described.collective {
        if table.library != CollectiveLibrary::Custom && table.kind == CollectiveKind::AllReduce {
            for (_, us) in &mut table.points {
                *us += f64::from(delay_us);
            }
        }
    }
    if let Some(noise) = &mut described.noise {
        noise.seed = noise.seed.wrapping_add(u64::from(launch));
    }
    described
}

/// The box with the tables alone that these limits leave the library.
pub(super) fn limited(described: &BoxFile, limits: &Limits) -> BoxFile {
    let mut described = described.clone();
    described.collective.retain(|table| {
        let transport = match limits.transport {
            Some(wanted) => table.transport.is_none_or(|is| is == wanted),
            None => true,
        };
        let protocol = limits.protocols.is_empty()
            || table
                .protocol
                .is_none_or(|is| limits.protocols.contains(&is));
        table.library == CollectiveLibrary::Custom || (transport && protocol)
    });
    described
}

/// Time of all collectives of a step on a box, us; `None` where the box does not say that of one of them.
pub(super) fn collectives_us(described: &BoxFile, step: &PlannedStep) -> Option<f64> {
    let curve = Curve::of_box(described, step.tp);
    let times = step.collectives.iter().map(|of| {
        let us = curve.us(of.kind, of.path, of.bytes_per_rank)?;
        Some(f64::from(of.count) * us)
    });
    times.sum()
}

#[cfg(test)]
mod tests {
    use boxfile::Transport;

    use super::*;

    fn all_reduce(described: &BoxFile) -> Option<f64> {
        described.collective_us(
            CollectiveLibrary::Nccl,
            CollectiveKind::AllReduce,
            2,
            65_536,
        )
    }

    #[test]
    fn an_arm_of_a_box_takes_what_its_tables_say() {
        let l40 = BoxFile::builtin("l40x4").unwrap();
        // The box file's tables of two ranks: 12.6 us directly at 64 KiB, 13.8 us through host memory.
        assert_eq!(all_reduce(&l40), Some(12.6));
        let shm = Limits {
            transport: Some(Transport::Shm),
            ..Limits::default()
        };
        assert_eq!(all_reduce(&limited(&l40, &shm)), Some(13.8));
        // 12.6 + 20 at a size that is a point of the table.
        let slow = all_reduce(&delayed(&l40, 20, 0)).unwrap();
        assert!((slow - 32.6).abs() < 1e-9, "{slow}");
        assert!(limited(&l40, &shm).validate("test").is_ok());
    }
}

//! A CPU for each rank where a soft box plays its time in real time: two ranks that spin on one CPU wait for each other's turn.

/// The variable by which a soft driver is told to play its box in real time, and its value.
pub(crate) const SOFT_CLOCK: (&str, &str) = ("TPLENS_SOFT_CLOCK", "wall");

/// Binds this thread to a CPU that no other rank has, if it waits in real time and there is one for each rank.
///
/// A refusal is no fault: the times scatter more then.
pub(super) fn own(ranks: u32, rank: u32) {
    let (name, value) = SOFT_CLOCK;
    if std::env::var_os(name).is_none_or(|clock| clock != value) {
        return;
    }
    let allowed = numa::allowed_cpus().unwrap_or_default();
    if let Some(cpu) = of_rank(&allowed, ranks, rank) {
        drop(numa::pin_thread_to_cpus(&[cpu]));
    }
}

/// The CPU of a rank among those that are allowed; `None` where they are fewer than ranks.
fn of_rank(allowed: &[usize], ranks: u32, rank: u32) -> Option<usize> {
    let own = allowed.get(rank as usize).copied();
    own.filter(|_| allowed.len() >= ranks as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_has_a_cpu_or_none_has() {
        assert_eq!(
            [0, 1].map(|rank| of_rank(&[3, 5], 2, rank)),
            [Some(3), Some(5)]
        );
        assert_eq!([0, 1, 2].map(|rank| of_rank(&[3, 5], 3, rank)), [None; 3]);
    }
}

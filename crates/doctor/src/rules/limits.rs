//! Limits of this process that engines run into.

use topology::Fact;

use super::PROCESS;
use crate::{Facts, Finding, Process};

/// CAP_IPC_LOCK (linux/capability.h): the limit of locked memory does not count.
const IPC_LOCK: u32 = 14;
/// What vLLM asks for.
const FILES_WANTED: u64 = 65_535;

/// Judges this process, or says why it is of no account.
pub(super) fn of_process(facts: &Facts, judge: impl FnOnce(&Process) -> Finding) -> Vec<Finding> {
    vec![match &facts.process {
        Fact::Known(process) => judge(process),
        Fact::Unknown(why) => Finding::cannot_tell(PROCESS, why),
    }]
}

fn words(limit: Option<u64>) -> String {
    limit.map_or_else(|| "no limit".to_owned(), |limit| limit.to_string())
}

pub(super) fn memlock(facts: &Facts) -> Vec<Finding> {
    of_process(facts, |process| {
        let read = &process.locked_bytes;
        let [soft, hard] = match read.told() {
            Ok(limits) => *limits,
            Err(why) => return Finding::cannot_tell(PROCESS, why),
        };
        let seen = format!(
            "{}: {} bytes, at most {}",
            read.source,
            words(soft),
            words(hard)
        );
        if soft.is_none() {
            return Finding::ok(PROCESS, seen);
        }
        if process.has(IPC_LOCK) == Some(true) {
            return Finding::ok(
                PROCESS,
                format!("{seen}; with CAP_IPC_LOCK it does not count"),
            );
        }
        Finding::warn(
            PROCESS,
            seen,
            "in a container: --ulimit memlock=-1; else memlock unlimited in /etc/security/limits.conf, or LimitMEMLOCK=infinity in the unit",
        )
    })
}

pub(super) fn open_files(facts: &Facts) -> Vec<Finding> {
    of_process(facts, |process| {
        let read = &process.open_files;
        let [soft, hard] = match read.told() {
            Ok(limits) => *limits,
            Err(why) => return Finding::cannot_tell(PROCESS, why),
        };
        let seen = format!(
            "{}: {} files, at most {}",
            read.source,
            words(soft),
            words(hard)
        );
        let reaches = |limit: Option<u64>| limit.is_none_or(|limit| limit >= FILES_WANTED);
        if reaches(soft) {
            return Finding::ok(PROCESS, seen);
        }
        if reaches(hard) {
            return Finding::ok(
                PROCESS,
                format!("{seen}; vLLM raises it by itself, for others: ulimit -n {FILES_WANTED}"),
            );
        }
        Finding::warn(
            PROCESS,
            seen,
            format!(
                "in a container: --ulimit nofile={FILES_WANTED}; else nofile in /etc/security/limits.conf, or LimitNOFILE in the unit"
            ),
        )
    })
}

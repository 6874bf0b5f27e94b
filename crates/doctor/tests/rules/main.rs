//! Every rule on boxes for which it has to say ok, bad or a warning, and that it cannot tell. The files are written as the kernel
//! writes them, so that reading them is tested, too.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod bench;
mod cases;
mod readings;

use std::collections::BTreeSet;

use doctor::{Finding, RULES, Value, Verdict, judge};

use crate::bench::Bench;

/// What one rule says of a box.
fn said(rule: &str, bench: &Bench) -> Vec<Finding> {
    let all = judge(&bench.facts()).into_iter();
    all.filter(|finding| finding.rule == rule).collect()
}

#[test]
fn every_rule_says_ok_something_worse_and_that_it_cannot_tell() {
    for rule in RULES {
        let verdicts: BTreeSet<Verdict> = cases::all()
            .filter(|case| case.rule == rule.id)
            .map(|case| case.verdict)
            .collect();
        assert!(
            verdicts.contains(&Verdict::Ok),
            "{} has no box that is ok",
            rule.id
        );
        assert!(
            verdicts.contains(&Verdict::Bad) || verdicts.contains(&Verdict::Warn),
            "{} has no box with a fault",
            rule.id
        );
        assert!(
            verdicts.contains(&Verdict::Unknown),
            "{} has no box of which it cannot tell",
            rule.id
        );
    }
}

#[test]
fn each_case_is_judged_as_it_says_with_why_who_says_so_and_what_to_do() {
    for case in cases::all() {
        let mut bench = Bench::sound();
        (case.change)(&mut bench);
        let findings = said(case.rule, &bench);
        let verdicts: Vec<Verdict> = findings.iter().map(|finding| finding.verdict).collect();
        // The worst comes first; of a box that is ok all is ok.
        assert_eq!(
            verdicts.first(),
            Some(&case.verdict),
            "{}, {}: {findings:#?}",
            case.rule,
            case.what
        );
        for finding in &findings {
            let has_code = !finding.code.is_empty() && !finding.subject.is_empty();
            assert!(has_code && !finding.evidence.0.is_empty(), "{finding:?}");
        }
    }
}

#[test]
fn a_rule_of_a_case_is_in_the_table_and_no_id_is_twice() {
    let ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
    let different: BTreeSet<&&str> = ids.iter().collect();
    assert_eq!(different.len(), ids.len());
    for case in cases::all() {
        assert!(ids.contains(&case.rule), "{}", case.rule);
    }
    for id in ids {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'-' || byte.is_ascii_digit();
        assert!(id.bytes().all(plain), "{id}");
    }
}

#[test]
fn a_sound_box_has_no_fault_and_every_rule_tells() {
    let findings = judge(&Bench::sound().facts());
    let faults: Vec<&Finding> = findings
        .iter()
        .filter(|finding| finding.verdict != Verdict::Ok)
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn nothing_is_ok_where_nothing_can_be_read() {
    let mut findings = judge(&Bench::blank().facts());
    findings.retain(|finding| finding.verdict != Verdict::Unknown);
    assert!(findings.is_empty(), "{findings:#?}");
}

#[test]
fn the_worst_comes_first_and_json_reads_back() {
    let mut bench = Bench::sound();
    bench.set("proc/sys/kernel/numa_balancing", "1");
    bench.variable("NCCL_SHM_DISABLE", "1");
    let findings = judge(&bench.facts());
    assert_eq!(
        (findings[0].rule.as_str(), findings[0].verdict),
        ("variables", Verdict::Bad)
    );
    assert_eq!(
        (findings[1].rule.as_str(), findings[1].verdict),
        ("numa-balancing", Verdict::Warn)
    );
    let json = serde_json::to_string(&findings).unwrap();
    assert!(json.contains("\"verdict\":\"warn\""));
    assert_eq!(
        serde_json::from_str::<Vec<Finding>>(&json).unwrap(),
        findings
    );
}

#[test]
fn what_was_read_stands_in_the_finding_as_numbers() {
    let get = |change: fn(&mut Bench), rule: &str, name: &str| {
        let mut bench = Bench::sound();
        change(&mut bench);
        said(rule, &bench)[0].evidence.get(name).cloned()
    };
    let balancing: fn(&mut Bench) = |b| b.set("proc/sys/kernel/numa_balancing", "2");
    assert_eq!(
        get(balancing, "numa-balancing", "nodes"),
        Some(Value::Count(2))
    );
}

#[test]
fn a_known_problem_and_a_variable_have_codes_of_their_own() {
    let mut bench = Bench::sound();
    bench.variable("NCCL_P2P_LEVEL", "PIX");
    bench.given.versions = vec![bench::version("NVIDIA driver", "560.35.03")];
    assert_eq!(
        said("variables", &bench)[0].code,
        "env-nccl-p2p-level-narrow"
    );
    assert_eq!(
        said("known-versions", &bench)[0].code,
        "driver-r560-p2p-hang"
    );
    // Switching P2P off avoids what is known of this driver.
    bench.variable("NCCL_P2P_DISABLE", "1");
    let avoided = &said("known-versions", &bench)[0];
    assert_eq!(
        (avoided.verdict, avoided.code.as_str()),
        (Verdict::Ok, "driver-r560-p2p-hang")
    );
}

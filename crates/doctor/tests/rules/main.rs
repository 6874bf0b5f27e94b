//! Every rule on boxes for which it has to say ok, bad or a warning, and that it cannot tell. The files are written as the kernel
//! writes them, so that reading them is tested, too.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod bench;
mod cases;
mod readings;

use std::collections::BTreeSet;

use doctor::{Finding, RULES, Verdict, judge};

use crate::bench::Bench;

/// What one rule says of a box.
fn said(rule: &str, bench: &Bench) -> Vec<Finding> {
    judge(&bench.facts(), &[rule])
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
            verdicts.contains(&Verdict::CannotTell),
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
        let first = &findings[0];
        assert!(
            first.seen.contains(case.says),
            "{}, {}: no `{}` in `{}`",
            case.rule,
            case.what,
            case.says,
            first.seen
        );
        for finding in &findings {
            let texts = [
                &finding.seen,
                &finding.why,
                &finding.source,
                &finding.subject,
            ];
            assert!(texts.iter().all(|text| !text.is_empty()), "{finding:?}");
            let is_fault = matches!(finding.verdict, Verdict::Bad | Verdict::Warn);
            assert!(finding.todo.is_some() || !is_fault, "{finding:?}");
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
    let findings = judge(&Bench::sound().facts(), &[]);
    let faults: Vec<&Finding> = findings
        .iter()
        .filter(|finding| finding.verdict != Verdict::Ok)
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn nothing_is_ok_where_nothing_can_be_read() {
    let mut findings = judge(&Bench::blank().facts(), &[]);
    findings.retain(|finding| finding.verdict != Verdict::CannotTell);
    assert!(findings.is_empty(), "{findings:#?}");
}

#[test]
fn the_worst_comes_first_and_json_reads_back() {
    let mut bench = Bench::sound();
    bench.set("proc/sys/kernel/numa_balancing", "1");
    bench.variable("NCCL_SHM_DISABLE", "1");
    let findings = judge(&bench.facts(), &[]);
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
fn one_cause_is_one_finding_that_names_both_rules() {
    let mut bench = Bench::sound();
    bench.variable("NCCL_P2P_DISABLE", "1");
    let findings = judge(&bench.facts(), &[]);
    let of_it: Vec<&Finding> = findings
        .iter()
        .filter(|finding| finding.seen.contains("NCCL_P2P_DISABLE"))
        .filter(|finding| finding.verdict < Verdict::CannotTell)
        .collect();
    assert_eq!(of_it.len(), 1, "{of_it:#?}");
    assert_eq!(of_it[0].rule, "variables");
    assert_eq!(of_it[0].also, ["nccl-p2p-level"]);
}

#[test]
fn a_bare_box_without_frequency_scaling_is_not_called_a_guest() {
    let mut bench = Bench::sound();
    bench.remove("sys/devices/system/cpu/cpufreq/policy");
    let found = said("cpu-governor", &bench);
    assert!(found[0].seen.ends_with("no frequency scaling"), "{found:?}");
}

#[test]
fn the_advice_on_a_level_can_be_followed_and_says_what_then() {
    let mut bench = Bench::sound();
    bench.variable("NCCL_P2P_LEVEL", "PIX");
    let todo = |bench: &Bench| said("nccl-p2p-level", bench)[0].todo.clone().unwrap();
    let told = todo(&bench);
    for part in [
        "--gpus 0,1 --launches 6 --arm \"sys: NCCL_P2P_LEVEL=SYS\"",
        "if the arm wins, set NCCL_P2P_LEVEL=SYS in the server's environment",
    ] {
        assert!(told.contains(part), "no `{part}` in {told}");
    }
    bench.given.is_soft = true;
    let told = todo(&bench);
    assert!(
        told.contains("plays no levels") && !told.contains("--arm"),
        "{told}"
    );
}

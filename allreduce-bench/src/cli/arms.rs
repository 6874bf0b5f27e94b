//! The grammar of `--arm`: a name and the variables that the ranks of this arm have besides.
//!
//! Every value goes into the record, so a variable whose value may not be recorded makes no arm.

use std::collections::BTreeSet;

use record::{Arm, allowed_environment, is_secret};

/// The arm that is measured besides those with variables.
pub(crate) const BASELINE: &str = "baseline";

/// How an arm is written, for refusals.
const FORM: &str = "write it as --arm \"NAME: VARIABLE=VALUE VARIABLE=VALUE\", such as --arm \"p2p-off: NCCL_P2P_DISABLE=1\"";

/// Beginnings of names that may stand in an arm besides those of the record's allow-list: they change how engines and libraries
/// communicate.
const ALLOWED: [&str; 3] = ["VLLM_", "CUDA_", "HIP_"];

/// Beginnings and ends of names that this program sets or has acted on by the time that an arm's ranks start.
const USED: [(&str, &str, &str); 4] = [
    ("", "_VISIBLE_DEVICES", "the devices are chosen with --gpus"),
    (
        "NCCL_DEBUG",
        "",
        "the library's log is read in a run of its own",
    ),
    (
        "MCCL_DEBUG",
        "",
        "the library's log is read in a run of its own",
    ),
    ("TPLENS_", "", "this program sets it"),
];

/// The arms of a command line in the order in which they are reported, none where none was given: the baseline first, unless an arm
/// without variables was named.
///
/// # Errors
/// Says what is wrong with which, and how an arm is written; values are not repeated.
pub(crate) fn arms(given: &[String]) -> Result<Vec<Arm>, String> {
    let named: Vec<Arm> = given
        .iter()
        .map(|text| arm(text).map_err(|reason| format!("--arm: {reason}; {FORM}")))
        .collect::<Result<_, _>>()?;
    let needs_baseline = !named.is_empty() && named.iter().all(|arm| !arm.variables.is_empty());
    let baseline = needs_baseline.then(|| Arm {
        name: BASELINE.to_owned(),
        variables: Vec::new(),
    });
    let arms: Vec<Arm> = baseline.into_iter().chain(named).collect();
    let mut seen = BTreeSet::new();
    match arms.iter().find(|arm| !seen.insert(&arm.name)) {
        Some(twice) if twice.name == BASELINE && needs_baseline => Err(format!(
            "--arm: `{BASELINE}` is the arm without variables; choose another name for one with variables"
        )),
        Some(twice) => Err(format!(
            "--arm: the name `{}` stands for two arms; choose another one",
            twice.name
        )),
        None => Ok(arms),
    }
}

fn arm(text: &str) -> Result<Arm, String> {
    // Without a colon the text may be variables alone, whose values are not repeated.
    let (name, rest) = text
        .split_once(':')
        .ok_or("there is no colon after the name")?;
    let name = name.trim();
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() {
        return Err("the name is empty".to_owned());
    }
    if !name.chars().all(is_name) {
        return Err("a name is letters, digits, `-`, `_` and `.`".to_owned());
    }
    let mut variables: Vec<(String, String)> = Vec::new();
    for word in rest.split_whitespace() {
        let (variable, value) = word
            .split_once('=')
            .ok_or_else(|| format!("a word of `{name}` has no `=`"))?;
        may_stand(variable).map_err(|reason| format!("`{name}`: {reason}"))?;
        if value.is_empty() {
            return Err(format!("`{name}`: {variable} has no value"));
        }
        if variables.iter().any(|(before, _)| before == variable) {
            return Err(format!("`{name}`: {variable} stands there twice"));
        }
        variables.push((variable.to_owned(), value.to_owned()));
    }
    Ok(Arm {
        name: name.to_owned(),
        variables,
    })
}

/// Whether a variable may stand in an arm.
fn may_stand(variable: &str) -> Result<(), String> {
    let is_variable = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if variable.is_empty() || !variable.chars().all(is_variable) {
        return Err("what stands before `=` is no variable's name".to_owned());
    }
    if is_secret(variable) {
        return Err(format!(
            "{variable} has a name of secrets, and an arm's values go into the record; set it in the environment instead"
        ));
    }
    let used = |(begin, end, _): &&(&str, &str, &str)| {
        variable.starts_with(begin) && variable.ends_with(end)
    };
    if let Some((_, _, why)) = USED.iter().find(used) {
        return Err(format!("{variable} cannot be an arm's: {why}"));
    }
    let is_listed = !allowed_environment([(variable.to_owned(), String::new())]).is_empty();
    let begins = ALLOWED.iter().any(|begin| variable.starts_with(begin));
    if is_listed || begins {
        Ok(())
    } else {
        Err(format!(
            "{variable} is none of the variables whose values are recorded (NCCL_*, RCCL_*, MCCL_*, HSA_*, CUDA_*, HIP_*, VLLM_* \
             and a few more); set it in the environment instead"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(given: &[&str]) -> Result<Vec<Arm>, String> {
        let given: Vec<String> = given.iter().map(|text| (*text).to_owned()).collect();
        arms(&given)
    }

    fn names(given: &[&str]) -> Vec<String> {
        let arms = parsed(given).unwrap();
        arms.into_iter().map(|arm| arm.name).collect()
    }

    #[test]
    fn an_arm_is_a_name_and_variables_in_their_order() {
        let arms = parsed(&["p2p-off: NCCL_P2P_DISABLE=1  NCCL_ALGO=allreduce:ring,tree"]).unwrap();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            arms[1].variables,
            [
                pair("NCCL_P2P_DISABLE", "1"),
                pair("NCCL_ALGO", "allreduce:ring,tree")
            ]
        );
    }

    #[test]
    fn arms_with_variables_have_a_baseline_before_them_unless_one_has_none() {
        assert_eq!(names(&[]), [""; 0]);
        assert_eq!(
            names(&["a: NCCL_X=1", "b: NCCL_X=2"]),
            ["baseline", "a", "b"]
        );
        assert_eq!(names(&["a: NCCL_X=1", "plain:"]), ["a", "plain"]);
        assert_eq!(names(&["plain:"]), ["plain"]);
    }

    #[test]
    fn what_is_no_arm_is_refused_with_the_form_and_without_the_value() {
        for (text, says) in [
            ("NCCL_P2P_DISABLE=canary", "no colon"),
            (": NCCL_X=canary", "empty"),
            ("two words: NCCL_X=canary", "letters, digits"),
            ("a: canary", "no `=`"),
            ("a: =canary", "no variable's name"),
            ("a: NCCL_X=", "has no value"),
            ("a: NCCL_X=1 NCCL_X=canary", "twice"),
            ("a: NCCL_API_KEY=canary", "secrets"),
            ("a: VLLM_TOKEN=canary", "secrets"),
            ("a: NCCL_DEBUG=canary", "log"),
            ("a: CUDA_VISIBLE_DEVICES=canary", "--gpus"),
            ("a: TPLENS_NCCL=canary", "this program"),
            ("a: LD_PRELOAD=canary", "recorded"),
        ] {
            let refused = parsed(&[text]).unwrap_err();
            assert!(refused.contains(says), "no `{says}` in {refused}");
            assert!(refused.contains("NAME: VARIABLE=VALUE"), "{refused}");
            assert!(!refused.contains("canary"), "{refused}");
        }
    }

    #[test]
    fn a_name_stands_for_one_arm() {
        for given in [
            &["a: NCCL_X=1", "a: NCCL_X=2"][..],
            &["baseline: NCCL_X=1"],
            &["a:", "a: NCCL_X=1"],
        ] {
            let refused = parsed(given).unwrap_err();
            assert!(refused.contains("choose another"), "{refused}");
        }
    }
}

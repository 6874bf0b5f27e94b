//! `accept profile` as a user calls it: what is printed, and exit codes.

use assert_cmd::Command;

/// Runs `accept profile` with these arguments: exit code, standard output, standard error.
fn profile(arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_accept"));
    let output = command
        .arg("profile")
        .args(arguments)
        .output()
        .expect("accept starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn shipped_profiles_are_listed_and_checked() {
    let (code, listed, _) = profile(&["list"]);
    assert_eq!(code, Some(0));
    for line in listed.lines() {
        let name = line.split_whitespace().next().unwrap();
        let (code, told, said) = profile(&["check", name]);
        assert_eq!((code, said.as_str()), (Some(0), ""), "{name}");
        assert!(told.starts_with(&format!("{name}: ")), "{told}");
    }
    assert_eq!(listed.lines().count(), 9);
}

#[test]
fn a_profile_that_is_not_there_or_has_a_fault_ends_with_exit_code_2() {
    let (code, told, said) = profile(&["check", "l40"]);
    assert_eq!((code, told.as_str()), (Some(2), ""));
    assert!(
        said.starts_with("error: there is no profile or file `l40`"),
        "{said}"
    );
    let path = std::env::temp_dir().join(format!("accept-fault-{}.toml", std::process::id()));
    std::fs::write(
        &path,
        "schema = \"accept-profile/1\"\nname = \"own\"\ntitle = \"own\"\nfail = 3\n",
    )
    .unwrap();
    let (code, _, said) = profile(&["check", &path.display().to_string()]);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(code, Some(2));
    assert!(said.contains("line 4: there is no key `fail`"), "{said}");
}

#[test]
fn a_profile_is_printed_whole_as_toml() {
    let (code, whole, _) = profile(&["check", "l40x4", "--whole"]);
    assert_eq!(code, Some(0));
    // A line of its own, and one of what it extends.
    for line in ["count = 4", "max_repeats = 60"] {
        assert!(whole.lines().any(|own| own == line), "{line}\n{whole}");
    }
}

#[test]
fn a_name_or_a_key_draws_nothing_on_a_terminal() {
    // Sets a title, clears the screen with a CSI of one byte, and turns the line around.
    let name = "x\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}";
    let path = std::env::temp_dir().join(format!("accept-words-{}.toml", std::process::id()));
    for text in [
        format!("schema = \"accept-profile/1\"\n\"{name}\" = 3\n"),
        format!("schema = \"accept-profile/1\"\nname = '{name}'\nfail = 3\n"),
        format!("[{name}"),
    ] {
        std::fs::write(&path, text).expect("a file for a test");
        for words in [name, &path.display().to_string()] {
            let (code, told, said) = profile(&["check", words]);
            let is_hostile = |c: char| measure::control::is_unseen(c) && !matches!(c, '\n' | '\t');
            assert!(!said.contains(is_hostile) && told.is_empty(), "{said:?}");
            assert_eq!(code, Some(2), "{said}");
        }
    }
    std::fs::remove_file(&path).expect("the file was made");
}

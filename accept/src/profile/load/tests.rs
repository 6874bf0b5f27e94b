//! Profiles as files: what is joined, and what is refused with file and line.

use std::fs;
use std::path::PathBuf;

use super::*;

/// A folder of a test's own, removed when it ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("accept-profile-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left over is in the folder for temporary files.
        drop(fs::remove_dir_all(&self.0));
    }
}

const HEAD: &str =
    "schema = \"accept-profile/1\"\nname = \"own\"\ntitle = \"a box\"\nextends = \"l40x4\"\n";

#[test]
fn every_shipped_profile_reads_and_all_but_base_match_a_box() {
    for (name, _) in SHIPPED {
        let loaded = load(name).unwrap();
        assert_eq!(
            (loaded.profile.name.as_str(), loaded.shipped),
            (*name, true)
        );
        assert_eq!(loaded.profile.matches.is_some(), *name != "base", "{name}");
        for row in &loaded.profile.limit {
            let is_told = row.source.contains("our choice") || row.source.contains('(');
            assert!(is_told, "{name}: {}: {}", row.check, row.source);
        }
    }
}

#[test]
fn a_file_stands_on_what_it_extends_and_its_limits_replace_those() {
    let folder = Folder::new("joined");
    let text = format!(
        "{HEAD}[link]\ngeneration = 5\nsource = \"our board\"\n\n[[limit]]\ncheck = \"p2p\"\nof = \"SYS\"\ngood = \"at_least\"\nfail = 0.6\nunit = \"of_ceiling\"\nsource = \"our choice\"\n"
    );
    let path = folder.write("own.toml", &text);
    let loaded = load(&path).unwrap();
    let link = &loaded.profile.link;
    // The width is l40x4's, the number of changes base's.
    assert_eq!(
        (link.generation, link.width, link.transitions_at_most),
        (Some(5), Some(16), 0)
    );
    let p2p = |of: Option<&str>| {
        let rows = loaded.profile.limit.iter();
        let rows = rows.filter(|row| row.check == "p2p" && row.of.as_deref() == of);
        rows.map(|row| row.fail).collect::<Vec<_>>()
    };
    assert_eq!(
        (p2p(Some("SYS")), p2p(None)),
        (vec![Some(0.6)], vec![Some(0.75)])
    );
    assert!(!loaded.shipped && loaded.files.len() == 3);
    // The hash is over all files.
    let other = folder.write("other.toml", &format!("{text}# more\n"));
    assert_ne!(load(&other).unwrap().sha256, loaded.sha256);
}

#[test]
fn what_is_wrong_is_refused_with_its_file_and_wrong_toml_with_its_line() {
    // A limit: check, its good side, and other fields.
    let row = |check: &str, good: &str, more: &str| {
        format!("[[limit]]\nsource = \"x\"\ncheck = \"{check}\"\ngood = \"{good}\"\n{more}\n")
    };
    let (rate, part) = ("fail = 1.0\nunit = \"GB/s\"", "unit = \"of_ceiling\"");
    let of_link = |lines: &str| format!("{lines}\n{part}");
    let twice = row("p2p", "at_least", rate);
    // The head has four lines.
    for (text, line) in [
        ("[link]\ngeneraton = 5\nsource = \"x\"\n", 0),
        ("[lnk]\nwidth = 8\n", 0),
        ("[link\n", 5),
        ("[required]\nquik = []\n", 0),
        // What an expectation rests on is not inherited.
        ("[link]\nwidth = 8\n", 0),
        ("[peer]\nexpect = \"forbidden\"\n", 0),
        ("[link]\ngeneration = 9\nwidth = 16\nsource = \"x\"\n", 0),
        ("[numa]\nnodes = [0, 1]\nsource = \"x\"\n", 0),
        ("[sampling]\nrepeats = 5\n", 0),
        ("[required]\nquick = [\"p2pp\"]\n", 0),
        (&format!("{twice}{twice}"), 0),
        (&row("h2d_pined", "at_least", &of_link("fail = 0.5")), 0),
        (
            &row("p2p", "at_least", &of_link("fail = 0.9\nwarn = 0.8")),
            0,
        ),
        (&row("p2p", "at_least", &of_link("fail = 88.0")), 0),
        (&row("p2p", "at_least", "fail = 0.5\nunit = \"us\""), 0),
        (&row("p2p", "at_least", "unit = \"GB/s\""), 0),
        (&row("allreduce", "at_most", "fail = 5.0\nunit = \"us\""), 0),
        (&row("inventory", "at_most", "fail = 5.0\nunit = \"us\""), 0),
        // Good on the other side.
        (
            &row("temperature", "at_most", "warn = 5.0\nunit = \"degC\""),
            0,
        ),
        (&row("h2d_pinned", "at_most", &of_link("fail = 0.8")), 0),
    ] {
        let folder = Folder::new("refused");
        let path = folder.write("own.toml", &format!("{HEAD}{text}"));
        let refused = load(&path).unwrap_err().to_string();
        let place = match line {
            0 => format!("{path}: "),
            line => format!("{path}, line {line}: "),
        };
        assert!(refused.starts_with(&place), "{text}: {refused}");
    }
}

#[test]
fn what_is_extended_is_a_profile_and_no_circle() {
    let folder = Folder::new("extends");
    let head = |extends: &str| HEAD.replace("l40x4", extends);
    let path = folder.write("a.toml", &head("absent.toml"));
    assert!(load(&path).is_err());
    folder.write("b.toml", &head("a.toml"));
    folder.write("a.toml", &head("b.toml"));
    assert!(load(&path).is_err());
    // Own, d, l40x4 and base are four.
    folder.write("d.toml", &head("l40x4"));
    folder.write("a.toml", &head("d.toml"));
    assert_eq!(load(&path).unwrap().files.len(), 4);
    let large = folder.write("large.toml", &"#\n".repeat(2_100_000));
    assert!(load(&large).is_err());
    let old = folder.write("old.toml", &HEAD.replace("profile/1", "profile/0"));
    assert!(load(&old).is_err() && load("l40x").is_err());
}

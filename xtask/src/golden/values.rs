//! `golden/values/GROUP.tsv`: case, name and value, a line each, in the order of case and name.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// The values of cases: those of each by name.
pub(super) type Values = BTreeMap<String, BTreeMap<String, String>>;

/// The first line of each file.
const HEAD: &str = "case\tname\tvalue\n";

/// Reads all files of a folder; one that is not there holds nothing.
///
/// # Errors
/// A file or a line does not read.
pub(super) fn read(folder: &Path) -> Result<Values> {
    let mut values = Values::new();
    if !folder.exists() {
        return Ok(values);
    }
    for entry in fs::read_dir(folder)? {
        let file = entry?.path();
        let text = fs::read_to_string(&file)
            .with_context(|| format!("{} cannot be read", file.display()))?;
        parse(&text, &mut values).with_context(|| format!("{}", file.display()))?;
    }
    Ok(values)
}

fn parse(text: &str, values: &mut Values) -> Result<()> {
    let lines = text
        .strip_prefix(HEAD)
        .context("its first line is another")?;
    for line in lines.lines() {
        let mut parts = line.splitn(3, '\t');
        let (Some(case), Some(name), Some(value)) = (parts.next(), parts.next(), parts.next())
        else {
            anyhow::bail!("`{line}` has no three columns");
        };
        let of_case = values.entry(case.to_owned()).or_default();
        of_case.insert(name.to_owned(), value.to_owned());
    }
    Ok(())
}

/// Writes the file of each group; a case's group is what stands before its slash.
///
/// # Errors
/// A file cannot be written.
pub(super) fn write(folder: &Path, values: &Values) -> Result<()> {
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    for (case, of_case) in values {
        let file = files.entry(group(case)).or_insert_with(|| HEAD.to_owned());
        for (name, value) in of_case {
            file.push_str(&format!("{case}\t{name}\t{value}\n"));
        }
    }
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    for (group, text) in files {
        let file = folder.join(format!("{group}.tsv"));
        fs::write(&file, text).with_context(|| format!("{} cannot be written", file.display()))?;
    }
    Ok(())
}

/// What stands before the slash of a case's id.
pub(super) fn group(case: &str) -> &str {
    case.split_once('/').map_or(case, |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_in_one_order() {
        let folder = std::env::temp_dir().join(format!("xtask-golden-{}", std::process::id()));
        let of = |pairs: &[(&str, &str)]| {
            let owned = pairs
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()));
            owned.collect::<BTreeMap<_, _>>()
        };
        let values = Values::from([
            ("b/two".to_owned(), of(&[("z", "1"), ("a[x,y]", "0.1")])),
            ("a/one".to_owned(), of(&[("code", "link-degraded")])),
        ]);
        write(&folder, &values).unwrap();
        assert_eq!(read(&folder).unwrap(), values);
        assert_eq!(
            fs::read_to_string(folder.join("b.tsv")).unwrap(),
            "case\tname\tvalue\nb/two\ta[x,y]\t0.1\nb/two\tz\t1\n"
        );
        fs::remove_dir_all(&folder).unwrap();
        assert!(parse("case\tname\tvalue\nonly two\tcolumns\n", &mut Values::new()).is_err());
    }
}

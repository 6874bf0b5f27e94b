//! Flags on the command lines of engines, as their parsers (argparse) take them.

/// The word after a flag, or after its `=`, of the last one of these, as argparse has it; `_` stands for `-` in a long flag's name.
pub(crate) fn value<'a>(words: &'a [String], flags: &[&str]) -> Option<&'a str> {
    let at = |(index, word): (usize, &'a String)| {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), words.get(index + 1).map(String::as_str)),
        };
        is_one(name, flags).then_some(value?)
    };
    words.iter().enumerate().rev().find_map(at)
}

/// Whether one of these flags is among the words, with a value or without.
pub(crate) fn says(words: &[String], flags: &[&str]) -> bool {
    let name = |word: &String| {
        word.split('=')
            .next()
            .is_some_and(|name| is_one(name, flags))
    };
    words.iter().any(name)
}

fn is_one(name: &str, flags: &[&str]) -> bool {
    name.starts_with('-') && flags.contains(&name.replace('_', "-").as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_a_repeated_flag_holds_in_whatever_spelling() {
        let words: Vec<String> =
            "serve m --max-len 1 --max_len=2 -tp 4 --eager_mode --other=7 --last"
                .split(' ')
                .map(str::to_owned)
                .collect();
        assert_eq!(value(&words, &["--max-len"]), Some("2"));
        assert_eq!(value(&words, &["--max-len", "-tp"]), Some("4"));
        assert_eq!(value(&words, &["--last"]), None);
        assert!(says(&words, &["--eager-mode"]) && says(&words, &["--other"]));
        assert!(!says(&words, &["--max"]) && !says(&words, &["m"]));
    }
}

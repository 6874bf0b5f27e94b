//! Names that are most like one that does not exist, for messages.

/// So many names are told.
const TOLD: usize = 3;

/// The names that are most like a word, the nearest first: by the letters that must be put in, taken out or replaced.
pub(super) fn nearest<'a>(word: &str, names: &[&'a str]) -> Vec<&'a str> {
    let mut near: Vec<&str> = names.to_vec();
    near.sort_by_key(|name| changes(word, name));
    near.truncate(TOLD);
    near
}

/// Letters to put in, take out or replace, from one word to the other (Levenshtein).
fn changes(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.chars().enumerate() {
        let mut now = vec![row + 1];
        for (column, wanted) in to.iter().enumerate() {
            let replaced = above[column] + usize::from(letter != *wanted);
            now.push(replaced.min(above[column + 1] + 1).min(now[column] + 1));
        }
        above = now;
    }
    above[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_counted_and_the_nearest_come_first() {
        // One to put in, one to replace, all three to take out.
        assert_eq!(changes("host", "hosts"), 1);
        assert_eq!(changes("host", "most"), 1);
        assert_eq!(changes("abc", ""), 3);
        let names = ["kv_read", "host_ms", "host_eager_ms", "in_situ"];
        assert_eq!(nearest("host_m", &names)[0], "host_ms");
        assert_eq!(nearest("host_m", &names).len(), 3);
    }
}

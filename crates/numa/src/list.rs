//! Number lists as the kernel writes them, such as `0-3,8`.

/// The numbers of a list, smallest first; `None` where the text is none. An empty text is an empty list.
pub(crate) fn numbers<T>(text: &str) -> Option<Vec<T>>
where
    T: TryFrom<u32> + Ord,
{
    // No kernel has as many CPUs or nodes; a longer range would be garbage that fills the memory.
    const MOST: u32 = 65_535;
    let number = |text: &str| -> Option<u32> {
        let plain = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|&number| plain && number <= MOST)
    };
    let mut numbers = Vec::new();
    for part in text.trim().split(',').filter(|_| !text.trim().is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        for value in number(first)?..=number(last)? {
            numbers.push(T::try_from(value).ok()?);
        }
    }
    numbers.sort();
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_other_texts_refused() {
        assert_eq!(numbers("0-3,8\n"), Some(vec![0_u32, 1, 2, 3, 8]));
        assert_eq!(numbers::<usize>(""), Some(Vec::new()));
        for text in ["a", "1,,2", "-1", "+1", "0-4000000000"] {
            assert_eq!(numbers::<u32>(text), None, "{text}");
        }
    }
}

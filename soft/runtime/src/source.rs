//! What a compiler would find in a source: its kernels with C names. It is no compiler: what stands in a body is not looked at,
//! macros with parameters are not known, and conditions of the preprocessor are taken for true.

use std::collections::BTreeMap;

/// The kernels of a source that have the names they are written with (`extern "C"`), in its order.
///
/// # Errors
/// A line of a compiler's log where the source is no source.
pub(crate) fn kernels(source: &str) -> Result<Vec<String>, String> {
    let tokens = tokens(&without_comments(source)?);
    check_braces(&tokens)?;
    let mut found = Vec::new();
    // How deep the braces are, and the depths at which a block of `extern "C"` began.
    let (mut depth, mut linkage) = (0, Vec::new());
    let mut declaration = 0;
    for (at, token) in tokens.iter().enumerate() {
        let head = &tokens[declaration..at];
        match token.as_str() {
            "{" => {
                if is_c(head) && !head.contains(&"(".to_owned()) {
                    linkage.push(depth);
                }
                depth += 1;
                declaration = at + 1;
            }
            "}" => {
                depth -= 1;
                if linkage.last() == Some(&depth) {
                    linkage.pop();
                }
                declaration = at + 1;
            }
            ";" => declaration = at + 1,
            _ => continue,
        }
        let is_global = head.iter().any(|word| word == "__global__")
            || head.windows(2).any(|pair| pair == ["(", "global"]);
        // A body begins here, not a mere declaration.
        if token == "{" && is_global && (is_c(head) || !linkage.is_empty()) {
            found.extend(name(head));
        }
    }
    Ok(found)
}

/// Whether a declaration says `extern "C"`.
fn is_c(head: &[String]) -> bool {
    head.windows(2).any(|pair| pair == ["extern", "\"C\""])
}

/// The name that a declaration declares: the first word before a bracket that is no attribute's and in none of theirs.
fn name(head: &[String]) -> Option<String> {
    let mut depth = 0;
    for (at, token) in head.iter().enumerate() {
        match token.as_str() {
            "(" => {
                let before = at.checked_sub(1).map(|before| &head[before])?;
                let is_attribute = before.starts_with("__") && before.ends_with("__");
                if depth == 0 && !is_attribute {
                    return Some(before.clone());
                }
                depth += 1;
            }
            ")" => depth -= 1,
            _ => {}
        }
    }
    None
}

fn check_braces(tokens: &[String]) -> Result<(), String> {
    let mut depth = 0_i32;
    for token in tokens {
        depth += i32::from(token == "{") - i32::from(token == "}");
        if depth < 0 {
            return Err("error: extraneous closing brace ('}')".to_owned());
        }
    }
    match depth {
        0 => Ok(()),
        _ => Err("error: expected '}'".to_owned()),
    }
}

fn without_comments(source: &str) -> Result<String, String> {
    let (mut text, mut rest) = (String::new(), source);
    while let Some(at) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        text.push_str(&rest[..at]);
        text.push(' ');
        let comment = &rest[at..];
        rest = if comment.starts_with("//") {
            comment.find('\n').map_or("", |end| &comment[end..])
        } else {
            let end = comment.find("*/").ok_or("error: unterminated /* comment")?;
            &comment[end + 2..]
        };
    }
    Ok(text + rest)
}

/// Words, texts in quotes, and single signs, with macros without parameters replaced by what they stand for.
fn tokens(source: &str) -> Vec<String> {
    let mut macros: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut all = Vec::new();
    for line in source.replace("\\\n", " ").lines() {
        let Some(directive) = line.trim_start().strip_prefix('#') else {
            for token in split(line) {
                match macros.get(&token) {
                    Some(meant) => all.extend(meant.iter().cloned()),
                    None => all.push(token),
                }
            }
            continue;
        };
        let mut words = split(directive).into_iter();
        if let (Some("define"), Some(name)) = (words.next().as_deref(), words.next()) {
            macros.insert(name, words.collect());
        }
    }
    all
}

fn split(line: &str) -> Vec<String> {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let (mut tokens, mut rest) = (Vec::new(), line.trim_start());
    while let Some(first) = rest.chars().next() {
        let length = if is_word(first) {
            rest.find(|letter| !is_word(letter)).unwrap_or(rest.len())
        } else if first == '"' {
            rest[1..].find('"').map_or(rest.len(), |end| end + 2)
        } else {
            first.len_utf8()
        };
        tokens.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::kernels;

    fn found(source: &str) -> Vec<String> {
        kernels(source).expect("a source")
    }

    #[test]
    fn a_kernel_has_c_linkage_and_a_body() {
        assert_eq!(
            found("extern \"C\" __global__ void one(int a) { if (a) { } }"),
            ["one"]
        );
        assert!(found("__global__ void mangled() {}").is_empty());
        assert!(found("extern \"C\" __global__ void declared(int a);").is_empty());
        assert!(found("extern \"C\" __device__ void helper() {}").is_empty());
        assert!(found("// extern \"C\" __global__ void no() {}\n").is_empty());
    }

    #[test]
    fn attributes_and_macros_are_not_names() {
        assert_eq!(
            found(
                "extern \"C\" __global__ void __launch_bounds__(256) one() {} /* two */ \
                 extern \"C\" __attribute__((global)) void two(const int *p) {}"
            ),
            ["one", "two"]
        );
        assert_eq!(
            found("#define KERNEL extern \"C\" \\\n __global__\nKERNEL void one() {}"),
            ["one"]
        );
    }

    #[test]
    fn a_block_gives_c_linkage_to_what_is_in_it() {
        let source =
            "extern \"C\" { __global__ void one() {} void two() {} } __global__ void three() {}";
        assert_eq!(found(source), ["one"]);
    }

    #[test]
    fn what_is_no_source_is_said() {
        assert!(kernels("extern \"C\" __global__ void one() {").is_err());
        assert!(kernels("}").is_err());
        assert!(kernels("/* open").is_err());
    }
}

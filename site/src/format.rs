//! Numbers and strangers' texts as a reader sees them.

/// What stands where no number was measured.
pub const NONE: &str = "n/a";
const LONGEST_NAME: usize = 80;
const LONGEST_TEXT: usize = 300;

/// A stranger's short text: one line, no control or direction characters,
/// capped. Escaping is the template's part.
pub fn name(text: &str) -> String {
    clean(text, LONGEST_NAME)
}

/// A stranger's sentence.
pub fn sentence(text: &str) -> String {
    clean(text, LONGEST_TEXT)
}

fn clean(text: &str, longest: usize) -> String {
    let plain = |c: char| {
        let turns = matches!(c,
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{feff}');
        if c.is_control() || turns { ' ' } else { c }
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String = words.join(" ").chars().map(plain).collect();
    match line.char_indices().nth(longest) {
        None => line,
        Some((at, _)) => format!("{}…", &line[..at]),
    }
}

/// An address that is safe to link to.
pub fn link(text: &str) -> Option<&str> {
    let web = text.starts_with("https://") || text.starts_with("http://");
    let plain = !text.chars().any(|c| c.is_whitespace() || c.is_control());
    (web && plain && text.len() <= LONGEST_TEXT).then_some(text)
}

/// Three significant digits, without a unit.
fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

/// A number with the first unit it stays below a thousand of.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let fits = |(size, _): &&(f64, &str)| value.abs() < size * 999.5;
    let (size, unit) =
        units.iter().find(fits).or(units.last()).unwrap_or(&(1.0, ""));
    format!("{}{unit}", digits(value / size))
}

/// A rate per second: `101k`, `2.89M`.
pub fn rate(value: f64) -> String {
    scaled(value, &[(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G")])
}

/// A time: `430 ns`, `1.19 ms`.
pub fn time(ns: f64) -> String {
    scaled(ns, &[(1.0, " ns"), (1e3, " µs"), (1e6, " ms"), (1e9, " s")])
}

/// A size of memory: `12.0 MiB`.
pub fn memory(bytes: u64) -> String {
    let units = [(1024.0, " KiB"), (1048576.0, " MiB"), (1073741824.0, " GiB")];
    scaled(bytes as f64, &units)
}

/// A score or share in per cent of the best: one decimal, two below ten.
pub fn score(value: f64) -> String {
    if value >= 9.995 { format!("{value:.1}") } else { format!("{value:.2}") }
}

/// A share as per cent: `2.0 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A range of whole numbers, or the one number: `4–7`.
pub fn range(lo: u32, hi: u32) -> String {
    if lo == hi { lo.to_string() } else { format!("{lo}–{hi}") }
}

/// `1 entry`, `2 entries`.
pub fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// `a`, `a and b`, `a, b and c`.
pub fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_significant_digits_and_a_unit() {
        assert_eq!(rate(2_893_000.0), "2.89M");
        assert_eq!(rate(101_400.0), "101k");
        assert_eq!(rate(999.9), "1.00k");
        assert_eq!(rate(42.04), "42.0");
        assert_eq!(time(1_190_000.0), "1.19 ms");
        assert_eq!(time(430.0), "430 ns");
        assert_eq!(time(75e9), "75.0 s");
        assert_eq!(memory(12 << 20), "12.0 MiB");
        assert_eq!(score(77.04), "77.0");
        assert_eq!(score(0.5), "0.50");
        assert_eq!(percent(0.0213), "2.1 %");
    }

    #[test]
    fn a_range_of_one_is_one_number() {
        assert_eq!((range(4, 7), range(1, 1)), ("4–7".into(), "1".into()));
    }

    #[test]
    fn names_lose_what_could_change_the_page() {
        assert_eq!(name("a\u{202e}b\nc\u{0}d"), "a b c d");
        let long = name(&"x".repeat(100));
        assert_eq!(long.chars().count(), LONGEST_NAME + 1);
        assert_eq!(sentence("  two   words "), "two words");
    }

    #[test]
    fn only_web_addresses_become_links() {
        assert!(link("https://example.org/a").is_some());
        for bad in ["javascript:alert(1)", "//x", "", "http://a b", "data:x"] {
            assert_eq!(link(bad), None, "{bad}");
        }
    }

    #[test]
    fn lists_read_like_a_sentence() {
        let names = ["a", "b", "c"].map(String::from);
        assert_eq!(list(&names), "a, b and c");
        assert_eq!(list(&names[..2]), "a and b");
        assert_eq!(list(&names[..1]), "a");
    }
}

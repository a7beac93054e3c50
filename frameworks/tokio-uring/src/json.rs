//! The two kinds of JSON values that take some writing.

pub fn number(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Writes the string with its quotes, escaped where it must be.
pub fn string(out: &mut Vec<u8>, text: &str) {
    let text = text.as_bytes();
    out.push(b'"');
    let mut from = 0;
    for (at, &byte) in text.iter().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&text[from..at]);
        from = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => {
                let digit = |value: u8| b"0123456789abcdef"[value as usize];
                let digits = [digit(byte >> 4), digit(byte & 15)];
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&digits);
            }
        }
    }
    out.extend_from_slice(&text[from..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_comes_back() {
        let mut text: String =
            (0..0x180u32).filter_map(char::from_u32).collect();
        text.push('\u{1f980}');
        for text in [&text[..], "", "plain", "\"", "a\\", "\nb"] {
            let mut out = Vec::new();
            string(&mut out, text);
            assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }
    }

    #[test]
    fn numbers_are_decimal() {
        let mut out = Vec::new();
        number(&mut out, i64::MIN);
        number(&mut out, 0);
        assert_eq!(out, b"-92233720368547758080");
    }
}

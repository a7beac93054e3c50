//! Header blocks: the judge's own are written out plainly, the entry's are
//! read by a library and held against RFC 9113 section 8.

use loona_hpack::Decoder;

use crate::http::{Delimited, Request, Response};

/// A block that decodes to more is an attack.
const LONGEST: usize = 64 * 1024;

/// Appends one field as a literal that is not indexed.
pub(crate) fn put(name: &str, value: &str, out: &mut Vec<u8>) {
    literal(0x00, name, value, out);
}

/// Appends one field as a literal that the other side must remember.
pub(crate) fn put_indexed(name: &str, value: &str, out: &mut Vec<u8>) {
    literal(0x40, name, value, out);
}

fn literal(first: u8, name: &str, value: &str, out: &mut Vec<u8>) {
    out.push(first);
    for text in [name, value] {
        number(text.len(), 0x00, 7, out);
        out.extend_from_slice(text.as_bytes());
    }
}

/// Appends a number with a prefix of so many bits (RFC 7541 section 5.1).
pub(crate) fn number(n: usize, first: u8, bits: u8, out: &mut Vec<u8>) {
    let most = (1_usize << bits) - 1;
    if n < most {
        out.push(first | n as u8);
        return;
    }
    out.push(first | most as u8);
    let mut rest = n - most;
    while rest >= 128 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// What a request says, in the order the load says it. Fields of HTTP/1.1's
/// connections have no place here.
pub(crate) fn of(request: &Request, scheme: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = vec![
        (":method".into(), request.method.clone()),
        (":scheme".into(), scheme.into()),
        (":authority".into(), request.host.clone()),
        (":path".into(), request.target.clone()),
    ];
    for (name, value) in &request.fields {
        let name = name.to_ascii_lowercase();
        let hop = ["transfer-encoding", "connection", "host", "upgrade"];
        if !hop.contains(&&name[..]) {
            all.push((name, value.clone()));
        }
    }
    all
}

/// The block of these fields.
pub(crate) fn block(fields: &[(String, String)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        put(name, value, &mut out);
    }
    out
}

/// Decodes a whole block.
pub(crate) fn decode(
    decoder: &mut Decoder<'_>,
    block: &[u8],
) -> Result<Vec<(String, String)>, String> {
    let (mut all, mut size) = (Vec::new(), 0);
    let done = decoder.decode_with_cb(block, |name, value| {
        size += name.len() + value.len() + 32;
        // Further ones are only counted: references may name long fields.
        if size <= LONGEST {
            all.push((
                String::from_utf8_lossy(&name).into_owned(),
                String::from_utf8_lossy(&value).into_owned(),
            ));
        }
    });
    done.map_err(|e| format!("a header block that does not decode: {e:?}"))?;
    if size > LONGEST {
        return Err(format!("a head of more than {LONGEST} bytes"));
    }
    Ok(all)
}

/// The head of an answer.
pub(crate) fn head(all: Vec<(String, String)>) -> Result<Response, String> {
    let mut status = None;
    let mut headers = Vec::new();
    for (name, value) in all {
        if name == ":status" && headers.is_empty() && status.is_none() {
            let digits = value.bytes().all(|b| b.is_ascii_digit());
            let code = value.parse::<u16>().ok();
            let code = code.filter(|_| digits && value.len() == 3);
            let shown = profiles::oracle::clip(value.as_bytes());
            status = Some(code.ok_or(format!("`{shown}` is no status"))?);
            continue;
        }
        field(&name)?;
        headers.push((name, value));
    }
    let status = status.ok_or("no :status before the fields")?;
    for once in ["content-type", "content-encoding", "content-length"] {
        let times = headers.iter().filter(|(n, _)| n == once).count();
        if times > 1 {
            return Err(format!("{times} `{once}` fields in one answer"));
        }
    }
    let length = headers.iter().find(|(n, _)| n == "content-length");
    let length = match length {
        None => None,
        Some((_, text)) => {
            let digits = text.bytes().all(|b| b.is_ascii_digit());
            let shown = profiles::oracle::clip(text.as_bytes());
            let value = text.parse().ok().filter(|_| digits);
            Some(value.ok_or(format!("content-length `{shown}`"))?)
        }
    };
    Ok(Response {
        status,
        headers,
        body: Vec::new(),
        trailers: None,
        delimited: Delimited::Stream,
        length,
        says_close: false,
    })
}

/// Whether a field may stand in a head or in trailers.
pub(crate) fn field(name: &str) -> Result<(), String> {
    let hop = [
        "connection",
        "keep-alive",
        "proxy-connection",
        "transfer-encoding",
        "upgrade",
    ];
    let shown = profiles::oracle::clip(name.as_bytes());
    if name.starts_with(':') {
        return Err(format!("`{shown}` where no such field may be"));
    }
    if name.is_empty() || name.bytes().any(|b| b.is_ascii_uppercase()) {
        return Err(format!("the field name `{shown}` is not in lower case"));
    }
    if hop.contains(&name) {
        return Err(format!(
            "`{shown}` belongs to HTTP/1.1 (RFC 9113 section 8.2.2)"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(fields: &[(&str, &str)]) -> Result<Response, String> {
        let own = |(n, v): &(&str, &str)| (n.to_string(), v.to_string());
        let fields: Vec<_> = fields.iter().map(own).collect();
        let mut decoder = Decoder::new();
        head(decode(&mut decoder, &block(&fields)).unwrap())
    }

    #[test]
    fn a_head_reads_as_it_was_written_and_what_is_odd_is_named() {
        let long = "x".repeat(300);
        let fine = told(&[(":status", "200"), ("a", &long), ("a", "2")]);
        let fine = fine.unwrap();
        assert_eq!((fine.status, fine.headers.len()), (200, 2));
        assert_eq!(fine.header("a"), Some(&long[..]));
        for (fields, why) in [
            (&[("a", "b")][..], "no :status"),
            (&[("a", "b"), (":status", "200")], "no such field"),
            (&[(":status", "200"), (":status", "200")], "no such field"),
            (&[(":status", "2000")], "no status"),
            (&[(":status", "+20")], "no status"),
            (&[(":status", "200"), ("A", "b")], "lower case"),
            (&[(":status", "200"), ("connection", "close")], "HTTP/1.1"),
            (
                &[(":status", "200"), ("content-length", "-1")],
                "content-length `-1`",
            ),
        ] {
            let found = told(fields).unwrap_err();
            assert!(found.contains(why), "{fields:?}: {found}");
        }
    }

    #[test]
    fn a_block_that_refers_to_a_long_field_again_and_again_is_cut_off() {
        let mut block = Vec::new();
        put_indexed("a", &"x".repeat(3000), &mut block);
        block.extend(vec![0xbe; 60_000]);
        let mut decoder = Decoder::new();
        let why = decode(&mut decoder, &block).unwrap_err();
        assert!(why.contains("more than 65536 bytes"), "{why}");
    }

    #[test]
    fn noise_is_no_block_and_no_panic() {
        let mut whole = block(&of(
            &Request::new("GET", "/a?b=c", "h", "Accept-Encoding: br\r\n"),
            "https",
        ));
        put_indexed("name", "value", &mut whole);
        for at in 0..whole.len() {
            for with in [0, 0x3f, 0x7f, 0x80, 0xff] {
                let mut odd = whole.clone();
                odd[at] = with;
                let _ = decode(&mut Decoder::new(), &odd);
            }
            let _ = decode(&mut Decoder::new(), &whole[..at]);
        }
    }
}

use super::*;

const REQUEST: &[u8] = b"POST /baseline11?a=1&b=2 HTTP/1.1\r\n\
    Host: 127.0.0.1:8080\r\ncontent-LENGTH:\t2 \r\n\
    Accept-Encoding: br;q=1, gzip;q=0.8\r\nX-Empty:\r\n\r\n20GET";

fn status(input: &str) -> Option<u16> {
    parse(input.as_bytes()).err().map(|status| status.code)
}

#[test]
fn a_head_is_whole_only_with_its_last_byte() {
    let end = REQUEST.len() - 5;
    for cut in 0..end {
        assert_eq!(parse(&REQUEST[..cut]), Ok(None), "{cut}");
    }
    let (head, length) = parse(REQUEST).unwrap().unwrap();
    assert_eq!(length, end);
    assert_eq!(head.method, Method::Post);
    assert_eq!((head.path, head.query), (&b"/baseline11"[..], &b"a=1&b=2"[..]));
    assert_eq!(head.framing, Framing::Length(2));
    assert!(head.keep && !head.expects && !head.upgrade.asked);
}

#[test]
fn targets_have_two_forms() {
    for (target, path, query) in [
        ("/", "/", ""),
        ("/a?", "/a", ""),
        ("http://host/a?b=?", "/a", "b=?"),
        ("HTTP://host:80?b", "", "b"),
        ("https://host", "/", ""),
        ("*", "*", ""),
    ] {
        let text = format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n");
        let (head, _) = parse(text.as_bytes()).unwrap().unwrap();
        assert_eq!(head.path, path.as_bytes(), "{target}");
        assert_eq!(head.query, query.as_bytes(), "{target}");
    }
}

#[test]
fn what_is_no_request_line_is_refused() {
    for line in [
        "GET /",
        "GET  / HTTP/1.1",
        "GET / HTTP/1.1 ",
        " GET / HTTP/1.1",
        "GET /\t HTTP/1.1",
        "GET /\u{e9} HTTP/1.1",
        "GET a HTTP/1.1",
        "GET http:///a HTTP/1.1",
        "GET / http/1.1",
        "GET / HTTP/11",
        "G\0T / HTTP/1.1",
        "\u{16}\u{3}\u{1}",
    ] {
        let text = format!("{line}\r\nHost: h\r\n\r\n");
        assert_eq!(status(&text), Some(400), "{line:?}");
    }
    assert_eq!(status("GET / HTTP/2.0\r\n\r\n"), Some(505));
    assert_eq!(status("GET / HTTP/1.1\nHost: h\n\n"), Some(400));
}

#[test]
fn fields_that_could_be_read_in_two_ways_are_refused() {
    for (fields, expected) in [
        ("Host: h\r\n", None),
        ("Host: h\r\nHOST: h\r\n", Some(400)),
        ("", Some(400)),
        ("Host : h\r\n", Some(400)),
        ("Host: h\r\n folded\r\n", Some(400)),
        ("Host: h\r\n: x\r\n", Some(400)),
        ("Host: h\r\nA: b\rc\r\n", Some(400)),
        ("Host: h\r\nA: b\0\r\n", Some(400)),
        ("Host: h\nA: b\r\n", Some(400)),
        ("Host: h\r\nContent-Length: 1x\r\n", Some(400)),
        ("Host: h\r\nContent-Length: -1\r\n", Some(400)),
        ("Host: h\r\nContent-Length:\r\n", Some(400)),
        ("Host: h\r\nContent-Length: 1, 1\r\n", Some(400)),
        ("Host: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n", Some(400)),
        ("Host: h\r\nContent-Length: 18446744073709551617\r\n", Some(413)),
        (
            "Host: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n",
            Some(400),
        ),
        ("Host: h\r\nTransfer-Encoding: Chunked\r\n", None),
        ("Host: h\r\nTransfer-Encoding: gzip, chunked\r\n", Some(501)),
        ("Host: h\r\nTransfer-Encoding: chunked, gzip\r\n", Some(501)),
        ("Host: h\r\nTransfer-Encoding: \u{b}chunked\r\n", Some(400)),
        ("Host: h\r\nExpect: 100-Continue\r\n", None),
        ("Host: h\r\nExpect: wonders\r\n", Some(417)),
    ] {
        let text = format!("GET / HTTP/1.1\r\n{fields}\r\n");
        assert_eq!(status(&text), expected, "{fields:?}");
    }
}

#[test]
fn old_requests_have_no_coding_and_end_the_connection() {
    let old = b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    let (head, _) = parse(old).unwrap().unwrap();
    assert!(!head.keep);
    let old = "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(status(old), Some(400));
    let close = b"GET / HTTP/1.1\r\nHost: h\r\nConnection: x, Close\r\n\r\n";
    assert!(!parse(close).unwrap().unwrap().0.keep);
}

#[test]
fn heads_are_bounded() {
    let start = "GET / HTTP/1.1\r\nHost: h\r\n";
    let long = format!("{start}A: {}", "b".repeat(LIMIT_BYTES));
    assert_eq!(status(&long), Some(431));
    assert_eq!(status(&format!("{long}\r\n\r\n")), Some(431));
    let many = format!("{start}{}\r\n", "a: b\r\n".repeat(LIMIT_FIELDS));
    assert_eq!(status(&many), Some(431));
    let fair = format!("{start}A: {}\r\n\r\n", "b".repeat(8192));
    assert_eq!(status(&fair), None);
}

#[test]
fn no_bytes_bring_it_down() {
    let mut seed = 1u64;
    for _ in 0..20_000 {
        let mut bytes = REQUEST.to_vec();
        for _ in 0..3 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
            let at = (seed >> 33) as usize % bytes.len();
            bytes[at] = (seed >> 24) as u8;
        }
        let _ = parse(&bytes);
    }
}

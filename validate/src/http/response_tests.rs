//! The reader against hand-made bytes: every cut, every ambiguity.

use super::*;

#[track_caller]
fn reads(text: &str, body: &str) -> Response {
    let bytes = text.as_bytes();
    let Parsed::Done(whole, used) = parse(bytes, false, false) else {
        panic!("{:?}", parse(bytes, false, false));
    };
    assert_eq!(used, bytes.len());
    assert_eq!(whole.body, body.as_bytes());
    for cut in 0..bytes.len() {
        let part = parse(&bytes[..cut], false, false);
        assert_eq!(part, Parsed::More, "cut at {cut}");
    }
    *whole
}

#[track_caller]
fn breaks(text: &str, part: &str) {
    match parse(text.as_bytes(), false, true) {
        Parsed::Broken(why) => assert!(why.contains(part), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_response_is_the_same_however_it_is_cut() {
    let r = reads(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\
         Content-Length: 2\r\n\r\n55",
        "55",
    );
    assert_eq!((r.status, r.header("content-type")), (200, Some("text/plain")));
    reads(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\
         Transfer-Encoding: Chunked\r\n\r\n3;x=y\r\nabc\r\n02\r\nde\r\n\
         0\r\nTrailer: 1\r\n\r\n",
        "abcde",
    );
    reads("HTTP/1.1 204 No Content\r\n\r\n", "");
}

#[test]
fn without_a_length_the_end_of_the_connection_ends_the_body() {
    let bytes = b"HTTP/1.1 200 OK\r\n\r\nok";
    assert_eq!(parse(bytes, false, false), Parsed::More);
    let Parsed::Done(r, used) = parse(bytes, false, true) else { panic!() };
    assert_eq!((&r.body[..], used), (&b"ok"[..], bytes.len()));
    assert_eq!(r.delimited, Delimited::Close);
}

#[test]
fn an_answer_to_head_has_a_length_and_no_body() {
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1";
    let Parsed::Done(r, used) = parse(bytes, true, false) else { panic!() };
    assert_eq!((r.length, used, r.body.len()), (Some(9), 38, 0));
}

#[test]
fn a_close_is_heard_in_both_versions() {
    let says = |text: &str| reads(text, "").says_close;
    assert!(!says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    assert!(says(
        "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n"
    ));
    assert!(says("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"));
}

#[test]
fn what_two_clients_would_read_differently_is_broken() {
    let ok = "HTTP/1.1 200 OK\r\n";
    let length = "Content-Length: 2\r\n";
    let cases = [
        (format!("{ok}{length}{length}\r\n55"), "2 `content-length`"),
        (
            format!("{ok}{length}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            "both content-length",
        ),
        (format!("{ok}Content-Length: +2\r\n\r\n55"), "no number"),
        (format!("{ok}Content-Length: 2, 2\r\n\r\n55"), "no number"),
        (format!("{ok}Content-Length: {}\r\n\r\n", "9".repeat(30)), "digits"),
        (format!("{ok}Content-Length: 99999999\r\n\r\n"), "more than"),
        (format!("{ok}Transfer-Encoding: gzip\r\n\r\n"), "not chunked"),
        ("HTTP/1.1 200 OK\nContent-Length: 0\n\n".into(), "LF without CR"),
        (format!("\r\n{ok}{length}\r\n55"), "before the status line"),
        ("junk".into(), "no HTTP/1.1 head"),
        ("HTTP/1.1 101 Up\r\n\r\n".into(), "101"),
        (format!("{ok}X: {}", "x".repeat(HEAD_LIMIT)), "head of more"),
    ];
    for (text, part) in cases {
        breaks(&text, part);
    }
}

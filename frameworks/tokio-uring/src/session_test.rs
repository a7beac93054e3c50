use super::*;
use crate::routes::Site;

/// Every kind of request, in one burst.
const BURST: &[u8] = b"GET /pipeline HTTP/1.1\r\nHost: h\r\n\r\n\
    POST /baseline11?a=13&b=42 HTTP/1.1\r\nHost: h\r\n\
    Content-Length: 3\r\n\r\n20\n\
    HEAD /pipeline HTTP/1.1\r\nHost: h\r\n\r\n\
    POST /baseline11?b=2&a=-9223372036854775808 HTTP/1.1\r\nHost: h\r\n\
    Transfer-Encoding: chunked\r\n\r\n1;x\r\n-\r\n1\r\n2\r\n0\r\n\r\n\
    PUT /baseline11 HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab\
    GET /nothing HTTP/1.1\r\nHost: h\r\n\r\n\
    POST /upload HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello\
    GET /baseline11?a=1&b=2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n\
    GET /pipeline HTTP/1.1\r\nHost: h\r\n\r\n";

fn site() -> &'static Site {
    Box::leak(Box::default())
}

/// Feeds the pieces as a connection does, and gives back what was answered
/// without its dates, and whether that was the end.
fn talk(writer: &mut Writer, pieces: &[&[u8]]) -> (String, bool) {
    let (mut session, mut rest) = (Session::default(), Vec::new());
    let mut output = Output::default();
    for piece in pieces {
        rest.extend_from_slice(piece);
        let used = session.feed(writer, &rest, &mut output);
        rest.drain(..used);
    }
    let text = String::from_utf8_lossy(&output.bytes).into_owned();
    let lines = text.split_inclusive("\r\n");
    let text = lines.filter(|line| !line.starts_with("Date: ")).collect();
    (text, session.is_ended())
}

#[test]
fn a_burst_is_answered_alike_wherever_it_is_cut() {
    let mut writer = Writer::new(site());
    let (whole, ended) = talk(&mut writer, &[BURST]);
    assert!(ended);
    let statuses: Vec<&str> =
        whole.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
    assert_eq!(
        statuses,
        ["200", "200", "200", "200", "405", "404", "200", "200"]
    );
    for body in ["\r\n\r\nok", "\r\n\r\n75", "\r\n\r\n5", "\r\n\r\n3"] {
        assert!(whole.contains(body), "{body:?} in {whole}");
    }
    for cut in 0..=BURST.len() {
        let (first, second) = BURST.split_at(cut);
        let cut = talk(&mut writer, &[first, second]);
        assert_eq!(cut, (whole.clone(), true));
    }
    let drops: Vec<&[u8]> = BURST.chunks(1).collect();
    assert_eq!(talk(&mut writer, &drops), (whole, true));
}

#[test]
fn what_stands_in_a_body_is_never_answered() {
    let mut writer = Writer::new(site());
    let smuggled = b"POST /baseline11?a=1&b=2 HTTP/1.1\r\nHost: h\r\n\
        Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n\
        1\r\n1\r\n0\r\n\r\nGET /pipeline HTTP/1.1\r\nHost: h\r\n\r\n";
    let (text, ended) = talk(&mut writer, &[smuggled]);
    assert!(ended && text.starts_with("HTTP/1.1 400 "));
    assert_eq!(text.matches("HTTP/1.1").count(), 1);
}

#[test]
fn a_large_chunked_body_is_refused_when_it_passes_the_limit() {
    let mut writer = Writer::new(site());
    let mut session = Session::default();
    let mut output = Output::default();
    let head = b"POST /upload HTTP/1.1\r\nHost: h\r\n\
        Transfer-Encoding: chunked\r\n\r\nfffffff\r\n";
    session.feed(&mut writer, head, &mut output);
    let megabyte = vec![b'x'; 1 << 20];
    for _ in 0..25 {
        session.feed(&mut writer, &megabyte, &mut output);
        assert!(!session.is_ended());
    }
    session.feed(&mut writer, b"x", &mut output);
    assert!(session.is_ended());
    assert!(output.bytes.starts_with(b"HTTP/1.1 413 "));
}

#[test]
fn a_client_waits_for_continue_only_where_the_body_has_not_come() {
    let mut writer = Writer::new(site());
    let head = b"POST /upload HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\
        Expect: 100-continue\r\n\r\n";
    let (text, _) = talk(&mut writer, &[head, b"x"]);
    assert!(text.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK"));
    let (text, _) = talk(&mut writer, &[&[&head[..], b"x"].concat()]);
    assert!(text.starts_with("HTTP/1.1 200 OK"));
}

#[test]
fn requests_wait_while_answers_do() {
    let mut writer = Writer::new(site());
    let burst = b"GET /pipeline HTTP/1.1\r\nHost: h\r\n\r\n".repeat(20_000);
    let (mut session, mut output) = (Session::default(), Output::default());
    let used = session.feed(&mut writer, &burst, &mut output);
    assert!(used < burst.len() && output.len() < LIMIT_BYTES + 1024);
}

#[test]
fn frames_may_follow_the_upgrade_at_once() {
    let mut writer = Writer::new(site());
    let input = b"GET /ws HTTP/1.1\r\nHost: h\r\nupgrade: WebSocket\r\n\
        Connection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n\
        \x81\x82\0\0\0\0hi\x88\x80\0\0\0\0";
    for cut in 0..=input.len() {
        let (first, second) = input.split_at(cut);
        let (text, ended) = talk(&mut writer, &[first, second]);
        assert!(text.starts_with("HTTP/1.1 101 Switching Protocols\r\n"));
        assert!(text.contains("\u{2}hi") && ended, "{text:?}");
    }
    let plain = b"GET /ws HTTP/1.1\r\nHost: h\r\n\r\n";
    let (text, _) = talk(&mut writer, &[plain]);
    assert!(text.starts_with("HTTP/1.1 426 "));
}

//! The reader must give the same outcome however a reply is cut, and must
//! call broken what is broken, at once and not after a time-out.

use loadgen::wire::{Answer, End, Head, Memo, Reader, Sink, Step, Why};
use proptest::prelude::*;

/// One answer with the parts the reader handed on.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Heard {
    status: u16,
    close: bool,
    content_type: Option<Vec<u8>>,
    body: Vec<u8>,
}

#[derive(Debug, Default)]
struct Ear {
    content_type: Option<Vec<u8>>,
    body: Vec<u8>,
}

impl Sink for Ear {
    fn head(&mut self, head: &Head<'_>) -> Result<(), Why> {
        self.content_type = head.content_type.map(<[u8]>::to_vec);
        Ok(())
    }
    fn body(&mut self, bytes: &[u8]) -> Result<(), Why> {
        self.body.extend_from_slice(bytes);
        if self.body.len() > 1 << 20 { Err(Why::BodyTooLong) } else { Ok(()) }
    }
}

/// All answers of a stream in pieces, and how it ended.
fn hear(pieces: &[&[u8]], memo: &mut Memo) -> (Vec<Heard>, Result<End, Why>) {
    let (mut reader, mut ear) = (Reader::default(), Ear::default());
    let mut heard = Vec::new();
    let mut keep = |ear: &mut Ear, answer: Answer| {
        let Ear { content_type, body } = std::mem::take(ear);
        assert_eq!(answer.body_bytes, body.len() as u64);
        let Answer { status, close, .. } = answer;
        heard.push(Heard { status, close, content_type, body });
    };
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            let (used, step) = reader.feed(rest, memo, &mut ear);
            rest = &rest[used..];
            match step {
                Step::Incomplete => assert!(rest.is_empty()),
                Step::Done(answer) => keep(&mut ear, answer),
                Step::Broken(why) => return (heard, Err(why)),
            }
        }
    }
    let end = reader.end();
    if let End::Done(answer) = end {
        keep(&mut ear, answer);
    }
    (heard, Ok(end))
}

/// Cut in two at every place, in three at some, byte by byte, and with a
/// memory of heads from before: always the same.
#[track_caller]
fn hear_all_ways(bytes: &[u8]) -> (Vec<Heard>, Result<End, Why>) {
    let mut warm = Memo::default();
    let whole = hear(&[bytes], &mut warm);
    assert_eq!(hear(&[bytes], &mut warm), whole, "with a warm memo");
    for at in 0..=bytes.len() {
        let (a, b) = bytes.split_at(at);
        assert_eq!(hear(&[a, b], &mut warm), whole, "cut at {at}");
        assert_eq!(hear(&[a, b], &mut Memo::default()), whole, "cut at {at}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(hear(&single, &mut warm), whole, "byte by byte");
    whole
}

#[track_caller]
fn answers(text: &str, expected: &[(u16, &str)], end: End) {
    let (heard, ended) = hear_all_ways(text.as_bytes());
    let found: Vec<(u16, &str)> = heard
        .iter()
        .map(|h| (h.status, std::str::from_utf8(&h.body).unwrap()))
        .collect();
    assert_eq!(found, expected, "{text:?}");
    assert_eq!(ended, Ok(end), "{text:?}");
}

#[track_caller]
fn breaks(text: &str, why: Why) {
    let (heard, ended) = hear_all_ways(text.as_bytes());
    assert_eq!((heard.len(), ended), (0, Err(why)), "{text:?}");
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[test]
fn every_legal_framing_is_read_at_every_cut() {
    answers(OK, &[(200, "ok")], End::Idle);
    answers(&OK.repeat(3), &[(200, "ok"); 3], End::Idle);
    answers(
        "HTTP/1.1 200\r\ncontent-length:0\r\n\r\n",
        &[(200, "")],
        End::Idle,
    );
    answers(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
         2\r\nok\r\n0\r\n\r\n",
        &[(200, "ok")],
        End::Idle,
    );
    answers(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n\
         1;a=\"b\"\r\no\r\n00001 ;x\r\nk\r\n0;end\r\nX-Sum: 1\r\nA:\r\n\r\n",
        &[(200, "ok")],
        End::Idle,
    );
    answers(
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\
         HTTP/1.1 100 Continue\r\n\r\n\
         HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n\
         HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n\
         HTTP/1.1 200 OK\r\n\r\nto the end",
        &[(204, ""), (304, ""), (200, "to the end")],
        End::Done(Answer {
            status: 200,
            body_bytes: 10,
            messages: 0,
            close: true,
        }),
    );
    answers(
        "HTTP/1.1 200 OK\nContent-Length: 2, 2\nContent-Length: 2\n\nok",
        &[(200, "ok")],
        End::Idle,
    );
    answers(
        "HTTP/1.1 404 Not  Found \u{e9}\r\nX:\t a\tb \r\nContent-Length: 1\r\n\r\nx",
        &[(404, "x")],
        End::Idle,
    );
}

#[test]
fn a_cut_reply_is_incomplete_not_broken() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                   A\r\n0123456789\r\n0\r\nT: 1\r\n\r\n";
    for reply in [OK, chunked] {
        for at in 1..reply.len() {
            let cut = &reply.as_bytes()[..at];
            let (heard, end) = hear(&[cut], &mut Memo::default());
            assert_eq!((heard.len(), end), (0, Ok(End::Torn)), "cut at {at}");
        }
    }
}

#[test]
fn the_head_says_type_and_close() {
    let text = "HTTP/1.1 200 OK\r\nContent-Type:  text/plain; charset=x \r\n\
                Connection: Upgrade, CLOSE\r\nContent-Length: 0\r\n\r\n\
                HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n\
                HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\
                Content-Length: 0\r\n\r\n";
    let (heard, _) = hear_all_ways(text.as_bytes());
    let kind = heard[0].content_type.as_deref();
    assert_eq!(kind, Some(&b"text/plain; charset=x"[..]));
    let close: Vec<bool> = heard.iter().map(|h| h.close).collect();
    assert_eq!(close, [true, true, false]);
}

#[test]
fn broken_streams_are_broken_at_every_cut() {
    breaks("garbage, no line end at all", Why::StatusLine);
    breaks("\r\nHTTP/1.1 200 OK\r\n\r\n", Why::StatusLine);
    breaks("HTTP/2 200\r\n\r\n", Why::StatusLine);
    breaks("HTTP/1.1 20\r\n\r\n", Why::StatusLine);
    breaks("HTTP/1.1 2000\r\n\r\n", Why::StatusLine);
    breaks("HTTP/1.1 000 No\r\n\r\n", Why::StatusLine);
    breaks("HTTP/1.1 101 Switching Protocols\r\n\r\n", Why::Upgrade);
    for field in [
        "no colon",
        " folded: x",
        "a b: c",
        ": v",
        "Name : v",
        "A: \0",
        "A: b\rc",
    ] {
        breaks(&format!("HTTP/1.1 200 OK\r\n{field}\r\n\r\n"), Why::Field);
    }
    for (fields, why) in [
        ("Content-Length: 1\r\nContent-Length: 2", Why::Length),
        ("Content-Length: 1, 2", Why::Length),
        ("Content-Length: -1", Why::Length),
        ("Content-Length: +1", Why::Length),
        ("Content-Length: 0x1", Why::Length),
        ("Content-Length:", Why::Length),
        ("Content-Length: 99999999999999999999", Why::Length),
        ("Content-Length: 1\r\nTransfer-Encoding: chunked", Why::TwoFramings),
        ("Transfer-Encoding: gzip, chunked", Why::TransferCoding),
        ("Transfer-Encoding: identity", Why::TransferCoding),
        ("Content-Type: a/b\r\nContent-Type: a/c", Why::Twice),
    ] {
        breaks(&format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\nxx"), why);
    }
    breaks(
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        Why::TransferCoding,
    );
    for chunks in [
        "x",
        "\r\n",
        " 1\r\n",
        "1\n",
        "1\r1",
        "1;\n",
        "1\r\nab",
        "1\r\na\rb",
        "1\r\na\n",
        "-1\r\n",
        "FFFFFFFFFFFFFFFFF\r\n",
    ] {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        breaks(&format!("{head}{chunks}"), Why::Chunk);
    }
    for trailers in ["no colon\r\n", ": v\r\n", "\n", "a: b\n", "\rx"] {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
        breaks(&format!("{head}{trailers}"), Why::Trailer);
    }
}

#[test]
fn endless_parts_are_broken_and_not_awaited() {
    let ends = |start: &str, filler: &str, why: Why| {
        let long = start.to_string() + &filler.repeat(3 << 20 >> 4);
        for size in [1, 4096, 65_536, long.len()] {
            let pieces: Vec<&[u8]> = long.as_bytes().chunks(size).collect();
            let (heard, end) = hear(&pieces, &mut Memo::default());
            assert_eq!(
                (heard.len(), end),
                (0, Err(why)),
                "{start:?} by {size}"
            );
        }
    };
    ends("HTTP/1.1 200 OK\r\n", "X-Padding: abcd\r\n", Why::HeadTooLong);
    ends("HTTP/1.1 200 OK\r\nX: ", "0123456789abcdef", Why::HeadTooLong);
    ends("HTTP/1.1 200 OK\r\n\r\n", "0123456789abcdef", Why::BodyTooLong);
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0";
    ends(&format!("{chunked}\r\nT: "), "0123456789abcdef", Why::Trailer);
    ends(&format!("{chunked}\r\n"), "T: 0123456789a\r\n", Why::Trailer);
    ends(&format!("{chunked};"), "0123456789abcdef", Why::Chunk);
    ends(chunked, "0000000000000000", Why::Chunk);
}

/// What a well-kept parser makes of a whole head.
fn peer_status(head: &[u8]) -> Option<u16> {
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut peer = httparse::Response::new(&mut fields);
    let whole = peer.parse(head).ok()?.is_complete();
    whole.then_some(peer.code?)
}

fn field() -> impl Strategy<Value = String> {
    prop_oneof![
        "[A-Za-z-]{1,12}: [ -~]{0,20}",
        Just("Content-Type: text/plain".to_string()),
        (0usize..9).prop_map(|n| format!("content-length: {n}")),
        Just("Transfer-Encoding: chunked".to_string()),
        Just("Connection: close".to_string()),
        "[ -~]{0,10}",
    ]
}

proptest! {
    #[test]
    fn any_head_cut_anywhere_gives_one_outcome(
        fields in prop::collection::vec(field(), 0..5),
        body in "[ -~\r\n]{0,20}",
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let text = format!("HTTP/1.1 200 OK\r\n{}\r\n\r\n{body}", fields.join("\r\n"));
        let bytes = text.as_bytes();
        let whole = hear(&[bytes], &mut Memo::default());
        let mut at: Vec<usize> = cuts.iter().map(|c| c.index(bytes.len())).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let pieces: Vec<&[u8]> = at.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
        prop_assert_eq!(hear(&pieces, &mut Memo::default()), whole);
    }

    /// What it accepts, a well-kept parser reads to the same status.
    #[test]
    fn an_accepted_head_is_accepted_by_others(
        line in "HTTP/1\\.[01] [1-9][0-9]{2}( [ -~]{0,9})?",
        fields in prop::collection::vec(field(), 0..5),
    ) {
        let fields: String = fields.iter().map(|f| format!("{f}\r\n")).collect();
        let head = format!("{line}\r\n{fields}\r\n");
        let (heard, end) = hear(&[head.as_bytes()], &mut Memo::default());
        let status = match (heard.first(), end) {
            (Some(h), _) => Some(h.status),
            (None, Err(_)) => None,
            (None, Ok(_)) => return Ok(()),
        };
        if status.is_some() {
            prop_assert_eq!(peer_status(head.as_bytes()), status, "{}", head);
        }
    }

    #[test]
    fn any_bytes_at_all_are_survived(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        start in prop::sample::select(vec!["", "HTTP/1.1 200 OK\r\n", OK]),
    ) {
        let all = [start.as_bytes(), &bytes].concat();
        let whole = hear(&[&all], &mut Memo::default());
        let single: Vec<&[u8]> = all.chunks(1).collect();
        prop_assert_eq!(hear(&single, &mut Memo::default()), whole);
    }
}

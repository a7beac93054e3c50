use super::*;

/// A client's frame.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    header(0, payload.len(), &mut frame);
    frame[0] = first;
    frame[1] |= 0x80;
    let mask = [0x12, 0x34, 0x56, 0x78];
    frame.extend(mask);
    frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(b, m)| b ^ m));
    frame
}

/// A server's frame.
fn back(opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    header(opcode, payload.len(), &mut frame);
    frame.extend(payload);
    frame
}

/// Feeds the pieces as a connection does: what is not used up comes again.
fn echo(pieces: &[&[u8]]) -> (Vec<u8>, bool) {
    let (mut echo, mut rest, mut out) = (Echo::default(), vec![], vec![]);
    for piece in pieces {
        rest.extend(*piece);
        let used = echo.feed(&rest, &mut out, |_| false);
        rest.drain(..used);
    }
    (out, echo.is_closed())
}

#[test]
fn the_accept_value_is_that_of_the_rfc() {
    let accept = accept(b"dGhlIHNhbXBsZSBub25jZQ==");
    assert_eq!(accept.unwrap(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_eq!(super::accept(b"c2hvcnQ="), None);
    assert_eq!(super::accept(b"?"), None);
}

#[test]
fn frames_are_read_wherever_they_are_cut() {
    let input = [
        frame(FIN | TEXT, b"hello"),
        frame(TEXT, b"one "),
        frame(FIN | PING, b"are you there"),
        frame(CONTINUATION, b""),
        frame(FIN | CONTINUATION, b"and two"),
        frame(FIN | PONG, b"unasked"),
        frame(FIN | BINARY, &[7; 130]),
        frame(FIN | CLOSE, b"\x03\xe8bye"),
    ]
    .concat();
    let expected = [
        back(TEXT, b"hello"),
        back(PONG, b"are you there"),
        back(TEXT, b"one and two"),
        back(BINARY, &[7; 130]),
        back(CLOSE, b"\x03\xe8"),
    ]
    .concat();
    for end in 0..=input.len() {
        let got = echo(&[&input[..end], &input[end..]]);
        assert_eq!(got, (expected.clone(), true), "{end}");
    }
    let bytes: Vec<&[u8]> = input.chunks(1).collect();
    assert_eq!(echo(&bytes), (expected, true));
}

#[test]
fn messages_of_every_length_come_back() {
    for length in [0, 1, 7, 8, 9, 125, 126, 65535, 65536, 1 << 20] {
        let payload = vec![b'x'; length];
        let (got, closed) = echo(&[&frame(FIN | BINARY, &payload)]);
        assert!(got == back(BINARY, &payload) && !closed, "{length}");
    }
}

#[test]
fn what_no_client_may_send_closes_and_is_not_echoed() {
    let large = vec![0; MESSAGE_LIMIT_BYTES + 1];
    for (bad, code) in [
        (b"\x81\x01a".to_vec(), PROTOCOL_ERROR),
        (frame(0xc1, b"a"), PROTOCOL_ERROR),
        (frame(FIN | 3, b"a"), PROTOCOL_ERROR),
        (frame(FIN | 11, b"a"), PROTOCOL_ERROR),
        (frame(PING, b"a"), PROTOCOL_ERROR),
        (frame(FIN | PING, &[0; 126]), PROTOCOL_ERROR),
        (frame(FIN | CONTINUATION, b"a"), PROTOCOL_ERROR),
        (frame(FIN | CLOSE, b"\x03"), PROTOCOL_ERROR),
        (frame(FIN | CLOSE, b"\x03\xed"), PROTOCOL_ERROR),
        (frame(FIN | CLOSE, b"\x03\xe8\xff"), NOT_UTF8),
        (frame(FIN | TEXT, b"\xff"), NOT_UTF8),
        (frame(FIN | BINARY, &large), TOO_LARGE),
        (b"\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff".to_vec(), PROTOCOL_ERROR),
        (b"\x81\xfe\x00\x01".to_vec(), PROTOCOL_ERROR),
        ([frame(TEXT, b"a"), frame(FIN | TEXT, b"b")].concat(), PROTOCOL_ERROR),
        (
            [frame(TEXT, b"\xc3"), frame(FIN | CONTINUATION, b"a")].concat(),
            NOT_UTF8,
        ),
    ] {
        let expected = back(CLOSE, &code.to_be_bytes());
        let start = &bad[..bad.len().min(20)];
        assert_eq!(echo(&[&bad]), (expected, true), "{start:x?}");
    }
}

#[test]
fn a_client_that_does_not_read_is_not_read_either() {
    let input = frame(FIN | TEXT, b"hello").repeat(3);
    let (mut echo, mut out) = (Echo::default(), vec![]);
    let used = echo.feed(&input, &mut out, |out| out.len() >= 7);
    assert_eq!(used, input.len() / 3);
}

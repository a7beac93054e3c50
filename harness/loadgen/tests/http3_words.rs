//! How the gun over HTTP/3 books and names what ends without an answer.

mod http3_peer;
mod peer;

use http3_peer::raw::{Act, HELLO, RawPeer, Request, answer};
use http3_peer::{BASELINE, Options};
use peer::{bare, measured};
use profiles::sample::{Fault, Sample};

#[track_caller]
fn only(sample: &Sample, fault: Fault, words: &str) {
    let n = sample.faults.get(&fault).copied().unwrap_or(0);
    assert!(n > 0 && n == sample.faulted(), "{sample:?}");
    assert!(sample.examples[0].contains(words), "{sample:?}");
}

/// RFC 9114 section 4.1.1: it says that nothing was processed.
#[test]
fn a_rejection_in_mid_answer_is_a_reset() {
    let whole = answer("1");
    // HEADERS, then DATA as well.
    for len in [whole.len() - 3, whole.len()] {
        let part = whole[..len].to_vec();
        let peer = RawPeer::new(move |request| match request.number % 10 {
            9 => {
                let part = Act::Send(part.clone());
                vec![part, Act::Pause, Act::Reset(0x10b)]
            }
            _ => request.right(),
        });
        let sample = measured(&bare(BASELINE, peer.addr, 2));
        only(&sample, Fault::Reset, "H3_REQUEST_REJECTED (0x10b)");
        assert!(sample.right > 0, "{sample:?}");
    }
}

#[test]
fn a_server_that_grants_no_streams_is_named() {
    let options = Options { streams: 0, ..Options::default() };
    let unis = vec![HELLO.to_vec()];
    let peer = RawPeer::with(options, unis, Request::right);
    let sample = measured(&bare(BASELINE, peer.addr, 2));
    assert_eq!((sample.sent, sample.faulted()), (0, 0), "{sample:?}");
    let words = "the server granted no streams";
    assert!(sample.examples[0].contains(words), "{sample:?}");
    let peer = RawPeer::new(Request::right);
    let sample = measured(&bare(BASELINE, peer.addr, 2));
    assert!(sample.examples.is_empty(), "{sample:?}");
}

//! What a broken TLS connection is called.

use rustls::{CertificateError, Error, InvalidMessage, PeerMisbehaved};

macro_rules! alerts {
    ($($code:literal $name:literal,)*) => {
        /// The words for a fatal alert of the server.
        pub(super) fn alert(code: u8) -> &'static str {
            match code {
                $($code => concat!("the server's TLS alert: ", $name),)*
                _ => "an unknown TLS alert of the server",
            }
        }
    };
}

alerts! {
    0 "close_notify",
    10 "unexpected_message",
    20 "bad_record_mac",
    21 "decryption_failed",
    22 "record_overflow",
    30 "decompression_failure",
    40 "handshake_failure",
    42 "bad_certificate",
    43 "unsupported_certificate",
    44 "certificate_revoked",
    45 "certificate_expired",
    46 "certificate_unknown",
    47 "illegal_parameter",
    48 "unknown_ca",
    49 "access_denied",
    50 "decode_error",
    51 "decrypt_error",
    70 "protocol_version",
    71 "insufficient_security",
    80 "internal_error",
    86 "inappropriate_fallback",
    90 "user_canceled",
    100 "no_renegotiation",
    109 "missing_extension",
    110 "unsupported_extension",
    112 "unrecognized_name",
    116 "certificate_required",
    120 "no_application_protocol",
}

/// The words for a handshake that failed.
pub(super) fn handshake(error: &Error) -> &'static str {
    match error {
        Error::AlertReceived(code) => alert(u8::from(*code)),
        Error::InvalidMessage(
            InvalidMessage::InvalidContentType
            | InvalidMessage::UnknownProtocolVersion
            | InvalidMessage::MessageTooLarge,
        ) => "the server does not speak TLS",
        Error::InvalidMessage(_) => {
            "a message of the server's TLS handshake is malformed"
        }
        Error::PeerIncompatible(_) => {
            "the server's TLS has nothing in common with what was offered"
        }
        Error::DecryptError => "the server's TLS handshake does not decrypt",
        Error::InvalidCertificate(CertificateError::BadSignature)
        | Error::PeerMisbehaved(PeerMisbehaved::SignedKxWithWrongAlgorithm) => {
            "the server does not hold its certificate's key"
        }
        Error::InvalidCertificate(_) | Error::NoCertificatesPresented => {
            "the server's certificate cannot be read"
        }
        _ => "the server's TLS handshake is against the rules",
    }
}

macro_rules! chose {
    ($offered:literal, $answer:expr, $($name:literal)*) => {
        match $answer {
            None => concat!(
                "ALPN: offered ", $offered, ", the server chose none"
            ),
            $(Some($name) => concat!(
                "ALPN: offered ", $offered, ", the server chose ", $name
            ),)*
            Some(_) => concat!(
                "ALPN: offered ", $offered,
                ", the server chose something unheard of"
            ),
        }
    };
}

/// The words for a server that answered the offer of a protocol with none or
/// another.
pub(super) fn alpn(offered: &str, answer: Option<&[u8]>) -> &'static str {
    let answer = answer.map(|name| std::str::from_utf8(name).unwrap_or("?"));
    match offered {
        "h2" => chose!("h2", answer, "http/1.1" "http/1.0" "h2c" "h3"),
        _ => chose!("http/1.1", answer, "http/1.0" "h2" "h2c" "h3"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_to_alpn_is_named_beside_the_offer() {
        let alpn = |offered, answer: Option<&str>| {
            alpn(offered, answer.map(str::as_bytes))
        };
        assert_eq!(
            alpn("h2", Some("http/1.1")),
            "ALPN: offered h2, the server chose http/1.1"
        );
        assert_eq!(
            alpn("http/1.1", None),
            "ALPN: offered http/1.1, the server chose none"
        );
        assert!(alpn("h2", Some("x")).ends_with("unheard of"));
    }

    #[test]
    fn alerts_have_the_names_of_the_standard() {
        assert_eq!(alert(40), "the server's TLS alert: handshake_failure");
        assert_eq!(alert(255), "an unknown TLS alert of the server");
    }
}

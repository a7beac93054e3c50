//! Error codes by the names that RFC 9114, 9204 and 9000 give them, the
//! number beside.

/// A code of HTTP/3, of a stream or of a close by the application.
pub(super) fn h3_name(code: u64) -> String {
    let name = match code {
        0x100 => "H3_NO_ERROR",
        0x101 => "H3_GENERAL_PROTOCOL_ERROR",
        0x102 => "H3_INTERNAL_ERROR",
        0x103 => "H3_STREAM_CREATION_ERROR",
        0x104 => "H3_CLOSED_CRITICAL_STREAM",
        0x105 => "H3_FRAME_UNEXPECTED",
        0x106 => "H3_FRAME_ERROR",
        0x107 => "H3_EXCESSIVE_LOAD",
        0x108 => "H3_ID_ERROR",
        0x109 => "H3_SETTINGS_ERROR",
        0x10a => "H3_MISSING_SETTINGS",
        0x10b => "H3_REQUEST_REJECTED",
        0x10c => "H3_REQUEST_CANCELLED",
        0x10d => "H3_REQUEST_INCOMPLETE",
        0x10e => "H3_MESSAGE_ERROR",
        0x10f => "H3_CONNECT_ERROR",
        0x110 => "H3_VERSION_FALLBACK",
        0x200 => "QPACK_DECOMPRESSION_FAILED",
        0x201 => "QPACK_ENCODER_STREAM_ERROR",
        0x202 => "QPACK_DECODER_STREAM_ERROR",
        _ => "",
    };
    with_number(name, code)
}

/// A code of QUIC itself.
pub(super) fn quic_name(code: u64) -> String {
    let name = match code {
        0x0 => "NO_ERROR",
        0x1 => "INTERNAL_ERROR",
        0x2 => "CONNECTION_REFUSED",
        0x3 => "FLOW_CONTROL_ERROR",
        0x4 => "STREAM_LIMIT_ERROR",
        0x5 => "STREAM_STATE_ERROR",
        0x6 => "FINAL_SIZE_ERROR",
        0x7 => "FRAME_ENCODING_ERROR",
        0x8 => "TRANSPORT_PARAMETER_ERROR",
        0x9 => "CONNECTION_ID_LIMIT_ERROR",
        0xa => "PROTOCOL_VIOLATION",
        0xb => "INVALID_TOKEN",
        0xc => "APPLICATION_ERROR",
        0xd => "CRYPTO_BUFFER_EXCEEDED",
        0xe => "KEY_UPDATE_ERROR",
        0xf => "AEAD_LIMIT_REACHED",
        0x10 => "NO_VIABLE_PATH",
        // A TLS alert.
        0x128 => "handshake_failure",
        0x12a => "bad_certificate",
        0x12f => "illegal_parameter",
        0x132 => "decode_error",
        0x133 => "decrypt_error",
        0x146 => "protocol_version",
        0x147 => "insufficient_security",
        0x150 => "internal_error",
        0x16d => "missing_extension",
        0x170 => "unrecognized_name",
        0x174 => "certificate_required",
        0x178 => "no_application_protocol, no ALPN in common",
        0x100..=0x1ff => "CRYPTO_ERROR",
        _ => "",
    };
    with_number(name, code)
}

fn with_number(name: &str, code: u64) -> String {
    match name {
        "" => format!("0x{code:x}"),
        _ => format!("{name} (0x{code:x})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_their_names_with_the_number_beside() {
        assert_eq!(h3_name(0x100), "H3_NO_ERROR (0x100)");
        assert_eq!(h3_name(0x202), "QPACK_DECODER_STREAM_ERROR (0x202)");
        assert_eq!(h3_name(0x178), "0x178");
        assert_eq!(quic_name(0xa), "PROTOCOL_VIOLATION (0xa)");
        let alpn = "no_application_protocol, no ALPN in common (0x178)";
        assert_eq!(quic_name(0x178), alpn);
        assert_eq!(quic_name(0x101), "CRYPTO_ERROR (0x101)");
        assert_eq!(quic_name(0x11), "0x11");
    }
}

//! Bearer tokens of the production stack: JWTs signed with HMAC-SHA256.
//!
//! They are minted fresh for every run, for several users, and expire; a
//! verifier that checks neither `exp` nor `alg` is found out by tokens made
//! otherwise.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::data::User;

const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;

/// A token for `user` that is good until `exp_unix_s`, seconds since 1970.
/// Users that the data does not know are named after their id.
pub fn mint(secret: &str, user: i64, exp_unix_s: u64) -> String {
    let name = User::with_id(user)
        .map_or_else(|| format!("User {user}"), |user| user.name.to_owned());
    let payload = serde_json::json!({
        "sub": user.to_string(), "name": name, "exp": exp_unix_s,
    });
    sign(secret.as_bytes(), HEADER, &payload.to_string())
}

/// The compact form of RFC 7515 over any header and payload.
pub fn sign(secret: &[u8], header: &str, payload: &str) -> String {
    let mut token = URL_SAFE_NO_PAD.encode(header);
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(payload, &mut token);
    // HMAC takes a key of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else {
        return token;
    };
    mac.update(token.as_bytes());
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(mac.finalize().into_bytes(), &mut token);
    token
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::Digest as _;

    /// RFC 2104 in its own words, for keys of up to one block.
    fn hmac_by_hand(key: &[u8], text: &[u8]) -> Vec<u8> {
        let pad = |with: u8| {
            let mut block = [with; 64];
            block.iter_mut().zip(key).for_each(|(b, k)| *b ^= k);
            block
        };
        let inner = Sha256::new().chain_update(pad(0x36)).chain_update(text);
        let outer = Sha256::new().chain_update(pad(0x5c));
        outer.chain_update(inner.finalize()).finalize().to_vec()
    }

    #[test]
    fn the_example_of_rfc_7515_is_signed_as_printed_there() {
        let key = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75\
                   aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
        let key = URL_SAFE_NO_PAD.decode(key).unwrap();
        let token = sign(
            &key,
            "{\"typ\":\"JWT\",\r\n \"alg\":\"HS256\"}",
            "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \
             \"http://example.com/is_root\":true}",
        );
        let printed = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9\
             .eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt\
             cGxlLmNvbS9pc19yb290Ijp0cnVlfQ\
             .dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(token, printed);
    }

    #[test]
    fn a_token_says_who_until_when_and_is_signed_over_both() {
        let token = mint("a secret of this run", 42, 1_900_000_000);
        let parts: Vec<&str> = token.split('.').collect();
        let [header, payload, signature] = parts[..] else { panic!("{token}") };
        let text = |part| {
            String::from_utf8(URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
        };
        assert_eq!(text(header), r#"{"alg":"HS256","typ":"JWT"}"#);
        let payload_json: serde_json::Value =
            serde_json::from_str(&text(payload)).unwrap();
        let right = serde_json::json!({
            "sub": "42", "name": "Ada Brook", "exp": 1_900_000_000,
        });
        assert_eq!(payload_json, right);
        let signed = format!("{header}.{payload}");
        let by_hand = hmac_by_hand(b"a secret of this run", signed.as_bytes());
        assert_eq!(URL_SAFE_NO_PAD.decode(signature).unwrap(), by_hand);
        // No padding, and nothing a header could not carry.
        assert!(
            token
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        );
    }

    #[test]
    fn another_secret_user_or_end_is_another_signature() {
        let signature = |secret: &str, user, end| {
            let token = mint(secret, user, end);
            token.rsplit('.').next().unwrap_or_default().to_owned()
        };
        let one = signature("a", 42, 10);
        assert_eq!(one, signature("a", 42, 10));
        assert_ne!(one, signature("b", 42, 10));
        assert_ne!(one, signature("a", 43, 10));
        assert_ne!(one, signature("a", 42, 11));
    }
}

//! The certificate and key of the TLS ports. Clients never verify them; the
//! key is public by construction and must never guard anything.

use rsa::pkcs1v15::{Signature, SigningKey};
use rsa::pkcs8::{EncodePrivateKey as _, LineEnding};
use rsa::sha2::Sha256;
use rsa::signature::Keypair as _;
use x509_cert::builder::profile::BuilderProfile;
use x509_cert::builder::{Builder as _, CertificateBuilder};
use x509_cert::certificate::{Rfc5280, TbsCertificate};
use x509_cert::der::asn1::UtcTime;
use x509_cert::der::{DateTime, EncodePem as _};
use x509_cert::ext::pkix::{BasicConstraints, SubjectKeyIdentifier};
use x509_cert::ext::{Extension, ToExtension as _};
use x509_cert::name::Name;
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::{SubjectPublicKeyInfo, SubjectPublicKeyInfoRef};
use x509_cert::time::{Time, Validity};

use super::stream::Stream;

const SUBJECT: &str = "CN=localhost";
const KEY_BITS: usize = 2048;
const SERIAL: [u8; 8] = [0x41, 0x52, 0x45, 0x4e, 0x41, 0x00, 0x00, 0x01];

/// Certificate and key, both PEM.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// Its key, as PKCS #8.
    pub key: String,
}

/// Makes the identity. Nothing in it depends on any input, so none of the
/// steps can fail on one machine and not on another.
pub fn identity() -> Identity {
    const FIXED: &str = "all inputs are fixed";
    let mut stream = Stream::named("certs/server.key");
    let key = rsa::PrivateKey::new(stream.cipher(), KEY_BITS).expect(FIXED);
    let key_pem = key.to_pkcs8_pem(LineEnding::LF).expect(FIXED);
    let signer = SigningKey::<Sha256>::new(key);
    let public =
        SubjectPublicKeyInfo::from_key(&signer.verifying_key()).expect(FIXED);
    let validity = Validity::<Rfc5280>::new(
        midnight(2026, 3, 7).expect(FIXED),
        midnight(2036, 3, 4).expect(FIXED),
    );
    let subject = SelfSigned(SUBJECT.parse().expect(FIXED));
    let serial = SerialNumber::new(&SERIAL).expect(FIXED);
    let certificate =
        CertificateBuilder::new(subject, serial, validity, public)
            .and_then(|builder| builder.build::<_, Signature>(&signer))
            .expect(FIXED);
    Identity {
        certificate: certificate.to_pem(LineEnding::LF).expect(FIXED),
        key: key_pem.to_string(),
    }
}

fn midnight(year: u16, month: u8, day: u8) -> x509_cert::der::Result<Time> {
    let date = DateTime::new(year, month, day, 0, 0, 0)?;
    UtcTime::from_date_time(date).map(Time::UtcTime)
}

/// Issuer is subject, CA is true, and there is no alternative name.
struct SelfSigned(Name);

impl BuilderProfile for SelfSigned {
    fn get_issuer(&self, subject: &Name) -> Name {
        subject.clone()
    }

    fn get_subject(&self) -> Name {
        self.0.clone()
    }

    fn build_extensions(
        &self,
        key: SubjectPublicKeyInfoRef<'_>,
        _issuer_key: SubjectPublicKeyInfoRef<'_>,
        tbs: &TbsCertificate,
    ) -> x509_cert::builder::Result<Vec<Extension>> {
        let subject = tbs.subject();
        let ca = BasicConstraints { ca: true, path_len_constraint: None };
        let key_id = SubjectKeyIdentifier::try_from(key)?;
        Ok(vec![
            ca.to_extension(subject, &[])?,
            key_id.to_extension(subject, &[])?,
        ])
    }
}

//! Certificates of the cluster: one authority, which signs those of servers and users.

use std::ops::Range;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

/// Who signs.
#[derive(Debug)]
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate, or public key, and its private key, as PEM.
#[derive(Debug)]
pub(crate) struct Signed {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let mut parameters = named("local-cluster", &[]);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        Ok(Self(CertifiedIssuer::self_signed(parameters, KeyPair::generate()?)?))
    }

    pub(crate) fn certificate(&self) -> String {
        self.0.pem()
    }

    /// Of a server on loopback.
    pub(crate) fn server(&self, valid: Duration) -> anyhow::Result<Signed> {
        let mut parameters = CertificateParams::new(["127.0.0.1".to_owned(), "localhost".to_owned()])?;
        parameters.distinguished_name.push(DnType::CommonName, "server");
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.signed(parameters, from_now(valid))
    }

    /// Of a user of the cluster.
    pub(crate) fn client(&self, name: &str, groups: &[&str], valid: Duration) -> anyhow::Result<Signed> {
        self.signed(of_client(name, groups), from_now(valid))
    }

    /// Of a client, and expired a minute ago.
    pub(crate) fn expired_client(&self, name: &str) -> anyhow::Result<Signed> {
        let now = SystemTime::now();
        self.signed(of_client(name, &[]), now - Duration::from_hours(1)..now - Duration::from_mins(1))
    }

    fn signed(&self, mut parameters: CertificateParams, valid: Range<SystemTime>) -> anyhow::Result<Signed> {
        parameters.not_before = valid.start.into();
        parameters.not_after = valid.end.into();
        let key = KeyPair::generate()?;
        let certificate = parameters.signed_by(&key, &self.0)?;
        Ok(Signed { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

/// Clocks may differ by a minute.
fn from_now(valid: Duration) -> Range<SystemTime> {
    let now = SystemTime::now();
    now - Duration::from_mins(1)..now + valid
}

fn of_client(name: &str, groups: &[&str]) -> CertificateParams {
    let mut parameters = named(name, groups);
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    parameters
}

/// A key pair that signs tokens: the public key as `certificate`.
pub(crate) fn key_pair() -> anyhow::Result<Signed> {
    let key = KeyPair::generate()?;
    Ok(Signed { certificate: key.public_key_pem(), key: key.serialize_pem() })
}

/// A subject as Kubernetes reads it: the user as common name, groups as organizations.
fn named(name: &str, groups: &[&str]) -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name.push(DnType::CommonName, name);
    for group in groups {
        parameters.distinguished_name.push(DnType::OrganizationName, *group);
    }
    parameters
}

/// As kubeconfigs have certificates.
pub(crate) fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

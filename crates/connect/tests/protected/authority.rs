//! A certificate authority for tests, and servers with certificates that it has signed.

use std::fmt::Write as _;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use cluster::{Cluster, Options};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
};

/// An authority. Its files are in a folder that is removed with it.
pub(crate) struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("authority-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let own = params.self_signed(&key).expect("signed");
        let authority = Self {
            folder,
            issuer: Issuer::new(params, key),
        };
        std::fs::write(authority.root(), own.pem()).expect("written");
        authority
    }

    /// Returns its own certificate.
    pub(crate) fn root(&self) -> PathBuf {
        self.file("root.crt")
    }

    /// Returns the path of a file in its folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a private file into its folder.
    pub(crate) fn write(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.file(name);
        std::fs::write(&path, text).expect("written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("mode");
        path
    }

    /// Returns a certificate for a role, and its key.
    pub(crate) fn card_text(&self, role: &str) -> (String, String) {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, role);
        self.sign(&params)
    }

    /// Writes a certificate for a role, and its key, to files.
    pub(crate) fn card(&self, role: &str) -> (PathBuf, PathBuf) {
        let (certificate, key) = self.card_text(role);
        (
            self.write(&format!("{role}.crt"), &certificate, 0o644),
            self.write(&format!("{role}.key"), &key, 0o600),
        )
    }

    /// Starts a server with a certificate for `localhost`. Its pg_hba.conf has the lines `hba`, and a line for its
    /// superuser.
    pub(crate) fn server(&self, options: Options, hba: &str) -> Cluster {
        let options = options
            .setting("fsync", "off")
            .setting("ssl", "on")
            .setting("ssl_cert_file", "protected.crt")
            .setting("ssl_key_file", "protected.key")
            .setting("ssl_ca_file", "protected.ca");
        let cluster = Cluster::create(options).expect("created");
        let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("parameters");
        let (certificate, key) = self.sign(&params);
        let root = std::fs::read_to_string(self.root()).expect("read");
        let mut lines = hba.to_owned();
        let local = "local all all trust\nhost all postgres 127.0.0.1/32 scram-sha-256\n\
                     host replication postgres 127.0.0.1/32 scram-sha-256\n";
        write!(lines, "\n{local}").expect("written");
        let files = [
            ("protected.crt", &certificate),
            ("protected.key", &key),
            ("protected.ca", &root),
            ("pg_hba.conf", &lines),
        ];
        for (name, text) in files {
            give(&cluster.data(), name, text);
        }
        cluster.start().expect("started");
        cluster
    }

    fn sign(&self, params: &CertificateParams) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("signed");
        (certificate.pem(), key.serialize_pem())
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Writes a file that only the server's account may read.
fn give(data: &Path, name: &str, text: &str) {
    let path = data.join(name);
    std::fs::write(&path, text).expect("written");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("mode");
    let owner = std::fs::metadata(data).expect("the data folder");
    chown(&path, Some(owner.uid()), Some(owner.gid())).expect("given");
}

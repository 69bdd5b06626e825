//! A software authenticator, with the browser in front of it: it answers the options of the service as WebAuthn says, or not quite.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use coset::cbor::ser::into_writer;
use coset::cbor::value::Value as Cbor;
use coset::iana::{Algorithm, EllipticCurve, EnumI64, KeyType, OkpKeyParameter, RsaKeyParameter};
use coset::{CborSerializable, CoseKey, CoseKeyBuilder, Label};
use portico::kernel::crypto::{random_bytes, sha256};
use serde_json::{Value, json};

pub const USER_PRESENT: u8 = 0x01;
pub const USER_VERIFIED: u8 = 0x04;
pub const BACKUP_ELIGIBLE: u8 = 0x08;
pub const BACKED_UP: u8 = 0x10;
const HAS_CREDENTIAL: u8 = 0x40;

/// A key pair.
enum Signer {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
    Rs256(RsaKeyPair),
}

/// A passkey in an authenticator. What an honest one would not do is set in its fields.
pub struct Passkey {
    signer: Signer,
    id: [u8; 32],
    /// Whom it is for, as the options said.
    pub handle: Value,
    pub domain: String,
    /// The page that uses it.
    pub origin: String,
    pub flags: u8,
    pub counter: u32,
    /// Members that the browser adds to the client data, or replaces.
    pub client_data: Value,
}

/// The bytes of base64url.
fn bytes(text: &Value) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text.as_str().unwrap()).unwrap()
}

fn text(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Passkey {
    /// A new passkey with ES256, for creation options of the service.
    pub fn new(options: &Value) -> Self {
        Self::with(Algorithm::ES256, options)
    }

    /// A new one with this algorithm.
    pub fn with(algorithm: Algorithm, options: &Value) -> Self {
        let (options, wanted) = (&options["publicKey"], algorithm.to_i64());
        assert!(options["pubKeyCredParams"].as_array().unwrap().contains(&json!({ "type": "public-key", "alg": wanted })));
        assert_eq!((&options["attestation"], bytes(&options["user"]["id"]).len()), (&json!("none"), 64));
        let signer = match algorithm {
            Algorithm::ES256 => Signer::Es256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap()),
            Algorithm::EdDSA => Signer::EdDsa(Ed25519KeyPair::generate().unwrap()),
            _ => Signer::Rs256(RsaKeyPair::generate(KeySize::Rsa2048).unwrap()),
        };
        let domain = options["rp"]["id"].as_str().unwrap().to_owned();
        Self {
            signer,
            id: random_bytes(),
            handle: options["user"]["id"].clone(),
            origin: format!("https://{domain}"),
            domain,
            flags: USER_PRESENT | USER_VERIFIED | BACKUP_ELIGIBLE | BACKED_UP,
            counter: 0,
            client_data: json!({}),
        }
    }

    /// The id in JSON.
    pub fn id(&self) -> String {
        text(self.id)
    }

    /// What `navigator.credentials.create()` returns.
    pub fn created(&self, options: &Value) -> Value {
        self.attested(options, |_| ("none", Cbor::Map(Vec::new())))
    }

    /// The same, signed by the new key.
    pub fn created_signed(&self, options: &Value) -> Value {
        self.attested(options, |signed| ("packed", Cbor::Map(self.statement(signed))))
    }

    /// The same, but of something else.
    pub fn created_signed_wrongly(&self, options: &Value) -> Value {
        self.attested(options, |_| ("packed", Cbor::Map(self.statement(b"something else"))))
    }

    /// The same, as a manufacturer would sign it, in a format of attestation.
    pub fn created_by_a_manufacturer(&self, options: &Value, format: &'static str) -> Value {
        self.attested(options, |signed| {
            let certificates = (Cbor::from("x5c"), Cbor::Array(vec![Cbor::Bytes(vec![0x30])]));
            (format, Cbor::Map([self.statement(signed), vec![certificates]].concat()))
        })
    }

    fn statement(&self, signed: &[u8]) -> Vec<(Cbor, Cbor)> {
        let algorithm = self.public_key().alg.and_then(|algorithm| match algorithm {
            coset::Algorithm::Assigned(algorithm) => Some(algorithm.to_i64()),
            _ => None,
        });
        vec![(Cbor::from("alg"), Cbor::from(algorithm.unwrap())), (Cbor::from("sig"), Cbor::Bytes(self.sign(signed)))]
    }

    fn attested(&self, options: &Value, statement: impl FnOnce(&[u8]) -> (&'static str, Cbor)) -> Value {
        let client_data = self.collect("webauthn.create", options);
        let length = u16::try_from(self.id.len()).unwrap().to_be_bytes();
        let credential = [&[0; 16][..], &length, &self.id, &self.public_key().to_vec().unwrap()].concat();
        let data = [self.data(self.flags | HAS_CREDENTIAL), credential].concat();
        let (format, statement) = statement(&[&data[..], &sha256(&client_data)].concat());
        let object = Cbor::Map(vec![
            (Cbor::from("fmt"), Cbor::from(format)),
            (Cbor::from("attStmt"), statement),
            (Cbor::from("authData"), Cbor::Bytes(data)),
        ]);
        let mut attestation = Vec::new();
        into_writer(&object, &mut attestation).unwrap();
        let response = json!({ "clientDataJSON": text(client_data), "attestationObject": text(attestation), "transports": ["internal"] });
        self.shown(response)
    }

    /// What `navigator.credentials.get()` returns.
    pub fn answer(&self, options: &Value) -> Value {
        let client_data = self.collect("webauthn.get", options);
        let data = self.data(self.flags);
        let signature = self.sign(&[&data[..], &sha256(&client_data)].concat());
        self.shown(json!({
            "clientDataJSON": text(client_data),
            "authenticatorData": text(data),
            "signature": text(signature),
            "userHandle": self.handle,
        }))
    }

    fn shown(&self, response: Value) -> Value {
        let extensions = json!({ "credProps": { "rk": true } });
        json!({
            "id": self.id(), "rawId": self.id(), "type": "public-key", "authenticatorAttachment": "platform", "response": response,
            "clientExtensionResults": extensions,
        })
    }

    fn collect(&self, kind: &str, options: &Value) -> Vec<u8> {
        let challenge = &options["publicKey"]["challenge"];
        let mut collected = json!({ "type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": false });
        collected.as_object_mut().unwrap().extend(self.client_data.as_object().unwrap().clone());
        collected.to_string().into_bytes()
    }

    fn data(&self, flags: u8) -> Vec<u8> {
        [&sha256(&self.domain)[..], &[flags], &self.counter.to_be_bytes()].concat()
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.signer {
            Signer::Es256(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Signer::EdDsa(pair) => pair.sign(message).as_ref().to_vec(),
            Signer::Rs256(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
        }
    }

    fn public_key(&self) -> CoseKey {
        match &self.signer {
            Signer::Es256(pair) => {
                let point = pair.public_key().as_ref();
                let key = CoseKeyBuilder::new_ec2_pub_key(EllipticCurve::P_256, point[1..33].to_vec(), point[33..].to_vec());
                key.algorithm(Algorithm::ES256).build()
            }
            Signer::EdDsa(pair) => CoseKeyBuilder::new_okp_key()
                .algorithm(Algorithm::EdDSA)
                .param(OkpKeyParameter::Crv.to_i64(), Cbor::from(EllipticCurve::Ed25519.to_i64()))
                .param(OkpKeyParameter::X.to_i64(), Cbor::Bytes(pair.public_key().as_ref().to_vec()))
                .build(),
            Signer::Rs256(pair) => {
                // RSAPublicKey of 2,048 bits in DER: 9 bytes before the modulus, 2 between it and the exponent.
                let der = pair.public_key().as_ref();
                let parameter = |name: RsaKeyParameter, bytes: &[u8]| (Label::Int(name.to_i64()), Cbor::Bytes(bytes.to_vec()));
                CoseKey {
                    kty: coset::KeyType::Assigned(KeyType::RSA),
                    alg: Some(coset::Algorithm::Assigned(Algorithm::RS256)),
                    params: vec![parameter(RsaKeyParameter::N, &der[9..265]), parameter(RsaKeyParameter::E, &der[267..])],
                    ..CoseKey::default()
                }
            }
        }
    }
}

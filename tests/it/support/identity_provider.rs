//! Mocks of the identity providers: signing keys for tokens, and the URLs that a deployment requests.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, crypto};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, RsaKeySize, SigningKey as _};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use wiremock::matchers::{method, path, query_param};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::support::World;
use crate::support::customers::token;

/// The ids of our apps at both token-signing providers.
pub const APP: &str = "com.acme.shop";
pub const WEB_APP: &str = "com.acme.shop.web";

/// A key pair of a provider or of an attacker.
pub struct SigningKey {
    pub kid: &'static str,
    pub pair: KeyPair,
}

fn made(kid: &'static str, place: &'static OnceLock<SigningKey>, make: fn() -> KeyPair) -> &'static SigningKey {
    place.get_or_init(|| SigningKey { kid, pair: make() })
}

fn rsa_pair() -> KeyPair {
    KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048).unwrap()
}

fn ec_pair() -> KeyPair {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap()
}

/// The provider's RSA key.
pub fn rsa() -> &'static SigningKey {
    static KEY: OnceLock<SigningKey> = OnceLock::new();
    made("rsa-1", &KEY, rsa_pair)
}

/// The provider's elliptic curve key.
pub fn ec() -> &'static SigningKey {
    static KEY: OnceLock<SigningKey> = OnceLock::new();
    made("ec-1", &KEY, ec_pair)
}

/// A key that the provider has not published, or not yet.
pub fn foreign() -> &'static SigningKey {
    static KEY: OnceLock<SigningKey> = OnceLock::new();
    made("foreign-1", &KEY, rsa_pair)
}

impl SigningKey {
    fn algorithm(&self) -> Algorithm {
        if self.pair.algorithm() == &PKCS_RSA_SHA256 { Algorithm::RS256 } else { Algorithm::ES256 }
    }

    /// The public key, as a provider publishes it.
    pub fn jwk(&self) -> Value {
        let algorithm = self.algorithm();
        let jwk = match algorithm {
            Algorithm::RS256 => Jwk::from_decoding_key(&DecodingKey::from_rsa_der(self.pair.public_key_raw()), Some(algorithm)),
            _ => Jwk::from_encoding_key(&EncodingKey::from_ec_der(self.pair.serialized_der()), algorithm),
        };
        let mut jwk = serde_json::to_value(jwk.unwrap()).unwrap();
        jwk["kid"] = json!(self.kid);
        jwk["use"] = json!("sig");
        jwk
    }

    /// The header of a valid token.
    pub fn header(&self) -> Value {
        json!({ "alg": format!("{:?}", self.algorithm()), "kid": self.kid, "typ": "JWT" })
    }

    /// A valid token.
    pub fn sign(&self, claims: &Value) -> String {
        self.sign_with(&self.header(), claims)
    }

    /// A token with any header, signed by this key.
    pub fn sign_with(&self, header: &Value, claims: &Value) -> String {
        let message = unsigned(header, claims);
        let signature = match self.algorithm() {
            Algorithm::RS256 => URL_SAFE_NO_PAD.encode(self.pair.sign(message.as_bytes()).unwrap()),
            algorithm => crypto::sign(message.as_bytes(), &EncodingKey::from_ec_der(self.pair.serialized_der()), algorithm).unwrap(),
        };
        format!("{message}.{signature}")
    }
}

/// The first two parts of a token.
pub fn unsigned(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}

/// The three providers on one server.
pub struct IdentityProvider {
    server: MockServer,
    priority: AtomicU8,
}

impl IdentityProvider {
    /// Starts a server on which A and B publish the RSA and the elliptic curve key.
    pub async fn start() -> Self {
        let provider = Self { server: MockServer::start().await, priority: AtomicU8::new(u8::MAX) };
        provider.publish(&[rsa(), ec()]).await;
        provider
    }

    /// Replaces the keys that A and B publish.
    pub async fn publish(&self, keys: &[&SigningKey]) {
        let keys: Vec<_> = keys.iter().map(|key| key.jwk()).collect();
        self.answer_keys(ResponseTemplate::new(200).set_body_json(json!({ "keys": keys }))).await;
    }

    /// Replaces the response to requests for the keys.
    pub async fn answer_keys(&self, answer: ResponseTemplate) {
        self.answer("GET", "/keys", answer).await;
    }

    /// Replaces the response at this URL path. Earlier requests stay recorded.
    pub async fn answer(&self, verb: &str, address: &str, answer: ResponseTemplate) {
        // The last response takes precedence: it has the lowest priority number.
        let priority = self.priority.fetch_sub(1, Ordering::Relaxed);
        Mock::given(method(verb)).and(path(address)).respond_with(answer).with_priority(priority).mount(&self.server).await;
    }

    /// The next request to this URL path gets this response, and those after it what they got before.
    pub async fn answer_once(&self, verb: &str, address: &str, answer: ResponseTemplate) {
        let priority = self.priority.fetch_sub(1, Ordering::Relaxed);
        let once = Mock::given(method(verb)).and(path(address)).respond_with(answer).with_priority(priority).up_to_n_times(1);
        once.mount(&self.server).await;
    }

    /// Replaces the response of C's graph to the question about one token.
    pub async fn answer_about(&self, token: &str, answer: ResponseTemplate) {
        let priority = self.priority.fetch_sub(1, Ordering::Relaxed);
        let asked = Mock::given(method("GET")).and(path("/graph/v1.0/debug_token")).and(query_param("input_token", token));
        asked.respond_with(answer).with_priority(priority).mount(&self.server).await;
    }

    /// The requests to a URL path.
    pub async fn asked(&self, address: &str) -> Vec<Request> {
        let requests = self.server.received_requests().await.unwrap();
        requests.into_iter().filter(|request| request.url.path() == address).collect()
    }

    /// The URL of a path.
    pub fn url(&self, address: &str) -> String {
        format!("{}{address}", self.server.uri())
    }

    /// The settings of a deployment that offers all three providers, C by its graph API.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let apps = format!("{APP},{WEB_APP}");
        vec![
            ("providers.idp_a.issuers", "https://a.example".to_owned()),
            ("providers.idp_a.audiences", apps.clone()),
            ("providers.idp_a.jwks_url", self.url("/keys")),
            ("providers.idp_b.issuers", "https://b.example,b.example".to_owned()),
            ("providers.idp_b.client_ids", apps),
            ("providers.idp_b.jwks_url", self.url("/keys")),
            ("providers.idp_c.verification", "graph".to_owned()),
            ("providers.idp_c.graph_url", self.url("/graph/v1.0")),
            ("providers.idp_c.app_id", "4711".to_owned()),
            ("providers.idp_c.app_secret", "graph secret".to_owned()),
        ]
    }

    /// A world whose deployment offers the three providers, with some settings changed.
    pub async fn world(&self, changes: &[(&str, &str)]) -> World {
        let settings = self.settings();
        let settings: Vec<_> = settings.iter().map(|(key, value)| (*key, value.as_str())).chain(changes.iter().copied()).collect();
        World::with(&settings).await
    }
}

/// A provider that browsers sign in with, as OpenID Connect Core (3.1), RFC 6749 and RFC 7636 say: its token endpoint knows the client,
/// exchanges a code once, for the address that the code was sent to and whoever has the verifier.
pub struct BrowserProvider {
    pub provider: IdentityProvider,
    codes: Arc<Mutex<HashMap<String, Asked>>>,
}

/// The client of the browser provider.
pub const CLIENT: (&str, &str) = ("console", "console secret");

/// What a code was asked for with.
struct Asked {
    back: String,
    challenge: String,
    token: String,
}

struct TokenEndpoint(Arc<Mutex<HashMap<String, Asked>>>);

impl Respond for TokenEndpoint {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let form: HashMap<String, String> = url::form_urlencoded::parse(&request.body).into_owned().collect();
        let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
        let refused = |status: u16, error: &str| ResponseTemplate::new(status).set_body_json(json!({ "error": error }));
        if (field("client_id"), field("client_secret")) != CLIENT {
            return refused(401, "invalid_client");
        }
        if field("grant_type") != "authorization_code" {
            return refused(400, "unsupported_grant_type");
        }
        let Some(asked) = self.0.lock().unwrap().remove(field("code")) else { return refused(400, "invalid_grant") };
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(field("code_verifier")));
        if field("redirect_uri") != asked.back || challenge != asked.challenge {
            return refused(400, "invalid_grant");
        }
        let answer = json!({ "id_token": asked.token, "access_token": "opaque", "token_type": "Bearer", "expires_in": 300 });
        ResponseTemplate::new(200).set_body_json(answer)
    }
}

impl BrowserProvider {
    /// Starts the provider, with a discovery document.
    pub async fn start() -> Self {
        let (provider, codes) = (IdentityProvider::start().await, Arc::<Mutex<HashMap<String, Asked>>>::default());
        let this = Self { provider, codes: codes.clone() };
        this.discovered_as(&this.issuer()).await;
        Mock::given(method("POST"))
            .and(path("/staff/token"))
            .respond_with(TokenEndpoint(codes))
            .with_priority(u8::MAX)
            .mount(&this.provider.server)
            .await;
        this
    }

    /// Replaces the issuer that the discovery document names.
    pub async fn discovered_as(&self, issuer: &str) {
        let document = json!({
            "issuer": issuer,
            "authorization_endpoint": self.provider.url("/staff/authorize"),
            "token_endpoint": self.provider.url("/staff/token"),
            "jwks_uri": self.provider.url("/keys"),
        });
        self.provider.answer("GET", "/staff/.well-known/openid-configuration", ResponseTemplate::new(200).set_body_json(document)).await;
    }

    pub fn issuer(&self) -> String {
        self.provider.url("/staff")
    }

    /// A world in which operators can sign in with the provider.
    pub async fn world(&self, changes: &[(&str, &str)]) -> World {
        let (client, secret) = CLIENT;
        let file = format!(
            "[[providers.oidc]]\nname = \"staff\"\nissuers = [\"{}\"]\naudiences = [\"{client}\"]\njwks_url = \"{}\"\n\
             client_id = \"{client}\"\nclient_secret = \"{secret}\"\n",
            self.issuer(),
            self.provider.url("/keys"),
        );
        World::with_file(&file, &[&[("operators.oidc", "staff")], changes].concat()).await
    }

    /// Somebody signs in on the page that the browser was sent to. Returns the parameters with which they are sent back. `changes` are of
    /// the claims of their token.
    pub fn sign_in(&self, world: &World, page: &str, changes: Value) -> String {
        let page: url::Url = page.parse().unwrap();
        assert_eq!(page.path(), "/staff/authorize");
        let asked: HashMap<String, String> = page.query_pairs().into_owned().collect();
        assert_eq!((asked["response_type"].as_str(), asked["client_id"].as_str()), ("code", CLIENT.0));
        assert!(asked["scope"].split(' ').any(|scope| scope == "openid") && asked["code_challenge_method"] == "S256");
        let now = world.clock.now().timestamp();
        let claims = json!({
            "iss": self.issuer(), "aud": CLIENT.0, "sub": "7", "iat": now, "exp": now + 300, "nonce": asked["nonce"],
            "email": "ada@acme.example", "email_verified": true,
        });
        let token = rsa().sign(&another(&with(&claims, changes)));
        let code = format!("code-{}", asked["state"]);
        let (back, challenge) = (asked["redirect_uri"].clone(), asked["code_challenge"].clone());
        self.codes.lock().unwrap().insert(code.clone(), Asked { back, challenge, token });
        let query = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs([("code", code.as_str()), ("state", &asked["state"]), ("iss", &self.issuer())])
            .finish();
        format!("/console/sign-in/provider/return?{query}")
    }
}

/// The claims of a valid token of A for a subject.
pub fn claims_of_a(world: &World, subject: &str) -> Value {
    let now = world.clock.now().timestamp();
    another(&json!({ "iss": "https://a.example", "aud": APP, "sub": subject, "iat": now, "exp": now + 86_400 }))
}

/// The claims of a valid token of B for a subject.
pub fn claims_of_b(world: &World, subject: &str) -> Value {
    let now = world.clock.now().timestamp();
    another(&json!({ "iss": "https://b.example", "aud": APP, "azp": APP, "sub": subject, "iat": now, "exp": now + 3_600 }))
}

/// The same claims with a new `jti`, because each token can be used for one sign-in only.
pub fn another(claims: &Value) -> Value {
    static TOKENS: AtomicU64 = AtomicU64::new(0);
    with(claims, json!({ "jti": TOKENS.fetch_add(1, Ordering::Relaxed).to_string() }))
}

/// `value` with fields set, or removed by `null`.
pub fn with(value: &Value, members: Value) -> Value {
    let mut changed = value.clone();
    let target = changed.as_object_mut().unwrap();
    target.extend(members.as_object().unwrap().clone());
    target.retain(|_, value| !value.is_null());
    changed
}

/// Signs somebody in with provider A, who registers by it the first time, and returns the token.
pub async fn sign_in_with_a(world: &World, subject: &str) -> String {
    let body = json!({ "identityToken": rsa().sign(&claims_of_a(world, subject)) });
    token(&world.storefront("customers/login-with-idp-a").json(&body).send().await.ok(200))
}

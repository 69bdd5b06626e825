//! A stand-in for a collector of traces: takes OTLP over HTTP, as its specification says, and decodes it.

use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use prost::Message;
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

/// The collector.
pub struct Collector(MockServer);

impl Collector {
    pub async fn start() -> Self {
        Self::answering(ResponseTemplate::new(200)).await
    }

    /// One that answers like this.
    pub async fn answering(answer: ResponseTemplate) -> Self {
        let server = MockServer::start().await;
        let spans = Mock::given(method("POST")).and(path("/v1/traces")).and(header("content-type", "application/x-protobuf"));
        spans.respond_with(answer).mount(&server).await;
        Self(server)
    }

    /// One that takes longer than anybody waits.
    pub async fn hanging() -> Self {
        Self::answering(ResponseTemplate::new(200).set_delay(Duration::from_secs(600))).await
    }

    pub fn url(&self) -> String {
        format!("{}/v1/traces", self.0.uri())
    }

    /// The value of this header in each request so far.
    pub async fn headers(&self, name: &str) -> Vec<String> {
        let requests = self.0.received_requests().await.unwrap();
        requests.iter().filter_map(|request| Some(request.headers.get(name)?.to_str().unwrap().to_owned())).collect()
    }

    /// The names of the services that spans are of.
    pub async fn services(&self) -> Vec<String> {
        let resources = self.exported().await.into_iter().flat_map(|export| export.resource_spans);
        let named = resources.map(|spans| attribute(&spans.resource.unwrap().attributes, "service.name").unwrap());
        named.collect()
    }

    /// All spans so far, in the order in which they ended.
    pub async fn spans(&self) -> Vec<Span> {
        let resources = self.exported().await.into_iter().flat_map(|export| export.resource_spans);
        resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans).collect()
    }

    async fn exported(&self) -> Vec<ExportTraceServiceRequest> {
        let requests = self.0.received_requests().await.unwrap();
        requests.iter().map(|request| ExportTraceServiceRequest::decode(&request.body[..]).unwrap()).collect()
    }
}

/// The spans with this name.
pub fn named<'a>(spans: &'a [Span], name: &str) -> Vec<&'a Span> {
    spans.iter().filter(|span| span.name == name).collect()
}

/// The only span with this name.
#[track_caller]
pub fn the<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let names: Vec<_> = spans.iter().map(|span| &span.name).collect();
    let [span] = named(spans, name)[..] else { panic!("one span {name:?} of {names:?}") };
    span
}

/// The attribute of a span, as text.
pub fn fact(span: &Span, key: &str) -> Option<String> {
    attribute(&span.attributes, key)
}

fn attribute(attributes: &[opentelemetry_proto::tonic::common::v1::KeyValue], key: &str) -> Option<String> {
    match attributes.iter().find(|attribute| attribute.key == key)?.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        other => panic!("{other:?}"),
    }
}

/// The header that names a span.
pub fn traceparent(span: &Span) -> String {
    format!("00-{}-{}-01", hex::encode(&span.trace_id), hex::encode(&span.span_id))
}

/// Whether the span says that it is of this kind.
pub fn is(span: &Span, kind: SpanKind) -> bool {
    span.kind == kind as i32
}

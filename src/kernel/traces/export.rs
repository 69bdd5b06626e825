//! The way to the collector: spans as OTLP in protobuf, posted over HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::{HeaderValue, header};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use prost::Message;
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder};
use tokio::runtime::Handle;

use crate::kernel::error_chain::chain;
use crate::kernel::traces::places::Places;
use crate::kernel::traces::{Settings, SettingsError};

/// Posts spans to the collector. What it does not take is lost and counted, and the log says so once.
#[derive(Debug)]
pub struct Collector {
    request: RequestBuilder,
    resource: ResourceAttributesWithSchema,
    /// The queue is emptied by a thread that is not the runtime's.
    runtime: Handle,
    is_failing: Arc<AtomicBool>,
    places: Arc<Places>,
}

impl Collector {
    /// The collector of the settings, if they name one.
    pub fn new(settings: &Settings, places: Arc<Places>) -> Result<Option<Self>, SettingsError> {
        let Some(endpoint) = settings.endpoint.clone() else { return Ok(None) };
        if !matches!(endpoint.scheme(), "http" | "https") {
            return Err(SettingsError::Scheme);
        }
        // Redirects are not followed, because they would send the credentials to another host.
        let client = Client::builder().timeout(settings.timeout).redirect(Policy::none()).build().map_err(SettingsError::NoClient)?;
        let request = client.post(endpoint).headers(settings.headers()?);
        let about = [("service.name", settings.service.clone()), ("service.version", env!("CARGO_PKG_VERSION").to_owned())];
        let about = about.map(|(key, value)| opentelemetry::KeyValue::new(key, value));
        let resource = ResourceAttributesWithSchema::from(&Resource::builder_empty().with_attributes(about).build());
        let request = request.header(header::CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        Ok(Some(Self { request, resource, runtime: Handle::current(), is_failing: Arc::default(), places }))
    }
}

impl SpanExporter for Collector {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        self.places.leave(spans);
        let resource_spans = group_spans_by_resource_and_scope(batch, &self.resource);
        let body = ExportTraceServiceRequest { resource_spans }.encode_to_vec();
        let request = self.request.try_clone().expect("it has no body yet").body(body);
        let is_failing = Arc::clone(&self.is_failing);
        let sent = self.runtime.spawn(async move {
            let sent = request.send().await.and_then(reqwest::Response::error_for_status).map_err(reqwest::Error::without_url);
            let failed_before = is_failing.swap(sent.is_err(), Ordering::Relaxed);
            match &sent {
                Err(error) if !failed_before => {
                    tracing::warn!(error = chain(error), spans, "the collector of traces does not take spans; they are lost until it does");
                }
                Ok(_) if failed_before => tracing::info!("the collector of traces takes spans again"),
                Ok(_) | Err(_) => {}
            }
            sent.map(drop).map_err(|error| chain(&error).to_string())
        });
        let sent = sent.await.unwrap_or_else(|error| Err(error.to_string()));
        if sent.is_err() {
            self.places.not_taken(spans);
        }
        sent.map_err(OTelSdkError::InternalFailure)
    }
}

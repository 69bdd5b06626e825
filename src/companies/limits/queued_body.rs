//! The body of a request that gets its turn with the end of the body.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use futures::future::BoxFuture;
use hyper::body::{Frame, SizeHint};

use crate::callers::Party;
use crate::companies::limits::{Admitting, PLACE};
use crate::kernel::ids::CompanyId;
use crate::kernel::problem::Problem;
use crate::kernel::rate_limit::line::{LineFull, Turn};
use crate::kernel::request_body;

/// A body that ends when it has arrived and the request has its turn.
pub(super) struct QueuedBody {
    body: Body,
    /// In bytes, at most.
    size: usize,
    admitting: Arc<Admitting>,
    stage: Stage,
}

/// A frame of the body, or `None` at its end.
type Arrived = Option<Result<Frame<Bytes>, axum::Error>>;

enum Stage {
    /// The body is on its way.
    Arriving,
    /// The request stands in the line.
    Waiting(BoxFuture<'static, Result<Turn<CompanyId, Party>, LineFull>>),
    Ended,
}

impl QueuedBody {
    pub(super) fn new(body: Body, admitting: Arc<Admitting>) -> Self {
        Self { size: request_body::size(&body), body, admitting, stage: Stage::Arriving }
    }

    /// The next frame, once there are places for the body. What is large takes them before it is read.
    fn poll_arriving(&mut self, context: &mut Context<'_>) -> Poll<Result<Arrived, Problem>> {
        if self.size > PLACE {
            self.admitting.hold_body(self.size)?;
        }
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if polled.is_pending() {
            self.admitting.hold_body(self.size)?;
        }
        polled.map(Ok)
    }

    /// The handler learns that there is no whole body, and [`keep_limits`](crate::companies::keep_limits) answers why.
    fn refuse(&mut self, refusal: Problem) -> axum::Error {
        self.stage = Stage::Ended;
        self.admitting.admitted().refusal = Some(refusal);
        axum::Error::new(LineFull)
    }
}

impl HttpBody for QueuedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        loop {
            let this = &mut *self;
            let begun = match &mut this.stage {
                Stage::Arriving => match ready!(this.poll_arriving(context)) {
                    Ok(Some(frame)) => return Poll::Ready(Some(frame)),
                    Ok(None) => this.admitting.begin(this.size),
                    Err(refusal) => Err(refusal),
                },
                Stage::Waiting(turn) => {
                    let turn = ready!(turn.as_mut().poll(context));
                    this.admitting.has_turn(turn).map(|()| None)
                }
                Stage::Ended => return Poll::Ready(None),
            };
            match begun {
                Ok(None) => this.stage = Stage::Ended,
                Ok(Some(waiting)) => this.stage = Stage::Waiting(Box::pin(waiting.turn())),
                Err(refusal) => return Poll::Ready(Some(Err(this.refuse(refusal)))),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.stage, Stage::Ended)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

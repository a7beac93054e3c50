//! The gRPC service: tonic's, as its tutorial writes it.

mod benchmark;

use std::pin::Pin;

use axum::Router;
use tokio_stream::Stream;
use tonic::{Request, Response, Status, service::Routes};
use tower_http::validate_request::ValidateRequestHeaderLayer;

use crate::refuse;
use benchmark::{
    StreamRequest, SumReply, SumRequest,
    benchmark_service_server::{BenchmarkService, BenchmarkServiceServer},
};

/// The service's paths alone: what else is asked is left to the routes beside
/// them.
pub fn router() -> Router {
    let service = BenchmarkServiceServer::new(Sums);
    Routes::new(service)
        .into_axum_router()
        .reset_fallback()
        .route_layer(ValidateRequestHeaderLayer::custom(refuse::not_grpc))
}

struct Sums;

type Replies = Pin<Box<dyn Stream<Item = Result<SumReply, Status>> + Send>>;

#[tonic::async_trait]
impl BenchmarkService for Sums {
    type StreamSumStream = Replies;

    async fn get_sum(
        &self,
        request: Request<SumRequest>,
    ) -> Result<Response<SumReply>, Status> {
        let SumRequest { a, b } = request.into_inner();
        Ok(Response::new(SumReply { result: a.wrapping_add(b) }))
    }

    async fn stream_sum(
        &self,
        request: Request<StreamRequest>,
    ) -> Result<Response<Replies>, Status> {
        let StreamRequest { a, b, count } = request.into_inner();
        let sum = a.wrapping_add(b);
        let replies = (0..count)
            .map(move |i| Ok(SumReply { result: sum.wrapping_add(i) }));
        Ok(Response::new(Box::pin(tokio_stream::iter(replies))))
    }
}

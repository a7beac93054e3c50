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

#[cfg(test)]
mod tests {
    use axum::{
        body::{Body, Bytes},
        http,
    };
    use http_body_util::BodyExt;
    use prost::Message;
    use tower::ServiceExt;

    use super::*;

    /// The messages of the answer and its status.
    async fn call(method: &str, message: impl Message) -> (Vec<Bytes>, String) {
        let mut frame = vec![0; 5];
        message.encode(&mut frame).unwrap();
        frame[4] = (frame.len() - 5) as u8;
        let request = http::Request::post(method)
            .header("content-type", "application/grpc")
            .body(Body::from(frame))
            .unwrap();
        let answer = router().oneshot(request).await.unwrap();
        let answer = answer.into_body().collect().await.unwrap();
        let trailers = answer.trailers().unwrap()["grpc-status"].clone();
        let mut bytes = answer.to_bytes();
        let mut messages = Vec::new();
        while !bytes.is_empty() {
            let length = bytes.split_to(5)[4];
            messages.push(bytes.split_to(length.into()));
        }
        (messages, trailers.to_str().unwrap().to_owned())
    }

    fn results(messages: Vec<Bytes>) -> Vec<i32> {
        let result = |m| SumReply::decode(m).unwrap().result;
        messages.into_iter().map(result).collect()
    }

    #[tokio::test]
    async fn sums_wrap() {
        let request = SumRequest { a: i32::MAX, b: 2 };
        let method = "/benchmark.BenchmarkService/GetSum";
        let (messages, status) = call(method, request).await;
        assert_eq!(results(messages), [i32::MIN + 1]);
        assert_eq!(status, "0");
    }

    #[tokio::test]
    async fn a_stream_counts_up_and_may_be_empty() {
        let method = "/benchmark.BenchmarkService/StreamSum";
        for (count, expected) in [(3, vec![5, 6, 7]), (0, vec![]), (-1, vec![])]
        {
            let request = StreamRequest { a: 2, b: 3, count };
            let (messages, status) = call(method, request).await;
            assert_eq!(results(messages), expected);
            assert_eq!(status, "0");
        }
    }
}

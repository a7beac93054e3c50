//! The two calls of the service.

use std::{iter::Map, ops::Range};

use tokio_stream::Iter;
use tonic::{Request, Response, Status};

use crate::benchmark::{
    StreamRequest, SumReply, SumRequest,
    benchmark_service_server::BenchmarkService,
};

pub struct Sums;

#[tonic::async_trait]
impl BenchmarkService for Sums {
    async fn get_sum(
        &self,
        request: Request<SumRequest>,
    ) -> Result<Response<SumReply>, Status> {
        let SumRequest { a, b } = request.into_inner();
        Ok(Response::new(SumReply { result: a.wrapping_add(b) }))
    }

    type StreamSumStream = Iter<Replies>;

    async fn stream_sum(
        &self,
        request: Request<StreamRequest>,
    ) -> Result<Response<Self::StreamSumStream>, Status> {
        let replies = replies(request.into_inner());
        Ok(Response::new(tokio_stream::iter(replies)))
    }
}

/// Refuses what is no gRPC by its content type, which tonic does not look at.
pub fn only_grpc(request: Request<()>) -> Result<Request<()>, Status> {
    let content_type = request.metadata().get("content-type");
    let content_type = content_type.and_then(|value| value.to_str().ok());
    if content_type.is_some_and(|value| value.starts_with("application/grpc")) {
        Ok(request)
    } else {
        Err(Status::invalid_argument("the content-type is not gRPC's"))
    }
}

/// Made one by one, as the client takes them.
type Replies = Map<Range<i32>, Counter>;
type Counter = Box<dyn Fn(i32) -> Result<SumReply, Status> + Send>;

/// A count of 0 or less is an empty range.
fn replies(request: StreamRequest) -> Replies {
    let StreamRequest { a, b, count } = request;
    let sum = a.wrapping_add(b);
    (0..count)
        .map(Box::new(move |i| Ok(SumReply { result: sum.wrapping_add(i) })))
}

#[cfg(test)]
mod tests {
    use tokio_stream::StreamExt;

    use super::*;

    #[tokio::test]
    async fn sums_wrap_as_an_int32_does() {
        for (a, b, expected) in
            [(13, 42, 55), (i32::MAX, 1, i32::MIN), (i32::MIN, -1, i32::MAX)]
        {
            let reply = Sums.get_sum(Request::new(SumRequest { a, b })).await;
            assert_eq!(reply.unwrap().into_inner().result, expected);
        }
    }

    #[test]
    fn only_calls_with_the_content_type_of_grpc_are_let_in() {
        for (content_type, is_let_in) in [
            (Some("application/grpc"), true),
            (Some("application/grpc+proto"), true),
            (Some("application/json"), false),
            (None, false),
        ] {
            let mut request = Request::new(());
            if let Some(value) = content_type {
                let value = value.parse().unwrap();
                request.metadata_mut().insert("content-type", value);
            }
            assert_eq!(only_grpc(request).is_ok(), is_let_in);
        }
    }

    async fn stream(a: i32, b: i32, count: i32) -> Vec<i32> {
        let request = Request::new(StreamRequest { a, b, count });
        let replies = Sums.stream_sum(request).await.unwrap().into_inner();
        replies.map(|reply| reply.unwrap().result).collect().await
    }

    #[tokio::test]
    async fn a_stream_has_as_many_messages_as_asked_for() {
        assert_eq!(stream(1, 2, 4).await, [3, 4, 5, 6]);
        assert_eq!(stream(i32::MAX, 0, 2).await, [i32::MAX, i32::MIN]);
        assert_eq!(stream(1, 2, 5000).await.len(), 5000);
    }

    #[tokio::test]
    async fn nothing_and_less_is_an_empty_stream() {
        for count in [0, -1, i32::MIN] {
            assert!(stream(1, 2, count).await.is_empty());
        }
    }
}

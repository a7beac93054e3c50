//! Every endpoint of the entry and the middleware it runs behind.

use std::path::Path;

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Path as Segment, Query, State},
    http::StatusCode,
    routing::get,
};
use redis::aio::ConnectionManager;
use serde::Deserialize;
use tower_http::{compression::CompressionLayer, services::ServeDir};

use crate::{
    api, async_db, crud,
    database::Database,
    dataset::{Dataset, Listing},
    grpc, sum, upload, ws,
};

pub fn router(
    dataset: &'static Dataset,
    static_dir: &Path,
    database: Database,
    redis: Option<ConnectionManager>,
) -> Router {
    let files =
        ServeDir::new(static_dir).precompressed_br().precompressed_gzip();
    let upload = axum::routing::post(upload::post)
        .layer(DefaultBodyLimit::max(upload::LIMIT_BYTES));

    Router::new()
        .route("/baseline11", get(sum::get).post(sum::post))
        .route("/baseline2", get(sum::get))
        .route("/pipeline", get(pipeline))
        .route("/json/{count}", get(json).layer(CompressionLayer::new()))
        .route("/upload", upload)
        .route("/public/baseline", get(sum::get))
        .route("/public/json/{count}", get(json))
        .route("/ws", get(ws::upgrade))
        .nest_service("/static", files)
        .with_state(dataset)
        .merge(grpc::router())
        .route("/async-db", get(async_db::get).with_state(database.clone()))
        .merge(crud::router(database.clone()))
        .merge(api::router(database, redis))
}

async fn pipeline() -> &'static str {
    "ok"
}

#[derive(Deserialize)]
struct Multiplier {
    #[serde(default = "one")]
    m: i64,
}

fn one() -> i64 {
    1
}

async fn json(
    State(dataset): State<&'static Dataset>,
    Segment(count): Segment<u64>,
    Query(Multiplier { m }): Query<Multiplier>,
) -> Result<Json<Listing<'static>>, StatusCode> {
    dataset.listing(count, m).map(Json).ok_or(StatusCode::BAD_REQUEST)
}

#[cfg(test)]
#[path = "routes_test.rs"]
mod tests;

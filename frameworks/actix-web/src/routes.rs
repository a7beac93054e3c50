//! Every endpoint of the entry and the middleware it runs behind.

use std::path::Path;

use actix_files::Files;
use actix_web::{
    Result,
    error::ErrorBadRequest,
    middleware::{Compress, DefaultHeaders},
    web::{self, Data, Json, Query, ServiceConfig},
};
use serde::Deserialize;

use crate::{
    dataset::{Dataset, Listing},
    sum, upload,
};

pub fn configure(
    config: &mut ServiceConfig,
    dataset: &'static Dataset,
    static_dir: &Path,
) {
    // A resource answers only the methods it names: HEAD is one of them.
    config
        .app_data(Data::new(dataset))
        .service(
            web::resource("/baseline11")
                .get(sum::get)
                .head(sum::get)
                .post(sum::post),
        )
        .service(web::resource("/pipeline").get(pipeline).head(pipeline))
        .service(
            web::resource("/json/{count}")
                .wrap(Compress::default())
                .wrap(vary())
                .get(json)
                .head(json),
        )
        .service(web::resource("/upload").post(upload::post))
        .service(
            web::scope("/static")
                .wrap(vary())
                .service(Files::new("/", static_dir).try_compressed()),
        );
}

/// `Compress` and `Files` send `Vary` only with an encoded body; a cache needs
/// it with the plain one too. Where it is set already nothing is added.
fn vary() -> DefaultHeaders {
    DefaultHeaders::new().add(("vary", "accept-encoding"))
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
    dataset: Data<&'static Dataset>,
    count: web::Path<u64>,
    Query(Multiplier { m }): Query<Multiplier>,
) -> Result<Json<Listing<'static>>> {
    let listing = dataset.listing(count.into_inner(), m);
    listing.map(Json).ok_or_else(|| ErrorBadRequest("a total is too large"))
}

#[cfg(test)]
#[path = "routes_test.rs"]
mod tests;

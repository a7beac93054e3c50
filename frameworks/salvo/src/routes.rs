//! Every endpoint of the entry.

use std::path::Path;

use salvo::compression::{Compression, CompressionLevel};
use salvo::prelude::*;
use salvo::serve_static::StaticDir;
use serde::Deserialize;

use crate::{
    async_db, crud, database::Database, dataset::Dataset, sum, upload, ws,
};

pub fn router(
    dataset: &'static Dataset,
    static_dir: &Path,
    database: Database,
) -> Router {
    let files = StaticDir::new([static_dir.to_path_buf()]);
    let compression = Compression::new()
        .disable_all()
        .enable_brotli(CompressionLevel::Default)
        .enable_gzip(CompressionLevel::Default)
        .min_length(0);
    Router::new()
        .push(Router::with_path("baseline11").get(sum::get).post(sum::post))
        .push(Router::with_path("baseline2").get(sum::get))
        .push(Router::with_path("pipeline").get(pipeline))
        .push(
            Router::with_path("json/{count}")
                .hoop(compression)
                .get(Listing(dataset)),
        )
        .push(Router::with_path("upload").post(upload::post))
        .push(Router::with_path("ws").get(ws::upgrade))
        .push(Router::with_path("static/{*path}").get(files))
        .push(
            Router::with_path("async-db")
                .get(async_db::Search(database.clone())),
        )
        .push(crud::router(database))
}

#[handler]
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

struct Listing(&'static Dataset);

#[handler]
impl Listing {
    async fn handle(
        &self,
        req: &mut Request,
        res: &mut Response,
    ) -> Result<(), StatusError> {
        let count = req.param("count").ok_or_else(StatusError::bad_request)?;
        let Multiplier { m } =
            req.parse_queries().map_err(|_| StatusError::bad_request())?;
        let listing = self.0.listing(count, m);
        res.render(Json(listing.ok_or_else(StatusError::bad_request)?));
        Ok(())
    }
}

#[cfg(test)]
#[path = "routes_test.rs"]
mod tests;

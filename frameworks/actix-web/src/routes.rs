//! Every endpoint of the entry and the middleware it runs behind.

use std::path::{Path, PathBuf};

use actix_files::Files;
use actix_web::{
    Result,
    error::ErrorBadRequest,
    middleware::{Compress, DefaultHeaders},
    web::{self, Data, Json, Query, ServiceConfig},
};
use serde::Deserialize;

use crate::{
    api::{self, Stack},
    async_db,
    cache::Redis,
    crud::{self, Store},
    database::{Address, Database},
    dataset::{Dataset, Listing},
    sum, upload, ws,
};

/// What the app of each worker is made of. Caches are shared by all workers,
/// connections belong to one.
#[derive(Clone)]
pub struct Parts {
    dataset: &'static Dataset,
    static_dir: PathBuf,
    database: Option<Address>,
    redis: Option<Redis>,
    crud: crud::Cached,
    api: api::Cached,
}

impl Parts {
    pub fn new(
        dataset: &'static Dataset,
        static_dir: &Path,
        database: Option<Address>,
        redis: Option<Redis>,
    ) -> Self {
        let static_dir = static_dir.to_owned();
        let (crud, api) = (crud::cached(), api::Cached::new());
        Self { dataset, static_dir, database, redis, crud, api }
    }

    pub fn configure(&self, config: &mut ServiceConfig) {
        let database = self.database.as_ref();
        let database = Database::new(database);
        let redis = self.redis.as_ref().and_then(Redis::connection);
        let store = Store::new(database.clone(), self.crud.clone());
        let stack = Stack::new(database.clone(), &self.api, redis);
        config
            .app_data(Data::new(self.dataset))
            .app_data(Data::new(database))
            .app_data(Data::new(store))
            .app_data(Data::new(stack));
        routes(config, &self.static_dir);
    }
}

/// A resource answers only the methods it names: HEAD is one of them.
fn routes(config: &mut ServiceConfig, static_dir: &Path) {
    config
        .service(
            web::resource("/baseline11")
                .get(sum::get)
                .head(sum::get)
                .post(sum::post),
        )
        .service(
            web::resource(["/baseline2", "/public/baseline"])
                .get(sum::get)
                .head(sum::get),
        )
        .service(web::resource("/pipeline").get(pipeline).head(pipeline))
        .service(
            web::resource("/json/{count}")
                .wrap(Compress::default())
                .wrap(vary())
                .get(json)
                .head(json),
        )
        .service(web::resource("/public/json/{count}").get(json).head(json))
        .service(web::resource("/upload").post(upload::post))
        .service(web::resource("/async-db").get(async_db::get))
        .service(
            web::resource("/crud/items").get(crud::list).post(crud::create),
        )
        .service(
            web::resource("/crud/items/{id}").get(crud::read).put(crud::update),
        )
        .service(
            web::resource("/api/items/{id}").get(api::read).post(api::write),
        )
        .service(web::resource("/api/me").get(api::me))
        .service(web::resource("/ws").get(ws::upgrade))
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

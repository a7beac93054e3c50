//! Every endpoint of the entry and the middleware it runs behind.

use ntex::web::{
    self, DefaultError, ServiceConfig,
    types::{Json, Path, Query, State},
};
use serde::Deserialize;

use crate::{
    async_db,
    crud::{self, Store},
    database::{Address, Database},
    dataset::{Dataset, Listing},
    refused::Refused,
    sum, upload,
};

/// What the app of each worker is made of. The cache is shared by all workers,
/// connections belong to one.
#[derive(Clone)]
pub struct Parts {
    dataset: &'static Dataset,
    database: Option<Address>,
    crud: crud::Cached,
}

impl Parts {
    pub fn new(dataset: &'static Dataset, database: Option<Address>) -> Self {
        Self { dataset, database, crud: crud::cached() }
    }

    pub fn configure(&self, config: &mut ServiceConfig<DefaultError>) {
        let database = Database::new(self.database.as_ref());
        let store = Store::new(database.clone(), self.crud.clone());
        config.state(self.dataset).state(database).state(store);
        routes(config);
    }
}

/// A resource answers only the methods it names: HEAD is one of them.
fn routes(config: &mut ServiceConfig<DefaultError>) {
    config
        .service(
            web::resource("/baseline11")
                .route(web::get().to(sum::get))
                .route(web::head().to(sum::get))
                .route(web::post().to(sum::post)),
        )
        .service(
            web::resource("/baseline2")
                .route(web::get().to(sum::get))
                .route(web::head().to(sum::get)),
        )
        .service(web::resource("/pipeline").route(web::get().to(pipeline)))
        .service(
            web::resource("/json/{count}")
                .route(web::get().to(json))
                .route(web::head().to(json)),
        )
        .service(web::resource("/upload").route(web::post().to(upload::post)))
        .service(web::resource("/async-db").route(web::get().to(async_db::get)))
        .service(
            web::resource("/crud/items")
                .route(web::get().to(crud::list))
                .route(web::post().to(crud::create)),
        )
        .service(
            web::resource("/crud/items/{id}")
                .route(web::get().to(crud::read))
                .route(web::put().to(crud::update)),
        );
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
    dataset: State<&'static Dataset>,
    count: Path<u64>,
    Query(Multiplier { m }): Query<Multiplier>,
) -> Result<Json<Listing<'static>>, Refused> {
    let listing = dataset.listing(count.into_inner(), m);
    listing.map(Json).ok_or(Refused::BadRequest)
}

#[cfg(test)]
#[path = "routes_test.rs"]
mod tests;

use ntex::{
    http::Method,
    web::{App, test},
};

use super::*;

const ITEM: &str = r#"[{"id":1,"name":"A","category":"c","price":4,
    "quantity":5,"active":true,"tags":["eco"],
    "rating":{"score":1,"count":2}}]"#;

/// Status and body of each request, in order.
async fn answers(
    requests: impl IntoIterator<Item = (Method, String, &'static str)>,
) -> Vec<(u16, String)> {
    let dataset = Dataset::parse(ITEM.as_bytes()).unwrap();
    let parts = Parts::new(Box::leak(Box::new(dataset)), None);
    let app = App::new().configure(|to| parts.configure(to));
    let app = test::init_service(app).await;
    let mut out = Vec::new();
    for (method, target, body) in requests {
        let request = test::TestRequest::with_uri(&target)
            .method(method)
            .header("content-type", "application/json")
            .set_payload(body)
            .to_request();
        let answer = test::call_service(&app, request).await;
        let status = answer.status().as_u16();
        let body = test::read_body(answer).await;
        out.push((status, String::from_utf8_lossy(&body).into_owned()));
    }
    out
}

fn get(target: &str) -> (Method, String, &'static str) {
    (Method::GET, target.into(), "")
}

fn statuses(answers: &[(u16, String)]) -> Vec<u16> {
    answers.iter().map(|(status, _)| *status).collect()
}

#[ntex::test]
async fn sums_take_any_order_and_refuse_what_is_no_integer() {
    let beyond = format!("/baseline11?a={}&b=1", i64::MAX);
    let fine = [
        get("/baseline11?a=13&b=42"),
        get("/baseline11?b=-42&x=y&a=13"),
        get("/baseline2?a=%31%33&b=42"),
        (Method::POST, "/baseline11?a=13&b=42".into(), " 20\r\n"),
    ];
    let bodies: Vec<_> =
        answers(fine).await.into_iter().map(|(_, body)| body).collect();
    assert_eq!(bodies, ["55", "-29", "55", "75"]);
    let odd = [
        get("/baseline11?a=13"),
        get("/baseline11?a=13&b=4x"),
        get(&beyond),
        (Method::POST, "/baseline11?a=13&b=42".into(), "2 0"),
        (Method::POST, "/baseline11?a=13&b=42".into(), ""),
    ];
    assert_eq!(statuses(&answers(odd).await), [400; 5]);
}

#[ntex::test]
async fn other_methods_paths_and_counts_are_refused() {
    let asked = [
        (Method::PUT, "/baseline11?a=1&b=1".into(), ""),
        get("/upload"),
        get("/nothing"),
        get("/json/abc"),
        get("/json/-1"),
        get("/json/1?m=x"),
        get("/crud/items/abc"),
        get("/crud/items/99999999999"),
    ];
    let expected = [405, 405, 404, 404, 404, 400, 404, 404];
    assert_eq!(statuses(&answers(asked).await), expected);
}

#[ntex::test]
async fn without_a_database_searches_find_nothing_and_items_are_unavailable() {
    let item = r#"{"id":1,"name":"A","category":"c","price":4,"quantity":5}"#;
    let asked = [
        get("/async-db?min=1&max=5&limit=99999999999"),
        get("/crud/items"),
        get("/crud/items/7"),
        (Method::POST, "/crud/items".into(), item),
        (Method::PUT, "/crud/items/7".into(), item),
    ];
    let answers = answers(asked).await;
    assert_eq!(answers[0].1, r#"{"items":[],"count":0}"#);
    assert_eq!(statuses(&answers), [200, 503, 503, 503, 503]);
}

//! Routes together with what the OpenAPI document says of them: no route is served that is not described.
//!
//! Schemas come from the types that handlers read and write, by the same derive as the schema of requests.

mod about;
mod document;

pub(super) use about::RouteDoc;

use crate::controller::Controller;
use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodRouter, delete, get, patch, post};
use document::OpenApiDocument;
use serde_json::Value;

/// Routes, and the document of them.
pub(super) struct DescribedRoutes {
    router: Router<Controller>,
    document: OpenApiDocument,
}

impl DescribedRoutes {
    pub(super) fn new() -> Self {
        Self {
            router: Router::new(),
            document: OpenApiDocument::new(),
        }
    }

    pub(super) fn get<H, T>(self, path: &'static str, handler: H, about: RouteDoc) -> Self
    where
        H: Handler<T, Controller>,
        T: 'static,
    {
        self.route("get", path, get(handler), about)
    }

    pub(super) fn post<H, T>(self, path: &'static str, handler: H, about: RouteDoc) -> Self
    where
        H: Handler<T, Controller>,
        T: 'static,
    {
        self.route("post", path, post(handler), about)
    }

    pub(super) fn patch<H, T>(self, path: &'static str, handler: H, about: RouteDoc) -> Self
    where
        H: Handler<T, Controller>,
        T: 'static,
    {
        self.route("patch", path, patch(handler), about)
    }

    pub(super) fn delete<H, T>(self, path: &'static str, handler: H, about: RouteDoc) -> Self
    where
        H: Handler<T, Controller>,
        T: 'static,
    {
        self.route("delete", path, delete(handler), about)
    }

    fn route(
        mut self,
        method: &'static str,
        path: &'static str,
        handler: MethodRouter<Controller>,
        about: RouteDoc,
    ) -> Self {
        self.router = self.router.route(path, handler);
        self.document.add(method, path, about);
        self
    }

    /// The routes, and the document as JSON.
    pub(super) fn into_parts(self) -> (Router<Controller>, Value) {
        (self.router, self.document.write())
    }
}

//! Routes together with their description in the OpenAPI document. A route without a description cannot be added.
//!
//! The schemas are derived from the types that handlers read and write, in the same way as the schema of a request.

mod about;
mod document;

pub(super) use about::RouteDoc;

use crate::controller::Controller;
use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodRouter, delete, get, patch, post};
use document::OpenApiDocument;
use serde_json::Value;

/// The routes and their OpenAPI document.
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

    /// Returns the routes, and the document as JSON.
    pub(super) fn into_parts(self) -> (Router<Controller>, Value) {
        (self.router, self.document.into_json())
    }
}

//! The server of a controller: the API and the dashboard on one listener.

use crate::api::{self, ConnectionLimits};
use crate::controller::Controller;
use crate::dashboard;
use axum::Router;
use std::sync::Arc;
use tokio_rustls::rustls::ServerConfig;

/// Serves the API and the dashboard of `controller` on `listener`, and lets it campaign for the leadership, until the
/// future is dropped. If no other URL was set, other controllers redirect clients to the address of the listener.
///
/// # Errors
/// The error of the operating system.
pub async fn serve(
    listener: tokio::net::TcpListener,
    controller: Controller,
    tls: Option<Arc<ServerConfig>>,
) -> std::io::Result<()> {
    let limits = ConnectionLimits::of_process();
    serve_within(listener, controller, tls, limits, |app| app).await
}

/// Does the same as [`serve`] with other limits; `wrap` wraps all routes.
///
/// # Errors
/// The errors of [`serve`].
pub async fn serve_within(
    listener: tokio::net::TcpListener,
    controller: Controller,
    tls: Option<Arc<ServerConfig>>,
    limits: ConnectionLimits,
    wrap: impl FnOnce(Router) -> Router,
) -> std::io::Result<()> {
    let address = listener.local_addr()?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    controller.advertise(&format!("{scheme}://{address}"));
    let pages = dashboard::routes(controller.clone());
    let routes = api::routes(controller.clone()).merge(pages);
    let app = wrap(api::guarded(
        routes,
        &controller,
        address,
        dashboard::refused,
    ));
    tokio::select! {
        () = controller.run() => Ok(()),
        served = api::connections::serve(listener, tls, app, limits) => served,
    }
}

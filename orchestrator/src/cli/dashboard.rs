//! `shardwright dashboard`: prints a link with which a browser signs in.

use super::client::Client;
use super::error::CliError;
use super::out;
use crate::api::SignInCode;
use crate::cli::out::report;

pub(super) async fn run(client: &Client) -> Result<u8, CliError> {
    let path = "/api/v1/sign-in-codes";
    let code: SignInCode = client.post(path, String::new()).await?;
    if code.ends_at.is_some() {
        report!("the link works once, within five minutes, for the first browser that opens it");
    }
    out::print(format!("{}{}\n", client.url(), code.path));
    Ok(0)
}

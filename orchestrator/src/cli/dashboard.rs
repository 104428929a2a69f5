//! `shardwright dashboard`: a link that signs a browser in.

use super::client::Client;
use super::error::CliError;
use super::out;
use crate::api::SignInCode;
use crate::cli::out::report;

pub(super) async fn run(client: &Client) -> Result<u8, CliError> {
    let path = "/api/v1/sign-in-codes";
    let made: SignInCode = client.post(path, String::new()).await?;
    if made.ends_at.is_some() {
        report!("it signs in once, within five minutes, the browser that opens it first");
    }
    out::print(format!("{}{}\n", client.url(), made.path));
    Ok(0)
}

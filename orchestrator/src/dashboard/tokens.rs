//! The page of the access tokens and their roles: create them, show them once, revoke them.

use super::commands::{CommandForm, CommandInput, confirmation, page_if_unconfirmed};
use super::marks::{self, StateMark};
use super::page::{DashboardPage, PageError};
use crate::access::{AccessRule, Caller, NewToken, Role};
use crate::api::ApiError;
use crate::controller::{ControlError, Controller};
use crate::store::TokenRecord;
use crate::view::figures::ago;
use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Form};
use chrono::{DateTime, Utc};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Template)]
#[template(path = "tokens/list.html")]
struct TokensPage {
    rows: Vec<TokenStateRow>,
    roles: Vec<RoleChoice>,
    /// The submitted fields, if they were refused.
    input: TokenForm,
    /// Why the input was refused.
    wrong: Option<String>,
    /// A token that was just created.
    created: Option<CreatedToken>,
    /// True if no token is required.
    is_open: bool,
    csrf: String,
}

struct TokenStateRow {
    name: String,
    role: &'static str,
    labels: String,
    mark: StateMark,
    is_valid: bool,
    created: String,
    created_by: String,
    ends: String,
}

struct RoleChoice {
    name: &'static str,
    chosen: bool,
}

/// A new token with its secret, which is never shown again.
struct CreatedToken {
    name: String,
    role: &'static str,
    secret: String,
}

/// The form.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TokenForm {
    name: String,
    role: String,
    /// `key=value` pairs, separated by commas.
    labels: String,
    /// The lifetime in days; empty: unlimited.
    days: String,
}

impl TokenForm {
    fn parse(&self) -> Result<NewToken, ControlError> {
        let invalid = |what: String| ControlError::Invalid { what };
        let role: Role = self.role.parse().map_err(|e| invalid(format!("{e}")))?;
        let days = Some(self.days.trim()).filter(|days| !days.is_empty());
        let days = days.map(str::parse).transpose();
        let days = days.map_err(|_| invalid(format!("{:?} is not a number of days", self.days)))?;
        let pairs = self.labels.split(',').map(str::trim);
        let labels: Option<BTreeMap<String, String>> = pairs
            .filter(|pair| !pair.is_empty())
            .map(|pair| pair.split_once('='))
            .map(|pair| pair.map(|(k, v)| (k.trim().to_owned(), v.trim().to_owned())))
            .collect();
        let labels = labels.ok_or_else(|| {
            invalid(format!(
                "{:?} are not labels of the form region=eu",
                self.labels
            ))
        })?;
        Ok(NewToken {
            name: self.name.trim().to_owned(),
            role,
            labels,
            days,
        })
    }
}

impl TokensPage {
    async fn read(controller: &Controller, caller: &Caller) -> Result<Self, ControlError> {
        let now = Utc::now();
        let all = controller.store().tokens().await?;
        Ok(Self {
            rows: all.iter().rev().map(|token| row(token, now)).collect(),
            roles: Vec::new(),
            input: TokenForm::default(),
            wrong: None,
            created: None,
            is_open: controller.rule() == AccessRule::Open,
            csrf: caller.csrf.clone().unwrap_or_default(),
        })
    }

    fn page(mut self, caller: Caller) -> DashboardPage {
        let chosen = if self.input.role.is_empty() {
            "viewer"
        } else {
            &self.input.role
        };
        let roles = Role::ALL.map(|role| RoleChoice {
            name: role.name(),
            chosen: role.name() == chosen,
        });
        self.roles = roles.into();
        DashboardPage::static_page("Tokens", &self, Some(caller))
    }
}

fn row(token: &TokenRecord, now: DateTime<Utc>) -> TokenStateRow {
    let labels = token.labels.iter();
    let labels: Vec<String> = labels.map(|(k, v)| format!("{k}={v}")).collect();
    TokenStateRow {
        name: token.name.clone(),
        role: token.role.name(),
        labels: labels.join(", "),
        mark: marks::of_token(token, now),
        is_valid: token.is_good(now),
        created: ago(token.created_at),
        created_by: token.created_by.clone(),
        ends: token
            .revoked_at
            .or(token.ends_at)
            .map(ago)
            .unwrap_or_default(),
    }
}

/// Shows all tokens, and the form for a new one.
pub(super) async fn show(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
) -> Result<DashboardPage, PageError> {
    Ok(TokensPage::read(&controller, &caller).await?.page(caller))
}

/// Creates a token and shows its secret once.
pub(super) async fn create(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Form(input): Form<TokenForm>,
) -> Result<Response, PageError> {
    let result = match input.parse() {
        Ok(new) => controller.create_token(&new, &caller.name).await,
        Err(error) => Err(error),
    };
    let page = TokensPage::read(&controller, &caller).await?;
    match result {
        Ok((record, secret)) => {
            let created = Some(CreatedToken {
                name: record.name,
                role: record.role.name(),
                secret: secret.reveal().to_owned(),
            });
            Ok(TokensPage { created, ..page }.page(caller).into_response())
        }
        Err(error) => {
            let (status, problem) = ApiError::from(error).into_parts();
            let wrong = Some(problem.detail);
            let page = TokensPage {
                input,
                wrong,
                ..page
            };
            Ok((status, page.page(caller)).into_response())
        }
    }
}

/// Shows the confirmation page, where the operator types the name.
pub(super) async fn confirm(
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> DashboardPage {
    confirmation(CommandForm::revoke(&name, &caller), None, caller)
}

/// Revokes a token.
pub(super) async fn revoke(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Form(input): Form<CommandInput>,
) -> Result<Response, PageError> {
    let form = CommandForm::revoke(&name, &caller);
    let return_path = form.return_path();
    if let Some(page) = page_if_unconfirmed(form, &input, &caller) {
        return Ok(page);
    }
    controller
        .revoke_token(&name, &caller.name, input.reason())
        .await?;
    Ok(Redirect::to(&return_path).into_response())
}

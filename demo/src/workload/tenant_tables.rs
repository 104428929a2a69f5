//! Selects the tables of a tenant in a transaction, if each tenant has tables of its own.

use crate::shop::KeyShape;
use client::Transaction;

/// The statement that selects the tables of a tenant.
#[derive(Debug, Clone)]
pub(super) struct TenantTables {
    select: Option<String>,
}

impl TenantTables {
    pub(super) fn new(shape: KeyShape) -> Self {
        Self {
            select: shape.select_tables_sql(),
        }
    }

    /// Makes the tables of `tenant` those of the transaction. Does nothing if all tenants have the same tables.
    pub(super) async fn select(
        &self,
        tx: &Transaction,
        tenant: i64,
    ) -> Result<(), tokio_postgres::Error> {
        if let Some(select) = &self.select {
            tx.query(select, &[&tenant]).await?;
        }
        Ok(())
    }
}

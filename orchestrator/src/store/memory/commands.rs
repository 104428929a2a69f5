//! Commands with an idempotency key, and the responses to them, in memory.

use super::MemoryStore;
use crate::access::SecretDigest;
use crate::store::keyed_command::KEPT_FOR;
use crate::store::{CommandStore, EarlierCommand, KeyedCommand, StoreFuture, StoredResponse};

impl CommandStore for MemoryStore {
    fn begin_command<'a>(
        &'a self,
        command: &'a KeyedCommand,
    ) -> StoreFuture<'a, Option<EarlierCommand>> {
        self.write(|state| {
            let oldest = command.at - KEPT_FOR;
            state
                .keyed_commands
                .retain(|_, (begun, _)| *begun >= oldest);
            if let Some((_, earlier)) = state.keyed_commands.get(&command.key) {
                return Ok(Some(earlier.clone()));
            }
            let begun = EarlierCommand {
                fingerprint: command.fingerprint,
                response: None,
            };
            state
                .keyed_commands
                .insert(command.key, (command.at, begun));
            Ok(None)
        })
    }

    fn store_response<'a>(
        &'a self,
        key: SecretDigest,
        response: &'a StoredResponse,
    ) -> StoreFuture<'a, ()> {
        self.write(|state| {
            if let Some((_, command)) = state.keyed_commands.get_mut(&key) {
                command.response = Some(response.clone());
            }
            Ok(())
        })
    }

    fn forget_command(&self, key: SecretDigest) -> StoreFuture<'_, ()> {
        self.write(|state| {
            state.keyed_commands.remove(&key);
            Ok(())
        })
    }
}

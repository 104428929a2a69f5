//! The access that each route needs. Routes that this file does not contain need an admin.

use super::Role;

/// The access to a route, as the kind of permission that the caller needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RouteAccess {
    /// No token: health checks, the sign-in, and its styles and images.
    Nothing,
    /// Read what the dashboard shows.
    Read,
    /// Read shard maps; applications may do this too.
    ReadMaps,
    /// Read one migration; agents may do this too.
    ReadMigration,
    /// Report the load and the latency of an application.
    ReportLoad,
    /// Work as an agent.
    Work,
    /// Check or estimate a request that a user is editing. The controller does not store it.
    Draft,
    /// Operate migrations until their cutover.
    Operate,
    /// Decide about cutovers.
    Approve,
    /// Everything else.
    Administer,
}

impl RouteAccess {
    /// Returns the access that a route needs. `method` and `pattern` are those of the route; `last` is the last segment
    /// of the path.
    #[must_use]
    pub fn of(method: &str, pattern: &str, last: &str) -> Self {
        let reads = matches!(method, "GET" | "HEAD");
        match pattern {
            "/healthz" | "/readyz" | "/version" | "/api/v1/health" | "/assets/{file}"
            | "/favicon.ico" | "/sign-in" | "/sign-out" => Self::Nothing,
            "/api/v1/agents/claim"
            | "/api/v1/agents/heartbeat"
            | "/api/v1/agents/report"
            | "/api/v1/agents/cutover"
            | "/api/v1/migrations/{id}/cleanup-records"
            | "/api/v1/migrations/{id}/cleanup-records/done" => Self::Work,
            "/api/v1/maps/{name}/latency" | "/api/v1/maps/{name}/counters" => Self::ReportLoad,
            "/api/v1/maps/{name}/locate" => Self::ReadMaps,
            "/api/v1/sign-in-codes" => Self::Read,
            "/api/v1/migrations/{id}/{command}"
            | "/api/v1/operations/{id}/{command}"
            | "/migrations/{id}/{command}"
            | "/operations/{id}/{command}" => Self::of_command(last),
            "/migrations/check" | "/migrations/estimate" => Self::Draft,
            "/api/v1/agents/{name}" | "/api/v1/agents/{name}/removal" => Self::Operate,
            "/migrations/new" | "/migrations/plan" | "/doctor" | "/api/v1/plans"
            | "/api/v1/doctor" => Self::Operate,
            "/api/v1/tokens" | "/tokens" | "/tokens/{name}/revoke" => Self::Administer,
            _ if reads => Self::of_reading(pattern),
            "/migrations"
            | "/api/v1/migrations"
            | "/api/v1/operations"
            | "/api/v1/migrations/{id}/limits"
            | "/api/v1/migrations/{id}/verify"
            | "/api/v1/maps/{name}/load"
            | "/maps/{name}/load"
            | "/api/v1/maps/{name}/check"
            | "/api/v1/shards/{name}/directory" => Self::Operate,
            _ => Self::Administer,
        }
    }

    /// Returns the access that a GET route needs.
    fn of_reading(pattern: &str) -> Self {
        match pattern {
            "/api/v1/maps/{name}"
            | "/api/v1/maps/{name}/changes"
            | "/api/v1/maps/{name}/versions/{version}" => Self::ReadMaps,
            "/api/v1/migrations/{id}" | "/api/v1/migrations/{id}/cleanup" => Self::ReadMigration,
            _ => Self::Read,
        }
    }

    /// Returns the access that a command needs. The handler of the route refuses an unknown command.
    #[must_use]
    pub fn of_command(name: &str) -> Self {
        match name {
            "pause" | "resume" | "retry" | "abort" => Self::Operate,
            _ => Self::Approve,
        }
    }

    /// Returns whether a user with `role` has this access.
    #[must_use]
    pub fn is_granted_to(self, role: Role) -> bool {
        match self {
            Self::Nothing => true,
            Self::Read => role.is_for_people(),
            Self::ReadMaps => role.is_for_people() || role == Role::Application,
            Self::ReadMigration => role.is_for_people() || role == Role::Agent,
            Self::ReportLoad => matches!(role, Role::Application | Role::Admin),
            Self::Work => matches!(role, Role::Agent | Role::Admin),
            Self::Draft | Self::Operate => {
                matches!(role, Role::Operator | Role::Approver | Role::Admin)
            }
            Self::Approve => matches!(role, Role::Approver | Role::Admin),
            Self::Administer => role == Role::Admin,
        }
    }

    /// Returns whether routes with this access change something on behalf of an operator.
    #[must_use]
    pub fn changes(self) -> bool {
        matches!(self, Self::Operate | Self::Approve | Self::Administer)
    }

    /// Returns the first role, in the order of `Role::ALL`, that has this access; for messages to users without it.
    #[must_use]
    pub fn lowest_role(self) -> Role {
        let mut roles = Role::ALL.into_iter();
        roles
            .find(|role| self.is_granted_to(*role))
            .unwrap_or(Role::Admin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_that_are_not_listed_need_an_admin() {
        assert_eq!(
            RouteAccess::of("POST", "/api/v1/something/new", "new"),
            RouteAccess::Administer
        );
        assert_eq!(
            RouteAccess::of("DELETE", "/api/v1/shards/{name}", "a"),
            RouteAccess::Administer
        );
    }

    /// The page sends them while a user types.
    #[test]
    fn a_request_that_is_edited_leaves_no_line_in_the_audit_trail() {
        for pattern in ["/migrations/check", "/migrations/estimate"] {
            let need = RouteAccess::of("POST", pattern, "");
            assert!(!need.changes(), "{pattern}");
            assert!(need.is_granted_to(Role::Operator), "{pattern}");
            assert!(!need.is_granted_to(Role::Viewer), "{pattern}");
        }
    }

    #[test]
    fn an_operator_may_remove_the_record_of_an_agent() {
        for (method, pattern, last) in [
            ("DELETE", "/api/v1/agents/{name}", "a"),
            ("GET", "/api/v1/agents/{name}/removal", "removal"),
        ] {
            let need = RouteAccess::of(method, pattern, last);
            assert!(need.is_granted_to(Role::Operator), "{pattern}");
            assert!(!need.is_granted_to(Role::Viewer), "{pattern}");
            assert!(!need.is_granted_to(Role::Agent), "{pattern}");
        }
    }

    #[test]
    fn commands_from_the_cutover_on_need_an_approver() {
        let access = |command: &str| RouteAccess::of("POST", "/migrations/{id}/{command}", command);
        for command in crate::controller::Command::ALL {
            let name = command.name();
            let is_for_operators = matches!(name, "pause" | "resume" | "retry" | "abort");
            assert_eq!(
                access(name).is_granted_to(Role::Operator),
                is_for_operators,
                "{name}"
            );
            assert!(access(name).is_granted_to(Role::Approver), "{name}");
            assert!(!access(name).is_granted_to(Role::Viewer), "{name}");
        }
    }

    #[test]
    fn each_role_has_only_its_own_access() {
        let all = [
            RouteAccess::Read,
            RouteAccess::ReadMaps,
            RouteAccess::ReadMigration,
            RouteAccess::ReportLoad,
            RouteAccess::Work,
            RouteAccess::Draft,
            RouteAccess::Operate,
            RouteAccess::Approve,
            RouteAccess::Administer,
        ];
        let accesses = |role: Role| all.into_iter().filter(move |need| need.is_granted_to(role));
        assert!(accesses(Role::Agent).eq([RouteAccess::ReadMigration, RouteAccess::Work]));
        assert!(accesses(Role::Application).eq([RouteAccess::ReadMaps, RouteAccess::ReportLoad]));
        assert!(accesses(Role::Viewer).eq([
            RouteAccess::Read,
            RouteAccess::ReadMaps,
            RouteAccess::ReadMigration
        ]));
        assert!(accesses(Role::Admin).eq(all));
    }

    #[test]
    fn a_refused_caller_is_shown_the_lowest_role_that_has_access() {
        assert_eq!(RouteAccess::Operate.lowest_role(), Role::Operator);
        assert_eq!(RouteAccess::Approve.lowest_role(), Role::Approver);
        assert_eq!(RouteAccess::Work.lowest_role(), Role::Admin);
    }
}

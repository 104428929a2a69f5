//! What pg_restore prints of one entry, as the statements that we keep.

use plans::names::{DDL_PREFIX, TRIGGER_PREFIX};

/// Settings that say where an object goes, and what they are where that is not said.
const PLACES: [(&str, &str); 2] = [
    ("default_tablespace", "''"),
    ("default_table_access_method", "heap"),
];

/// `2871; 2606 16391 CONSTRAINT public accounts accounts_pkey postgres` -> from the kind on, without owner.
pub(super) fn label_of(line: &str) -> String {
    let mut words = line.split(' ').skip(3).collect::<Vec<_>>();
    words.pop();
    words.join(" ")
}

/// Whether a label or a statement names a guard of ours, or an event trigger.
pub(super) fn is_ours(text: &str) -> bool {
    text.contains(TRIGGER_PREFIX) || text.contains(DDL_PREFIX)
}

/// What is ours, what stands in every database, and grants on the server's own objects, which are the server's matter
/// (`pg_reload_conf()` to our own role among them) and which only a superuser could repeat.
pub(super) fn stays_behind(label: &str) -> bool {
    is_ours(label) || label == "SCHEMA - public" || label.starts_with("ACL pg_catalog ")
}

/// The statements without comments on top and without the settings that pg_restore puts first, but for those that say
/// where the object goes.
pub(super) fn statement_of(text: &str) -> String {
    let is_name = |line: &&str| line.starts_with("-- Name: ");
    let body: Vec<&str> = text
        .lines()
        .skip_while(|line| !is_name(line))
        .skip(1)
        .take_while(|line| *line != "-- PostgreSQL database dump complete")
        .collect();
    let body = body.join("\n");
    let body = body
        .trim()
        .trim_start_matches("--")
        .trim_end_matches("--")
        .trim();
    let (mut before, mut after) = (String::new(), String::new());
    for (setting, usual) in PLACES {
        let set = format!("SET {setting} = ");
        let preamble = text.lines().take_while(|line| !is_name(line));
        let said = preamble.filter_map(|line| line.strip_prefix(&set)?.strip_suffix(';'));
        if let Some(value) = said.last().filter(|value| *value != usual) {
            before.push_str(&format!("set local {setting} = {value};\n"));
            after.push_str(&format!("\nreset {setting};"));
        }
    }
    match body {
        "" => String::new(),
        body => before + body + &after,
    }
}

/// Grants without the privilege MAINTAIN, which servers before 17 do not know.
pub(super) fn without_maintain(grants: &str) -> String {
    let kept = grants.lines().filter_map(|line| {
        let Some((privileges, rest)) = line.split_once(" ON ") else {
            return Some(line.to_owned());
        };
        let privileges = privileges
            .replace(",MAINTAIN", "")
            .replace(" MAINTAIN,", " ");
        (!privileges.ends_with(" MAINTAIN")).then(|| format!("{privileges} ON {rest}"))
    });
    kept.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_kind_and_name() {
        let line = "2871; 2606 16391 CONSTRAINT public accounts accounts_pkey postgres";
        assert_eq!(label_of(line), "CONSTRAINT public accounts accounts_pkey");
    }

    #[test]
    fn grants_on_the_servers_own_objects_are_not_carried_over() {
        let line = "3215; 0 0 ACL pg_catalog FUNCTION pg_reload_conf() postgres";
        assert!(stays_behind(&label_of(line)));
        let line = "3216; 0 0 ACL shop TABLE purchase shop_owner";
        assert!(!stays_behind(&label_of(line)));
    }

    #[test]
    fn event_triggers_of_ours_and_what_is_said_of_them_are_not_carried_over() {
        for line in [
            "3220; 3466 16500 EVENT TRIGGER - shardwright_ddl_m1_end postgres",
            "3290; 0 0 COMMENT - EVENT TRIGGER shardwright_ddl_m1_drop postgres",
        ] {
            assert!(stays_behind(&label_of(line)), "{line}");
        }
        let line = "3221; 3466 16501 EVENT TRIGGER - guess postgres";
        assert!(!stays_behind(&label_of(line)));
    }

    #[test]
    fn the_statement_is_what_stands_between_the_comments() {
        let text = "--\n-- PostgreSQL database dump\n--\nSET x = 1;\nSET default_tablespace = '';\n\nSET default_table_access_method = heap;\n--\n-- Name: t; Type: TABLE; Schema: public; Owner: -\n--\n\nCREATE TABLE public.t (\n    a bigint\n);\n\n\n--\n-- PostgreSQL database dump complete\n--\n\n";
        assert_eq!(
            statement_of(text),
            "CREATE TABLE public.t (\n    a bigint\n);"
        );
    }

    #[test]
    fn an_object_goes_where_it_is_on_the_source() {
        let text = "SET default_tablespace = \"Fast\";\n\nSET default_table_access_method = columnar;\n\n--\n-- Name: t; Type: TABLE\n--\n\nCREATE TABLE public.t (\n    a bigint\n);\n";
        assert_eq!(
            statement_of(text),
            "set local default_tablespace = \"Fast\";\nset local default_table_access_method = columnar;\n\
             CREATE TABLE public.t (\n    a bigint\n);\n\
             reset default_tablespace;\nreset default_table_access_method;"
        );
    }

    #[test]
    fn grants_lose_what_an_older_server_does_not_know() {
        let grants = "GRANT SELECT,MAINTAIN,UPDATE ON TABLE shop.a TO app;\n\
                      GRANT MAINTAIN ON TABLE shop.a TO \"MAINTAIN ON\";\n\
                      ALTER DEFAULT PRIVILEGES FOR ROLE x GRANT MAINTAIN,UPDATE ON TABLES TO app;\n\
                      REVOKE ALL ON TABLE shop.a FROM app;";
        assert_eq!(
            without_maintain(grants),
            "GRANT SELECT,UPDATE ON TABLE shop.a TO app;\n\
             ALTER DEFAULT PRIVILEGES FOR ROLE x GRANT UPDATE ON TABLES TO app;\n\
             REVOKE ALL ON TABLE shop.a FROM app;"
        );
    }
}

//! The course of one case: schema, plan, remedy, move, and the comparison of rows and schemas.
//!
//! Writes are made on a third database as well, which has the whole schema and is not moved: what it has in the end is
//! what both shards must have together.

use crate::case::{Case, Refused};
use crate::fleet::Fleet;
use crate::rows::{self, Rows};
use crate::schema;
use plans::sql::{quote_ident, quote_literal};
use serde_json::{Value, json};

/// A case under way.
pub(crate) struct Course<'a> {
    pub(crate) fleet: &'a Fleet,
    pub(crate) case: &'a Case,
    name: &'a str,
    pub(crate) source: String,
    pub(crate) target: String,
    /// Has what both shards must have together.
    pub(crate) model: String,
}

impl<'a> Course<'a> {
    pub(crate) fn new(fleet: &'a Fleet, name: &'a str, case: &'a Case) -> Self {
        let [source, target, model] = ["a", "b", "model"].map(|side| format!("{name}_{side}"));
        Self {
            fleet,
            case,
            name,
            source,
            target,
            model,
        }
    }

    /// To the end of the move where it `moves`, otherwise to the plan that is not refused.
    pub(crate) async fn run(&self, moves: bool) {
        self.make().await;
        if self.case.proposed {
            self.propose().await;
        }
        let already = rows::read(self, &self.target).await;
        let plan = match self.case.refused.as_slice() {
            [] => self.plan(self.name, &self.case.settings).await,
            refused => Ok(self.repaired(refused).await),
        };
        let plan = plan.unwrap_or_else(|findings| panic!("refused: {findings:#?}"));
        if !moves {
            return;
        }
        self.complete(&plan, &already).await;
        schema::compare(self).await;
        if let Some(proof) = &self.case.proof {
            let proof = format!("select ({proof})::pg_catalog.int4::pg_catalog.int8");
            assert_eq!(self.fleet.number(&self.target, &proof).await, 1, "{proof}");
        }
    }

    /// Makes the databases and registers the first two as shards.
    async fn make(&self) {
        let fleet = self.fleet;
        if !self.case.server.is_empty() {
            fleet.sql("postgres", &self.case.server).await;
        }
        for database in [&self.source, &self.target, &self.model] {
            let create = format!(
                "create database {} {}",
                quote_ident(database),
                self.case.database
            );
            fleet.sql("postgres", &create).await;
        }
        for database in [&self.source, &self.model] {
            self.sql(database, &self.case.schema).await;
        }
        if !self.case.target.is_empty() {
            self.sql(&self.target, &self.case.target).await;
        }
        let role = self.case.role.as_deref().unwrap_or("postgres");
        // All cases share the superuser, who has it already.
        if let Some(role) = &self.case.role {
            let password = std::fs::read_to_string(fleet.server().password_file()).unwrap();
            let password = quote_literal(password.trim());
            let known = format!("alter role {} password {password}", quote_ident(role));
            fleet.sql("postgres", &known).await;
        }
        for shard in [&self.source, &self.target] {
            let dsn = fleet.server().dsn(shard, role);
            fleet.ok(&["shard", "add", shard, "--dsn", &dsn]).await;
        }
    }

    /// Asserts that `init` lists the tables as the case does.
    async fn propose(&self) {
        let dsn = self.fleet.server().dsn(&self.source, "postgres");
        let shard = format!("{}={dsn}", self.source);
        let file = self.fleet.ok(&["init", "--shard", &shard]).await;
        let file: Value = serde_saphyr::from_str(&file).unwrap();
        let proposed = &file["maps"][0]["settings"];
        for list in ["tables", "through", "reference"] {
            let wanted = &self.case.last_settings()[list];
            let is_same = match list {
                "reference" => sorted(&proposed[list]) == sorted(wanted),
                _ => &proposed[list] == wanted,
            };
            assert!(
                is_same,
                "init proposes {list}: {}, not {wanted}",
                proposed[list]
            );
        }
    }

    /// Makes a map of these settings, and a plan of its split; what is refused.
    async fn plan(&self, map: &str, settings: &Value) -> Result<Value, Vec<Value>> {
        let (source, target, case) = (&self.source, &self.target, self.case);
        let at = &case.at;
        let mappings = match &case.owned {
            None => json!([{"keys": {"range": [{}]}, "shard": source}]),
            Some(owned) => json!([
                {"keys": {"range": [{"to": owned}]}, "shard": source},
                {"keys": {"range": [{"from": owned}]}, "shard": target},
            ]),
        };
        self.fleet
            .map(json!({
                "name": map, "strategy": "range", "key": case.key, "mappings": mappings, "settings": settings,
            }))
            .await;
        let mut options = json!({"mode": case.mode, "max_attempts": 3});
        for (name, value) in case.options.as_object().into_iter().flatten() {
            options[name] = value.clone();
        }
        let mut moving = json!({"from": at});
        if let Some(owned) = &case.owned {
            moving["to"] = owned.clone();
        }
        let request = json!({
            "operation": "split", "map": map, "source": source, "options": options,
            "into": [{"shard": source, "keys": {"to": at}}, {"shard": target, "keys": moving}],
        });
        let (status, answer) = self.fleet.post("plans", &request).await;
        match (status, answer["findings"].as_array()) {
            (200, _) => Ok(answer),
            (_, Some(findings)) => Err(findings.clone()),
            (_, None) => panic!("the plan failed: {answer:#}"),
        }
    }

    /// The plan after each remedy was carried out, those that are found together at once.
    async fn repaired(&self, refused: &[Refused]) -> Value {
        let mut map = self.name.to_owned();
        let mut settings = &self.case.settings;
        for together in refused.chunk_by(|_, next| !next.later) {
            let found = self.plan(&map, settings).await;
            let found = found.expect_err("nothing is refused");
            for expected in together {
                expected.assert_among(&found);
            }
            assert_eq!(found.len(), together.len(), "more is refused: {found:#?}");
            for expected in together {
                self.repair(expected).await;
                settings = expected.settings.as_ref().unwrap_or(settings);
            }
            map.push_str("_again");
        }
        let planned = self.plan(&map, settings).await;
        planned.unwrap_or_else(|findings| panic!("refused after the remedy: {findings:#?}"))
    }

    async fn repair(&self, refused: &Refused) {
        if !refused.run.is_empty() {
            self.sql(&self.source, &refused.run).await;
            self.sql(&self.model, &refused.run).await;
        }
        if !refused.run_on_target.is_empty() {
            self.sql(&self.target, &refused.run_on_target).await;
        }
    }

    /// Moves the keys under the writes of the case, with a hold; the old rows go.
    async fn complete(&self, plan: &Value, already: &Rows) {
        let fleet = self.fleet;
        let (status, view) = fleet.post("operations", plan).await;
        assert!((200..300).contains(&status), "{view:#}");
        let id = view["id"].as_str().unwrap();
        self.wait(id, "ready").await;
        self.write(&self.source, &self.case.writes).await;
        fleet.ok(&["approve", id, "--yes"]).await;
        self.wait(id, "flipped").await;
        self.write(&self.target, &self.case.back).await;
        rows::in_step(self).await;
        fleet.ok(&["finish", id, "--yes"]).await;
        self.wait(id, "completed").await;
        rows::moved(self, already).await;
    }

    /// Runs statements with the search path of an application that sets none.
    async fn sql(&self, database: &str, statements: &str) {
        let statements = format!("set search_path = public; {statements}");
        self.fleet.sql(database, &statements).await;
    }

    /// As the application does it, on a shard and on the model.
    async fn write(&self, shard: &str, writes: &str) {
        if !writes.is_empty() {
            self.sql(shard, writes).await;
            self.sql(&self.model, writes).await;
        }
    }

    async fn wait(&self, id: &str, state: &str) {
        let output = self
            .fleet
            .run(&["wait", id, "--for", state, "--timeout", "60s"])
            .await;
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr).into_owned();
            let shown = self.fleet.run(&["show", id]).await;
            let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
            panic!("not {state}: {reason}\n{shown}");
        }
    }
}

fn sorted(list: &Value) -> Vec<&str> {
    let names = list.as_array().into_iter().flatten();
    let mut names: Vec<&str> = names.filter_map(Value::as_str).collect();
    names.sort_unstable();
    names
}

impl Refused {
    /// Asserts that this finding is there, with the words of its remedy.
    fn assert_among(&self, found: &[Value]) {
        let same = found.iter().find(|finding| {
            let text = |field: &str| finding[field].as_str().unwrap();
            let object = text("object");
            let object = object.split_once(", ").map_or(object, |(_, object)| object);
            text("code") == self.code
                && object == self.object
                && text("problem").contains(&self.problem)
        });
        let Some(finding) = same else {
            panic!(
                "not found: {} of {}, but {found:#?}",
                self.code, self.object
            )
        };
        let remedy = finding["remedy"].as_str().unwrap();
        let never = self.never.as_deref();
        assert!(
            never.is_none_or(|words| !remedy.contains(words)),
            "{remedy}"
        );
        assert!(
            remedy.contains(self.words()),
            "{:?} is not the remedy: {remedy}",
            self.words()
        );
    }
}

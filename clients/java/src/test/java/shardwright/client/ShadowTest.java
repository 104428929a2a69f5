package shardwright.client;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.Test;

/** Tests of the parts of shadow mode that the conformance suite does not reach. */
public final class ShadowTest {
    @Test
    public void onlyPlaceholdersAreNumbered() {
        assertEquals("select $1, $2", Placeholders.numbered("select ?, ?"));
        String others = "select '?', '''?', e'\\'?', \"?\", $$?$$, $a$?$$?$a$ -- ?\n /* ? */";
        assertEquals(others + " $1", Placeholders.numbered(others + " ?"));
        assertEquals("select j ? 'a', j ?| $1", Placeholders.numbered("select j ?? 'a', j ??| ?"));
        assertEquals("select a$b, $1, c$b", Placeholders.numbered("select a$b, ?, c$b"));
    }

    @Test
    public void valuesAtTheSamePositionOfListsAreOneKey() {
        FixedValue first = new FixedValue(1, false, null);
        FixedValue elements = new FixedValue(1, true, null);
        List<FixedValue> constants = List.of(FixedValue.ofConstant("x"), FixedValue.ofConstant("y"));
        assertEquals(List.of(List.of("x"), List.of("y")), FixedValue.keysIn(List.of(constants), List.of()));
        List<List<FixedValue>> composite = List.of(List.of(first), constants);
        assertEquals(List.of(List.of(7, "x"), List.of(7, "y")), FixedValue.keysIn(composite, List.of(7)));
        List<List<FixedValue>> arrays = List.of(List.of(elements));
        assertEquals(List.of(List.of(3L), List.of(4L)), FixedValue.keysIn(arrays, List.of(new long[] {3, 4})));
        assertEquals(List.of(List.of(3), List.of(4)), FixedValue.keysIn(arrays, List.of(List.of(3, 4))));
        assertEquals(List.of(), FixedValue.keysIn(arrays, List.of()));
    }

    @Test
    public void tablesOfGroupsAndSchemasHaveAKey() {
        List<String> members = List.of("invoice", "app.payment");
        KeyTables groups = new KeyTables(Map.of("keyed_by", "group", "groups", Map.of("billing", members)));
        assertEquals("billing", groups.keyOf("", "invoice"));
        assertEquals("billing", groups.keyOf("app", "payment"));
        assertEquals("", groups.keyOf("", "other"));
        KeyTables schemas = new KeyTables(Map.of("keyed_by", "schema"));
        assertEquals("tenant_1", schemas.keyOf("tenant_1", "orders"));
        assertEquals("", schemas.keyOf("", "orders"));
    }

    @Test
    public void theParserReadsTextsBeyondAscii() {
        LibPgQuery parser = new LibPgQuery();
        assertTrue(parser.parseToJson("select 'ä語🐘'").contains("ä語🐘"));
        assertEquals("select $1", parser.normalize("select 'ä語🐘'"));
        assertEquals(parser.fingerprint("select 1"), parser.fingerprint("select 2"));
        assertThrows(IllegalArgumentException.class, () -> parser.parseToJson("selec 1"));
    }

    @Test
    public void deepStatementsAreReadOrReported() {
        KeyTables tables = new KeyTables(Map.of("tables", Map.of("orders", "tenant_id")));
        String sum = "(1 + ".repeat(20) + "1" + ")".repeat(20);
        String nested = "select 1 from orders where tenant_id = 1 and id = " + sum;
        AnalyzedStatement statement = AnalyzedStatement.of(new LibPgQuery(), nested, tables).orElseThrow();
        assertEquals(1, statement.uses().size());
        String deep = "select " + "(1 + ".repeat(600) + "1" + ")".repeat(600);
        assertTrue(AnalyzedStatement.of(new LibPgQuery(), deep, tables).isEmpty());
    }
}

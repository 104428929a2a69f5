package shardwright.client;

import java.io.IOException;
import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** The requests of the conformance suite that need no connection: keys, sets and maps. */
final class KeyRequests {
    private KeyRequests() {}

    static Object keys(Map<String, Object> request) {
        List<KeyType> types = types(request);
        List<Object> answers = new ArrayList<>();
        for (Object value : list(request, "values")) {
            try {
                answers.add(described(types, Keys.accept(types, value), list(request, "of")));
            } catch (NotAKeyException error) {
                answers.add(Map.of("error", "not_a_key"));
            }
        }
        return answers;
    }

    private static Map<String, Object> described(List<KeyType> types, Key key, List<Object> of) {
        IntStream columns = IntStream.range(0, key.size());
        List<String> texts = columns.mapToObj(at -> Keys.text(types.get(at), key.column(at))).toList();
        List<Integer> buckets = of.stream().map(count -> Hash.bucket(types, key, ((Long) count).intValue())).toList();
        return Map.of("texts", texts, "hash", String.valueOf(Hash.hash64(types, key)), "buckets", buckets);
    }

    static Object sort(Map<String, Object> request) {
        List<KeyType> types = types(request);
        List<Key> keys = list(request, "values").stream().map(value -> Keys.accept(types, value)).toList();
        List<Integer> positions = new ArrayList<>(IntStream.range(0, keys.size()).boxed().toList());
        positions.sort((one, other) -> keys.get(one).compareTo(keys.get(other)));
        return positions;
    }

    static Object sets(Map<String, Object> request) {
        List<KeyType> types = types(request);
        List<Object> keys = list(request, "keys");
        String[] columns = columns(request);
        List<Object> answers = new ArrayList<>();
        for (Object set : list(request, "sets")) {
            JsonReader reader = new JsonReader(Json.of(set).getBytes(StandardCharsets.UTF_8));
            KeySet parsed = MapDocument.toKeySet(types, MapDocument.readKeys(reader, types));
            IntStream positions = IntStream.range(0, keys.size());
            List<Integer> members = positions.boxed().filter(at -> parsed.contains(keys.get(at))).toList();
            answers.add(Map.of("members", members, "predicate", parsed.predicate(columns)));
        }
        return answers;
    }

    static Object routes(Map<String, Object> request) {
        Routes routes = new Routes((String) request.get("text"));
        Map<String, Object> predicates = new HashMap<>();
        routes.shards().forEach(shard -> predicates.put(shard, routes.ownedBy(shard).predicate(columns(request))));
        List<Object> shards = new ArrayList<>();
        for (Object key : list(request, "keys")) {
            try {
                shards.add(routes.shardFor(key));
            } catch (UnmappedException error) {
                shards.add(null);
            }
        }
        return Map.of("shards", shards, "predicates", predicates);
    }

    static Object measure(Map<String, Object> request) throws IOException {
        byte[] text = Files.readAllBytes(Path.of((String) request.get("path")));
        List<Object> keys = list(request, "keys");
        double before = usedMemory();
        long begun = System.nanoTime();
        Routes routes = new Routes(text);
        long loaded = System.nanoTime();
        List<Object> shards = new ArrayList<>(Collections.nCopies(keys.size(), null));
        for (int at = 0; at < keys.size(); at += 1) {
            shards.set(at, routes.shardFor(keys.get(at)));
        }
        long ended = System.nanoTime();
        double memory = usedMemory() - before;
        // What was there before and the map must live until the memory was measured.
        Reference.reachabilityFence(text);
        Reference.reachabilityFence(routes);
        return Map.of(
                "shards", shards,
                "load_seconds", (loaded - begun) / 1e9,
                "lookup_micros", (ended - loaded) / 1e3 / keys.size(),
                "memory_mib", memory);
    }

    /** The memory of objects that are in use, in MiB. */
    private static double usedMemory() {
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        return (runtime.totalMemory() - runtime.freeMemory()) / (double) (1 << 20);
    }

    private static List<KeyType> types(Map<String, Object> request) {
        return list(request, "types").stream().map(type -> KeyType.of((String) type)).toList();
    }

    static String[] columns(Map<String, Object> request) {
        return list(request, "columns").stream().map(String::valueOf).toArray(String[]::new);
    }

    @SuppressWarnings("unchecked")
    static List<Object> list(Map<String, Object> request, String name) {
        return (List<Object>) request.get(name);
    }
}

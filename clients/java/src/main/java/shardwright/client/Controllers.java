package shardwright.client;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The controllers that serve a map, and one request to one of them.
 *
 * <p>Every controller can answer. If one fails, all later requests use the next one. A follower may redirect to the
 * leader: the redirects are followed here, with the token, because they come from a controller that has already
 * received the token.
 */
final class Controllers {
    static final Duration READ_TIMEOUT = Duration.ofSeconds(5);
    private static final int MAX_REDIRECTS = 4;
    private static final int TEMPORARY_REDIRECT = 307;

    private final List<String> urls;
    private final Path tokenFile;
    private final HttpClient client;
    private final AtomicInteger position = new AtomicInteger();

    Controllers(String urls, String name, Options options) throws IOException, GeneralSecurityException {
        this.urls = Arrays.stream(urls.split(","))
                .map(url -> url.strip().replaceAll("/+$", "") + "/api/v1/maps/" + name)
                .toList();
        tokenFile = options.tokenFile;
        HttpClient.Builder builder = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(READ_TIMEOUT)
                .followRedirects(HttpClient.Redirect.NEVER);
        if (options.caFile != null) {
            builder.sslContext(Authorities.contextOf(options.caFile));
        }
        client = builder.build();
    }

    /** The URLs of the map, one for each controller. */
    List<String> urls() {
        return urls;
    }

    /** The URL of the map at the controller for the next request. */
    String current() {
        return urls.get(Math.floorMod(position.get(), urls.size()));
    }

    /** Switches to the next controller after {@code failed}, unless another request has already done so. */
    void switchAfterFailure(String failed) {
        int tried = position.get();
        if (urls.get(Math.floorMod(tried, urls.size())).equals(failed)) {
            position.compareAndSet(tried, tried + 1);
        }
    }

    /** Returns the body of the answer. */
    byte[] read(String url) throws IOException, InterruptedException {
        try (Chunks body = request(url, null)) {
            return body.readAll(READ_TIMEOUT);
        }
    }

    /** Sends a document. */
    void post(String url, String document) throws IOException, InterruptedException {
        try (Chunks body = request(url, document)) {
            body.readAll(READ_TIMEOUT);
        }
    }

    /** Opens the feed of the map's changes. */
    Chunks openFeed(String url) throws IOException, InterruptedException {
        return request(url + "/changes", null);
    }

    private Chunks request(String url, String document) throws IOException, InterruptedException {
        URI target = uriOf(url);
        for (int redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
            HttpResponse<Chunks> answer = client.send(requestOf(target, document), head -> new Chunks());
            Optional<String> location = answer.headers().firstValue("location");
            if (answer.statusCode() / 100 == 2) {
                return answer.body();
            }
            try (Chunks body = answer.body()) {
                if (answer.statusCode() != TEMPORARY_REDIRECT || location.isEmpty()) {
                    String problem = problemOf(body.readAll(READ_TIMEOUT));
                    throw new IOException(target + " answered " + answer.statusCode() + problem);
                }
                target = target.resolve(uriOf(location.get()));
            }
        }
        throw new IOException(url + " redirects too often");
    }

    private HttpRequest requestOf(URI target, String document) throws IOException {
        Path file = tokenFile == null ? MachineToken.fileFor(target) : tokenFile;
        try {
            // The head of an answer has a time limit, also if its body has none.
            HttpRequest.Builder request = HttpRequest.newBuilder(target).timeout(READ_TIMEOUT);
            if (document != null) {
                request.POST(BodyPublishers.ofString(document)).header("content-type", "application/json");
            }
            if (file != null) {
                request.header("authorization", "Bearer " + Files.readString(file, StandardCharsets.US_ASCII).strip());
            }
            return request.build();
        } catch (IllegalArgumentException error) {
            // Another scheme, or a token that is no header.
            throw new IOException(target + ": the request cannot be sent: " + error.getClass().getSimpleName(), error);
        }
    }

    private static URI uriOf(String url) throws IOException {
        try {
            return URI.create(url);
        } catch (IllegalArgumentException error) {
            throw new IOException(url + " is no URL", error);
        }
    }

    /** The code and the detail of a problem, as the API describes errors. */
    private static String problemOf(byte[] body) {
        try {
            if (JsonReader.parse(body) instanceof Map<?, ?> problem && problem.get("code") != null) {
                return ": " + problem.get("code") + ": " + problem.get("detail");
            }
        } catch (MapException error) {
            // It does not come from the API.
        }
        return "";
    }
}

package shardwright.client;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.net.http.HttpResponse.BodySubscriber;

/**
 * The body of an answer, piece by piece and with a time limit for each piece, which the client of Java does not have.
 */
final class Chunks implements BodySubscriber<Chunks>, AutoCloseable {
    /** Pieces, then an exception, or an empty list at the end. */
    private final LinkedBlockingQueue<Object> arrived = new LinkedBlockingQueue<>();

    private final CompletableFuture<Flow.Subscription> subscription = new CompletableFuture<>();

    @Override
    public CompletionStage<Chunks> getBody() {
        return CompletableFuture.completedFuture(this);
    }

    @Override
    public void onSubscribe(Flow.Subscription started) {
        subscription.complete(started);
        started.request(1);
    }

    @Override
    public void onNext(List<ByteBuffer> buffers) {
        arrived.add(buffers);
    }

    @Override
    public void onError(Throwable error) {
        arrived.add(error);
    }

    @Override
    public void onComplete() {
        arrived.add(List.of());
    }

    /** Returns the next bytes; null if none arrive within the limit; an empty list at the end. */
    List<ByteBuffer> next(Duration limit) throws IOException, InterruptedException {
        Object next = arrived.poll(limit.toNanos(), TimeUnit.NANOSECONDS);
        if (next instanceof Throwable error) {
            throw new IOException(error.getMessage(), error);
        }
        if (next == null) {
            return null;
        }
        subscription.join().request(1);
        @SuppressWarnings("unchecked")
        List<ByteBuffer> buffers = (List<ByteBuffer>) next;
        return buffers;
    }

    /** Reads the whole body. The limit is one of each piece, because a large map may take long. */
    byte[] readAll(Duration limit) throws IOException, InterruptedException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        List<ByteBuffer> buffers = next(limit);
        while (buffers != null && !buffers.isEmpty()) {
            for (ByteBuffer buffer : buffers) {
                byte[] piece = new byte[buffer.remaining()];
                buffer.get(piece);
                bytes.writeBytes(piece);
            }
            buffers = next(limit);
        }
        if (buffers == null) {
            throw new IOException("the answer stopped");
        }
        return bytes.toByteArray();
    }

    /** Ends the request, if it still runs. */
    @Override
    public void close() {
        subscription.thenAccept(Flow.Subscription::cancel);
    }
}

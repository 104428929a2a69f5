package shardwright.client;

import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The token of a controller on this machine, which {@code shardwright serve} creates at its first start.
 *
 * <p>Only the user who started the controller may read the file, so programs of the same account find it without
 * configuration. It is sent only over loopback, and only to a program of the same account or of root: while the
 * controller is down, another account could listen on its port.
 */
final class MachineToken {
    /** The code of the kernel for a socket that listens. */
    private static final String LISTENS = "0A";

    private static final Pattern LOOPBACK = Pattern.compile("localhost|127(\\.[0-9]{1,3}){3}|\\[::1]");

    private MachineToken() {}

    /** The file with the token, if it exists and the controller at this address may receive it; otherwise null. */
    static Path fileFor(URI url) {
        int standard = "https".equals(url.getScheme()) ? 443 : 80;
        int port = url.getPort() < 0 ? standard : url.getPort();
        if (url.getHost() == null || !LOOPBACK.matcher(url.getHost()).matches() || !isTrusted(port)) {
            return null;
        }
        Path file = stateFolder().resolve("shardwright/token");
        return Files.isReadable(file) ? file : null;
    }

    private static Path stateFolder() {
        String state = System.getenv("XDG_STATE_HOME");
        String home = System.getenv("HOME");
        if (state != null && !state.isEmpty()) {
            return Path.of(state);
        }
        return home == null || home.isEmpty() ? Path.of("/var/lib") : Path.of(home, ".local/state");
    }

    /** Whether programs listen on the port, and each of them belongs to this account or to root. */
    private static boolean isTrusted(int port) {
        List<Integer> owners = new ArrayList<>(listeningAccounts(table("tcp"), port));
        owners.addAll(listeningAccounts(table("tcp6"), port));
        try {
            Object own = Files.getAttribute(Path.of("/proc/self"), "unix:uid");
            return !owners.isEmpty() && owners.stream().allMatch(owner -> owner == 0 || owner.equals(own));
        } catch (IOException | UnsupportedOperationException error) {
            return false;
        }
    }

    private static String table(String name) {
        try {
            return Files.readString(Path.of("/proc/self/net", name), StandardCharsets.US_ASCII);
        } catch (IOException error) {
            return "";
        }
    }

    /** The accounts whose programs listen on a port, from a table of the kernel such as {@code /proc/net/tcp}. */
    static List<Integer> listeningAccounts(String table, int port) {
        return table.lines()
                .skip(1)
                .map(line -> line.trim().split("\\s+"))
                .filter(fields -> fields.length > 7 && fields[3].equals(LISTENS))
                .filter(fields -> Integer.parseInt(fields[1].substring(fields[1].lastIndexOf(':') + 1), 16) == port)
                .map(fields -> Integer.valueOf(fields[7]))
                .toList();
    }
}

package shardwright

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The token of a controller on this machine, which "shardwright serve" creates at its first start.
//
// Only the user who started the controller may read the file, so programs of the same account find it without
// configuration. It is sent only over loopback, and only to a program of the same account or of root: while the
// controller is down, another account could listen on its port.

// socketListens is the code of the kernel for a socket that listens.
const socketListens = "0A"

// machineTokenFile returns the file with the token; empty if it does not exist or the controller may not receive it.
func machineTokenFile(target *url.URL) string {
	if !isLoopback(target.Hostname()) || !isPortTrusted(portOf(target)) {
		return ""
	}
	folder := os.Getenv("XDG_STATE_HOME")
	if home := os.Getenv("HOME"); folder == "" && home != "" {
		folder = filepath.Join(home, ".local/state")
	}
	if folder == "" {
		folder = "/var/lib"
	}
	path := filepath.Join(folder, "shardwright/token")
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	_ = file.Close()
	return path
}

func isLoopback(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || (address != nil && address.IsLoopback())
}

func portOf(target *url.URL) int {
	if port, err := strconv.Atoi(target.Port()); err == nil {
		return port
	}
	if target.Scheme == "https" {
		return 443
	}
	return 80
}

// isPortTrusted reports whether programs listen on the port, and each of them belongs to this account or to root.
func isPortTrusted(port int) bool {
	var owners []int
	for _, name := range []string{"tcp", "tcp6"} {
		// Without the table nobody is known to listen.
		table, _ := os.ReadFile("/proc/self/net/" + name)
		owners = append(owners, listeningAccounts(string(table), port)...)
	}
	for _, owner := range owners {
		if owner != 0 && owner != os.Getuid() {
			return false
		}
	}
	return len(owners) > 0
}

// listeningAccounts are the accounts whose programs listen on the port, from a table of the kernel such as
// /proc/net/tcp.
func listeningAccounts(table string, port int) []int {
	var accounts []int
	for _, line := range strings.Split(table, "\n") {
		fields := strings.Fields(line)
		if len(fields) < 8 || fields[3] != socketListens {
			continue
		}
		_, digits, _ := strings.Cut(fields[1], ":")
		number, err := strconv.ParseInt(digits, 16, 32)
		account, unreadable := strconv.Atoi(fields[7])
		if err == nil && unreadable == nil && int(number) == port {
			accounts = append(accounts, account)
		}
	}
	return accounts
}

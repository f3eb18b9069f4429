package tcp

import (
	"fmt"
	"os"
	"strconv"
)

// Options are what ranks may choose; the zero value is the default of each. All ranks
// choose the same Connections and Secret.
type Options struct {
	// Connections is how many connections join a pair of ranks, from 2 (the default)
	// to 17: one for notes, the others for messages, of which long ones are striped
	// over them. More than 2 help where one connection does not fill the network. 0 takes
	// VOLLEY_SOCKET_CONNECTIONS.
	Connections int
	// Secret is shared by all ranks and by nobody else: at least 16 random bytes.
	// With it everything is encrypted, and nobody joins who does not know it.
	Secret []byte
	// Interfaces says which network interfaces are used, as NCCL_SOCKET_IFNAME does:
	// a list of beginnings of names, "eth,ib"; "=eth0" for whole names; with "^" in
	// front those that are not used, "^lo,docker". Empty takes VOLLEY_SOCKET_IFNAME,
	// else NCCL_SOCKET_IFNAME, else GLOO_SOCKET_IFNAME, else the interface that leads
	// to rank 0 and then all others but loopback and docker.
	Interfaces string
	// Machine names the machine that this rank is on: ranks of one name are taken to share
	// it, and hierarchical algorithms keep messages on it. Empty takes VOLLEY_MACHINE, else
	// the host's name and boot, by which containers of one host are machines of their own.
	Machine string
	// Reach is equal on ranks of one machine that have another way to each other than TCP,
	// as shm.Reach says it; empty where ranks use TCP alone, which all must or none. The
	// endpoint's Near tells who reaches whom.
	Reach string
}

const (
	maxConnections      = 17
	connectionsVariable = "VOLLEY_SOCKET_CONNECTIONS"
)

// Connections is what VOLLEY_SOCKET_CONNECTIONS says, which getenv gives; 0 where it is not set.
func Connections(getenv func(string) string) (int, error) {
	told := getenv(connectionsVariable)
	if told == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(told)
	if err != nil || n < 2 || n > maxConnections {
		return 0, fmt.Errorf("%s is %q: from 2 to %d connections between two ranks can be had", connectionsVariable, told, maxConnections)
	}
	return n, nil
}

// interfaces is what the environment says of Options.Interfaces.
func interfaces() string {
	for _, name := range []string{"VOLLEY_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"} {
		if told := os.Getenv(name); told != "" {
			return told
		}
	}
	return ""
}

// complete fills in the defaults.
func (o *Options) complete() error {
	if o.Connections == 0 {
		n, err := Connections(os.Getenv)
		if err != nil {
			return err
		}
		o.Connections = max(n, 2)
	}
	if o.Connections < 2 || o.Connections > maxConnections {
		return fmt.Errorf("%d connections between two ranks: from 2 to %d can be had", o.Connections, maxConnections)
	}
	if o.Interfaces == "" {
		o.Interfaces = interfaces()
	}
	if o.Machine == "" {
		o.Machine = Machine()
	}
	return nil
}

package rendezvous

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// PMI is the address of ranks that meet through the server of MPICH's or another Hydra's mpiexec. Only
// Discover makes such a World.
const PMI = "pmi://"

// pmiFD names the descriptor of a process's connection to that server.
const pmiFD = "PMI_FD"

const (
	// pmiLine bounds an answer of the server, in bytes.
	pmiLine = 64 << 10
	// pmiPiece bounds a value that is put: PMI-1's own clients have lines of 1024 bytes.
	pmiPiece = 512
)

// pmiClient speaks PMI-1 on the wire, lines of "cmd=word name=value ...", to a server that has keys and values
// which all processes of a job share, whatever machine they are on. It is for one goroutine, and for
// one meeting: the server lets a process that has left it not come back.
type pmiClient struct {
	conn  net.Conn
	lines *bufio.Reader
	kvs   string // the name of the job's keys and values
	piece int    // bytes of a value, at most
}

// keptFDs are not the client's to close, as their being collected would: what PMI_FD says was no connection.
var keptFDs []*os.File

// openPMI begins to talk to the server that PMI_FD names.
func openPMI(ctx context.Context, getenv func(string) string) (*pmiClient, error) {
	fd, err := strconv.ParseUint(getenv(pmiFD), 10, 31)
	if err != nil {
		return nil, fmt.Errorf("%s is %q, not a descriptor", pmiFD, getenv(pmiFD))
	}
	file := os.NewFile(uintptr(fd), pmiFD)
	if file == nil {
		return nil, fmt.Errorf("%s is %d, not a descriptor", pmiFD, fd)
	}
	conn, err := net.FileConn(file)
	if err != nil {
		keptFDs = append(keptFDs, file)
		return nil, fmt.Errorf("%s is %d, no connection: a process that was started by a rank may have its variables, or an earlier meeting has left the server: %w", pmiFD, fd, err)
	}
	c, err := beginPMI(ctx, conn)
	if err != nil {
		keptFDs = append(keptFDs, file)
		return nil, errors.Join(err, conn.Close())
	}
	c.conn = &bothClosed{conn, file}
	return c, nil
}

// bothClosed is a connection with the descriptor that it is a copy of: the server sees the end when both are closed.
type bothClosed struct {
	net.Conn
	file *os.File
}

func (b *bothClosed) Close() error { return errors.Join(b.Conn.Close(), b.file.Close()) }

// beginPMI says hello and asks for the keys and values of the job.
func beginPMI(ctx context.Context, conn net.Conn) (*pmiClient, error) {
	c := &pmiClient{conn: conn, lines: bufio.NewReaderSize(conn, 4096)}
	said, err := c.ask(ctx, "init pmi_version=1 pmi_subversion=1", "response_to_init")
	if err != nil {
		return nil, err
	}
	if said["pmi_version"] != "1" {
		return nil, fmt.Errorf("PMI: the server speaks version %.20q, not 1", said["pmi_version"])
	}
	if said, err = c.ask(ctx, "get_maxes", "maxes"); err != nil {
		return nil, err
	}
	longest, err := strconv.Atoi(said["vallen_max"])
	if err != nil || longest < 64 {
		return nil, fmt.Errorf("PMI: the server has values of at most %.20q bytes", said["vallen_max"])
	}
	c.piece = min(longest-1, pmiPiece) // the length may count an end of a text
	if said, err = c.ask(ctx, "get_my_kvsname", "my_kvsname"); err != nil {
		return nil, err
	}
	if c.kvs = said["kvsname"]; c.kvs == "" || len(c.kvs) > 256 {
		return nil, fmt.Errorf("PMI: the server's keys have the name %.20q", c.kvs)
	}
	return c, nil
}

// ask sends a command and takes the answer apart, which must be the one that is wanted. It ends with ctx; no
// other command may follow one that has failed.
func (c *pmiClient) ask(ctx context.Context, command, want string) (map[string]string, error) {
	fail := func(err error) (map[string]string, error) {
		name, _, _ := strings.Cut(command, " ")
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("PMI: %s: %w", name, err)
	}
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	defer context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := c.conn.Write([]byte("cmd=" + command + "\n")); err != nil {
		return fail(err)
	}
	var line []byte
	for {
		part, err := c.lines.ReadSlice('\n')
		if line = append(line, part...); len(line) > pmiLine {
			return fail(fmt.Errorf("an answer of more than %d bytes", pmiLine))
		}
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return fail(err)
		}
	}
	said := map[string]string{}
	for _, word := range strings.Fields(string(line)) {
		name, value, _ := strings.Cut(word, "=")
		said[name] = value
	}
	if said["cmd"] != want {
		return fail(fmt.Errorf("the server answers %.60q", line))
	}
	if rc := said["rc"]; rc != "" && rc != "0" {
		return fail(fmt.Errorf("the server refuses it: %.60q", line))
	}
	return said, nil
}

func pmiKey(rank, piece int) string { return fmt.Sprintf("volley-%d-%d", rank, piece) }

// exchange gives every rank what each of them puts, which is at most most bytes.
func (c *pmiClient) exchange(ctx context.Context, rank, size int, own []byte, most int) ([][]byte, error) {
	// A piece is hexadecimal, and the first says how many there are.
	text := hex.EncodeToString(own)
	pieces := max(1, (len(text)+c.piece-9)/(c.piece-8))
	for i := range pieces {
		at := i * (c.piece - 8)
		value := text[at:min(len(text), at+c.piece-8)]
		if i == 0 {
			value = fmt.Sprintf("%d.%s", pieces, value)
		}
		if _, err := c.ask(ctx, fmt.Sprintf("put kvsname=%s key=%s value=%s", c.kvs, pmiKey(rank, i), value), "put_result"); err != nil {
			return nil, err
		}
	}
	if _, err := c.ask(ctx, "barrier_in", "barrier_out"); err != nil {
		return nil, fmt.Errorf("not all of %d ranks came, or their launcher has ended: %w", size, err)
	}
	all := make([][]byte, size)
	for r := range all {
		if r == rank {
			all[r] = own
			continue
		}
		var err error
		if all[r], err = c.card(ctx, r, most); err != nil {
			return nil, fmt.Errorf("rank %d: %w", r, err)
		}
	}
	return all, nil
}

// card is what a rank has put.
func (c *pmiClient) card(ctx context.Context, rank, most int) ([]byte, error) {
	var text strings.Builder
	for i, pieces := 0, 1; i < pieces; i++ {
		said, err := c.ask(ctx, fmt.Sprintf("get kvsname=%s key=%s", c.kvs, pmiKey(rank, i)), "get_result")
		if err != nil {
			return nil, err
		}
		value := said["value"]
		if i == 0 {
			count, rest, _ := strings.Cut(value, ".")
			if pieces, err = strconv.Atoi(count); err != nil || pieces < 1 || pieces > 2*most {
				return nil, fmt.Errorf("PMI: a card of %.20q pieces", count)
			}
			value = rest
		}
		if text.WriteString(value); text.Len() > 2*most {
			return nil, fmt.Errorf("PMI: a card of more than %d bytes", most)
		}
	}
	card, err := hex.DecodeString(text.String())
	if err != nil {
		return nil, fmt.Errorf("PMI: the card is damaged: %w", err)
	}
	return card, nil
}

// close leaves the server, which takes the end of a process that has not left it for a failure of the job.
func (c *pmiClient) close(ctx context.Context) error {
	_, err := c.ask(ctx, "finalize", "finalize_ack")
	return errors.Join(err, c.conn.Close())
}

// meetByPMI hands cards around through the server. Who may ask it is the launcher's to say: it has one
// connection for each process that it started.
func meetByPMI(ctx context.Context, w World, card []byte) (*Table, error) {
	if w.pmi == nil {
		return nil, errors.New("only a World of Discover has a PMI server")
	}
	t := &Table{Cards: make([][]byte, w.Size)}
	own := make([]byte, len(t.Key), len(t.Key)+len(card))
	if _, err := rand.Read(own); err != nil {
		return nil, err
	}
	all, err := w.pmi.exchange(ctx, w.Rank, w.Size, append(own, card...), len(t.Key)+maxCard)
	if err != nil {
		return nil, err
	}
	return t, t.fill(all)
}

// fill takes the key and the cards from what the ranks have put: 16 random bytes before each card, of
// which rank 0's are the key.
func (t *Table) fill(all [][]byte) error {
	for r, c := range all {
		if len(c) < len(t.Key) || len(c) > len(t.Key)+maxCard {
			return fmt.Errorf("the card of rank %d has %d bytes", r, len(c))
		}
		t.Cards[r] = c[len(t.Key):]
	}
	t.Key = [16]byte(all[0][:len(t.Key)])
	return nil
}

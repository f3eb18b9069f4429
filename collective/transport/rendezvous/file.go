package rendezvous

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// fileMagic begins the file of a meeting.
const fileMagic = "volley rendezvous 1\n"

// fileBound is the longest file that is read.
const fileBound = 64 << 20

// ledger is a meeting's file. Rank 0 begins it with a random epoch and throws away what
// it finds; another rank enters itself under the epoch that it finds, again whenever
// that changes, and takes only a table that has its own random number: so nothing of an
// earlier world is ever taken for this one's.
type ledger struct {
	Epoch  string         `json:"epoch"`
	Size   int            `json:"size"`
	ID     string         `json:"id"`
	Guests map[int]*guest `json:"guests"`
	Done   bool           `json:"done"`
	// Strangers are those of another world who came, by their random numbers; empty where
	// rank 0 has read it. What nobody reads is an earlier world's file.
	Strangers map[string]string `json:"strangers,omitempty"`
}

// maxStrangers bounds them.
const maxStrangers = 64

type guest struct {
	Nonce string `json:"nonce"`
	Card  []byte `json:"card"`
	Taken bool   `json:"taken"` // it has the table
}

// meetInFile polls the file under its lock.
func meetInFile(ctx context.Context, w World, path string, card []byte) (*Table, error) {
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, err
	}
	v := &visitor{world: w, card: card, nonce: hex.EncodeToString(random[:]), missing: []int{0}}
	if w.Rank == 0 {
		v.missing = others(w.Size)
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		var table *Table
		err := locked(ctx, path, func(l *ledger) (change, error) {
			var next change
			var err error
			table, next, err = v.look(l)
			return next, err
		})
		if table != nil || err != nil && ctx.Err() == nil {
			return table, err
		}
		watched(ctx, v.missing)
		select {
		case <-ctx.Done():
			return nil, errors.Join(absent(ctx, v.missing, v.strange), v.leave(path))
		case <-time.After(pause):
		}
	}
}

// change is what becomes of the file.
type change int

const (
	keep change = iota
	rewrite
	remove
)

// visitor is one rank at the file.
type visitor struct {
	world   World
	card    []byte
	nonce   string
	epoch   string // under which it is entered
	missing []int
	strange string // what the file has of another world, or no longer has of this one
	refused string // rank 0: who came of another world
	left    string // of rank 0, and who was missing then
}

// look does what can be done now: enter, wait, or take the table.
func (v *visitor) look(l *ledger) (*Table, change, error) {
	rank, next := v.world.Rank, keep
	if rank == 0 && v.epoch == "" {
		*l = ledger{Epoch: v.nonce, Size: v.world.Size, ID: v.world.ID}
	}
	before := v.missing
	v.missing, v.strange = []int{0}, v.refused
	switch own := l.Guests[rank]; {
	case rank == 0 && l.Epoch != v.nonce:
		return nil, keep, errors.New("another rank 0 has taken the file")
	case l.Epoch == "" && v.epoch != "":
		if v.left == "" {
			v.left = "it was there and has left"
			if len(before) > 0 {
				v.left += ", " + named(before) + " had not come"
			}
		}
		v.strange = v.left
		return nil, keep, nil
	case l.Epoch == "":
		return nil, keep, nil
	case l.Size != v.world.Size || l.ID != v.world.ID:
		v.strange = fmt.Sprintf("the file is of a world of %d ranks %q, this is one of %d ranks %q", l.Size, l.ID, v.world.Size, v.world.ID)
		next, err := v.knock(l)
		return nil, next, err
	case own != nil && own.Nonce == v.nonce: // entered
	case v.epoch == l.Epoch:
		return nil, keep, fmt.Errorf("there is another rank %d", rank)
	case l.Done: // an earlier world's
		v.strange = "the file is of a meeting that is over"
		return nil, keep, nil
	default:
		if l.Guests == nil {
			l.Guests = map[int]*guest{}
		}
		l.Guests[rank] = &guest{Nonce: v.nonce, Card: v.card}
		v.epoch, v.left, next = l.Epoch, "", rewrite
	}
	for nonce, who := range l.Strangers {
		if rank == 0 && who != "" {
			v.refused = "refused " + who
			l.Strangers[nonce], v.strange, next = "", v.refused, rewrite
		}
	}
	v.missing = v.missing[:0]
	for r := range l.Size {
		if l.Guests[r] == nil {
			v.missing = append(v.missing, r)
		}
	}
	if len(v.missing) > 0 || rank != 0 && !l.Done {
		return nil, next, nil
	}
	return v.take(l)
}

// knock tells rank 0 of the file's world that one of another world is there, and is the error
// once that one has read it.
func (v *visitor) knock(l *ledger) (change, error) {
	answer, known := l.Strangers[v.nonce]
	switch {
	case known && answer == "":
		return keep, errors.New("rank 0 refuses it: " + v.strange)
	case !known && len(l.Strangers) < maxStrangers:
		if l.Strangers == nil {
			l.Strangers = map[string]string{}
		}
		l.Strangers[v.nonce] = fmt.Sprintf("rank %d of a world of %d ranks %q", v.world.Rank, v.world.Size, v.world.ID)
		return rewrite, nil
	}
	return keep, nil
}

// take is the table, once it is complete. The last who takes it removes the file.
func (v *visitor) take(l *ledger) (*Table, change, error) {
	table := &Table{Cards: make([][]byte, l.Size)}
	if n, err := hex.Decode(table.Key[:], []byte(l.Epoch)[:min(len(l.Epoch), 32)]); err != nil || n != 16 {
		return nil, keep, fmt.Errorf("the file is damaged: epoch %q", l.Epoch)
	}
	l.Done, l.Guests[v.world.Rank].Taken = true, true
	next := remove
	for r := range l.Size {
		table.Cards[r] = l.Guests[r].Card
		if !l.Guests[r].Taken {
			next = rewrite
		}
	}
	return table, next, nil
}

// leave takes the rank's entry back from a meeting that did not come about.
func (v *visitor) leave(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	return locked(ctx, path, func(l *ledger) (change, error) {
		if l.Epoch == "" { // nobody but those who wait for rank 0 as this one did
			return remove, nil
		}
		own := l.Guests[v.world.Rank]
		if own == nil || own.Nonce != v.nonce || l.Done {
			return keep, nil
		}
		if delete(l.Guests, v.world.Rank); v.world.Rank == 0 {
			return remove, nil
		}
		return rewrite, nil
	})
}

// locked reads the file, which is made if need be, and writes or removes it as f says.
func locked(ctx context.Context, path string, f func(l *ledger) (change, error)) (err error) {
	file, err := open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }() // gives the lock back
	text, err := io.ReadAll(io.LimitReader(file, fileBound))
	if err != nil {
		return err
	}
	var l ledger
	body, ours := bytes.CutPrefix(text, []byte(fileMagic))
	if len(text) > 0 && !ours {
		return fmt.Errorf("%s is there and is no file of a meeting", path)
	}
	if json.Unmarshal(body, &l) != nil {
		l = ledger{} // one who wrote it died over it: rank 0 begins anew
	}
	for r, g := range l.Guests {
		if g == nil {
			delete(l.Guests, r)
		}
	}
	next, err := f(&l)
	switch {
	case err != nil || next == keep:
		return err
	case next == remove:
		return os.Remove(path)
	}
	body, err = json.Marshal(&l)
	if err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err = file.WriteAt(append([]byte(fileMagic), body...), 0)
	return err
}

// open opens and locks the file: the one that has the name when the lock is given.
func open(ctx context.Context, path string) (*os.File, error) {
	for {
		file, err := openOwn(path)
		if err != nil {
			return nil, err
		}
		err = lock(ctx, file)
		if err == nil {
			var mine, named os.FileInfo
			if mine, err = file.Stat(); err == nil {
				if named, err = os.Lstat(path); err == nil && os.SameFile(mine, named) {
					return file, nil
				}
			}
		}
		if closed := file.Close(); closed != nil {
			return nil, errors.Join(err, closed)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
}

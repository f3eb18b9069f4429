package secret

import (
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"syscall"
	"time"
)

// Least is the shortest secret, in bytes.
const Least = 16

// ErrRefused is wrapped by the errors of Client and Server when the other side does
// not know the secret.
var ErrRefused = errors.New("the other side does not know the secret")

// ErrEnded is wrapped by the errors of Client and Server when the connection ended before either side knew whether the other one knows the
// secret: the other side may have been on its way out, and be there the next time.
var ErrEnded = errors.New("the connection ended before the secret was shown")

// Guard makes connections secret. A nil Guard leaves them as they are.
type Guard struct {
	client, server *tls.Config
	mark           string
}

// Mark tells secrets apart: the guards of one secret have the same, of 16 hexadecimal digits. It is
// a hash of the public key, which whoever connects sees, and empty where there is no secret.
func (g *Guard) Mark() string {
	if g == nil {
		return ""
	}
	return g.mark
}

// New is the guard of a secret; nil where there is none. It fails for a secret that is
// shorter than Least.
func New(secret []byte) (*Guard, error) {
	if len(secret) == 0 {
		return nil, nil
	}
	if len(secret) < Least {
		return nil, fmt.Errorf("a secret of %d bytes can be guessed: at least %d random ones are needed", len(secret), Least)
	}
	seed, err := hkdf.Key(sha256.New, secret, nil, "volley transport identity 1", ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	key := ed25519.NewKeyFromSeed(seed)
	public := key.Public().(ed25519.PublicKey)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0)}
	der, err := x509.CreateCertificate(nil, template, template, public, key)
	if err != nil {
		return nil, err
	}
	known := func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) != 1 {
			return ErrRefused
		}
		shown, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
		if !ok || subtle.ConstantTimeCompare(shown, public) != 1 {
			return ErrRefused
		}
		return nil
	}
	base := &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		NextProtos:             []string{"volley/1"},
		SessionTicketsDisabled: true,
		VerifyConnection:       known,
		// The certificate is known by its key, so there is no chain to verify.
		InsecureSkipVerify: true,
		ClientAuth:         tls.RequireAnyClientCert,
	}
	sum := sha256.Sum256(public)
	return &Guard{client: base.Clone(), server: base, mark: hex.EncodeToString(sum[:8])}, nil
}

// Client is the dialing side's end of conn. It returns when the other side has proved
// that it knows the secret; that it has accepted this side shows when it answers.
func (g *Guard) Client(ctx context.Context, conn net.Conn) (net.Conn, error) {
	if g == nil {
		return conn, nil
	}
	return shake(ctx, tls.Client(conn, g.client))
}

// Server is the listening side's end of conn. It returns when the other side has
// proved that it knows the secret.
func (g *Guard) Server(ctx context.Context, conn net.Conn) (net.Conn, error) {
	if g == nil {
		return conn, nil
	}
	return shake(ctx, tls.Server(conn, g.server))
}

func shake(ctx context.Context, c *tls.Conn) (net.Conn, error) {
	if err := c.HandshakeContext(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if errors.Is(err, ErrRefused) {
			return nil, err
		}
		if ended(err) {
			return nil, fmt.Errorf("%w: %w", ErrEnded, err)
		}
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if s := c.ConnectionState(); s.NegotiatedProtocol != "volley/1" || s.DidResume {
		return nil, fmt.Errorf("%w: another protocol", ErrRefused)
	}
	return c, nil
}

// ended says that an error is of the connection, and not of what was said over it: who refuses the other side says so, in an alert.
func ended(err error) bool {
	var late net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.ECONNABORTED) || errors.Is(err, syscall.EPIPE) ||
		errors.As(err, &late) && late.Timeout()
}

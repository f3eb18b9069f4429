// Package secret guards connections by a secret that all ranks share: TLS 1.3 in
// which both sides prove that they know it. Whoever does not is refused before the
// first byte of volley's own.
//
// From the secret (HKDF-SHA256) comes one Ed25519 key pair. Both sides show a
// certificate of its public key and sign the handshake by its private key, under
// TLS's different contexts for the two sides, so nothing that one connection shows
// can be replayed or reflected in another. The keys are compared in constant time; names, dates and authorities play no part, and sessions are never resumed.
//
// Who connects without the secret may see the public key, so the secret must be one
// that cannot be guessed: 16 random bytes are the least that is accepted.
package secret

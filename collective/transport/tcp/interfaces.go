package tcp

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// device is a network interface that is up.
type device struct {
	name     string
	loopback bool
	addrs    []netip.Addr
}

// devices lists this machine's interfaces.
func devices() ([]device, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var found []device
	for _, i := range all {
		if i.Flags&net.FlagUp == 0 {
			continue
		}
		nets, err := i.Addrs()
		if err != nil {
			return nil, fmt.Errorf("interface %s: %w", i.Name, err)
		}
		d := device{name: i.Name, loopback: i.Flags&net.FlagLoopback != 0}
		for _, n := range nets {
			if p, err := netip.ParsePrefix(n.String()); err == nil {
				d.addrs = append(d.addrs, p.Addr().Unmap())
			}
		}
		found = append(found, d)
	}
	return found, nil
}

// Address is where others reach this machine, for what listens before it is known who comes: the first address on the interfaces that VOLLEY_SOCKET_IFNAME
// allows, or its kin as for Options.Interfaces; without them any but loopback and docker. It is a loopback address where there is no other.
func Address() (netip.Addr, error) {
	all, err := devices()
	if err != nil {
		return netip.Addr{}, err
	}
	return first(interfaces(), all)
}

func first(spec string, all []device) (netip.Addr, error) {
	found, err := choose(spec, netip.Addr{}, all)
	if err != nil {
		return netip.Addr{}, err
	}
	return found[0], nil
}

// choose gives the addresses to listen on and be known by, the best first: those of
// the interfaces that spec allows, first the one that leads to the meeting, where
// that is known, then IPv4, then IPv6. Addresses that are only good with a zone are
// left out.
func choose(spec string, route netip.Addr, all []device) ([]netip.Addr, error) {
	if spec == "" && route.IsLoopback() {
		return []netip.Addr{route}, nil
	}
	allowed := permits(spec)
	var found, last []netip.Addr
	var names []string
	for _, d := range all {
		names = append(names, d.name)
		usable := slices.DeleteFunc(slices.Clone(d.addrs), func(a netip.Addr) bool { return a.IsLinkLocalUnicast() })
		switch {
		case spec != "" && !allowed(d.name):
		case spec == "" && strings.HasPrefix(d.name, "docker"):
		case d.loopback && (spec == "" || spec[0] == '^'):
			last = append(last, usable...)
		default:
			found = append(found, usable...)
		}
	}
	if len(found) == 0 {
		found = last
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no address on an interface that %q allows; there are %s", spec, strings.Join(names, ", "))
	}
	slices.SortStableFunc(found, func(a, b netip.Addr) int { return preference(a, route) - preference(b, route) })
	return found, nil
}

func preference(a, route netip.Addr) int {
	switch {
	case a == route:
		return 0
	case a.Is4():
		return 1
	}
	return 2
}

// permits reads NCCL's syntax.
func permits(spec string) func(name string) bool {
	rest, without := strings.CutPrefix(spec, "^")
	rest, whole := strings.CutPrefix(rest, "=")
	list := strings.Split(rest, ",")
	return func(name string) bool {
		match := slices.ContainsFunc(list, func(s string) bool {
			if s = strings.TrimSpace(s); s == "" {
				return false
			}
			return name == s || !whole && strings.HasPrefix(name, s)
		})
		return match != without
	}
}

// routeTo is this machine's address on the way to the meeting; the zero Addr where
// that is a file. Nothing is sent.
func routeTo(ctx context.Context, address string) (netip.Addr, error) {
	host, ok := strings.CutPrefix(address, "tcp://")
	if !ok {
		return netip.Addr{}, nil
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", host)
	if err != nil {
		return netip.Addr{}, err
	}
	at, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if closed := conn.Close(); err == nil {
		err = closed
	}
	return at.Addr().Unmap(), err
}

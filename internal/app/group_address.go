package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/web"
)

// address is the address at which other members reach this member's pages; "": they cannot.
func (g *Group) address() string {
	l := g.frame.listener
	if l == nil {
		return ""
	}
	if at := g.config.Group.Address; at != "" {
		return strings.TrimRight(at, "/")
	}
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return ""
	}
	if net.ParseIP(host).IsUnspecified() {
		if host = firstAddress(); host == "" {
			return ""
		}
	}
	scheme := "http"
	if g.config.HTTP.CertFile != "" {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// firstAddress is an address of this machine that others may reach.
func firstAddress() string {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	return ""
}

// checkAddress tells if members on other machines cannot reach the pages of this one.
func (g *Group) checkAddress(context.Context) error {
	if text := unreachable(g.address(), &g.config); text != "" && g.frame.listener != nil {
		g.log.Warn(text, "http", g.config.HTTP.Address)
	}
	return nil
}

// unreachable says why members on other machines cannot reach the pages at an address, and what to do; "": they may.
func unreachable(address string, c *config.Service) string {
	const advice = ". Set --http to an address of this machine, or group.address in the file to where others reach it"
	u, err := url.Parse(address)
	switch {
	case err != nil || address == "":
		return "other members cannot ask this one: the machine has no address beside the local ones" + advice
	case onThisMachine(u.Hostname()) && !storeIsHere(c.Group.State):
		return "members on other machines cannot ask this one: its pages are at a local address, where another member may answer" + advice
	}
	return ""
}

// storeIsHere says whether the group's store is on this machine, so that all members may be there too.
// A folder counts as here, since its address does not tell.
func storeIsHere(state string) bool {
	u, err := url.Parse(state)
	if err != nil {
		return true
	}
	hosts := strings.Split(u.Host, ",")
	switch u.Scheme {
	case "file":
		return true
	case "s3":
		at, err := url.Parse(cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL")))
		return err == nil && at.Host != "" && onThisMachine(at.Hostname())
	}
	for _, host := range hosts {
		name, _, err := net.SplitHostPort(host)
		if err != nil {
			name = host
		}
		if !onThisMachine(name) {
			return false
		}
	}
	return true
}

func onThisMachine(host string) bool {
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// answers says whether this member has answered.
func answers(member string, answer *http.Response) error {
	switch got := answer.Header.Get(memberHeader); got {
	case member:
		return nil
	case "":
		return fmt.Errorf("no member of a group answers at %s", answer.Request.URL.Host)
	default:
		return fmt.Errorf("at %s the member %s answers: set --http or group.address of %s to an address that others reach", answer.Request.URL.Host, got, member)
	}
}

// named lets each answer name this member.
func (g *Group) named(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(memberHeader, g.id)
		next.ServeHTTP(w, r)
	})
}

// noteAsked tells once why a member cannot be asked, until it can.
func (g *Group) noteAsked(ctx context.Context, member string, err error) {
	if ctx.Err() == context.Canceled {
		return // the client went away
	}
	g.mu.Lock()
	if g.unasked == nil {
		g.unasked = map[string]bool{}
	}
	told := g.unasked[member]
	g.unasked[member] = err != nil
	g.mu.Unlock()
	if err != nil && !told {
		g.log.Warn("a member could not be asked for its pages", "member", member, "err", err)
	}
}

// notShown says why a unit that is not this member's has no pages here.
func (g *Group) notShown(x group.Standing, owner aboutMember, err error) string {
	switch {
	case err != nil:
		return fmt.Sprintf("the unit %s cannot be shown: the group's store does not say where its owner is: %v", x.Unit, err)
	case x.Mine:
		return fmt.Sprintf("the unit %s cannot be shown yet: this member, %s, has it and starts to watch it", x.Unit, g.id)
	case !x.Alive:
		return fmt.Sprintf("the unit %s cannot be shown: no living member has it now. Another one takes it within some seconds", x.Unit)
	case owner.Member == "":
		return fmt.Sprintf("the unit %s cannot be shown yet: its owner %s has not said where its pages are", x.Unit, x.Owner)
	}
	return fmt.Sprintf("the unit %s cannot be shown: its owner %s serves no pages. Start it with another --http", x.Unit, x.Owner)
}

// pagesBase is where people reach the pages of the group: at any member, if http.external-url is set. Else at this one.
func (g *Group) pagesBase() string {
	if at := g.config.HTTP.ExternalURL; at != "" {
		return strings.TrimRight(at, "/")
	}
	return g.address()
}

// pagesAt is where people reach the pages of the unit, by any member; "" without http.external-url. The address of a member would make
// the text of a finding depend on who delivers it.
func (u *unit) pagesAt() string {
	at := u.g.config.HTTP.ExternalURL
	if at == "" {
		return ""
	}
	return strings.TrimRight(at, "/") + web.UnitPages + unitID(u.name)
}

// unitsOf are the units in which a source was met; all units for "", or if it was met in none.
func (g *Group) unitsOf(ctx context.Context, source string) ([]web.GroupUnit, error) {
	units, err := g.standings(ctx)
	if err != nil {
		return nil, err
	}
	var met metSource
	if source != "" {
		v, err := g.store.Get(ctx, sourcePrefix+unitID(source))
		if err == nil && json.Unmarshal(v.Data, &met) != nil { // it is damaged: the source may be in any unit
			met = metSource{}
		}
		if err != nil && !errors.Is(err, group.ErrNotFound) {
			return nil, err
		}
	}
	var all, some []web.GroupUnit
	for _, x := range units {
		u := web.GroupUnit{Unit: x.Unit, Pages: web.UnitPages + unitID(x.Unit) + "/"}
		if x.Alive {
			u.Owner = x.Owner
		}
		if all = append(all, u); slices.Contains(met.Units, x.Unit) {
			some = append(some, u)
		}
	}
	if len(some) > 0 {
		all = some
	}
	slices.SortFunc(all, func(a, b web.GroupUnit) int { return cmp.Compare(a.Unit, b.Unit) })
	return all, nil
}

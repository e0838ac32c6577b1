package app

import (
	"net/http"
	"testing"

	"github.com/isowatch/isowatch/config"
)

// Pages that are open to everybody on the machine answer no other name than the
// machine's; behind a password the name does not matter.
func TestHostOfPages(t *testing.T) {
	t.Setenv("TEST_TOKEN", "tok")
	for _, c := range []struct {
		name, host, external string
		guarded              bool
		want                 int
	}{
		{"an address", "127.0.0.1", "", false, http.StatusOK},
		{"a name that was made to point here", "rebound.example.com", "", false, http.StatusMisdirectedRequest},
		{"the name of a proxy before us", "watch.example.com", "https://Watch.example.com/isowatch", false, http.StatusOK},
		{"any name, with a token", "any.example.com", "", true, http.StatusOK},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := liveService(t)
			s.HTTP.ExternalURL = c.external
			if c.guarded {
				s.HTTP.Token = config.Secret{Env: "TEST_TOKEN"}
			}
			a := start(t, s, make(caught, 1))
			request, err := http.NewRequest(http.MethodGet, "http://"+a.HTTPAddr()+"/api/v1/findings", nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Host = c.host
			request.Header.Set("Authorization", "Bearer tok")
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != c.want {
				t.Errorf("%s, want %d", response.Status, c.want)
			}
		})
	}
}

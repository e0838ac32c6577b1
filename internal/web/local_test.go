package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestLocal(t *testing.T) {
	handler := Local([]string{"watch.example.org"}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for host, want := range map[string]int{
		"127.0.0.1": 200, "127.0.0.1:8080": 200, "[::1]:8080": 200, "[::1]": 200, "10.1.2.3:8080": 200,
		"localhost": 200, "LocalHost:8080": 200, "localhost.": 200, "a.localhost:8080": 200,
		"watch.example.org": 200, "Watch.Example.Org:443": 200,
		"": 421, ":8080": 421, "rebound.example.com": 421, "rebound.example.com:8080": 421,
		"127.0.0.1.example.com:8080": 421, "localhost.example.com": 421, "notlocalhost": 421, "x.watch.example.org": 421,
	} {
		request := httptest.NewRequest(http.MethodGet, "http://h/api/v1/findings", nil)
		request.Host = host
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		if recorder.Code != want {
			t.Errorf("Host %q: %d, want %d", host, recorder.Code, want)
		}
	}
}

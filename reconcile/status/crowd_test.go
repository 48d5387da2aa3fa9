package status

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// TestAFloodFromOneAddressLeavesOthersFree holds open all connections that one address gets, and asks from another.
func TestAFloodFromOneAddressLeavesOthersFree(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: NewServer(prometheus.NewRegistry(), Sources{Alive: func() bool { return true }}), ReadHeaderTimeout: time.Minute}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(NoCrowd(l)) // it is closed below
	}()
	defer func() {
		_ = server.Close()
		<-served
	}()
	var flood []net.Conn
	for range 3 * perAddress {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		flood = append(flood, c)
	}
	ask := func(from string) error {
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}, Timeout: 10 * time.Second}
		answer, err := client.Get("http://" + l.Addr().String() + "/metrics")
		if err == nil {
			_, err = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		}
		return err
	}
	if err := ask("127.0.0.2"); err != nil {
		t.Errorf("another address: %v", err)
	}
	if ask("127.0.0.1") == nil {
		t.Errorf("the flooding address got another connection beside its %d", perAddress)
	}
	for _, c := range flood {
		_ = c.Close()
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		err := ask("127.0.0.1")
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after the flood: %v", err)
		}
	}
}

func TestWithoutAWebhookItIsSaid(t *testing.T) {
	w := httptest.NewRecorder()
	NewServer(prometheus.NewRegistry(), Sources{}).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/webhook", nil))
	if want := "this agent takes no webhooks: say webhook.secretFile in its file"; w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), want) {
		t.Errorf("answer %d %s, want %q", w.Code, w.Body, want)
	}
}

package sender

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gitvirt/gitvirt/reconcile/notice"
)

const (
	// maxFile bounds files of a token, a secret or certificates.
	maxFile = 1 << 20
	// maxLater bounds what a server may ask us to wait.
	maxLater = time.Hour
	// maxAnswer is how much of an answer is read.
	maxAnswer = 4 << 10
)

// trouble is why a notice was not taken.
type trouble struct {
	err error
	// forGood says that it would not be taken another time either.
	forGood bool
	// later is how long the server wants to be left alone.
	later time.Duration
}

func (t *trouble) Error() string { return t.err.Error() }

// post tells a target of a notice, once. Token, secret and certificates are read anew each time, and no error has them.
func (t Target) post(ctx context.Context, n notice.Notice, w who, timeout time.Duration) *trouble {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	token, err := line(t.TokenFile, "tokenFile")
	if err != nil {
		return &trouble{err: err}
	}
	secret, err := line(t.SecretFile, "secretFile")
	if err != nil {
		return &trouble{err: err}
	}
	client, err := t.client()
	if err != nil {
		return &trouble{err: err}
	}
	defer client.CloseIdleConnections()
	q, err := t.request(ctx, n, w, token, secret)
	if err != nil {
		return &trouble{err: err, forGood: true}
	}
	answer, err := client.Do(q)
	if err != nil {
		return &trouble{err: fmt.Errorf("cannot reach %s: %w", q.URL.Host, unwrapped(err))}
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxAnswer)) // what could not be read is not shown
	return judge(answer, t.hide(string(text), token, secret))
}

// judge says what an answer means.
func judge(answer *http.Response, text string) *trouble {
	code := answer.StatusCode
	said := &trouble{err: fmt.Errorf("%s answers %s: %s", answer.Request.URL.Host, answer.Status, text)}
	switch {
	case code >= 200 && code < 300:
		return nil
	case code >= 300 && code < 400:
		// A token is not carried to where an answer points.
		said.err = fmt.Errorf("%s answers %s, and redirects are not followed: say in url where it is now", answer.Request.URL.Host, answer.Status)
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusNotFound:
		// The token, or what it may do, can be mended without a restart.
		said.err = fmt.Errorf("%w (may the token set commit statuses there?)", said.err)
		said.later = retryAfter(answer.Header)
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500:
		said.later = retryAfter(answer.Header)
	default:
		said.forGood = true
	}
	return said
}

// retryAfter reads seconds, or a date.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	wait := time.Duration(0)
	if seconds, err := strconv.Atoi(text); err == nil {
		wait = time.Duration(min(seconds, int(maxLater/time.Second))) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = time.Until(at)
	}
	return max(0, min(wait, maxLater))
}

// client speaks to one target, one time.
func (t Target) client() (*http.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		pem, err := read(t.CAFile, "caFile")
		if err != nil {
			return nil, err
		}
		if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("there is no certificate in caFile %s: it has to be PEM", t.CAFile)
		}
	}
	return &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// line reads a file of one line; without a file it is empty.
func line(file, key string) (string, error) {
	if file == "" {
		return "", nil
	}
	raw, err := read(file, key)
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(raw))
	if text == "" || strings.ContainsAny(text, "\r\n\x00") {
		return "", fmt.Errorf("cannot use %s %s: write one line", key, file)
	}
	return text, nil
}

func read(file, key string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", key, err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(raw) > maxFile {
		err = errors.New("it is too large")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s %s: %w", key, file, err)
	}
	return raw, nil
}

// hide takes secrets out of what a server says: it may repeat what it was sent.
func (t Target) hide(text string, secrets ...string) string {
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "…")
		}
	}
	return short(text, 200)
}

// unwrapped is an error of the client without the URL: a generic one may have a secret in its path.
func unwrapped(err error) error {
	var with *url.Error
	if errors.As(err, &with) {
		return with.Err
	}
	return err
}

package shardwright

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// The controllers that serve a map, and one request to one of them.
//
// Every controller can answer. If one fails, all later requests use the next one. A follower may redirect to the
// leader: the redirect is followed here, with the token, because it comes from a controller that has already received
// the token.

const (
	readTimeout  = 5 * time.Second
	maxRedirects = 4
)

type controllers struct {
	urls      []string
	tokenFile string
	client    *http.Client

	mutex    sync.Mutex
	position int
}

func newControllers(urls, name string, options Options) (*controllers, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if options.CAFile != "" {
		pem, err := os.ReadFile(options.CAFile)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s has no certificate", options.CAFile)
		}
	}
	made := &controllers{tokenFile: options.TokenFile, client: &http.Client{
		Transport: &http.Transport{
			TLSClientConfig: config, Proxy: http.ProxyFromEnvironment, DisableCompression: true,
			DialContext:           (&net.Dialer{Timeout: readTimeout}).DialContext,
			ResponseHeaderTimeout: readTimeout, TLSHandshakeTimeout: readTimeout,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	for _, base := range strings.Split(urls, ",") {
		made.urls = append(made.urls, strings.TrimRight(strings.TrimSpace(base), "/")+"/api/v1/maps/"+name)
	}
	return made, nil
}

// current is the URL of the map at the controller for the next request.
func (c *controllers) current() string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.urls[c.position%len(c.urls)]
}

// switchAfterFailure switches to the next controller, unless another request has already done so.
func (c *controllers) switchAfterFailure(failed string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.urls[c.position%len(c.urls)] == failed {
		c.position++
	}
}

// read returns the body of the answer.
func (c *controllers) read(ctx context.Context, address string) ([]byte, error) {
	answer, err := c.send(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}

// post sends a document.
func (c *controllers) post(ctx context.Context, address string, body []byte) error {
	answer, err := c.send(ctx, http.MethodPost, address, body)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// openFeed opens the feed of the map's changes.
func (c *controllers) openFeed(ctx context.Context, address string) (io.ReadCloser, error) {
	answer, err := c.sendTo(ctx, http.MethodGet, address+"/changes", nil)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// close ends idle connections.
func (c *controllers) close() { c.client.CloseIdleConnections() }

// send requests an answer whose body, too, must not be silent for longer than the limit.
func (c *controllers) send(ctx context.Context, method, address string, body []byte) (*http.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	silence := time.AfterFunc(readTimeout, cancel)
	answer, err := c.sendTo(ctx, method, address, body)
	if err != nil {
		silence.Stop()
		isSilent := ctx.Err() != nil
		cancel()
		if isSilent {
			return nil, fmt.Errorf("%s did not answer: %w", address, err)
		}
		return nil, err
	}
	answer.Body = &limitedBody{answer.Body, silence, cancel}
	return answer, nil
}

// limitedBody ends a request when no byte arrives for too long.
type limitedBody struct {
	io.ReadCloser
	silence *time.Timer
	cancel  context.CancelFunc
}

func (b *limitedBody) Read(buffer []byte) (int, error) {
	b.silence.Reset(readTimeout)
	return b.ReadCloser.Read(buffer)
}

func (b *limitedBody) Close() error {
	b.silence.Stop()
	defer b.cancel()
	return b.ReadCloser.Close()
}

// sendTo sends a request and follows redirects. The head of the answer has a time limit.
func (c *controllers) sendTo(ctx context.Context, method, address string, body []byte) (*http.Response, error) {
	target, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	for redirects := 0; redirects <= maxRedirects; redirects++ {
		answer, err := c.sendOnce(ctx, method, target, body)
		if err != nil {
			return nil, err
		}
		location := answer.Header.Get("Location")
		if answer.StatusCode != http.StatusTemporaryRedirect || location == "" {
			return answer, refusalOf(target, answer)
		}
		_ = answer.Body.Close()
		if target, err = target.Parse(location); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s redirects too often", address)
}

func (c *controllers) sendOnce(
	ctx context.Context, method string, target *url.URL, body []byte,
) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	file := c.tokenFile
	if file == "" {
		file = machineTokenFile(target)
	}
	if file != "" {
		token, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	return c.client.Do(request)
}

// refusalOf is the code and the detail of a problem, as the API describes errors. It closes the answer then.
func refusalOf(target *url.URL, answer *http.Response) error {
	if answer.StatusCode >= 200 && answer.StatusCode < 300 {
		return nil
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<16))
	var problem struct{ Code, Detail string }
	if err != nil || json.Unmarshal(body, &problem) != nil || problem.Code == "" {
		return fmt.Errorf("%s answered %s", target, answer.Status)
	}
	return fmt.Errorf("%s answered %d: %s: %s", target, answer.StatusCode, problem.Code, problem.Detail)
}

// readRoutes sends a request to each controller until one answers.
func (c *controllers) readRoutes(ctx context.Context) (*Routes, error) {
	failure := errors.New("no controller was named")
	for range c.urls {
		address := c.current()
		document, err := c.read(ctx, address)
		if err == nil {
			var routes *Routes
			if routes, err = ReadRoutes(document); err == nil {
				return routes, nil
			}
		}
		c.switchAfterFailure(address)
		failure = err
	}
	return nil, failure
}

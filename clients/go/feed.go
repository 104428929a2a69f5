package shardwright

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

const (
	firstFeedPause   = 20 * time.Millisecond
	longestFeedPause = 2 * time.Second
	// If the feed is silent for longer than this, it counts as broken. The controller sends comments more often.
	maxSilence = 45 * time.Second
	// The least time between two reads in addition to the feed.
	minReadInterval = 200 * time.Millisecond
	chunkSize       = 1 << 16
)

// feed follows the changes of a map.
//
// The map is read once, then the change feed is followed. If the feed breaks, there is a pause with jitter, the map is
// read and the feed opened again; if a controller has failed, the next one is used. The cache answers during all of
// this.
type feed struct {
	cache       *cache
	controllers *controllers
	// readAfter is the silence of the feed after which the map is read in addition.
	readAfter time.Duration
	// load has the uses of keys, if the options require reports.
	load *loadSummary

	cancel  context.CancelFunc
	running sync.WaitGroup

	mutex         sync.Mutex
	lastExtraRead time.Time
}

// openFeed reads the map and begins to follow it.
func openFeed(ctx context.Context, urls, name string, options Options, counters *counters) (*feed, error) {
	made, err := newControllers(urls, name, options)
	if err != nil {
		return nil, NewError(ErrFetch, "the certificates cannot be read: "+err.Error(), err)
	}
	first, err := made.readRoutes(ctx)
	if err != nil {
		made.close()
		return nil, NewError(ErrFetch, "map "+name+" could not be read from "+urls+": "+err.Error(), err)
	}
	opened := &feed{cache: newCache(first, counters, options), controllers: made, readAfter: maxSilence}
	if half := options.MaxStaleness / 2; half > 0 && half < maxSilence {
		opened.readAfter = half
	}
	if opened.readAfter < minReadInterval {
		opened.readAfter = minReadInterval
	}
	return opened, nil
}

// start begins to follow the map.
func (f *feed) start() {
	// The context of the connect ends before the map does.
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	f.run(func() { f.follow(ctx) })
	if every := f.cache.options.ReportLoad; every > 0 {
		f.load = newLoadSummary(f.cache.routes.Load())
		f.run(func() { f.report(ctx, every) })
	}
}

func (f *feed) run(work func()) {
	f.running.Add(1)
	go func() {
		defer f.running.Done()
		work()
	}()
}

// close ends the goroutines and their connections.
func (f *feed) close() {
	f.cancel()
	f.running.Wait()
	f.controllers.close()
}

// readAgain reads the map in addition to the feed, in case the feed is broken, but not too often.
func (f *feed) readAgain(ctx context.Context) {
	f.mutex.Lock()
	isEarly := time.Since(f.lastExtraRead) < minReadInterval
	if !isEarly {
		f.lastExtraRead = time.Now()
	}
	f.mutex.Unlock()
	if isEarly {
		return
	}
	if err := f.read(ctx); err != nil {
		f.cache.options.logf("the map was not read: %v", err)
	}
}

func (f *feed) read(ctx context.Context) error {
	routes, err := f.controllers.readRoutes(ctx)
	if err != nil {
		return err
	}
	f.cache.recordAnswer()
	f.cache.offer(routes)
	return nil
}

// follow follows the feed until the context ends.
func (f *feed) follow(ctx context.Context) {
	pauses := newPauses(firstFeedPause, longestFeedPause)
	for ctx.Err() == nil {
		address := f.controllers.current()
		err := f.followFeed(ctx, address)
		if err == nil {
			pauses = newPauses(firstFeedPause, longestFeedPause)
		} else if ctx.Err() == nil {
			f.cache.options.logf("the feed was interrupted: %v", err)
			f.controllers.switchAfterFailure(address)
		}
		if pause(ctx, pauses.next()) {
			f.cache.counters.reconnects.Add(1)
		}
	}
}

// followFeed follows the feed until it ends or is silent for too long.
func (f *feed) followFeed(ctx context.Context, address string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, err := f.controllers.openFeed(ctx, address)
	if err != nil {
		return err
	}
	defer body.Close()
	// This read finds a version that was created between the last read and the start of the feed.
	if err := f.read(ctx); err != nil {
		return err
	}
	chunks := make(chan chunk)
	f.run(func() { sendChunks(ctx, body, chunks) })
	parser := eventParser{}
	for {
		next, err := f.nextChunk(ctx, chunks)
		if err != nil {
			return err
		}
		if len(next.data) > 0 {
			f.cache.recordAnswer()
		}
		if err := f.takeOver(parser.push(next.data)); err != nil {
			return err
		}
		if errors.Is(next.err, io.EOF) {
			return nil
		}
		if next.err != nil {
			return next.err
		}
	}
}

// takeOver offers the versions in events to the cache.
func (f *feed) takeOver(events []event) error {
	for _, event := range events {
		if event.name != "map" {
			continue
		}
		routes, err := ReadRoutes(event.data)
		if err != nil {
			return err
		}
		f.cache.offer(routes)
	}
	return nil
}

// chunk is what one read of the feed returned.
type chunk struct {
	data []byte
	err  error
}

func sendChunks(ctx context.Context, body io.Reader, chunks chan<- chunk) {
	for {
		buffer := make([]byte, chunkSize)
		count, err := body.Read(buffer)
		select {
		case chunks <- chunk{buffer[:count], err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// nextChunk returns the next chunk of the feed. It reads the map in addition while none arrives.
func (f *feed) nextChunk(ctx context.Context, chunks <-chan chunk) (chunk, error) {
	began := time.Now()
	ticker := time.NewTicker(f.readAfter)
	defer ticker.Stop()
	for {
		select {
		case next := <-chunks:
			return next, nil
		case <-ctx.Done():
			return chunk{}, ctx.Err()
		case <-ticker.C:
		}
		if time.Since(began) >= maxSilence {
			return chunk{}, errors.New("the feed is silent")
		}
		if err := f.read(ctx); err != nil {
			return chunk{}, err
		}
	}
}

// pause waits. It reports whether the context still lasts.
func pause(ctx context.Context, length time.Duration) bool {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

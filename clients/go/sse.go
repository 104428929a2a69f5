package shardwright

import "bytes"

// event is a server-sent event with the fields that the map's feed uses.
type event struct {
	name string
	data []byte
}

// eventParser splits a stream of bytes into events. The bytes may arrive in pieces of any size.
type eventParser struct {
	line []byte
	name string
	// data are the lines of data so far; nil if there was none.
	data [][]byte
}

// push adds bytes, and returns the events that they complete.
func (p *eventParser) push(chunk []byte) []event {
	var events []event
	for {
		end := bytes.IndexByte(chunk, '\n')
		if end < 0 {
			p.line = append(p.line, chunk...)
			return events
		}
		// The line is not reused: its data belong to the event.
		line := bytes.TrimSuffix(append(p.line, chunk[:end]...), []byte{'\r'})
		p.line, chunk = nil, chunk[end+1:]
		if len(line) > 0 {
			p.addField(line)
			continue
		}
		if p.data != nil {
			events = append(events, event{p.name, bytes.Join(p.data, []byte{'\n'})})
		}
		p.name, p.data = "", nil
	}
}

func (p *eventParser) addField(line []byte) {
	field, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(field) {
	case "event":
		p.name = string(value)
	case "data":
		p.data = append(p.data, value)
	}
}

package key

import "encoding/binary"

// PostgreSQL's 64-bit hashes with seed 0: Bob Jenkins' lookup3, as in hash_bytes_extended.

const hashStart uint32 = 0x9e3779b9 + 3_923_095

// hashInt8 is the hash of an integer, and of a time, as in hashint8extended.
func hashInt8(value int64) uint64 {
	high := uint32(value >> 32)
	if value < 0 {
		high = ^high
	}
	return hashWord(uint32(value) ^ high)
}

// hashWord is the hash of 32 bits.
func hashWord(word uint32) uint64 {
	start := hashStart + 4
	return finish(start+word, start, start)
}

// hashBytes is the hash of bytes, such as a text in UTF-8.
func hashBytes(data string) uint64 {
	a := hashStart + uint32(len(data))
	b, c := a, a
	for len(data) >= 12 {
		a, b, c = mix(a+word(data), b+word(data[4:]), c+word(data[8:]))
		data = data[12:]
	}
	var rest [12]byte
	copy(rest[:], data)
	a += binary.LittleEndian.Uint32(rest[0:])
	b += binary.LittleEndian.Uint32(rest[4:])
	// The lowest byte of the third word is that of the length.
	c += binary.LittleEndian.Uint32(rest[8:]) << 8
	return finish(a, b, c)
}

func word(data string) uint32 {
	return uint32(data[0]) | uint32(data[1])<<8 | uint32(data[2])<<16 | uint32(data[3])<<24
}

func rotated(word uint32, by int) uint32 {
	return word<<by | word>>(32-by)
}

func mix(a, b, c uint32) (uint32, uint32, uint32) {
	a = (a - c) ^ rotated(c, 4)
	c += b
	b = (b - a) ^ rotated(a, 6)
	a += c
	c = (c - b) ^ rotated(b, 8)
	b += a
	a = (a - c) ^ rotated(c, 16)
	c += b
	b = (b - a) ^ rotated(a, 19)
	a += c
	c = (c - b) ^ rotated(b, 4)
	b += a
	return a, b, c
}

func finish(a, b, c uint32) uint64 {
	c = (c ^ b) - rotated(b, 14)
	a = (a ^ c) - rotated(c, 11)
	b = (b ^ a) - rotated(a, 25)
	c = (c ^ b) - rotated(b, 16)
	a = (a ^ c) - rotated(c, 4)
	b = (b ^ a) - rotated(a, 14)
	c = (c ^ b) - rotated(b, 24)
	return uint64(b)<<32 | uint64(c)
}

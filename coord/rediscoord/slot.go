package rediscoord

import "strings"

// slot is the slot of a cluster that a name in Redis is in: its hash tag's if it
// has one, CRC16 (XMODEM) modulo 16384.
func slot(name string) int {
	if open := strings.IndexByte(name, '{'); open >= 0 {
		if tag := strings.IndexByte(name[open+1:], '}'); tag > 0 {
			name = name[open+1 : open+1+tag]
		}
	}
	crc := uint16(0)
	for i := range len(name) {
		crc ^= uint16(name[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % 16384
}

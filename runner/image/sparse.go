package image

import (
	"bytes"
	"os"
)

// block is the smallest run of zeroes that becomes a hole, in bytes: file systems' usual block.
const block = 4 << 10

// WriteSparse writes into a new file what is not zero, in runs of blocks, and says how many bytes that was.
func WriteSparse(f *os.File, b []byte, at int64) (wrote int64, err error) {
	var zeroes [block]byte
	for begin := 0; begin < len(b); {
		end := begin
		for end < len(b) && !bytes.Equal(b[end:min(end+block, len(b))], zeroes[:min(block, len(b)-end)]) {
			end = min(end+block, len(b))
		}
		if end > begin {
			if _, err := f.WriteAt(b[begin:end], at+int64(begin)); err != nil {
				return wrote, err
			}
			wrote += int64(end - begin)
		}
		begin = min(end+block, len(b)) // the next block is of zeroes, or there is none
	}
	return wrote, nil
}

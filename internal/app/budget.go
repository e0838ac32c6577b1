package app

import "github.com/isowatch/isowatch/internal/catalog"

// budget has the bytes that each part of the process may take. It is divided once, at the start. 0: any amount.
type budget struct {
	heap     int64 // of the Go runtime, garbage included
	mapped   int64 // pages of the store's files
	memTable int64 // one table of the store in memory
	ahead    int64 // messages that inputs have read ahead
	steps    int64 // steps between the decoder and the disk
	open     int64 // open transactions, whose operations have not all come
	state    int64 // of all machines
	catalog  int64 // index of stored findings
	tape     int64 // messages as they came in, for later findings
	elems    int   // elements of the arrays of one record
	step     int   // records of one step; 0: the engine's own
}

const mib = 1 << 20

// binary is the size of the program's own pages, bytes: code and constants.
const binary = 34 * mib

// divide divides the memory of a process. The numbers are for 512 MiB; what is in brackets, at most:
//
//	binary 34, mapped files 64 (512)
//	heap 382: state 128; garbage behind it a quarter; tables of the store 16 each, four of them, and as much to write one out;
//	          messages read ahead 16 (64); steps 48 (256); open transactions 32 (512); index of findings 16 (64); messages as they came 8 (16)
func divide(memory int64) budget {
	if memory <= 0 {
		return budget{}
	}
	b := budget{
		mapped:   min(memory/8, 512*mib),
		memTable: 16 * mib, // a commit takes 15% of it at most. Writing one out takes four times as much in Badger
		ahead:    min(max(memory/32, 2*mib), 64*mib),
		steps:    min(memory*3/32, 256*mib),
		open:     min(memory/16, 512*mib),
		tape:     min(max(memory/64, mib), 16*mib),
		catalog:  min(memory/32, catalog.MaxBytes),
	}
	b.elems = int(memory / 8 / 24)
	b.heap = memory - binary - b.mapped - memory/16 // for pages that come faster than they go
	b.state = memory / 4
	return b
}

// resident bounds the pages of mapped files, the program's own included.
func (b *budget) resident() int64 {
	if b.mapped == 0 {
		return 0
	}
	return binary + b.mapped/2 // beyond it they go
}

// HeapLimit is the share of the Go runtime in the memory of a process; 0 where that is unlimited.
func HeapLimit(memory int64) int64 { return divide(memory).heap }

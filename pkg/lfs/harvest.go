package lfs

// harvest is what one worker brings in from one piece of a sweep. A worker
// touches nothing that others do: what a block says goes here, and the walk
// takes it over piece by piece, in order, so that what is found does not depend
// on timing. The memory is used again for the next piece.
//
// Where fresh is set, inodes are new, and numbers of inodes and bodies are
// positions in the harvest.
type harvest struct {
	w     *walk
	fresh bool

	inodes    []inode
	owners    []owner // of the inodes, where there are quotas
	bodies    []body
	tallies   []leadTally
	lost      []int32 // nodes of the index that are not what NAT says
	nodeRuns  []run
	dataRuns  []run
	pageRuns  []run // of files whose blocks are kept, which are claimed one by one
	follows   []follow
	dirBlocks []filePage
	quota     []filePage
	chunks    []chunk
	entries   []dirEntry
	folds     []uint64 // of the names in directories that fold them, their hashes
	dots      []dot

	lengths     int    // entries of which the length of the name was looked for
	reserved    uint64 // pointers that count as blocks and have none
	files, dirs uint64
	signs

	notes []note
	noted map[string]int  // how many of each row
	full  map[string]bool // rows of which no more are kept; not changed

	number    int // of the piece
	blocks    int // that were wanted of it
	bytesRead int64
	slow      bool  // the device took its time
	err       error // the piece could not be read
	*scratch
}

// scratch is memory of a worker, which nothing is left in when it is done with a
// piece but what the next one may need again.
type scratch struct {
	piece     []byte // what is read
	sums      []byte // of SSA
	sumsPiece int64  // which piece of it
	spare     []run  // for sorting
	foldBuf   [maxNameLen]byte
}

func newHarvest(w *walk) *harvest { return &harvest{w: w, noted: map[string]int{}} }

// reset empties h for the next piece.
func (h *harvest) reset() {
	h.fresh = false
	h.inodes, h.owners, h.bodies, h.tallies = h.inodes[:0], h.owners[:0], h.bodies[:0], h.tallies[:0]
	h.lost, h.follows = h.lost[:0], h.follows[:0]
	h.nodeRuns, h.dataRuns, h.pageRuns = h.nodeRuns[:0], h.dataRuns[:0], h.pageRuns[:0]
	h.dirBlocks, h.quota = h.dirBlocks[:0], h.quota[:0]
	h.chunks, h.entries, h.dots = h.chunks[:0], h.entries[:0], h.dots[:0]
	h.folds = h.folds[:0]
	h.reserved, h.files, h.dirs, h.bytesRead = 0, 0, 0, 0
	h.lengths = 0
	h.signs = signs{}
	h.notes = h.notes[:0]
	clear(h.noted)
}

// note is something found, to be reported with a path when all is known.
type note struct {
	slug      string
	inode     int32 // whose path it has, -1 for none
	name      string
	blk       uint32 // 0 for none
	off, len  int64  // bytes, where blk is not enough
	detail    string
	got, want any
	// What a repair goes by: the node that has the pointer, or that an entry leads
	// to, and the byte or the number of it there; of an entry the length of its name.
	from  uint32
	word  int32
	place uint32
}

// maxNotes bounds how much is kept of a row on a volume that is damaged
// throughout. What is beyond is counted.
const maxNotes = 10_000

func (h *harvest) note(n note) {
	if !h.enough(n.slug) {
		h.notes = append(h.notes, n)
	}
	h.noted[n.slug]++
}

// enough tells whether of a row no more will be kept, so that nobody needs to
// find out the rest of what a note would say.
func (h *harvest) enough(slug string) bool { return h.full[slug] || h.noted[slug] >= maxNotes }

// takeNotes takes over what was noted; base is where the inodes of h are now.
func (w *walk) takeNotes(h *harvest, base int32) {
	for _, n := range h.notes {
		if n.inode >= 0 {
			n.inode += base
		}
		w.note(n)
		h.noted[n.slug]--
	}
	for slug, n := range h.noted {
		if w.noted[slug] += n; w.noted[slug] >= maxNotes && !w.full[slug] {
			w.full = with(w.full, slug)
		}
	}
}

// note is for what is found where everything comes together.
func (w *walk) note(n note) {
	if w.noted[n.slug]++; w.noted[n.slug] <= maxNotes {
		w.notes = append(w.notes, n)
	}
}

// noteAt is a note about an inode's field.
func (w *walk) noteAt(i int32, slug string, got, want any, format string, args ...any) {
	w.note(note{slug: slug, inode: i, blk: w.index.nodes[w.inodes[i].node].addr, got: got, want: want, detail: textf(format, args...)})
}

// with is a copy of a set with one more: others may be looking at the old one.
func with(set map[string]bool, slug string) map[string]bool {
	out := map[string]bool{slug: true}
	for k := range set {
		out[k] = true
	}
	return out
}

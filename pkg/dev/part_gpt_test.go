package dev

import "testing"

// TestGPTProtection: the one entry of a protective MBR goes to the end of the disk or as
// far as 32 bits say. In a hybrid it cannot, and of a disk that became larger that is
// told where the backup is.
func TestGPTProtection(t *testing.T) {
	const sectors = 500
	for _, c := range []struct {
		slots []mbrSlot
		want  []string
	}{
		{[]mbrSlot{{0, typeGPT, 1, 0xFFFFFFFF}}, nil},
		{[]mbrSlot{{0, typeGPT, 1, sectors - 1}}, nil},
		{[]mbrSlot{{0, typeGPT, 1, sectors}}, nil},
		{[]mbrSlot{{0, typeGPT, 1, 2 * sectors}}, nil},
		{[]mbrSlot{{0, typeGPT, 1, sectors - 2}}, []string{FaultShort}},
		{[]mbrSlot{{}, {0, typeGPT, 1, 1}}, []string{FaultShort}},
		{[]mbrSlot{{0, typeGPT, 1, 0}}, []string{FaultShort}},
		{[]mbrSlot{{0, typeGPT, 1, 69}, {0, 0x0C, 70, 30}}, nil},
		{[]mbrSlot{{0, typeGPT, 1, 69}, {0, typeGPT, 100, 30}}, nil},
	} {
		m := NewMem(sectors * 512)
		g := usualGPT(512)
		g.slots = map[int]gptSlot{1: {typeEFI, 70, 99, "boot"}}
		writeGPT(t, m, g)
		writeMBR(t, m, 0, c.slots...)
		checkPartitions(t, m, []Partition{gptPart(1, 70, 99, 512, typeEFI, "boot")}, c.want...)
	}
	m, grown := NewMem(sectors*512), NewMem(2*sectors*512)
	g := usualGPT(512)
	g.slots = map[int]gptSlot{1: {typeEFI, 70, 99, "boot"}}
	writeGPT(t, m, g)
	writeMBR(t, m, 0, mbrSlot{0, typeGPT, 1, sectors - 1})
	b := make([]byte, m.Size())
	if _, err := m.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	put(t, grown, b, 0)
	checkPartitions(t, grown, []Partition{gptPart(1, 70, 99, 512, typeEFI, "boot")}, FaultMisplaced)
}

//go:build race

package sim

const defaultSeeds = 60 // each takes ten times as long

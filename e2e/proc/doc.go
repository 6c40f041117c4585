// Package proc runs the processes of a black-box run: it builds the programs,
// starts them as children with their output kept, kills, freezes and thaws them,
// and leaves none behind, whatever becomes of the run itself.
//
// What belongs here: processes, ports and what they cost. What a program is for
// and how it is configured does not: that is package fleet's.
package proc

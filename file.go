package botmesh

import (
	"context"
	"errors"
	"io"
)

// Why a file can not be had. None of them is mended by another try; every other error of
// [OpenFile], and of reading, may be: the run fails with it and is tried again.
var (
	// ErrFileTooLarge says that the file is over the bound: the worker's, or that of the
	// platform, which gives bots no larger ones.
	ErrFileTooLarge = errors.New("botmesh: the file is too large")

	// ErrFileGone says that the platform has the file no more, or has never had it.
	ErrFileGone = errors.New("botmesh: the file is gone")

	// ErrFileUnsupported says that files of this kind can not be had from the chat's
	// platform, or that the run has no platform, as that of a replay.
	ErrFileUnsupported = errors.New("botmesh: files can not be had here")
)

// File is a file that is being read from its platform. It must be closed; what is not
// ends with the run.
type File struct {
	// ReadCloser reads the file as it arrives: nothing is kept in memory. More than the
	// bound is never read: the error is [ErrFileTooLarge] then.
	io.ReadCloser
	// Name is what the sender called it, made by whoever sent it and no path to trust;
	// empty if the platform does not tell. Type is its media type, empty if unknown.
	Name, Type string
	// Size is in bytes, -1 if the platform does not tell.
	Size int64
}

// OpenFile begins to read a file that a message of the chat refers to. The file ends with
// ctx. See [Run.Open].
type OpenFile func(ctx context.Context, chat ChatKey, m Media) (*File, error)

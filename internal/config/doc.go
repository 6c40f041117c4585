// Package config reads the settings of Botmesh's programs.
//
// All programs share one key space. A setting comes from a flag
// (--nats-url), the environment (BOTMESH_NATS_URL) or a YAML file (nats_url, or
// url below nats; the file is named by --config or BOTMESH_CONFIG): the first of
// these that sets a key wins. A key that nobody knows is an error that names the
// nearest one. What may hold a secret can also be read from a file of its own, by
// the key with _file at its end.
//
// What belongs here: the keys with their defaults, reading and checking them. It
// is the only place, with the commands, that reads the environment. What a
// setting does is its room's.
package config

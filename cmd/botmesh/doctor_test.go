package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh/internal/doctor"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/internal/redistest"
)

// examined runs the doctor and reads its findings.
func examined(t *testing.T, env []string) (code int, found []doctor.Finding) {
	t.Helper()
	code, stdout, stderr := finished(t, env, "doctor", "-o", "json")
	if err := json.Unmarshal([]byte(stdout), &found); err != nil {
		t.Fatalf("got %q and %q, want findings as JSON: %v", stdout, stderr, err)
	}
	return code, found
}

func level(found []doctor.Finding, check string) doctor.Level {
	var of []doctor.Finding
	for _, f := range found {
		if f.Check == check {
			of = append(of, f)
		}
	}
	return doctor.Worst(of)
}

// What is wrong comes to light one by one: no streams, no workers, no Redis, no NATS.
func TestDoctor(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	env := []string{"BOTMESH_NATS_URL=" + natstest.Start(t), "BOTMESH_REDIS_URL=" + redis.URL()}
	code, found := examined(t, env)
	if code != 1 || level(found, "streams") != doctor.Broken {
		t.Errorf("without streams: got exit code %d and %v, want 1 and broken streams", code, found)
	}
	if code, _, stderr := finished(t, env, "streams", "apply"); code != 0 {
		t.Fatalf("got %d: %s", code, stderr)
	}
	code, found = examined(t, env)
	if code != 1 || level(found, "streams") != doctor.Fine || level(found, "chats") != doctor.Fine ||
		level(found, "records") != doctor.Warning || level(found, "replicas") != doctor.Broken {
		t.Errorf("without workers: got exit code %d and %v, want 1, for nobody asks for records and no replica is alive", code, found)
	}
	without := found
	redis.Kill()
	code, found = examined(t, env)
	if code != 2 || level(found, "redis") != doctor.Unknown || level(found, "streams") != doctor.Fine || len(found) != len(without)-3 {
		t.Errorf("without redis: got exit code %d and %v, want 2, since it does not answer, said once", code, found)
	}
	code, found = examined(t, []string{"BOTMESH_NATS_URL=nats://127.0.0.1:1", env[1]})
	if code != 2 || level(found, "nats") != doctor.Unknown {
		t.Errorf("without nats: got exit code %d and %v, want 2", code, found)
	}
	code, stdout, _ := finished(t, env, "doctor")
	if code != 2 || !strings.Contains(stdout, "unknown  redis         Redis at "+redis.URL()+" (BOTMESH_REDIS_URL) does not answer") {
		t.Errorf("got exit code %d and %s, want the findings as text", code, stdout)
	}
}

package main

import (
	"time"

	"github.com/botmesh-go/botmesh/e2e/netproxy"
)

// The tracks.
const (
	onProcesses = "processes"
	onRedis     = "redis"
	onNATS      = "nats"
	onNetwork   = "network"
	onPlatform  = "platform"
)

// lost makes answers vanish: they are held, and their connections reset at the end.
var lost = netproxy.Rules{HoldAnswers: true, Lose: true}

// silent keeps back all that is said in either direction.
var silent = netproxy.Rules{HoldRequests: true, HoldAnswers: true}

// kinds are all sorts of faults.
var kinds []kind

func init() { // the injectors look into the table, too
	kinds = []kind{
		{name: "kill worker", track: onProcesses, length: 500 * time.Millisecond, inject: killWorker},
		{name: "kill ingress", track: onProcesses, length: 700 * time.Millisecond, inject: killIngress},
		{name: "freeze worker 0.3", track: onProcesses, leases: 0.3, inject: freezeWorker},
		{name: "freeze worker 0.9", track: onProcesses, leases: 0.9, inject: freezeWorker},
		{name: "freeze worker 1.5", track: onProcesses, leases: 1.5, inject: freezeWorker},
		{name: "freeze worker 3", track: onProcesses, leases: 3, inject: freezeWorker},
		{name: "freeze ingress 1.5", track: onProcesses, leases: 1.5, inject: freezeIngress},
		{name: "worker drained", track: onProcesses, inject: drainWorker},
		{name: "commit of a loser", track: onProcesses, inject: loseCommit},

		{name: "redis killed, back empty", track: onRedis, length: time.Second, inject: restartRedis},
		{name: "redis paused", track: onRedis, leases: 1.2, inject: pauseRedis},
		{name: "redis slow", track: onRedis, length: 3 * time.Second, inject: slowRedis},
		{name: "redis emptied", track: onRedis, inject: emptyRedis},
		{name: "turn granted twice", track: onRedis, length: 700 * time.Millisecond, inject: grantTwice},

		{name: "nats leader killed", track: onNATS, length: time.Second, inject: killLeader},
		{name: "nats leader steps down", track: onNATS, inject: stepDown},
		{name: "nats cluster killed", track: onNATS, length: time.Second, inject: restartCluster},
		{name: "nats consumer deleted", track: onNATS, inject: deleteConsumer},
		{name: "nats leader isolated", track: onNATS, length: 2 * time.Second, inject: isolateLeader},

		{name: "worker cut from nats", track: onNetwork, length: 3 * time.Second, inject: workerNATS(netproxy.Rules{Cut: true})},
		{name: "worker hears nothing of nats", track: onNetwork, length: 3 * time.Second, inject: workerNATS(lost)},
		{name: "worker reaches nats late", track: onNetwork, length: 3 * time.Second, inject: workerNATS(netproxy.Rules{HoldRequests: true})},
		{name: "worker far from nats", track: onNetwork, length: 3 * time.Second, inject: workerNATS(netproxy.Rules{Delay: 100 * time.Millisecond})},
		{name: "worker cut from redis", track: onNetwork, leases: 1.2, inject: workerRedis(netproxy.Rules{Cut: true})},
		{name: "worker hears nothing of redis", track: onNetwork, leases: 1.2, inject: workerRedis(lost)},
		{name: "worker and redis silent", track: onNetwork, leases: 1.2, inject: workerRedis(silent)},
		{name: "worker hears nothing of the platform", track: onNetwork, length: 2 * time.Second, inject: workerPlatform(lost)},
		{name: "ingress hears nothing of nats", track: onNetwork, length: 3 * time.Second, inject: ingressNATS(lost)},
		{name: "ingress cut from nats", track: onNetwork, length: 2 * time.Second, inject: ingressNATS(netproxy.Rules{Cut: true})},
		{name: "platform hears nothing of an ingress", track: onNetwork, length: 2 * time.Second, inject: platformIngress(lost)},

		{name: "platform throttles", track: onPlatform, length: 3 * time.Second, inject: throttle},
		{name: "platform fails", track: onPlatform, length: 2 * time.Second, inject: failing(false)},
		{name: "platform fails after taking", track: onPlatform, length: 2 * time.Second, inject: failing(true)},
		{name: "platform loses answers", track: onPlatform, length: 2 * time.Second, inject: losing},
		{name: "platform slow", track: onPlatform, length: 4 * time.Second, inject: slowPlatform},
		{name: "webhooks doubled", track: onPlatform, length: 3 * time.Second, inject: doubling},
	}
}

# Everything one does here. `make help` lists it.

STATICCHECK := go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME    ?= 3s

.DEFAULT_GOAL := help
.PHONY: help build dev fmt lint flows test race bench bugs fuzz

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build the programs into bin/.
	go build -o bin/ ./cmd/...

dev: ## Run everything in one process, with a chat at http://127.0.0.1:8080.
	go run ./cmd/botmesh dev

fmt: ## Format all Go files.
	gofmt -w .

lint: ## Check format, go vet and staticcheck.
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; }
	go vet ./...
	$(STATICCHECK) ./...
	cd deploy/check && go vet . && $(STATICCHECK) .

flows: ## Compare the flows of the bots in here with their locks: what becomes of chats that wait.
	go run ./cmd/worker flows diff examples/demo/flows.lock
	go run ./examples/order flows diff examples/order/flows.lock
	go run ./examples/pizza flows diff examples/pizza/testdata/flows.lock

# The black-box tests run by themselves: some of them measure. What is in
# deploy is read by those it is for, and the rules run in Prometheus, in a module of its own: what
# it reads is outside of that, so no result of it is kept.
test: ## Run all tests, on real servers and real processes. Installs redis-server on Debian and Ubuntu.
	@.ci/need-redis
	go test $$(go list ./... | grep -v '/e2e$$')
	cd deploy/check && go test -count=1 .
	go test ./e2e

race: ## Run all tests but the black-box ones with the race detector.
	@.ci/need-redis
	go test -race $$(go list ./... | grep -v '/e2e$$')

# For long: make lab DURATION=1h CHATS=200 SEED=7, and WORKERS, INGRESS, RATE, LEASE, ONLY, OUT.
lab: ## Do to whole fleets what machines and networks do, and judge what came of it.
	@.ci/need-redis
	go run ./e2e/lab $(if $(DURATION),-for $(DURATION)) $(if $(CHATS),-chats $(CHATS)) $(if $(SEED),-seed $(SEED)) \
		$(if $(WORKERS),-workers $(WORKERS)) $(if $(INGRESS),-ingress $(INGRESS)) $(if $(RATE),-rate $(RATE)) \
		$(if $(LEASE),-lease $(LEASE)) $(if $(ONLY),-only $(ONLY)) $(if $(OUT),-out $(OUT))

bench: ## Measure replies and webhooks beside a bare loop on the same servers.
	@.ci/need-redis
	go run ./bench

bugs: ## Plant mistakes in the code, one at a time: the simulation must find each.
	go run ./internal/sim/bugs

# What is found is in testdata/fuzz of its package, where each later test runs it: keep it in the
# commit that mends it.
fuzz: ## Run each fuzz test for FUZZTIME (3s).
	@for file in $$(grep -rl '^func Fuzz' --include='*_test.go' .); do \
		for name in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' $$file); do \
			echo "$$(dirname $$file) $$name"; \
			go test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s $$(dirname $$file) || exit 1; \
		done; \
	done

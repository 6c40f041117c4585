#!/bin/sh
# Makes an authority of your own and a certificate for the NATS servers, in the folder
# that is given: ca.crt, tls.crt and tls.key. The key of the authority, with which more
# can be made, lies beside that folder, FOLDER-ca.key: no server needs it. For a first
# try, and where there is no better authority: what it makes is valid for a year.
#
#   deploy/certificates.sh deploy/compose/tls nats-1 nats-2 nats-3
set -eu
umask 077
dir=${1:?"usage: certificates.sh FOLDER [NAME...]"}
shift
names="DNS:localhost,IP:127.0.0.1"
for name in "$@"; do
	names="$names,DNS:$name"
done
mkdir -p "$dir"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 366 -subj "/CN=botmesh authority" \
	-keyout "${dir%/}-ca.key" -out "$dir/ca.crt"
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=nats" \
	-keyout "$dir/tls.key" -out "$dir/tls.csr"
printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth,clientAuth\n' "$names" >"$dir/tls.ext"
openssl x509 -req -in "$dir/tls.csr" -CA "$dir/ca.crt" -CAkey "${dir%/}-ca.key" -set_serial "0x$(openssl rand -hex 16)" -days 365 \
	-extfile "$dir/tls.ext" -out "$dir/tls.crt"
rm "$dir/tls.csr" "$dir/tls.ext"
# The programs of a container run as a user of their own, and read these alone.
chmod 755 "$dir"
chmod 644 "$dir/ca.crt" "$dir/tls.crt" "$dir/tls.key"

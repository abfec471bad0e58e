#!/bin/sh
# Makes certificates for kube-scheduler and `topolet scheduler`, with an authority that signs nothing else:
#
#   sh certificates.sh FOLDER [NAME...]
#
# NAMEs are those by which kube-scheduler finds `topolet scheduler`, as DNS:extender.kube-system.svc or IP:10.0.0.7; loopback is
# always among them. Run it again to renew the two certificates: the authority stays, and both programs read files that change.
#
#   topolet scheduler --tls-cert FOLDER/tls.crt --tls-key FOLDER/tls.key --client-ca FOLDER/ca.crt \
#     --client-name system:kube-scheduler
#   tlsConfig of kube-scheduler.yaml: FOLDER/ca.crt, FOLDER/client.crt, FOLDER/client.key
set -eu
folder=${1:?usage: certificates.sh FOLDER [NAME...]}
shift
names=IP:127.0.0.1,IP:::1,DNS:localhost
for name in "$@"; do names=$names,$name; done

umask 077
mkdir -p "$folder"
cd "$folder"
key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }

if [ ! -e ca.key ]; then
  key ca.key
  openssl req -x509 -new -key ca.key -days 3650 -subj /CN=topolet-scheduler-ca -out ca.crt
fi
# sign FILE SUBJECT EXTENSIONS: both files are there before either is replaced.
sign() {
  key "new-$1.key"
  openssl req -new -key "new-$1.key" -subj "$2" -out "$1.csr"
  printf '%s\n' "$3" > "$1.ext"
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 365 -extfile "$1.ext" -out "new-$1.crt"
  mv "new-$1.key" "$1.key"
  mv "new-$1.crt" "$1.crt"
  rm "$1.csr" "$1.ext"
}
sign tls /CN=topolet-scheduler "subjectAltName=$names
extendedKeyUsage=serverAuth"
sign client /CN=system:kube-scheduler extendedKeyUsage=clientAuth

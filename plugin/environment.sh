# The path of the plugin's environment and how to build it; for scripts that have set $root and $data.
# Its name has the digest of the requirements, so versions of the plugin with different requirements don't share one.

digest=
IFS=' ' read -r _ _ digest < "$root/plugin/requirements.txt"
environment=$data/env-$digest
python=$environment/bin/python

ready() {
    [ -n "$digest" ] && [ -f "$environment/ready" ] && [ -x "$python" ]
}

# build HOW: run build.sh with only the variables that finding Python and fetching packages may need. The session's
# secrets (the model's key, the client's token) are left out. Variables that name a package index are safe to pass,
# because the requirements are hashed.
build() {
    how=$1
    set --
    for name in HOME PATH LANG LC_ALL TMPDIR XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME \
        HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy \
        SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE \
        PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_FIND_LINKS PIP_NO_INDEX PIP_TRUSTED_HOST PIP_CERT PIP_CLIENT_CERT PIP_PROXY \
        PIP_CONFIG_FILE PIP_KEYRING_PROVIDER \
        UV_INDEX UV_DEFAULT_INDEX UV_INDEX_URL UV_EXTRA_INDEX_URL UV_FIND_LINKS UV_NO_INDEX UV_INSECURE_HOST UV_OFFLINE \
        UV_NATIVE_TLS UV_KEYRING_PROVIDER UV_CACHE_DIR; do
        eval "[ -n \"\${$name+set}\" ] && set -- \"\$@\" \"$name=\$$name\""
    done
    env -i "$@" sh "$root/plugin/build.sh" "$root" "$data" "$how"
}

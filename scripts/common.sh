# shellcheck shell=bash
# What the scripts share: where the repository is, and how to get from a bare machine to a build.
# To be sourced, under `set -euo pipefail`. Everything said here goes to standard error, and nothing
# here reads standard input: both belong to the program that is run afterwards.

root_directory=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")

# Below the build directory, so that removing that one starts afresh.
state_directory=$root_directory/.build/imgctl-scripts

programs=(imgctl imgcoordinator imgworker)

# What building and running needs, as Debian names it.
build_packages=(
  ca-certificates g++ git libc6-dev pkg-config
  libcurl4-openssl-dev libidn2-dev libjpeg-dev liblmdb-dev libsodium-dev libvips-dev libxxhash-dev
  zlib1g-dev
)

# The shared libraries of the Swift toolchain itself.
toolchain_packages=(libcurl4 libncurses6 libsqlite3-0 libstdc++6 libxml2 zlib1g)

# The oldest toolchain that builds this package, as major * 1000 + minor, and the one to recommend.
minimum_toolchain=6003
recommended_toolchain=6.3.1

# Prints each argument as a line.
note() {
  printf '%s\n' "$@" >&2
}

# Ends the script: the machine lacks something. 2 is what imgctl answers to wrong use.
die() {
  note "$@"
  exit 2
}

# Makes a `swift` of the right age the first in PATH, or says how to get one and ends.
ensure_toolchain() {
  local directory found='none was found'
  for directory in '' "${HOME:-}/.local/share/swiftly/bin" /opt/swift/usr/bin; do
    # The first turn takes what PATH has; the others matter under sudo, which replaces PATH.
    local candidate_path=${directory:+$directory:}$PATH version=''
    PATH=$candidate_path command -v swift >/dev/null || continue
    version=$(toolchain_version "$candidate_path")
    if [[ -z $version ]]; then
      # It does not start where its shared libraries are missing. All that is missing comes at
      # once, so that who has to type the line has to do so once.
      ensure_packages "${toolchain_packages[@]}" "${build_packages[@]}"
      version=$(toolchain_version "$candidate_path")
    fi
    if [[ -n $version ]] && ((${version%.*} * 1000 + ${version#*.} >= minimum_toolchain)); then
      PATH=$candidate_path
      return
    fi
    found="$(PATH=$candidate_path command -v swift) is ${version:-not able to start}"
  done
  explain_toolchain "$found"
}

# Prints MAJOR.MINOR of the package manager found in the path $1, nothing where it does not start.
# It is asked, not the compiler, because it needs the most shared libraries.
toolchain_version() {
  local answer
  answer=$(PATH=$1 swift build --version 2>/dev/null </dev/null) || return 0
  [[ $answer =~ Swift\ ([0-9]+\.[0-9]+) ]] && printf '%s' "${BASH_REMATCH[1]}"
  return 0
}

explain_toolchain() {
  local platform=debian12 archive elevate=''
  [[ $(uname -m) == aarch64 ]] && platform=debian12-aarch64
  ((EUID == 0)) || elevate='sudo '
  archive=swift-$recommended_toolchain-RELEASE-$platform.tar.gz
  die "imgctl needs the Swift toolchain 6.3 or newer; $1.
To install it on Debian 12, type:

  ${elevate}apt-get install -y curl ca-certificates
  curl -fLO https://download.swift.org/swift-$recommended_toolchain-release/$platform/swift-$recommended_toolchain-RELEASE/$archive
  ${elevate}mkdir -p /opt/swift
  ${elevate}tar -xzf $archive -C /opt/swift --strip-components=1
  export PATH=/opt/swift/usr/bin:\$PATH

Other systems: https://www.swift.org/install/linux"
}

# Installs those of the named packages that are missing. Nothing is ever removed.
ensure_packages() {
  local name missing=()
  for name; do
    is_present "$name" || missing+=("$name")
  done
  ((${#missing[@]} == 0)) || install_packages "${missing[@]}"
}

# Whether that which the package $1 is for is there, whoever put it there: a library that somebody
# built himself serves as well, and so does any flavour of libcurl. The flavours exclude each other,
# so asking for one by name would take away the one that is in use.
is_present() {
  case $1 in
    # The header is looked for as well, because pkg-config may itself be missing yet.
    libcurl4-openssl-dev) has_library libcurl || compgen -G '/usr/include/*/curl/curl.h' >/dev/null ;;
    libidn2-dev) has_library libidn2 ;;
    libjpeg-dev) has_library libjpeg ;;
    liblmdb-dev) has_library lmdb ;;
    libmicrohttpd-dev) has_library libmicrohttpd ;;
    libsodium-dev) has_library libsodium ;;
    libvips-dev) has_library vips ;;
    libxxhash-dev) has_library libxxhash ;;
    zlib1g-dev) has_library zlib ;;
    ca-certificates) [[ -e /etc/ssl/certs/ca-certificates.crt ]] ;;
    g++) compgen -G '/usr/include/c++/*/vector' >/dev/null ;;
    libc6-dev) [[ -e /usr/include/stdio.h ]] ;;
    nginx-light) [[ -x /usr/sbin/nginx ]] ;;
    curl | git | openssl | pkg-config) command -v "$1" >/dev/null ;;
    *) [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]] ;;
  esac
}

has_library() {
  pkg-config --exists "$1" 2>/dev/null
}

install_packages() {
  local elevate=() log=$state_directory/apt.log
  local to_type="apt-get update && apt-get install -y --no-install-recommends $*"
  command -v apt-get >/dev/null \
    || die "imgctl needs what Debian calls $*; there is no apt-get here, so please install it."
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "imgctl needs $*. Type, as root:" '' "  $to_type"
    elevate=(sudo)
    to_type="sudo apt-get update && sudo apt-get install -y --no-install-recommends $*"
  fi
  note "installing ${elevate[*]:+with sudo }$*"
  mkdir -p "$state_directory"
  if ((EUID != 0)) && ! sudo true; then
    die "sudo did not allow it. Type:" '' "  $to_type"
  fi
  # The package lists are fetched only when the first try shows that they are missing or stale.
  if ! run_apt install "$@" >"$log" 2>&1; then
    if ! { run_apt update && run_apt install "$@"; } >>"$log" 2>&1; then
      cat "$log" >&2
      die "That did not work. Type, and look at what it says:" '' "  $to_type"
    fi
  fi
}

# Runs the subcommand $1 of apt-get; reads `elevate` of its caller.
run_apt() {
  local options=(-o DPkg::Lock::Timeout=300)
  [[ $1 == install ]] && options+=(-y --no-install-recommends --no-remove)
  "${elevate[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" "$@" </dev/null
}

# Builds the three programs where a source is newer than they are; costs milliseconds where none is.
build_release() {
  if release_is_current; then
    return
  fi
  mkdir -p "$state_directory" || die "Nothing can be built: $root_directory cannot be written to."
  (
    if ! flock --nonblock 9; then
      note 'waiting for the build that another process has under way…'
      flock 9
    fi
    if ! release_is_current; then
      ensure_toolchain
      ensure_packages "${build_packages[@]}"
      build_programs
    fi
  ) 9>"$state_directory/lock"
}

# Whether the programs were built in this very directory after the last change to what they are
# built from. The time of the change of status is compared, because a checkout or an unpacked
# archive may bring old times of modification.
release_is_current() {
  local stamp=$state_directory/release built_in='' program
  [[ -r $stamp ]] && IFS= read -r built_in <"$stamp"
  [[ $built_in == "$root_directory" ]] || return 1
  for program in "${programs[@]}"; do
    [[ -x $root_directory/.build/release/$program ]] || return 1
  done
  [[ -z $(find "$root_directory/Sources" "$root_directory/Package.swift" \
    -cnewer "$stamp" -print -quit) ]]
}

build_programs() {
  local stamp=$state_directory/release log=$state_directory/build.log program built_in=''
  [[ -r $stamp ]] && IFS= read -r built_in <"$stamp"
  if [[ -n $built_in && $built_in != "$root_directory" ]]; then
    # The package manager keeps absolute paths and fails over those of another place.
    find "$root_directory/.build" -mindepth 1 -maxdepth 1 ! -path "$state_directory" \
      -exec rm -rf {} +
  fi
  if [[ -x $root_directory/.build/release/imgctl ]]; then
    note 'building imgctl (its sources have changed)…'
  else
    note 'building imgctl (once, about a minute)…'
  fi
  # Written before the build and put in place after it: what is edited meanwhile is newer.
  printf '%s\n' "$root_directory" >"$stamp.new"
  : >"$log"
  # One call a program: the package manager takes one, and without any it builds the tests' tools.
  for program in "${programs[@]}"; do
    if ! swift build --package-path "$root_directory" -c release --static-swift-stdlib \
      --product "$program" >>"$log" 2>&1 </dev/null 9>&-; then
      cat "$log" >&2
      die "The build failed; what it said is above and in $log."
    fi
  done
  mv "$stamp.new" "$stamp"
}

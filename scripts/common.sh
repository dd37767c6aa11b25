# shellcheck shell=bash
# The shared part of the scripts: the location of the repository, and the way from a bare machine to
# a build. Scripts source it under `set -euo pipefail`. It prints messages to standard error only and
# never reads standard input: standard output and input belong to the program that runs next.

root_directory=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")

# In the build directory, so that removing that directory resets everything.
state_directory=$root_directory/.build/imgctl-scripts

programs=(imgctl imgcoordinator imgworker imgdecoder imggateway)

# How they are built. All symbols are bound at the start, so that the addresses of functions are read-only
# afterwards (ld(1), -z now). No library is looked for beside the programs: they contain Swift's.
release_options=(-c release --static-swift-stdlib --disable-local-rpath -Xlinker -z -Xlinker now)

# The Debian packages that building and running need.
build_packages=(
  ca-certificates g++ git libc6-dev pkg-config
  libbrotli-dev libcurl4-openssl-dev libdav1d-dev libde265-dev libidn2-dev libjpeg-dev libjxl-dev
  liblmdb-dev libmicrohttpd-dev libpng-dev libseccomp-dev libsodium-dev libvips-dev libwebp-dev
  libxml2-dev libxxhash-dev libzstd-dev zlib1g-dev
)

# The shared libraries that the Swift toolchain needs.
toolchain_packages=(libcurl4 libncurses6 libsqlite3-0 libstdc++6 libxml2 zlib1g)

# The oldest toolchain that builds this package, as major * 1000 + minor, and the recommended one.
minimum_toolchain=6003
recommended_toolchain=6.3.1

# Prints each argument as a line.
note() {
  printf '%s\n' "$@" >&2
}

# Prints each argument as a line and exits with 2, like imgctl after a usage error.
die() {
  note "$@"
  exit 2
}

# Puts a `swift` that is new enough first in PATH, or explains how to install one and exits.
ensure_toolchain() {
  local directory found='none was found'
  for directory in '' "${HOME:-}/.local/share/swiftly/bin" /opt/swift/usr/bin; do
    # The first candidate is the PATH itself. The others help under sudo, which replaces PATH.
    local candidate_path=${directory:+$directory:}$PATH version=''
    PATH=$candidate_path command -v swift >/dev/null || continue
    version=$(toolchain_version "$candidate_path")
    if [[ -z $version ]]; then
      # It does not start if its shared libraries are missing. One command installs everything, so
      # people who must type it do so only once.
      ensure_packages "${toolchain_packages[@]}" "${build_packages[@]}"
      version=$(toolchain_version "$candidate_path")
    fi
    if [[ -n $version ]] && ((${version%.*} * 1000 + ${version#*.} >= minimum_toolchain)); then
      PATH=$candidate_path
      return
    fi
    found="$(PATH=$candidate_path command -v swift) is ${version:-unable to start}"
  done
  explain_toolchain "$found"
}

# Prints MAJOR.MINOR of the package manager in the path $1, or nothing if it does not start. The
# package manager needs more shared libraries than the compiler, so it is the better test.
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
To install it on Debian 12, run:

  ${elevate}apt-get install -y curl ca-certificates
  curl -fLO https://download.swift.org/swift-$recommended_toolchain-release/$platform/swift-$recommended_toolchain-RELEASE/$archive
  ${elevate}mkdir -p /opt/swift
  ${elevate}tar -xzf $archive -C /opt/swift --strip-components=1
  export PATH=/opt/swift/usr/bin:\$PATH

Other systems: https://www.swift.org/install/linux"
}

# Installs the named packages that are missing. Never removes a package.
ensure_packages() {
  local name missing=()
  for name; do
    is_present "$name" || missing+=("$name")
  done
  ((${#missing[@]} == 0)) || install_packages "${missing[@]}"
}

# Whether the library or program of the package $1 is installed. It need not come from that package:
# a library built from source is fine, and so is any flavour of libcurl. The flavours conflict, so
# installing one by name would remove the flavour in use.
is_present() {
  case $1 in
    libbrotli-dev) has_library libbrotlidec ;;
    # The header counts too, because pkg-config itself may be missing.
    libcurl4-openssl-dev) has_library libcurl || compgen -G '/usr/include/*/curl/curl.h' >/dev/null ;;
    libdav1d-dev) has_library dav1d ;;
    libde265-dev) has_library libde265 ;;
    libidn2-dev) has_library libidn2 ;;
    libjpeg-dev) has_library libjpeg ;;
    libjxl-dev) has_library libjxl ;;
    liblmdb-dev) has_library lmdb ;;
    libmicrohttpd-dev) has_library libmicrohttpd ;;
    libpng-dev) has_library libpng ;;
    libseccomp-dev) has_library libseccomp ;;
    libsodium-dev) has_library libsodium ;;
    libvips-dev) has_library vips ;;
    libwebp-dev) has_library libwebp ;;
    libxml2-dev) has_library libxml-2.0 ;;
    libxxhash-dev) has_library libxxhash ;;
    libzstd-dev) has_library libzstd ;;
    zlib1g-dev) has_library zlib ;;
    ca-certificates) [[ -e /etc/ssl/certs/ca-certificates.crt ]] ;;
    g++) compgen -G '/usr/include/c++/*/vector' >/dev/null ;;
    libc6-dev) [[ -e /usr/include/stdio.h ]] ;;
    libimage-exiftool-perl) command -v exiftool >/dev/null ;;
    nginx-light) [[ -x /usr/sbin/nginx ]] ;;
    chromium | curl | ffmpeg | git | openssl | pkg-config) command -v "$1" >/dev/null ;;
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
    || die "imgctl needs these Debian packages or their equivalents: $*. There is no apt-get here;" \
      'install them first.'
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "imgctl needs $*. Run as root:" '' "  $to_type"
    elevate=(sudo)
    to_type="sudo apt-get update && sudo apt-get install -y --no-install-recommends $*"
  fi
  note "installing ${elevate[*]:+with sudo }$*"
  mkdir -p "$state_directory"
  if ((EUID != 0)) && ! sudo true; then
    die "sudo refused. Run:" '' "  $to_type"
  fi
  # The package lists are updated only if the first attempt fails, because they are missing or stale.
  if ! run_apt install "$@" >"$log" 2>&1; then
    if ! { run_apt update && run_apt install "$@"; } >>"$log" 2>&1; then
      cat "$log" >&2
      die "The installation failed. Run this command and read its output:" '' "  $to_type"
    fi
  fi
}

# Runs the subcommand $1 of apt-get. Uses `elevate` of its caller.
run_apt() {
  local options=(-o DPkg::Lock::Timeout=300)
  [[ $1 == install ]] && options+=(-y --no-install-recommends --no-remove)
  "${elevate[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" "$@" </dev/null
}

# Builds the programs if a source is newer. Takes milliseconds if none is.
build_release() {
  if release_is_current; then
    return
  fi
  mkdir -p "$state_directory" || die "The build cannot start: $root_directory is not writable."
  (
    if ! flock --nonblock 9; then
      note 'waiting for the build of another process…'
      flock 9
    fi
    if ! release_is_current; then
      ensure_toolchain
      ensure_packages "${build_packages[@]}"
      build_programs
    fi
  ) 9>"$state_directory/lock"
}

# Whether the programs were built in this directory after the last change of a source. Compares the
# inode change times, because a checkout or an unpacked archive may have old modification times.
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
    # The package manager stores absolute paths and fails if the directory has moved.
    find "$root_directory/.build" -mindepth 1 -maxdepth 1 ! -path "$state_directory" \
      -exec rm -rf {} +
  fi
  if [[ -x $root_directory/.build/release/imgctl ]]; then
    note 'building imgctl (its sources have changed)…'
  else
    note 'building imgctl (once, a few minutes)…'
  fi
  # Created before the build and renamed after it, so that a source edited meanwhile is newer.
  printf '%s\n' "$root_directory" >"$stamp.new"
  : >"$log"
  # One call for each program: the package manager takes one product, and without a product it also
  # builds the tools of the tests.
  for program in "${programs[@]}"; do
    if ! swift build --package-path "$root_directory" "${release_options[@]}" \
      --product "$program" >>"$log" 2>&1 </dev/null 9>&-; then
      cat "$log" >&2
      die "The build failed. Its output is above and in $log."
    fi
  done
  mv "$stamp.new" "$stamp"
}

# Writes the symbol graph of the module $1 to the empty directory $2: its public declarations, and those of
# ImgModel if it exports them. Further arguments are options of swift-symbolgraph-extract. Builds the module
# for debugging, unless it is built.
extract_public_symbols() {
  local module=$1 directory=$2 log=$state_directory/symbols.log options
  shift 2
  mkdir -p "$state_directory"
  if ! swift build --package-path "$root_directory" --target "$module" >"$log" 2>&1; then
    cat "$log" >&2
    die "The build failed. Its output is above and in $log."
  fi
  mapfile -t options < <(module_options)
  swift-symbolgraph-extract -module-name "$module" "${options[@]}" -target "$(swift_target)" \
    -minimum-access-level public -experimental-allowed-reexported-modules=ImgModel,ImgFacts \
    -output-dir "$directory" "$@"
}

# Prints the options with which the compiler finds the modules of the debug build, and the C libraries
# that they use. One a line.
module_options() {
  local map
  printf '%s\n' -I "$root_directory/.build/debug/Modules"
  for map in "$root_directory"/Sources/*/module.modulemap; do
    printf '%s\n' -I "$(dirname "$map")"
  done
}

# Prints the platform that the toolchain builds for, such as x86_64-unknown-linux-gnu.
swift_target() {
  swiftc -print-target-info | sed -n 's/^ *"unversionedTriple": "\(.*\)",$/\1/p'
}

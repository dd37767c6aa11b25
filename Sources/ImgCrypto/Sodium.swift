import CSodium

/// The start of libsodium, once in a process (`sodium_init` may be called from any thread).
enum Sodium {
  /// Whether the library can be used. It cannot where the machine has no randomness.
  static let isReady = sodium_init() >= 0

  /// Stops the process if the library cannot be used: what is hashed then has no key, or no signature.
  static func requireReady() {
    precondition(isReady, "libsodium could not be initialised")
  }
}

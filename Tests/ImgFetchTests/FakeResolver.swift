public import Glibc
import Synchronization

/// Answers for host names, which libcurl gets in place of the system's.
enum FakeResolver {
  private struct Name {
    var answers: [[String]]
    var queryCount = 0
    var isHeld = false
  }

  private typealias Resolve =
    @convention(c) @Sendable (
      UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<addrinfo>?, List?
    ) -> CInt
  typealias List = UnsafeMutablePointer<UnsafeMutablePointer<addrinfo>?>

  private static let names = Mutex<[String: Name]>([:])
  /// Locked while a name is held.
  private static let gate = Mutex(())

  /// Gives a name its answers: the first for the first query, and so on; the last one for all that
  /// follow.
  /// - Parameter answers: IPv4 addresses each; without any, the name does not exist.
  static func serve(_ name: String, _ answers: [String]...) {
    names.withLock { $0[name] = Name(answers: answers) }
  }

  /// Has the queries for a name wait until `body` returns.
  static func holding(_ name: String, while body: () throws -> Void) throws {
    try gate.withLock { _ in
      names.withLock { $0[name]?.isHeld = true }
      defer { names.withLock { $0[name]?.isHeld = false } }
      try body()
    }
  }

  static func queryCount(of name: String) -> Int {
    names.withLock { $0[name]?.queryCount ?? 0 }
  }

  fileprivate static func nextAnswer(for name: String) -> [String]? {
    if names.withLock({ $0[name]?.isHeld == true }) { gate.withLock { _ in } }
    return names.withLock { names in
      guard let entry = names[name] else { return nil }
      names[name]?.queryCount += 1
      return entry.answers[min(entry.queryCount, entry.answers.count - 1)]
    }
  }

  /// The C library's `getaddrinfo` (dlsym(3)).
  private static let next: Resolve = {
    let nextLibrary = unsafe UnsafeMutableRawPointer(bitPattern: -1)
    guard let address = unsafe dlsym(nextLibrary, "getaddrinfo") else {
      preconditionFailure("no library has getaddrinfo")
    }
    return unsafe unsafeBitCast(address, to: Resolve.self)
  }()

  fileprivate static func resolve(
    _ name: UnsafePointer<CChar>?, _ service: UnsafePointer<CChar>?,
    _ hints: UnsafePointer<addrinfo>?, _ result: List?
  ) -> CInt {
    guard let answer = unsafe name.map({ unsafe String(cString: $0) }).flatMap(nextAnswer) else {
      return unsafe next(name, service, hints, result)
    }
    guard !answer.isEmpty else { return EAI_NONAME }
    // The C library frees every entry of a list by itself, so lists may be chained.
    var end = unsafe result
    for address in answer {
      let code = unsafe next(address, service, hints, end)
      guard code == 0 else { return code }
      while let entry = unsafe end?.pointee { unsafe end = withAddress(of: entry) }
    }
    return 0
  }

  private static func withAddress(of entry: UnsafeMutablePointer<addrinfo>) -> List? {
    unsafe UnsafeMutableRawPointer(entry)
      .advanced(by: MemoryLayout<addrinfo>.offset(of: \.ai_next) ?? 0)
      .assumingMemoryBound(to: UnsafeMutablePointer<addrinfo>?.self)
  }
}

/// `getaddrinfo`. The manifest makes the linker export it, so that libcurl finds it before the C
/// library's.
@c(getaddrinfo)
public func resolveByTest(
  _ name: UnsafePointer<CChar>?, _ service: UnsafePointer<CChar>?,
  _ hints: UnsafePointer<addrinfo>?,
  _ result: UnsafeMutablePointer<UnsafeMutablePointer<addrinfo>?>?
) -> CInt {
  unsafe FakeResolver.resolve(name, service, hints, result)
}

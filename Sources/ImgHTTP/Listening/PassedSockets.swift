/// The listening sockets that a service manager passes to a program (sd_listen_fds(3)).
package enum PassedSockets {
  /// The number of the first one: SD_LISTEN_FDS_START.
  private static let first: Int32 = 3
  /// More than this many are a mistake.
  private static let maximumCount: Int32 = 64

  /// The descriptors that the environment names.
  ///
  /// - Parameters:
  ///   - environment: the variables LISTEN_PID and LISTEN_FDS count.
  ///   - process: the id of this process. A variable for another process means nothing here.
  /// - Returns: the descriptors; none if there are none for this process.
  /// - Throws: if LISTEN_FDS is no number from 0 to 64.
  package static func descriptors(
    in environment: [String: String], process: Int32
  ) throws(HTTPServerError) -> [Int32] {
    guard environment["LISTEN_PID"] == String(process) else { return [] }
    let text = environment["LISTEN_FDS"] ?? ""
    guard let count = Int32(text), (0...maximumCount).contains(count) else {
      throw HTTPServerError(
        "LISTEN_FDS is “\(text)”: it must be a number from 0 to \(maximumCount)")
    }
    return Array(first..<first + count)
  }
}

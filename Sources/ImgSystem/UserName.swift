/// The names of users.
package enum UserName {
  private static let path = "/etc/passwd"
  private static let maximumByteCount = 1 << 20

  /// A user as sudo(8) takes it: the name, or `'#995'` for one that has none in /etc/passwd.
  ///
  /// Reads the file itself: a confined process may not load what getpwuid(3) needs.
  package static func text(of userID: UInt32) -> String {
    let bytes = (try? FileIO.contents(of: path, upTo: maximumByteCount)) ?? []
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      let fields = line.split(separator: ":", omittingEmptySubsequences: false)
      if fields.count > 2, fields[2] == "\(userID)" { return String(fields[0]) }
    }
    return "'#\(userID)'"
  }
}

import FoundationEssentials
import Glibc
import ImgModel
package import ImgSettings
import ImgSystem

/// The file of a data directory with the settings that `imgctl start` and `imgctl config` keep. Only its owner can
/// read it, because the password of a proxy may be among them.
package struct SettingsRecord: Sendable {
  package let path: String
  private let dataDirectory: String

  /// More than all settings take together.
  private static let maximumByteCount = 1 << 20
  /// How long another process may take to change the file.
  private static let patience = Duration.seconds(5)
  private static let pause = Duration.milliseconds(20)

  package init(dataDirectory: String) {
    self.dataDirectory = dataDirectory
    path = "\(dataDirectory)/settings.json"
  }

  /// - Returns: nothing if there is no file.
  package func kept() throws(SettingsRecordError) -> KeptSettings {
    let bytes: [UInt8]
    do throws(SystemError) {
      // A pipe would block, and a link lead elsewhere.
      guard try FileStatus(at: path).isRegularFile else {
        throw SystemError(operation: "open \(path), which is not a regular file", code: EINVAL)
      }
      bytes = try FileIO.contents(of: path, upTo: Self.maximumByteCount)
    } catch {
      // Without the data directory, there is no file either.
      if [ENOENT, ENOTDIR].contains(error.code) { return .none }
      throw SettingsRecordError(
        "the settings kept in \(path) cannot be read (\(error)); remove the file, or run imgctl start "
          + "--defaults, which replaces it")
    }
    guard let kept = try? JSONDecoder().decode(KeptSettings.self, from: Data(bytes)) else {
      throw SettingsRecordError(
        "the settings kept in \(path) are damaged; remove the file, or run imgctl start --defaults, which "
          + "replaces it")
    }
    return kept
  }

  /// Adds what is kept to settings.
  ///
  /// - Parameter kept: `nil` for the content of the file.
  package func completed(
    _ settings: Settings, with kept: KeptSettings? = nil, environment: [String: String]
  ) throws(SettingsRecordError) -> Settings {
    let kept = if let kept { kept } else { try self.kept() }
    do throws(UsageError) {
      return try settings.adding(kept, environment: environment)
    } catch {
      throw SettingsRecordError(
        "the settings kept in \(path) cannot be used (\(error)); imgctl config set and imgctl config unset "
          + "change them, and imgctl start --defaults forgets all of them")
    }
  }

  /// What a coordinator is started with: settings with those that are kept.
  ///
  /// - Parameter kept: `nil` for the content of the file.
  package func settingsOfStart(
    _ settings: Settings, with kept: KeptSettings? = nil, environment: [String: String]
  ) throws(ClientError) -> Settings {
    do throws(SettingsRecordError) {
      return try completed(settings, with: kept, environment: environment)
    } catch {
      throw .notStarted(reason: error.description)
    }
  }

  /// Changes what is kept. Other processes see the file as it was before or is then.
  ///
  /// - Parameters:
  ///   - isFresh: whether what was kept is forgotten first, even if it cannot be read.
  ///   - apply: makes the change elsewhere, once it is written and before it is kept. If it throws, nothing
  ///     changes.
  package func change(
    isFresh: Bool = false, _ body: (inout KeptSettings) throws -> Void,
    applying apply: () throws -> Void = {}
  ) throws {
    let taken = try writing { () throws(SystemError) in
      try Directory.createPrivate(dataDirectory)
      return try acquireLock()
    }
    guard let lock = taken else {
      throw SettingsRecordError("another process is changing \(path); try again")
    }
    defer { withExtendedLifetime(lock) {} }
    let before = isFresh ? nil : try kept()
    var kept = before ?? .none
    try body(&kept)
    guard kept != before, before != nil || !kept.isEmpty || (try? FileStatus(at: path)) != nil
    else {
      return try apply()
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let bytes = Array(try encoder.encode(kept)) + [UInt8(ascii: "\n")]
    let file = try writing { () throws(SystemError) in
      let file = try ReplacementFile(path: path, isPrivate: true)
      try FileIO.writeAll(file.descriptor, bytes)
      return file
    }
    try apply()
    try file.commit(isDurable: true)
  }

  private func writing<Result: ~Copyable>(
    _ body: () throws(SystemError) -> Result
  ) throws(SettingsRecordError) -> Result {
    do throws(SystemError) {
      return try body()
    } catch {
      throw SettingsRecordError(
        "the settings cannot be kept in \(path), and nothing was changed: \(error)")
    }
  }

  /// - Returns: `nil` if another process has it for too long.
  private func acquireLock() throws(SystemError) -> OwnedDescriptor? {
    let deadline = ContinuousClock.now + Self.patience
    while true {
      if let lock = try FileLock.acquire(path: "\(path).lock") { return lock }
      guard ContinuousClock.now < deadline else { return nil }
      ThisProcess.pause(for: Self.pause)
    }
  }
}

/// Why the settings that are kept cannot be used or changed, with the remedy.
package struct SettingsRecordError: Error, Hashable, CustomStringConvertible {
  package let description: String

  init(_ description: String) {
    self.description = description
  }
}

/// Directories have several spellings, such as those through links.
package enum DirectorySpelling {
  /// Whether two paths lead to the same directory, or to the same name in the same directory.
  package static func areSame(_ path: String, _ other: String) -> Bool {
    guard path != other else { return true }
    if let status = try? FileStatus(following: path), let other = try? FileStatus(following: other)
    {
      return status.isSameFile(as: other)
    }
    let parts = [path, other].map { $0.split(separator: "/") }
    guard parts[0].last == parts[1].last,
      let parent = try? FileStatus(following: UnixSocket.directory(of: path)),
      let otherParent = try? FileStatus(following: UnixSocket.directory(of: other))
    else { return false }
    return parent.isSameFile(as: otherParent)
  }
}

extension Settings {
  /// The same settings with the running coordinator's spelling of its directories.
  package func spelled(as running: Settings) -> Settings {
    var settings = self
    if DirectorySpelling.areSame(dataDirectory, running.dataDirectory) {
      settings.dataDirectory = running.dataDirectory
    }
    if DirectorySpelling.areSame(cacheDirectory, running.cacheDirectory) {
      settings.cacheDirectory = running.cacheDirectory
    }
    return settings
  }

  package var record: SettingsRecord { SettingsRecord(dataDirectory: dataDirectory) }

  /// The same settings with the socket of the coordinator that owns the data directory, if one does and no
  /// socket is named. So a command finds a coordinator that was started under another `XDG_RUNTIME_DIR`.
  ///
  /// The settings are resolved. The coordinator may leave at any time.
  package var located: Settings {
    guard !isNamed(.socket), let holder = FileLock.holder(path: lockPath), !holder.note.isEmpty
    else { return self }
    var located = self
    located.socketPath = holder.note
    return located
  }
}

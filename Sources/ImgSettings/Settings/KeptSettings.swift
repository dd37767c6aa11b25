package import ImgModel
import ImgSystem

/// What `imgctl start` and `imgctl config` were told about the coordinator of a data directory. Every later
/// start of a coordinator there uses it, unless a flag or a variable says otherwise.
///
/// Its JSON is an object with the texts of each setting, such as `{"rate-per-host":["1/s"]}`.
package struct KeptSettings: Hashable, Sendable, Codable {
  /// By the names of the settings, see ``Setting/key``.
  private var texts: [String: [String]]

  package static let none = KeptSettings(texts: [:])

  private init(texts: [String: [String]]) {
    self.texts = texts
  }

  /// The settings that come from some sources. Places are left out.
  ///
  /// - Parameter settings: resolved, so that paths mean the same everywhere.
  package init(_ settings: Settings, from sources: Set<Settings.Source>) {
    self = .none
    for setting in Setting.keepable {
      guard let source = settings.sources[setting.option.flag], sources.contains(source) else {
        continue
      }
      texts[setting.key] = setting.exactTexts(in: settings)
    }
  }

  package init(from decoder: any Decoder) throws {
    texts = try decoder.singleValueContainer().decode([String: [String]].self)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(texts)
  }

  package var isEmpty: Bool { texts.isEmpty }

  /// Whether settings have the values that are kept.
  package func agree(with settings: Settings) -> Bool {
    Setting.keepable.allSatisfy { setting in
      texts[setting.key].map { $0 == setting.exactTexts(in: settings) } ?? true
    }
  }

  /// The names of what is kept, also of what this release does not know.
  package var keys: [String] { texts.keys.sorted() }

  /// Keeps other settings beside these, or in their place. The values of a repeatable setting replace all
  /// those before.
  package mutating func merge(_ others: KeptSettings) {
    texts.merge(others.texts) { $1 }
  }

  /// Forgets a setting.
  ///
  /// - Returns: whether it was kept.
  @discardableResult
  package mutating func remove(_ key: String) -> Bool {
    texts.removeValue(forKey: key) != nil
  }

  func texts(of setting: Setting) -> [String]? { texts[setting.key] }

  /// Refuses what this release does not know: without it, a coordinator might do what it was told not to do.
  func requireKnown() throws(UsageError) {
    let known = Set(Setting.keepable.map(\.key))
    guard let key = keys.first(where: { !known.contains($0) }) else { return }
    throw UsageError("imgctl \(Build.version) has no setting \(Spelling.quoted(key))")
  }
}

extension Settings {
  /// The same settings with those that are kept, except where a flag or a variable says otherwise.
  ///
  /// - Parameter environment: names proxies, and hosts that are asked without one.
  /// - Throws: ``UsageError`` for a setting that is unknown or out of range.
  package func adding(
    _ kept: KeptSettings, environment: [String: String]
  ) throws(UsageError) -> Settings {
    try kept.requireKnown()
    var settings = self
    for setting in Setting.keepable where !isGiven(setting) {
      guard let texts = kept.texts(of: setting) else { continue }
      // Behind a proxy, the hosts that are asked without it are kept.
      let isProxy = setting.option.flag == Setting.proxy.option.flag
      let own = isProxy ? Array(texts.prefix(1)) : texts
      try setting.put(own, from: setting.option.flag, into: &settings)
      settings.sources[setting.option.flag] = .kept
    }
    if settings.sources[Setting.proxy.option.flag] == .kept {
      let directHosts = Array(kept.texts(of: .proxy)?.dropFirst() ?? [])
      settings.proxies = try ProxySettings(
        settings.proxyChoice, environment: environment, keptDirectHosts: directHosts)
    } else {
      try settings.requireProxies()
    }
    settings.raiseLimits()
    return settings
  }

  /// Whether a flag or a variable gives a setting.
  package func isGiven(_ setting: Setting) -> Bool {
    switch sources[setting.option.flag] {
    case .flag, .variable: true
    case .kept, nil: false
    }
  }

  /// Whether the environment alone decides on the proxies: neither `--proxy` nor what is kept does.
  package var takesProxiesOfEnvironment: Bool { sources[Setting.proxy.option.flag] == nil }

  /// The flags of the settings that come from a source and differ from their defaults, as they are typed.
  ///
  /// - Parameter source: `nil` for all sources.
  package func changes(from source: Source? = nil) -> [String] {
    let defaults = Settings(socketPath: "", dataDirectory: "")
    return Setting.keepable.filter { setting in
      (source == nil || sources[setting.option.flag] == source)
        && setting.texts(in: self) != setting.texts(in: defaults)
    }.flatMap { $0.typed(in: self) }
  }
}

extension Setting {
  /// The settings that are kept: all except the places of the socket, the journal and the store.
  package static let keepable = all.filter { setting in
    !([socket] + directories).contains { $0.option.flag == setting.option.flag }
  }

  /// The flags that set it, as they are typed, without passwords.
  package func typed(in settings: Settings) -> [String] {
    let texts = texts(in: settings)
    guard option.placeholder == nil else {
      return texts.map {
        $0.hasPrefix(ProxySettings.directHostsPrefix) ? $0 : "\(option.flag) \($0)"
      }
    }
    return texts == [YesOrNo.text(true)] ? [option.flag] : []
  }

  /// Its name in JSON and on command lines, such as `rate-per-host`.
  package var key: String { String(option.flag.dropFirst(2)) }

  /// Whether `imgctl limits` can change it in a running coordinator, see ``LimitChange``.
  package var isChangeable: Bool {
    Self.changeable.contains { $0.option.flag == option.flag }
  }

  /// - Parameter word: the name of a kept setting, with or without the dashes of its flag.
  package init(keptAs word: String) throws(InvalidValue) {
    let key = word.hasPrefix("--") ? String(word.dropFirst(2)) : word
    self = try Self.keepable(key, isNear: key, orElse: "\(Spelling.quoted(word)) to keep")
  }

  /// - Parameter key: the name of a setting of a coordinator that a program starts. A name as Swift spells it, or
  ///   with the dashes of a flag, is none, and the error names the right one.
  package init(key: String) throws(InvalidValue) {
    let dashed = key.drop { $0 == "-" }.map { $0.isUppercase ? "-\($0.lowercased())" : "\($0)" }
    self = try Self.keepable(key, isNear: dashed.joined(), orElse: Spelling.quoted(key))
  }

  /// - Parameters:
  ///   - word: what a suggestion is near to.
  ///   - text: names the setting if there is none.
  private static func keepable(
    _ key: String, isNear word: String, orElse text: String
  ) throws(InvalidValue) -> Setting {
    if let setting = keepable.first(where: { $0.key == key }) { return setting }
    let suggestion = Spelling.suggestion(for: word, among: keepable.map(\.key))
    throw InvalidValue(
      "there is no setting \(text)"
        + (suggestion.isEmpty ? "; imgctl config show --all lists them" : suggestion))
  }

  /// Reads a text as that of the variable is read.
  package func check(_ text: String) throws(UsageError) {
    guard !text.isEmpty else { throw UsageError("\(key): the text is empty") }
    var settings = Settings(socketPath: "", dataDirectory: "")
    try put(option.texts(ofVariable: text), from: key, into: &settings)
  }
}

/// One line of `imgctl config show`: a setting, its value at the next start, and where that comes from.
package struct SettingReport: Hashable, Sendable {
  package let name: String
  package let key: String
  /// Without passwords.
  package let texts: [String]
  package let source: String
  /// The value of the running coordinator; `nil` if that is the same, or none runs.
  package let running: [String]?
  package var isDefault: Bool { source == Self.defaultSource }

  fileprivate static let defaultSource = "default"

  /// - Parameters:
  ///   - settings: with those that are kept, resolved.
  ///   - running: those of the running coordinator; `nil` if none runs.
  ///   - coreCount: the number of workers that `auto` means.
  package static func all(
    of settings: Settings, running: Settings?, coreCount: Int
  ) -> [SettingReport] {
    let differences =
      running.map { running in
        Setting.differences(between: settings, and: running, coreCount: coreCount) { setting in
          // The program of its workers is one that a coordinator has found.
          settings.sources[setting.option.flag] != nil
            || setting.option.flag != "--worker-executable"
        }
      } ?? []
    let differing = Set(differences.map(\.flag))
    return Setting.keepable.map { setting in
      let source = setting.text(of: settings.sources[setting.option.flag], in: settings)
      let other = running.flatMap { differing.contains(setting.option.flag) ? $0 : nil }
      return SettingReport(
        name: setting.name, key: setting.key, texts: setting.texts(in: settings),
        source: source, running: other.map(setting.texts))
    }
  }
}

extension Setting {
  /// Whether what starts a coordinator decides on the default.
  package var dependsOnStart: Bool { ["--worker-executable", "--idle-exit"].contains(option.flag) }

  fileprivate func text(of source: Settings.Source?, in settings: Settings) -> String {
    switch source {
    case .flag: option.flag
    case .variable: environmentVariable
    case .kept: "kept"
    case nil where option.flag == Self.proxy.option.flag && !settings.proxies.isEmpty: "environment"
    case nil: SettingReport.defaultSource
    }
  }
}

/// The settings of a running coordinator that `imgctl limits` changes.
extension LimitChange {
  /// The options of a command that changes the limits of a running coordinator.
  package static let options = Setting.changeable.map(\.changeOption)

  /// The limits on the command line. The others keep their values; the environment counts only at
  /// the next start.
  ///
  /// - Parameters:
  ///   - asked: those of the same arguments.
  ///   - arguments: the arguments of a command that lists ``options``.
  package init(_ asked: Settings, givenBy arguments: ArgumentReader) {
    self.init(asked) { arguments.contains($0.changeOption) }
  }

  /// - Parameter isGiven: the settings to change.
  package init(_ asked: Settings, of isGiven: (Setting) -> Bool) {
    func given<Value>(_ setting: Setting, _ limit: KeyPath<Limits, Value>) -> Value? {
      isGiven(setting) ? asked.limits[keyPath: limit] : nil
    }
    self.init(
      transfers: given(.transfers, \.transfers),
      transfersPerHost: given(.transfersPerHost, \.transfersPerHost),
      hostRatePerMinute: given(.ratePerHost, \.hostRatePerMinute),
      bytesPerSecond: given(.bytesPerSecond, \.bytesPerSecond),
      hostBytesPerSecond: given(.bytesPerSecondPerHost, \.hostBytesPerSecond),
      defaultExpiry: given(.defaultExpiry, \.defaultExpiry),
      memoryBudgetByteCount: given(.memoryBudget, \.memoryBudgetByteCount))
  }

  /// The flags of the change, as they are typed.
  package var typed: [String] {
    var settings = Settings(socketPath: "", dataDirectory: "")
    settings.limits.apply(self)
    let given: [(Setting, Bool)] = [
      (.transfers, transfers != nil), (.transfersPerHost, transfersPerHost != nil),
      (.ratePerHost, hostRatePerMinute != nil), (.bytesPerSecond, bytesPerSecond != nil),
      (.bytesPerSecondPerHost, hostBytesPerSecond != nil),
      (.memoryBudget, memoryBudgetByteCount != nil),
      (.defaultExpiry, defaultExpiry != nil),
    ]
    return given.filter(\.1).flatMap { setting, _ in setting.typed(in: settings) }
  }
}

extension Settings {
  /// The settings that a command gives a running coordinator, with the defaults of all others.
  ///
  /// - Parameter arguments: the arguments of a command that lists `LimitChange.options`.
  /// - Throws: ``UsageError`` for a limit out of its range.
  package init(changing arguments: ArgumentReader) throws(UsageError) {
    self.init(socketPath: "", dataDirectory: "")
    for setting in Setting.changeable {
      guard let texts = arguments.texts(of: setting.changeOption) else { continue }
      try setting.put(texts, from: setting.changeOption.flag, into: &self)
    }
    raiseLimits()
  }
}

extension Settings {
  package var hasDataDirectory: Bool { FileStatus.isDirectory(at: dataDirectory) }
}

/// The cache directory of the last coordinator of a data directory, which a file there names beside the data directory
/// itself and its number on the disk, which stays when it is moved. So a command that names the data directory alone can say where the thumbnails are, and one that finds the
/// file in a copy knows it for one.
package enum LastCache {
  private static let maximumByteCount = 8_192

  private static func path(in settings: Settings) -> String {
    "\(settings.dataDirectory)/cache-directory"
  }

  /// Writes the directory of a coordinator that starts. Settings are resolved.
  package static func note(_ settings: Settings) {
    // On a full disk, the next start says nothing.
    let status = try? FileStatus(following: settings.dataDirectory)
    let text = [settings.cacheDirectory, settings.dataDirectory, status?.number ?? ""]
      .joined(separator: "\0")
    try? FileIO.replace(path: path(in: settings), with: Array(text.utf8))
  }

  /// What the file says: the cache directory, the data directory and its number.
  private static func parts(in settings: Settings) -> [String] {
    let bytes = (try? FileIO.contents(of: path(in: settings), upTo: maximumByteCount)) ?? []
    return bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The data directory that this one is a copy of, if that is still there.
  package static func originalOfCopy(_ settings: Settings) -> String? {
    let parts = parts(in: settings)
    guard parts.count > 1, let status = try? FileStatus(following: parts[1]), status.isDirectory,
      let own = try? FileStatus(following: settings.dataDirectory), !own.isSameFile(as: status),
      // One that was moved is none, whatever has its earlier name now.
      parts.last != own.number
    else { return nil }
    return parts[1]
  }

  /// The directory if it is there and is another than that of some settings; `nil` otherwise.
  package static func otherDirectory(than settings: Settings) -> String? {
    guard let directory = cacheDirectory(in: settings), directory != settings.cacheDirectory,
      let last = try? FileStatus(following: directory), last.isDirectory,
      (try? FileStatus(following: settings.cacheDirectory))?.isSameFile(as: last) != true
    else { return nil }
    return directory
  }

  /// A store in the data directory moves with it, and is copied with it unless it was left out.
  private static func cacheDirectory(in settings: Settings) -> String? {
    let parts = parts(in: settings)
    guard parts.count > 1, parts[0] == parts[1] else { return parts.first }
    var own = settings
    own.cacheDirectory = settings.dataDirectory
    return FileStatus.isDirectory(at: own.storePlace) ? settings.dataDirectory : parts[0]
  }
}

/// What settings name beside the directories of the coordinator.
extension Setting {
  /// Why a coordinator cannot use a file or a directory that the setting names; `nil` if it can, or if there is none.
  ///
  /// - Parameter settings: resolved.
  package func obstacle(in settings: Settings) -> String? {
    switch option.flag {
    case "--allow-directory":
      return settings.allowedDirectories.lazy.compactMap(obstacle(of:)).first
    case "--ca-file": return settings.authorityFile.flatMap(obstacle(ofAuthorities:))
    default: return nil
    }
  }

  private func obstacle(of directory: String) -> String? {
    do throws(SystemError) {
      _ = try OpenDirectory(directory)
      return nil
    } catch {
      return "\(option.flag): \(directory) cannot be opened: \(error.reason)"
    }
  }

  private func obstacle(ofAuthorities file: String) -> String? {
    do throws(SystemError) {
      let text = String(decoding: try FileIO.contents(of: file, upTo: 1 << 24), as: UTF8.self)
      // A label of RFC 7468, or one of OpenSSL's.
      let labels = ["", "TRUSTED ", "X509 "].map { "-----BEGIN \($0)CERTIFICATE-----" }
      return labels.contains(where: text.contains)
        ? nil : "\(option.flag): \(file) has no certificate in PEM (\(labels[0]))"
    } catch {
      return "\(option.flag): \(file) cannot be read: \(error.reason)"
    }
  }
}

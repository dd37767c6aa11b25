package import ImgModel

/// The settings that a running coordinator reports.
extension Settings {
  /// The settings that a coordinator reports beside its limits and paths.
  ///
  /// - Parameter workerExecutable: the worker program that it runs.
  package func reported(workerExecutable: String) -> CoordinatorSettings {
    CoordinatorSettings(
      workerExecutable: workerExecutable, idleExit: idleExit,
      allowedNetworks: allowedNetworks.map(\.text), allowedDirectories: allowedDirectories,
      authorityFile: authorityFile, proxies: proxies, requiresSandbox: requiresSandbox)
  }

  /// The settings of the coordinator that reported `cluster`.
  ///
  /// - Throws: for values that no coordinator of this release reports.
  package init(runningAs cluster: ClusterStatus) throws(InvalidValue) {
    self.init(socketPath: cluster.socketPath, dataDirectory: cluster.dataDirectory)
    limits = cluster.limits
    workerExecutable = cluster.settings.workerExecutable
    idleExit = cluster.settings.idleExit
    for text in cluster.settings.allowedNetworks {
      allowedNetworks.append(try NetworkRange(parsing: text))
    }
    allowedDirectories = cluster.settings.allowedDirectories
    authorityFile = cluster.settings.authorityFile
    proxies = cluster.settings.proxies
    requiresSandbox = cluster.settings.requiresSandbox
  }
}

extension Setting {
  /// A requested setting that differs from a running coordinator's.
  package struct Difference: Hashable, Sendable {
    package let name: String
    package let flag: String
    package let asked: String
    package let running: String
    /// Whether `imgctl limits` can change it, see ``LimitChange``.
    package let isChangeable: Bool
  }

  /// The differences between the settings whose flag or variable is given and the running ones. The
  /// order of repeated values does not matter.
  ///
  /// - Parameters:
  ///   - asked: the settings of the arguments and the environment, resolved.
  ///   - coreCount: the number of workers that `auto` means. Which store budget it meant at the start is not
  ///     known, so every one counts as the same.
  package static func differences(
    between asked: Settings, givenBy arguments: ArgumentReader, environment: [String: String],
    and running: Settings, coreCount: Int
  ) -> [Difference] {
    var asked = asked
    if asked.limits.workers == 0 { asked.limits.workers = coreCount }
    if asked.isStoreBudgetAutomatic {
      asked.isStoreBudgetAutomatic = false
      asked.limits.storeBudgetByteCount = running.limits.storeBudgetByteCount
    }
    return all.filter { $0.isGiven(by: arguments, environment: environment) }.compactMap {
      let texts = [asked, running].map($0.texts)
      guard Set(texts[0]) != Set(texts[1]) else { return nil }
      let shown = texts.map { $0.isEmpty ? "none" : $0.joined(separator: ", ") }
      return Difference(
        name: $0.name, flag: $0.option.flag, asked: shown[0], running: shown[1],
        isChangeable: changeable.map(\.option.flag).contains($0.option.flag))
    }
  }

  private func isGiven(by arguments: ArgumentReader, environment: [String: String]) -> Bool {
    arguments.lists(option) && arguments.texts(of: option) != nil
      || environment[environmentVariable].map { !$0.isEmpty } ?? false
  }
}
